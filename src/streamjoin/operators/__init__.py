"""Every operator and function: how it is typed, what it computes, how it is compiled."""

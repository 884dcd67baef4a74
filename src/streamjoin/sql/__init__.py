"""A condition read: text or a lambda becomes a typed expression, or a message that points at the mistake."""

"""What is asked: sides, types of join, durations, windows."""

"""Joins within one process."""

"""The papers' experiments, one file each, and the report of their results: ``python -m benchmarks.papers``."""

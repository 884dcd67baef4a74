"""The papers' experiments, one file each, and the report that is made of their results: ``python -m benchmarks.papers``."""

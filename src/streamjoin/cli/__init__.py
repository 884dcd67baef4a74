"""The command line: ``streamjoin demo``, ``streamjoin run``."""

"""The join on Spark Structured Streaming. Only this package and the command line import pyspark."""

from streamjoin.errors import StreamJoinError

OLDEST, NEWEST = (4, 0), (4, 3)
"""The releases of Spark that are tested; a newer one may do."""


def _check_release() -> None:
    try:
        from pyspark import __version__ as found
    except ModuleNotFoundError as missing:
        if missing.name != "pyspark":
            raise
        raise StreamJoinError(
            "Joins on Spark need PySpark, which this Python does not have: pip install 'streamjoin[spark]'. Where a "
            "managed runtime brings its own Spark, install streamjoin into that runtime's Python instead"
        ) from None
    if tuple(int(part) for part in found.split(".")[:2]) < OLDEST:
        raise StreamJoinError(f"Joins on Spark need PySpark {'.'.join(map(str, OLDEST))} or later; this is {found}")


_check_release()

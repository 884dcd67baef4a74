"""The Python that Spark runs its workers with: it must be one that has streamjoin."""

import json
import shutil
import subprocess
import sys
from functools import lru_cache

from pyspark.sql import SparkSession

from streamjoin.errors import StreamJoinError
from streamjoin.spark.compat import find_python

PATIENCE_SECONDS = 30.0
_PACKAGES = ("streamjoin", "pyspark", "pandas", "pyarrow", "numba", "numpy", "xxhash", "sqlglot")
_PROBE = f"""
import importlib.util, json, sys
lacking = [name for name in {_PACKAGES!r} if importlib.util.find_spec(name) is None]
print(json.dumps([sys.executable, list(sys.version_info[:2]), lacking]))
"""


def check_python(spark: SparkSession) -> None:
    """Refuse a session whose Python workers could not run a join, where this host can tell."""
    command = find_python(spark)
    if command is not None and (wrong := _find_fault(command)):
        raise StreamJoinError(
            f"Spark would run its Python workers with {wrong}. This program runs with {sys.executable}: set the "
            f"environment variable PYSPARK_PYTHON={sys.executable} before the session is made, or in Python "
            'os.environ["PYSPARK_PYTHON"] = sys.executable'
        )


@lru_cache
def _find_fault(command: str) -> str | None:
    """What is wrong with a Python, in words; None if it is this one or has all that a worker needs."""
    found = shutil.which(command)
    if found is None:
        return f"{command!r}, which is not on the PATH"
    if found == sys.executable:
        return None
    try:
        said = subprocess.run(
            [found, "-c", _PROBE], capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=True
        ).stdout
        executable, version, lacking = json.loads(said)
    except (OSError, ValueError, subprocess.SubprocessError):
        return None  # a wrapper that does more than run a Python: the first task will tell
    name = found if found == executable else f"{found} ({executable})"
    if version != list(sys.version_info[:2]):
        return f"{name}, which is Python {version[0]}.{version[1]}, not {sys.version_info[0]}.{sys.version_info[1]}"
    return f"{name}, which does not have {', '.join(lacking)}" if lacking else None

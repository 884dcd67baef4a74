"""How a job travels to Spark's Python workers.

It is sent as bytes and unpacked inside the task, so that an executor that lacks a package says so in a sentence, not in
a trace from inside Spark's own unpickling.
"""

import pickle
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib import import_module

from streamjoin.errors import StreamJoinError
from streamjoin.flow.job import Job


def pack_job(job: Job) -> bytes:
    """The job as it travels."""
    return pickle.dumps(job, protocol=pickle.HIGHEST_PROTOCOL)


@lru_cache(maxsize=64)
def unpack_job(packed: bytes, *needed: str) -> Job:
    """The job that arrived on an executor; also imports the modules that the task will need."""
    with explain_missing():
        for module in needed:
            import_module(module)
        job: Job = pickle.loads(packed)
    return job


@contextmanager
def explain_missing() -> Iterator[None]:
    """Say what to do about a package that an executor lacks."""
    try:
        yield
    except ImportError as error:
        raise StreamJoinError(
            f"Spark's Python on {platform.node()} cannot run streamjoin: {error}. Every executor needs the same "
            "packages as the driver: pip install streamjoin into the Python that PYSPARK_PYTHON names there."
        ) from error

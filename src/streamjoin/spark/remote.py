"""What Spark sends to its Python workers: nothing that they need streamjoin for to read it.

Functions and classes travel by reference, as the name of a module, and a worker whose Python lacks that module fails
inside Spark's own unpickling. Those of this module travel by value. They import the rest when they run, and say in a
sentence which Python it was that could not. So nothing here may refer to another module of ours.
"""

import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from pyspark import cloudpickle
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle


def remote(function: Callable[..., Iterator[Any]], *arguments: Any, **named: Any) -> "partial[Iterator[Any]]":
    """A function of one of our modules with these arguments, for `mapInArrow`: it is looked up where it runs."""
    return partial(_call, function.__module__, function.__name__, arguments, named)


def _call(module: str, name: str, arguments: Any, named: Any, batches: Iterator[Any]) -> Iterator[Any]:
    yield from _find(module, name)(*arguments, batches, **named)


class RemoteProcessor(StatefulProcessor):
    """A stateful processor of one of our modules, made where it runs."""

    def __init__(self, processor: type[StatefulProcessor], *arguments: Any) -> None:
        self._told = processor.__module__, processor.__name__, arguments

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Arrive; the process in which Spark declares the state prints what it does, for nobody: not from here on."""
        import os
        import sys

        self.__dict__.update(state)
        if _only_declares():
            sys.stdout = open(os.devnull, "w")  # noqa: PTH123, SIM115

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Make the processor, which names its state; where Spark asks for the names alone, a second is saved."""
        if _only_declares():
            declare_state(handle)
            return
        module, name, arguments = self._told
        self._made = _find(module, name)(*arguments)
        self._made.init(handle)

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Any]:  # noqa: N802, N803
        """What the processor does."""
        yield from self._made.handleInputRows(key, rows, timerValues)

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Any]:  # noqa: N802, N803
        """What the processor does."""
        yield from self._made.handleExpiredTimer(key, timerValues, expiredTimerInfo)

    def close(self) -> None:
        """What the processor does, if one was made."""
        if not _only_declares():
            self._made.close()


def declare_state(handle: StatefulProcessorHandle) -> tuple[Any, Any]:
    """The state of a cell: its note, and contents by name."""
    note = handle.getValueState("note", "plan string, worker binary, cell binary")
    return note, handle.getMapState("contents", "name string", "content binary")


def _only_declares() -> bool:
    """Whether this is the process, one for each start of a query, in which Spark has the state declared."""
    import sys

    main = getattr(sys.modules.get("__main__"), "__spec__", None)
    return main is not None and main.name.endswith("transform_with_state_driver_worker")


def _find(module: str, name: str) -> Any:
    import importlib
    import platform
    import sys

    try:
        return getattr(importlib.import_module(module), name)
    except ImportError as error:
        raise RuntimeError(
            f"{sys.executable} on {platform.node()}, which runs Spark's Python workers there, cannot import "
            f"{module}: {error}. Every executor needs the packages of the driver: pip install 'streamjoin' into that "
            "Python, or name the one that has it in PYSPARK_PYTHON (on a cluster also spark.pyspark.python)"
        ) from error


cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]

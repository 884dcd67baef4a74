"""Spark's state store of one partition, and the handle by which a stateful processor reaches it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass
class CellContents:
    """The state of one key: its value, its map, its timers in milliseconds."""

    note: Any = None
    contents: dict[Any, Any] = field(default_factory=dict)
    timers: set[int] = field(default_factory=set)

    def copy(self) -> "CellContents":
        return CellContents(self.note, dict(self.contents), set(self.timers))


Version = dict[int, CellContents]
"""The state of a partition after so many batches, by cell. A version that is committed does not change."""


class Handle:
    """As `StatefulProcessorHandle`, for one key of an attempt; `step` is told before each change."""

    def __init__(self, attempt: Version, cell: int, step: Callable[[], None]) -> None:
        self._attempt, self._cell, self._step = attempt, cell, step
        self._own = False

    @property
    def found(self) -> CellContents:
        return self._attempt.get(self._cell) or CellContents()

    def change(self) -> CellContents:
        self._step()
        if not self._own:
            self._attempt[self._cell] = self.found.copy()
            self._own = True
        return self._attempt[self._cell]

    def getValueState(self, name: str, schema: str) -> "_Value":  # noqa: N802
        return _Value(self)

    def getMapState(self, name: str, key: str, value: str) -> "_Map":  # noqa: N802
        return _Map(self)

    def registerTimer(self, expiry: int) -> None:  # noqa: N802
        self.change().timers.add(expiry)

    def deleteTimer(self, expiry: int) -> None:  # noqa: N802
        self.change().timers.discard(expiry)


@dataclass
class _Value:
    handle: Handle

    def exists(self) -> bool:
        return self.handle.found.note is not None

    def get(self) -> Any:
        return self.handle.found.note

    def update(self, value: Any) -> None:
        self.handle.change().note = value


@dataclass
class _Map:
    handle: Handle

    def getValue(self, key: Any) -> Any:  # noqa: N802
        return self.handle.found.contents.get(key)

    def updateValue(self, key: Any, value: Any) -> None:  # noqa: N802
        self.handle.change().contents[key] = value

    def removeKey(self, key: Any) -> None:  # noqa: N802
        self.handle.change().contents.pop(key, None)

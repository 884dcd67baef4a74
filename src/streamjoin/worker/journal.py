"""What state is to be told: the segments that are new, and the names that are not needed any more."""

from dataclasses import replace

from streamjoin.pane import Segment


class Journal:
    """What was stored and dropped since it was last taken; what was dropped before it was ever taken is left out."""

    def __init__(self) -> None:
        self._new: dict[str, Segment] = {}
        self._dropped: list[str] = []

    def add(self, segment: Segment) -> None:
        """A segment is to be stored; its index is not, because it can be built again."""
        self._new[segment.name] = replace(segment, index={})

    def drop(self, name: str) -> None:
        """What was stored under this name is not needed any more."""
        if self._new.pop(name, None) is None:
            self._dropped.append(name)

    def take_new(self) -> list[Segment]:
        """The segments that are new since the last call."""
        new, self._new = self._new, {}
        return list(new.values())

    def take_dropped(self) -> list[str]:
        """The names that were dropped since the last call."""
        dropped, self._dropped = self._dropped, []
        return dropped

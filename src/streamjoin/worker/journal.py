"""What state is to be told: the segments that are new, and the names that are not needed any more."""

from dataclasses import replace

from streamjoin.pane import Segment


class Journal:
    """A record of what was kept and let go since it was last asked for.

    What is let go before it was ever asked for is not mentioned at all.
    """

    def __init__(self) -> None:
        self._new: dict[str, Segment] = {}
        self._dropped: list[str] = []

    def add(self, segment: Segment) -> None:
        """A segment is to be stored; its index is not, because it can be built again."""
        self._new[segment.name] = replace(segment, index={})

    def drop(self, name: str) -> None:
        """What was stored under this name is over."""
        if self._new.pop(name, None) is None:
            self._dropped.append(name)

    def new(self) -> list[Segment]:
        """The segments that are new since the last call."""
        new = list(self._new.values())
        self._new.clear()
        return new

    def dropped(self) -> list[str]:
        """The names that were dropped since the last call."""
        dropped = list(self._dropped)
        self._dropped.clear()
        return dropped

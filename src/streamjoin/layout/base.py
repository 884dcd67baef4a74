"""What a layout is.

A layout says which workers (cells) a row goes to, and what it does there: probe, be stored, or both. Its law: for every
pair (l, r) that can match there is exactly one cell where l probes and r is stored, and exactly one where r probes and
l is stored; any other pair meets at most once. Routing is a pure function of the row's content, so that a task that is
tried again routes as it did the first time.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from streamjoin.errors import StreamJoinError
from streamjoin.spec.duration import format_duration
from streamjoin.spec.side import Side
from streamjoin.spec.window import Between, Both, Last, Tumbling, Window

if TYPE_CHECKING:  # a layout is named without Numba, which takes its time
    from streamjoin.pane import Rows
    from streamjoin.plan import Plan

Hashes: TypeAlias = NDArray[np.int64]
Indices: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True)
class Copy:
    """A cell that rows are sent to, and what they do there; one of a row's copies is `first`: that counts the row."""

    cell: int
    probes: bool = True
    stores: bool = True
    first: bool = False


@dataclass(frozen=True)
class Part:
    """Rows that go the same way: their positions, in order, and where to."""

    rows: Indices
    copies: tuple[Copy, ...]


ROUTING = 3
"""Goes up when rows of the same content would go elsewhere: state that was routed otherwise is not gone on with."""

Router: TypeAlias = "Callable[[Side, Rows, Hashes], Iterator[Part]]"
"""Takes rows of one side and a hash of all that each holds, and says where they go."""


@dataclass(frozen=True)
class Cost:
    """What a layout does with a row: to how many cells it is sent, and in how many it is stored, on average."""

    sent: float
    stored: float


class Layout(ABC):
    """Which cells the rows of each side go to."""

    @property
    @abstractmethod
    def cells(self) -> int:
        """How many cells there are, numbered from 0."""

    @abstractmethod
    def router(self, plan: "Plan") -> Router:
        """Where rows go in this join; refuses a join that lacks what the layout goes by."""

    @abstractmethod
    def cost(self, side: Side, plan: "Plan") -> Cost:
        """What becomes of a row of one side."""

    @abstractmethod
    def draw(self) -> str:
        """The cells, and the way a row of each side takes."""

    def describe_routing(self, plan: "Plan") -> str:
        """What decides where a row goes."""
        del plan
        return "a hash of the whole row"

    def evenness(self, plan: "Plan") -> str:
        """When the cells have equal shares of the work."""
        del plan
        return "whatever the values and rates, as far as rows differ"


@dataclass(frozen=True)
class Line(Layout):
    """n cells alike; a row is sent to all of them and stored in one."""

    n: int

    def __post_init__(self) -> None:
        check_whole_number(f"{type(self).__name__}(n)", self.n)

    @property
    def cells(self) -> int:
        """All of them alike."""
        return self.n

    def cost(self, side: Side, plan: "Plan") -> Cost:
        """One stored copy."""
        del side, plan
        return Cost(self.n, 1)

    def draw(self) -> str:
        """The cells in a line, with what one row of each side does in them.

        >>> from streamjoin.layout import Scale
        >>> print(Scale(3).draw())
              0   1   2
            +---+---+---+
        l > | p | S | p |   S: probes and is stored
            +---+---+---+
        r > | S | p | p |   p: probes
            +---+---+---+
        """
        shown = min(self.n, 12)
        more = "" if shown == self.n else " ..."
        border = "    +" + "---+" * shown + more
        left, right = (
            "|".join(" S " if cell == home else " p " for cell in range(shown)) for home in (min(1, self.n - 1), 0)
        )
        return "\n".join(
            [
                "     " + " ".join(f"{cell:^3}" for cell in range(shown)).rstrip() + more,
                border,
                f"l > |{left}|{more}   S: probes and is stored",
                border,
                f"r > |{right}|{more}   p: probes",
                border,
            ]
        )


def split(groups: NDArray[np.int64], count: int) -> Iterator[tuple[int, Indices]]:
    """The positions of each group's members, in order; groups without members are left out.

    >>> [(group, rows.tolist()) for group, rows in split(np.array([1, 0, 1]), 3)]
    [(0, [1]), (1, [0, 2])]
    """
    order = np.argsort(groups, kind="stable")
    sizes = np.bincount(groups, minlength=count)
    ends = np.cumsum(sizes)
    for group in np.flatnonzero(sizes).tolist():
        yield group, order[ends[group] - sizes[group] : ends[group]]


def mix(words: Hashes) -> Hashes:
    """Hashes of words: every bit of a word moves every bit of its hash (the finalizer of SplitMix64)."""
    bits = words.view(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (bits ^ (bits >> np.uint64(31))).view(np.int64)


def send_everywhere(homes: NDArray[np.int64], cells: int) -> Iterator[Part]:
    """Rows that probe in all cells and are stored in one, their home."""
    for home, rows in split(homes, cells):
        others = (Copy((home + step) % cells, stores=False) for step in range(1, cells))
        yield Part(rows, (Copy(home, first=True), *others))


def slot_length(window: Window, side: Side, slots: int) -> int:
    """The length in microseconds of one of so many equal slots of a side's window.

    >>> slot_length(Between(-40, 80), "l", 4), slot_length(Between(-40, 80), "r", 4)
    (20, 10)
    """
    match window:
        case Tumbling():
            stay = window.size
        case Between():
            stay = window.last if side == "l" else -window.first
            stay = stay if stay > 0 else window.last - window.first
        case Both():
            return slot_length(window.time, side, slots)
        case _:
            assert isinstance(window, Last)
            raise StreamJoinError(
                f"layout: Cell stores rows by slots of time, and {window} has no length in time to be cut into them; "
                "take Scale with as many cells, or Grid(m, n)"
            )
    return max(1, stay // slots)


def describe_lengths(l: int, r: int) -> str:
    """Lengths of time of left and right rows, in words.

    >>> describe_lengths(1000, 1000), describe_lengths(1000, 2000)
    ('1 millisecond', '1 millisecond of left rows, 2 milliseconds of right rows')
    """
    if l == r:
        return format_duration(l)
    return f"{format_duration(l)} of left rows, {format_duration(r)} of right rows"


def check_whole_number(argument: str, value: object) -> None:
    """Refuse anything but a positive whole number."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise StreamJoinError(f"{argument}: expected a whole number of cells, 1 or more; got {value!r}")

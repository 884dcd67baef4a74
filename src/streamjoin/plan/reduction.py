"""How a cell reduces what a left row met to one result: aggregates of all matches, or one of them."""

from dataclasses import dataclass
from math import gcd
from typing import Literal

import pyarrow as pa

from streamjoin.operators.expr import Expr
from streamjoin.spec.side import Side

Direction = Literal["backward", "forward", "nearest"]


@dataclass(frozen=True)
class Taken:
    """A value of a pair: a payload column of one side."""

    side: Side
    column: int


@dataclass(frozen=True)
class Computed:
    """A value of a pair that takes both rows: an expression over keys, all numbers, that is compiled.

    `left` and `right` are the payload columns that hold the keys, in the order in which the expression names them.
    """

    expr: Expr
    left: tuple[int, ...]
    right: tuple[int, ...]
    type: pa.DataType


Operand = Taken | Computed


@dataclass(frozen=True)
class Aggregate:
    """One aggregate of all matches, with the type that Spark gives it; without operands it counts matches.

    `known` says that first and last leave NULLs out.
    """

    op: str
    operands: tuple[Operand, ...]
    type: pa.DataType
    known: bool = False


@dataclass(frozen=True)
class Aggregates:
    """Aggregates, one column each; results carry the first `kept` payload columns of the left row before them."""

    kept: int
    each: tuple[Aggregate, ...]

    def list_fields(self, left: pa.Schema, right: pa.Schema) -> list[pa.Field]:
        """The columns of a result but for its time."""
        del right
        return [*list(left)[: self.kept], *(pa.field(f"a{at}", each.type) for at, each in enumerate(self.each))]


@dataclass(frozen=True)
class Pick:
    """One of the matches: the latest before the left row, the first after it, or the nearer of both.

    Without `exact` one at the very time of the left row does not count.
    """

    direction: Direction
    exact: bool = True

    def list_fields(self, left: pa.Schema, right: pa.Schema) -> list[pa.Field]:
        """The columns of a result but for its time."""
        return [*left, *right]


@dataclass(frozen=True)
class Sliding:
    """Aggregates of the right rows alone, in windows of `size` that begin every `every` microseconds.

    The first `keys` payload columns say which group a row belongs to.
    """

    size: int
    every: int
    keys: int
    each: tuple[Aggregate, ...]

    @property
    def pane(self) -> int:
        """The length of the panes that windows are made of."""
        return gcd(self.size, self.every)

    def list_fields(self, left: pa.Schema, right: pa.Schema) -> list[pa.Field]:
        """The columns of a result but for its time: the start of the window, its group, the aggregates."""
        del left
        start = pa.field("start", pa.int64())
        each = (pa.field(f"a{at}", each.type) for at, each in enumerate(self.each))
        return [start, *list(right)[: self.keys], *each]


Reduction = Aggregates | Pick | Sliding

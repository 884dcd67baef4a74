"""The plan of a join: what every room below the runtimes is told of it."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property

import pyarrow as pa

from streamjoin.errors import StreamJoinError
from streamjoin.operators.expr import Key
from streamjoin.plan.reduction import Reduction, Sliding
from streamjoin.predicate import Predicate
from streamjoin.spec.how import HOWS, PRESERVED, How, emits_unmatched, sides_of
from streamjoin.spec.side import SIDES, Side
from streamjoin.spec.window import Between, Both, Last, Window


@dataclass(frozen=True, eq=False)
class Plan:
    """A join as the worker runs it; `left` and `right` are the schemas of the payloads.

    Residual conjuncts, which Spark evaluates, are left to the caller: every pair that passes all others comes out. That
    is right for an inner join alone; for every other `how` the predicate must have passed `require_worker`.
    """

    predicate: Predicate
    window: Window
    left: pa.Schema
    right: pa.Schema
    how: How = "inner"
    _: KW_ONLY
    shared: tuple[Side, ...] = ()
    """Preserved sides whose rows meet the other side in several workers: unmatched in one, matched in another."""
    lagging: tuple[Side, ...] = ()
    """Sides whose rows may lie before the watermark of their batch, though not before that of the batch before."""
    ordered: bool = False
    """Whether rows are held until they are ready, and results carry what they are sorted by."""
    times: Mapping[Side, str] = field(default_factory=dict)
    """The payload column that is the event time of its side, where one is: ordered results need not carry it twice."""
    reduction: Reduction | None = None
    """What is made of all that a left row met; None for the matches themselves."""
    kernel: str = "auto"
    block_rows: int = 1 << 16
    block_bytes: int = 8 << 20

    def __post_init__(self) -> None:
        if self.how not in HOWS:
            raise StreamJoinError(f"how: got {self.how!r}; expected one of {', '.join(HOWS)}")
        residual = [str(conjunct.exact) for conjunct in self.predicate.residual]
        if self.reduction and self.how not in ("left", "inner"):
            raise StreamJoinError(f"how: got {self.how!r}; results are one for a left row: expected 'left' or 'inner'")
        if self.reduction and self.counts:
            raise StreamJoinError(f"window: {self.window} counts rows; expected a window of time: within, between, ...")
        if residual and (self.how != "inner" or self.reduction):
            raise StreamJoinError(
                f"on: only Spark can evaluate {' AND '.join(residual)}, and only after the join, "
                f"so how={self.how!r} cannot know which rows are unmatched. Compute a column of it before the join and "
                "compare that by = or <, or take how='inner'"
            )

    @property
    def columns(self) -> list[pa.Field]:
        """The payload columns of a result: a semi or anti join has those of the left side alone."""
        if self.reduction is not None:
            return self.reduction.list_fields(self.left, self.right)
        return [field for side in sides_of(self.how) for field in self.payload(side)]

    def payload(self, side: Side) -> pa.Schema:
        """The payload columns of one side."""
        return self.left if side == "l" else self.right

    @cached_property
    def output(self) -> pa.Schema:
        """The schema of the results: payload columns, the join time in microseconds, what else they are sorted by."""
        payload = [(field.name, field.type) for field in self.columns]
        return pa.schema([*payload, *((name, pa.int64()) for name in ("join_time", *self.extra))])

    @cached_property
    def order(self) -> list[str]:
        """The columns that results are sorted by; unordered ones have the join time alone."""
        if not self.ordered:
            return ["join_time"]
        sides = sides_of(self.how)
        times = [self.times.get(side, f"__time_{side}") for side in sides]
        return ["join_time", *times, *(f"__tie_{side}" for side in sides)]

    @cached_property
    def extra(self) -> list[str]:
        """The columns that results carry only to be sorted by; the last ones of the output."""
        return [name for name in self.order[1:] if name not in self.times.values()]

    @cached_property
    def keys(self) -> dict[Side, list[Key]]:
        """The key columns of each side."""
        return {side: self.predicate.keys(side) for side in SIDES}

    @property
    def counts(self) -> bool:
        """Whether the window counts rows, so that rows must be put in order first."""
        return isinstance(self.window, Last | Both)

    @property
    def holds(self) -> bool:
        """Whether rows are held until they are ready: the watermark has passed them."""
        return self.counts or self.ordered

    def preserves(self, side: Side) -> bool:
        """Whether results depend on which rows of this side are matched, or on all that they match."""
        if isinstance(self.reduction, Sliding):
            return side == "r"
        return side == "l" if self.reduction else side in PRESERVED[self.how]

    def flags(self, side: Side) -> bool:
        """Whether the rows of this side are flagged when they are matched."""
        return self.preserves(side) and self.reduction is None

    @property
    def keeps(self) -> Window:
        """The window that rows are stored for: where left rows wait to be reduced, right rows stay for them."""
        slides = isinstance(self.reduction, Sliding)
        if self.reduction is None or slides or not isinstance(self.window, Between):
            return self.window
        return Between(self.window.lower - max(self.window.upper, 0), self.window.upper)

    @property
    def lags(self) -> bool:
        """Whether results may lie before the watermark of their batch: unmatched and held rows come late."""
        return bool(self.lagging) or self.reduction is not None or emits_unmatched(self.how) or self.holds

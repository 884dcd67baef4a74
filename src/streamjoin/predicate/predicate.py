"""A whole predicate: its meaning, its conjuncts, the key columns they need, the window it implies."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from streamjoin.errors import StreamJoinError
from streamjoin.operators.evaluate import evaluate
from streamjoin.operators.expr import Column, Expr, Key
from streamjoin.predicate.classify import Keys
from streamjoin.predicate.conjunct import Band, Conjunct, OneSided, Range, Residual
from streamjoin.predicate.for_worker import prefer_worker, require_worker
from streamjoin.predicate.linear import ZONE_MARGIN, Bound
from streamjoin.predicate.traits import may_raise
from streamjoin.spec.how import How
from streamjoin.spec.side import SIDES, Side
from streamjoin.spec.window import Between, Closed, Window


@dataclass(frozen=True)
class Predicate:
    """A condition on two rows, and the conjuncts it is served by.

    Calling it evaluates the condition as written, for tests and for `reference.join`: True, False or None.
    """

    text: str
    condition: Expr
    conjuncts: tuple[Conjunct, ...]

    def __call__(self, left: Mapping[str, Any], right: Mapping[str, Any]) -> bool | None:
        return evaluate(self.condition, left, right)  # type: ignore[no-any-return]

    def keys(self, side: Side) -> list[Key]:
        """The columns that Spark computes for one side before the join, each once."""
        found = {key.name: key for conjunct in self.conjuncts for key in conjunct.keys if key.side == side}
        return [found[name] for name in sorted(found, key=lambda name: int(name[2:]))]

    @property
    def residual(self) -> tuple[Conjunct, ...]:
        """The conjuncts that only Spark decides, if only on what the others let through."""
        return tuple(conjunct for conjunct in self.conjuncts if _only_spark_decides(conjunct))

    def require_worker(self) -> "Predicate":
        """The same predicate without conjuncts that only Spark decides; an error where one cannot do without."""
        keys = Keys({key: key for conjunct in self.conjuncts for key in conjunct.keys})
        conjuncts = (require_worker(c, keys) if _only_spark_decides(c) else c for c in self.conjuncts)
        return replace(self, conjuncts=tuple(conjuncts))

    def prefer_worker(self) -> "Predicate":
        """The same predicate for an inner join: what the worker decides exactly as Spark would is left to it.

        Spark does not evaluate a conjunct that may raise on pairs that one before it excludes, so such a conjunct stays
        behind one that Spark decides.
        """
        keys = Keys({key: key for conjunct in self.conjuncts for key in conjunct.keys})
        conjuncts: list[Conjunct] = []
        for conjunct in self.conjuncts:
            guarded = may_raise(conjunct.exact) and any(map(_only_spark_decides, conjuncts))
            moves = isinstance(conjunct, Residual) and not guarded
            conjuncts.append((prefer_worker(conjunct, keys) if moves else None) or conjunct)
        return replace(self, conjuncts=tuple(conjuncts))

    def choose_window(self, window: Window | None, time: tuple[str, str]) -> tuple[Window, "Predicate"]:
        """The window that was given, or the one that time bounds amount to, with what is left of the condition."""
        if window is not None:
            return window, self
        implied = self.window(time)
        if implied is None:
            raise StreamJoinError(
                'window: expected one such as within("15 minutes"), or time bounds in `on`, such as '
                f"r.{time[1]} BETWEEN l.{time[0]} AND l.{time[0]} + INTERVAL 15 MINUTES"
            )
        return implied

    def split_filters(self, how: How, window: Window) -> tuple[dict[Side, list[Expr]], "Predicate"]:
        """The conditions of one side that may keep rows out of the join, by side, and what is left of the condition."""
        filters = [c for c in self.conjuncts if isinstance(c, OneSided) and c.may_filter(how, window)]
        rest = replace(self, conjuncts=tuple(c for c in self.conjuncts if c not in filters))
        return {side: [c.exact for c in filters if c.side == side] for side in SIDES}, rest

    def window(self, time: tuple[str, str]) -> tuple[Between, "Predicate"] | None:
        """The window that time bounds in the condition amount to, and what is left of the condition.

        None where the condition does not bound the time between the rows on both ends.
        """
        for conjunct in self.conjuncts:
            if isinstance(conjunct, Band) and _on_time(conjunct, time):
                break
        else:
            return None
        if conjunct.lower is None or conjunct.upper is None:
            open_end = "l" if conjunct.lower is None else "r"
            raise StreamJoinError(
                f"on: {conjunct.exact} bounds the time between the rows on one end only, so {open_end} rows would "
                "be kept for ever; bound the other end too, or give window="
            )
        if conjunct.lower.value > conjunct.upper.value:
            raise StreamJoinError(f"on: {conjunct.exact} leaves no time between the rows: its bounds contradict")
        window = _as_window(conjunct.lower, conjunct.upper, 0 if conjunct.decides else ZONE_MARGIN)
        rest = tuple(c for c in self.conjuncts if c is not conjunct) if conjunct.decides else self.conjuncts
        return window, replace(self, conjuncts=rest)

    def __str__(self) -> str:
        width = max((len(conjunct.kind) for conjunct in self.conjuncts), default=0)
        return "\n".join((self.text, *(f"  {c.kind:<{width}}  {c}" for c in self.conjuncts)))


def _only_spark_decides(conjunct: Conjunct) -> bool:
    match conjunct:
        case Residual():
            return True
        case Band() | Range():
            return not conjunct.decides and conjunct.check is None
    return False


def _on_time(band: Band, time: tuple[str, str]) -> bool:
    return band.left.type.is_timestamp and all(
        isinstance(key.arg, Column) and key.arg.type == key.type and [p.lower() for p in key.arg.path] == [name.lower()]
        for key, name in zip((band.left, band.right), time, strict=True)
    )


def _as_window(lower: Bound, upper: Bound, margin: int) -> Between:
    """Bounds on ``t_l - t_r`` turned round into bounds on ``t_r - t_l``, wider by a margin."""
    closed: dict[tuple[bool, bool], Closed] = {
        (False, False): "both",
        (False, True): "left",
        (True, False): "right",
        (True, True): "neither",
    }
    ends = (False, False) if margin else (upper.open, lower.open)
    return Between(int(-upper.value) - margin, int(-lower.value) + margin, closed[ends])

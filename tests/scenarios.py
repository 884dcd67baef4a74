"""What engines with stream joins test of themselves, as tables: rows, a window, and who meets whom or nobody.

Times are microseconds; a row is (id, time, key, text). The results are those of a full join, from which those of every
other join follow. They were worked out by hand, not by the reference.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

import streamjoin as sj
from streamjoin.predicate import Schema
from streamjoin.reference import Row
from streamjoin.spec.how import How
from streamjoin.spec.window import Window

Told = tuple[int, int, int | None, str | None]
Result = tuple[int | None, int | None, int]
"""Ids of the left and the right row, and the join time."""

SCHEMA = Schema({"id": "int", "ts": "timestamp", "k": "int", "s": "string"})
DDL = "id int, ts timestamp, k int, s string"
KEYS = "l.k = r.k"


def us(count: int) -> timedelta:
    return timedelta(microseconds=count)


@dataclass(frozen=True)
class Scenario:
    """One table."""

    name: str
    window: Window
    left: list[Told]
    right: list[Told]
    full: list[Result]
    on: str = KEYS

    def agrees(self, how: How, found: Counter[Result]) -> bool:
        """Whether these are the results of such a join; a semi row comes at one of its matches, as the cut has it."""
        pairs = [row for row in self.full if row[0] is not None and row[1] is not None]
        of_left = [row for row in self.full if row[1] is None]
        of_right = [row for row in self.full if row[0] is None]
        if how == "left_semi":
            met = {(l, t) for l, _, t in pairs}
            each = Counter(told[0] for told in self.left if told[0] in {l for l, _ in met})
            return Counter(l for l, _, _ in found.elements()) == each and {(l, t) for l, _, t in found} <= met
        kept = {"inner": pairs, "left": pairs + of_left, "right": pairs + of_right, "left_anti": of_left}
        return found == Counter(kept.get(how, self.full))


def rows(told: Iterable[Told]) -> list[Row]:
    return [dict(zip(("id", "ts", "k", "s"), row, strict=True)) for row in told]


def _times(*times: int) -> list[Told]:
    """Rows of one key at these times, their ids the times."""
    return [(t, t, 1, "a") for t in times]


def _one_left(name: str, window: Window, hit: list[int], missed: list[int], stay: int, reach: int) -> Scenario:
    """A left row at 100, with right rows that meet it or miss it; how long a left and a right one wait."""
    pairs: list[Result] = [(100, t, max(100, t)) for t in hit]
    alone: list[Result] = [(None, t, t + reach) for t in missed]
    left: list[Result] = [] if hit else [(100, None, 100 + stay)]
    return Scenario(name, window, _times(100), _times(*hit, *missed), pairs + alone + left)


SCENARIOS = [
    _one_left("both ends hit, missed by one", sj.within(us(10)), [90, 110], [89, 111], 10, 10),
    _one_left("open ends", sj.within(us(10), closed="neither"), [91, 109], [90, 110], 10, 10),
    _one_left("left end closed", sj.within(us(10), closed="left"), [90, 109], [89, 110], 10, 10),
    _one_left("right end closed", sj.within(us(10), closed="right"), [91, 110], [90, 111], 10, 10),
    _one_left("after only", sj.between(us(2), us(5)), [102, 105], [101, 106], 5, 0),
    _one_left("before only, its mirror", sj.between(us(-5), us(-2)), [95, 98], [94, 99], 0, 5),
    _one_left("uneven", sj.within(left=us(7), right=us(3)), [97, 107], [96, 108], 7, 3),
    _one_left("zero width", sj.between(us(3), us(3)), [103], [102, 104], 3, 0),
    _one_left("equal times", sj.within(us(0)), [100], [99, 101], 0, 0),
    _one_left("equal times left out", sj.within(us(1), closed="neither"), [100], [99, 101], 1, 1),
    _one_left("before the epoch", sj.within(us(200)), [-100, 300], [-101, 301], 200, 200),
    _one_left("nobody in time", sj.within(us(10)), [], [50, 150], 10, 10),
    Scenario(
        "one bucket",
        sj.tumbling(us(10)),
        _times(100, 109),
        _times(99, 110),
        [(100, None, 110), (109, None, 110), (None, 99, 100), (None, 110, 120)],
    ),
    Scenario(
        "NULL keys on either side",
        sj.within(us(10)),
        [(1, 100, None, "a"), (2, 100, 7, "a")],
        [(3, 100, None, "a"), (4, 101, 8, "a")],
        [(1, None, 110), (2, None, 110), (None, 3, 110), (None, 4, 111)],
    ),
    Scenario(
        "NULL keys that are the same",
        sj.within(us(10)),
        [(1, 100, None, "a"), (2, 100, 7, "a")],
        [(3, 100, None, "a")],
        [(1, 3, 100), (2, None, 110)],
        on="l.k <=> r.k",
    ),
    Scenario(
        "identical rows",
        sj.within(us(10)),
        [(1, 100, 1, "a"), (1, 100, 1, "a"), (2, 200, 1, "a"), (2, 200, 1, "a")],
        [(3, 101, 1, "a"), (4, 300, 1, "a"), (4, 300, 1, "a")],
        [(1, 3, 101), (1, 3, 101), (2, None, 210), (2, None, 210), (None, 4, 310), (None, 4, 310)],
    ),
    Scenario(
        "a residual that rejects everybody",
        sj.within(us(10)),
        [(1, 100, 1, "a"), (2, 101, 1, None)],
        [(3, 100, 1, "b"), (4, 102, 1, "a")],
        [(1, None, 110), (2, None, 111), (None, 3, 110), (None, 4, 112)],
        on="l.k = r.k AND levenshtein(l.s, r.s) > 5",
    ),
    Scenario(
        "a residual that decides",
        sj.within(us(10)),
        [(1, 100, 1, "night"), (2, 101, 1, "day"), (3, 101, 1, None)],
        [(4, 105, 1, "knight"), (5, 105, 1, "ay")],
        [(1, 4, 105), (2, 5, 105), (3, None, 111)],
        on="l.k = r.k AND levenshtein(l.s, r.s) <= 1",
    ),
    Scenario(
        "conditions of one side decide, and filter nobody who is kept",
        sj.within(us(10)),
        [(1, 100, 1, "a"), (2, 101, 9, "a")],
        [(3, 100, 1, "b"), (4, 102, 9, "a")],
        [(1, None, 110), (2, None, 111), (None, 3, 110), (None, 4, 112)],
        on="l.k = r.k AND l.k < 5 AND r.s = 'a'",
    ),
]

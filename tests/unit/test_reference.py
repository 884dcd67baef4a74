"""The law on histories short enough to compute by hand, then its properties on histories of any kind.

Times are microseconds. A timeline shows both streams and, after `=>`, what comes out: `(1,3)` is a left row at 1
with a right row at 3, `(1,-)@4` a left row at 1 that found no partner and was decided at 4.
"""

import itertools
import re
from collections.abc import Iterable
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamjoin import between, last, reference, tumbling, within
from streamjoin.reference import Batch, Joined, Result, Row, content
from streamjoin.spec.how import HOWS, How
from streamjoin.spec.window import Between, Closed, Tumbling, Window
from tests.strategies import ANY_WINDOW, HISTORIES, PREDICATES, Predicate, arrivals, for_each_window, multiset, us

Times = tuple[int | None, int | None, int]
"""A result as (t_l, t_r, join_time)."""


@dataclass(frozen=True)
class Case:
    says: str
    window: Window
    timeline: str

    def read(self) -> tuple[Batch, list[Times]]:
        """The rows of the timeline's first two lines, and the results of its third."""
        left, right, results = self.timeline.strip().splitlines()
        batch = Batch(*(at(*map(int, re.findall(r"-?\d+", side))) for side in (left, right)))
        return batch, [_result(*found) for found in re.findall(r"\((\S+?),(\S+?)\)(?:@(\S+))?", results)]


def _result(left: str, right: str, join_time: str) -> Times:
    """A pair is decided when the later of its rows comes, so its timeline need not say so."""
    t_l, t_r = (None if side == "-" else int(side) for side in (left, right))
    return t_l, t_r, int(join_time) if join_time else max(t_l, t_r)


def at(*times: int | None) -> list[Row]:
    return [{"ts": t} for t in times]


def always(left: Row, right: Row) -> bool:
    return True


def never(left: Row, right: Row) -> bool:
    return False


def times(rows: Iterable[Joined]) -> list[Times]:
    return [(j.left and j.left["ts"], j.right and j.right["ts"], j.join_time) for j in rows]


def in_any_order(results: Iterable[Times]) -> list[Times]:
    return sorted(results, key=repr)


# Which pairs are in a window


PAIRS = [
    Case(
        "a pair is at most T apart, whichever row is first",
        within(us(3)),
        """
        left   1      4        9
        right      3       6
        =>     (1,3) (4,3) (4,6) (9,6)
        """,
    ),
    Case(
        "a left row stays `left` long, a right row `right`",
        within(left=us(3), right=us(1)),
        """
        left       5
        right  3 4     8 9
        =>     (5,4) (5,8)
        """,
    ),
    Case(
        "positive bounds ask for right rows in the future",
        between(us(2), us(4)),
        """
        left   0
        right    1 2   4 5
        =>     (0,2) (0,4)
        """,
    ),
    Case(
        "negative bounds ask for right rows in the past",
        between(us(-4), us(-2)),
        """
        left               5
        right  0 1     3 4
        =>     (5,1) (5,3)
        """,
    ),
    Case(
        "a window of no width holds rows of the same time",
        within(us(0)),
        """
        left   1  2
        right     2  3
        =>      (2,2)
        """,
    ),
    Case(
        "a window of no width may lie off zero",
        between(us(2), us(2)),
        """
        left   0  1
        right         2   3
        =>     (0,2) (1,3)
        """,
    ),
    Case(
        "a window of no width with an open end is empty",
        within(us(0), closed="left"),
        """
        left   1  2
        right     2  3
        =>     nothing
        """,
    ),
    Case(
        "duplicates match as often as there are of them",
        within(us(0)),
        """
        left   2 2
        right  2 2 2
        =>     (2,2) (2,2) (2,2) (2,2) (2,2) (2,2)
        """,
    ),
    Case(
        "a bucket holds its start and not its end, before the epoch too",
        tumbling(us(5)),
        """
        left        -1  |  0        4  |  5
        right  -5       |           4  |     9
        =>     (-1,-5)  |  (0,4) (4,4) |  (5,9)
        """,
    ),
    Case(
        "an offset moves every bucket",
        tumbling(us(5), offset=us(2)),
        """
        left         1  |  2
        right  -3       |      6
        =>     (1,-3)   |  (2,6)
        """,
    ),
    Case(
        "a row is seen until a newer one of its stream pushes it out",
        last(1),
        """
        left   1           3
        right        2           4
        =>         (1,2) (3,2) (3,4)
        """,
    ),
    Case(
        "each side counts its own rows",
        last(left=2, right=1),
        """
        left   1 2 3              5
        right            4               6
        =>       (2,4) (3,4) (5,4) (3,6) (5,6)
        """,
    ),
    Case(
        "a side of which no row is kept only looks back",
        last(left=0, right=1),
        """
        left   1      3
        right     2        4
        =>          (3,2)
        """,
    ),
    Case(
        "of rows at the same time the left one comes first, and the right one sees it",
        last(left=1, right=0),
        """
        left   1   2
        right      2
        =>       (2,2)
        """,
    ),
    Case(
        "of rows at the same time the right one comes second, and the left one does not see it",
        last(left=0, right=1),
        """
        left       2
        right  1   2
        =>       (2,1)
        """,
    ),
    Case(
        "with & a pair must be in both windows: at 9 row 1 has been pushed out, at 20 time has run out",
        last(2) & within(us(3)),
        """
        left   1   7   9                      20
        right          9            10
        =>       (7,9) (9,9) (7,10) (9,10)
        """,
    ),
    Case(
        "with & rows are counted across buckets: at 7 row 3 is among the last two, but of another bucket",
        last(2) & tumbling(us(5)),
        """
        left   1   2   3       |  6
        right              4   |     7
        =>       (2,4) (3,4)   |  (6,7)
        """,
    ),
]


@pytest.mark.parametrize("case", PAIRS, ids=lambda case: case.says)
def test_pairs(case: Case) -> None:
    batch, results = case.read()
    joined = reference.join([batch], always, case.window)
    assert in_any_order(times(joined.rows)) == in_any_order(results)


#  left              5
#  right    2  3  4  5  6  7  8
#  -2..2       [           ]
@pytest.mark.parametrize(
    ("closed", "seen"),
    [("both", [3, 4, 5, 6, 7]), ("left", [3, 4, 5, 6]), ("right", [4, 5, 6, 7]), ("neither", [4, 5, 6])],
)
def test_closed_says_which_ends_belong_to_the_window(closed: Closed, seen: list[int]) -> None:
    joined = reference.join([Batch(at(5), at(*range(2, 9)))], always, within(us(2), closed=closed))
    assert [row.right["ts"] for row in joined.rows] == seen


#  R (left)    t1=1         t3=4
#  S (right)         t2=2         t4=6  t5=7
#  WS=4   =>   (t1,t2) (t3,t2) (t3,t4) (t3,t5)
def test_scalejoin_figure_1_without_the_pair_that_is_too_far_apart() -> None:
    """ScaleJoin, Section II: a row is only purged when a newer one of its own stream comes.

    So the plain three-step procedure still compares t1 with t4, five units apart. The law is the modified
    procedure of Section III, which does not. (Our copy lacks the picture: the times are such that all that the
    text says of it holds, t2 being purged by t5 too.)
    """
    stream = [("R", 1), ("S", 2), ("R", 4), ("S", 6), ("S", 7)]
    seen: dict[str, list[int]] = {"R": [], "S": []}
    three_steps = set()
    for side, t in stream:
        other = "S" if side == "R" else "R"
        three_steps |= {(t, o) if side == "R" else (o, t) for o in seen[other]}  # 1) compare
        seen[side].append(t)  # 2) add
        seen[side] = [o for o in seen[side] if o >= t - 4]  # 3) remove

    joined = reference.join([Batch(at(1, 4), at(2, 6, 7))], always, within(us(4)))
    ours = {(l, r) for l, r, _ in times(joined.rows)}
    assert ours == {(1, 2), (4, 2), (4, 6), (4, 7)}
    assert (1, 6) in three_steps
    assert ours == {(l, r) for l, r in three_steps if abs(l - r) <= 4}


# Content


def test_equal_times_are_counted_in_the_order_of_content() -> None:
    """NULL, -0.0, 0.0, NaN: Spark's order, with the two zeros told apart so that it is total."""
    values = [float("nan"), 0.0, None, 2.5, -0.0, float("-inf")]
    in_order = [None, float("-inf"), -0.0, 0.0, 2.5, float("nan")]
    for arrival in itertools.permutations(values):
        batch = Batch([{"ts": 1, "y": y} for y in arrival], at(1))
        for n in range(1, 7):
            joined = reference.join([batch], always, last(left=n, right=0))
            kept = [row.left["y"] for row in joined.rows]
            assert sorted(map(repr, kept)) == sorted(map(repr, in_order[-n:]))


@pytest.mark.parametrize(
    "in_order",
    [
        [None, -1, 0, 7],
        [None, False, True],
        [None, "", "B", "a", "ab"],
        [None, b"", b"\x00", b"\xff"],
        [None, [], [None], [1], [1, 2], [float("nan")]],
        [None, (-0.0,), (0.0,), (float("nan"),)],
        [None, {}, {"a": 1}, {"a": 1, "b": None}, {"b": 0}],
    ],
    ids=repr,
)
def test_content_sorts_null_first_and_nested_values_by_their_items(in_order: list[object]) -> None:
    keys = [content({"ts": 0, "value": value}) for value in in_order]
    assert sorted(keys) == keys
    assert len(set(keys)) == len(keys)


def test_content_of_a_map_does_not_depend_on_the_order_of_its_entries() -> None:
    assert content({"m": {"a": 1, "b": 2}}) == content({"m": {"b": 2, "a": 1}})


# How


#  left     1                     10
#  right        2,2                            20
#  -1..3 => (1,2)@2 twice  (10,-)@13  (-,20)@21
@pytest.mark.parametrize(
    ("how", "results"),
    [
        ("inner", [(1, 2, 2), (1, 2, 2)]),
        ("left", [(1, 2, 2), (1, 2, 2), (10, None, 13)]),
        ("right", [(1, 2, 2), (1, 2, 2), (None, 20, 21)]),
        ("full", [(1, 2, 2), (1, 2, 2), (10, None, 13), (None, 20, 21)]),
        ("left_semi", [(1, None, 2)]),
        ("left_anti", [(10, None, 13)]),
    ],
)
def test_how_says_which_rows_come_out(how: How, results: list[Times]) -> None:
    batch = Batch(at(1, 10), at(2, 2, 20))
    joined = reference.join([batch], always, within(left=us(3), right=us(1)), how)
    assert in_any_order(times(joined.rows)) == in_any_order(results)


@pytest.mark.parametrize("answer", [None, False])
def test_a_condition_that_is_null_matches_as_little_as_a_false_one(answer: bool | None) -> None:
    joined = reference.join([Batch(at(1), at(1))], lambda l, r: answer, within(us(0)), "full")
    assert in_any_order(times(joined.rows)) == in_any_order([(1, None, 1), (None, 1, 1)])


DECIDED = [
    Case(
        "a row is decided when its window has passed",
        within(us(3)),
        """
        left   5
        right     6
        =>           (5,-)@8  (-,6)@9
        """,
    ),
    Case(
        "each side waits as long as its rows stay",
        within(left=us(3), right=us(1)),
        """
        left   5
        right  5
        =>        (-,5)@6  (5,-)@8
        """,
    ),
    Case(
        "an open end does not move the decision",
        within(us(3), closed="neither"),
        """
        left   5
        right     6
        =>           (5,-)@8  (-,6)@9
        """,
    ),
    Case(
        "a left row whose partners lie in the past is decided when it comes, not before",
        between(us(-4), us(-2)),
        """
        left   5
        right  5
        =>     (5,-)@5  (-,5)@9
        """,
    ),
    Case(
        "a right row whose partners lie in the past is decided when it comes, not before",
        between(us(2), us(4)),
        """
        left   5
        right  5
        =>     (-,5)@5  (5,-)@9
        """,
    ),
    Case(
        "a bucket is decided at its end, which is no part of it",
        tumbling(us(5)),
        """
        left           |  0  3              |  5
        right      -1  |                    |  9
        =>             |  (-,-1)@0          |  (0,-)@5 (3,-)@5  |  (5,-)@10 (-,9)@10
        """,
    ),
    Case(
        "an offset moves the end as well",
        tumbling(us(5), offset=us(2)),
        """
        left   1  |  2
        right     |
        =>        |  (1,-)@2  |  (2,-)@7
        """,
    ),
    Case(
        "a count window decides a row when another pushes it out, else when the history ends",
        last(1),
        """
        left   1     3        7
        right                             9
        =>           (1,-)@3  (3,-)@7     (7,-)@9 (-,9)@9
        """,
    ),
    Case(
        "the second row to come after it pushes a row out of the last two",
        last(2),
        """
        left   1  3  7
        right
        =>           (1,-)@7 (3,-)@7 (7,-)@7
        """,
    ),
    Case(
        "of rows at one time each pushes the one before it out at once",
        last(1),
        """
        left   3 3
        right              8
        =>     (3,-)@3     (3,-)@8 (-,8)@8
        """,
    ),
    Case(
        "a row that is not kept is decided when it comes",
        last(left=0, right=1),
        """
        left   1              3
        right          2                 4
        =>     (1,-)@1        (3,-)@3    (-,2)@4 (-,4)@4
        """,
    ),
    Case(
        "with & a row is decided by whichever window it leaves first",
        last(1) & within(us(4)),
        """
        left   1   3                     20
        right
        =>         (1,-)@3   (3,-)@7          (20,-)@24
        """,
    ),
    Case(
        "with & the row that pushes another out may come in the same bucket or after it",
        last(1) & tumbling(us(5)),
        """
        left   1   4        |  5
        right               |
        =>         (1,-)@4  |  (4,-)@5  |  (5,-)@10
        """,
    ),
]


@pytest.mark.parametrize("case", DECIDED, ids=lambda case: case.says)
def test_join_time_of_rows_without_a_match(case: Case) -> None:
    batch, results = case.read()
    full = reference.join([batch], never, case.window, "full")
    assert in_any_order(times(full.rows)) == in_any_order(results)

    anti = reference.join([batch], never, case.window, "left_anti")
    assert in_any_order(times(anti.rows)) == in_any_order(row for row in results if row[0] is not None)


#  left   5               batch 1
#  right           8      batch 1
#  right     6  7         batch 2
@pytest.mark.parametrize(
    ("says", "window", "ordered", "join_time"),
    [
        ("of the first batch that held a match, the earliest one released it", within(us(3)), False, 8),
        ("in order, the earliest match releases it whatever batch it came in", within(us(3)), True, 6),
        ("a count window waits for order anyway", last(3), False, 6),
    ],
)
def test_a_semi_row_has_the_time_of_the_match_that_released_it(
    says: str, window: Window, ordered: bool, join_time: int
) -> None:
    batches = [Batch(at(5), at(8)), Batch([], at(7, 6))]
    joined = reference.join(batches, always, window, "left_semi", ordered=ordered)
    assert times(joined.rows) == [(5, None, join_time)], says


def test_a_semi_row_is_released_by_the_earliest_match_of_its_batch() -> None:
    joined = reference.join([Batch(at(5)), Batch([], at(8, 6, 7))], always, within(us(3)), "left_semi")
    assert times(joined.rows) == [(5, None, 6)]


# Admission


#  left   9  10  11   under W=10: 9 is late
#  right  8   9  10   under W=10: 8 and 9 are late
@pytest.mark.parametrize("how", HOWS)
def test_a_row_is_late_before_the_watermark_and_not_at_it(how: How) -> None:
    batch = Batch(at(9, 10, 11), at(8, 9, 10), watermark=10)
    joined = reference.join([batch], always, within(us(1)), how)
    admitted = reference.join([Batch(at(10, 11), at(10))], always, within(us(1)), how)
    assert joined == Result(admitted.rows, late_left=1, late_right=2, invalid=0)
    assert admitted.rows or how == "left_anti"


#  W        -    5      9
#  left     3  | 3,4,5 | 8,9     3,4 and 8 are late in their batches, the first 3 is not
#  right  1    |       |   9
def test_each_batch_has_its_own_watermark() -> None:
    batches = [Batch(at(3), at(1)), Batch(at(3, 4, 5), (), 5), Batch(at(8, 9), at(9), 9)]
    joined = reference.join(batches, always, within(us(10)))
    assert (joined.late_left, joined.late_right, joined.invalid) == (3, 0, 0)
    assert in_any_order(times(joined.rows)) == in_any_order(
        [(3, 1, 3), (5, 1, 5), (9, 1, 9), (3, 9, 9), (5, 9, 9), (9, 9, 9)]
    )


@pytest.mark.parametrize("how", HOWS)
def test_a_row_without_a_time_is_dropped_and_counted_whatever_how(how: How) -> None:
    batch = Batch(at(None, 1, None), at(1, None), watermark=0)
    joined = reference.join([batch], always, last(1), how)
    admitted = reference.join([Batch(at(1), at(1))], always, last(1), how)
    assert joined == Result(admitted.rows, late_left=0, late_right=0, invalid=3)


#  W      -     2
#  left   1  |  0      the late 0 pushes nothing out, nor does it end the history
#  right     |  3
def test_a_late_row_does_not_count() -> None:
    batches = [Batch(at(1)), Batch(at(0), at(3), 2)]
    joined = reference.join(batches, always, last(1), "full")
    assert times(joined.rows) == [(1, 3, 3)]


def test_time_may_have_another_name_on_each_side() -> None:
    batch = Batch([{"seen": 1, "at": 50}], [{"seen": 90, "at": 2}])
    for ordered in (False, True):
        joined = reference.join([batch], always, within(us(1)), time=("seen", "at"), ordered=ordered)
        assert joined.rows == [Joined({"seen": 1, "at": 50}, {"seen": 90, "at": 2}, 2)]


def test_no_input_has_no_result() -> None:
    for how in HOWS:
        for ended in (False, True):
            assert reference.join([], always, last(1), how, ended=ended) == Result([], 0, 0, 0)


def test_what_is_no_window_is_refused() -> None:
    with pytest.raises(TypeError, match=r"^not a window: 'within'$"):
        reference.join([Batch(at(1), at(1))], always, "within")
    with pytest.raises(TypeError, match=r"^not a window: 'within'$"):
        reference.join([Batch(at(1))], always, "within", "left")


# Order and readiness


#  left   1b,1a          4z        9e
#  right         2d,2c   4 NULL
#  T=2 => (1,2)@2 four times, (4,2)@4 twice, (4,4)@4, (9,-)@11
def test_ordered_results_come_by_join_time_then_times_then_content() -> None:
    left = [{"ts": t, "v": v} for t, v in [(9, "e"), (1, "b"), (4, "z"), (1, "a")]]
    right = [{"ts": t, "w": w} for t, w in [(4, None), (2, "d"), (2, "c")]]
    joined = reference.join([Batch(left, right)], always, within(us(2)), "full", ordered=True)
    assert [(j.join_time, j.left["v"], j.right and j.right["w"]) for j in joined.rows] == [
        (2, "a", "c"),
        (2, "a", "d"),
        (2, "b", "c"),
        (2, "b", "d"),
        (4, "z", "c"),
        (4, "z", "d"),
        (4, "z", None),
        (11, "e", None),
    ]


#  left   1      3     of which only the two at 3 match
#  right  1      3
#  T=2 => (-,1)@3  (1,-)@3  (3,3)@3
def test_an_absent_side_comes_first() -> None:
    batch = Batch([{"ts": 3, "k": 1}, {"ts": 1, "k": 0}], [{"ts": 3, "k": 1}, {"ts": 1, "k": 2}])
    joined = reference.join([batch], lambda l, r: l["k"] == r["k"], within(us(2)), "full", ordered=True)
    assert times(joined.rows) == [(None, 1, 3), (1, None, 3), (3, 3, 3)]


@dataclass(frozen=True)
class Ready:
    says: str
    window: Window
    results: list[tuple[Times, int]]
    """Each result with the first watermark under which it is out; 0 stands for at once."""
    ordered: bool = False


#  left   1      10
#  right     2         the same rows under ever higher watermarks; "left" join
READY = [
    Ready(
        "matches are out at once, the others when W > t + T",
        window=within(us(3)),
        results=[((1, 2, 2), 0), ((10, None, 13), 14)],
    ),
    Ready(
        "in order a match waits until W > join_time",
        window=within(us(3)),
        results=[((1, 2, 2), 3), ((10, None, 13), 14)],
        ordered=True,
    ),
    Ready(
        "rows without a match are out when W has reached the end of their bucket",
        window=tumbling(us(5)),
        results=[((1, 2, 2), 0), ((10, None, 15), 15)],
    ),
    Ready(
        "in order they are out when W has passed it",
        window=tumbling(us(5)),
        results=[((1, 2, 2), 3), ((10, None, 15), 16)],
        ordered=True,
    ),
    Ready(
        "a row whose partners lie in the past is out as soon as they can come no more",
        window=between(us(-9), us(-5)),
        results=[((10, 2, 10), 0), ((1, None, 1), 0)],
    ),
    Ready(
        "in order it waits for its own time",
        window=between(us(-9), us(-5)),
        results=[((1, None, 1), 2), ((10, 2, 10), 11)],
        ordered=True,
    ),
    Ready(
        "a count window is sure of a match when W has passed it, of a row without when one that pushed it out",
        window=last(left=1, right=0),
        results=[((1, 2, 2), 3)],
    ),
    Ready(
        "with & the time window decides what nothing pushes out",
        window=last(left=1, right=0) & within(us(3)),
        results=[((1, 2, 2), 3), ((10, None, 13), 14)],
    ),
]


@pytest.mark.parametrize("case", READY, ids=lambda case: case.says)
def test_a_running_join_emits_what_its_watermark_allows(case: Ready) -> None:
    arrived = Batch(at(1, 10), at(2))
    for watermark in range(1, 20):
        joined = reference.join(
            [arrived, Batch(watermark=watermark)], always, case.window, "left", ordered=case.ordered, ended=False
        )
        out = [result for result, since in case.results if watermark >= since]
        assert in_any_order(times(joined.rows)) == in_any_order(out), watermark


#  left               10    whether 2 is the last right row at 10 is open until W has passed 10
#  right  2      (9)
@pytest.mark.parametrize(("comes_later", "result"), [([], (10, 2, 10)), ([9], (10, None, 10))])
def test_with_a_count_window_a_row_is_not_decided_before_its_own_time(comes_later: list[int], result: Times) -> None:
    window = last(1) & between(us(-9), us(-5))
    for watermark in range(1, 14):
        batches = [Batch(at(10), at(2)), Batch([], at(*comes_later)), Batch(watermark=watermark)]
        joined = reference.join(batches, always, window, "left", ended=False)
        assert times(joined.rows) == ([result] if watermark > 10 else []), watermark


def test_before_the_first_watermark_only_matches_of_time_windows_are_out() -> None:
    batch = Batch(at(1, 10), at(2))
    for window, ordered, out in [(within(us(3)), False, [(1, 2, 2)]), (within(us(3)), True, []), (last(1), False, [])]:
        joined = reference.join([batch], always, window, "full", ordered=ordered, ended=False)
        assert times(joined.rows) == out


# Properties


SOME_LATE = HISTORIES.flatmap(lambda history: arrivals(history, late=True))
NONE_LATE = HISTORIES.flatmap(lambda history: arrivals(history, late=False))
EMITTED: tuple[How, ...] = ("full", "left_semi", "left_anti")
"""All that any `how` emits: "full" has every row of "inner", "left" and "right"."""


def admitted(batches: list[Batch]) -> Batch:
    """The rows that have a time and are not late, by the letter of the law, in one batch."""

    def on_time(row: Row, watermark: int | None) -> bool:
        return row["ts"] is not None and (watermark is None or row["ts"] >= watermark)

    return Batch(
        left=[row for batch in batches for row in batch.left if on_time(row, batch.watermark)],
        right=[row for batch in batches for row in batch.right if on_time(row, batch.watermark)],
    )


def size(batch: Batch) -> int:
    return len([*batch.left, *batch.right])


def unreleased(rows: list[Joined]) -> list[Joined]:
    """Semi rows without their `join_time`: where nothing waits for order, the batches say which match is first."""
    return [Joined(row.left, row.right, 0) for row in rows]


@given(ANY_WINDOW, PREDICATES, st.sampled_from(HOWS), SOME_LATE | NONE_LATE)
def test_the_result_is_a_function_of_the_admitted_rows_alone(
    window: Window, predicate: Predicate, how: How, batches: list[Batch]
) -> None:
    joined = reference.join(batches, predicate.holds, window, how)
    whole = reference.join([admitted(batches)], predicate.holds, window, how)
    if how == "left_semi" and isinstance(window, Between | Tumbling):
        assert multiset(unreleased(joined.rows)) == multiset(unreleased(whole.rows))
    else:
        assert multiset(joined.rows) == multiset(whole.rows)

    dropped = sum(map(size, batches)) - size(admitted(batches))
    assert joined.late_left + joined.late_right + joined.invalid == dropped


@for_each_window
@given(data=st.data())
def test_what_is_emitted_stays_and_grows_into_the_result(
    windows: st.SearchStrategy[Window], data: st.DataObject
) -> None:
    window, predicate, batches = data.draw(windows), data.draw(PREDICATES), data.draw(SOME_LATE)
    for how in EMITTED:
        stages = [
            reference.join(batches[:k], predicate.holds, window, how, ended=False) for k in range(len(batches) + 1)
        ]
        final = reference.join(batches, predicate.holds, window, how)
        for earlier, later in itertools.pairwise([*stages, final]):
            assert multiset(earlier.rows) <= multiset(later.rows), how


@for_each_window
@given(data=st.data())
def test_an_ordered_sequence_only_gets_longer_and_is_the_same_for_every_arrival(
    windows: st.SearchStrategy[Window], data: st.DataObject
) -> None:
    window, predicate, batches = data.draw(windows), data.draw(PREDICATES), data.draw(SOME_LATE)
    for how in EMITTED:

        def in_order(batches: list[Batch], ended: bool, how: How = how) -> list[str]:
            joined = reference.join(batches, predicate.holds, window, how, ordered=True, ended=ended)
            return list(map(repr, joined.rows))

        final = in_order([admitted(batches)], ended=True)
        assert in_order(batches, ended=True) == final
        for k in range(len(batches) + 1):
            emitted = in_order(batches[:k], ended=False)
            assert emitted == final[: len(emitted)], how

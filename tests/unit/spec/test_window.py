"""Window specs are plain values that say what the user said, in microseconds, and refuse what makes no sense."""

import pickle
import re
from collections.abc import Callable
from dataclasses import FrozenInstanceError, dataclass
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

import streamjoin
from streamjoin import StreamJoinError, between, last, tumbling, within
from streamjoin.spec.duration import INT64_MAX
from streamjoin.spec.window import Between, Both, Closed, Last, Tumbling, Window, require_window
from tests.strategies import ANY_WINDOW, CLOSED, us

MINUTE = 60_000_000


@dataclass(frozen=True)
class Case:
    written: Window
    means: Window
    prints: str


CASES = [
    # One duration reaches equally far to both sides.
    Case(within("15 minutes"), Between(-15 * MINUTE, 15 * MINUTE), "between('-15 minutes', '15 minutes')"),
    Case(within(timedelta(minutes=1)), Between(-MINUTE, MINUTE), "between('-1 minute', '1 minute')"),
    # A left row that stays long meets right rows long after it: left= is the upper end of t_r - t_l.
    Case(within(left="1 hour", right="1 minute"), Between(-MINUTE, 60 * MINUTE), "between('-1 minute', '1 hour')"),
    Case(within(left="0 seconds", right="1 minute"), Between(-MINUTE, 0), "between('-1 minute', '0 seconds')"),
    # Zero is wide enough for rows of the same time.
    Case(within("0 seconds"), Between(0, 0), "between('0 seconds', '0 seconds')"),
    # Both ends may lie on the same side of zero, or be the same.
    Case(between("-5 minutes", "-1 minute"), Between(-5 * MINUTE, -MINUTE), "between('-5 minutes', '-1 minute')"),
    Case(between("1 minute", "1 minute"), Between(MINUTE, MINUTE), "between('1 minute', '1 minute')"),
    # `closed` shows when it is not the default.
    Case(within("1 minute", closed="both"), Between(-MINUTE, MINUTE), "between('-1 minute', '1 minute')"),
    Case(
        within("1 minute", closed="left"),
        Between(-MINUTE, MINUTE, "left"),
        "between('-1 minute', '1 minute', closed='left')",
    ),
    Case(
        between("0 seconds", "1 minute", closed="neither"),
        Between(0, MINUTE, "neither"),
        "between('0 seconds', '1 minute', closed='neither')",
    ),
    # The longest window that 64 bits hold.
    Case(within(us(INT64_MAX)), Between(-INT64_MAX, INT64_MAX), str(between(us(-INT64_MAX), us(INT64_MAX)))),
    # Buckets start at the epoch; an offset counts modulo their size.
    Case(tumbling("10 minutes"), Tumbling(10 * MINUTE), "tumbling('10 minutes')"),
    Case(
        tumbling("10 minutes", offset="1 minute"),
        Tumbling(10 * MINUTE, MINUTE),
        "tumbling('10 minutes', offset='1 minute')",
    ),
    Case(
        tumbling("10 minutes", offset="-9 minutes"),
        Tumbling(10 * MINUTE, MINUTE),
        "tumbling('10 minutes', offset='1 minute')",
    ),
    Case(tumbling("10 minutes", offset="1 hour"), Tumbling(10 * MINUTE), "tumbling('10 minutes')"),
    # One number counts for both sides; a side of 0 rows only probes.
    Case(last(100), Last(100, 100), "last(left=100, right=100)"),
    Case(last(left=3, right=5), Last(3, 5), "last(left=3, right=5)"),
    Case(last(left=0, right=5), Last(0, 5), "last(left=0, right=5)"),
    Case(last(INT64_MAX), Last(INT64_MAX, INT64_MAX), f"last(left={INT64_MAX}, right={INT64_MAX})"),
    # & takes a count and a time window in either order.
    Case(
        last(3) & within("1 minute"),
        Both(Last(3, 3), Between(-MINUTE, MINUTE)),
        "last(left=3, right=3) & between('-1 minute', '1 minute')",
    ),
    Case(
        between("0 seconds", "1 minute", closed="right") & last(3),
        Both(Last(3, 3), Between(0, MINUTE, "right")),
        "last(left=3, right=3) & between('0 seconds', '1 minute', closed='right')",
    ),
    Case(
        last(3) & tumbling("1 minute"),
        Both(Last(3, 3), Tumbling(MINUTE)),
        "last(left=3, right=3) & tumbling('1 minute')",
    ),
    Case(
        tumbling("1 minute") & last(3),
        Both(Last(3, 3), Tumbling(MINUTE)),
        "last(left=3, right=3) & tumbling('1 minute')",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.prints)
def test_a_window_means_and_prints(case: Case) -> None:
    assert case.written == case.means
    assert str(case.written) == case.prints


def test_windows_are_equal_by_value_and_hashable() -> None:
    assert len({within("1 minute"), within("60 seconds"), between("-1 minute", "1 minute")}) == 1
    assert len({last(2), last(left=2, right=2)}) == 1
    assert len({within("1 minute", closed=closed) for closed in CLOSED}) == 4
    assert len({last(left=1, right=2), last(left=2, right=1), tumbling(us(1)), tumbling(us(2))}) == 4


@pytest.mark.parametrize(
    ("window", "field"),
    [
        (within("1 minute"), "upper"),
        (tumbling("1 minute"), "size"),
        (last(2), "left"),
        (last(2) & within("1 minute"), "count"),
    ],
    ids=str,
)
def test_windows_are_frozen(window: Window, field: str) -> None:
    with pytest.raises(FrozenInstanceError):
        setattr(window, field, 7)


@given(ANY_WINDOW)
def test_what_is_printed_is_the_code_that_makes_it(window: Window) -> None:
    assert eval(str(window), vars(streamjoin)) == window


@given(ANY_WINDOW)
def test_a_window_travels_to_a_worker_unchanged(window: Window) -> None:
    assert pickle.loads(pickle.dumps(window)) == window


# Which ends of -2..3 belong to the window.
@pytest.mark.parametrize(
    ("closed", "least", "greatest"), [("both", -2, 3), ("left", -2, 2), ("right", -1, 3), ("neither", -1, 2)]
)
def test_closed_says_which_ends_belong(closed: Closed, least: int, greatest: int) -> None:
    window = between(us(-2), us(3), closed=closed)
    assert (window.first, window.last) == (least, greatest)


# A window of no width holds its one difference only when both ends belong.
@pytest.mark.parametrize(("closed", "held"), [("both", 1), ("left", 0), ("right", 0), ("neither", 0)])
def test_a_window_of_no_width_is_empty_unless_closed(closed: Closed, held: int) -> None:
    window = within(us(0), closed=closed)
    assert len(range(window.first, window.last + 1)) == held


LITERALLY: dict[Closed, Callable[[int, int, int], bool]] = {
    "both": lambda lower, d, upper: lower <= d <= upper,
    "left": lambda lower, d, upper: lower <= d < upper,
    "right": lambda lower, d, upper: lower < d <= upper,
    "neither": lambda lower, d, upper: lower < d < upper,
}
NEAR = st.integers(-4, 4)
FAR = st.integers(-INT64_MAX, INT64_MAX)


@given(ends=st.tuples(NEAR, NEAR) | st.tuples(FAR, FAR), d=NEAR | FAR, closed=st.sampled_from(CLOSED))
def test_first_and_last_say_what_closed_says(ends: tuple[int, int], d: int, closed: Closed) -> None:
    lower, upper = sorted(ends)
    window = between(us(lower), us(upper), closed=closed)
    for difference in (d, lower, upper):
        assert (window.first <= difference <= window.last) == LITERALLY[closed](lower, difference, upper)


#  offset=0    ...[-10        )[0         )[10        )...
#  offset=3    ...    [-7        )[3         )[13        )...
@pytest.mark.parametrize(
    ("offset", "t", "bucket", "end"),
    [
        (0, 0, 0, 10),
        (0, 9, 0, 10),
        (0, 10, 1, 20),
        (0, -1, -1, 0),
        (0, -10, -1, 0),
        (0, -11, -2, -10),
        (3, 3, 0, 13),
        (3, 2, -1, 3),
        (3, 0, -1, 3),
        (3, -7, -1, 3),
        (3, -8, -2, -7),
        (3, 13, 1, 23),
    ],
)
def test_a_bucket_holds_its_start_but_not_its_end(offset: int, t: int, bucket: int, end: int) -> None:
    window = tumbling(us(10), offset=us(offset))
    assert (window.bucket(t), window.end(t)) == (bucket, end)


@given(size=st.integers(1, 9), offset=st.integers(-20, 20), t=FAR | NEAR)
def test_buckets_are_aligned_and_hold_their_times(size: int, offset: int, t: int) -> None:
    window = tumbling(us(size), offset=us(offset))
    start, end = window.end(t) - size, window.end(t)
    assert start <= t < end
    assert (start - offset) % size == 0
    assert [window.bucket(edge) - window.bucket(t) for edge in (start - 1, start, end - 1, end)] == [-1, 0, 0, 1]


@dataclass(frozen=True)
class Refusal:
    call: Callable[[], object]
    message: str


CLOSED_EXPECTED = "expected one of 'both', 'left', 'right', 'neither'"
COUNT_EXPECTED = "last: expected a whole number of rows, 0 or more; got "
ONE_OR_BOTH = "give one duration, or both left= and right="
COMBINES = "& takes one last(...) and one within, between or tumbling"
PRINTED = {"within": "between('-1 minute', '1 minute')", "last": "last(left=3, right=3)"}

REFUSED = [
    # within takes one duration or two, none of them negative.
    Refusal(lambda: within(), f"within: {ONE_OR_BOTH}"),
    Refusal(lambda: within(left="1 minute"), f"within: {ONE_OR_BOTH}"),
    Refusal(lambda: within(right="1 minute"), f"within: {ONE_OR_BOTH}"),
    Refusal(lambda: within("1 minute", left="1 minute"), f"within: {ONE_OR_BOTH}"),
    Refusal(lambda: within("1 minute", left="1 minute", right="1 minute"), f"within: {ONE_OR_BOTH}"),
    Refusal(lambda: within("-1 minute"), "within: expected a duration >= 0; got '-1 minute'"),
    Refusal(lambda: within(us(-1)), f"within: expected a duration >= 0; got {us(-1)!r}"),
    Refusal(
        lambda: within(left="-1 minute", right="1 minute"), "within(left): expected a duration >= 0; got '-1 minute'"
    ),
    Refusal(
        lambda: within(left="1 minute", right="-1 minute"), "within(right): expected a duration >= 0; got '-1 minute'"
    ),
    # between wants the lesser bound first.
    Refusal(
        lambda: between("5 minutes", "1 minute"),
        "between: lower '5 minutes' is greater than upper '1 minute'; "
        "the bounds are on t_right - t_left, the lesser one first",
    ),
    # closed is one of four words.
    Refusal(lambda: within("1 minute", closed="Both"), f"within: closed='Both'; {CLOSED_EXPECTED}"),
    Refusal(lambda: between("0 days", "1 day", closed=None), f"between: closed=None; {CLOSED_EXPECTED}"),
    # tumbling wants a bucket that holds something.
    Refusal(lambda: tumbling("0 seconds"), "tumbling: expected a duration > 0; got '0 seconds'"),
    Refusal(lambda: tumbling("-1 minute"), "tumbling: expected a duration > 0; got '-1 minute'"),
    # last counts whole rows, on one side at least.
    Refusal(lambda: last(), "last: give one number of rows, or both left= and right="),
    Refusal(lambda: last(left=1), "last: give one number of rows, or both left= and right="),
    Refusal(lambda: last(1, right=1), "last: give one number of rows, or both left= and right="),
    Refusal(lambda: last(-1), f"{COUNT_EXPECTED}-1"),
    Refusal(lambda: last(1.0), f"{COUNT_EXPECTED}1.0"),
    Refusal(lambda: last("3"), f"{COUNT_EXPECTED}'3'"),
    Refusal(lambda: last(True), f"{COUNT_EXPECTED}True"),
    Refusal(lambda: last(left=1, right=2**63), f"{COUNT_EXPECTED}{2**63}"),
    Refusal(lambda: last(0), "last: 0 rows on both sides can never match; give at least one side a row"),
    # & takes one count and one time window, and nothing that is already combined.
    Refusal(
        lambda: within("1 minute") & within("1 minute"),
        f"window: cannot combine {PRINTED['within']} & {PRINTED['within']}; {COMBINES}",
    ),
    Refusal(
        lambda: tumbling("1 minute") & within("1 minute"),
        f"window: cannot combine tumbling('1 minute') & {PRINTED['within']}; {COMBINES}",
    ),
    Refusal(lambda: last(3) & last(3), f"window: cannot combine {PRINTED['last']} & {PRINTED['last']}; {COMBINES}"),
    Refusal(
        lambda: last(3) & within("1 minute") & within("1 minute"),
        f"window: cannot combine {PRINTED['last']} & {PRINTED['within']} & {PRINTED['within']}; {COMBINES}",
    ),
    Refusal(lambda: last(3) & 5, f"window: cannot combine {PRINTED['last']} & 5; {COMBINES}"),
    # A number without a unit is refused under the name of its argument.
    *(
        Refusal(
            call,
            f'{argument}: the number 5 has no unit; say which one is meant, as in "5 seconds" or timedelta(seconds=5)',
        )
        for call, argument in [
            (lambda: within(5), "within"),
            (lambda: within(left=5, right="1 minute"), "within(left)"),
            (lambda: within(left="1 minute", right=5), "within(right)"),
            (lambda: between(5, "1 minute"), "between(lower)"),
            (lambda: between("1 minute", 5), "between(upper)"),
            (lambda: tumbling(5), "tumbling"),
            (lambda: tumbling("1 minute", offset=5), "tumbling(offset)"),
        ]
    ),
]


@pytest.mark.parametrize("refusal", REFUSED, ids=lambda refusal: refusal.message)
def test_a_window_that_makes_no_sense_is_refused_with_the_reason(refusal: Refusal) -> None:
    with pytest.raises(StreamJoinError) as error:
        refusal.call()
    assert str(error.value) == refusal.message


@pytest.mark.parametrize("given", ["5 seconds", timedelta(seconds=5)])
def test_a_duration_is_no_window(given: object) -> None:
    with pytest.raises(StreamJoinError, match=re.escape(f"did you mean within({given!r})?")):
        require_window(given)

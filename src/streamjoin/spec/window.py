"""Window specs: which pairs are near enough to be compared.

A spec is a frozen value that says what the user said, in microseconds. With ``d = t_r - t_l``:

======================  =====================================================================
``between(lo, hi)``     ``lo <= d <= hi``
``within(T)``           ``-T <= d <= T``
``within(left, right)`` ``-right <= d <= left``: a left row stays `left` long, a right one `right`
``tumbling(size)``      both times fall into the same aligned bucket ``[k * size, (k + 1) * size)``
``last(n)``             the earlier row is among the last n of its stream when the later one comes
``last(n) & within(T)`` both hold
======================  =====================================================================
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Literal, TypeVar, cast, get_args

from streamjoin.errors import StreamJoinError
from streamjoin.spec.duration import Duration, format_duration, microseconds
from streamjoin.spec.side import Side

Closed = Literal["both", "left", "right", "neither"]
_T = TypeVar("_T")


class Window:
    """What all window specs share: they combine with ``&``."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)

    def __and__(self, other: object) -> "Both":
        match self, other:
            case (Last() as count, Between() | Tumbling() as time) | (Between() | Tumbling() as time, Last() as count):
                return Both(count, time)
        raise StreamJoinError(
            f"window: cannot combine {self} & {other}; & takes one last(...) and one within, between or tumbling"
        )


@dataclass(frozen=True, slots=True, repr=False)
class Between(Window):
    """``lower <= t_r - t_l <= upper``, with either end left out as `closed` says."""

    lower: int
    upper: int
    closed: Closed = "both"

    @property
    def first(self) -> int:
        """The least difference in the window: time is whole microseconds, so an open end is a closed one nearby."""
        return self.lower if self.closed in ("both", "left") else self.lower + 1

    @property
    def last(self) -> int:
        """The greatest difference in the window; less than `first` when the window holds none."""
        return self.upper if self.closed in ("both", "right") else self.upper - 1

    def __str__(self) -> str:
        closed = "" if self.closed == "both" else f", closed='{self.closed}'"
        return f"between('{format_duration(self.lower)}', '{format_duration(self.upper)}'{closed})"


@dataclass(frozen=True, slots=True, repr=False)
class Tumbling(Window):
    """Both rows fall into one bucket of `size` microseconds; buckets start at `offset` after the epoch (UTC)."""

    size: int
    offset: int = 0

    def bucket(self, t: int) -> int:
        """The number of the bucket that holds time `t`."""
        return (t - self.offset) // self.size

    def end(self, t: int) -> int:
        """The first time after the bucket that holds `t`."""
        return (self.bucket(t) + 1) * self.size + self.offset

    def __str__(self) -> str:
        offset = f", offset='{format_duration(self.offset)}'" if self.offset else ""
        return f"tumbling('{format_duration(self.size)}'{offset})"


@dataclass(frozen=True, slots=True, repr=False)
class Last(Window):
    """Rows of the left (right) stream are seen by later rows while among its last `left` (`right`) rows."""

    left: int
    right: int

    def kept(self, side: Side) -> int:
        """How many rows of a side are seen."""
        return self.left if side == "l" else self.right

    def __str__(self) -> str:
        return f"last(left={self.left}, right={self.right})"


@dataclass(frozen=True, slots=True, repr=False)
class Both(Window):
    """A pair must be in the count window and in the time window."""

    count: Last
    time: Between | Tumbling

    def __str__(self) -> str:
        return f"{self.count} & {self.time}"


def within(
    time: Duration | None = None,
    *,
    left: Duration | None = None,
    right: Duration | None = None,
    closed: Closed = "both",
) -> Between:
    """Pairs at most `time` apart, or each side's rows kept for a time of their own.

    >>> print(within("15 minutes"))
    between('-15 minutes', '15 minutes')
    >>> print(within(left="1 hour", right="0 seconds"))
    between('0 seconds', '1 hour')
    """
    stay_left, stay_right = _sides("within", "duration", time, left, right)
    return Between(
        -_at_least(0, stay_right, "within(right)" if time is None else "within"),
        _at_least(0, stay_left, "within(left)" if time is None else "within"),
        _check_closed(closed, "within"),
    )


def between(lower: Duration, upper: Duration, *, closed: Closed = "both") -> Between:
    """Pairs whose right row comes from `lower` to `upper` after the left one; both may be negative.

    >>> print(between("-5 minutes", "-1 second"))
    between('-5 minutes', '-1 second')
    """
    first, last = microseconds(lower, "between(lower)"), microseconds(upper, "between(upper)")
    if first > last:
        raise StreamJoinError(
            f"between: lower {lower!r} is greater than upper {upper!r}; "
            "the bounds are on t_right - t_left, the lesser one first"
        )
    return Between(first, last, _check_closed(closed, "between"))


def tumbling(size: Duration, *, offset: Duration = "0 seconds") -> Tumbling:
    """Pairs in the same bucket of `size`; buckets are aligned to the epoch (UTC), moved by `offset`.

    >>> print(tumbling("10 minutes"))
    tumbling('10 minutes')
    """
    us = _at_least(1, size, "tumbling")
    return Tumbling(us, microseconds(offset, "tumbling(offset)") % us)


def last(n: int | None = None, *, left: int | None = None, right: int | None = None) -> Last:
    """Pairs whose earlier row is among the last n rows of its own stream when the later one comes.

    Rows come in the order ``(time, left before right, content)``, whatever the order of arrival.

    >>> print(last(100))
    last(left=100, right=100)
    """
    counts = _sides("last", "number of rows", n, left, right)
    for count in counts:
        if not isinstance(count, int) or isinstance(count, bool) or not 0 <= count < 2**63:
            raise StreamJoinError(f"last: expected a whole number of rows, 0 or more; got {count!r}")
    if counts == (0, 0):
        raise StreamJoinError("last: 0 rows on both sides can never match; give at least one side a row")
    return Last(*counts)


def require_window(window: object) -> None:
    """Refuse what is no window; a duration alone does not say which rows it is between."""
    if isinstance(window, Window):
        return
    meant = f"; did you mean within({window!r})?" if isinstance(window, str | timedelta) else ""
    raise StreamJoinError(f'window: got {window!r}; expected one such as within("15 minutes"){meant}')


def require_time_window(window: Window) -> None:
    """Refuse a window that counts rows, which only a join can."""
    if isinstance(window, Last | Both):
        raise StreamJoinError(f"window: {window} counts rows, which only a join can; give a time window")


def _sides(verb: str, what: str, both: _T | None, left: _T | None, right: _T | None) -> tuple[_T, _T]:
    if both is not None and left is None and right is None:
        return both, both
    if both is None and left is not None and right is not None:
        return left, right
    raise StreamJoinError(f"{verb}: give one {what}, or both left= and right=")


def _at_least(least: int, value: object, argument: str) -> int:
    us = microseconds(value, argument)
    if us < least:
        raise StreamJoinError(f"{argument}: expected a duration {'> 0' if least else '>= 0'}; got {value!r}")
    return us


def _check_closed(value: str, argument: str) -> Closed:
    if value not in get_args(Closed):
        raise StreamJoinError(f"{argument}: closed={value!r}; expected one of {', '.join(map(repr, get_args(Closed)))}")
    return cast(Closed, value)

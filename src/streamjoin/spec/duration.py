"""Durations as users write them, in whole microseconds.

Event time is an int64 of microseconds, so every duration is one too. Text follows Spark's interval strings
("1 day 2 hours") or is written short ("1d 2h", "250ms"); a bare number is refused, because nobody can tell whether 15
means seconds or minutes.
"""

import re
from datetime import timedelta
from fractions import Fraction

from streamjoin.errors import StreamJoinError

INT64_MAX = 2**63 - 1

UNITS = {
    "week": 604_800_000_000,
    "day": 86_400_000_000,
    "hour": 3_600_000_000,
    "minute": 60_000_000,
    "second": 1_000_000,
    "millisecond": 1_000,
    "microsecond": 1,
}
CALENDAR_UNITS = ("month", "quarter", "year")
SHORT = {
    short: unit
    for unit, written in {
        "week": ("w", "wk"),
        "day": ("d",),
        "hour": ("h", "hr"),
        "minute": ("m", "min"),
        "second": ("s", "sec"),
        "millisecond": ("ms", "msec", "milli"),
        "microsecond": ("us", "µs", "μs", "usec", "micro"),  # µ is on keyboards, μ is the Greek letter
    }.items()
    for short in written
}
"""As people write units: Spark's interval strings know none of these."""

Duration = str | timedelta
"""What a user may write for a length of time."""

_ACCEPTED = 'text such as "15 minutes", "1 day 2 hours", "5s" or "250ms", or a datetime.timedelta'
_TERM = re.compile(r"\s*([+-]?)\s*([0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})\s*([a-zµμ]+)", re.IGNORECASE)


def microseconds(value: object, argument: str) -> int:
    """Return a duration in microseconds; `argument` is the name that an error mentions.

    >>> microseconds("1 day 2 hours", "delay"), microseconds("26h", "delay")
    (93600000000, 93600000000)
    >>> microseconds(timedelta(milliseconds=250), "delay")
    250000
    """
    if isinstance(value, timedelta):
        if value % timedelta(microseconds=1):  # pandas' Timedelta counts nanoseconds
            raise StreamJoinError(f"{argument}: {value!r} is not a whole number of microseconds")
        return _check_range(value // timedelta(microseconds=1), value, argument)
    if isinstance(value, int | float) and not isinstance(value, bool):
        raise StreamJoinError(
            f"{argument}: the number {value!r} has no unit; "
            f'say which one is meant, as in "{value} seconds" or timedelta(seconds={value})'
        )
    if not isinstance(value, str):
        raise StreamJoinError(f"{argument}: expected {_ACCEPTED}; got {value!r}")
    return _check_range(_parse(value, argument), value, argument)


def format_duration(us: int) -> str:
    """Write microseconds the way `microseconds` reads them, in the largest whole units.

    >>> format_duration(93_600_000_000)
    '1 day 2 hours'
    """
    terms = []
    rest = abs(us)
    for unit, size in UNITS.items():
        count, rest = divmod(rest, size)
        if count:
            terms.append(f"{'-' if us < 0 else ''}{count} {unit}{'s' if count != 1 else ''}")
    return " ".join(terms) or "0 seconds"


def _parse(text: str, argument: str) -> int:
    body = re.sub(r"^\s*interval\b", "", text, flags=re.IGNORECASE)
    total = Fraction(0)
    position = 0
    while position == 0 or body[position:].strip():
        term = _TERM.match(body, position)
        if term is None:
            raise StreamJoinError(f"{argument}: cannot read {text!r} as a duration; expected {_ACCEPTED}")
        sign, number, unit = term.groups()
        total += Fraction(sign + number) * _unit(unit, text, argument)
        position = term.end()
    if total.denominator != 1:
        raise StreamJoinError(f"{argument}: {text!r} is not a whole number of microseconds")
    return total.numerator


def _unit(written: str, text: str, argument: str) -> int:
    if written == "M":
        raise StreamJoinError(f"{argument}: {written!r} in {text!r} may mean minutes or months; write min or days")
    lower = written.lower()
    one = lower.removesuffix("s")
    unit = SHORT.get(lower) or (SHORT.get(one) if len(one) > 1 and one[-1] != "s" else None) or one
    if unit in CALENDAR_UNITS:
        raise StreamJoinError(
            f"{argument}: {text!r} uses {written!r}, whose length depends on the calendar, so a window of it "
            'has no fixed number of microseconds; write it in days, as in "30 days"'
        )
    if unit not in UNITS:
        raise StreamJoinError(
            f"{argument}: unknown unit {written!r} in {text!r}; the units are "
            f"{', '.join(u + 's' for u in UNITS)}, or short w, d, h, min, s, ms, us"
        )
    return UNITS[unit]


def _check_range(us: int, value: object, argument: str) -> int:
    if abs(us) > INT64_MAX:
        raise StreamJoinError(f"{argument}: {value!r} does not fit into 64 bits of microseconds (292,000 years)")
    return us

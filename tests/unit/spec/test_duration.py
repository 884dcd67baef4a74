"""Durations are read as Spark writes intervals, in whole microseconds; everything doubtful is refused by name."""

from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from streamjoin import StreamJoinError
from streamjoin.spec.duration import INT64_MAX, UNITS, format_duration, microseconds

SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR
WEEK = 7 * DAY


@dataclass(frozen=True)
class Case:
    value: object
    us: int


READ = [
    # Every unit, in the singular and in the plural.
    Case("1 week", WEEK),
    Case("2 weeks", 2 * WEEK),
    Case("1 day", DAY),
    Case("2 days", 2 * DAY),
    Case("1 hour", HOUR),
    Case("2 hours", 2 * HOUR),
    Case("1 minute", MINUTE),
    Case("15 minutes", 15 * MINUTE),
    Case("1 second", SECOND),
    Case("90 seconds", 90 * SECOND),
    Case("1 millisecond", 1_000),
    Case("250 milliseconds", 250_000),
    Case("1 microsecond", 1),
    Case("7 microseconds", 7),
    # Number and grammatical number need not agree, as in Spark.
    Case("1 minutes", MINUTE),
    Case("2 minute", 2 * MINUTE),
    # As people write them.
    Case("5s", 5 * SECOND),
    Case("5 sec", 5 * SECOND),
    Case("5 secs", 5 * SECOND),
    Case("10 min", 10 * MINUTE),
    Case("10 mins", 10 * MINUTE),
    Case("10m", 10 * MINUTE),
    Case("250ms", 250_000),
    Case("3 millis", 3_000),
    Case("7us", 7),
    Case("7µs", 7),
    Case("7 μs", 7),
    Case("7 micros", 7),
    Case("2h", 2 * HOUR),
    Case("2 hrs", 2 * HOUR),
    Case("1d 2h", DAY + 2 * HOUR),
    Case("1h30m", 90 * MINUTE),
    Case("2w", 2 * WEEK),
    Case("-1.5s", -1_500_000),
    # Case does not matter, nor does white space.
    Case("5S", 5 * SECOND),
    Case("10 MIN", 10 * MINUTE),
    Case("1 HOUR", HOUR),
    Case("3 Seconds", 3 * SECOND),
    Case("  15\tminutes\n", 15 * MINUTE),
    Case("15minutes", 15 * MINUTE),
    # Spark's leading INTERVAL is allowed.
    Case("INTERVAL 5 MINUTES", 5 * MINUTE),
    Case(" interval 1 day 2 hours", DAY + 2 * HOUR),
    # Terms add up, in any order and also when repeated.
    Case("1 day 2 hours", DAY + 2 * HOUR),
    Case("2 hours 1 day", DAY + 2 * HOUR),
    Case("1 hour 1 hour", 2 * HOUR),
    Case("1day2hours", DAY + 2 * HOUR),
    # A sign belongs to its own term.
    Case("-5 minutes", -5 * MINUTE),
    Case("+5 minutes", 5 * MINUTE),
    Case("- 5 minutes", -5 * MINUTE),
    Case("-1 day 2 hours", -DAY + 2 * HOUR),
    Case("1 day -2 hours", DAY - 2 * HOUR),
    # Fractions are exact as long as they come to whole microseconds.
    Case("1.5 hours", 90 * MINUTE),
    Case("0.000001 seconds", 1),
    Case(".5 milliseconds", 500),
    Case("2. days", 2 * DAY),
    Case("-0.25 seconds", -250_000),
    Case("0.5 microseconds 0.5 microseconds", 1),
    Case("0.1 seconds", 100_000),
    # Zero is a duration, whatever its unit.
    Case("0 seconds", 0),
    Case("-0 days", 0),
    # timedelta is taken as it is.
    Case(timedelta(0), 0),
    Case(timedelta(milliseconds=250), 250_000),
    Case(timedelta(days=1, hours=2), DAY + 2 * HOUR),
    Case(timedelta(microseconds=-1), -1),
    Case(timedelta(days=-1, seconds=1), -DAY + SECOND),
    # The whole of 64 bits can be written, save the one number that has no opposite.
    Case(f"{INT64_MAX} microseconds", INT64_MAX),
    Case(f"-{INT64_MAX} microseconds", -INT64_MAX),
    Case(timedelta(microseconds=INT64_MAX), INT64_MAX),
]


@pytest.mark.parametrize("case", READ, ids=lambda case: repr(case.value))
def test_a_duration_is_whole_microseconds(case: Case) -> None:
    read = microseconds(case.value, "delay")
    assert read == case.us
    assert type(read) is int


EXPECTED = 'expected text such as "15 minutes", "1 day 2 hours", "5s" or "250ms", or a datetime.timedelta'
KNOWN = (
    "the units are weeks, days, hours, minutes, seconds, milliseconds, microseconds, or short w, d, h, min, s, ms, us"
)
CALENDAR = (
    "whose length depends on the calendar, so a window of it has no fixed number of microseconds; "
    'write it in days, as in "30 days"'
)
TOO_LONG = "does not fit into 64 bits of microseconds (292,000 years)"


@dataclass(frozen=True)
class Refusal:
    value: object
    message: str


REFUSED = [
    # A number has no unit, and the message asks which one is meant.
    Refusal(
        15, 'delay: the number 15 has no unit; say which one is meant, as in "15 seconds" or timedelta(seconds=15)'
    ),
    Refusal(
        2.5, 'delay: the number 2.5 has no unit; say which one is meant, as in "2.5 seconds" or timedelta(seconds=2.5)'
    ),
    Refusal(0, 'delay: the number 0 has no unit; say which one is meant, as in "0 seconds" or timedelta(seconds=0)'),
    # Months and longer have no fixed length.
    Refusal("1 month", f"delay: '1 month' uses 'month', {CALENDAR}"),
    Refusal("2 Quarters", f"delay: '2 Quarters' uses 'Quarters', {CALENDAR}"),
    Refusal("1 day 2 YEARS", f"delay: '1 day 2 YEARS' uses 'YEARS', {CALENDAR}"),
    # Other units are listed rather than guessed.
    Refusal("5M", "delay: 'M' in '5M' may mean minutes or months; write min or days"),
    Refusal("5 mo", f"delay: unknown unit 'mo' in '5 mo'; {KNOWN}"),
    Refusal("5 ss", f"delay: unknown unit 'ss' in '5 ss'; {KNOWN}"),
    Refusal("5 mss", f"delay: unknown unit 'mss' in '5 mss'; {KNOWN}"),
    Refusal("5 ns", f"delay: unknown unit 'ns' in '5 ns'; {KNOWN}"),
    Refusal("5 dayss", f"delay: unknown unit 'dayss' in '5 dayss'; {KNOWN}"),
    Refusal("1 day 3 nanoseconds", f"delay: unknown unit 'nanoseconds' in '1 day 3 nanoseconds'; {KNOWN}"),
    Refusal("1e3 seconds", f"delay: unknown unit 'e' in '1e3 seconds'; {KNOWN}"),
    # Text that is no duration is shown as it was given.
    *(
        Refusal(text, f"delay: cannot read {text!r} as a duration; {EXPECTED}")
        for text in (
            "",
            "  ",
            "interval",
            "soon",
            "minutes",
            "15",
            "15 minutes 3",
            "15 minutes, 3 seconds",
            "15 minutes!",
            "--5 minutes",
            "1_000 seconds",
            "INTERVAL '15' MINUTE",
            "interval1 day",
            "٣ seconds",
        )
    ),
    # So is anything that is neither text nor timedelta.
    *(
        Refusal(value, f"delay: {EXPECTED}; got {value!r}")
        for value in (None, True, Decimal(5), b"5 minutes", ["5 minutes"], timedelta)
    ),
    # Event time has whole microseconds only.
    Refusal("0.5 microseconds", "delay: '0.5 microseconds' is not a whole number of microseconds"),
    Refusal("0.0000001 seconds", "delay: '0.0000001 seconds' is not a whole number of microseconds"),
    # 64 bits must hold it, and its opposite.
    Refusal(f"{INT64_MAX + 1} microseconds", f"delay: '{INT64_MAX + 1} microseconds' {TOO_LONG}"),
    Refusal(f"{-INT64_MAX - 1} microseconds", f"delay: '{-INT64_MAX - 1} microseconds' {TOO_LONG}"),
    Refusal("300000000 weeks", f"delay: '300000000 weeks' {TOO_LONG}"),
    Refusal(timedelta.max, f"delay: {timedelta.max!r} {TOO_LONG}"),
    Refusal(timedelta.min, f"delay: {timedelta.min!r} {TOO_LONG}"),
]


@pytest.mark.parametrize("refusal", REFUSED, ids=lambda refusal: repr(refusal.value))
def test_what_is_no_duration_is_refused_with_the_reason(refusal: Refusal) -> None:
    with pytest.raises(StreamJoinError) as error:
        microseconds(refusal.value, "delay")
    assert str(error.value) == refusal.message


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_an_odd_number_is_refused_as_a_number(value: float) -> None:
    with pytest.raises(StreamJoinError, match=rf"^delay: the number {value} has no unit"):
        microseconds(value, "delay")


def test_a_sum_is_checked_as_a_whole() -> None:
    assert microseconds(f"{INT64_MAX} microseconds 1 day -1 day", "delay") == INT64_MAX
    with pytest.raises(StreamJoinError, match="does not fit into 64 bits"):
        microseconds(f"{INT64_MAX} microseconds 1 microsecond", "delay")


@pytest.mark.parametrize(
    ("us", "text"),
    [
        (0, "0 seconds"),
        (1, "1 microsecond"),
        (-2, "-2 microseconds"),
        (15 * MINUTE, "15 minutes"),
        (90 * SECOND, "1 minute 30 seconds"),
        (DAY + 2 * HOUR, "1 day 2 hours"),
        (-DAY - 2 * HOUR, "-1 day -2 hours"),
        (sum(UNITS.values()), "1 week 1 day 1 hour 1 minute 1 second 1 millisecond 1 microsecond"),
    ],
)
def test_a_duration_is_written_in_the_largest_whole_units(us: int, text: str) -> None:
    assert format_duration(us) == text


@given(st.integers(-INT64_MAX, INT64_MAX))
@example(INT64_MAX)
@example(-INT64_MAX)
def test_what_is_written_reads_back(us: int) -> None:
    assert microseconds(format_duration(us), "delay") == us


@given(st.timedeltas(timedelta(microseconds=-INT64_MAX), timedelta(microseconds=INT64_MAX)))
def test_text_and_timedelta_agree(delta: timedelta) -> None:
    assert timedelta(microseconds=microseconds(delta, "delay")) == delta
    assert microseconds(format_duration(microseconds(delta, "delay")), "delay") == microseconds(delta, "delay")

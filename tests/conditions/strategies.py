"""Hypothesis strategies for predicates: values at the edges of every type, rows, and SQL texts of every operator.

Texts are fully parenthesized, so that what a tree means never hangs on precedence; that is left to `to_sql`.
"""

import math
import struct
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal
from fractions import Fraction
from functools import cache
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from streamjoin.operators.types import DATE, FLOAT, INTEGRAL_RANGE, INTERVAL, STRING, Schema, Type
from tests.conditions.schemas import LEFT, RIGHT

Text = SearchStrategy[str]

DAY = 86_400_000_000
LARGEST = {"float": (2 - 2**-23) * 2.0**127, "double": 1.7976931348623157e308}
SMALLEST = {"float": 2.0**-149, "double": 5e-324}


# Values


def float32(value: float) -> float:
    """The nearest value of 32 bits; beyond the largest it is infinite."""
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def nudged(value: float, steps: int, type: Type) -> float:
    """So many representable values further on."""
    for _ in range(abs(steps)):
        towards = math.copysign(math.inf, steps)
        if type == FLOAT and math.isfinite(value):
            bits = struct.unpack("i", struct.pack("f", value))[0]
            up = (bits >= 0) == (steps > 0)
            value = (
                math.copysign(SMALLEST["float"], steps)
                if value == 0
                else struct.unpack("f", struct.pack("i", bits + (1 if up else -1)))[0]
            )
        else:
            value = math.nextafter(value, towards)
    return value


def floats(type: Type) -> SearchStrategy[float]:
    """Every kind of floating value: NaN, infinities, both zeros, subnormals, extremes, everyday ones."""
    edges = [0.0, -0.0, 0.1, -0.1, 1.0, 2.5, -10.0, 10.0, 1e10, math.inf, -math.inf, math.nan]
    edges += [sign * size[type.name] for sign in (1, -1) for size in (LARGEST, SMALLEST)]
    any_float = st.floats(width=32 if type == FLOAT else 64, allow_nan=False)
    return st.one_of(st.sampled_from(edges).map(float32 if type == FLOAT else float), any_float)


def wholes(type: Type) -> SearchStrategy[int]:
    """Small whole numbers, the extremes of the type and their neighbours, and anything between."""
    limit = INTEGRAL_RANGE[type]
    edges = [0, 1, -1, 2, 5, 10, -10, limit - 1, limit - 2, -limit, -limit + 1, limit // 2]
    return st.one_of(st.sampled_from(edges), st.integers(-limit, limit - 1))


def decimals(type: Type) -> SearchStrategy[Decimal]:
    limit = 10**type.precision - 1
    digits = st.one_of(st.sampled_from([0, 1, -1, 50, limit, -limit]), st.integers(-limit, limit))
    return digits.map(lambda n: Decimal(n).scaleb(-type.scale))


def values(type: Type) -> SearchStrategy[Any]:
    """Values of a type, NULL apart, in the form that `evaluate` computes with."""
    if type.is_floating:
        return floats(type)
    if type.is_integral:
        return wholes(type)
    if type.is_decimal:
        return decimals(type)
    if type == DATE:
        return st.integers(-3, 3).map(lambda day: 19_780 + day)
    if type.is_timestamp:
        return st.integers(-4, 4).map(lambda step: 19_780 * DAY + step * 150_000_000)
    if type == INTERVAL:
        return st.integers(-3, 3).map(lambda step: step * 150_000_000)
    return st.sampled_from(["", "a", "it's", "b"]) if type == STRING else st.booleans()


@cache
def rows(schema: Schema) -> SearchStrategy[dict[str, Any]]:
    """Rows of a side, one column in eight NULL; only the columns that the texts below name."""
    columns = {name: kind for name, kind in schema.columns if name not in _UNUSED}
    return st.fixed_dictionaries(
        {name: st.one_of(*[values(kind)] * 7, st.none()) for name, kind in columns.items()},
    )


_UNUSED = frozenset(("wide", "raw", "tags", "props", "pos", "only left"))


@st.composite
def near(draw: DrawFn, type: Type, target: Fraction) -> Any:
    """A value of the type at `target`, or so close that rounding decides on which side it falls."""
    step = draw(st.integers(-3, 3))
    if type.is_floating:
        largest = LARGEST[type.name]
        value = float(max(min(target, Fraction(largest)), -Fraction(largest)))
        return nudged(float32(value) if type == FLOAT else value, step, type)
    if type.is_decimal:
        unit = Decimal(1).scaleb(-type.scale)
        limit = 10**type.precision - 1
        whole = min(max(math.floor(target * 10**type.scale) + step, -limit), limit)
        return (Decimal(whole) * unit).quantize(unit, rounding=ROUND_FLOOR)
    limit = INTEGRAL_RANGE[type]
    return min(max(math.floor(target) + step, -limit), limit - 1)


# Texts


def _binary(operators: str, operands: Text) -> Text:
    return st.builds("({} {} {})".format, operands, st.sampled_from(operators.split()), operands)


def _calls(names: str, *operands: Text) -> Text:
    arguments = st.tuples(*operands).map(", ".join)
    return st.builds("{}({})".format, st.sampled_from(names.split()), arguments)


def _choices(depth: int, operands: Text) -> Text:
    """What any type has: CASE, IF, coalesce, least, greatest."""
    condition = conditions(depth - 1)
    return st.one_of(
        _calls("coalesce least greatest nullif", operands, operands),
        st.builds("CASE WHEN {} THEN {} ELSE {} END".format, condition, operands, operands),
        st.builds("CASE WHEN {} THEN {} WHEN {} THEN {} END".format, condition, operands, condition, operands),
        st.builds("if({}, {}, {})".format, condition, operands, operands),
    )


def _grown(leaves: str, depth: int, grow: Callable[[int], list[Text]]) -> Text:
    leaf = st.sampled_from(leaves.split("; "))
    return leaf if depth <= 0 else st.one_of(leaf, *grow(depth))


@cache
def whole_texts(depth: int) -> Text:
    """Expressions of the integral types."""
    leaves = (
        "l.x; l.y; l.small; l.big; r.a; r.b; r.tiny; r.big; 0; 1; -1; 7; 10; -2147483648; 2147483647; "
        "9223372036854775807; -9223372036854775808; 3L; -5L; 2Y; -3S"
    )

    def grow(depth: int) -> list[Text]:
        inner = whole_texts(depth - 1)
        return [
            _binary("+ - * % div & | ^", inner),
            _calls("pmod mod", inner, inner),
            _calls("abs negative round", inner),
            _calls("floor ceil ceiling", number_texts(depth - 1)),
            _calls("round", inner, st.sampled_from(["0", "-1", "2"])),
            _calls("datediff", date_texts(depth - 1), date_texts(depth - 1)),
            st.builds("(- ({}))".format, inner),
            st.builds("CAST({} AS BIGINT)".format, number_texts(depth - 1)),
            _choices(depth, inner),
        ]

    return _grown(leaves, depth, grow)


@cache
def floating_texts(depth: int) -> Text:
    """Expressions of type float and double."""
    leaves = "l.f; l.v; r.f; r.w; 0.5D; -0.0D; 1e-3; 1e300; 2.5F; CAST('NaN' AS DOUBLE); CAST('-Infinity' AS DOUBLE)"

    def grow(depth: int) -> list[Text]:
        inner, number = floating_texts(depth - 1), number_texts(depth - 1)
        return [
            _binary("+ - * / %", inner),
            _calls("pmod", inner, inner),
            _calls("pow power atan2", number, number),
            _calls("sqrt rint exp ln log log10 sin cos tan asin acos atan degrees sign signum", number),
            _calls("abs round", inner),
            st.builds("(- ({}))".format, inner),
            st.builds("CAST({} AS {})".format, number, st.sampled_from(["DOUBLE", "FLOAT"])),
            _choices(depth, inner),
        ]

    return _grown(leaves, depth, grow)


@cache
def decimal_texts(depth: int) -> Text:
    """Expressions of decimal types."""

    def grow(depth: int) -> list[Text]:
        inner = decimal_texts(depth - 1)
        return [
            _binary("+ - * / %", inner),
            _calls("abs", inner),
            _calls("round", inner, st.sampled_from(["0", "1", "-1"])),
            st.builds("CAST({} AS DECIMAL(12,3))".format, number_texts(depth - 1)),
            _choices(depth, inner),
        ]

    return _grown("l.m; r.n; 0.0; 1.50; -0.001; 12.3456; 3BD; -2.5BD", depth, grow)


def number_texts(depth: int) -> Text:
    """Expressions of any numeric type."""
    return st.one_of(whole_texts(depth), floating_texts(depth), decimal_texts(depth))


@cache
def date_texts(depth: int) -> Text:
    shifts = st.sampled_from(["INTERVAL '3' DAY", "INTERVAL '-1' WEEK", "2", "r.tiny"])

    def grow(depth: int) -> list[Text]:
        inner = date_texts(depth - 1)
        return [
            st.builds("({} {} {})".format, inner, st.sampled_from("+-"), shifts),
            _calls("date_add date_sub", inner, st.sampled_from(["3", "-1"])),
            _choices(depth, inner),
        ]

    return _grown("l.d; r.d; DATE '2024-02-29'", depth, grow)


@cache
def time_texts(depth: int, kind: str) -> Text:
    """Expressions of type timestamp ("ts") or timestamp_ntz ("tn")."""
    shifts = interval_texts(depth - 1)
    literal = {"ts": "TIMESTAMP '2024-02-27 00:05:00+00:00'", "tn": "TIMESTAMP_NTZ '2024-02-27 00:05:00'"}[kind]

    def grow(depth: int) -> list[Text]:
        inner = time_texts(depth - 1, kind)
        return [st.builds("({} {} {})".format, inner, st.sampled_from("+-"), shifts), _choices(depth, inner)]

    return _grown(f"l.{kind}; r.{kind}; {literal}", depth, grow)


@cache
def interval_texts(depth: int) -> Text:
    """Expressions of type interval day to second."""

    def grow(depth: int) -> list[Text]:
        inner, times = interval_texts(depth - 1), st.sampled_from(["ts", "tn"])
        return [
            _binary("+ -", inner),
            times.flatmap(lambda kind: _binary("-", time_texts(depth - 1, kind))),
            _calls("abs", inner),
            st.builds("(- ({}))".format, inner),
        ]

    return _grown("l.iv; r.iv; INTERVAL '5' MINUTE; INTERVAL '150' SECOND; INTERVAL '-36' HOUR", depth, grow)


_COMPARISONS = "= <=> <> < <= > >="
_STRINGS = st.sampled_from(["l.name", "r.name", "'a'", "''", r"'it\'s'"])


@cache
def conditions(depth: int) -> Text:
    """Conditions of every form; about one in four compares the two sides as an index would like it."""
    number, whole = number_texts(depth - 1), whole_texts(depth - 1)
    times = st.sampled_from(["ts", "tn"])
    comparisons = st.one_of(
        BANDS,
        _binary(_COMPARISONS, number),
        _binary(_COMPARISONS, whole),
        _binary(_COMPARISONS, date_texts(depth - 1)),
        _binary(_COMPARISONS, interval_texts(depth - 1)),
        times.flatmap(lambda kind: _binary(_COMPARISONS, time_texts(depth - 1, kind))),
        _binary("= <=> <> <", _STRINGS),
        st.builds("({} {} {} AND {})".format, number, st.sampled_from(["BETWEEN", "NOT BETWEEN"]), number, number),
        st.builds("({} {} ({}, {}, NULL))".format, number, st.sampled_from(["IN", "NOT IN"]), number, whole),
        st.builds("({} {})".format, number, st.sampled_from(["IS NULL", "IS NOT NULL"])),
        _calls("isnull isnotnull", whole),
    )
    leaves = st.one_of(comparisons, st.sampled_from(["l.ok", "r.fine", "TRUE", "FALSE", "NULL"]))
    if depth <= 0:
        return leaves
    inner = conditions(depth - 1)
    tests = st.sampled_from(["IS TRUE", "IS FALSE", "IS NOT TRUE", "IS NOT FALSE", "IS NULL"])
    return st.one_of(
        leaves,
        _binary("AND OR", inner),
        _binary("AND", inner),
        _binary("= <=> <>", inner),
        st.builds("(NOT {})".format, inner),
        st.builds("({} {})".format, inner, tests),
        _choices(depth, inner),
    )


LEFT_NUMBERS, RIGHT_NUMBERS = (
    {f"{side}.{name}": kind for name, kind in schema.columns if kind.is_numeric and name not in _UNUSED}
    for side, schema in (("l", LEFT), ("r", RIGHT))
)
BANDS = st.builds(
    str.format,
    st.sampled_from(
        [
            "(abs({l} - {r}) <= {c})",
            "({l} BETWEEN {r} - {c} AND {r} + {c})",
            "({l} <= {r} + {c})",
            "({r} < {l} - {c})",
            "({l} - {r} = {c})",
        ]
    ),
    l=st.sampled_from(list(LEFT_NUMBERS)),
    r=st.sampled_from(list(RIGHT_NUMBERS)),
    c=st.sampled_from(["0", "1", "10", "0.5", "0.1D"]),
)
"""Comparisons of the two sides that bound a difference."""

PAIRS = st.lists(st.tuples(rows(LEFT), rows(RIGHT)), min_size=1, max_size=4)
"""Pairs of rows."""


# Bands


@dataclass(frozen=True)
class Constant:
    """A constant as it is written, and its exact value."""

    text: str
    value: Fraction


_WHOLE = st.one_of(st.integers(-20, 20), st.sampled_from([2**31 - 1, -(2**31), 2**53 + 1, 2**62, -(2**63)]))
EXACT_CONSTANTS = st.one_of(
    _WHOLE.map(lambda n: Constant(f"({n})", Fraction(n))),
    st.sampled_from(["0.5", "1.25", "-0.01", "10.0"]).map(lambda text: Constant(f"({text})", Fraction(text))),
)


_DOUBLES = st.one_of(
    st.sampled_from([0.1, -0.1, -0.0, 5e-324, 1e-300, 1e15 + 0.5, 1e17, 1e30, 1e39, -1e292, 1.5e308]),
    st.floats(allow_nan=False, allow_infinity=False),
)
_FLOATS = st.sampled_from([0.1, 0.5, 16777216.0, -1e-45, 1e30, 3e38])
CONSTANTS = st.one_of(
    EXACT_CONSTANTS,
    _DOUBLES.map(lambda v: Constant(f"({v!r}D)", Fraction(v))),
    _FLOATS.map(lambda v: Constant(f"({v}F)", Fraction(float32(v)))),
)
"""Constants of every numeric type; the floating ones from subnormal to the largest."""


@dataclass(frozen=True)
class BandCase:
    """A written band, and pairs of values for its two columns, many of them on its very edge."""

    text: str
    left: str
    right: str
    pairs: list[tuple[Any, Any]]


@st.composite
def band_cases(
    draw: DrawFn,
    forms: Sequence[str],
    lefts: Collection[str] = LEFT_NUMBERS,
    rights: Collection[str] = RIGHT_NUMBERS,
    constants: SearchStrategy[Constant] = CONSTANTS,
) -> BandCase:
    """Forms with {l} and {r} for the columns, {c} and {d} for constants."""
    left, right = draw(st.sampled_from(list(lefts))), draw(st.sampled_from(list(rights)))
    c, d = draw(constants), draw(constants)
    text = draw(st.sampled_from(forms)).format(l=left, r=right, c=c.text, d=d.text)
    pairs = []
    for _ in range(draw(st.integers(1, 6))):
        g = draw(values(RIGHT_NUMBERS[right]))
        finite = Fraction(g) if math.isfinite(g) else Fraction(0)
        ends = [finite + end for end in (0, c.value, -c.value, d.value, c.value + d.value, c.value / 2)]
        target = draw(st.sampled_from([*ends, c.value - finite]))
        f = draw(st.one_of(*[near(LEFT_NUMBERS[left], target)] * 3, values(LEFT_NUMBERS[left])))
        pairs.append((f, g))
    return BandCase(text, left.removeprefix("l."), right.removeprefix("r."), pairs)

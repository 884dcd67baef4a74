"""Which comparisons bound a value from both ends, and by what."""

import pytest

from streamjoin.operators.types import Schema
from streamjoin.predicate import parse
from streamjoin.predicate.conjunct import Range
from streamjoin.predicate.halves import read_halves
from streamjoin.sql.bind import bind

SCHEMA = Schema(
    {
        "p": "double",
        "q": "double",
        "i": "int",
        "m": "decimal(10,2)",
        "w": "decimal(38,2)",
        "s": "string",
        "ok": "boolean",
    }
)


def halves(text: str) -> list[str]:
    found = read_halves(bind(text, SCHEMA, SCHEMA))
    if found is None:
        return []
    bounds = [
        " ".join(f"{float(m.factor):+g}*{m.value}" for m in half.multiples) + f" {float(half.constant):+g}"
        for half in found.bounds
    ]
    positive = [" ".join(f"{float(m.factor):+g}*{m.value}" for m in half.multiples) for half in found.positive]
    return bounds + [f"{each} > 0" for each in positive]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("abs(l.p - r.p) <= 0.5 * r.p", ["+1*l.p -1.5*r.p +0", "-1*l.p +0.5*r.p +0"]),
        ("0.5 * r.p >= abs(r.p - l.p)", ["+0.5*r.p -1*l.p +0", "-1.5*r.p +1*l.p +0"]),
        ("l.p >= 0.5D * r.p", ["-1*l.p +0.5*r.p +0"]),
        ("l.p / r.p <= 2", ["+1*l.p -2*r.p +0", "+1*r.p > 0"]),
        ("abs(l.p / r.p - 1) <= 0.5", ["+1*l.p -1.5*r.p +0", "-1*l.p +0.5*r.p +0", "+1*r.p > 0"]),
        ("abs(l.p - r.p) / (2 * r.p) <= 0.25D", ["+1*l.p -1.5*r.p +0", "-1*l.p +0.5*r.p +0", "+2*r.p > 0"]),
        ("abs(l.p - r.q) <= l.q + 3", ["+1*l.p -1*r.q -1*l.q -3", "-1*l.p +1*r.q -1*l.q -3"]),
        (
            "l.p + l.q - 3 = r.p + 2 * (r.q - l.p)",
            [
                "+3*l.p +1*l.q -1*r.p -2*r.q -3",
                "-3*l.p -1*l.q +1*r.p +2*r.q +3",
            ],
        ),
        ("abs(l.m - r.m) <= 0.01 * r.m", ["+1*l.m -1.01*r.m +0", "-1*l.m +0.99*r.m +0"]),
        ("sqrt(l.p) < 2 * r.p", ["+1*sqrt(l.p) -2*r.p +0"]),
    ],
)
def test_a_comparison_is_read_as_halves(text: str, wanted: list[str]) -> None:
    assert halves(text) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "abs(l.p - r.p) >= 0.5 * r.p",  # outside of an interval
        "l.p * r.p <= 2",
        "abs(l.p - r.p) <= abs(l.q - r.q)",
        "l.p / r.p <= l.q / r.q",
        "l.p / r.p <= r.q",
        "l.p <> 2 * r.p",
        "l.w <= 2 * r.w",  # cut to 38 digits
        "l.m / r.m <= 1.01",  # rounded to a scale
        "l.s < r.s",
        "l.p <= 1e300 * r.p",
        "l.p - 2 * r.p <= CAST('nan' AS DOUBLE)",
        "l.ok",
    ],
)
def test_what_is_left_to_compiled_code(text: str) -> None:
    assert halves(text) == []


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("l.p >= 0.995 * r.p AND l.p <= 1.005 * r.p", ["range"]),
        ("l.i >= r.i AND l.ok AND l.i <= r.i * 2", ["range", "one-sided"]),
        ("l.p >= r.q AND l.p <= r.p", ["range"]),
        ("l.p >= r.q AND l.q <= r.p", ["band", "band"]),  # no value with two ends
        ("l.p <= 1.005 * r.p", ["band"]),
        ("l.p - 2 * r.q <= l.q - r.p", ["compiled"]),
        ("abs(l.p + l.q - r.p - r.q) <= l.i", ["range"]),  # of sums
        ("l.p - r.p + l.q - r.q BETWEEN -1 AND 1", ["range"]),
        ("abs(l.p + l.q - r.p) <= 1 AND abs(l.p - l.q - r.p) <= 1", ["band", "band"]),
        ("abs(l.p - r.q + l.q) <= 1 AND abs(l.p - r.q - l.q) <= 1", ["range", "range"]),  # two sums, each a range
        ("l.p + l.q - r.p >= 0 AND l.p - l.q - r.p <= 1 AND l.q >= r.p", ["range"]),
        ("abs(l.p - r.p) <= 10", ["band"]),
        ("l.p >= r.p - 5 AND l.p <= r.p + 10", ["band"]),
        ("l.p = r.p * 2", ["equi"]),
        ("l.i < r.i AND l.p < r.p", ["band", "band"]),
        ("abs(l.m - r.m) <= 0.01 * r.m AND l.s = r.s", ["range", "equi"]),
    ],
)
def test_two_ends_make_a_range(text: str, kinds: list[str]) -> None:
    assert [conjunct.kind for conjunct in parse(text, SCHEMA, SCHEMA).conjuncts] == kinds


def test_decimals_are_narrowed_here_and_decided_by_spark() -> None:
    predicate = parse("abs(l.m - r.m) <= 0.01 * r.m", SCHEMA, SCHEMA)
    (conjunct,) = predicate.conjuncts
    assert isinstance(conjunct, Range)
    assert predicate.residual == (conjunct,)


def test_decimals_among_doubles_are_decided_here() -> None:
    predicate = parse("abs(l.m + l.p - r.m - r.q) <= 1", SCHEMA, SCHEMA)
    (conjunct,) = predicate.conjuncts
    assert isinstance(conjunct, Range)
    assert conjunct.check is not None
    assert predicate.residual == ()

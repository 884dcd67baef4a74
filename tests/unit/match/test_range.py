"""Ranges: bounds of which every row has its own. The index loses no match; with the check, it finds nothing else."""

import math
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamjoin import within
from streamjoin.match import Matcher
from streamjoin.operators.arithmetic import EvaluationError
from streamjoin.pane import KeyColumn, Rows, Segment, no_columns
from streamjoin.predicate import parse
from streamjoin.predicate.conjunct import Range
from streamjoin.spec.side import SIDES, Side
from tests.conditions.ranges import RELATIVE, SCHEMA, SUMS, TOLERANCES, find

CHECKED = "abs(l.p / r.p - 1) <= 0.005D"
SMALL = st.integers(-6, 6)
NUMBERS = st.sampled_from([0.0, -0.0, 1.0, 1.005, 0.995, 100.0, 100.5, 99.5, 1e10, -1.0, -1.005]) | SMALL.map(float)
ODD = st.sampled_from([math.nan, math.inf, -math.inf, 5e-324, 1.7976931348623157e308, -1e200, 1e-200])
DOUBLES = st.one_of(NUMBERS, NUMBERS, ODD, st.tuples(NUMBERS, st.integers(-3, 3)).map(lambda x: _nudge(*x)))
FLOATS = NUMBERS.map(lambda x: float(np.float32(x))) | st.sampled_from(
    [math.nan, math.inf, 3.4028234663852886e38, 1e-45]
)
WHOLE = SMALL | st.integers(90, 110) | st.sampled_from([2**31 - 1, -(2**31)])
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "p": st.none() | DOUBLES,
            "q": DOUBLES,
            "f": st.none() | FLOATS,
            "i": st.none() | WHOLE,
            "b": WHOLE | st.sampled_from([2**53 + 1, -(2**62)]),
            "k": SMALL,
        }
    ),
    max_size=7,
)


def _nudge(value: float, steps: int) -> float:
    for _ in range(abs(steps)):
        value = math.nextafter(value, math.copysign(math.inf, steps))
    return value


def must_find(condition: str, lefts: Any, rights: Any, kernel: str, *, checked: bool = False) -> None:
    """All matches; nothing else if candidates are `checked` too, which takes seconds to compile."""
    predicate = parse(condition, SCHEMA, SCHEMA)
    assert any(isinstance(conjunct, Range) and conjunct.check for conjunct in predicate.conjuncts)
    pairs = product(enumerate(lefts), enumerate(rights))
    try:
        wanted = [(i, j) for (i, l), (j, r) in pairs if predicate(l, r) is True]
    except EvaluationError:
        return
    if not checked:
        conjuncts = (replace(c, check=None) if isinstance(c, Range) else c for c in predicate.conjuncts)
        predicate = replace(predicate, conjuncts=tuple(conjuncts))
    for probe in SIDES:
        found = find(predicate, kernel, lefts, rights, probe)
        assert found == wanted if checked else set(found) >= set(wanted)


@pytest.mark.parametrize("condition", [*RELATIVE, *TOLERANCES, *SUMS])
@given(lefts=ROWS, rights=ROWS, kernel=st.sampled_from(["auto", "ordered", "nested", "buckets"]))
@settings(max_examples=25, deadline=None)
def test_an_index_loses_no_match(condition: str, lefts: Any, rights: Any, kernel: str) -> None:
    must_find(condition, lefts, rights, kernel)


@pytest.mark.parametrize(
    "condition",
    [CHECKED, *(pytest.param(c, marks=pytest.mark.slow) for c in RELATIVE + TOLERANCES + SUMS if c != CHECKED)],
)
@given(lefts=ROWS, rights=ROWS, kernel=st.sampled_from(["auto", "ordered", "nested", "buckets"]))
@settings(max_examples=25, deadline=None)
def test_a_range_finds_what_the_condition_says(condition: str, lefts: Any, rights: Any, kernel: str) -> None:
    must_find(condition, lefts, rights, kernel, checked=True)


@pytest.mark.parametrize("condition", RELATIVE[:7])
@given(
    bases=st.lists(st.floats(1e-3, 1e6), min_size=1, max_size=8),
    factor=st.sampled_from([1.005, 0.995, 1 / 1.005, 1 / 0.995, 1.1, 0.9, 1.01, 0.99]),
    steps=st.integers(-4, 4),
)
@settings(max_examples=25, deadline=None)
def test_the_last_digit_decides(condition: str, bases: list[float], factor: float, steps: int) -> None:
    """Values on either side of the boundary, a few representable ones away."""
    lefts = [{"p": _nudge(base * factor, steps)} for base in bases]
    must_find(condition, lefts, [{"p": base} for base in bases], "ordered")


def test_a_divisor_of_zero_is_met_as_in_spark() -> None:
    predicate = parse("l.p / r.p BETWEEN 0.5D AND 2", SCHEMA, SCHEMA)
    for probe in ("l", "r"):
        with pytest.raises(EvaluationError):
            find(predicate, "ordered", [{"p": 5.0}], [{"p": 1.0}, {"p": 0.0}], probe)


@pytest.mark.parametrize("condition", [RELATIVE[0], RELATIVE[3], TOLERANCES[0], TOLERANCES[3]])
def test_an_index_looks_at_few_pairs(condition: str) -> None:
    rng = np.random.default_rng(1)
    size = 4_000
    predicate = parse(condition, SCHEMA, SCHEMA)
    low = rng.integers(0, 10**6, size, np.int32)
    values: dict[str, Any] = {"p": rng.uniform(1, 1000, size), "q": rng.uniform(0, 1, size), "i": low, "b": low + 300}
    values["b"] = values["b"].astype(np.int64)

    def rows(side: Side) -> Rows:
        keys = (KeyColumn(values[str(key).removeprefix(f"{side}.")]) for key in predicate.keys(side))
        return Rows(np.zeros(size, np.int64), tuple(keys), no_columns(size))

    conjuncts = tuple(replace(c, check=None) for c in predicate.conjuncts if isinstance(c, Range))
    matcher = Matcher(replace(predicate, conjuncts=conjuncts), within("1 second"))
    for probe, build in (("l", "r"), ("r", "l")):
        segment = matcher.prepare(build, Segment("s", rows(build)))
        met = list(matcher.pairs(probe, rows(probe), segment))
        assert size <= sum(pairs.examined for pairs in met) < 30 * size

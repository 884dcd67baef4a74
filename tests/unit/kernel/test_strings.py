"""Kernels on strings do for whole columns what the registry says of one pair."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamjoin.kernel import strings
from streamjoin.kernel.strings import BAD_PATTERN, Strings, width_of
from streamjoin.operators import text as text_functions
from streamjoin.operators.arithmetic import EvaluationError
from streamjoin.operators.registry import OPERATORS
from tests.conditions.texts import PATTERNS, STRINGS

TEXTS = st.sampled_from(STRINGS) | st.text("ab%_\\!é😀", max_size=6)
PAIRS = st.lists(st.tuples(TEXTS, TEXTS | st.sampled_from(PATTERNS)), max_size=20)
NUMBERS = st.integers(-8, 8) | st.sampled_from([2**31 - 1, -(2**31)])


def columns(pairs: list[tuple[str, str]]) -> tuple[Strings, Strings]:
    """Both columns, one cut out of a longer one."""
    a = pa.array(["before", *(pair[0] for pair in pairs)], pa.string()).slice(1)
    return Strings.of(a), Strings.of(pa.array([pair[1] for pair in pairs], pa.large_string()))


@pytest.mark.parametrize(
    ("kernel", "name"),
    [
        (strings.starts_with, "startswith"),
        (strings.ends_with, "endswith"),
        (strings.contains, "contains"),
    ],
)
@given(pairs=PAIRS)
def test_two_columns_of_strings(kernel, name: str, pairs: list[tuple[str, str]]) -> None:  # type: ignore[no-untyped-def]
    assert kernel(*columns(pairs)).tolist() == [OPERATORS[name].value(*pair) for pair in pairs]


@given(PAIRS, st.sampled_from("\\!%_a"))
def test_like(pairs: list[tuple[str, str]], escape: str) -> None:
    def wanted(text: str, pattern: str) -> int:
        try:
            return int(text_functions.like(text, pattern, escape))
        except EvaluationError:
            return BAD_PATTERN

    assert strings.like(*columns(pairs), ord(escape)).tolist() == [wanted(*pair) for pair in pairs]


@given(st.lists(st.tuples(TEXTS, NUMBERS, NUMBERS), max_size=20))
def test_substrings(rows: list[tuple[str, int, int]]) -> None:
    text, _ = columns([(row[0], "") for row in rows])
    first, count = (np.array([row[k] for row in rows], np.int64) for k in (1, 2))
    found = strings.substrings(text, first, count).column().to_pylist()
    assert found == [text_functions.substring(*row) for row in rows]


def test_a_pattern_with_many_gaps_takes_no_time() -> None:
    """Only the last gap is ever widened again: this would take 2 ** 30 steps otherwise."""
    assert strings.like(*columns([("a" * 3000 + "c", "%a" * 30 + "b")]), ord("\\")).tolist() == [0]


def test_bytes_that_are_no_utf8_have_the_widths_of_spark() -> None:
    """As ``length(CAST(... AS STRING))`` counts them on Spark 4.3."""
    widths = [width_of(byte) for byte in range(256)]
    starts = [byte for byte in range(256) if byte == 0 or widths[byte] != widths[byte - 1]]
    assert [(byte, widths[byte]) for byte in starts] == [(0, 1), (0xC2, 2), (0xE0, 3), (0xF0, 4), (0xF5, 1)]

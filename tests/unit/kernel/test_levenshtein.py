"""Distances of whole columns are those of the table, cell by cell, whichever way they are found."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from streamjoin.kernel.levenshtein import distances
from tests.unit.kernel.test_strings import columns


def distance(a: str, b: str) -> int:
    """Levenshtein's distance by its table."""
    table = [[i + j for j in range(len(b) + 1)] for i in range(len(a) + 1)]
    for i in range(len(a)):
        for j in range(len(b)):
            changed = table[i][j] + (a[i] != b[j])
            table[i + 1][j + 1] = min(changed, table[i][j + 1] + 1, table[i + 1][j] + 1)
    return table[-1][-1]


@st.composite
def similar(draw: DrawFn) -> tuple[str, str]:
    """Two strings of which one was made of the other, so that they have much in common; some longer than two words."""
    alphabet = draw(st.sampled_from(["ab", "abcdefghij", "aéж漢😀", "漢字仮名交文一二三四五六七八九十"]))
    a = draw(st.text(alphabet, max_size=10) | st.text(alphabet, min_size=55, max_size=140))
    b = a
    for _ in range(draw(st.integers(0, 6))):
        at = draw(st.integers(0, len(b)))
        b = b[:at] + draw(st.text(alphabet, max_size=3)) + b[at + draw(st.integers(0, 3)) :]
    return (a, b) if draw(st.booleans()) else (b, a)


ANY_LENGTH = st.lists(similar() | st.tuples(st.text(max_size=70), st.text(max_size=70)), max_size=8)


@given(ANY_LENGTH)
def test_distances_of_strings_of_any_length(pairs: list[tuple[str, str]]) -> None:
    assert distances(*columns(pairs)).tolist() == [distance(*pair) for pair in pairs]


@given(ANY_LENGTH, st.integers(-1, 10))
def test_distances_up_to_a_bound(pairs: list[tuple[str, str]], most: int) -> None:
    found = distances(*columns(pairs), most).tolist()
    for near, exact in zip(found, (distance(*pair) for pair in pairs), strict=True):
        assert near == exact if exact <= most else near > most


@pytest.mark.parametrize("length", [0, 1, 63, 64, 65, 127, 128, 129, 200])
def test_distances_at_the_ends_of_words(length: int) -> None:
    rng = np.random.default_rng(length)
    texts = ["".join(rng.choice(list("abж漢😀"), length + more)) for more in (0, 0, 1, 5)]
    pairs = [(a, b) for a in texts for b in texts]
    assert distances(*columns(pairs)).tolist() == [distance(*pair) for pair in pairs]


def test_long_strings_take_little_memory() -> None:
    """A mask for every character that there is in every word would be 40 GB."""
    long = "ab" * 150_000
    found = distances(*columns([(long, long + "c"), ("x" * 300 + long, "y" * 200 + long), ("a", long)]))
    assert found.tolist() == [1, 300, len(long) - 1]

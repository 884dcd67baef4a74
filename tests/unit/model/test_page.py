"""The examples of docs/model.md print what they say."""

import doctest
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[3] / "docs" / "model.md"


@pytest.mark.skipif(not PAGE.exists(), reason="a source distribution has no docs")
def test_the_examples_of_the_page() -> None:
    ran = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8")
    assert ran.attempted > 20
    assert ran.failed == 0

"""The examples of the pages on the model print what they say."""

import doctest
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[3] / "docs"


@pytest.mark.skipif(not DOCS.exists(), reason="a source distribution has no docs")
@pytest.mark.parametrize(("page", "examples"), [("model.md", 20), ("guides/sizing.md", 4)])
def test_the_examples_of_the_page(page: str, examples: int) -> None:
    ran = doctest.testfile(str(DOCS / page), module_relative=False, encoding="utf-8")
    assert ran.attempted >= examples
    assert ran.failed == 0

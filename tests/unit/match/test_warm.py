import pytest

from streamjoin import within
from streamjoin.match import warm
from streamjoin.predicate import Schema, parse

INTS, DOUBLES = Schema({"x": "int"}), Schema({"x": "double"})


def outline(on: str, schema: Schema = INTS) -> str:
    return warm.outline(parse(on, schema, schema), within("1 minute"))


def test_joins_that_need_the_same_code_have_one_outline() -> None:
    assert outline("abs(l.x - r.x) <= 5") == outline("abs(l.x - r.x) <= 7")
    assert outline("abs(l.x - r.x) <= 5") != outline("abs(l.x - r.x) <= 5", DOUBLES)
    assert outline("abs(l.x - r.x) <= 5") != outline("l.x = r.x")


def test_another_release_with_other_kernels_compiles_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    before = outline("l.x = r.x")
    monkeypatch.setattr(warm, "read_sources", lambda package: f"{package}, changed")
    assert outline("l.x = r.x") != before

"""The columns of a result: names given as `on` are one column for both sides, first, as with Spark's USING."""

from dataclasses import dataclass
from typing import Any

import pytest

from streamjoin.errors import StreamJoinError
from streamjoin.spec.how import How
from streamjoin.sql.select import result_fields


@dataclass(frozen=True)
class Column:
    name: str
    dataType: str = "int"  # noqa: N815 (Spark's name)


@dataclass(frozen=True)
class Struct:
    fields: tuple[Column, ...]


LEFT, RIGHT = (Struct(tuple(map(Column, names))) for names in (("ts", "x", "Id"), ("y", "ID", "ts")))


def fields(how: How = "inner", select: Any = None, using: Any = ("id",)) -> list[str]:
    found = result_fields({"l": LEFT, "r": RIGHT}, select, ("_l", "_r"), how, using)
    return [f"{f.name}={'|'.join(f'{c.side}.{c.path[0]}' for c in f.sources)}" for f in found]


@pytest.mark.parametrize(
    ("how", "wanted"),
    [
        ("inner", "Id=l.Id"),
        ("left", "Id=l.Id"),
        ("right", "ID=r.ID"),
        ("full", "Id=l.Id|r.ID"),
    ],
)
def test_a_shared_name_comes_first_and_is_never_null_for_want_of_a_partner(how: How, wanted: str) -> None:
    assert fields(how) == [wanted, "ts_l=l.ts", "x=l.x", "y=r.y", "ts_r=r.ts"]


@pytest.mark.parametrize(
    ("selected", "message"),
    [
        ("l.select", "select: select is a word of SQL; a column of that name is l.`select`"),
        ("join_time", "leave it out: join_time is in every result"),
        ("l.x ...", "expected a column such as 'l.id' or 'r.price AS ask'; got 'l.x ...'"),
    ],
)
def test_what_cannot_be_selected_says_what_to_write(selected: str, message: str) -> None:
    with pytest.raises(StreamJoinError) as refused:
        fields(select=[selected])
    assert message in str(refused.value)


@pytest.mark.parametrize("how", ["left_semi", "left_anti"])
def test_a_left_row_has_it_first_too(how: How) -> None:
    assert fields(how) == ["Id=l.Id", "ts=l.ts", "x=l.x"]


@pytest.mark.parametrize(
    ("select", "wanted"),
    [
        (["l.id", "r.id"], ["Id_l=l.Id", "ID_r=r.ID"]),
        (["id", "r.id", "l.x"], ["Id=l.Id|r.ID", "ID_r=r.ID", "x=l.x"]),
        (["ID AS key", "l.id"], ["key=l.Id|r.ID", "Id=l.Id"]),
        (["l.*", "id"], ["ts=l.ts", "x=l.x", "Id_l=l.Id", "Id=l.Id|r.ID"]),
    ],
)
def test_both_sides_of_it_remain_selectable(select: list[str], wanted: list[str]) -> None:
    assert fields("full", select) == wanted


def test_a_name_that_is_not_shared_needs_its_side() -> None:
    with pytest.raises(StreamJoinError, match="'x' does not name a column of one side"):
        fields(select=["x"])
    with pytest.raises(StreamJoinError, match=r"'id' does not name a column.* did you mean 'l\.id' or 'r\.id'"):
        fields(select=["id"], using=())
    with pytest.raises(StreamJoinError, match="after the join, by withColumn"):
        fields(select=["l.x + r.y AS sum"])


def test_a_name_must_be_on_both_sides() -> None:
    with pytest.raises(StreamJoinError, match="on: the right side has no column 'x'"):
        fields(using=["x"])

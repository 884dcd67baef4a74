"""Schemas on the command line are looked at before Spark starts."""

import pytest

from streamjoin.cli.ddl import check_ddl
from streamjoin.errors import StreamJoinError


@pytest.mark.parametrize(
    "ddl",
    [
        "ts TIMESTAMP, x INT",
        "x:int,y : bigint",
        "`a, b` STRING COLLATE UTF8_LCASE, c MAP<STRING, ARRAY<DECIMAL(10, 2)>>",
        "s STRUCT<a: INT, b: STRUCT<c: DATE>> NOT NULL COMMENT 'a, (b)', t TIMESTAMP_NTZ",
        "struct<ts:timestamp,x:int>",
        "d INTERVAL DAY TO SECOND, größe DOUBLE",
    ],
)
def test_columns_with_types_are_left_to_spark(ddl: str) -> None:
    check_ddl("--left-schema", ddl)


@pytest.mark.parametrize(
    ("ddl", "said"),
    [
        ("INT", "where 'INT' is no column"),
        ("ts TIMESTAMP, x", "where 'x' is no column"),
        ("ts TIMESTAMP,", "where '' is no column"),
        ("ts TIMESTAMP x-y INT, a-b INT", "where 'a-b INT' is no column"),
        ("x DECIMAL(10", "where brackets do not match"),
        ("x ARRAY<INT", "where brackets do not match"),
    ],
)
def test_what_is_no_list_of_columns_is_refused(ddl: str, said: str) -> None:
    with pytest.raises(StreamJoinError, match=said) as refused:
        check_ddl("--left-schema", ddl)
    assert str(refused.value).startswith(f"--left-schema: got {ddl!r}, ")
    assert str(refused.value).endswith('expected columns with their types, such as "ts TIMESTAMP, x INT"')

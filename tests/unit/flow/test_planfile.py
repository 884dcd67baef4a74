"""The plan file: which joins a query may hold to go on."""

import pytest

from streamjoin import StreamJoinError, within
from streamjoin.flow.planfile import check_joins, read_plan, write_plan
from tests.unit.flow.test_checkpoint import key_of

FIRST, SECOND = key_of(), key_of(window=within("1 hour"), how="left")
STORED = read_plan(write_plan([FIRST, SECOND]))


def test_the_joins_that_wrote_it_go_on_in_whatever_order() -> None:
    check_joins([FIRST, SECOND], STORED)
    check_joins([SECOND, FIRST], STORED)
    check_joins([SECOND], STORED)


def test_another_join_is_compared_with_the_one_that_is_most_like_it() -> None:
    other = key_of(window=within("2 hours"), how="left")
    for keys in ([FIRST, other], [other]):
        with pytest.raises(StreamJoinError) as refused:
            check_joins(keys, STORED)
        assert "'-2 hours'" in str(refused.value)
        assert "inner" not in str(refused.value)


def test_one_join_more_is_refused() -> None:
    with pytest.raises(StreamJoinError, match="was written by a query with 2 joins, and this one has 3"):
        check_joins([FIRST, SECOND, FIRST], STORED)


@pytest.mark.parametrize("damaged", ["", "{}", "[]", '{"joins": 5}', write_plan([FIRST])[:-5]])
def test_a_damaged_file_says_nothing(damaged: str) -> None:
    assert read_plan(damaged) == []

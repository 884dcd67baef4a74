"""Arrow columns, as Spark hands them over, become key columns."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from streamjoin.operators.types import STRING, decimal, parse_type
from streamjoin.pane import key_column, numbers

CASES = {
    "boolean": (pa.array([True, None, False]), [True, None, False]),
    "tinyint": (pa.array([-128, None, 127], pa.int8()), [-128, None, 127]),
    "bigint": (pa.array([-(2**63), None, 2**63 - 1]), [-(2**63), None, 2**63 - 1]),
    "float": (pa.array([1.5, None, -0.0], pa.float32()), [1.5, None, -0.0]),
    "double": (pa.array([float("inf"), None, 2.5]), [float("inf"), None, 2.5]),
    "date": (pa.array([date(1969, 12, 31), None, date(1970, 1, 3)]), [-1, None, 2]),
    "timestamp": (pa.array([datetime(1970, 1, 1, 0, 0, 1, 7, UTC), None]), [1_000_007, None]),
    "interval day to second": (pa.array([timedelta(seconds=-1), None]), [-1_000_000, None]),
    "decimal(18,2)": (
        pa.array([Decimal("-9999999999999999.99"), None, Decimal("0.01")], pa.decimal128(18, 2)),
        [-(10**18) + 1, None, 1],
    ),
}


@pytest.mark.parametrize("type", CASES)
@pytest.mark.parametrize("offset", [0, 1])
def test_numbers_keep_their_values_and_say_which_are_null(type: str, offset: int) -> None:
    values, expected = CASES[type]
    column = key_column(values.slice(offset), parse_type(type))
    assert column.valid is not None
    pairs = zip(column.values.tolist(), column.valid.tolist(), strict=True)
    assert [value if valid else None for value, valid in pairs] == expected[offset:]


@pytest.mark.parametrize("type", CASES)
def test_a_column_of_nothing_is_empty(type: str) -> None:
    values, _ = CASES[type]
    assert len(key_column(values.slice(0, 0), parse_type(type)).values) == 0


def test_no_mask_where_nothing_is_null() -> None:
    assert key_column(pa.array([1, 2]), parse_type("bigint")).valid is None


def test_numbers_are_not_copied() -> None:
    values = pa.array([1, 2, 3])
    assert numbers(values).__array_interface__["data"][0] == values.buffers()[1].address


def test_what_is_no_number_needs_hashes_and_keeps_its_values() -> None:
    values = pa.array(["a", None, "b"])
    column = key_column(values, STRING, pa.array([7, 42, 8]))
    assert column.values.dtype == np.int64
    assert column.exact is values
    with pytest.raises(ValueError, match="string needs hashes"):
        key_column(values, STRING)


def test_wide_decimals_are_hashed() -> None:
    values = pa.array([Decimal("1.5")], pa.decimal128(38, 2))
    assert key_column(values, decimal(38, 2), pa.array([7])).values.tolist() == [7]

"""Count windows count rows by time and, within one time, by content: as the reference sorts them."""

from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamjoin.pane import KeyColumn, Rows
from streamjoin.pane import order as ordering
from streamjoin.pane.order import argsort_rows
from streamjoin.reference import content

NAN = float("nan")
FLOATS = [NAN, -NAN, 0.0, -0.0, 1.5, -1.5, float("inf"), -float("inf"), 5e-324, -5e-324]
VALUES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "boolean": (pa.bool_(), [True, False]),
    "tinyint": (pa.int8(), [-128, 127, 0]),
    "bigint": (pa.int64(), [-(2**63), 2**63 - 1, 2**53, 2**53 + 1]),
    "float": (pa.float32(), [NAN, 0.0, -0.0, 1.5, -2.5, float("inf")]),
    "double": (pa.float64(), FLOATS),
    "decimal": (pa.decimal128(38, 2), [Decimal("-1.50"), Decimal("0.00"), Decimal(10**35)]),
    "string": (pa.string(), ["", "a", "B", "é", "\U0001f600", "\uffff", "a\0"]),  # by code point
    "large string": (pa.large_string(), ["", "a", "B"]),
    "dictionary": (pa.dictionary(pa.int32(), pa.string()), ["b", "a", ""]),
    "binary": (pa.binary(), [b"", b"\x00", b"\xff", b"a"]),
    "date": (pa.date32(), [date(1969, 12, 31), date(2024, 2, 29)]),
    "timestamp": (pa.timestamp("us"), [datetime(1969, 12, 31), datetime(2024, 2, 29)]),
    "interval": (pa.duration("us"), [timedelta(-1), timedelta(1), timedelta(0)]),
    "void": (pa.null(), [None]),
    "array": (pa.list_(pa.float64()), [[], [1.0], [1.0, NAN], [NAN], [None], [-0.0], [0.0]]),
    "struct": (pa.struct([("b", pa.int32()), ("a", pa.float64())]), [{"b": 1, "a": NAN}, {"b": 0, "a": 1.0}]),
    "map": (pa.map_(pa.string(), pa.int32()), [{}, {"a": 1, "b": 2}, {"b": 2, "a": None}, {"c": 0}]),
    "array of maps": (pa.list_(pa.map_(pa.string(), pa.int32())), [[{"a": 1}], [{"a": 0}, {}], []]),
}


def as_arrow(value: Any) -> Any:
    """A value as Arrow takes it: the entries of a map one after the other."""
    if isinstance(value, list):
        return [as_arrow(item) for item in value]
    return list(value.items()) if isinstance(value, dict) else value


@pytest.mark.parametrize("kind", VALUES)
@given(data=st.data())
def test_rows_are_ordered_as_the_reference_orders_them(kind: str, data: st.DataObject) -> None:
    type_, values = VALUES[kind]
    rows = data.draw(st.lists(st.tuples(st.integers(0, 2), st.sampled_from([*values, None]), st.booleans())))
    convert = (lambda v: v) if pa.types.is_struct(type_) else as_arrow
    payload = pa.RecordBatch.from_arrays(
        [pa.array([convert(v) for _, v, _ in rows], type_), pa.array([flag for *_, flag in rows], pa.bool_())],
        names=["v", "flag"],
    )
    found = argsort_rows(Rows(np.array([t for t, *_ in rows], np.int64), (), payload))
    expected = sorted(range(len(rows)), key=lambda i: (rows[i][0], content({"v": rows[i][1], "flag": rows[i][2]})))
    assert found.tolist() == expected  # both are stable


def test_keys_tell_rows_apart_whose_payload_is_the_same() -> None:
    payload = pa.record_batch({"id": [7, 7, 7]})
    time = np.zeros(3, np.int64)
    number = KeyColumn(np.array([2, 0, 1]), np.array([True, False, True]))
    text = KeyColumn(np.array([5, 6, 7]), exact=pa.array(["b", "a", "c"]))
    assert argsort_rows(Rows(time, (number,), payload)).tolist() == [1, 2, 0]
    assert argsort_rows(Rows(time, (text,), payload)).tolist() == [1, 0, 2]


def test_only_rows_of_one_time_are_compared_by_content(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []

    def counted(first: Any, content: Any) -> Any:
        seen.append(len(first[0]))
        return by_content(first, content)

    by_content = ordering.argsort_content
    monkeypatch.setattr(ordering, "argsort_content", counted)
    payload = pa.record_batch({"id": [3, 2, 1, 0]})
    assert argsort_rows(Rows(np.array([4, 1, 4, 2]), (), payload)).tolist() == [1, 3, 2, 0]
    assert argsort_rows(Rows(np.array([4, 1, 3, 2]), (), payload)).tolist() == [1, 3, 2, 0]
    assert seen == [2]

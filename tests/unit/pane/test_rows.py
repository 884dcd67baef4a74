"""Rows move as columns: what a plain list of tuples would hold is what they hold, without a Python object per row."""

import gc
import sys
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamjoin.pane import KeyColumn, Rows, no_columns, numbers
from tests.segments import everything, plain, rows_of_all_types, stamped


def test_every_column_moves_with_its_row() -> None:
    rows = everything()
    as_list = plain(rows)
    assert plain(rows.take(np.array([3, 1, 1]))) == [as_list[3], as_list[1], as_list[1]]
    assert plain(rows.slice(1, 2)) == as_list[1:3]
    assert plain(Rows.concat([rows, rows.slice(2)])) == as_list + as_list[2:]


@given(rows_of_all_types(), st.data())
def test_taking_rows_is_picking_from_a_list(rows: Rows, data: st.DataObject) -> None:
    indices = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=20)) if len(rows) else []
    assert plain(rows.take(np.array(indices, np.int64))) == [plain(rows)[i] for i in indices]


@given(rows_of_all_types(), st.integers(0, 15), st.none() | st.integers(0, 15))
def test_a_slice_is_that_of_a_list(rows: Rows, offset: int, length: int | None) -> None:
    stop = None if length is None else offset + length
    assert plain(rows.slice(offset, length)) == plain(rows)[offset:stop]


@given(rows_of_all_types(), st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), min_size=1, max_size=5))
def test_concatenating_slices_is_adding_lists(rows: Rows, cuts: list[tuple[int, int]]) -> None:
    blocks = [rows.slice(*cut) for cut in cuts]
    together = Rows.concat(blocks)
    assert plain(together) == [row for block in blocks for row in plain(block)]
    assert together.payload.schema == rows.payload.schema


def test_rows_without_columns_keep_their_number() -> None:
    rows = Rows(np.arange(5), (), no_columns(5))
    assert [len(r.payload) for r in (rows, rows.slice(1, 3), rows.take(np.array([0, 4])))] == [5, 3, 2]
    assert len(Rows.concat([rows, rows.slice(0, 0), rows]).payload) == 10


def test_a_mask_appears_where_only_one_block_has_nulls() -> None:
    bare, masked = KeyColumn(np.array([1, 2])), KeyColumn(np.array([3, 4]), np.array([True, False]))
    both = KeyColumn.concat([bare, masked])
    assert both.valid is not None
    assert both.valid.tolist() == [True, True, True, False]
    assert KeyColumn.concat([bare, bare]).valid is None


def test_dictionaries_that_differ_are_united() -> None:
    blocks = [
        Rows(np.zeros(2, np.int64), (), pa.record_batch({"c": pa.array(values).dictionary_encode()}))
        for values in (["a", "b"], ["b", None])
    ]
    assert Rows.concat(blocks).payload.to_pydict() == {"c": ["a", "b", "b", None]}


WRONG: dict[str, Callable[[], object]] = {
    "nothing to concatenate": lambda: Rows.concat([]),
    "time, rank and route are int64, not int32": lambda: Rows(np.zeros(1, np.int32), (), no_columns(1)),
    "time, rank and route are int64, not float64": lambda: Rows(np.zeros(1, np.int64), (), no_columns(1), np.zeros(1)),  # type: ignore[arg-type]
    r"1 times, but columns of \[2\] rows": lambda: Rows(np.zeros(1, np.int64), (), no_columns(2)),
    r"1 times, but columns of \[2, 1\] rows": lambda: Rows(
        np.zeros(1, np.int64), (KeyColumn(np.zeros(2)),), no_columns(1)
    ),
    "route are int64, not int32": lambda: Rows(np.zeros(1, np.int64), (), no_columns(1), route=np.zeros(1, np.int32)),  # type: ignore[arg-type]
    r"columns of \[1, 2\] rows": lambda: Rows(np.zeros(1, np.int64), (), no_columns(1), np.zeros(2, np.int64)),
    "2 values, but 1 beside": lambda: KeyColumn(np.zeros(2), np.ones(1, np.bool_)),
    "3 values, but 1 beside": lambda: KeyColumn(np.zeros(3), None, pa.array(["a"])),
    "types differ: float64, int64": lambda: KeyColumn.concat([KeyColumn(np.zeros(1)), KeyColumn(np.zeros(1, int))]),
}


@pytest.mark.parametrize("message", WRONG)
def test_columns_that_do_not_fit_together_are_refused(message: str) -> None:
    with pytest.raises(ValueError, match=message):
        WRONG[message]()


def test_rows_of_other_columns_are_not_concatenated() -> None:
    rows = stamped([1, 2])
    for other in (
        Rows(rows.time, rows.keys, pa.record_batch({"id": ["a", "b"]})),
        Rows(rows.time, rows.keys, no_columns(2)),
        Rows(rows.time, (), rows.payload),
        stamped([1, 2], rank=True),
        stamped([1, 2], route=True),
    ):
        with pytest.raises((ValueError, pa.ArrowException)):
            Rows.concat([rows, other])


# Bytes


def test_bytes_are_those_of_all_buffers() -> None:
    rows = stamped(range(100))
    assert rows.nbytes == 3 * 8 * 100  # time, key, id
    masked = Rows(rows.time, (KeyColumn(np.arange(100.0), np.ones(100, np.bool_)),), rows.payload, np.arange(100))
    assert masked.nbytes == 4 * 8 * 100 + 100
    assert stamped(range(100), route=True).nbytes == 4 * 8 * 100


def test_a_buffer_that_columns_share_counts_once() -> None:
    numbers = np.arange(100)
    rows = Rows(numbers, (KeyColumn(numbers),), pa.record_batch({"a": pa.array(numbers), "b": pa.array(numbers)}))
    assert rows.payload.column(0).buffers()[1].address == numbers.ctypes.data
    assert rows.nbytes == 800


def test_a_slice_counts_the_buffers_that_it_keeps_alive_and_a_copy_its_own() -> None:
    rows = stamped(range(1000))
    assert rows.slice(10, 5).nbytes == rows.nbytes
    assert rows.slice(10, 5).take(np.arange(5)).nbytes == 3 * 8 * 5


def test_what_arrow_holds_beside_a_column_counts_too() -> None:
    words = pa.array(["a long word"] * 10 + [None])
    exact = Rows(np.arange(11), (KeyColumn(np.arange(11), None, words),), no_columns(11))
    assert exact.nbytes == 2 * 88 + words.get_total_buffer_size()
    encoded = words.dictionary_encode()
    rows = Rows(np.arange(11), (), pa.record_batch({"w": encoded}))
    assert rows.nbytes == 88 + encoded.get_total_buffer_size() > 88 + encoded.indices.get_total_buffer_size()


# Work


def calls(work: Callable[[], object]) -> int:
    """How many functions Python calls for some work, be they Python's or C's."""
    made = 0

    def made_one(_frame: object, event: str, _arg: object) -> None:
        nonlocal made
        made += event in ("call", "c_call")

    before = sys.getprofile()
    gc.disable()  # what is called when garbage is collected is no work of ours
    sys.setprofile(made_one)
    try:
        work()
    finally:
        sys.setprofile(before)
        gc.enable()
    return made


@pytest.mark.parametrize("verb", ["take", "slice", "concat"])
def test_the_number_of_rows_does_not_show_in_python_calls(verb: str) -> None:
    def work(rows: Rows) -> Callable[[], object]:
        half = np.arange(0, len(rows), 2)
        return {
            "take": lambda: rows.take(half),
            "slice": lambda: rows.slice(1, len(rows) // 2),
            "concat": lambda: Rows.concat([rows, rows]),
        }[verb]

    few = everything().take(np.arange(1000) % 4)
    many = everything().take(np.arange(20_000) % 4)
    for rows in (few, many):
        work(rows)()  # what is imported or cached on first use
    assert calls(work(few)) == calls(work(many))


def sharing(ids: list[int | None]) -> Rows:
    """Rows whose time and first key are columns of the payload; the second key is not."""
    payload = pa.record_batch(
        {"ts": pa.array(np.arange(len(ids)) * 10, pa.timestamp("us", "UTC")), "x": pa.array(ids, pa.int32())}
    )
    time, x = (numbers(column) for column in payload.columns)
    valid = None if None not in ids else payload.column(1).is_valid().to_numpy(zero_copy_only=False)
    return Rows(time, (KeyColumn(x, valid), KeyColumn(x.copy())), payload)


def test_what_lies_in_a_payload_column_stays_there() -> None:
    rows = sharing([1, 2, 3, 4])
    assert rows.shared == {"time": 0, "key 0": 1}
    taken, cut = rows.take(np.array([3, 1])), rows.slice(1, 2)
    for some in (taken, cut, Rows.concat([taken, cut])):
        assert some.shared == rows.shared
        assert some.time.tolist() == numbers(some.payload.column(0)).tolist()
        assert some.keys[0].values.tolist() == some.keys[1].values.tolist() == some.payload.column(1).to_pylist()


def test_a_column_with_nulls_or_without_rows_is_not_shared() -> None:
    assert sharing([1, None]).shared == {"time": 0}
    assert sharing([]).shared == {}


def test_only_what_all_blocks_share_is_shared() -> None:
    apart = sharing([5, 6])
    apart = Rows(apart.time.copy(), apart.keys, apart.payload)
    both = Rows.concat([sharing([1, 2]), apart])
    assert both.shared == {"key 0": 1}
    assert both.time.tolist() == [0, 10, 0, 10]

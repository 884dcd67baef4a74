"""A block is rows and three masks, which move together."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamjoin.plan import Block, sort_blocks
from tests.segments import plain, stamped

MASKS = ("probes", "stores", "first")


@st.composite
def blocks(draw: st.DrawFn) -> Block:
    times = draw(st.lists(st.integers(0, 3), max_size=6))
    flags = st.lists(st.booleans(), min_size=len(times), max_size=len(times)).map(lambda f: np.array(f, np.bool_))
    return Block(stamped(times, draw(st.integers(0, 9)), route=True), *(draw(st.none() | flags) for _ in MASKS))


def spell_out(block: Block) -> list[tuple[Any, ...]]:
    masks = [getattr(block, name) for name in MASKS]
    shown = [[True] * len(block) if mask is None else mask.tolist() for mask in masks]
    return list(zip(plain(block.rows), *shown, strict=True))


@given(blocks(), st.data())
def test_masks_move_with_their_rows(block: Block, data: st.DataObject) -> None:
    rows = spell_out(block)
    at = data.draw(st.lists(st.integers(0, len(block) - 1), max_size=8)) if len(block) else []
    assert spell_out(block.take(np.array(at, np.int64))) == [rows[i] for i in at]
    keep = np.array(data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows))), np.bool_)
    assert spell_out(block.filter(keep)) == [row for row, kept in zip(rows, keep, strict=True) if kept]
    start, stop = sorted(data.draw(st.tuples(*[st.integers(0, len(rows))] * 2)))
    assert spell_out(block.slice(start, stop)) == rows[start:stop]
    assert spell_out(block.drop_idle()) == [row for row in rows if row[1] or row[2]]


@given(st.lists(blocks(), min_size=1, max_size=4))
def test_blocks_are_concatenated_and_sorted_whole(parts: list[Block]) -> None:
    rows = [row for part in parts for row in spell_out(part)]
    assert spell_out(Block.concat(parts)) == rows
    (whole,) = sort_blocks(parts)
    assert sorted(spell_out(whole)) == sorted(rows)
    assert np.all(np.diff(whole.time) >= 0)


@given(blocks())
def test_masks_go_into_state_as_columns_and_come_back(block: Block) -> None:
    again = Block.from_rows(block.to_rows(), len(block.rows.payload.schema))
    assert spell_out(again) == spell_out(block)
    assert [getattr(again, name) is None for name in MASKS] == [getattr(block, name) is None for name in MASKS]


def test_nothing_is_no_block() -> None:
    assert sort_blocks([]) == []


@pytest.mark.parametrize("name", MASKS)
def test_a_mask_of_another_length_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"block: {name} has 3 rows; time has 2"):
        Block(stamped([1, 2]), **{name: np.ones(3, np.bool_)})

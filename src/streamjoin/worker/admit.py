"""From arriving blocks to admitted rows: late rows are dropped and counted."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from streamjoin.errors import StreamJoinError
from streamjoin.plan import Block, Mask, Plan
from streamjoin.spec.side import NAMED, Side


@dataclass(frozen=True)
class Admitted:
    """The rows of one side that are not late.

    `rows` and `late` count the rows that arrived and the late ones among them, each only where its first copy is.
    """

    block: Block | None
    rows: int
    late: int


def admit(plan: Plan, side: Side, blocks: Sequence[Block], watermark: int | None) -> Admitted:
    """Drop the rows before the watermark, and put the others into one block."""
    admitted, rows, late = [], 0, 0
    for block in blocks:
        _check(plan, side, block)
        rows += _count_first(block)
        kept = drop_late(block, watermark)
        late += _count_first(block) - _count_first(kept)
        if len(kept):
            admitted.append(kept if plan.holds else replace(kept, first=None))
    return Admitted(Block.concat(admitted) if admitted else None, rows, late)


def drop_late(block: Block, watermark: int | None) -> Block:
    """The rows that are not before the watermark."""
    earliest = block.rows.zones.low.time
    if watermark is None or earliest is None or earliest >= watermark:
        return block
    return block.filter(block.time >= watermark)


def _count_first(block: Block) -> int:
    return len(block) if block.first is None else int(np.count_nonzero(block.first))


def _check(plan: Plan, side: Side, block: Block) -> None:
    """A block that does not fit the plan must not become a wrong result."""
    schema, found = plan.payload(side), block.rows.payload.schema
    if found.types != schema.types or found.names != schema.names:
        raise StreamJoinError(f"block: its payload has {found}; the plan says {schema}")
    if len(block.rows.keys) != len(plan.keys[side]):
        raise StreamJoinError(
            f"block: it has {len(block.rows.keys)} key columns; the predicate has {len(plan.keys[side])}"
        )
    if plan.preserves(side) and not _are_equal(block.probes, block.stores, len(block)):
        raise StreamJoinError(
            f"block: how={plan.how!r} needs every {NAMED[side]} row to probe and to be stored in the same worker; "
            "some rows do only one of them here"
        )


def _are_equal(one: Mask | None, other: Mask | None, size: int) -> bool:
    everyone = np.ones(size, np.bool_)
    return one is other or np.array_equal(everyone if one is None else one, everyone if other is None else other)

"""From arriving blocks to admitted rows: late rows and rows without a time are dropped and counted."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamjoin.errors import StreamJoinError
from streamjoin.pane import Rows
from streamjoin.plan import Block, Plan
from streamjoin.spec.side import Side

Mask = NDArray[np.bool_]
_MASKS = ("probes", "stores")


@dataclass(frozen=True)
class Arrivals:
    """Rows of one side, with who probes and who is stored (None: all)."""

    rows: Rows
    probes: Mask | None = None
    stores: Mask | None = None

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def time(self) -> NDArray[np.int64]:
        """The time of every row."""
        return self.rows.time

    def take(self, indices: NDArray[np.int64]) -> "Arrivals":
        """These rows alone, in this order."""
        probes, stores = (None if mask is None else mask[indices] for mask in (self.probes, self.stores))
        return Arrivals(self.rows.take(indices), probes, stores)

    def where(self, mask: Mask) -> "Arrivals":
        """The rows of the mask."""
        return self if mask.all() else self.take(np.flatnonzero(mask))

    def slice(self, start: int, stop: int) -> "Arrivals":
        """A stretch of the rows."""
        probes, stores = (None if mask is None else mask[start:stop] for mask in (self.probes, self.stores))
        return Arrivals(self.rows.slice(start, stop - start), probes, stores)

    def here(self) -> "Arrivals":
        """The rows that have something to do in this worker."""
        if self.probes is None or self.stores is None:
            return self
        return self.where(self.probes | self.stores)

    @classmethod
    def concat(cls, parts: Sequence["Arrivals"]) -> "Arrivals":
        """All rows, one part after the other."""
        return cls(
            Rows.concat([part.rows for part in parts]),
            _joined([(part.probes, len(part)) for part in parts]),
            _joined([(part.stores, len(part)) for part in parts]),
        )

    def packed(self) -> Rows:
        """Rows that carry their masks along as columns."""
        payload = self.rows.payload
        for name, mask in zip(_MASKS, (self.probes, self.stores), strict=True):
            if mask is not None:
                payload = payload.append_column(f"__{name}", pa.array(mask))
        return replace(self.rows, payload=payload)

    @classmethod
    def unpacked(cls, rows: Rows, columns: int) -> "Arrivals":
        """The rows that `packed` gave, where the payload proper has so many columns."""
        payload = rows.payload
        masks = {
            field.name.removeprefix("__"): payload.column(at).to_numpy(zero_copy_only=False)
            for at, field in enumerate(payload.schema)
            if at >= columns
        }
        return cls(replace(rows, payload=payload.select(range(columns))) if masks else rows, **masks)


def _joined(masks: Sequence[tuple[Mask | None, int]]) -> Mask | None:
    if all(mask is None for mask, _ in masks):
        return None
    return np.concatenate([np.ones(size, np.bool_) if mask is None else mask for mask, size in masks])


@dataclass(frozen=True)
class Admitted:
    """What became of the rows that arrived on one side; `rows` of them are counted here."""

    arrivals: Arrivals | None
    rows: int
    late: int
    invalid: int


def admit(plan: Plan, side: Side, blocks: Iterable[Block], watermark: int | None) -> Admitted:
    """Drop rows without a time, and rows before the watermark."""
    parts, rows, late, invalid = [], 0, 0, 0
    for block in blocks:
        _check(plan, side, block)
        timed = np.ones(len(block), np.bool_) if block.valid is None else block.valid
        early = timed if watermark is None else timed & (block.time >= watermark)
        if block.first:
            rows += len(block)
            invalid += len(block) - int(np.count_nonzero(timed))
            late += int(np.count_nonzero(timed)) - int(np.count_nonzero(early))
        if early.any():
            given = Arrivals(Rows(block.time, block.keys, block.payload), block.probes, block.stores)
            parts.append(given.where(early))
    arrivals = parts[0] if len(parts) == 1 else Arrivals.concat(parts) if parts else None
    return Admitted(arrivals, rows, late, invalid)


def _check(plan: Plan, side: Side, block: Block) -> None:
    """A block that does not fit the plan must not become a wrong result."""
    schema = plan.payload(side)
    if block.payload.schema.types != schema.types or block.payload.schema.names != schema.names:
        raise StreamJoinError(f"block: its payload has {block.payload.schema}; the plan says {schema}")
    keys = plan.keys[side]
    if len(block.keys) != len(keys):
        raise StreamJoinError(f"block: it has {len(block.keys)} key columns; the predicate has {len(keys)}")
    lengths = {
        "payload": block.payload.num_rows if schema.names else len(block),
        **{f"key {key.name}": len(column.values) for key, column in zip(keys, block.keys, strict=True)},
        **{name: len(mask) for name in ("valid", *_MASKS) if (mask := getattr(block, name)) is not None},
    }
    for name, length in lengths.items():
        if length != len(block):
            raise StreamJoinError(f"block: {name} has {length} rows; time has {len(block)}")
    if plan.preserves(side) and block.probes is not block.stores and not _same(block.probes, block.stores, len(block)):
        raise StreamJoinError(
            f"block: how={plan.how!r} needs every {'left' if side == 'l' else 'right'} row to probe and to be stored "
            "in the same worker; some rows do only one of them here"
        )


def _same(first: Mask | None, second: Mask | None, size: int) -> bool:
    everyone = np.ones(size, np.bool_)
    return bool(np.array_equal(everyone if first is None else first, everyone if second is None else second))

"""A small join, its blocks and its results, to test workers with."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa

from streamjoin import within
from streamjoin.pane import KeyColumn, Rows
from streamjoin.plan import Block, Plan
from streamjoin.predicate import Schema, parse
from streamjoin.spec.how import How
from streamjoin.spec.window import Window
from tests.strategies import us

LEFT = Schema({"ts": "timestamp", "x": "int", "s": "string"})
RIGHT = Schema({"ts": "timestamp", "a": "int", "s": "string"})
PAYLOAD_LEFT = pa.schema([("l", pa.int64()), ("s", pa.string())])
PAYLOAD_RIGHT = pa.schema([("r", pa.int64())])
TEN = within(us(10))


def plan_of(window: Window = TEN, how: How = "inner", on: str = "l.x = r.a", **options: Any) -> Plan:
    return Plan(parse(on, LEFT, RIGHT), window, PAYLOAD_LEFT, PAYLOAD_RIGHT, how, **options)


def left(*rows: tuple[int, int], text: str = "") -> Block:
    """Rows as (time, x), numbered from 0."""
    return _block(rows, {"l": range(len(rows)), "s": [text] * len(rows)}, PAYLOAD_LEFT)


def right(*rows: tuple[int, int]) -> Block:
    return _block(rows, {"r": range(100, 100 + len(rows))}, PAYLOAD_RIGHT)


def _block(rows: Iterable[tuple[int, int]], payload: dict[str, Any], schema: pa.Schema) -> Block:
    times, keys = zip(*rows, strict=True)
    columns = pa.RecordBatch.from_pydict({name: list(values) for name, values in payload.items()}, schema)
    return Block(Rows(np.array(times), (KeyColumn(np.array(keys, np.int32)),), columns))


def pairs(blocks: Iterable[pa.RecordBatch]) -> list[tuple[int | None, int | None, int]]:
    """Results as (left, right, join time)."""
    return [
        (row["l"], row.get("r"), row["join_time"])
        for row in sorted((row for block in blocks for row in block.to_pylist()), key=repr)
    ]

"""The handshake join's protocol: rows that pass each other in flight meet once, and rows spread over the chain."""

import random
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

from streamjoin import Handshake, LocalJoin, StreamJoinError, within
from streamjoin.local.chain import ChainEngine
from streamjoin.local.node import Acknowledged, Message, Node, Ranks, Travelling
from streamjoin.match import Matcher
from streamjoin.pane import Rows, no_columns
from streamjoin.predicate import Schema, parse
from streamjoin.spec.side import Side

WINDOW = within("1 second")
ALL = parse("true", Schema({"x": "int"}), Schema({"a": "int"}))


def rows(*ranks: int) -> Rows:
    return Rows(np.zeros(len(ranks), np.int64), (), no_columns(len(ranks)), np.array(ranks, np.int64))


def chain(length: int) -> tuple[list[Node], list[tuple[int, int]]]:
    """Nodes without threads; messages wait in their queues until a node is told to step."""
    found: list[tuple[int, int]] = []

    def report(left: Ranks, right: Ranks) -> None:
        found.extend(zip(left.tolist(), right.tolist(), strict=True))

    def send(node: Node, side: Side, message: Message) -> None:
        node.queues[side].append(message)

    nodes = [Node(number, Matcher(ALL, WINDOW), report, send) for number in range(length)]
    for left, right in pairwise(nodes):
        left.ahead["l"], right.ahead["r"] = right, left
    return nodes, found


def settle(nodes: list[Node]) -> None:
    while any(node.queues["l"] or node.queues["r"] for node in nodes):
        for node in nodes:
            node.step()


def pass_in_flight() -> list[tuple[int, int]]:
    #  node 0   l0 ->      <- r0   node 1      both are sent before either arrives
    nodes, found = chain(2)
    nodes[0].windows["l"].add(rows(0))
    nodes[1].windows["r"].add(rows(0))
    for node in nodes:
        node.draining = True
        node._forward()
    assert [type(m) for m in (*nodes[1].queues["l"], *nodes[0].queues["r"])] == [Travelling, Travelling]
    settle(nodes)
    return found


def test_rows_that_pass_each_other_in_flight_meet_once() -> None:
    assert pass_in_flight() == [(0, 0)]


def test_without_acknowledgement_they_would_miss_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Node, "_mark_sent", lambda node, count: node.windows["r"].drop(count))
    assert pass_in_flight() == []


def test_without_dropping_the_acknowledged_copy_they_would_meet_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    #  r0 arrives in node 0 and meets l0 there; l0 is sent after it was acknowledged, and must not meet the copy
    def run() -> list[tuple[int, int]]:
        nodes, found = chain(2)
        nodes[0].windows["l"].add(rows(0))
        nodes[1].windows["r"].add(rows(0))
        nodes[1].draining = True
        nodes[1]._forward()
        nodes[0].step()
        nodes[0].draining = True
        nodes[0]._forward()
        settle(nodes)
        return found

    assert run() == [(0, 0)]
    process = Node._process

    def ignore(node: Node, side: Side, message: Message) -> None:
        if not isinstance(message, Acknowledged):
            process(node, side, message)

    monkeypatch.setattr(Node, "_process", ignore)
    assert run() == [(0, 0), (0, 0)]


def test_an_acknowledgement_drops_the_row_it_names_and_older_ones() -> None:
    nodes, _ = chain(2)
    nodes[1].windows["r"].add(rows(3, 4, 5))
    nodes[1].windows["r"].sent = 2
    nodes[1].queues["l"].append(Acknowledged(3))
    nodes[1].step()
    assert nodes[1].windows["r"].rows is not None
    assert nodes[1].windows["r"].rows.rank.tolist() == [4, 5]  # type: ignore[union-attr]


@pytest.mark.parametrize("seed", range(20))
def test_any_interleaving_of_steps_finds_every_pair_once(seed: int) -> None:
    draw = random.Random(seed)
    nodes, found = chain(draw.randint(1, 5))
    waiting: dict[Side, list[int]] = {"l": list(range(30)), "r": list(range(30))}
    ends: dict[Side, Node] = {"l": nodes[0], "r": nodes[-1]}
    while waiting["l"] or waiting["r"]:
        side: Side = draw.choice([side for side in ("l", "r") if waiting[side]])
        size = draw.randint(1, 4)
        ends[side].queues[side].append(Travelling(rows(*waiting[side][:size])))
        waiting[side] = waiting[side][size:]
        for _ in range(draw.randint(0, 6)):
            draw.choice(nodes).step()
    settle(nodes)
    for node in nodes:
        node.draining = True
        node._forward()
    settle(nodes)
    assert sorted(found) == [(l, r) for l in range(30) for r in range(30)]


def push(join: LocalJoin, seconds: range, rate: int) -> None:
    for second in seconds:
        times = pa.array(second * 1_000_000 + np.arange(rate) * (1_000_000 // rate))
        join.push_left({"ts": times, "x": np.arange(rate, dtype=np.int32)})
        join.push_right({"ts": times, "a": np.arange(rate, dtype=np.int32)})


def make(**more: object) -> LocalJoin:
    left, right = (pa.schema([("ts", pa.int64()), (name, pa.int32())]) for name in ("x", "a"))
    return LocalJoin(
        on="l.x = r.a",
        window=within("4 seconds"),
        left=left,
        right=right,
        time="ts",
        delay="0s",
        **more,  # type: ignore[arg-type]
    )


def test_rows_spread_over_the_chain_by_themselves() -> None:
    with make(layout=Handshake(4)) as join:
        push(join, range(12), 200)
        assert isinstance(join._engine, ChainEngine)
        join.stats()
        sizes = {side: [len(node.windows[side]) for node in join._engine._nodes] for side in ("l", "r")}
        for each in sizes.values():
            assert max(each) <= 3 * min(each) + 64
        assert sum(sizes["l"]) < 6 * 200 * 2  # what has left the window has left the chain
        join.flush()
        assert join.read().num_rows == sum(abs(i - j) <= 4 for i in range(12) for j in range(12)) * 200


@pytest.mark.parametrize(
    ("refused", "arguments"),
    [("is for inner joins.*take Grid", {"how": "left"}), (r"take Scale\(2\)", {"ordered": True})],
)
def test_what_the_protocol_cannot_do_is_refused(refused: str, arguments: dict[str, object]) -> None:
    with pytest.raises(StreamJoinError, match=refused):
        make(layout=Handshake(2), **arguments)

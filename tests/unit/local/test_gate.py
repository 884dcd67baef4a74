"""The gate: every reader is given every ready row once, in the order of (time, source, place in its source)."""

import threading
import time
from random import Random

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamjoin import StreamJoinError
from streamjoin.local.gate import Gate

SCHEMA = pa.schema([("ts", pa.int64()), ("id", pa.int64())])


def block(*rows: tuple[int, int]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([{"ts": ts, "id": at} for ts, at in rows], SCHEMA)


def read(gate: Gate, reader: int = 0) -> list[tuple[int, int]]:
    found = []
    while (rows := gate.ready(reader)) is not None:
        found += [(row["ts"], row["id"]) for row in rows.to_pylist()]
    return found


def test_rows_before_the_least_latest_time_are_ready() -> None:
    #  a       4     7
    #  b    2 3   5        W = 5: 5 itself is not ready
    gate = Gate("ts", ["a", "b"])
    gate.add("a", block((4, 0), (7, 1)))
    assert read(gate) == []
    gate.add("b", block((2, 2), (3, 3), (5, 4)))
    assert read(gate) == [(2, 2), (3, 3), (4, 0)]
    gate.close()
    assert read(gate) == [(5, 4), (7, 1)]


def test_rows_of_one_time_come_by_source_whoever_was_first() -> None:
    """Where the paper's Algorithm 2 goes by who inserts first."""
    orders = []
    for first, second in (("a", "b"), ("b", "a")):
        gate = Gate("ts", ["a", "b"])
        for source in (first, second):
            gate.add(source, block((1, ord(source)), (1, ord(source) + 100), (2, 0)))
        orders.append(read(gate))
    assert orders[0] == orders[1] == [(1, 97), (1, 197), (1, 98), (1, 198)]


@pytest.mark.parametrize("values", [["b", None, "a"], [2.5, None, -1.0], [True, None, False]])
def test_columns_named_by_the_caller_decide_before_sources(values: list[object]) -> None:
    high, none, low = values
    gate = Gate("ts", ["a", "b"], by=["k"])
    gate.add("a", pa.record_batch({"ts": [1, 1, 9], "k": [high, none, low]}))
    gate.add("b", pa.record_batch({"ts": [1, 1, 9], "k": [low, high, low]}))
    found = gate.ready(0)
    assert found is not None
    assert found.column("k").to_pylist() == [none, low, high, high]


def test_each_source_has_its_own_disorder() -> None:
    gate = Gate("ts", {"a": "0 seconds", "b": "3 microseconds"})
    gate.add("a", block((10, 0)))
    gate.add("b", block((10, 1), (8, 2)))
    assert read(gate) == []
    gate.add("b", block((9, 3), (12, 4)))
    assert read(gate) == [(8, 2)]
    assert gate.released == 9


def test_rows_from_before_the_released_time_are_dropped_and_counted() -> None:
    gate = Gate("ts", ["a"])
    gate.add("a", block((5, 0)))
    read(gate)
    gate.add("a", block((4, 1), (5, 2), (6, 3)))
    assert read(gate) == [(5, 0), (5, 2)]
    assert gate.late["a"] == 1


def test_sources_join_and_leave() -> None:
    gate = Gate("ts", ["a"])
    gate.add("a", block((5, 0), (9, 1)))
    assert read(gate) == [(5, 0)]
    with pytest.raises(StreamJoinError, match="rows before 9 are released"):
        gate.join("b", since=8)
    with pytest.raises(StreamJoinError, match="begins at any time"):
        gate.join("b")
    gate.join("b", since=9)
    gate.add("a", block((20, 2)))
    assert read(gate) == []
    gate.leave("b")
    assert read(gate) == [(9, 1)]
    with pytest.raises(StreamJoinError, match="source 'b'"):
        gate.add("b", block((30, 3)))


def test_an_idle_source_holds_nobody_back_after_its_time() -> None:
    now = [0.0]
    gate = Gate("ts", ["a", "b"], idle_after=10, clock=lambda: now[0])
    gate.add("b", block((3, 0)))
    now[0] = 9
    gate.add("a", block((8, 1)))
    assert read(gate) == []
    now[0] = 11
    gate.add("a", block((9, 2)))
    assert read(gate) == [(3, 0), (8, 1)]
    gate.add("b", block((4, 3), (10, 4)))  # it comes back: what it should have brought before is late
    assert gate.late["b"] == 1
    gate.add("a", block((11, 5)))
    assert read(gate) == [(9, 2)]


def test_a_source_that_has_left_is_not_waited_for_nor_does_it_bring_time_to_an_end() -> None:
    #  seconds   0            11          12
    #  a                      idle        7 12
    #  b                      3 9, left
    now = [0.0]
    gate = Gate("ts", {"a": "0 seconds", "b": "4 microseconds"}, idle_after=10, clock=lambda: now[0])
    now[0] = 11
    gate.add("b", block((3, 0), (9, 1)))
    gate.leave("b")
    assert read(gate) == [(3, 0), (9, 1)]
    assert gate.released == 10
    now[0] = 12
    gate.add("a", block((7, 2), (12, 3)))
    assert (gate.late["a"], gate.held) == (1, 1)
    gate.join("c", since=12)
    gate.add("c", block((13, 4)))
    gate.add("a", block((14, 5)))
    assert read(gate) == [(12, 3)]


def test_a_source_that_has_left_does_not_overtake_one_that_is_heard() -> None:
    now = [0.0]
    gate = Gate("ts", ["a", "b"], idle_after=10, clock=lambda: now[0])
    gate.add("a", block((5, 0)))
    gate.add("b", block((3, 1), (9, 2)))
    gate.leave("b")
    assert read(gate) == [(3, 1)]
    now[0] = 11  # a is silent: b's rows come out, a is not taken for ended
    assert read(gate) == [(5, 0), (9, 2)]
    gate.add("a", block((10, 3), (11, 4)))
    assert read(gate) == [(10, 3)]


def test_what_all_readers_have_passed_is_freed() -> None:
    gate = Gate("ts", ["a"], readers=2)
    gate.add("a", block((1, 0), (2, 1), (3, 2)))
    assert read(gate, 0) == [(1, 0), (2, 1)]
    assert gate.held == 3
    assert read(gate, 1) == [(1, 0), (2, 1)]
    assert gate.held == 1


def test_wrong_use_is_refused() -> None:
    gate = Gate("ts", ["a"])
    with pytest.raises(StreamJoinError, match="no source 'b'; there are 'a'"):
        gate.add("b", block((1, 0)))
    with pytest.raises(StreamJoinError, match="no reader 7"):
        gate.ready(7)
    with pytest.raises(StreamJoinError, match="already"):
        gate.join("a")
    with pytest.raises(StreamJoinError, match="has NULL"):
        gate.add("a", pa.record_batch({"ts": pa.array([None], pa.int64())}))


@given(
    sources=st.lists(st.lists(st.integers(0, 12), max_size=8), min_size=1, max_size=4),
    seed=st.integers(0, 2**32),
    disorder=st.integers(0, 4),
)
def test_any_interleaving_gives_one_order(sources: list[list[int]], seed: int, disorder: int) -> None:
    """Sources that keep to their disorder: nothing is late, and after every add exactly the ready rows are out."""
    draw = Random(seed)
    rows = {}
    for number, times in enumerate(sources):
        ordered = sorted(times, key=lambda t: t + draw.uniform(0, disorder))  # no row more than `disorder` behind
        rows[number] = [(t, 100 * number + at) for at, t in enumerate(ordered)]
    everything = [(t, number, i) for number, mine in rows.items() for t, i in mine]
    expected = [(t, i) for t, number, i in sorted(everything)]
    gate = Gate("ts", dict.fromkeys(rows, f"{disorder} microseconds"))
    found: list[tuple[int, int]] = []
    given_so_far = dict.fromkeys(rows, 0)
    while any(given_so_far[n] < len(rows[n]) for n in rows):
        number = draw.choice([n for n in rows if given_so_far[n] < len(rows[n])])
        size = draw.randint(1, 3)
        gate.add(number, block(*rows[number][given_so_far[number] : given_so_far[number] + size]))
        given_so_far[number] += size
        found += read(gate)
        latest = [max((t for t, _ in rows[n][: given_so_far[n]]), default=None) for n in rows]
        passed = -1 if None in latest else min(latest) - disorder  # type: ignore[type-var]
        assert found == [row for row in expected if row[0] < passed]
    gate.close()
    assert found + read(gate) == expected
    assert not any(gate.late.values())


@pytest.mark.parametrize(("sources", "readers"), [(1, 1), (3, 2), (6, 4)])
def test_threads_that_add_and_read_at_once(sources: int, readers: int) -> None:
    gate = Gate("ts", range(sources), readers)
    draws = [Random(n) for n in range(sources)]
    times = [sorted(draw.randint(0, 400) for _ in range(600)) for draw in draws]
    expected = sorted((t, n, at) for n, mine in enumerate(times) for at, t in enumerate(mine))
    found: dict[int, list[tuple[int, int]]] = {reader: [] for reader in range(readers)}

    def add(source: int) -> None:
        at = 0
        while at < len(times[source]):
            size = draws[source].randint(1, 20)
            gate.add(source, block(*((t, 1000 * source + at + i) for i, t in enumerate(times[source][at : at + size]))))
            at += size
            if draws[source].random() < 0.1:
                time.sleep(0.001)
        gate.leave(source)

    def take(reader: int) -> None:
        while len(found[reader]) < len(expected):
            rows = gate.ready(reader, timeout=5)
            assert rows is not None
            found[reader] += zip(rows["ts"].to_pylist(), rows["id"].to_pylist(), strict=True)

    threads = [threading.Thread(target=add, args=(n,)) for n in range(sources)]
    threads += [threading.Thread(target=take, args=(n,)) for n in range(readers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    for reader in range(readers):
        assert found[reader] == [(t, 1000 * n + at) for t, n, at in expected]
    assert gate.held == 0

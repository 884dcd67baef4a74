"""The verbs of LocalJoin: what they take, when they block or raise, and that no thread is left behind."""

import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from streamjoin import Cell, Grid, Handshake, Keyed, LocalJoin, Scale, StreamJoinError, last, within
from streamjoin.local import driver

LEFT = pa.schema([("ts", pa.timestamp("us")), ("x", pa.int32()), ("name", pa.string())])
RIGHT = pa.schema([("ts", pa.timestamp("us")), ("a", pa.int32()), ("name", pa.string())])
SECOND = 1_000_000


def join(**arguments: Any) -> LocalJoin:
    given = {"on": "l.x = r.a", "window": within("5 seconds"), "time": "ts", "delay": "0 seconds"}
    return LocalJoin(**{**given, "left": LEFT, "right": RIGHT, **arguments})


def at(second: float) -> datetime:
    return datetime(2026, 1, 5, 9, 30) + (datetime(2026, 1, 1, 0, 0, 1) - datetime(2026, 1, 1)) * second


def rows(column: str, count: int, start: int = 0) -> pa.Table:
    number = np.arange(start, start + count)
    times = pa.array(number * 1000).view(pa.timestamp("us"))
    names = pa.array([str(n) for n in number])
    return pa.table({"ts": times, column: pa.array(number % 50, pa.int32()), "name": names})


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    before = threading.active_count()
    yield
    deadline = time.monotonic() + 5
    while threading.active_count() > before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threading.active_count() == before


# What a push is


def test_tables_batches_columns_and_rows() -> None:
    with join() as both:
        both.push_left({"ts": at(0), "x": 1, "name": "one"})
        both.push_left({"ts": [at(1), at(2)], "x": [1, 2], "name": ["two", None]})
        both.push_left({"ts": np.array([at(2)], "M8[us]"), "x": np.array([2]), "name": np.array(["three"])})
        both.push_right(pa.table({"name": ["u"], "a": pa.array([1], pa.int32()), "ts": [at(1)]}))
        both.push_right(pa.RecordBatch.from_pylist([{"ts": at(2), "a": 2, "name": "v"}], RIGHT))
        found = both.read()
    assert sorted(map(str, zip(found["name_l"].to_pylist(), found["name_r"].to_pylist(), strict=True))) == [
        "('one', 'u')",
        "('three', 'v')",
        "('two', 'u')",
        "(None, 'v')",
    ]
    assert found.schema.names == ["ts_l", "x", "name_l", "ts_r", "a", "name_r", "join_time"]
    assert found.schema.field("join_time").type == pa.timestamp("us")


@pytest.mark.parametrize(
    ("pushed", "message"),
    [
        ([1], "push_left: got list; expected an Arrow table"),
        ({"ts": at(0), "x": 1}, "push_left: expected the columns ts, x, name; name missing"),
        ({"ts": at(0), "x": 1, "name": "", "y": 1}, "y unknown"),
        ({"ts": at(0), "x": "one", "name": ""}, "push_left: x: expected values of type int32"),
        ({"ts": [at(0)], "x": [1, 2], "name": ["", ""]}, "columns of one length"),
    ],
)
def test_what_is_no_row_is_refused(pushed: Any, message: str) -> None:
    with join() as both, pytest.raises(StreamJoinError, match=message):
        both.push_left(pushed)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"left": {"x": "int"}}, "left: got .* expected a pyarrow.Schema"),
        ({"time": "t"}, "time: the left side has no column 't'"),
        ({"time": "x"}, "time: l.x is int32; expected a timestamp"),
        ({"window": "5 seconds"}, "window: got '5 seconds'"),
        ({"layout": "grid"}, "layout: got 'grid'"),
        ({"workers": 0}, "workers: got 0"),
        ({"unread": None}, "unread: got None"),
        ({"delay": None}, "delay: say how far a row may come behind .* such as delay='10 seconds'"),
        ({"how": "cross"}, "how: got 'cross'"),
        ({"on": "soundex(l.name) = soundex(r.name)"}, "only Spark evaluates soundex"),
        ({"layout": Scale(2), "how": "left"}, "is for inner joins"),
        ({"layout": Grid(1, 2), "how": "left_semi"}, "one cell must know"),
        ({"on": "l.x < r.a", "layout": Keyed(2)}, "brings rows together by an equality"),
        ({"on": "date(l.ts) = date(r.ts)", "timezone": "Europe/Berlin"}, "Spark|timezone"),
    ],
)
def test_what_cannot_be_asked_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(StreamJoinError, match=message):
        join(**arguments)


def test_selected_columns_alone_come_out() -> None:
    with join(select=["r.name AS other", "l.x"]) as both:
        both.push_left({"ts": at(0), "x": 1, "name": "one"})
        both.push_right({"ts": at(1), "a": 1, "name": "two"})
        assert both.read().to_pylist() == [{"other": "two", "x": 1, "join_time": at(1)}]


@pytest.mark.parametrize(
    ("how", "expected"), [("inner", [2]), ("left", [1, 2]), ("right", [2, 3]), ("full", [1, 2, 3])]
)
def test_names_that_both_sides_share_are_one_column(how: str, expected: list[int], tmp_path: Path) -> None:
    shared = pa.schema([("ts", pa.int64()), ("k", pa.int32())])
    both = LocalJoin(on=["k"], window=within("1s"), left=shared, right=shared, time="ts", delay="0s", how=how)
    both.push_left({"ts": [0, 1], "k": [1, 2]})
    both.push_right({"ts": [0, 1], "k": [2, 3]})
    both.save(tmp_path)
    both.close()
    with LocalJoin.restore(tmp_path) as again:
        again.flush()
        found = again.read()
    assert found.schema.names == ["k", "ts_l", "ts_r", "join_time"]
    assert sorted(found["k"].to_pylist()) == expected


def test_the_default_layout_takes_single_rows_the_lean_way() -> None:
    plain = pa.schema([("ts", pa.int64()), ("x", pa.int32())])
    with LocalJoin(
        on="abs(l.x - r.x) <= 1", window=within("1s"), left=plain, right=plain, time="ts", delay="0s"
    ) as both:
        assert both._rows is not None
        both.push_left({"ts": 0, "x": 1})
        both.push_right({"ts": 1, "x": 2})
        assert both.read().num_rows == 1


def test_single_rows_with_texts_and_times_take_the_lean_way(tmp_path: Path) -> None:
    both = join(on="abs(l.x - r.a) <= 1", layout=Grid(1, 2))
    reader = both._rows["l"] if both._rows is not None else None
    assert reader is not None
    assert reader.read({"ts": at(0), "x": 1, "name": "one"}) is not None
    for plain in ({"name": None}, {"name": b""}, {"ts": at(0).replace(tzinfo=UTC)}, {"name": "\ud800"}, {"x": True}):
        assert reader.read({"ts": at(0), "x": 1, "name": "one"} | plain) is None
    for number in range(3000):  # so many that the ring grows, and forgets
        both.push_left({"ts": at(number / 100), "x": number, "name": f"number {number}"})
    both.push_right({"ts": at(29), "a": 2900, "name": None})
    both.push_right({"ts": at(29), "a": 2901, "name": "ß"})
    both.save(tmp_path)
    both.close()
    with LocalJoin.restore(tmp_path) as again:
        again.push_right({"ts": at(30), "a": 2950, "name": ""})
        found = again.read().to_pylist()
    near = [(x, a, name) for a, name in ((2900, None), (2901, "ß"), (2950, "")) for x in range(a - 1, a + 2)]
    expected = [(at(x / 100), x, f"number {x}", a, name) for x, a, name in near]
    names = ("ts_l", "x", "name_l", "a", "name_r")
    assert sorted(map(str, (tuple(row[name] for name in names) for row in found))) == sorted(map(str, expected))


def test_conditions_on_strings_and_zoned_times() -> None:
    zoned = [pa.schema([("ts", pa.timestamp("ns", "Europe/Berlin")), ("s", pa.large_string())])] * 2
    with LocalJoin(
        on="l.s LIKE concat(r.s, '%')", window=within("1s"), left=zoned[0], right=zoned[1], time="ts", delay="0s"
    ) as both:
        both.push_left({"ts": datetime(2026, 1, 5, 9, tzinfo=UTC), "s": "streams"})
        both.push_right({"ts": [datetime(2026, 1, 5, 9, tzinfo=UTC)] * 2, "s": ["stream", "join"]})
        [found] = both.read().to_pylist()
    assert (found["s_l"], found["s_r"], found["join_time"]) == (
        "streams",
        "stream",
        datetime(2026, 1, 5, 9, tzinfo=UTC),
    )


# Watermarks


def test_each_push_keeps_the_watermark_it_came_under() -> None:
    with join(how="left") as both:
        both.push_left({"ts": at(0), "x": 1, "name": "unmatched"})
        both.push_right({"ts": at(60), "a": 9, "name": ""})
        both.push_left({"ts": at(30), "x": 9, "name": "on time: so far W is 0"})
        both.push_left({"ts": at(20), "x": 9, "name": "late: W is 30"})
        assert both.read()["name_l"].to_pylist() == ["unmatched"]
        assert (both.stats().late_left, both.stats().watermark) == (
            1,
            int(at(30).replace(tzinfo=UTC).timestamp() * 1e6),
        )
        both.advance(at(61))
        assert both.read()["name_l"].to_pylist() == ["on time: so far W is 0"]
        with pytest.raises(StreamJoinError, match="advance: got 'now'"):
            both.advance("now")  # type: ignore[arg-type]


# Results


def test_iteration_ends_with_the_input() -> None:
    with join() as both:
        both.push_left(rows("x", 1000))
        both.push_right(rows("a", 1000))
        both.flush()
        expected = sum(abs(i - j) * 1000 <= 5 * SECOND for i in range(1000) for j in range(1000) if i % 50 == j % 50)
        assert sum(batch.num_rows for batch in both) == expected
        with pytest.raises(StreamJoinError, match="was flushed"):
            both.push_left(rows("x", 1))


def test_a_reader_in_a_thread_of_its_own() -> None:
    found: list[int] = []
    with join(layout=Grid(2, 2)) as both:
        reader = threading.Thread(target=lambda: found.extend(batch.num_rows for batch in both))
        reader.start()
        for start in range(0, 2000, 100):
            both.push_left(rows("x", 100, start))
            both.push_right(rows("a", 100, start))
        both.flush()
        reader.join(10)
    assert sum(found) == both.stats().results > 0


def test_a_callback_is_given_every_batch() -> None:
    found: list[int] = []
    with join(callback=lambda batch: found.append(batch.num_rows)) as both:
        both.push_left(rows("x", 500))
        both.push_right(rows("a", 500))
        both.flush()
        assert sum(found) == both.stats().results > 0
        assert both.read().num_rows == 0


def test_a_push_raises_when_too_many_results_are_unread() -> None:
    with join(unread=10) as both:
        both.push_left(rows("x", 200))
        both.push_right(rows("a", 200))
        while both.stats().queued or not both.stats().unread:
            time.sleep(0.001)
        with pytest.raises(StreamJoinError, match="results wait to be read, and unread= allows 10"):
            both.push_right(rows("a", 1, 199))
        assert both.read().num_rows == 800
        both.push_right(rows("a", 1, 199))  # nothing is lost, it goes on


def test_only_the_queue_blocks_and_stats_say_how_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "QUEUED_ROWS", 100)
    with join() as both:
        for start in range(0, 5000, 100):
            both.push_left(rows("x", 100, start))
            both.push_right(rows("a", 100, start))
        both.flush()
        assert both.stats().blocked_seconds > 0


def test_stats_count_and_time() -> None:
    with join() as both:
        both.push_left({"ts": [at(0), None], "x": [1, 1], "name": ["", ""]})
        both.push_right({"ts": at(1), "a": 1, "name": ""})
        stats = both.stats()
    assert (stats.rows_left, stats.rows_right, stats.invalid_left, stats.results, stats.unread) == (2, 1, 1, 1, 1)
    assert (stats.live_left, stats.live_right) == (1, 1)
    assert stats.latency_p50 is not None
    assert stats.latency_max is not None
    assert 0 < stats.latency_p50 <= stats.latency_max < 60_000


@pytest.mark.parametrize(
    ("how", "matched"), [("inner", 1), ("left", 1), ("right", 1), ("full", 1), ("left_semi", 1), ("left_anti", 0)]
)
def test_latency_is_measured_on_matches_alone(how: str, matched: int) -> None:
    #  left    1@0  2@0                     1@0 matches, 2@0 waits for the watermark, which the last two bring
    #  right    1@1                9@60
    with join(how=how, layout=Grid(1, 1)) as both:
        both.push_left({"ts": [at(0)] * 2, "x": [1, 2], "name": ["", ""]})
        both.push_right({"ts": at(1), "a": 1, "name": ""})
        both.push_right({"ts": at(60), "a": 9, "name": ""})
        both.push_left({"ts": at(60), "x": 8, "name": ""})
        both.advance(at(61))
        found = both.read().num_rows
        assert found == matched + (how in ("left", "full", "left_anti"))
        assert both._driver.latency._sketch.count == matched
        assert (both.stats().latency_p50 is not None) == bool(matched)


def test_matches_of_before_a_restore_are_not_taken_for_those_of_a_step_after_it(tmp_path: Path) -> None:
    with join(how="left", layout=Grid(1, 1)) as both:
        both.push_left({"ts": [at(0)] * 2, "x": [1, 2], "name": ["", ""]})
        both.push_right({"ts": at(1), "a": 1, "name": ""})
        both.save(tmp_path)
    with LocalJoin.restore(tmp_path) as again:
        again.flush()
        assert again.read().num_rows == 2
        assert again.stats().latency_p50 is None


def test_where_matches_wait_no_latency_is_told() -> None:
    """A chain's rows meet when others push them on, which is not when the later one came."""
    for more in ({"layout": Handshake(2)}, {"layout": Scale(2)}, {"window": last(100)}, {"ordered": True}):
        with join(**more) as both:
            both.push_left(rows("x", 100))
            both.push_right(rows("a", 100))
            both.flush()
            assert both.read().num_rows > 0
            assert both.stats().latency_max is None


SYSTEMS = [Grid(1, 2), Grid(2, 2), Keyed(3), Scale(3), Cell(3), Handshake(3)]


@pytest.mark.parametrize("layout", SYSTEMS, ids=str)
def test_what_is_counted_goes_on_after_a_restore(layout: Any, tmp_path: Path) -> None:
    counted = ("rows_left", "rows_right", "late_left", "results", "unread", "steps", "live_left", "comparisons")
    with join(layout=layout, on="abs(l.x - r.a) <= 1", window=within("50 milliseconds")) as both:
        for start in range(0, 500, 100):
            both.push_left(rows("x", 100, start))
            both.push_right(rows("a", 100, start))
        both.push_left(rows("x", 1))
        both.save(tmp_path)
        before = both.stats()
    with LocalJoin.restore(tmp_path) as again:
        after = again.stats()
    assert before.comparisons > 0
    assert before.late_left == 1
    assert [getattr(after, name) for name in counted] == [getattr(before, name) for name in counted]
    assert (after.blocked_seconds, after.latency_max) == (0, None)  # of this process


# Failing and closing


def test_an_error_in_a_worker_reaches_the_caller() -> None:
    with join(on="10 / (l.x - r.a) > 1", layout=Grid(2, 2)) as both:
        both.push_left(rows("x", 100))
        both.push_right(rows("a", 100))
        with pytest.raises(StreamJoinError, match=r"failed and is closed.*zero"):
            both.read()
        with pytest.raises(StreamJoinError, match="failed and is closed"):
            both.push_left(rows("x", 1))


def test_an_error_in_a_callback_reaches_the_caller() -> None:
    def fail(batch: pa.RecordBatch) -> None:
        raise OSError("no room")

    with join(callback=fail) as both:
        both.push_left({"ts": at(0), "x": 1, "name": ""})
        with pytest.raises(OSError, match="no room"):
            both.push_right({"ts": at(0), "a": 1, "name": ""})
        with pytest.raises(StreamJoinError, match="closed: no room"):
            both.push_right({"ts": at(0), "a": 1, "name": ""})


@pytest.mark.parametrize("layout", [Grid(2, 2), Scale(3), Cell(3), Keyed(3)], ids=str)
def test_closed_while_busy_it_leaves_no_thread(layout: Any) -> None:
    for round_ in range(20):
        both = join(layout=layout, workers=3)
        for start in range(0, 100 * (round_ % 5), 100):
            both.push_left(rows("x", 100, start))
            both.push_right(rows("a", 100, start))
        both.close()
        with pytest.raises(StreamJoinError, match="is closed"):
            both.push_left(rows("x", 1))


# Resizing


@pytest.mark.parametrize("layout", [Scale(2), Cell(2)], ids=str)
@pytest.mark.parametrize("window", [within("1 second"), last(100)], ids=str)
def test_resized_while_it_runs_no_pair_is_lost_or_repeated(layout: Any, window: Any) -> None:
    def run(*sizes: int) -> list[str]:
        with join(layout=layout, window=window) as both:
            for number, start in enumerate(range(0, 3000, 250)):
                if number < len(sizes):
                    both.resize(sizes[number])
                both.push_left(rows("x", 250, start))
                both.push_right(rows("a", 250, start))
            both.flush()
            found = both.read()
        return sorted(f"{l} {r}" for l, r in zip(found["name_l"].to_pylist(), found["name_r"].to_pylist(), strict=True))

    expected = run()
    assert len(expected) > 1000
    assert run(2, 4, 1, 3, 1, 6) == expected


@pytest.mark.parametrize("layout", [Scale(2), Cell(2)], ids=str)
def test_resizing_leaves_threads_as_they_were_asked_for(
    layout: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 4)
    for workers, threads in ((1, 1), (None, 3)):
        with join(layout=layout, workers=workers) as both:
            both.resize(3)
            both.save(tmp_path)
            with LocalJoin.restore(tmp_path) as again:
                assert (both.layout.cells, both._pool.workers) == (3, threads)
                assert (again.layout.cells, again._pool.workers) == (3, threads)


@pytest.mark.parametrize("n", [None, 0, 1.5, True])
def test_a_size_that_is_none_is_refused(n: Any) -> None:
    with join(layout=Cell(2)) as both, pytest.raises(StreamJoinError, match="expected a whole number, 1 or more"):
        both.resize(n)


def test_a_grid_cannot_be_resized() -> None:
    with join(layout=Grid(1, 2)) as both, pytest.raises(StreamJoinError, match="Cell and Scale can"):
        both.resize(3)


# Going on elsewhere


@pytest.mark.parametrize(("before", "after"), [(1, 4), (2, 9), (4, 1), (9, 2), (16, 3)])
@pytest.mark.parametrize("path", ["lean", "stripes", "reducing"])
def test_a_chosen_layout_goes_on_with_other_cores(
    path: str, before: int, after: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows lie where the layout of the first machine put them: the second one must not choose again."""
    monkeypatch.setattr("os.cpu_count", lambda: before)
    given = {"left": LEFT, "right": RIGHT, "time": "ts", "delay": "0 seconds", "window": within("5 seconds")}
    given |= {"on": "abs(l.x - r.a) <= 0" if path == "lean" else "l.x = r.a"}
    if path == "reducing":
        both = LocalJoin.aggregate(**given, select=["l.x", "count(*) AS found"], how="inner")
    else:
        both = LocalJoin(**given, how="inner" if path == "lean" else "left")
    layout = both.layout
    both.push_left(rows("x", 50))
    both.push_right(rows("a", 50))
    both.save(tmp_path)
    both.close()
    monkeypatch.setattr("os.cpu_count", lambda: after)
    with LocalJoin.restore(tmp_path) as again:
        again.push_left(rows("x", 50, 50))
        again.push_right(rows("a", 50, 50))
        again.flush()
        found = again.read()
    # Each number comes twice on either side, within 0.1 s
    if path == "reducing":
        assert found["found"].to_pylist() == [2] * 100
    else:
        assert found.num_rows == 50 * 2 * 2
    assert again.layout == layout


# Order


def test_scale_gives_one_sequence_however_pushes_interleave(tmp_path: Path) -> None:
    def run(size: int, other: int) -> list[dict[str, Any]]:
        with join(layout=Scale(3), delay="1 second") as both:
            for start in range(0, 600, size):
                both.push_left(rows("x", size, start))
            for start in range(0, 600, other):
                both.push_right(rows("a", other, start))
            both.flush()
            return both.read().to_pylist()  # type: ignore[no-any-return]

    first = run(600, 600)
    assert len(first) > 100
    assert run(60, 200) == run(100, 50) == first


def test_an_ordered_semi_join_goes_by_the_earliest_match() -> None:
    #  left    10
    #  right       12 13      13 is pushed first
    with join(how="left_semi", ordered=True, layout=Grid(1, 1), delay="5 seconds") as both:
        both.push_left({"ts": at(10), "x": 1, "name": "left"})
        both.push_right({"ts": at(13), "a": 1, "name": "first"})
        both.push_right({"ts": at(12), "a": 1, "name": "second"})
        assert both.read().num_rows == 0
        both.flush()
        assert both.read()["join_time"].to_pylist() == [at(12)]


def test_what_was_not_saved_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StreamJoinError, match="holds no join"):
        LocalJoin.restore(tmp_path)


@pytest.mark.parametrize("digits", [8, 30])
@pytest.mark.parametrize(
    "on", ["abs(l.price - r.ask) <= 0.5", "l.price BETWEEN r.ask - 1 AND r.ask + 1", "l.price <= r.ask"]
)
def test_a_decimal_beside_a_double_is_compared_as_a_double(on: str, digits: int) -> None:
    left = pa.schema([("ts", pa.int64()), ("price", pa.float64())])
    right = pa.schema([("ts", pa.int64()), ("ask", pa.decimal128(digits, 2))])
    asks = [Decimal("20.00"), Decimal("20.50"), Decimal("30.00")]
    with join(on=on, left=left, right=right, select=["r.ask"]) as both:
        both.push_left({"ts": 0, "price": 20.25})
        both.push_right({"ts": [0, 0, 0], "ask": asks})
        found = sorted(both.read()["ask"].to_pylist())
    assert found == (asks[1:] if "<= r.ask" in on else asks[:2])

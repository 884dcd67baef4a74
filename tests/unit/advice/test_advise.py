"""Advice: what is asked, where figures come from, what is answered."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

import streamjoin as sj
from streamjoin import reference
from streamjoin.advice.answer import answer
from streamjoin.advice.question import Running
from streamjoin.model.choice import CLOSE, INTERVALS, Machine, estimate_layout, rank_estimates
from streamjoin.model.constants import Constants
from streamjoin.spec.how import HOWS, How

BANDS = "abs(l.x - r.a) <= 10 AND abs(l.y - r.b) <= 10"
SCHEMAS = {"left": "ts TIMESTAMP, x INT, y FLOAT", "right": "ts TIMESTAMP, a INT, b FLOAT"}
GIVEN: dict[str, Any] = {"on": BANDS, "window": sj.within("1 minute"), "cores": 2, "calibration": "none"}


def test_figures_follow_from_the_model() -> None:
    found = sj.advise(**GIVEN, rates=(1000, 500), p=1e-5, row_bytes=24)
    assert found.output_rate == pytest.approx(1000 * 500 * 120 * 1e-5)
    assert found.comparisons_per_second == pytest.approx(1000 * 500 * 120)
    assert found.is_sustained
    assert found.latency == pytest.approx(found.interval / 2 + found.best.seconds)
    assert found.smallest is not None
    assert found.smallest.layout.cells == 1


def test_a_page_and_json_say_the_same() -> None:
    found = sj.advise(**GIVEN, rates=1000, p=1e-5)
    told = json.loads(json.dumps(found.to_dict()))
    assert told["layout"] == str(found.layout)
    assert f"layout={told['layout']}" in str(found)
    assert "<td style='text-align:left'>p = 1e-05 (as given)</td>" in found._repr_html_()
    assert told["constants"] == "those that ship"
    assert "assumed" in told["sources"]["row_bytes"]


def test_what_is_too_much_is_told_with_the_cores_that_it_takes() -> None:
    found = sj.advise(**GIVEN, rates=300_000, p=1e-6)
    assert not found.is_sustained
    assert found.needed_cores is not None
    assert found.needed_cores > 2
    assert sj.advise(**{**GIVEN, "cores": found.needed_cores}, rates=300_000, p=1e-6, interval="10 s").is_sustained
    assert f"{found.needed_cores} cores would" in str(found)
    assert found.headroom < 1


def test_headroom_is_what_is_just_sustained() -> None:
    found = sj.advise(**GIVEN, rates=1000, p=1e-5)
    more = found.question.demand.scale(0.99 * found.headroom), found.question.demand.scale(1.01 * found.headroom)
    kept = [
        estimate_layout(found.layout, found.question.plan, demand, found.machine, found.interval).is_sustained
        for demand in more
    ]
    assert kept == [True, False]


def test_the_best_is_the_best_of_all() -> None:
    found = sj.advise(**{**GIVEN, "cores": 16}, rates=(50_000, 5_000), p=1e-6, row_bytes=200, interval="10 s")
    assert found.runner_up is not None
    assert all(found.best.seconds <= 1.03 * other.seconds for other in found.others)
    assert len({str(e.layout) for e in (found.best, *found.others)}) == len(found.others) + 1


def test_cells_may_be_given() -> None:
    found = sj.advise(**GIVEN, rates=1000, p=1e-5, cells=16)
    assert {e.layout.cells for e in (found.best, *found.others)} == {16}


def test_a_side_that_is_preserved_is_kept_in_one_cell_or_settled() -> None:
    """A semi join needs each left row in one cell: no Scale, and of grids only m x 1."""
    found = sj.advise(**{**GIVEN, "cores": 4}, how="left_semi", rates=1000, p=1e-5)
    assert all(e.layout == sj.Grid(e.layout.cells, 1) for e in (found.best, *found.others))


@pytest.mark.parametrize(
    ("window", "rate"),
    [
        (sj.between("10 seconds", "30 seconds"), 1000 * 500 * 20),
        (sj.tumbling("60 seconds"), 1000 * 500 * 60),
        (sj.last(100), 1000 * 100 + 500 * 100),
        (sj.within(left="10 s", right="50 s"), 1000 * 500 * 60),
    ],
    ids=str,
)
def test_every_window(window: Any, rate: float) -> None:
    found = sj.advise(**{**GIVEN, "window": window}, rates=(1000, 500), p=1e-3)
    assert found.comparisons_per_second == pytest.approx(rate)


# Where the hit rate comes from


def test_ranges_of_whole_and_real_numbers() -> None:
    ranges = {"x": (1, 10_000), "a": (1, 10_000), "y": (1, 10_000), "b": (1, 10_000)}
    found = sj.advise(**SCHEMAS, **GIVEN, rates=1000, ranges=ranges)
    assert found.question.demand.hit_rate == pytest.approx(4.1961e-06, rel=1e-4)
    assert found.question.sources["p"] == "of uniform values"
    assert found.question.sources["row_bytes"] == "by their types"


def test_ranges_of_keys() -> None:
    found = sj.advise(on="l.sym = r.sym", window=sj.within("1 s"), rates=10, ranges={"sym": 500}, calibration="none")
    assert found.question.demand.hit_rate == 1 / 500
    assert found.question.demand.narrowing.groups == 500


def test_bands_over_ranges_that_differ_are_counted_exactly() -> None:
    """l.x from 1 to 6, r.a from 4 to 12, 0 <= l.x - r.a <= 2: counted one by one."""
    pairs = [(x, a) for x in range(1, 7) for a in range(4, 13)]
    share = sum(0 <= x - a <= 2 for x, a in pairs) / len(pairs)
    found = sj.advise(
        *("x INT", "a INT"), on="l.x - r.a BETWEEN 0 AND 2", window=sj.within("1 s"), rates=1,
        ranges={"l.x": (1, 6), "r.a": (4, 12)}, calibration="none",
    )  # fmt: skip
    assert found.question.demand.hit_rate == pytest.approx(share)


def write_samples(home: Path, rows: int, values: int, write: Any = pq.write_table, end: str = "parquet") -> list[Path]:
    rng, paths = np.random.default_rng(3), []
    for names in (("x", "y"), ("a", "b")):
        times = np.sort(rng.integers(0, 100_000_000, rows))
        table = pa.table(
            {
                "ts": pa.array(times, pa.timestamp("us", tz="UTC")),
                names[0]: rng.integers(1, values + 1, rows, np.int32),
                names[1]: rng.uniform(1, values, rows).astype(np.float32),
                "name": [f"n{k}" for k in rng.integers(0, 20, rows)],
            }
        )
        paths.append(home / f"{names[0]}.{end}")
        write(table, paths[-1])
    return paths


def test_files_are_sampled_and_the_condition_decides(tmp_path: Path) -> None:
    left, right = write_samples(tmp_path, 20_000, 1000)
    found = sj.advise(left, right, **GIVEN, time="ts")
    share = ((21 * 1000 - 110) / 1000**2) * ((2 * 10 * 999 - 100) / 999**2)
    assert found.question.demand.hit_rate == pytest.approx(share, rel=0.05)
    assert found.question.demand.rates.left == pytest.approx(200, rel=0.02)
    assert found.question.demand.narrowing.groups is not None


@pytest.mark.parametrize("on", ["l.name = r.name", "levenshtein(l.name, r.name) = 0", "l.name = r.name AND l.x >= 0"])
def test_keys_of_text_are_compared_as_text(tmp_path: Path, on: str) -> None:
    left, right = write_samples(tmp_path, 2_000, 1000)
    found = sj.advise(str(left), str(right), **{**GIVEN, "on": on})
    assert found.question.demand.hit_rate == pytest.approx(1 / 20, rel=0.1)


def test_csv_too(tmp_path: Path) -> None:
    left, right = write_samples(tmp_path, 2_000, 100, pa_csv.write_csv, "csv")
    found = sj.advise(left, right, **GIVEN)
    assert found.question.demand.hit_rate == pytest.approx(0.2 * 0.19, rel=0.15)


TIMES = ["2026-01-05 09:30:02", "2026-01-05 09:30:02.5", "2026-01-05T09:30:03.250Z", "2026-01-05T10:30:04+01:00"]


@pytest.mark.parametrize("end", ["json", "ndjson", "csv"])
def test_times_that_are_text_are_read_as_spark_reads_them(tmp_path: Path, end: str) -> None:
    """Whole seconds in the first file, fractions and zones in the second: four rows in two seconds."""
    for part, times in enumerate((TIMES[:1], TIMES[1:])):
        if end == "csv":
            text = "\n".join(["ts,k", *(f"{time},7" for time in times)])
        else:
            text = "\n".join(json.dumps({"ts": time, "k": 7}) for time in times)
        (tmp_path / f"{part}.{end}").write_text(text + "\n")
    found = sj.advise(tmp_path, **{**GIVEN, "on": "l.k = r.k AND l.ts <= r.ts"})
    assert found.question.demand.rates.left == pytest.approx(2)
    assert found.question.sources["p"] == "10 matches in 16 pairs of the sample"


@pytest.mark.parametrize(
    ("times", "said"),
    [
        (
            ["2026-01-05 09:30:00", "09h30"],
            "'ts' is there as string; expected a timestamp such as 2026-01-05T09:30:00Z, not '09h30'",
        ),
        ([1, 2], "'ts' is there as bigint; expected a timestamp: write it as one, or give schemas"),
        (None, "the left file has no column 'ts'; expected one of k"),
    ],
)
def test_a_time_of_another_type_is_refused_with_a_way_out(tmp_path: Path, times: Any, said: str) -> None:
    rows = [{"k": 7}] if times is None else [{"ts": time} for time in times]
    (tmp_path / "1.json").write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(sj.StreamJoinError, match=said):
        sj.advise(tmp_path, **{**GIVEN, "on": "l.k = r.k"})


def test_files_of_other_columns_than_the_first_are_an_error_of_ours(tmp_path: Path) -> None:
    for part, price in enumerate(("20", '"much"')):
        (tmp_path / f"{part}.json").write_text(f'{{"ts": "2026-01-05 09:30:0{part}", "k": {price}}}\n')
    with pytest.raises(sj.StreamJoinError, match="left: cannot read "):
        sj.advise(tmp_path, **{**GIVEN, "on": "l.k = r.k"})


def test_a_date_of_parquet_is_no_time(tmp_path: Path) -> None:
    pq.write_table(pa.table({"ts": pa.array([1, 2], pa.date32())}), tmp_path / "days.parquet")
    with pytest.raises(sj.StreamJoinError, match="'ts' is there as date; expected a timestamp: write"):
        sj.advise(tmp_path / "days.parquet", **{**GIVEN, "on": "l.k = r.k"})


def test_rows_that_match_near_each_other_in_time_are_found_there(tmp_path: Path) -> None:
    """An order is paid within ten seconds: one match a row, of 2 * 200 * 60 in the window."""
    rng = np.random.default_rng(4)
    times = np.sort(rng.integers(0, 200_000_000, 40_000))
    for name, shift in (("orders", 0), ("payments", 10_000_000)):
        at = times + rng.integers(0, shift + 1, len(times))
        ids = pa.array(np.arange(len(times)))
        pq.write_table(pa.table({"ts": pa.array(at, pa.timestamp("us")), "id": ids}), tmp_path / name)
    found = sj.advise(tmp_path / "orders", tmp_path / "payments", **{**GIVEN, "on": ["id"]})
    assert found.output_rate == pytest.approx(200, rel=0.1)


def test_a_hot_key_is_seen_in_a_sample_and_not_dealt_to_one_cell(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    for side in "lr":
        keys = np.where(rng.random(20_000) < 0.3, 0, rng.integers(1, 50_000, 20_000))
        times = pa.array(np.sort(rng.integers(0, 60_000_000, 20_000)), pa.timestamp("us"))
        pq.write_table(pa.table({"ts": times, "k": keys}), tmp_path / f"{side}.parquet")
    given = {**GIVEN, "on": ["k"], "cores": 16, "cells": 16, "interval": "10 s"}
    found = sj.advise(tmp_path / "l.parquet", tmp_path / "r.parquet", **given)
    assert found.question.demand.narrowing.hottest > 0.9
    keyed = [e for e in (found.best, *found.others) if e.layout == sj.Keyed(16)]
    assert all(e.busiest > 0.9 and e.seconds > 2 * found.best.seconds for e in keyed)


# A query that runs


@pytest.mark.parametrize(
    ("running", "layout", "interval"),
    [
        (Running(sj.Grid(1, 2), 1.0, 0.6), True, True),
        (Running(sj.Scale(64), 1.0, 0.6), False, True),
        (Running(sj.Grid(1, 2), 1.0, 1.5), True, False),
        (Running(sj.Grid(1, 2), 60.0, 2.0), True, False),
    ],
    ids=["right", "wrong layout", "too short", "too long"],
)
def test_whether_the_running_layout_and_interval_are_right(running: Running, layout: bool, interval: bool) -> None:
    constants = Constants(batch=5e8, cell=5e7, row_in=8e3, copy=2e3, row_out=500, stored=0)
    question = replace(sj.advise(**GIVEN, rates=1000, p=1e-5).question, running=running)
    found = answer(question, Machine(2, constants), "made up")
    assert (found.layout_is_right, found.interval_is_right) == (layout, interval)
    assert "Running" in str(found)


# What is refused


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"on": None}, "on: expected a condition"),
        ({}, "p: how many pairs match"),
        ({"p": 2}, "p: got 2"),
        ({"p": 0.1}, "rates: expected rows per second"),
        ({"p": 0.1, "rates": "many"}, "rates: got 'many'"),
        ({"p": 0.1, "rates": 1, "cores": 0}, "cores: got 0"),
        ({"p": 0.1, "rates": 1, "interval": "0 s"}, "interval: got '0 s'"),
        ({"p": 0.1, "rates": 1, "window": None}, "window: expected one"),
        ({"p": 0.1, "rates": 1, "calibration": "mine"}, "calibration: got 'mine'"),
        ({"rates": 1, "ranges": {"x": (1, 2)}}, "none is given for r.a; expected its .* such as ranges={"),
        ({"rates": 1, "on": "l.x * r.a < 3", "ranges": {"x": (1, 2)}}, "does not follow from them"),
        ({"rates": 1, "p": 0.1, "on": "l.ts < r.ts + INTERVAL 1 DAY"}, "taken to be numbers"),
        ({"left": 3}, "left, right: got 3"),
        ({"left": "ja/none", "right": Path("x")}, "left: there is no file or directory 'ja/none', and it is no schema"),
        ({"left": "x INT", "right": Path("x.parquet")}, "expected both of one kind"),
    ],
)  # fmt: skip
def test_what_cannot_be_answered_is_refused_with_what_to_give(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(sj.StreamJoinError, match=said.replace("(", r"\(")):
        sj.advise(**{**GIVEN, **arguments})


def test_a_schema_may_be_longer_than_a_file_name() -> None:
    columns = ", ".join(f"column{number} STRING" for number in range(100))
    assert sj.advise(f"{SCHEMAS['left']}, {columns}", SCHEMAS["right"], **GIVEN, rates=1, p=0.1).is_sustained


def test_samples_that_never_meet_are_refused(tmp_path: Path) -> None:
    for name, start in (("l", 0), ("r", 10**9)):
        table = pa.table({"ts": pa.array([start, start + 1], pa.timestamp("us")), "k": [1, 2]})
        pq.write_table(table, tmp_path / name)
    with pytest.raises(sj.StreamJoinError, match="do not overlap"):
        sj.advise(tmp_path / "l", tmp_path / "r", **{**GIVEN, "on": ["k"]})


def test_no_result_is_no_wonder() -> None:
    found = sj.advise(**GIVEN, rates=0, p=0.0)
    assert found.output_rate == 0
    assert math.isfinite(found.latency)


@pytest.mark.parametrize("how", HOWS)
def test_results_are_those_of_the_type_of_join(how: How) -> None:
    """Against rows whose matches are drawn: keys from a large domain, in one tumbling window."""
    rng = np.random.default_rng(7)
    left, right, keys = 3_000, 1_000, 2_000
    rows = [dict(zip(("ts", "k"), (1, int(key)), strict=True)) for key in rng.integers(0, keys, left + right)]
    joined = reference.join(
        [reference.Batch(rows[:left], rows[left:])], lambda l, r: l["k"] == r["k"], sj.tumbling("1 second"), how
    )
    found = sj.advise(
        on=["k"], window=sj.tumbling("1 second"), rates=(left, right), p=1 / keys, how=how, cores=2, calibration="none"
    )
    assert found.output_rate == pytest.approx(len(joined.rows), rel=0.05)


def test_a_silent_stream_in_a_count_window_costs_nothing() -> None:
    for rates in ((0, 10), (10, 0)):
        found = sj.advise(**{**GIVEN, "window": sj.last(100)}, rates=rates, p=1e-5)
        assert math.isfinite(found.state_bytes)
        assert math.isfinite(found.latency)


@pytest.mark.parametrize("rate", [200, 5_000, 60_000])
def test_the_best_comes_first_at_the_interval_that_is_advised(rate: int) -> None:
    found = sj.advise(**{**GIVEN, "cores": 16}, rates=rate, p=1e-6)
    assert [found.best, *found.others] == rank_estimates([*found.others, found.best])


def test_the_page_says_nothing_that_is_next_to_nothing() -> None:
    given = {"on": "l.sym = r.sym", "window": sj.within("1 minute"), "ranges": {"sym": 500}, "cores": 2}
    page = str(sj.advise(**given, how="left_anti", rates=20_000, calibration="none"))
    assert "Results       0 per second" in page
    seldom = str(sj.advise(**{**GIVEN, "window": sj.within("1 second")}, rates=1, p=1e-6))
    assert "Results       2e-06 per second" in seldom
    assert "Runner-up     Scale(2): as fast, as much state" in seldom


def test_the_least_degree_is_left_out_where_the_cells_are_given() -> None:
    assert "Least degree" in str(sj.advise(**GIVEN, rates=1000, p=1e-5))
    assert "Least degree" not in str(sj.advise(**GIVEN, rates=1000, p=1e-5, cells=3))


@pytest.mark.parametrize("rate", [10, 100, 300, 500, 700, 800, 900, 950, 1_000])
def test_the_advised_interval_leaves_headroom_or_none_does(rate: int) -> None:
    ranges = {"x": (1, 10_000), "a": (1, 10_000)}
    given = {**GIVEN, "on": "abs(l.x - r.a) <= 10", "window": sj.within("15 minutes"), "ranges": ranges}
    found = sj.advise(**given, rates=rate)
    at = {interval: sj.advise(**given, rates=rate, interval=f"{interval} s") for interval in INTERVALS}
    roomy = [interval for interval, advice in at.items() if advice.best.seconds <= 0.8 * interval]
    assert found.interval == min(roomy or [interval for interval, advice in at.items() if advice.is_sustained])
    assert ("Sustained     yes: " in str(found)) == bool(roomy)
    assert ("Sustained     just, with little headroom: " in str(found)) == (not roomy)


def test_of_layouts_that_take_as_long_the_one_with_fewer_cells_is_advised() -> None:
    """On two cores many cells are hardly faster, and each costs its calls."""
    found = sj.advise(**{**GIVEN, "on": "l.k = r.k"}, rates=6_000, p=1e-5, row_bytes=200)
    asked = found.question.plan, found.question.demand, found.machine
    few, many = (estimate_layout(layout, *asked, 5.0) for layout in (sj.Grid(1, 2), sj.Keyed(16)))
    assert few.seconds / CLOSE < many.seconds < few.seconds * CLOSE
    assert many.work.total < few.work.total
    assert rank_estimates([many, few])[0] is few

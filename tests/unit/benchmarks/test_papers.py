"""The pure parts of `make bench`: the workload, verdicts, what is kept, and the page."""

import math
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import streamjoin as sj
from benchmarks import peers
from benchmarks.papers import (
    cell_batching,
    handshake_scaling,
    peers_sustained,
    scale_balance,
    scale_rates,
    thesis_outputs,
)
from benchmarks.papers.experiment import Chart, Claim, Experiment, Line, Steps
from benchmarks.papers.judge import compare_limit, compare_shape, compare_speed, compare_value, leave_out
from benchmarks.papers.kept import Results
from benchmarks.papers.listed import EXPERIMENTS
from benchmarks.papers.page import count_verdicts, to_cells, to_html, to_markdown, write_value
from benchmarks.papers.peers import list_peers, tell
from benchmarks.papers.published import FIGURE_8, TABLE_4_1
from benchmarks.papers.svg import draw_chart
from benchmarks.papers.systems import measure_latency
from benchmarks.papers.workload import CLOSED, OPEN, Load, count_matches
from benchmarks.peers.peer import Outcome, Peer, Task
from streamjoin.model.pairs import Sides


def test_the_hit_rates_of_closed_and_open_bands() -> None:
    assert pytest.approx(4.1961e-6, rel=1e-4) == CLOSED
    assert pytest.approx(3.6066e-6, rel=1e-4) == OPEN


def test_rows_are_whole_and_match_at_the_hit_rate() -> None:
    load = Load(Sides(30_000, 60_000), Sides(1, 1))
    left, right = load.draw("l", 0, 0, 1), load.draw("r", 0, 0, 1)
    assert left.schema.names == ["ts", "x", "y", "z"]
    assert right.schema.names == ["ts", "a", "b", "c", "d"]
    assert {len(text) for text in left.column("z").to_pylist()} == {20}
    found = count_matches(left, right, load.window)
    assert found == pytest.approx(CLOSED * 30_000 * 60_000, rel=4 / math.sqrt(CLOSED * 30_000 * 60_000))
    assert left.equals(load.draw("l", 0, 0, 1))


def test_windows_of_each_side_are_kept() -> None:
    load = Load(Sides(10, 10), Sides(2, 0.5))
    assert (load.window.lower, load.window.upper) == (-500_000, 2_000_000)


def test_a_tasks_results_are_those_of_its_steps() -> None:
    task = Task.draw(rate=2000, window=2, step=1, steps=3)
    left, right = task.gather("l"), task.gather("r")
    x, y, t = (left.column(name).to_numpy()[:, None] for name in ("x", "y", "ts"))
    a, b, u = (right.column(name).to_numpy()[None, :] for name in ("a", "b", "ts"))
    pairs = (abs(x - a) <= 10) & (abs(y - b) <= 10) & (abs(u - t) <= 2_000_000)
    late = np.maximum(t, u) >= 2_000_000
    assert task.count_results() == int((pairs & late).sum())


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        (compare_value("", 100, 102, 2), "agrees"),
        (compare_value("", 100, 103, 2), "differs"),
        (compare_limit("", 4, 4.1), "differs"),
        (compare_speed("", 10, 9, "1/s", cores=2, their_cores=48), "not measurable here"),
        (compare_speed("", 10, 9, "1/s", cores=48, their_cores=48), "differs"),
        (compare_shape("", "linear", "1.2x", False), "differs"),
        (compare_shape("", "linear", "", None), "not measurable here"),
    ],
)
def test_verdicts(claim: Claim, verdict: str) -> None:
    assert claim.verdict == verdict


def test_rates_that_the_search_did_not_end_say_nothing_of_their_shape() -> None:
    rates = [{"rate": rate, "comparisons_per_s": 0, "capped": capped} for rate, capped in ((300, True), (100, False))]
    found = {"cores": 2, "windows": [300, 600], "nested": 1e9, "rates": rates}
    assert scale_rates.judge(found)[-1].verdict == "not measurable here"
    assert scale_rates.judge(found | {"rates": [dict(each, capped=False) for each in rates]})[-1].verdict == "agrees"


def test_the_thesis_own_counts_agree_and_others_do_not() -> None:
    actual = [row[5] for row in TABLE_4_1]
    assert {claim.verdict for claim in thesis_outputs.judge({"counted": actual})} == {"agrees"}
    assert "differs" in {claim.verdict for claim in thesis_outputs.judge({"counted": [2 * n for n in actual]})}


def test_a_curve_is_flat_where_little_follows() -> None:
    assert cell_batching.find_flat([8, 16, 32, 64], [9.0, 4.0, 3.0, 2.9]) == 32


@pytest.mark.parametrize("shape", list(FIGURE_8))
def test_what_threads_count_is_what_a_recount_finds(shape: str) -> None:
    given = {"window": 10, "seconds": 3, "share": 0.1, "seeds": 1}
    found = scale_balance.measure(shape, 0, given)
    assert found["differ"] == 0
    times = scale_balance.draw_streams(shape, given, 0)
    gap = times["r"] - times["l"][:, None]
    near = int((abs(gap) <= 10_000_000).sum())
    assert found["counted"] == pytest.approx(near, rel=0.15)  # of windows at the end of a step, and its rows wait


def test_spreads_come_to_what_is_predicted() -> None:
    given = {"window": 60, "seconds": 60, "share": 1.0}
    times = scale_balance.draw_streams("constant", given, 0)
    watermarks = [second * 1_000_000 for second in range(1, 121) for _ in "lr"]
    homes = scale_balance.store_in_turn(times, 10)
    loads = scale_balance.recount(times, homes, watermarks, 10, 60)[:, ::2]
    model = np.mean(scale_balance.predict_spreads(times, 10, given))
    assert np.mean(scale_balance.find_spread(loads[:, 60:])) == pytest.approx(model, rel=0.5)


def test_a_rate_is_sustained_up_to_the_speed_at_it() -> None:
    tried = [{"rate": 100, "rows_per_s": 400}, {"rate": 250, "rows_per_s": 240}, {"rate": 900, "rows_per_s": 90}]
    assert peers_sustained.find_sustained(tried) == 240


def test_a_peer_climbs_until_its_speed_is_its_rate() -> None:
    given = {"starts": {}, "start": 100, "window": 2, "step": 1, "steps": 3, "patience": 1, "rounds": 5}

    def take(task: Task) -> Outcome:
        return Outcome(40_000 / task.load.rates.left, task.count_results())

    tried = peers_sustained.climb(Peer("one", "", take), given)
    assert [each["rate"] for each in tried] == [100, 200]
    assert peers_sustained.find_sustained(tried) == 200
    waits = peers_sustained.climb(Peer("one", "", lambda _: Outcome(skipped="not in time")), given)
    assert [each["rate"] for each in waits] == [100, 33, 11, 4, 1]


def test_latency_is_from_the_push_of_the_later_row() -> None:
    found = measure_latency(Load(Sides(200, 600), Sides(1, 1)), sj.Grid(1, 1), 0.5)
    assert found["results"] == found["expected"]
    found = measure_latency(Load.equal(2000, 3), sj.Grid(2, 2), 0.5, 10)
    assert found["results"] == found["expected"] > 10
    assert 0 < found["p50"] <= found["p99"] < 10_000
    found = measure_latency(Load.equal(2000, 10), sj.Scale(2), 0.5, 10)  # whose last results wait while windows fill
    assert 0 < found["p50"] <= found["p99"] < 10_000
    assert 0.8 * found["expected"] < found["results"] <= found["expected"]


def _experiment(run: int = 1) -> Experiment:
    return Experiment(
        "one", "Paper", "A <title>", "About.", {"size": 9}, {"size": 1},
        run=lambda given, steps: {"n": run * given["size"]},
        judge=lambda found: [compare_value("n & m", 1.0, float(found["n"]), 1)],
        draw=lambda found: [Chart("t", "x", "y", [Line("ours", [1, 2], [found["n"], 2])])],
    )  # fmt: skip


def test_what_was_measured_is_kept_until_its_size_changes(tmp_path: Path) -> None:
    results, one = Results(tmp_path), _experiment()
    assert results.read(one, quick=True) is None
    results.write(one, True, one.run(one.quick, Steps()), 0.5)
    kept = results.read(one, quick=True)
    assert kept is not None
    assert kept.found == {"n": 1}
    assert results.read(one, quick=False) is None
    assert results.read(replace(one, quick={"size": 2}), quick=True) is None
    (tmp_path / "one.json").write_text("{half")
    assert results.read(one) is None


class _Checker(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.open: list[str] = []
        self.outside: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = dict(attrs)
        if said.get("id"):
            self.ids.append(str(said["id"]))
        self.outside += [str(v) for k, v in attrs if k in ("src", "href", "xlink:href") and not str(v).startswith("#")]


def test_the_page_needs_nothing_else_and_says_all(tmp_path: Path) -> None:
    one = _experiment()
    kept = Results(tmp_path).write(one, True, {"n": 1}, 0.5)
    other = replace(one, name="two")
    page = to_html([(one, kept), (other, kept)])
    checker = _Checker()
    checker.feed(page)
    assert not checker.outside
    assert len(checker.ids) == len(set(checker.ids))
    assert "A &lt;title&gt;" in page
    assert "n &amp; m" in page
    assert "prefers-color-scheme: dark" in page
    assert "--quick --again" in page
    assert not re.search(r"#0[0-9a-d]0[0-9a-d]0[0-9]", page.split("</style>")[1])
    table = to_markdown([(one, kept)])
    assert "| n & m | 1 | 1 |  | 1 | ✓ agrees |  |" in table
    assert count_verdicts([(one, kept)]) == (
        "Of 1 published figures and shapes, 1 agree, 0 differ, 0 cannot be measured here."
    )


def test_a_chart_has_its_units_and_legend() -> None:
    bars = Chart("t", "names", "rows/s", [Line("ours", ["a", "b"], [1, 2]), Line("theirs", ["b"], [3], "paper")])
    drawn = draw_chart(bars, "p")
    assert all(word in drawn for word in ("rows/s", "ours", "theirs", "var(--paper)", "var(--c0)"))


def test_values_and_claims_as_they_are_read() -> None:
    assert write_value(0.25, "ms") == "0.25 ms"
    assert to_cells(leave_out("w", 1400.0, "1/s", note="why")) == ["w", "1,400 1/s", "", "", "", "○ not run"]


def test_short_windows_say_nothing_of_a_rate_on_long_ones() -> None:
    found = {
        "cores": 2, "window": 60, "rate": 1400,
        "speeds": [{"n": n, "rows_per_s": 2000.0} for n in (1, 2)],
        "meetings": [{"n": 2, "mean": 0.25, "most": 0.5, "results": 9, "expected": 9}],
    }  # fmt: skip
    claim = handshake_scaling.judge(found)[0]
    assert (claim.ours, claim.verdict) == ("", "not run")
    assert "2,000 rows/s in windows of 60 s at 1,400 rows/s, by nested loops" in claim.note
    assert handshake_scaling.judge(found | {"window": 900})[0].verdict == "agrees"


def test_every_module_with_a_peer_takes_part() -> None:
    home = Path(peers.__file__).parent
    written = [path.stem for path in home.glob("*.py") if re.search("^PEER = ", path.read_text(), re.MULTILINE)]
    found = list_peers()
    assert sorted(peer.run.__module__.rpartition(".")[2] for peer in found) == sorted(written)
    assert [peer.name for peer in found] == [
        "streamjoin, one process", "streamjoin on Spark",
        "DuckDB", "Flink interval join", "Polars join_where", "Spark's own join",
        "plain C",
    ]  # fmt: skip


def test_names_are_unique_and_peers_left_out_are_told() -> None:
    names = [experiment.name for experiment in EXPERIMENTS]
    assert len(names) == len(set(names))
    told = {p.name: {"rows_per_s": 1.0, "results": 1, "skipped": "", "note": "", "about": ""} for p in list_peers()}
    told["Flink interval join"]["skipped"] = "its environment is not there"
    assert any("its environment is not there" in row for row in tell({"peers": told})[1])

"""The papers' join by other means, each at the rate that it sustains, with windows of as many rows as come at it.

On the same rows (`peers.py`) windows are small enough for the slowest; what a contestant does with large ones shows
here. Cost grows with the square of the rate, so the geometric mean of a rate and the speed at it is tried next.
"""

from benchmarks.papers.experiment import Chart, Claim, Data, Experiment, Steps
from benchmarks.papers.judge import compare_value
from benchmarks.papers.peers import draw_bars, list_peers, stop_spark
from benchmarks.papers.systems import CORES
from benchmarks.papers.workload import CLOSED
from benchmarks.peers.peer import TOO_FEW, Peer, Task

SIGMAS = 5
NEAR = 1.15
"""A next rate that is no further away is not tried."""


def climb(peer: Peer, given: Data) -> list[Data]:
    """Rates that were tried, the speed at each, and the results that were found and that are to be expected."""
    rate, tried = float(given["starts"].get(peer.name, given["start"])), []
    for _ in range(given["rounds"]):
        task = Task.draw(round(rate), given["window"], given["step"], given["steps"], given["patience"])
        outcome = peer.run(task)
        expected = 2 * CLOSED * task.rows * rate * given["window"]
        tried.append({"rate": round(rate), "expected": expected, **vars(outcome)})
        if outcome.skipped:
            following = rate * 3 if outcome.skipped == TOO_FEW else rate / 3
        else:
            following = (rate * outcome.rows_per_s) ** 0.5
        if "environment" in outcome.skipped or 1 / NEAR < following / rate < NEAR:
            break
        rate = following
    return tried


def find_sustained(tried: list[Data]) -> float:
    """Rows/s: a rate that was tried, or the speed at it if that is less, since windows of a lower rate are smaller.

    >>> find_sustained([{"rate": 100, "rows_per_s": 400}, {"rate": 300, "rows_per_s": 200}])
    200
    """
    return max(min(each["rate"], each["rows_per_s"]) for each in tried)


def run(given: Data, steps: Steps) -> Data:
    peers = list_peers()
    steps.expect(len(peers))
    found: Data = {"cores": CORES, "window": given["window"], "peers": {}}
    for peer in peers:
        tried = climb(peer, given)
        found["peers"][peer.name] = {
            "tried": tried, "rows_per_s": find_sustained(tried), "ours": peer.ours, "counts_only": peer.counts_only,
            "skipped": "" if any(not each["skipped"] for each in tried) else tried[-1]["skipped"],
        }  # fmt: skip
        steps.done(peer.name)
    stop_spark()
    return found


def judge(found: Data) -> list[Claim]:
    """Nobody published these: what is judged is that results are as many as the hit rate has it."""
    claims = []
    for name, peer in found["peers"].items():
        for each in peer["tried"]:
            if each["results"] is not None and not each["skipped"]:
                percent = 100 * SIGMAS / each["expected"] ** 0.5
                what = f"results of {name} at {each['rate']:,} rows/s, as the hit rate has it"
                claims.append(compare_value(what, round(each["expected"]), each["results"], percent))
    return claims


def tell(found: Data) -> tuple[list[str], list[list[object]]]:
    base = found["peers"]["Spark's own join"]["rows_per_s"]
    rows: list[list[object]] = []
    for name, peer in found["peers"].items():
        if peer["skipped"]:
            rows.append([name, "left out", "", peer["skipped"]])
            continue
        times = f"{peer['rows_per_s'] / base:.1f}x" if base else ""
        tried = [f"{each['rate']:,}: {each['skipped'] or format(each['rows_per_s'], ',.0f')}" for each in peer["tried"]]
        rows.append([name, f"{peer['rows_per_s']:,.0f}", times, "; ".join(tried)])
    return ["contestant", "rows/s per stream, sustained", "to Spark's own", "rates tried: rows/s taken"], rows


def draw(found: Data) -> list[Chart]:
    title = f"Rates sustained, windows of {found['window']} s"
    return [Chart(title, "", "rows/s per stream", draw_bars(found["peers"]), log_y=True)]


EXPERIMENT = Experiment(
    "peers-sustained", "Peers", "The same join by other means, each at its own rate",
    "The rate that each takes as fast as it comes, on full windows of it; micro-batches of 5 s on Spark, 1 s in loops.",
    full={"window": 60, "step": 1, "steps": 30, "patience": 90, "rounds": 3, "start": 5000,
          "starts": {"streamjoin, one process": 50_000, "streamjoin on Spark": 30_000, "Spark's own join": 1500,
                     "Polars join_where": 5000, "DuckDB": 6000, "Flink interval join": 3000, "plain C": 11_000}},
    quick={"window": 20, "step": 1, "steps": 20, "patience": 30, "rounds": 1, "start": 5000,
           "starts": {"streamjoin, one process": 30_000, "streamjoin on Spark": 10_000, "Spark's own join": 1500,
                      "Polars join_where": 5000, "DuckDB": 6000, "Flink interval join": 3000, "plain C": 15_000}},
    run=run, judge=judge, draw=draw, table=tell,
)  # fmt: skip

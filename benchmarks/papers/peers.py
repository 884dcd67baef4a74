"""The papers' join by other means, on the same rows in the same run: how many rows/s each takes on full windows."""

import contextlib
import pkgutil
from importlib import import_module

from benchmarks import peers as contestants
from benchmarks.papers.experiment import Chart, Claim, Data, Experiment, Line, Steps
from benchmarks.papers.judge import compare_value
from benchmarks.papers.systems import CORES
from benchmarks.peers.peer import Peer, Task


def list_peers() -> list[Peer]:
    """Every `PEER` in `benchmarks/peers`: ours first, what only counts last, else by the names of their files."""
    names = sorted(info.name for info in pkgutil.iter_modules(contestants.__path__))
    modules = [import_module(f"{contestants.__name__}.{name}") for name in names]
    peers = [module.PEER for module in modules if hasattr(module, "PEER")]
    return sorted(peers, key=lambda peer: (not peer.ours, peer.counts_only))


def run(given: Data, steps: Steps) -> Data:
    peers = list_peers()
    steps.expect(len(peers))
    task = Task.draw(given["rate"], given["window"], given["step"], given["steps"], given["patience"])
    found: Data = {"cores": CORES, "expected": task.count_results(), "peers": {}, **given}
    for peer in peers:
        outcome = peer.run(task)
        found["peers"][peer.name] = vars(outcome) | {
            "about": peer.about, "ours": peer.ours, "counts_only": peer.counts_only
        }  # fmt: skip
        steps.done(peer.name)
    stop_spark()
    return found


def stop_spark() -> None:
    """End the session that contestants on Spark share."""
    from pyspark.sql import SparkSession

    with contextlib.suppress(AttributeError):
        SparkSession.getActiveSession().stop()  # type: ignore[union-attr]


def judge(found: Data) -> list[Claim]:
    """Nobody published these: what is judged is that all found the same results."""
    return [
        compare_value(f"results of {name}, all as NumPy counts them", found["expected"], each["results"], 0)
        for name, each in found["peers"].items()
        if each["results"] is not None and not each["skipped"]
    ]


def tell(found: Data) -> tuple[list[str], list[list[object]]]:
    base = found["peers"]["Spark's own join"]["rows_per_s"]
    rows: list[list[object]] = []
    for name, each in found["peers"].items():
        if each["skipped"]:
            rows.append([name, "left out", "", each["skipped"]])
        else:
            times = f"{each['rows_per_s'] / base:.1f}x" if base else ""
            rows.append(
                [name, f"{each['rows_per_s']:,.0f}", times, "; ".join(filter(None, (each["about"], each["note"])))]
            )
    return ["contestant", "rows/s per stream", "to Spark's own", "what it is"], rows


def draw_bars(peers: Data) -> list[Line]:
    """Rows/s of those that ran, in three kinds."""
    there = {name: each for name, each in peers.items() if not each["skipped"]}
    kinds = [("streamjoin", "ours", lambda e: e["ours"]),
             ("peers", "peer", lambda e: not e["ours"] and not e["counts_only"]),
             ("limit, counts only", "model", lambda e: e["counts_only"])]  # fmt: skip
    lines = []
    for label, kind, belongs in kinds:
        mine = {name: each["rows_per_s"] for name, each in there.items() if belongs(each)}
        if mine:
            lines.append(Line(label, list(mine), list(mine.values()), kind))  # type: ignore[arg-type]
    return lines


def draw(found: Data) -> list[Chart]:
    title = f"Rows taken on full windows of {found['window']} s"
    return [Chart(title, "", "rows/s per stream", draw_bars(found["peers"]), log_y=True)]


EXPERIMENT = Experiment(
    "peers", "Peers", "The same join by other means",
    "Windows filled at the given rate, then steps as fast as each takes them; whole rows, the same for all.",
    full={"rate": 1000, "window": 60, "step": 1, "steps": 30, "patience": 120},
    quick={"rate": 1000, "window": 30, "step": 1, "steps": 30, "patience": 90},
    run=run, judge=judge, draw=draw, table=tell,
)  # fmt: skip

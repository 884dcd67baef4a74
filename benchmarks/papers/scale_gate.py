"""ScaleJoin Fig. 7a: rows/s through the gate over sources and readers, a thread each."""

import statistics
import threading
import time

import numpy as np
import pyarrow as pa

from benchmarks.papers.experiment import Chart, Claim, Data, Experiment, Line, Steps
from benchmarks.papers.judge import compare_shape, compare_speed
from benchmarks.papers.published import SCALE
from benchmarks.papers.systems import CORES
from streamjoin.local.gate import Gate


def measure(sources: int, readers: int, rows: int, block: int) -> float:
    """Rows/s that every reader sees."""
    gate = Gate("ts", range(sources), readers)
    each = rows // sources // block * block
    batches = [pa.record_batch({"ts": start + np.arange(block)}) for start in range(0, each, block)]

    def add(source: int) -> None:
        for one in batches:
            gate.add(source, one)
        gate.leave(source)

    def read(reader: int) -> None:
        seen = 0
        while seen < each * sources:
            found = gate.ready(reader, timeout=1)
            seen += 0 if found is None else found.num_rows

    threads = [threading.Thread(target=add, args=(source,)) for source in range(sources)]
    threads += [threading.Thread(target=read, args=(reader,)) for reader in range(readers)]
    begun = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return each * sources / (time.perf_counter() - begun)


def run(given: Data, steps: Steps) -> Data:
    counts = given["counts"]
    steps.expect(len(counts) ** 2)
    speeds: dict[str, list[float]] = {}
    for readers in counts:
        speeds[str(readers)] = []
        for sources in counts:
            taken = [measure(sources, readers, given["rows"], given["block"]) for _ in range(given["rounds"])]
            speeds[str(readers)].append(statistics.median(taken))
            steps.done(f"{sources} sources, {readers} readers")
    return {"cores": CORES, "counts": counts, "speeds": speeds}


def judge(found: Data) -> list[Claim]:
    speeds, counts = found["speeds"], found["counts"]
    least = min(min(each) for each in speeds.values())
    fits = [at for at, count in enumerate(counts) if 2 * count <= found["cores"]]
    kept = [speeds[str(counts[-1])][at] / speeds["1"][at] for at in range(len(counts))]
    return [
        compare_speed(
            "rows/s through the gate, at least", SCALE["gate rows/s"], least, "1/s",
            cores=found["cores"], their_cores=16, note="rows of a time alone, in blocks",
        ),
        compare_shape("rows/s over sources", "rises", f"{len(fits)} of {len(counts)} counts fit the cores",
                      None if len(fits) < 2 else speeds["1"][fits[-1]] > speeds["1"][0],
                      note="every source and reader is a thread"),
        compare_shape(
            f"rows/s with {counts[-1]} readers to 1", "flat", f"{statistics.median(kept):.2f}x",
            None if counts[-1] + 1 > found["cores"] else statistics.median(kept) > 0.9,
            note=f"{counts[-1]} readers share {found['cores']} cores",
        ),
    ]  # fmt: skip


def draw(found: Data) -> list[Chart]:
    lines = [
        Line(f"{readers} reader{'s' * (readers != '1')}", found["counts"], [each / 1e6 for each in speeds])
        for readers, speeds in found["speeds"].items()
    ]
    lines.append(Line("paper, at most", found["counts"], [SCALE["gate rows/s"] / 1e6] * len(found["counts"]), "paper"))
    return [Chart("Gate (Fig. 7a)", "sources", "10⁶ rows/s", lines, log_x=True, log_y=True)]


EXPERIMENT = Experiment(
    "scale-gate", "ScaleJoin", "Throughput of the gate (Fig. 7a)",
    "Rows that sources add and every reader sees in order; sources and readers are threads.",
    full={"counts": [1, 2, 4, 8], "rows": 500_000, "block": 1000, "rounds": 5},
    quick={"counts": [1, 2, 4, 8], "rows": 160_000, "block": 1000, "rounds": 3},
    run=run, judge=judge, draw=draw,
)  # fmt: skip

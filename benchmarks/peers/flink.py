"""Flink's interval join with the bucket trick, in an environment of its own: `apache-flink` cannot share ours.

`make bench-flink` makes that environment; without it Flink is left out, and the report says so.
"""

import json
import os
import subprocess
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.csv

from benchmarks.peers.peer import TOO_FEW, Outcome, Peer, Task

HOME = Path(__file__).parents[2] / ".venv-flink"


def run(task: Task) -> Outcome:
    """Time both the full windows alone and all rows; the difference is what the steps took."""
    python = Path(os.environ.get("FLINK_PYTHON", HOME / "bin" / "python"))
    if not python.exists():
        return Outcome(skipped="its environment is not there: make bench-flink")
    with tempfile.TemporaryDirectory(prefix="streamjoin-flink-") as scratch:
        for name, rows in (("fill", task.fill), ("all", {side: task.gather(side) for side in ("l", "r")})):
            for side, batch in rows.items():
                home = Path(scratch, name, side)
                home.mkdir(parents=True)
                milliseconds = pa.compute.divide(batch.column("ts"), 1000)
                pa.csv.write_csv(
                    pa.table(batch).set_column(0, "ts", milliseconds), home / "rows.csv",
                    pa.csv.WriteOptions(include_header=False),
                )  # fmt: skip
        window = round(task.load.windows.left)
        command = [str(python), str(Path(__file__).with_name("flink_job.py")), scratch, str(window)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=task.patience, check=True)
        except subprocess.TimeoutExpired:
            return Outcome(skipped=f"not done within {task.patience:g} s")
        except subprocess.CalledProcessError as error:
            lines = [line for line in error.stderr.splitlines() if "Exception" in line] or ["no message"]
            return Outcome(skipped=f"failed: {lines[0][:200]}")
    told = json.loads(done.stdout.splitlines()[-1])
    spent = told["all"]["seconds"] - told["fill"]["seconds"]
    if spent <= 0:
        return Outcome(skipped=TOO_FEW)
    return Outcome(task.rows / spent, told["all"]["results"] - told["fill"]["results"], note=told["version"])


PEER = Peer("Flink interval join", "SQL, buckets of the band as an equality, by hand; heap state", run)

"""The demonstration's summary shows what the model predicts."""

from dataclasses import fields

from rich.console import Console

from streamjoin.cli.benchmark import Demo
from streamjoin.cli.workload import Workload
from streamjoin.spark.progress import Progress


def test_the_summary_compares_predicted_with_measured() -> None:
    """100 rows/s for 60 s, windows of 20 s: 100^2 (2 * 20 * 60 - 20^2) = 20,000,000 pairs."""
    job = Demo(Workload(rate=100, seconds=60, step=15), window=20)
    nothing = {field.name: 0 for field in fields(Progress)}
    seen = [Progress(**nothing | {"batch": batch, "seconds": 1, "matches": 21}) for batch in range(4)]
    console = Console(width=120)
    with console.capture() as shown:
        console.print(job.summary(seen))
    said = [" ".join(word for word in line.split() if word != "│") for line in shown.get().splitlines()]
    assert "matches 84 84 (+0.09 %)" in said  # 20,000,000 * 4.196e-6 = 83.9
    assert "pairs in the windows 20,000,000 0 decided" in said
    assert "matches per event second, full windows 2 1" in said  # 100^2 * 40 * 4.196e-6 = 1.7

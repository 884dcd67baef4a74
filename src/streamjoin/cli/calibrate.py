"""``streamjoin advise --calibrate``: this machine measured, with a bar."""

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from streamjoin.advice.calibrate import BANDS, STEP, TRIALS, WINDOW, Run, calibrate
from streamjoin.advice.kept import keep_constants
from streamjoin.cli.quiet import quiet
from streamjoin.errors import StreamJoinError
from streamjoin.kernel.costs import KERNELS
from streamjoin.model.constants import SHIPPED


def run_calibration(console: Console) -> None:
    """Measure, keep and say what was found."""
    started, constants, unmeasured = perf_counter(), SHIPPED, list(TRIALS)
    columns = TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
    with (
        Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress,
        _spark_runs(console) as run,
    ):
        task = progress.add_task("measuring this machine", total=len(KERNELS) + 1 + len(TRIALS))
        for name, found in calibrate(run):
            constants, unmeasured = found, [trial for trial in unmeasured if trial != name]
            progress.update(task, advance=1, description=f"measured: {name}")
    path = keep_constants(constants)
    row, result = constants.row_in + 100 * constants.byte_in, constants.row_out + 100 * constants.byte_out
    console.print(
        f"measured in {perf_counter() - started:.0f} s: a micro-batch costs {constants.batch * 1e-9:.2f} s, reading a "
        f"row of 100 bytes {row * 1e-3:.1f} µs, such a result {result * 1e-3:.2f} µs; kept in {path}",
        highlight=False,
        soft_wrap=True,
    )
    if unmeasured and len(unmeasured) < len(TRIALS):
        console.print(f"not measured, as time ran out: {', '.join(unmeasured)}; scaled as the rest", soft_wrap=True)


@contextmanager
def _spark_runs(console: Console) -> Iterator[Run | None]:
    """What runs trials on a local Spark; None where there is no Spark."""
    try:
        with quiet(False):
            from streamjoin.spark.session import session
            from streamjoin.spark.trial import time_batches

            spark = session("streamjoin advise", master="local[2]", partitions=2)
    except StreamJoinError as error:
        console.print(f"Spark's constants stay those that ship: {error}", highlight=False, soft_wrap=True)
        yield None
        return
    try:
        yield lambda trial: time_batches(spark, BANDS, trial.rate, trial.values, WINDOW, STEP, trial.batches)
    finally:
        with quiet(False):
            spark.stop()

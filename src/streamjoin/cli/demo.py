"""``streamjoin demo``: the command."""

from typing import Any

import click

from streamjoin.cli.onspark import DASHBOARD, MASTER, PARTITIONS, POSITIVE, VERBOSE, Manual, need_spark, run_on_spark


@click.command(
    cls=Manual,
    epilog="""
Examples:
  streamjoin demo                              about a minute on two cores
  streamjoin demo --rate 8000 --window 300 --seconds 600 --step 10
  streamjoin demo --skew 1.5 --disorder 2 --streams 3
""",
)
@click.option("--rate", default=4000.0, type=POSITIVE, help="Rows per second of event time, per side.")
@click.option("--window", default=60.0, type=POSITIVE, help="How far apart two rows may be, in seconds.")
@click.option("--seconds", default=180.0, type=POSITIVE, help="Seconds of event time.")
@click.option("--step", default=6.0, type=POSITIVE, help="Seconds of event time per micro-batch.")
@click.option(
    "--skew", default=0.0, type=click.FloatRange(0), help="Exponent of a Zipf distribution of values; 0: uniform."
)
@click.option("--disorder", default=0.0, type=click.FloatRange(0), help="How late a row may come, in seconds.")
@click.option("--streams", default=1, type=click.IntRange(1), help="Physical streams per side.")
@click.option("--seed", default=1, help="The same seed gives the same rows.")
@click.option("--paced", is_flag=True, help="Keep to the clock instead of going as fast as possible.")
@DASHBOARD
@PARTITIONS
@MASTER
@VERBOSE
def demo(
    window: float, partitions: int | None, master: str | None, dashboard: int | None, verbose: bool, **options: Any
) -> None:
    """Run the papers' benchmark on a local Spark and compare it with theory.

    Two streams of numbers from 1 to 10,000 are joined where both differ by at most 10, within a window of time. Event
    time goes by as fast as it can be processed.
    """
    need_spark()
    from streamjoin.cli.benchmark import Demo
    from streamjoin.cli.workload import Workload

    job = Demo(Workload(**options), window)
    run_on_spark(
        job.run,
        verbose=verbose,
        when_interrupted="interrupted",
        app_name="streamjoin demo",
        master=master,
        partitions=partitions,
        dashboard=dashboard,
    )

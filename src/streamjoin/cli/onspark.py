"""What the commands share: a Spark session, interrupts, exit codes, options."""

import logging
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.markup import escape

from streamjoin.cli.quiet import quiet, reason
from streamjoin.cli.words import to_options
from streamjoin.errors import StreamJoinError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

INTERRUPTED = 130

VERBOSE = click.option("--verbose", is_flag=True, help="Show Spark's log and the traces of errors.")
MASTER = click.option("--master", metavar="URL", help="Spark master; by default all cores of this machine.")
POSITIVE = click.FloatRange(min=0, min_open=True)
PARTITIONS = click.option("--partitions", type=click.IntRange(1), help="Shuffle partitions; by default one per core.")
DASHBOARD = click.option(
    "--dashboard",
    type=click.IntRange(0, 65535),
    is_flag=False,
    flag_value=0,
    metavar="[PORT]",
    help="Serve a live page of the join on this machine; without a port on a free one.",
)


class Manual(click.Command):
    """A command whose help keeps its examples as they are written."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Print the examples."""
        if self.epilog:
            formatter.write("\n" + self.epilog.strip("\n") + "\n")


Work = Callable[["SparkSession", Console, Callable[[], bool]], None]
"""What a command does with Spark; it ends early when the function it is given says that the user wants it to."""


def run_on_spark(
    work: Work, *, verbose: bool, when_interrupted: str, dashboard: int | None = None, **settings: Any
) -> None:
    """Do something with a Spark session, and end with an exit code that scripts can use."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    console, errors = Console(), Console(stderr=True)
    logging.getLogger("streamjoin.spark.watch").setLevel(logging.ERROR)  # a summary of ours says how many rows wait
    log: Path | None = None
    code = 0
    try:
        if console.is_terminal:
            console.print("[dim]starting Spark ...[/]", end="\r")
        _refuse_connect(settings.get("master"))
        with quiet(verbose, keeps=True) as log:
            from streamjoin.spark.session import session

            spark = session(**settings)
        interrupted = catch_interrupts()
        try:
            with nullcontext() if dashboard is None else _serve(spark, dashboard, console, interrupted):
                work(spark, console, interrupted)
        finally:
            with quiet(verbose):
                spark.stop()
        if interrupted():
            raise KeyboardInterrupt
    except KeyboardInterrupt:
        errors.print(when_interrupted)
        code = INTERRUPTED
    except (StreamJoinError, PySparkException, Py4JError) as error:
        if verbose:
            errors.print_exception()
        said = to_options(str(error) if isinstance(error, StreamJoinError) else reason(error))
        errors.print("[red]error:[/]", escape(said), soft_wrap=True, highlight=False)
        if log and not isinstance(error, StreamJoinError):
            errors.print(f"Spark's own words are in {log}, or shown with --verbose", style="dim")
            log = None
        code = 1
    if log:
        log.unlink(missing_ok=True)
    sys.exit(code)


def _refuse_connect(master: str | None) -> None:
    from streamjoin.spark.compat import asks_for_connect

    given = (master or "").startswith("sc://")
    if given or asks_for_connect():
        asked = f"--master {master}" if given else "SPARK_REMOTE or SPARK_API_MODE"
        raise StreamJoinError(
            f"{asked} asks for Spark Connect: the commands start a Spark of their own and ask its JVM. On Connect, "
            "write the join in Python: streamjoin.configure(spark), streamjoin.join(...)"
        )


@contextmanager
def _serve(spark: "SparkSession", port: int, console: Console, interrupted: Callable[[], bool]) -> Iterator[None]:
    """Show a dashboard meanwhile; in a terminal it stays afterwards, until the user wants to end."""
    from streamjoin.report.dashboard import dashboard

    with dashboard(spark, port=port) as page:
        console.print(f"dashboard: {page.url}", highlight=False, soft_wrap=True)
        try:
            yield
        finally:
            if console.is_terminal and not interrupted():
                console.print(f"the dashboard stays at {page.url} until you press Ctrl-C", highlight=False)
                while not interrupted():
                    sleep(0.2)


def need_spark() -> None:
    """End with a sentence where there is no Spark that serves."""
    try:
        import streamjoin.spark  # noqa: F401
    except StreamJoinError as error:
        raise click.ClickException(str(error)) from error


def catch_interrupts() -> Callable[[], bool]:
    """Note an interrupt instead of raising it: in the midst of a call to Java it would break the connection."""
    asked: list[int] = []

    def note(number: int, frame: object) -> None:  # noqa: ARG001
        asked.append(number)
        if len(asked) > 2:
            raise KeyboardInterrupt

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, note)
    return lambda: bool(asked)

"""The command line."""

import signal
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.markup import escape

from streamjoin.cli.quiet import quiet, reason
from streamjoin.cli.warm import warm
from streamjoin.errors import StreamJoinError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

INTERRUPTED = 130
_CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class _Manual(click.Command):
    """A command whose help keeps its examples as they are written."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Print the examples."""
        if self.epilog:
            formatter.write("\n" + self.epilog.strip("\n") + "\n")


@click.group(context_settings=_CONTEXT)
@click.version_option(package_name="streamjoin")
def main() -> None:
    """Window joins on any predicate, for Spark streams.

    Shell completion: eval "$(_STREAMJOIN_COMPLETE=bash_source streamjoin)", or zsh_source, or fish_source.
    """


main.add_command(warm)

Work = Callable[["SparkSession", Console, Callable[[], bool]], None]
"""What a command does with Spark; it ends early when the function it is given says that the user wants it to."""


def _on_spark(work: Work, *, verbose: bool, when_interrupted: str, **settings: Any) -> None:
    """Do something with a Spark session, and end with an exit code that scripts can use."""
    from pyspark.errors import PySparkException

    console, errors = Console(), Console(stderr=True)
    log: Path | None = None
    code = 0
    try:
        if console.is_terminal:
            console.print("[dim]starting Spark ...[/]", end="\r")
        with quiet(verbose) as log:
            from streamjoin.spark.session import session

            spark = session(**settings)
        interrupted = _interrupts()
        try:
            work(spark, console, interrupted)
        finally:
            with quiet(verbose) as stopping:
                spark.stop()
            if stopping:
                stopping.unlink(missing_ok=True)
        if interrupted():
            raise KeyboardInterrupt
    except KeyboardInterrupt:
        errors.print(when_interrupted)
        code = INTERRUPTED
    except (StreamJoinError, PySparkException) as error:
        if verbose:
            errors.print_exception()
        said = reason(error) if isinstance(error, PySparkException) else str(error)
        errors.print("[red]error:[/]", escape(said), soft_wrap=True, highlight=False)
        if log and not isinstance(error, StreamJoinError):
            errors.print(f"Spark's own words are in {log}, or shown with --verbose", style="dim")
            log = None
        code = 1
    if log:
        log.unlink(missing_ok=True)
    sys.exit(code)


def _need_spark() -> None:
    """End with a sentence where there is no Spark that serves."""
    try:
        import streamjoin.spark  # noqa: F401
    except StreamJoinError as error:
        raise click.ClickException(str(error)) from error


def _interrupts() -> Callable[[], bool]:
    """Note an interrupt instead of raising it: in the midst of a call to Java it would break the connection."""
    asked: list[int] = []

    def note(number: int, frame: object) -> None:  # noqa: ARG001
        asked.append(number)
        if len(asked) > 2:
            raise KeyboardInterrupt

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, note)
    return lambda: bool(asked)


_VERBOSE = click.option("--verbose", is_flag=True, help="Show Spark's log and the traces of errors.")
_MASTER = click.option("--master", metavar="URL", help="Spark master; by default all cores of this machine.")
_POSITIVE = click.FloatRange(min=0, min_open=True)
_PARTITIONS = click.option("--partitions", type=click.IntRange(1), help="Shuffle partitions; by default one per core.")


@main.command(
    cls=_Manual,
    epilog="""
Examples:
  streamjoin demo                              about a minute on two cores
  streamjoin demo --rate 8000 --window 300 --seconds 600 --step 10
  streamjoin demo --skew 1.5 --disorder 2 --streams 3
""",
)
@click.option(
    "--rate", default=4000.0, type=_POSITIVE, show_default=True, help="Rows per second of event time, per side."
)
@click.option(
    "--window", default=60.0, type=_POSITIVE, show_default=True, help="How far apart two rows may be, in seconds."
)
@click.option("--seconds", default=180.0, type=_POSITIVE, show_default=True, help="Seconds of event time.")
@click.option("--step", default=6.0, type=_POSITIVE, show_default=True, help="Seconds of event time per micro-batch.")
@click.option(
    "--skew",
    default=0.0,
    type=click.FloatRange(0),
    show_default=True,
    help="Exponent of a Zipf distribution of values; 0: uniform.",
)
@click.option(
    "--disorder", default=0.0, type=click.FloatRange(0), show_default=True, help="How late a row may come, in seconds."
)
@click.option("--streams", default=1, type=click.IntRange(1), show_default=True, help="Physical streams per side.")
@click.option("--seed", default=1, show_default=True, help="The same seed gives the same rows.")
@click.option("--paced", is_flag=True, help="Keep to the clock instead of going as fast as possible.")
@_PARTITIONS
@_MASTER
@_VERBOSE
def demo(window: float, partitions: int | None, master: str | None, verbose: bool, **options: Any) -> None:
    """Run the papers' benchmark on a local Spark and compare it with theory.

    Two streams of numbers from 1 to 10,000 are joined where both differ by at most 10, within a window of time. Event
    time goes by as fast as it can be processed.
    """
    _need_spark()
    from streamjoin.cli.demo import Demo
    from streamjoin.cli.workload import Workload

    job = Demo(Workload(**options), window)
    _on_spark(
        job.run,
        verbose=verbose,
        when_interrupted="interrupted",
        app_name="streamjoin demo",
        master=master,
        partitions=partitions,
    )


def _as_option(name: str, given: Any) -> Any:
    """A value of the file as the command line would have it; columns may be a list there."""
    return ", ".join(given) if isinstance(given, list) and name != "between" else given


def _from_file(ctx: click.Context, parameter: click.Parameter, value: str | None) -> str | None:  # noqa: ARG001
    """Let a TOML file give the options; those of the command line go before."""
    if value:
        try:
            given = tomllib.loads(Path(value).read_text())
        except (OSError, tomllib.TOMLDecodeError) as error:
            raise click.BadParameter(str(error)) from error
        names = {option.removeprefix("--"): p.name for p in ctx.command.params for option in p.opts}
        if unknown := sorted(given.keys() - names.keys()):
            raise click.BadParameter(f"unknown options {', '.join(unknown)}")
        ctx.default_map = {names[name]: _as_option(name, option) for name, option in given.items()}
    return value


@main.command(
    cls=_Manual,
    epilog="""
Examples:
  streamjoin run --left trades --right quotes --on "l.sym = r.sym AND abs(l.price - r.ask) <= 0.5" \\
      --within "5 seconds" --time ts --delay "10 seconds" --out near --once
  streamjoin run --config job.toml             the same options as keys: left = "trades", once = true

Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted.
""",
)
@click.option(
    "--config",
    callback=_from_file,
    is_eager=True,
    expose_value=False,
    type=click.Path(dir_okay=False),
    help="A TOML file with the same options.",
)
@click.option("--left", required=True, metavar="PATH", help="Directory of the left stream.")
@click.option("--right", required=True, metavar="PATH", help="Directory of the right stream.")
@click.option("--on", "on", required=True, metavar="SQL", help="The condition, over columns of l and r.")
@click.option("--within", "within_", metavar="TIME", help='How far apart, such as "5 minutes".')
@click.option("--between", "between_", nargs=2, metavar="LOWER UPPER", help="Bounds on the right time less the left.")
@click.option("--tumbling", "tumbling_", metavar="TIME", help="Both in the same bucket of this length.")
@click.option("--time", required=True, metavar="COLUMN[,COLUMN]", help="Event time: of both sides, or left,right.")
@click.option("--delay", required=True, metavar="TIME[,TIME]", help="How late rows may come.")
@click.option("--out", required=True, metavar="PATH", help="Directory for the results.")
@click.option(
    "--format",
    "format_",
    default="parquet",
    show_default=True,
    type=click.Choice(["parquet", "csv", "json", "orc"]),
    help="Of inputs and results.",
)
@click.option("--left-schema", metavar="DDL", help='By default inferred; such as "ts TIMESTAMP, x INT".')
@click.option("--right-schema", metavar="DDL", help="Likewise.")
@click.option("--select", metavar="COLUMNS", help='Such as "l.id, r.price AS ask"; by default all.')
@click.option("--how", default="inner", show_default=True, help="inner, left, right, full, left_semi or left_anti.")
@click.option(
    "--layout",
    default="auto",
    show_default=True,
    help="auto, a grid such as 2x3, Scale(4), Cell(4), Keyed(8), Keyed(8, spread=2).",
)
@click.option("--checkpoint", metavar="PATH", help="By default OUT/_checkpoint.")
@click.option("--trigger", default="1 second", show_default=True, help="Time between micro-batches.")
@click.option("--once", is_flag=True, help="Process what is there, then end.")
@click.option(
    "--flush", is_flag=True, help="With --once: in the end let out rows that met nobody, instead of waiting on."
)
@click.option("--explain", is_flag=True, help="Print the plan and end.")
@_PARTITIONS
@_MASTER
@_VERBOSE
def run(
    within_: str | None,
    between_: tuple[str, str] | None,
    tumbling_: str | None,
    explain: bool,
    master: str | None,
    partitions: int | None,
    verbose: bool,
    **o: Any,
) -> None:
    """Join two directories as streams into a third.

    Files that appear in the directories are joined with all that came before them, within the window. A run that was
    stopped, or killed, goes on from its checkpoint.
    """
    _need_spark()
    from streamjoin.cli.files import FileJoin, window_of
    from streamjoin.cli.layout import layout_of
    from streamjoin.spec.how import emits_unmatched, how_of

    try:
        waits = emits_unmatched(how_of(o["how"]))
        arguments = {
            "on": o["on"],
            "window": window_of(within_, between_, tumbling_),
            "time": _of_both_sides("--time", o["time"]),
            "delay": _of_both_sides("--delay", o["delay"]),
            "how": o["how"],
            "select": _parts(o["select"]) if o["select"] else None,
            "layout": "auto" if o["layout"] == "auto" else layout_of(o["layout"]),
        }
    except StreamJoinError as error:
        raise click.UsageError(str(error)) from error
    if o["flush"] and not (o["once"] and waits):
        raise click.UsageError("--flush is for --once with --how left, right, full or left_anti: others let out nobody")

    def work(spark: "SparkSession", console: Console, interrupted: Callable[[], bool]) -> None:
        schemas = o["left_schema"], o["right_schema"]
        given = {name: o[name] for name in ("left", "right", "out", "checkpoint", "once", "flush", "trigger")}
        job = FileJoin(**given, format=o["format_"], schemas=schemas, arguments=arguments)
        if explain:
            job.explain(spark, console)
        else:
            job.run(spark, console, interrupted)

    _on_spark(
        work,
        verbose=verbose,
        when_interrupted="interrupted; a later run goes on from the checkpoint",
        app_name="streamjoin run",
        master=master,
        partitions=partitions,
    )


def _of_both_sides(option: str, text: str) -> tuple[str, str]:
    parts = _parts(text)
    if len(parts) > 2:
        raise click.UsageError(f"{option}: got {text!r}; expected one for both sides, or left,right")
    return parts[0], parts[-1]


def _parts(text: str) -> list[str]:
    """Text parted at commas outside of backticks."""
    parts, quoted = [""], False
    for letter in text:
        quoted ^= letter == "`"
        if letter == "," and not quoted:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]

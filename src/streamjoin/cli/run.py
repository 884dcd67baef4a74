"""``streamjoin run``: the command."""

import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console

from streamjoin.cli.ddl import check_ddl
from streamjoin.cli.inputs import (
    DELTA,
    FILES,
    FORMATS,
    KAFKA,
    TABLE,
    Directory,
    find_format,
    find_table,
    is_topic,
)
from streamjoin.cli.onspark import DASHBOARD, MASTER, PARTITIONS, VERBOSE, Manual, need_spark, run_on_spark
from streamjoin.cli.places import check_places
from streamjoin.cli.remember import Remembered, find_checkpoint, is_remote, recall
from streamjoin.cli.window import check_window
from streamjoin.cli.words import to_options
from streamjoin.errors import StreamJoinError
from streamjoin.paths import to_absolute

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def _to_option(name: str, given: Any) -> Any:
    """A value of the file as the command line would have it; columns may be a list there."""
    return ", ".join(given) if isinstance(given, list) and name != "between" else given


def _read_options(ctx: click.Context, parameter: click.Parameter, value: str | None) -> str | None:  # noqa: ARG001
    """Let a TOML file give the options; those of the command line go before."""
    if value:
        try:
            given = tomllib.loads(Path(value).read_text())
        except (OSError, tomllib.TOMLDecodeError) as error:
            raise click.BadParameter(str(error)) from error
        names = {option.removeprefix("--"): p.name for p in ctx.command.params for option in p.opts}
        if unknown := sorted(given.keys() - names.keys()):
            raise click.BadParameter(f"unknown options {', '.join(unknown)}")
        ctx.default_map = {names[name]: _to_option(name, option) for name, option in given.items()}
    return value


@click.command(
    cls=Manual,
    epilog="""
Examples:
  streamjoin run --left trades --right quotes --on "l.sym = r.sym AND abs(l.price - r.ask) <= 0.5" \\
      --within "5 seconds" --time ts --delay "10 seconds" --out near --once
  streamjoin run --left trades --right quotes --asof "1 minute" --by sym --time ts --delay "10 seconds" --out priced
  streamjoin run --config job.toml             the same options as keys: left = "trades", once = true

Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted.
""",
)
@click.option(
    "--config",
    callback=_read_options,
    is_eager=True,
    expose_value=False,
    type=click.Path(dir_okay=False),
    help="A TOML file with the same options.",
)
@click.option(
    "--left",
    required=True,
    metavar="PATH",
    help="Directory of the left stream, table:db.name or kafka://host:port/topic.",
)
@click.option("--right", required=True, metavar="PATH", help="Directory of the right stream, or likewise.")
@click.option("--on", "on", metavar="SQL", help="The condition, over columns of l and r.")
@click.option("--within", "within_", metavar="TIME", help='How far apart, such as "5 minutes".')
@click.option("--between", "between_", nargs=2, metavar="LOWER UPPER", help="Bounds on the right time less the left.")
@click.option("--tumbling", "tumbling_", metavar="TIME", help="Both in the same bucket of this length.")
@click.option("--last", "last_", type=int, metavar="N", help="Among the last N rows; alone or with a window of time.")
@click.option("--time", required=True, metavar="COLUMN[,COLUMN]", help="Event time: of both sides, or left,right.")
@click.option("--delay", required=True, metavar="TIME[,TIME]", help="How late rows may come.")
@click.option("--out", required=True, metavar="PATH", help="Directory for the results, or likewise.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(FORMATS),
    help="Of inputs and results; by default told by the inputs' files. Tables of a catalog have their own: there it is "
    "that of a new one for the results.",
)
@click.option(
    "--left-schema",
    metavar="DDL",
    help='Such as "ts TIMESTAMP, x INT"; by default inferred at the first start and kept with the checkpoint.',
)
@click.option("--right-schema", metavar="DDL", help="Likewise.")
@click.option("--select", metavar="COLUMNS", help='Such as "l.id, r.price AS ask"; by default all.')
@click.option(
    "--aggregate", metavar="COLUMNS", help='One result for each left row: "l.id, count(*) AS n, avg(r.price) AS mean".'
)
@click.option(
    "--asof", metavar="TIME", help="Each left row with the last right row before it, no further off than this."
)
@click.option("--by", metavar="COLUMNS", help="With --asof: columns of both sides that must be equal.")
@click.option(
    "--direction",
    type=click.Choice(("backward", "forward", "nearest")),
    help="With --asof: the last row before, the first after, or the nearer of both.",
)
@click.option("--no-exact", is_flag=True, help="With --asof: a row of the very same time does not count.")
@click.option("--how", help="inner (of --aggregate and --asof: left), left, right, full, left_semi or left_anti.")
@click.option(
    "--layout", default="auto", help="auto, a grid such as 2x3, Scale(4), Cell(4), Keyed(8), Keyed(8, spread=2)."
)
@click.option("--ordered", is_flag=True, help="Results in one order, each once the watermark has passed it.")
@click.option(
    "--late", metavar="PATH", help="Directory for rows that the join drops: late ones, and those without a time."
)
@click.option("--checkpoint", metavar="PATH", help="By default OUT/_checkpoint; of a table or topic to be given.")
@click.option(
    "--kafka-config",
    metavar="FILE",
    help="Properties of Kafka's clients, credentials among them; by default what STREAMJOIN_KAFKA_CONFIG names.",
)
@click.option(
    "--bad",
    type=click.Choice(("fail", "keep")),
    help="A topic's value that the schema does not fit: fail (the default), or keep it in a column bad_value.",
)
@click.option("--trigger", default="1 second", help="Time between micro-batches.")
@click.option("--once", is_flag=True, help="Process what is there, then end.")
@click.option("--flush", is_flag=True, help="With --once: in the end emit what still waits.")
@click.option("--explain", is_flag=True, help="Print the plan and end.")
@DASHBOARD
@PARTITIONS
@MASTER
@VERBOSE
def run(
    explain: bool, master: str | None, partitions: int | None, dashboard: int | None, verbose: bool, **o: Any
) -> None:
    """Join two directories as streams into a third.

    Files that appear in the directories are joined with all that came before them, within the window. A run that was
    stopped, or killed, goes on from its checkpoint.
    """
    need_spark()
    from streamjoin.cli.files import FileJoin, waits
    from streamjoin.cli.verbs import check_durations, read_verb
    from streamjoin.join import join

    try:
        verb, arguments = read_verb(o)
        if verb is join and is_topic(o["out"]):
            arguments["result_id"] = True
        if o["flush"] and not (o["once"] and waits(verb, arguments)):
            raise click.UsageError(
                "--flush is for --once with --how left, right, full or left_anti, with --ordered, --last, --aggregate "
                "or --asof: in other joins nothing waits"
            )
        check_durations("--trigger", o["trigger"])
        if not o["asof"]:
            check_window(arguments["window"], o["on"], arguments["time"])
        check_places(o)
        formats = _find_formats(o)
        _check_late(o, formats[0])
    except StreamJoinError as error:
        raise click.UsageError(to_options(str(error))) from error

    def work(spark: "SparkSession", console: Console, interrupted: Callable[[], bool]) -> None:
        given = {name: o[name] for name in ("left", "right", "out", "checkpoint", "once", "flush", "trigger", "late")}
        job = FileJoin(
            **given,
            verb=verb,
            arguments=arguments,
            formats=formats,
            schemas=(o["left_schema"], o["right_schema"]),
            out_format=o["format_"],
            kafka_config=o["kafka_config"],
            bad=o["bad"] or "fail",
        )
        if explain:
            job.explain(spark, console)
        else:
            job.run(spark, console, interrupted)

    run_on_spark(
        work,
        verbose=verbose,
        when_interrupted="interrupted; a later run goes on from the checkpoint",
        app_name="streamjoin run",
        master=master,
        partitions=partitions,
        dashboard=dashboard,
        packages=[
            *([DELTA] if DELTA in (o["format_"], *formats) else []),
            *([KAFKA] if KAFKA in formats or is_topic(o["out"]) else []),
        ],
    )


def _find_formats(o: Mapping[str, Any]) -> tuple[str, str]:
    """The formats of both inputs, as given, remembered or guessed; other inputs than those remembered are refused."""
    checkpoint = o["checkpoint"] or find_checkpoint(o["out"])
    first = recall(checkpoint)
    if first:
        first.check_inputs((to_absolute(o["left"]), to_absolute(o["right"])), checkpoint)
    left, right = (_find_format(o, side, first, elsewhere=is_remote(checkpoint)) for side in range(2))
    if first:
        first.check_formats((left, right), checkpoint)
    return left, right


def _find_format(o: Mapping[str, Any], side: int, first: Remembered | None, *, elsewhere: bool) -> str:
    """The format of one input; `elsewhere` a checkpoint may remember its schema, but only Spark can look."""
    named = ("left", "right")[side]
    path, schema = o[named], o[f"{named}_schema"]
    if schema:
        check_ddl(f"--{named}-schema", schema)
    known = first.formats[side] if first else None
    has_schema = bool(schema or known) or elsewhere
    found = find_format(Directory(named, path), o["format_"], has_schema=has_schema, known=known)
    if schema and found in (DELTA, TABLE):
        raise StreamJoinError(f"--{named}-schema: {path} has a schema of its own; leave the option out")
    return found


def _check_late(o: Mapping[str, Any], left: str) -> None:
    """Refuse to keep late rows where a micro-batch that runs again could not replace its results and them."""
    if o["late"] and (find_table(o["out"]) or is_topic(o["out"]) or DELTA in (o["format_"], left)):
        raise StreamJoinError(
            f"--late: every micro-batch writes its results and its late rows as files, which it replaces when it runs "
            f"again; {o['out']} has no such files. Expected --out to be a directory of {', '.join(FILES)}; in Python, "
            "foreachBatch splits the rows for any sink (docs/guides/late-rows.md)"
        )

"""``streamjoin run``: the command."""

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console

from streamjoin.cli.inputs import (
    DELTA,
    FILES,
    FORMATS,
    KAFKA,
    TABLE,
    Directory,
    check_places,
    find_format,
    find_table,
    is_topic,
)
from streamjoin.cli.onspark import DASHBOARD, MASTER, PARTITIONS, VERBOSE, Manual, need_spark, run_on_spark
from streamjoin.cli.remember import is_remembered
from streamjoin.errors import StreamJoinError

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
    from streamjoin.cli.files import FileJoin, find_checkpoint, waits
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
        check_places(o["left"], o["right"], o["out"], o["checkpoint"])
        schemas = o["left_schema"], o["right_schema"]
        knows = is_remembered(o["checkpoint"] or find_checkpoint(o["out"]))
        left, right = (
            find_format(Directory(named, o[named]), o["format_"], has_schema=bool(schema) or knows)
            for named, schema in zip(("left", "right"), schemas, strict=True)
        )
        for named, format, schema in zip(("left", "right"), (left, right), schemas, strict=True):
            if schema and format in (DELTA, TABLE):
                raise StreamJoinError(f"--{named}-schema: {o[named]} has a schema of its own; leave the option out")
        if o["late"] and (find_table(o["out"]) or is_topic(o["out"]) or DELTA in (o["format_"], left)):
            raise StreamJoinError(
                f"--late: every micro-batch writes files of its own, in {o['out']} too; expected --out to be a "
                f"directory of {', '.join(FILES)}"
            )
    except StreamJoinError as error:
        raise click.UsageError(str(error)) from error

    def work(spark: "SparkSession", console: Console, interrupted: Callable[[], bool]) -> None:
        given = {name: o[name] for name in ("left", "right", "out", "checkpoint", "once", "flush", "trigger", "late")}
        told = {"schemas": schemas, "verb": verb, "out_format": o["format_"], "kafka_config": o["kafka_config"]}
        job = FileJoin(**given, **told, arguments=arguments, formats=(left, right))
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
            *([DELTA] if DELTA in (o["format_"], left, right) else []),
            *([KAFKA] if KAFKA in (left, right) or is_topic(o["out"]) else []),
        ],
    )

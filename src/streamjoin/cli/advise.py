"""``streamjoin advise``: the command."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.markup import escape

from streamjoin.cli.onspark import Manual
from streamjoin.cli.window import parse_window
from streamjoin.cli.words import to_options
from streamjoin.errors import StreamJoinError
from streamjoin.spec.window import Between, within

if TYPE_CHECKING:
    from streamjoin.advice.answer import Advice

_EXAMPLES = """
Examples:
  streamjoin advise --on "abs(l.x - r.a) <= 10" --within "15 minutes" --rate 1000 --range x=1,10000 --range a=1,10000
  streamjoin advise --left trades.parquet --right quotes.parquet --on "l.sym = r.sym" --within "5 seconds" --time ts
  streamjoin advise --on "l.k = r.k" --within 1m --rate 5000,500 -p 1e-5 --row-bytes 200 --cores 16 --plot sizing.svg
  streamjoin advise --calibrate                measure this machine, once
"""


@click.command(cls=Manual, epilog=_EXAMPLES)
@click.option("--on", metavar="SQL", help="The condition, over columns of l and r.")
@click.option("--within", "within_", metavar="TIME[,TIME]", help='How far apart, such as "5 minutes"; or left,right.')
@click.option("--between", "between_", nargs=2, metavar="LOWER UPPER", help="Bounds on the right time less the left.")
@click.option("--tumbling", "tumbling_", metavar="TIME", help="Both in the same bucket of this length.")
@click.option("--last", "last_", type=click.IntRange(1), metavar="ROWS", help="Among the last rows of each stream.")
@click.option("--rate", metavar="ROWS[,ROWS]", help="Rows per second: of each side, or left,right.")
@click.option("-p", "--hit-rate", "p", type=click.FloatRange(0, 1), help="The share of the window's pairs that match.")
@click.option(
    "--range",
    "ranges",
    multiple=True,
    metavar="COLUMN=FROM,TO",
    help="Instead of -p: values are uniform; COLUMN=N for N keys. May be given several times.",
)
@click.option("--left", metavar="PATH|DDL", help="A file or directory to sample, or a schema.")
@click.option("--right", metavar="PATH|DDL", help="Likewise; by default as the left.")
@click.option("--time", default="ts", metavar="COLUMN[,COLUMN]", help="Event time, for samples.")
@click.option("--delay", metavar="TIME", help="How late rows may come.")
@click.option("--how", default="inner", help="inner, left, right, full, left_semi or left_anti.")
@click.option("--row-bytes", metavar="BYTES[,BYTES]", help="Of the columns that results carry, a row.")
@click.option("--cores", type=click.IntRange(1), help="Spark's; by default this machine's.")
@click.option("--cells", type=click.IntRange(1), help="Of the layout; by default as many as serve best.")
@click.option("--interval", metavar="TIME", help="Between micro-batches; by default the shortest with headroom.")
@click.option("--calibrate", is_flag=True, help="Measure this machine's constants first, in under a minute.")
@click.option("--shipped", is_flag=True, help="Predict by the constants that ship, not by this machine's.")
@click.option("--json", "as_json", is_flag=True, help="The figures as JSON.")
@click.option("--plot", type=click.Path(dir_okay=False, path_type=Path), help="Draw into a PNG or SVG file as well.")
def advise(calibrate: bool, as_json: bool, plot: Path | None, **o: Any) -> None:
    """What to expect of a join, and which layout and interval to give it.

    From rates, window, condition, sizes of rows and cores: results and comparisons per second, state, latency, whether
    it is sustained and what limits it. Needs no Spark, but for --calibrate.
    """
    console, errors = Console(stderr=as_json), Console(stderr=True)
    try:
        if calibrate:
            from streamjoin.cli.calibrate import run_calibration

            run_calibration(console)
            if not o["on"]:
                return
        if not o["on"]:
            raise click.UsageError("--on is missing: the condition of the join")
        found = _ask(o)
        if plot is not None:
            from streamjoin.advice.plot import plot_advice

            plot_advice(found, plot)
    except StreamJoinError as error:
        errors.print("[red]error:[/]", escape(to_options(str(error))), soft_wrap=True, highlight=False)
        sys.exit(1)
    if as_json:
        click.echo(json.dumps(found.to_dict(), indent=2))
    else:
        console.print(escape(to_options(str(found))), highlight=False, soft_wrap=True)
    if plot is not None:
        console.print(f"\ndrawn in {plot}", highlight=False, soft_wrap=True)


def _ask(o: dict[str, Any]) -> "Advice":
    from streamjoin.advice.advise import advise as ask

    time = [part.strip() for part in o["time"].split(",")]
    return ask(
        o["left"],
        o["right"],
        on=o["on"],
        window=parse_window(o, _read_within),
        time=(time[0], time[-1]),
        delay=o["delay"],
        how=o["how"],
        rates=_read_pair("--rate", o["rate"]),
        p=o["p"],
        ranges=dict(map(_read_range, o["ranges"])) or None,
        row_bytes=_read_pair("--row-bytes", o["row_bytes"]),
        cores=o["cores"],
        cells=o["cells"],
        interval=o["interval"],
        calibration="none" if o["shipped"] else "auto",
    )


def _read_within(text: str) -> Between:
    left, _, right = text.partition(",")
    return within(left=left, right=right) if right else within(left)


def _read_pair(option: str, text: str | None) -> tuple[float, float] | None:
    if text is None:
        return None
    parts = text.split(",")
    try:
        values = [float(part) for part in parts]
    except ValueError:
        values = []
    if len(values) not in (1, 2):
        raise StreamJoinError(f"{option}: got {text!r}; expected a number, or two: left,right")
    return values[0], values[-1]


def _read_range(text: str) -> tuple[str, Any]:
    """A column and its values: from and to, or how many there are.

    >>> _read_range("l.x=1,100"), _read_range("sym=500")
    (('l.x', (1.0, 100.0)), ('sym', 500))
    """
    column, _, values = text.partition("=")
    low, comma, high = values.partition(",")
    try:
        return (column.strip(), (float(low), float(high))) if comma else (column.strip(), int(low))
    except ValueError:
        raise StreamJoinError(f"--range: got {text!r}; expected COLUMN=FROM,TO or COLUMN=NUMBER OF KEYS") from None

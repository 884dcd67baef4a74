"""Which verb a command line asks for, and its arguments: `join`, or `aggregate` and `asof`, which reduce."""

from collections.abc import Callable, Mapping
from typing import Any

import click

from streamjoin.aggregate import aggregate
from streamjoin.asof import asof
from streamjoin.cli.layout import parse_layout
from streamjoin.cli.window import parse_window
from streamjoin.join import join
from streamjoin.spec.duration import microseconds
from streamjoin.spec.how import how_of

_OF_ASOF = ("by", "direction", "no_exact")
_WINDOWS = ("within_", "between_", "tumbling_", "last_")


def read_verb(o: Mapping[str, Any]) -> tuple[Callable[..., Any], dict[str, Any]]:
    """The verb and its arguments; options that do not go together are refused."""
    if o["aggregate"] and o["asof"]:
        raise click.UsageError("--aggregate and --asof: expected one of them")
    verb = aggregate if o["aggregate"] else asof if o["asof"] else join
    if verb is not join:
        _refuse(o, ("ordered",), f"not with --{verb.__name__}: its results come as the watermark passes them")
    if verb is not asof:
        _refuse(o, _OF_ASOF, "is for --asof")
        if o["on"] is None:
            raise click.UsageError("Missing option '--on'.")
    arguments = {
        "on": o["on"],
        "time": split_sides("--time", o["time"]),
        "delay": check_durations("--delay", *split_sides("--delay", o["delay"])),
        "how": how_of(o["how"] or ("inner" if verb is join else "left")),
        "select": split_commas(o["select"]) if o["select"] else None,
        "layout": "auto" if o["layout"] == "auto" else parse_layout(o["layout"]),
        "late": "keep" if o["late"] else "drop",
    }
    if verb is asof:
        _refuse(o, _WINDOWS, "not with --asof, which says how far apart the rows may be")
        check_durations("--asof", o["asof"])
        return asof, arguments | {
            "tolerance": o["asof"],
            "by": split_commas(o["by"]) if o["by"] else None,
            "direction": o["direction"] or "backward",
            "allow_exact_matches": not o["no_exact"],
        }
    arguments["window"] = parse_window(o)
    if verb is aggregate:
        _refuse(o, ("select",), "not with --aggregate, which names the columns of the result")
        return aggregate, arguments | {"select": split_commas(o["aggregate"])}
    return join, arguments | {"ordered": o["ordered"]}


def _refuse(o: Mapping[str, Any], names: tuple[str, ...], why: str) -> None:
    for name in names:
        if o[name]:
            raise click.UsageError(f"--{name.rstrip('_').replace('_', '-')}: {why}")


def split_sides(option: str, text: str) -> tuple[str, str]:
    """What is given once for both sides, or for each."""
    parts = split_commas(text)
    if len(parts) > 2:
        raise click.UsageError(f"{option}: got {text!r}; expected one for both sides, or left,right")
    return parts[0], parts[-1]


def check_durations(option: str, *given: str) -> tuple[str, ...]:
    """Refuse what is no time before Spark starts."""
    for duration in given:
        if microseconds(duration, option) < 0:
            raise click.UsageError(f"{option}: got {duration!r}; expected a duration >= 0")
    return given


def split_commas(text: str) -> list[str]:
    """Text parted at commas outside of quotes and parentheses.

    >>> split_commas("l.id, max_by(r.price, r.ts) AS `last, of all`")
    ['l.id', 'max_by(r.price, r.ts) AS `last, of all`']
    """
    parts, quote, depth = [""], "", 0
    for letter in text:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "`'\"":
            quote = letter
        else:
            depth += (letter == "(") - (letter == ")")
        if letter == "," and not quote and depth <= 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]

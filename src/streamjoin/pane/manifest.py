"""The list of `Panes` as plain data, and back: names, counts and limits, for JSON; the rows are fetched by name."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from streamjoin.pane.container import SegmentError
from streamjoin.pane.held import Held, merge_live
from streamjoin.pane.limit import Limit
from streamjoin.pane.segment import Segment

_NUMBERED = re.compile(r"(.*?)(\d+)")

Fetch = Callable[[str], Segment]
Cached = Callable[[str], Segment | None]


def to_note(held: Held) -> dict[str, Any]:
    """What is to be known to make this segment again."""
    return {
        "name": held.segment.name,
        "parts": pack_names(held.segment.parts),
        "rows": held.rows,
        "weight": held.weight,
        "size": held.size,
        "since": held.since,
        "until": held.until,
        "cut": held.cut and [held.cut.time, held.cut.rank],
    }


def from_note(note: dict[str, Any], fetch: Fetch, cached: Cached | None, *, routes: bool = False) -> Held:
    """The segment of a note: as it arrived, or merged anew from its parts unless a merged one is at hand."""
    name, parts = note["name"], tuple(unpack_names(note["parts"]))
    cut = Limit(*note["cut"]) if note["cut"] else None
    if parts == (name,):
        segment = fetch(name)
    elif merged := cached(name) if cached else None:
        segment = replace(merged, name=name, parts=parts)
    else:
        rows = merge_live([fetch(part).rows for part in parts], cut or Limit(), routes=routes)
        segment = Segment(name, rows, parts=parts)
    if len(segment) != note["rows"]:
        raise SegmentError(name, f"has {len(segment)} rows; the manifest says {note['rows']}")
    return Held(segment, note["weight"], note["size"], note["since"], note["until"], cut)


def pack_names(parts: Sequence[str]) -> list[str | list[str]]:
    """Names, those with consecutive numbers as first and last: a manifest must not grow with the number of blocks.

    >>> pack_names(["l8", "l9", "l10", "l12", "x"])
    [['l8', 'l10'], 'l12', 'x']
    """
    found: list[list[str]] = []
    for name in parts:
        if found and _increment(found[-1][-1]) == name:
            found[-1][1:] = [name]
        else:
            found.append([name])
    return [run[0] if len(run) == 1 else run for run in found]


def unpack_names(found: Iterable[str | list[str]]) -> Iterator[str]:
    """The names that `pack_names` was given.

    >>> list(unpack_names([["l8", "l10"], "l12", "x"]))
    ['l8', 'l9', 'l10', 'l12', 'x']
    """
    for run in found:
        name: str | None
        name, last = (run, run) if isinstance(run, str) else run
        while name is not None:
            yield name
            name = _increment(name) if name != last else None


def _increment(name: str) -> str | None:
    """The name with the next number; None for a name without one."""
    match = _NUMBERED.fullmatch(name)
    return f"{match[1]}{int(match[2]) + 1}" if match else None

"""The list of `Panes` as plain data, and back: names, counts and limits, for JSON; the rows are fetched by name."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from streamjoin.pane.container import SegmentError
from streamjoin.pane.held import Held, live_rows
from streamjoin.pane.limit import Limit
from streamjoin.pane.segment import Segment

_NUMBERED = re.compile(r"(.*?)(\d+)")

Fetch = Callable[[str], Segment]
Cached = Callable[[str], Segment | None]


def noted(held: Held) -> dict[str, Any]:
    """What is to be known to make this segment again."""
    return {
        "name": held.segment.name,
        "parts": runs(held.segment.parts),
        "rows": held.rows,
        "weight": held.weight,
        "size": held.size,
        "since": held.since,
        "until": held.until,
        "without": held.without and [held.without.time, held.without.rank],
    }


def recalled(note: dict[str, Any], fetch: Fetch, cached: Cached | None) -> Held:
    """The segment of a note: as it arrived, or merged anew from its parts unless a merged one is at hand."""
    without = Limit(*note["without"]) if note["without"] else None
    parts = tuple(names(note["parts"]))
    segment = _found(note["name"], parts, fetch, cached) or _made(note["name"], parts, without, fetch)
    if len(segment) != note["rows"]:
        raise SegmentError(note["name"], f"has {len(segment)} rows; the manifest says {note['rows']}")
    return Held(segment, note["weight"], note["size"], note["since"], note["until"], without)


def _found(name: str, parts: tuple[str, ...], fetch: Fetch, cached: Cached | None) -> Segment | None:
    if parts == (name,):
        return fetch(name)
    segment = cached(name) if cached else None
    return segment and replace(segment, name=name, parts=parts)


def _made(name: str, parts: tuple[str, ...], without: Limit | None, fetch: Fetch) -> Segment:
    return Segment(name, live_rows([fetch(part).rows for part in parts], without or Limit()), parts=parts)


def runs(parts: Sequence[str]) -> list[str | list[str]]:
    """Names, those with consecutive numbers as first and last: a manifest must not grow with the number of blocks.

    >>> runs(["l8", "l9", "l10", "l12", "x"])
    [['l8', 'l10'], 'l12', 'x']
    """
    found: list[list[str]] = []
    for name in parts:
        if found and _following(found[-1][-1]) == name:
            found[-1][1:] = [name]
        else:
            found.append([name])
    return [run[0] if len(run) == 1 else run for run in found]


def names(found: Iterable[str | list[str]]) -> Iterator[str]:
    """The names that `runs` was given.

    >>> list(names([["l8", "l10"], "l12", "x"]))
    ['l8', 'l9', 'l10', 'l12', 'x']
    """
    for run in found:
        name: str | None
        name, last = (run, run) if isinstance(run, str) else run
        while name is not None:
            yield name
            name = _following(name) if name != last else None


def _following(name: str) -> str | None:
    """The name with the next number; None for a name without one."""
    match = _NUMBERED.fullmatch(name)
    return f"{match[1]}{int(match[2]) + 1}" if match else None

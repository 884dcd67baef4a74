"""The key of a checkpoint: which joins may continue it.

The key is data, compared by its hash. Beside each part stands a text for the message that refuses another join; no code
reads it, and another wording refuses nothing.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any, cast

from streamjoin.errors import StreamJoinError
from streamjoin.layout import ROUTING, Layout
from streamjoin.operators.expr import Key
from streamjoin.plan import Plan
from streamjoin.plan.describe import Data, describe_plan
from streamjoin.spec.side import NAMED, Side

FORMAT = 1
"""Goes up when state is laid out anew: this release reads no other."""

_LAYOUT = {"layout", "partitions"}
_COLUMNS = {f"{named} {part}" for named in NAMED.values() for part in ("columns", "payload")}


@dataclass(frozen=True)
class Named:
    """What a runtime calls the columns of one side: its time, and each payload column with its type."""

    time: str
    columns: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class CheckpointKey:
    """All that state depends on, in named parts, and a text for each that is shown to people."""

    parts: Mapping[str, Data]
    shown: Mapping[str, str]
    format: int = FORMAT

    @classmethod
    def of(cls, plan: Plan, layout: Layout, partitions: int, named: Mapping[Side, Named]) -> "CheckpointKey":
        """The key of a join in this layout, its cells dealt to so many partitions."""
        laid_out: Data = [type(layout).__name__, asdict(cast("Any", layout))]  # dataclasses under public names
        parts = describe_plan(plan) | {"layout": laid_out, "partitions": partitions, "routing": ROUTING}
        shown = {
            "on": plan.predicate.text,
            "conjuncts": "\n".join(f"{conjunct.kind} {conjunct}" for conjunct in plan.predicate.conjuncts),
            "how": plan.how,
            "window": str(plan.window),
            "ordered": str(plan.ordered),
            "layout": str(layout),
            "partitions": str(partitions),
            "routing": str(ROUTING),
        }
        for side, names in named.items():
            parts[f"{NAMED[side]} time"] = shown[f"{NAMED[side]} time"] = names.time
            parts[f"{NAMED[side]} columns"] = [list(column) for column in names.columns]
            shown[f"{NAMED[side]} keys"] = ", ".join(map(_show_key, plan.keys[side])) or "none"
            shown[f"{NAMED[side]} columns"] = ", ".join(map(" ".join, names.columns)) or "none"
        return cls(parts, shown)

    @cached_property
    def digest(self) -> str:
        """What tells one key from another."""
        return blake2b(_to_json({"format": self.format, "parts": self.parts}).encode(), digest_size=16).hexdigest()

    def to_json(self) -> str:
        """The key as a checkpoint keeps it."""
        return self._json

    @cached_property
    def _json(self) -> str:
        return _to_json({"format": self.format, "digest": self.digest, "parts": self.parts, "shown": self.shown})

    def __str__(self) -> str:
        return "\n".join(self._lines(self.shown))

    @classmethod
    def from_json(cls, stored: str) -> "CheckpointKey":
        """The key that a checkpoint keeps; refuses one that another release wrote."""
        found = _read(stored)
        return cls(found["parts"], found["shown"])

    def compare(self, was: "CheckpointKey") -> list[str]:
        """The parts that differ, in the order in which they are shown."""
        every = {**self.shown, **self.parts, **was.parts}
        return [part for part in every if was.parts.get(part) != self.parts.get(part)]

    def check(self, stored: str) -> None:
        """Refuse what was written under another key, saying what differs."""
        if stored == self._json or (was := CheckpointKey.from_json(stored)).digest == self.digest:
            return
        differing = self.compare(was)
        before, after = was._lines(differing), self._lines(differing)
        common = {*before} & {*after}
        before, after = ([line for line in lines if line not in common] for lines in (before, after))
        if not before + after:  # what differs is not shown: show it as it is
            before, after = ([f"{part} {_to_json(key.parts.get(part))}" for part in differing] for key in (was, self))
        raise StreamJoinError(
            f"This checkpoint was written by another join. {_advise(self, was, differing)}\n"
            "--- the checkpoint's join\n" + "\n".join(before) + "\n--- this join\n" + "\n".join(after)
        )

    def _lines(self, parts: Sequence[str] | Mapping[str, Any]) -> list[str]:
        return [f"{part:<13} {line}" for part in parts if part in self.shown for line in self.shown[part].split("\n")]


def _read(stored: str) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(stored)
        format = int(found["format"])
    except (ValueError, TypeError, LookupError):
        format = 0
    if format != FORMAT:
        age = "a later" if format > FORMAT else "an earlier"
        raise StreamJoinError(
            f"This checkpoint was written by {age} release of streamjoin, in format {format} of its state, and this "
            f"release reads format {FORMAT} alone: start with a new checkpoint, or go on with that release."
        )
    return found


def _advise(now: CheckpointKey, was: CheckpointKey, differing: Sequence[str]) -> str:
    """What to do about it; the layout may differ only because the machine does, columns because the input does."""
    if {*differing} <= _COLUMNS:
        return " ".join(hint for named in NAMED.values() if (hint := _advise_columns(named, now, was))) + (
            " Else start with a new checkpoint, or with the old join."
        )
    if not {*differing} <= _LAYOUT:
        return "Start with a new checkpoint, or with the old join."
    auto = ", or auto if it was that" if "partitions" in differing else ""
    return (
        "Only the layout differs, which depends on the number of shuffle partitions: to go on, set "
        f"spark.sql.shuffle.partitions to {was.parts['partitions']} and take layout={was.shown['layout']}{auto}."
    )


def _advise_columns(named: str, now: CheckpointKey, was: CheckpointKey) -> str:
    """Which columns of a side are new or missing, and what brings the old ones back."""
    (carried, before) = ([" ".join(map(str, column)) for column in _columns(key, named)] for key in (now, was))
    new, gone = ([one for one in some if one not in others] for some, others in ((carried, before), (before, carried)))
    if carried == before:
        return ""
    if gone or not new:
        return f"The {named} columns were {', '.join(before) or 'none'}."
    old = ", ".join(f'"{column[0]}"' for column in _columns(was, named))
    return (
        f"New on the {named} side: {', '.join(new)}. If that is new in the input, join {named}.select({old}), or name "
        "the columns of the result with select=[...]."
    )


def _columns(key: CheckpointKey, named: str) -> list[list[str]]:
    return cast("list[list[str]]", key.parts[f"{named} columns"])


def _show_key(key: Key) -> str:
    return f"{key.sql()} {key.type}"


def _to_json(data: object) -> str:
    return json.dumps(data, sort_keys=True, separators=(",", ":"))

"""What ``streamjoin run`` remembers of its first start, beside the checkpoint: inputs, formats, schemas, the plan.

Files that come later may have more fields, and an inferred schema would then be another one, which makes another join.
"""

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from streamjoin.errors import StreamJoinError
from streamjoin.paths import beneath, to_local

RUN_FILE = "streamjoin/run.json"


@dataclass(frozen=True)
class Remembered:
    """A run: where its inputs lie, their formats, their schemas as JSON of Spark's, and its checkpoint key."""

    paths: tuple[str, str]
    formats: tuple[str, str]
    schemas: tuple[str, str]
    plan: str = ""
    """Empty where an earlier release wrote the file."""

    def to_json(self) -> str:
        """As it is kept."""
        return json.dumps(asdict(self), indent=1)

    @classmethod
    def from_json(cls, text: str) -> "Remembered | None":
        """What was kept; None if it is damaged, which costs no more than a schema inferred anew."""
        try:
            found = json.loads(text)
            paths, formats, schemas = (_read_pair(found[name]) for name in ("paths", "formats", "schemas"))
            return cls(paths, formats, schemas, str(found.get("plan", "")))
        except (ValueError, TypeError, LookupError):
            return None

    def check_inputs(self, paths: tuple[str, str], checkpoint: str) -> None:
        """Refuse other inputs: what Spark has read of the old ones says nothing about them."""
        lines = [
            f"--{named}: the checkpoint in {checkpoint} was written by a join of {was}, and this is {now}: "
            "give the old directory, or another --checkpoint"
            for named, was, now in zip(("left", "right"), self.paths, paths, strict=True)
            if was != now
        ]
        if lines:
            raise StreamJoinError("\n".join(lines))

    def check_formats(self, formats: tuple[str, str], checkpoint: str) -> None:
        """Refuse the same inputs read in another format."""
        lines = [
            f"--format: the checkpoint in {checkpoint} was written by a join that read {path} as {was}, and this one "
            f"reads it as {now}: give --format {was}, or another --checkpoint"
            for path, was, now in zip(self.paths, self.formats, formats, strict=True)
            if was != now
        ]
        if lines:
            raise StreamJoinError("\n".join(lines))


def _read_pair(found: list[str]) -> tuple[str, str]:
    left, right = found
    return left, right


def find_checkpoint(out: str) -> str:
    """Where the checkpoint lies that was not named."""
    return beneath(out, "_checkpoint")


def has_begun(list_names: Callable[[str], Iterable[str]]) -> bool:
    """Whether a query has noted in a checkpoint which rows it reads: whoever starts there again reads them first."""
    places = ["offsets", *(f"sources/{name}" for name in list_names("sources"))]
    return any(name[:1].isdigit() for place in places for name in list_names(place))


def is_remote(checkpoint: str) -> bool:
    """Whether a checkpoint lies where only Spark can look it up."""
    return to_local(checkpoint) is None


def recall(checkpoint: str) -> Remembered | None:
    """The run that has begun on a checkpoint, as far as this machine can tell without Spark."""
    local = to_local(checkpoint)
    if local is None or not (local / RUN_FILE).is_file() or not has_begun(lambda name: _list_names(local / name)):
        return None
    return Remembered.from_json((local / RUN_FILE).read_text())


def _list_names(directory: Path) -> list[str]:
    return [path.name for path in directory.iterdir()] if directory.is_dir() else []

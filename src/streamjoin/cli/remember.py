"""What ``streamjoin run`` remembers of its first start, beside the checkpoint: the inputs and their schemas.

Files that come later may have more fields, and an inferred schema would then be another one, which makes another join.
"""

import json
from dataclasses import asdict, dataclass

from streamjoin.errors import StreamJoinError
from streamjoin.paths import to_local

RUN_FILE = "streamjoin/run.json"


@dataclass(frozen=True)
class Remembered:
    """The inputs of a run: where they lie, their formats, and their schemas as Spark writes them in JSON."""

    paths: tuple[str, str]
    formats: tuple[str, str]
    schemas: tuple[str, str]

    def to_json(self) -> str:
        """As it is kept."""
        return json.dumps(asdict(self), indent=1)

    @classmethod
    def from_json(cls, text: str) -> "Remembered | None":
        """What was kept; None if it is damaged, which costs no more than a schema inferred anew."""
        try:
            found = json.loads(text)
            paths, formats, schemas = (_read_pair(found[name]) for name in ("paths", "formats", "schemas"))
            return cls(paths, formats, schemas)
        except (ValueError, TypeError, LookupError):
            return None

    def check(self, paths: tuple[str, str], checkpoint: str) -> None:
        """Refuse other inputs: what Spark has read of the old ones says nothing about them."""
        for named, was, now in zip(("left", "right"), self.paths, paths, strict=True):
            if was != now:
                raise StreamJoinError(
                    f"--{named}: the checkpoint in {checkpoint} was written by a join of {was}, and this is {now}: "
                    "give the old directory, or another --checkpoint"
                )


def _read_pair(found: list[str]) -> tuple[str, str]:
    left, right = found
    return left, right


def is_remembered(checkpoint: str) -> bool:
    """Whether a run may have been started on a checkpoint; where that cannot be looked up, it may."""
    local = to_local(checkpoint)
    return local is None or (local / RUN_FILE).exists()

"""The plan file: the keys of a query's joins, kept in its checkpoint's directory.

By it another join is refused before it starts. State holds the keys too and has the last word, but it is read by tasks,
after Spark has logged what they are to do.
"""

import json
from collections.abc import Sequence

from streamjoin.errors import StreamJoinError
from streamjoin.flow.checkpoint import CheckpointKey

PLAN_FILE = "streamjoin/plan.json"
"""Where it lies in the checkpoint's directory."""


def write_plan(keys: Sequence[CheckpointKey]) -> str:
    """The plan file of a query with these joins."""
    return json.dumps({"joins": [key.to_json() for key in keys]}, indent=1)


def read_plan(text: str) -> list[str]:
    """The keys in a plan file, as a checkpoint keeps them; of a damaged file none, so that the state decides."""
    try:
        return [str(key) for key in json.loads(text)["joins"]]
    except (ValueError, TypeError, LookupError):
        return []


def check_joins(keys: Sequence[CheckpointKey], stored: Sequence[str]) -> None:
    """Refuse joins that are not among those of a checkpoint, beside the stored one that is most like each."""
    known = [(CheckpointKey.from_json(text), text) for text in stored]
    new = []
    for key in keys:
        same = next((one for one in known if one[0].digest == key.digest), None)
        if same:
            known.remove(same)
        else:
            new.append(key)
    if new and not known:
        raise StreamJoinError(
            f"This checkpoint was written by a query with {len(stored)} joins, and this one has {len(keys)}: start "
            "with a new checkpoint, or with the old query."
        )
    for key in new:
        like = min(known, key=lambda one: len(key.compare(one[0])))
        key.check(like[1])

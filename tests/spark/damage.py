"""What can happen to the files of a segment cache."""

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path


def segment_files(root: Path) -> list[Path]:
    """All segments in a cache: <root>/streamjoin-segments-<uid>/<query>/<join>/<cell>/<segment>."""
    found = [Path(place) / name for place, _, names in os.walk(root) for name in names]  # without what goes meanwhile
    return [path for path in found if len(path.relative_to(root).parts) == 5]


def _deleted(path: Path, chance: random.Random) -> None:
    path.unlink()


def _truncated(path: Path, chance: random.Random) -> None:
    os.truncate(path, chance.randrange(path.stat().st_size))


def _emptied(path: Path, chance: random.Random) -> None:
    os.truncate(path, 0)


def _overwritten(path: Path, chance: random.Random) -> None:
    with path.open("r+b") as file:
        file.write(chance.randbytes(path.stat().st_size))


def _bit_flipped(path: Path, chance: random.Random) -> None:
    with path.open("r+b") as file:
        offset = chance.randrange(path.stat().st_size)
        file.seek(offset)
        byte = file.read(1)[0]
        file.seek(offset)
        file.write(bytes([byte ^ 1 << chance.randrange(8)]))


def _longer(path: Path, chance: random.Random) -> None:
    with path.open("ab") as file:
        file.write(chance.randbytes(100))


def _swapped(path: Path, chance: random.Random) -> None:
    """Another segment, whole in itself, comes under this name."""
    other = chance.choice([sibling for sibling in path.parent.iterdir() if sibling.is_file()])
    scratch = path.with_name(f".{path.name}.swapped")
    shutil.copyfile(other, scratch)
    scratch.replace(path)


DAMAGES: dict[str, Callable[[Path, random.Random], None]] = {
    "deleted": _deleted,
    "truncated": _truncated,
    "emptied": _emptied,
    "overwritten": _overwritten,
    "bit flipped": _bit_flipped,
    "longer": _longer,
    "swapped": _swapped,
}


def damage(path: Path, kind: str, chance: random.Random) -> bool:
    """Damage a file; False if it was gone."""
    try:
        DAMAGES[kind](path, chance)
    except (FileNotFoundError, IndexError, ValueError):
        return False
    return True

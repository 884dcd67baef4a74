"""Damage to the files of a cache, between batches."""

import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from random import Random

from tests.simulation.state import Version


def damage_cache(kind: str, draw: Random, directory: Path, states: Sequence[Version]) -> bool:
    """Damage one of the files that state names; whether there was one."""
    files = [path for state in states for path in _named(directory, state) if path.exists()]
    if not files:
        return False
    path = draw.choice(files)
    if kind == "directory lost":
        shutil.rmtree(draw.choice((path.parent, directory, directory.parent, directory.parent.parent)))
    elif kind == "file lost":
        path.unlink()
    else:
        content = path.read_bytes()
        if kind == "file truncated":
            content = content[: draw.randrange(len(content))]
        elif kind == "file flipped":
            at = draw.randrange(len(content))
            content = content[:at] + bytes([content[at] ^ 1 << draw.randrange(8)]) + content[at + 1 :]
        else:
            others = [other for other in files if other != path]
            if not others:
                return False
            content = draw.choice(others).read_bytes()
        _replace(path, content)
    return True


def _named(directory: Path, state: Version) -> list[Path]:
    return [
        directory / str(cell) / f"{name}~{written}"
        for cell, own in sorted(state.items())
        if own.note is not None
        for name, written in json.loads(own.note[2] or b"{}").get("cached", {}).items()
    ]


def _replace(path: Path, content: bytes) -> None:
    """Another file of this name, at another time: what is mapped stays whole, or a zombie would crash us all."""
    changed = path.stat().st_mtime_ns + 10**9
    path.unlink()
    path.write_bytes(content)
    os.utime(path, ns=(changed, changed))

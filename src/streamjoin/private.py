"""Directories that nobody but this user and root can write to: what lies in them is trusted, compiled code is run.

Every step of the path counts, links included: whoever may write to a directory above can put another one in its place.
A directory for temporary files with the sticky bit is safe: there, only its owner renames an entry.
"""

import os
import stat
from pathlib import Path


def make_private(directory: Path) -> Path:
    """The directory without links in its path, made if it was missing; PermissionError where others may write to it."""
    for path in () if os.path.exists(directory) else (*reversed(directory.parents), directory):  # noqa: PTH110
        if not path.exists():  # `parents=True` would go by the umask, and the group might write to what is above
            path.mkdir(mode=0o700, exist_ok=True)
    return check_private(directory)


def check_private(directory: Path) -> Path:
    """The directory without links in its path; PermissionError where anybody else may write to it.

    It may belong to root and be readable only, as in an image that was prepared once for all users.
    """
    absolute, real = os.path.abspath(directory), os.path.realpath(directory, strict=True)  # noqa: PTH100 - keeps links
    if not stat.S_ISDIR(os.lstat(real).st_mode):
        raise NotADirectoryError(f"{real} is not a directory")
    for path in {**_list_steps(absolute), **_list_steps(real)}:
        if reason := _distrust(path, shared=path not in (absolute, real)):
            raise PermissionError(f"{path} {reason}")
    return Path(real)


def _list_steps(path: str) -> dict[str, None]:
    """A path and all that is above it. Text, not `Path`: a cell walks here in every batch."""
    steps = {path: None}
    while (above := os.path.dirname(path)) != path:  # noqa: PTH120
        steps[path := above] = None
    return steps


def _distrust(path: str, *, shared: bool) -> str:
    """Why somebody else may change what lies there; a `shared` directory may be open to all if it is sticky."""
    found = os.lstat(path)
    if found.st_uid not in (0, os.geteuid()):
        return f"belongs to another user (uid {found.st_uid})"
    if stat.S_ISLNK(found.st_mode) or not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return ""
    if shared and found.st_mode & stat.S_ISVTX:
        return ""
    return f"may be written to by others (mode {stat.S_IMODE(found.st_mode):o})"

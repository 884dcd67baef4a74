"""A machine's constants on disk, in the user's cache directory, and whose are used."""

import hashlib
import json
import logging
import os
import platform
from dataclasses import asdict, fields
from datetime import date
from pathlib import Path

from streamjoin.compile.place import is_writable, places
from streamjoin.errors import StreamJoinError
from streamjoin.model.constants import SHIPPED, Constants

log = logging.getLogger(__name__)

FORMAT = 2
"""Goes up when constants change their meaning: those that were measured before are not used then."""


def find_constants(calibration: str) -> tuple[Constants, str]:
    """The constants to predict by, and whose they are."""
    if calibration == "none":
        return SHIPPED, "those that ship"
    if calibration != "auto":
        raise StreamJoinError(f"calibration: got {calibration!r}; expected 'auto' or 'none'")
    for place in places():
        if found := _read(place / _name()):
            return found
    return SHIPPED, "those that ship; measure this machine's with: streamjoin advise --calibrate"


def keep_constants(constants: Constants) -> Path:
    """Write a machine's constants; where to."""
    trusted = places()
    if not is_writable(trusted):
        raise StreamJoinError("no directory can be written to; name one with STREAMJOIN_CACHE_DIR")
    path = trusted[-1] / _name()
    draft = path.with_suffix(f".{os.getpid()}")
    kept = {"format": FORMAT, "date": str(date.today()), "constants": asdict(constants)}
    draft.write_text(json.dumps(kept, indent=1))
    draft.rename(path)
    return path


def _read(path: Path) -> tuple[Constants, str] | None:
    try:
        kept = json.loads(path.read_text())
        if kept["format"] != FORMAT:
            return None
        known = {field.name for field in fields(Constants)}
        constants = Constants(**{name: float(value) for name, value in kept["constants"].items() if name in known})
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, LookupError) as error:
        log.warning("this machine's constants are not used: %s: %s", path, error)
        return None
    return constants, f"this machine's, measured on {kept['date']}"


def _name() -> str:
    """A file for each machine: homes are shared."""
    machine = f"{platform.node()} {platform.machine()} {os.cpu_count()}"
    return f"constants-{hashlib.sha256(machine.encode()).hexdigest()[:16]}.json"

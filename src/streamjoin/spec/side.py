"""The two sides of a join."""

from typing import Literal

Side = Literal["l", "r"]

SIDES: tuple[Side, Side] = ("l", "r")
NAMED: dict[Side, str] = {"l": "left", "r": "right"}
OTHER: dict[Side, Side] = {"l": "r", "r": "l"}

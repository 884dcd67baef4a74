"""The types of join."""

from typing import Literal, get_args

How = Literal["inner", "left", "right", "full", "left_semi", "left_anti"]

HOWS: tuple[How, ...] = get_args(How)

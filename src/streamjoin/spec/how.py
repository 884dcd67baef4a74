"""The types of join."""

from typing import Literal, get_args

from streamjoin.errors import StreamJoinError
from streamjoin.spec.side import Side

How = Literal["inner", "left", "right", "full", "left_semi", "left_anti"]

HOWS: tuple[How, ...] = get_args(How)
_ALSO: dict[str, How] = {
    **{how.replace("_", ""): how for how in HOWS},
    **dict.fromkeys(("outer", "fullouter"), "full"),
    "leftouter": "left",
    "rightouter": "right",
    "semi": "left_semi",
    "anti": "left_anti",
}

PRESERVED: dict[How, tuple[Side, ...]] = {
    "inner": (),
    "left": ("l",),
    "right": ("r",),
    "full": ("l", "r"),
    "left_semi": ("l",),
    "left_anti": ("l",),
}
"""The sides whose rows are flagged when they are matched."""


def how_of(name: object) -> How:
    """The type of join that a user names, by any of the names that Spark has for it.

    >>> how_of("outer"), how_of("LEFT OUTER"), how_of("leftanti")
    ('full', 'left', 'left_anti')
    """
    if isinstance(name, str) and (how := _ALSO.get(name.lower().replace("_", "").replace(" ", ""))):
        return how
    swap = ""
    if isinstance(name, str) and name.lower().startswith("right"):
        swap = "; for rows of the right side alone exchange the inputs and take 'left_semi' or 'left_anti'"
    raise StreamJoinError(f"how: got {name!r}; expected one of {', '.join(map(repr, HOWS))}{swap}")


def reduced_how_of(name: object) -> How:
    """The type of a join that reduces what a left row met."""
    how = how_of(name)
    if how not in ("left", "inner"):
        raise StreamJoinError(f"how: got {name!r}; expected 'left' or 'inner': one result for a left row")
    return how


def sides_of(how: How) -> tuple[Side, ...]:
    """The sides whose columns a result has."""
    return ("l",) if how in ("left_semi", "left_anti") else ("l", "r")


def emits_unmatched(how: How) -> bool:
    """Whether unmatched rows are emitted, so that rows wait until they are decided."""
    return how not in ("inner", "left_semi")

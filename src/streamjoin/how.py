"""The types of join."""

from typing import Literal, get_args

from streamjoin.errors import StreamJoinError

How = Literal["inner", "left", "right", "full", "left_semi", "left_anti"]

HOWS: tuple[How, ...] = get_args(How)
_ALSO: dict[str, How] = {
    **dict.fromkeys(("outer", "full_outer", "fullouter"), "full"),
    **dict.fromkeys(("left_outer", "leftouter"), "left"),
    **dict.fromkeys(("right_outer", "rightouter"), "right"),
    **dict.fromkeys(("semi", "leftsemi"), "left_semi"),
    **dict.fromkeys(("anti", "leftanti"), "left_anti"),
}


def how_of(name: object) -> How:
    """The type of join that a user names, by any of the names that Spark has for it.

    >>> how_of("outer"), how_of("left_outer")
    ('full', 'left')
    """
    for how in HOWS:
        if name == how or (isinstance(name, str) and _ALSO.get(name) == how):
            return how
    raise StreamJoinError(f"how: got {name!r}; expected one of {', '.join(map(repr, HOWS))}")


def lets_out(how: How) -> bool:
    """Whether a row that met nobody comes out, so that rows wait to be told."""
    return how not in ("inner", "left_semi")

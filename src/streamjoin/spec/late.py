"""What becomes of rows that a join cannot take: late ones, and those without a time."""

from typing import Literal, get_args

from streamjoin.errors import StreamJoinError

Late = Literal["drop", "keep"]
LATES: tuple[Late, ...] = get_args(Late)


def late_of(name: object) -> Late:
    """What a user says of them.

    >>> late_of("keep")
    'keep'
    """
    if name in LATES:
        return name
    raise StreamJoinError(f"late: got {name!r}; expected {' or '.join(map(repr, LATES))}")

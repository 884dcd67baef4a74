"""The two sides of a join."""

from typing import Any, Literal

from streamjoin.errors import StreamJoinError

Side = Literal["l", "r"]

SIDES: tuple[Side, Side] = ("l", "r")
NAMED: dict[Side, str] = {"l": "left", "r": "right"}
OTHER: dict[Side, Side] = {"l": "r", "r": "l"}


def pair_of(argument: str, value: Any, expected: str, kind: Any, *, one: bool = True) -> tuple[Any, Any]:
    """A value for each side; if `one` may stand for both, it does.

    >>> pair_of("time", "ts", "a name", str), pair_of("time", ("t", "u"), "a name", str)
    (('ts', 'ts'), ('t', 'u'))
    """
    if one and isinstance(value, kind):
        return value, value
    if isinstance(value, list | tuple) and len(value) == 2 and all(isinstance(part, kind) for part in value):
        return value[0], value[1]
    raise StreamJoinError(f"{argument}: got {value!r}; expected {expected}")

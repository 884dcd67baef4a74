"""What an as-of join asks, on Spark and in one process: which match, of which rows, with which columns."""

from collections.abc import Mapping, Sequence
from typing import get_args

from streamjoin.errors import StreamJoinError
from streamjoin.operators.expr import quote_name
from streamjoin.plan.reduction import Direction, Pick
from streamjoin.spec.duration import Duration, microseconds
from streamjoin.spec.side import SIDES, Side
from streamjoin.spec.window import Between
from streamjoin.sql.on import to_text
from streamjoin.sql.select import Struct, find

_DIRECTIONS: tuple[Direction, ...] = get_args(Direction)


def read_pick(direction: Direction, exact: bool) -> Pick:
    """Which match is picked; `exact` is what users call `allow_exact_matches`."""
    if direction not in _DIRECTIONS:
        raise StreamJoinError(f"direction: got {direction!r}; expected one of {', '.join(map(repr, _DIRECTIONS))}")
    if not isinstance(exact, bool):
        raise StreamJoinError(f"allow_exact_matches: got {exact!r}; expected True or False")
    return Pick(direction, exact)


def find_window(tolerance: Duration | None, pick: Pick) -> Between:
    """The window of the rows that `asof` chooses from; of the nearest, that it may not be exact is not said here.

    >>> print(find_window("1 minute", Pick("backward", exact=False)))
    between('-1 minute', '0 seconds', closed='left')
    """
    if tolerance is None:
        raise StreamJoinError("tolerance: say how far in time a match may lie, such as tolerance='1 minute'")
    far = microseconds(tolerance, "tolerance")
    if far < 0:
        raise StreamJoinError(f"tolerance: expected a duration >= 0; got {tolerance!r}")
    match pick.direction:
        case "backward":
            return Between(-far, 0, "both" if pick.exact else "left")
        case "forward":
            return Between(0, far, "both" if pick.exact else "right")
    return Between(-far, far)


def write_condition(by: Sequence[str], further: str) -> str:
    """The whole condition: equal columns, and what else is asked for.

    >>> write_condition(["sym"], "r.ask < 2 * l.price OR r.ask IS NULL")
    'l.sym = r.sym AND (r.ask < 2 * l.price OR r.ask IS NULL)'
    """
    return f"{to_text(by)} AND ({further})" if by else further


def choose_columns(
    select: Sequence[str] | None, by: Sequence[str], schemas: Mapping[Side, Struct]
) -> Sequence[str] | None:
    """What `select` says, by default all columns, those of `by` once; None for all of both sides."""
    if select is not None or not by:
        return select
    shared = {find(side, [each], schemas[side], "by").path[0] for side in SIDES for each in by}
    others = [field.name for field in schemas["r"].fields if field.name not in shared]
    return ["l.*", *(f"r.{quote_name(each)}" for each in others)]

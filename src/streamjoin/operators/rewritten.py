"""Functions that are other operators in disguise: their type rule returns the expression that says the same."""

from collections.abc import Sequence

from streamjoin.operators import rules
from streamjoin.operators.entry import Operator
from streamjoin.operators.expr import Expr, Literal
from streamjoin.operators.types import BIGINT, DATE, DOUBLE, FLOAT, VOID

_NULL = Literal(VOID, None, "NULL")


def _not_null(arg: Expr) -> Expr:
    return rules.type_logic("NOT", [rules.type_test("IS NULL", [arg])])


def _move_date(sign: str, args: Sequence[Expr]) -> Expr:
    """Days added to a date; anything else, and the form with a unit, is Spark's."""
    if len(args) == 2 and args[0].type == DATE and args[1].type.is_integral and args[1].type != BIGINT:
        return rules.type_arithmetic(sign, args)
    raise rules.LeftToSpark


def _nullif(_: str, args: Sequence[Expr]) -> Expr:
    return rules.type_case("CASE", [rules.type_comparison("=", args), _NULL, args[0]])


def _nanvl(_: str, args: Sequence[Expr]) -> Expr:
    if not all(arg.type.is_numeric or arg.type == VOID for arg in args):
        raise rules.LeftToSpark
    type = FLOAT if all(arg.type == FLOAT for arg in args) else DOUBLE
    first, second = (rules.cast(arg, type) for arg in args)
    return rules.type_case("CASE", [rules.type_is_nan("isnan", [first]), second, first])


ENTRIES = (
    Operator("if", lambda _, args: rules.type_case("CASE", args), 3, 3),
    Operator("nullif", _nullif, 2, 2),
    Operator("nvl2", lambda _, args: rules.type_case("CASE", [_not_null(args[0]), *args[1:]]), 3, 3),
    Operator("nanvl", _nanvl, 2, 2),
    Operator("isnotnull", lambda _, args: _not_null(args[0]), 1, 1),
    Operator("date_add", lambda _, args: _move_date("+", args), 2, 3),
    Operator("date_sub", lambda _, args: _move_date("-", args), 2, 2),
)

"""Every operator and function, once."""

from collections.abc import Sequence

from streamjoin.operators import logic, mathematics, numbers, rewritten, text
from streamjoin.operators.entry import MANY, Operator, Signature
from streamjoin.operators.expr import Expr
from streamjoin.operators.rules import Mismatch

OPERATORS: dict[str, Operator] = {
    operator.name: operator for theme in (logic, numbers, mathematics, rewritten, text) for operator in theme.ENTRIES
}
"""All that is understood, by name."""

_NAMES = OPERATORS | {synonym: operator for operator in OPERATORS.values() for synonym in operator.synonyms}

FUNCTION_NAMES = tuple(sorted(name for name in _NAMES if name.isidentifier() and name.islower()))
"""All names that are called as functions, synonyms among them."""


def find(name: str) -> Operator | None:
    """The operator or function of this name, or of this synonym."""
    return _NAMES.get(name)


def apply(op: str, args: Sequence[Expr]) -> Expr:
    """Type one call; `Mismatch` if the arguments do not fit.

    >>> from streamjoin.operators.expr import Column
    >>> from streamjoin.operators.types import DOUBLE, INT
    >>> apply("+", (Column(INT, "l", ("x",)), Column(DOUBLE, "r", ("a",)))).type.name
    'double'
    """
    operator = OPERATORS[op]
    least, most = operator.least, operator.most
    if not least <= len(args) <= most:
        wanted = str(least) if least == most else f"{least} or more" if most == MANY else f"{least} or {most}"
        raise Mismatch(f"{op} takes {wanted} argument{'s' if wanted != '1' else ''}, not {len(args)}")
    assert not isinstance(operator.types, Signature), f"{op} is typed by Spark"
    return operator.types(op, args)

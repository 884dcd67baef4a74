"""Functions on doubles, as Spark computes them to the last digit: by Java's `StrictMath`, which `strict` says anew.

Three do not: Java leaves the last digit of `sin`, `cos` and `tan` to the platform, and so do we.
"""

import math
from collections.abc import Callable, Sequence

from streamjoin.operators import rules
from streamjoin.operators.entry import Operator, Rule
from streamjoin.operators.expr import Expr
from streamjoin.operators.statements import NEVER, Operation, Statements, Value
from streamjoin.operators.strict import angles, exponentials, logarithms, powers


def _real(name: str, value: Callable[..., float], text: str, *synonyms: str) -> Operator:
    """A function on a double, whose code is `text`. It is NaN where Python finds it undefined."""

    def compute(x: float) -> float:
        try:
            return value(x)
        except ValueError:
            return math.nan

    def code(s: Statements, node: Operation) -> Value:
        return Value(s.put(text.format(node.values[0].text)), "float64", may_be_nan=True)

    return Operator(name, rules.type_doubles, 1, 1, compute, code, synonyms=synonyms)


def _strict(
    name: str,
    value: Callable[..., float],
    *synonyms: str,
    takes: int = 1,
    null_up_to: float | None = None,
    types: Rule = rules.type_doubles,
    least: int | None = None,
) -> Operator:
    """A function of `strict`; NULL where an argument is at most `null_up_to`."""

    def compute(*values: float) -> float | None:
        return None if null_up_to is not None and any(x <= null_up_to for x in values) else value(*values)

    def code(s: Statements, node: Operation) -> Value:
        names = [value.text for value in node.values]
        undefined = [s.put(f"{x} <= {null_up_to!r}") for x in names] if null_up_to is not None else [NEVER]
        return Value(s.call_strict(value, names), "float64", s.either(*undefined), may_be_nan=True)

    return Operator(name, types, least or takes, takes, compute, code, synonyms=synonyms)


def _type_log(op: str, args: Sequence[Expr]) -> Expr:
    """Without a base, the natural logarithm."""
    return rules.type_doubles("ln" if len(args) == 1 else op, args)


def _sign(x: float) -> float:
    return x if math.isnan(x) or x == 0 else math.copysign(1.0, x)


ENTRIES = (
    _real("sqrt", math.sqrt, "np.sqrt({0})"),
    _real("radians", lambda x: x * 0.017453292519943295, "{0} * 0.017453292519943295"),
    _real("rint", lambda x: float(round(x)) if math.isfinite(x) and x else x, "np.rint({0})"),
    _real("degrees", lambda x: x * 57.29577951308232, "{0} * 57.29577951308232"),
    _real("sign", _sign, "{0} if ({0} != {0}) | ({0} == 0.0) else np.copysign(1.0, {0})", "signum"),
    _real("sin", math.sin, "np.sin({0})"),
    _real("cos", math.cos, "np.cos({0})"),
    _real("tan", math.tan, "np.tan({0})"),
    _strict("asin", angles.asin),
    _strict("acos", angles.acos),
    _strict("atan", angles.atan),
    _strict("atan2", angles.atan2, takes=2),
    _strict("exp", exponentials.exp),
    _strict("expm1", exponentials.expm1),
    _strict("sinh", exponentials.sinh),
    _strict("cosh", exponentials.cosh),
    _strict("tanh", exponentials.tanh),
    _strict("ln", logarithms.log, null_up_to=0.0),
    _strict("log2", logarithms.log2, null_up_to=0.0),
    _strict("log10", logarithms.log10, null_up_to=0.0),
    _strict("log1p", logarithms.log1p, null_up_to=-1.0),
    _strict("log", logarithms.log_to_base, takes=2, null_up_to=0.0, types=_type_log, least=1),
    _strict("atanh", logarithms.atanh),
    _strict("pow", powers.power, "power", takes=2),
    _strict("cbrt", powers.cbrt),
    _strict("hypot", powers.hypot, takes=2),
)

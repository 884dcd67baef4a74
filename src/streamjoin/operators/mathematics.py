"""Functions on doubles: as Java's mathematical library defines them at NaN, infinities and outside of their domain.

The last digit is the platform's and may differ from Java's, but for `sqrt`, `rint`, `sign`, `radians` and `degrees`.
"""

import math
from collections.abc import Callable

from streamjoin.operators import rules
from streamjoin.operators.entry import Operator
from streamjoin.operators.statements import NEVER, Operation, Statements, Value


def _real(
    name: str, value: Callable[..., float], text: str, *synonyms: str, takes: int = 1, null: str = ""
) -> Operator:
    """A function on doubles; `text` is its code, and `null` says of which arguments it is NULL.

    Where Python overflows it is infinite, where Python finds it undefined it is NaN, or NULL if there is a `null`.
    """

    def compute(*values: float) -> float | None:
        try:
            return value(*values)
        except OverflowError:
            return math.inf
        except ValueError:
            return None if null else math.nan

    def code(s: Statements, node: Operation) -> Value:
        names = [value.text for value in node.values]
        result = s.put(text.format(*names))
        return Value(result, "float64", s.put(null.format(*names)) if null else NEVER, may_be_nan=True)

    return Operator(name, rules.type_doubles, takes, takes, compute, code, synonyms=synonyms)


def _power(x: float, y: float) -> float:
    if math.isnan(y) or (abs(x) == 1 and math.isinf(y)):
        return math.nan  # as in Java, and not as in C
    try:
        return math.pow(x, y)
    except OverflowError:
        return -math.inf if x < 0 and y % 2 == 1 else math.inf
    except ValueError:  # a negative base with a broken exponent, or zero with a negative one
        if x != 0:
            return math.nan
        return math.copysign(math.inf, x) if y % 2 == 1 else math.inf


_POWER = "np.nan if ({1} != {1}) | ((abs({0}) == 1.0) & (abs({1}) == np.inf)) else np.power({0}, {1})"


def _sign(x: float) -> float:
    return x if math.isnan(x) or x == 0 else math.copysign(1.0, x)


ENTRIES = (
    _real("sqrt", math.sqrt, "np.sqrt({0})"),
    _real("exp", math.exp, "np.exp({0})"),
    _real("ln", math.log, "np.log({0})", null="{0} <= 0.0"),
    _real("log10", math.log10, "np.log10({0})", null="{0} <= 0.0"),
    _real("sin", math.sin, "np.sin({0})"),
    _real("cos", math.cos, "np.cos({0})"),
    _real("tan", math.tan, "np.tan({0})"),
    _real("asin", math.asin, "np.arcsin({0})"),
    _real("acos", math.acos, "np.arccos({0})"),
    _real("atan", math.atan, "np.arctan({0})"),
    # Spark adds 0.0 to both, so that there is no -0.0.
    _real("atan2", lambda y, x: math.atan2(y + 0.0, x + 0.0), "np.arctan2({0} + 0.0, {1} + 0.0)", takes=2),
    _real("pow", _power, _POWER, "power", takes=2),
    _real("radians", lambda x: x * 0.017453292519943295, "{0} * 0.017453292519943295"),
    _real("rint", lambda x: float(round(x)) if math.isfinite(x) and x else x, "np.rint({0})"),
    _real("degrees", lambda x: x * 57.29577951308232, "{0} * 57.29577951308232"),
    _real("sign", _sign, "{0} if ({0} != {0}) | ({0} == 0.0) else np.copysign(1.0, {0})", "signum"),
)

"""`evaluate` for compiled code: a condition over key columns becomes statements, one node at a time.

All nodes are computed for every pair. What Spark would not have evaluated (the right side of a false AND, a CASE not
taken, what comes after a NULL) has its error flag masked instead, so nothing branches. Constants are arguments of
the compiled code, so conditions that differ only in them share it; part of the code are only NULL, booleans, NaN,
the places to round to, and whether a divisor is 0 or -1.
"""

import math
from dataclasses import dataclass, field, replace

from streamjoin.operators import machine
from streamjoin.operators.arithmetic import EvaluationError, NotEvaluable
from streamjoin.operators.evaluate import evaluate
from streamjoin.operators.expr import Call, Cast, Column, Expr, Key
from streamjoin.operators.registry import OPERATORS
from streamjoin.operators.statements import ALWAYS, NEVER, Operation, Statements, Value, any_value, dtype_of, no_value
from streamjoin.operators.types import BOOLEAN, VOID
from streamjoin.spec.side import Side


@dataclass
class Lowering(Statements):
    """The statements of a condition, with the key columns and constants that they read.

    A column is the variable ``l0``, ``r0``, ...; where columns may hold NULL (`nullable`), ``l0_null`` is beside it.
    """

    nullable: bool = False
    keys: dict[Side, list[Key]] = field(default_factory=lambda: {"l": [], "r": []})
    ints: list[int] = field(default_factory=list)
    floats: list[float] = field(default_factory=list)
    constants: list[str] = field(default_factory=list)
    _done: dict[str, Value] = field(default_factory=dict)

    def condition(self, expr: Expr) -> tuple[str, str]:
        """Two flags: that the condition is true, and that the pair is left to `evaluate`."""
        value = self.value(expr)
        return self.both(value.text, self.negate(value.null)), value.error

    def value(self, expr: Expr) -> Value:
        """Compute a node, once."""
        if not (expr.type.is_plain or expr.type == VOID):
            raise NotEvaluable(f"{expr} is {expr.type}, not a machine number")
        if not any(isinstance(node, Key) for node in expr.walk()):
            return self._constant(expr)
        written = repr(expr)  # as an expression, 0.0 would equal -0.0
        if written not in self._done:
            self._done[written] = self._node(expr)
        return self._done[written]

    def _node(self, expr: Expr) -> Value:
        match expr:
            case Key():
                return self._key(expr)
            case Cast(type=type, arg=arg):
                value = self.value(arg)
                return self._after([value], machine.cast(self, value, arg.type, type))
            case Call(op=op, type=type, args=args) if (code := OPERATORS[op].code) is not None:
                operator = OPERATORS[op]
                constants = [evaluate(arg, {}, {}) for i, arg in enumerate(args) if i in operator.constants]
                args = tuple(arg for i, arg in enumerate(args) if i not in operator.constants)
                values = [self.value(arg) for arg in args]
                made = code(self, Operation(type, values, [arg.type for arg in args], constants))
                return made if operator.lazy else self._after(values[::-1] if operator.last_first else values, made)
        raise NotEvaluable(str(expr))

    def _key(self, key: Key) -> Value:
        column = f"{key.side}{len(self.keys[key.side])}"
        self.keys[key.side].append(key)
        null = f"{column}_null" if self.nullable else NEVER
        return any_value(column, key.type, null=null, may_be_nan=key.type.is_floating)

    def _constant(self, expr: Expr) -> Value:
        if any(isinstance(node, Column) for node in expr.walk()):
            raise NotEvaluable(f"{expr} is not over key columns")
        try:
            value = evaluate(expr, {}, {})
        except EvaluationError:
            return no_value(expr.type, error=ALWAYS)
        if value is None:
            return no_value(expr.type, null=ALWAYS)
        if expr.type == BOOLEAN:
            return any_value(ALWAYS if value else NEVER, BOOLEAN, constant=value)
        dtype = dtype_of(expr.type)
        if math.isnan(value):
            return any_value(f"np.{dtype}(np.nan)", expr.type, may_be_nan=True)
        if expr.type.is_floating:
            self.floats.append(value)
            place = f"floats[{len(self.floats) - 1}]"
        else:
            self.ints.append(value)
            place = f"ints[{len(self.ints) - 1}]"
        name = f"c{len(self.constants)}"
        self.constants.append(f"{name} = np.{dtype}({place})")
        return any_value(name, expr.type, constant=value)

    def _after(self, values: list[Value], made: Value) -> Value:
        """An operator's own result behind its operands: what comes after a NULL is not evaluated."""
        null = error = NEVER
        for value in (*values, made):
            error = self.either(error, self.both(self.negate(null), value.error))
            null = self.either(null, value.null)
        return replace(made, null=null, error=error)

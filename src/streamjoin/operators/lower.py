"""`evaluate` for compiled code: a condition over key columns becomes statements, one node at a time.

All nodes are computed for every pair. What Spark would not have evaluated (the right side of a false AND, a CASE not
taken, what comes after a NULL) has its error flag masked instead, so nothing branches. Constants are arguments of
the compiled code, so conditions that differ only in them share it; part of the code are only NULL, booleans, NaN,
the places to round to, and whether a divisor is 0 or -1.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from streamjoin.operators import machine
from streamjoin.operators.arithmetic import DIVISIONS, EvaluationError, NotEvaluable
from streamjoin.operators.evaluate import evaluate
from streamjoin.operators.expr import Call, Cast, Column, Expr, Key
from streamjoin.operators.statements import ALWAYS, NEVER, Statements, Value, any_value, dtype_of, no_value
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
        return self.both(value.text, self.negated(value.null)), value.error

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
            case Call(op=op, args=args) if op in _LAZY:
                return _LAZY[op](self, [self.value(arg) for arg in args])
            case Call(op="round", type=type, args=(arg, *places)):
                value = self.value(arg)
                return self._after(
                    [value], machine.rounded(self, type, value, evaluate(places[0], {}, {}) if places else 0)
                )
            case Call(op=op, type=type, args=args):
                values = [self.value(arg) for arg in args]
                made = machine.OPERATORS[op](self, machine.Operation(type, values, [arg.type for arg in args]))
                return self._after(values[::-1] if op in DIVISIONS else values, made)
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
            error = self.either(error, self.both(self.negated(null), value.error))
            null = self.either(null, value.null)
        return replace(made, null=null, error=error)

    # Logic

    def is_true(self, value: Value) -> str:
        """That a condition is neither false nor NULL."""
        return self.both(value.text, self.negated(value.null))

    def is_false(self, value: Value) -> str:
        """That a condition is neither true nor NULL."""
        return self.both(self.negated(value.text), self.negated(value.null))

    def first_of(self, pairs: list[tuple[str, Value]]) -> tuple[str, str, str]:
        """The text, NULL and error flag of the first value whose flag is set; the last one's is."""
        common = _common_dtype([value for _, value in pairs])
        (_, last), *before = reversed(pairs)
        text, null, error = self.held(last, common), last.null, last.error
        for flag, value in before:
            text = self.chosen(flag, self.held(value, common), text)
            null = self.either(self.both(flag, value.null), self.both(self.negated(flag), null))
            error = self.either(self.both(flag, value.error), self.both(self.negated(flag), error))
        return text, null, error


def _common_dtype(values: list[Value]) -> str:
    """The widest: values of one type differ only in how many bits hold a whole number."""
    return max((value.dtype for value in values), key=lambda dtype: np.dtype(getattr(np, dtype)).itemsize)


def _joined(values: list[Value], text: str, null: str, error: str) -> Value:
    """The value that is one of several."""
    return Value(
        text,
        _common_dtype(values),
        null,
        error,
        min(value.low for value in values),
        max(value.high for value in values),
        any(value.may_be_nan for value in values),
    )


def _and(s: Lowering, values: list[Value]) -> Value:
    left, right = values
    no = s.is_false(left)
    null = s.both(s.either(left.null, right.null), s.negated(no), s.negated(s.is_false(right)))
    error = s.either(left.error, s.both(s.negated(no), right.error))
    return Value(s.both(left.text, right.text), "bool_", null, error)


def _or(s: Lowering, values: list[Value]) -> Value:
    left, right = values
    yes, also = s.is_true(left), s.is_true(right)
    null = s.both(s.either(left.null, right.null), s.negated(yes), s.negated(also))
    error = s.either(left.error, s.both(s.negated(yes), right.error))
    return Value(s.either(yes, also), "bool_", null, error)


def _null_safe_equal(s: Lowering, values: list[Value]) -> Value:
    a, b = values
    known = s.both(s.negated(a.null), s.negated(b.null), s.equal(a, b))
    return Value(s.either(s.both(a.null, b.null), known), "bool_", error=s.either(a.error, b.error))


def _in(s: Lowering, values: list[Value]) -> Value:
    wanted, *items = values
    found = s.either(*(s.both(s.negated(item.null), s.equal(item, wanted)) for item in items))
    unknown = s.both(s.either(*(item.null for item in items)), s.negated(found))
    return Value(found, "bool_", s.either(wanted.null, unknown), s.either(*(value.error for value in values)))


def _case(s: Lowering, values: list[Value]) -> Value:
    conditions, results = values[:-1:2], [*values[1::2], values[-1]]
    taken = [*(s.is_true(condition) for condition in conditions), ALWAYS]
    text, null, error = s.first_of(list(zip(taken, results, strict=True)))
    reached = ALWAYS
    for condition, flag in zip(conditions, taken, strict=False):
        error = s.either(error, s.both(reached, condition.error))
        reached = s.both(reached, s.negated(flag))
    return _joined(results, text, null, error)


def _coalesce(s: Lowering, values: list[Value]) -> Value:
    text, null, error = s.first_of([(s.negated(value.null), value) for value in values])
    reached = ALWAYS
    for value in values:
        error = s.either(error, s.both(reached, value.error))
        reached = s.both(reached, value.null)
    return _joined(values, text, null, error)


def _extreme(replaces: Callable[[Statements, Value, Value], str]) -> Callable[[Lowering, list[Value]], Value]:
    """The first of the least or greatest values that are not NULL."""

    def apply(s: Lowering, values: list[Value]) -> Value:
        best = values[0]
        for value in values[1:]:
            better = s.both(s.negated(value.null), s.either(best.null, replaces(s, value, best)))
            common = _common_dtype([best, value])
            text = s.chosen(better, s.held(value, common), s.held(best, common))
            best = _joined([best, value], text, s.both(best.null, value.null), s.either(best.error, value.error))
        return best

    return apply


_LAZY: dict[str, Callable[[Lowering, list[Value]], Value]] = {
    "AND": _and,
    "OR": _or,
    "<=>": _null_safe_equal,
    "IN": _in,
    "CASE": _case,
    "coalesce": _coalesce,
    "least": _extreme(lambda s, value, best: s.less(value, best)),
    "greatest": _extreme(lambda s, value, best: s.less(best, value)),
    "IS NULL": lambda _, values: Value(values[0].null, "bool_", error=values[0].error),
    "IS TRUE": lambda s, values: Value(s.is_true(values[0]), "bool_", error=values[0].error),
    "IS FALSE": lambda s, values: Value(s.is_false(values[0]), "bool_", error=values[0].error),
}
"""Operators that see NULL, or that do not look at every argument."""

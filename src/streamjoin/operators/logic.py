"""Comparison and logic: values that are compared, tested and chosen, three-valued where NULL has a part."""

import operator
from collections.abc import Callable
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from streamjoin.operators import rules
from streamjoin.operators.arithmetic import order_key
from streamjoin.operators.entry import MANY, Operator, Rule
from streamjoin.operators.expr import Expr
from streamjoin.operators.statements import ALWAYS, NEVER, Operation, Statements, Value, common_dtype, join_values

Evaluate = Callable[[Expr], Any]

# Values


def _connect(deciding: bool) -> Callable[[tuple[Expr, ...], Evaluate], bool | None]:
    """AND or OR: one operand that is `deciding` decides, and what comes after it is not evaluated."""

    def connect(args: tuple[Expr, ...], value: Evaluate) -> bool | None:
        left = value(args[0])
        right = deciding if left is deciding else value(args[1])
        return deciding if right is deciding else None if None in (left, right) else not deciding

    return connect


def _null_safe_equal(args: tuple[Expr, ...], value: Evaluate) -> bool:
    a, b = map(value, args)
    return a is b if None in (a, b) else order_key(a) == order_key(b)


def _in(args: tuple[Expr, ...], value: Evaluate) -> bool | None:
    wanted, *items = map(value, args)
    if wanted is None:
        return None
    found = any(item is not None and order_key(item) == order_key(wanted) for item in items)
    return True if found else None if None in items else False


def _case(args: tuple[Expr, ...], value: Evaluate) -> Any:
    for condition, result in zip(args[:-1:2], args[1::2], strict=True):
        if value(condition) is True:
            return value(result)
    return value(args[-1])


def _coalesce(args: tuple[Expr, ...], value: Evaluate) -> Any:
    return next((v for v in map(value, args) if v is not None), None)


def _choose(best: Callable[..., Any]) -> Callable[[tuple[Expr, ...], Evaluate], Any]:
    return lambda args, value: best((v for v in map(value, args) if v is not None), key=order_key, default=None)


def _compare(holds: Callable[[Any, Any], bool]) -> Callable[..., bool]:
    return lambda a, b: holds(order_key(a), order_key(b))


# Compiled code


def _write_is_nan(s: Statements, value: Value) -> str:
    return s.both(s.put(f"{value.text} != {value.text}"), s.negate(value.null)) if value.may_be_nan else NEVER


def _write_not(s: Statements, node: Operation) -> Value:
    return Value(s.negate(node.values[0].text), "bool_")


def _write_and(s: Statements, node: Operation) -> Value:
    left, right = node.values
    no = s.is_false(left)
    null = s.both(s.either(left.null, right.null), s.negate(no), s.negate(s.is_false(right)))
    error = s.either(left.error, s.both(s.negate(no), right.error))
    return Value(s.both(left.text, right.text), "bool_", null, error)


def _write_or(s: Statements, node: Operation) -> Value:
    left, right = node.values
    yes, also = s.is_true(left), s.is_true(right)
    null = s.both(s.either(left.null, right.null), s.negate(yes), s.negate(also))
    error = s.either(left.error, s.both(s.negate(yes), right.error))
    return Value(s.either(yes, also), "bool_", null, error)


def _write_null_safe_equal(s: Statements, node: Operation) -> Value:
    a, b = node.values
    known = s.both(s.negate(a.null), s.negate(b.null), s.equal(a, b))
    return Value(s.either(s.both(a.null, b.null), known), "bool_", error=s.either(a.error, b.error))


def _write_in(s: Statements, node: Operation) -> Value:
    wanted, *items = node.values
    found = s.either(*(s.both(s.negate(item.null), s.equal(item, wanted)) for item in items))
    unknown = s.both(s.either(*(item.null for item in items)), s.negate(found))
    return Value(found, "bool_", s.either(wanted.null, unknown), s.either(*(value.error for value in node.values)))


def _write_case(s: Statements, node: Operation) -> Value:
    conditions, results = node.values[:-1:2], [*node.values[1::2], node.values[-1]]
    taken = [*(s.is_true(condition) for condition in conditions), ALWAYS]
    text, null, error = s.first_of(list(zip(taken, results, strict=True)))
    reached = ALWAYS
    for condition, flag in zip(conditions, taken, strict=False):
        error = s.either(error, s.both(reached, condition.error))
        reached = s.both(reached, s.negate(flag))
    return join_values(results, text, null, error)


def _write_coalesce(s: Statements, node: Operation) -> Value:
    text, null, error = s.first_of([(s.negate(value.null), value) for value in node.values])
    reached = ALWAYS
    for value in node.values:
        error = s.either(error, s.both(reached, value.error))
        reached = s.both(reached, value.null)
    return join_values(node.values, text, null, error)


def _write_extreme(replaces: Callable[[Statements, Value, Value], str]) -> Callable[[Statements, Operation], Value]:
    """The first of the least or greatest values that are not NULL."""

    def apply(s: Statements, node: Operation) -> Value:
        best = node.values[0]
        for value in node.values[1:]:
            better = s.both(s.negate(value.null), s.either(best.null, replaces(s, value, best)))
            common = common_dtype([best, value])
            text = s.choose(better, s.hold(value, common), s.hold(best, common))
            best = join_values([best, value], text, s.both(best.null, value.null), s.either(best.error, value.error))
        return best

    return apply


# Arrow columns


def _match_nulls(a: pa.Array, b: pa.Array) -> pa.Array:
    return pc.if_else(pc.or_(a.is_null(), b.is_null()), pc.and_(a.is_null(), b.is_null()), pc.equal(a, b))


def _find_in(wanted: pa.Array, *items: pa.Array) -> pa.Array:
    return reduce(pc.or_kleene, (pc.equal(wanted, item) for item in items))


def _choose_case(*args: pa.Array) -> pa.Array:
    *pairs, otherwise = args
    for condition, value in reversed(list(zip(pairs[::2], pairs[1::2], strict=True))):
        otherwise = pc.if_else(condition.fill_null(False), value, otherwise)
    return otherwise


def _is_false(column: pa.Array) -> pa.Array:
    return pc.invert(column.fill_null(True))


# Entries


def _comparison(
    name: str, holds: Callable[[Any, Any], bool], text: Callable[[Statements, Value, Value], str], arrow: Any
) -> Operator:
    def code(s: Statements, node: Operation) -> Value:
        return Value(text(s, *node.values), "bool_")

    return Operator(name, rules.type_comparison, 2, 2, _compare(holds), code, arrow)


def _lazy(
    name: str,
    types: Rule,
    least: int,
    most: int,
    value: Any,
    code: Any,
    arrow: Any,
    *synonyms: str,
    guards: bool = False,
) -> Operator:
    return Operator(name, types, least, most, value, code, arrow, synonyms, lazy=True, guards=guards)


def _test(name: str, types: Any, value: Callable[[Any], bool], text: Any, arrow: Any, *synonyms: str) -> Operator:
    def code(s: Statements, node: Operation) -> Value:
        return Value(text(s, node.values[0]), "bool_", error=node.values[0].error)

    def test(args: tuple[Expr, ...], evaluate: Evaluate) -> bool:
        return value(evaluate(args[0]))

    return Operator(name, types, 1, 1, test, code, arrow, synonyms, lazy=True)


_LESS = _write_extreme(lambda s, value, best: s.less(value, best))
_GREATER = _write_extreme(lambda s, value, best: s.less(best, value))

ENTRIES = (
    _comparison("=", operator.eq, lambda s, a, b: s.equal(a, b), pc.equal),
    _comparison("<>", operator.ne, lambda s, a, b: s.negate(s.equal(a, b)), pc.not_equal),
    _comparison("<", operator.lt, lambda s, a, b: s.less(a, b), pc.less),
    _comparison("<=", operator.le, lambda s, a, b: s.not_greater(a, b), pc.less_equal),
    _comparison(">", operator.gt, lambda s, a, b: s.less(b, a), pc.greater),
    _comparison(">=", operator.ge, lambda s, a, b: s.not_greater(b, a), pc.greater_equal),
    _lazy("<=>", rules.type_comparison, 2, 2, _null_safe_equal, _write_null_safe_equal, _match_nulls, "equal_null"),
    _lazy("AND", rules.type_logic, 2, 2, _connect(False), _write_and, pc.and_kleene, guards=True),
    _lazy("OR", rules.type_logic, 2, 2, _connect(True), _write_or, pc.or_kleene, guards=True),
    Operator("NOT", rules.type_logic, 1, 1, operator.not_, _write_not, pc.invert),
    _test("IS NULL", rules.type_test, lambda v: v is None, lambda _, v: v.null, pc.is_null, "isnull"),
    _test("IS TRUE", rules.type_logic, lambda v: v is True, Statements.is_true, lambda c: c.fill_null(False)),
    _test("IS FALSE", rules.type_logic, lambda v: v is False, Statements.is_false, _is_false),
    _test("isnan", rules.type_is_nan, lambda v: v is not None and v != v, _write_is_nan, None),
    _lazy("IN", rules.type_in, 2, MANY, _in, _write_in, _find_in),
    _lazy("CASE", rules.type_case, 3, MANY, _case, _write_case, _choose_case, guards=True),
    _lazy(
        "coalesce", rules.type_choice, 1, MANY, _coalesce, _write_coalesce, pc.coalesce, "nvl", "ifnull", guards=True
    ),
    _lazy("least", rules.type_choice, 2, MANY, _choose(min), _LESS, pc.min_element_wise),
    _lazy("greatest", rules.type_choice, 2, MANY, _choose(max), _GREATER, pc.max_element_wise),
)

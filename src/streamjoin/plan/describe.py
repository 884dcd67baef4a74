"""A plan as plain data: what the state of a join depends on.

Written out by hand, so that neither a class that is renamed nor a sentence that is reworded changes it.
"""

from collections.abc import Sequence
from typing import TypeAlias

from streamjoin.operators.expr import Call, Cast, Column, Expr, Literal, Opaque
from streamjoin.plan.plan import Plan
from streamjoin.plan.reduction import Aggregate, Operand, Pick, Reduction, Sliding, Taken
from streamjoin.predicate.conjunct import Band, Conjunct, Equi
from streamjoin.predicate.linear import Bound
from streamjoin.spec.side import NAMED, SIDES
from streamjoin.spec.window import Between, Both, Last, Tumbling, Window

Data: TypeAlias = "str | int | list[Data] | dict[str, Data] | None"
"""What JSON can say."""


def describe_plan(plan: Plan) -> dict[str, Data]:
    """The condition, how it is served, window, type, keys and payload columns."""
    parts: dict[str, Data] = {
        "on": describe_expression(plan.predicate.condition),
        "conjuncts": [_describe_conjunct(conjunct) for conjunct in plan.predicate.conjuncts],
        "how": plan.how,
        "window": _describe_window(plan.window),
        "ordered": plan.ordered,
    }
    if plan.reduction is not None:
        parts["reduction"] = _describe_reduction(plan.reduction)
    for side in SIDES:
        parts[f"{NAMED[side]} keys"] = [describe_expression(key) for key in plan.keys[side]]
        parts[f"{NAMED[side]} payload"] = [str(type) for type in plan.payload(side).types]
    return parts


def _describe_reduction(reduction: Reduction) -> Data:
    if isinstance(reduction, Pick):
        return ["pick", reduction.direction, reduction.exact]
    if isinstance(reduction, Sliding):
        return ["sliding", reduction.size, reduction.every, reduction.keys, _describe_aggregates(reduction.each)]
    return _describe_aggregates(reduction.each)


def _describe_aggregates(aggregates: Sequence[Aggregate]) -> Data:
    return [[each.op, str(each.type), each.known, *map(_describe_operand, each.operands)] for each in aggregates]


def _describe_operand(operand: Operand) -> Data:
    if isinstance(operand, Taken):
        return [operand.side, operand.column]
    return [describe_expression(operand.expr), list(operand.left), list(operand.right)]


def describe_expression(expr: Expr) -> Data:
    """An expression by its meaning: how it was written is left out."""
    match expr:
        case Column():
            return ["column", str(expr.type), expr.side, *expr.path]
        case Literal():
            return ["literal", str(expr.type), expr.value if isinstance(expr.value, str) else expr.same]
        case Call():
            return ["call", str(expr.type), expr.op, *map(describe_expression, expr.args)]
        case Cast():
            return ["cast", str(expr.type), describe_expression(expr.arg)]
        case Opaque():
            pieces = (piece if isinstance(piece, str) else describe_expression(piece) for piece in expr.pieces)
            return ["sql", str(expr.type), *pieces]
    raise TypeError(f"not an expression: {expr!r}")


def _describe_conjunct(conjunct: Conjunct) -> Data:
    match conjunct:
        case Equi():
            return [conjunct.kind, conjunct.null_safe, *map(describe_expression, conjunct.keys)]
        case Band():
            keys = describe_expression(conjunct.left), describe_expression(conjunct.right)
            return [conjunct.kind, *keys, _describe_bound(conjunct.lower), _describe_bound(conjunct.upper)]
    return [conjunct.kind, describe_expression(conjunct.exact)]


def _describe_bound(bound: Bound | None) -> Data:
    return None if bound is None else [str(bound.value), bound.open]


def _describe_window(window: Window) -> Data:
    match window:
        case Between():
            return ["between", window.lower, window.upper, window.closed]
        case Tumbling():
            return ["tumbling", window.size, window.offset]
        case Last():
            return ["last", window.left, window.right]
        case Both():
            return ["both", _describe_window(window.count), _describe_window(window.time)]
    raise TypeError(f"not a window: {window!r}")

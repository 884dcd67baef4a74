"""What sqlglot's nodes mean: operators, functions with a syntax of their own, types that the form tells."""

from sqlglot import exp

from streamjoin.operators.entry import Operator
from streamjoin.operators.registry import find
from streamjoin.operators.types import BOOLEAN, STRING, Type, parse_type
from streamjoin.spec.duration import CALENDAR_UNITS

_OPERATORS: dict[type[exp.Expr], str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
    exp.IntDiv: "div",
    exp.Neg: "-",
    exp.BitwiseAnd: "&",
    exp.BitwiseOr: "|",
    exp.BitwiseXor: "^",
    exp.BitwiseNot: "~",
    exp.EQ: "=",
    exp.NullSafeEQ: "<=>",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.And: "AND",
    exp.Or: "OR",
    exp.Not: "NOT",
}


def drop_not(node: exp.Expr) -> exp.Expr:
    """A match with a pattern as it is written without NOT: sqlglot keeps that within it."""
    positive = node.copy()
    (positive.this if isinstance(positive, exp.Escape) else positive).args.pop("negate", None)
    return positive


_BITWISE = (exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor)


def _mixes_bits(node: exp.Expr) -> bool:
    """Whether & | ^ stand beside each other without parentheses: Spark binds & closest, sqlglot reads from the left."""
    parts = (node.this, node.expression) if isinstance(node, _BITWISE) else ()
    return any(isinstance(part, _BITWISE) and type(part) is not type(node) for part in parts)


def find_operator(node: exp.Expr) -> str | None:
    """The operator of a node that has one or two operands."""
    return None if _mixes_bits(node) else _OPERATORS.get(type(node))


def find_call(node: exp.Expr) -> tuple[Operator, list[exp.Expr]] | None:
    """The function of strings or arrays that a node calls, in whatever syntax, and its arguments."""
    match node:
        case exp.Anonymous():
            op, args = str(node.this).lower(), list(node.expressions)
        case exp.Like() | exp.ILike() | exp.RegexpLike() if not isinstance(node.expression, exp.Any | exp.All):
            names: dict[type[exp.Expr], str] = {exp.Like: "like", exp.ILike: "ilike", exp.RegexpLike: "rlike"}
            op, args = names[type(node)], [node.this, node.expression]
        case exp.Escape() if (called := find_call(node.this)) is not None:
            op, args = called[0].name, [*called[1], node.expression]
        case exp.DPipe():
            op, args = "concat", [node.this, node.expression]
        case exp.Substring():
            op, args = "substring", [node.args[part] for part in ("this", "start", "length") if node.args.get(part)]
        case exp.StrPosition() if node.args.get("position") is None:
            op, args = "locate", [node.args["substr"], node.this]
        case exp.Trim() if node.expression is None:
            sides = {"LEADING": "ltrim", "TRAILING": "rtrim"}
            op, args = sides.get(str(node.args.get("position")).upper(), "trim"), [node.this]
        case _:
            return None
    operator = find(op)
    return (operator, args) if operator is not None and operator.is_function else None


def infer_type(node: exp.Expr) -> Type | None:
    """The type of syntax that Spark alone evaluates but whose type its form tells."""
    if isinstance(node, exp.Predicate | exp.Like | exp.RegexpLike):
        return BOOLEAN
    if isinstance(node, exp.Interval):
        unit = str(node.unit or "").lower().removesuffix("s")
        return Type("interval month") if unit in CALENDAR_UNITS else None
    if isinstance(node, exp.Cast):
        return parse_type(node.to.sql(dialect="spark"))
    return STRING if isinstance(node, exp.DPipe) else None

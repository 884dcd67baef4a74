"""SQL text over `l` and `r` becomes a typed expression.

sqlglot parses (`written`), `names` resolves columns, `syntax` finds operators, `refuse` says what has no meaning; this
module types every node by the registry. A function that the registry does not know is carried as text for Spark. So is
a function of strings, with what a worker must know to evaluate it.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from sqlglot import exp

from streamjoin.errors import StreamJoinError
from streamjoin.operators.arithmetic import EvaluationError, NotEvaluable, cast_value
from streamjoin.operators.entry import Signature
from streamjoin.operators.expr import Cast, Column, Expr, Function, Literal, Opaque
from streamjoin.operators.registry import apply, find
from streamjoin.operators.rules import LeftToSpark, Mismatch
from streamjoin.operators.types import (
    BOOLEAN,
    DATE,
    INTERVAL,
    INTERVAL_DAY,
    STRING,
    UNKNOWN,
    VOID,
    Schema,
    Type,
    parse_type,
)
from streamjoin.spec.duration import UNITS, microseconds
from streamjoin.sql.constant import SUFFIXES, read_number, read_text
from streamjoin.sql.names import Names
from streamjoin.sql.refuse import explain_no_repeat, refuse_meaningless
from streamjoin.sql.syntax import drop_not, find_call, find_operator, infer_type
from streamjoin.sql.written import Dialect, Written

TypeOf = Callable[[str], Type | None]
"""Asks Spark for the type of an SQL expression over ``l.`` and ``r.`` columns; None where it has none."""


def bind(text: str, left: Schema, right: Schema, typeof: TypeOf | None = None) -> Expr:
    """Parse and type a condition.

    >>> print(bind("abs(x - r.a) <= 10", Schema({"x": "int"}), Schema({"a": "int"})))
    abs(l.x - r.a) <= 10
    """
    return _Binder(text, left, right, typeof).condition()


def bind_expression(text: str, left: Schema, right: Schema, typeof: TypeOf | None = None) -> Expr:
    """Parse and type an expression of any type, an argument of an aggregate.

    >>> print(bind_expression("x - r.a", Schema({"x": "int"}), Schema({"a": "int"})).type)
    int
    """
    binder = _Binder(text, left, right, typeof)
    try:
        return binder.bind(binder.written.parse())
    except StreamJoinError as error:
        raise StreamJoinError(str(error).replace("on:", "select:", 1)) from None


class _Binder:
    def __init__(self, text: str, left: Schema, right: Schema, typeof: TypeOf | None) -> None:
        self.written = Written(text)
        self.names = Names(self.written, left, right)
        self.typeof = typeof

    def condition(self) -> Expr:
        """The whole text as a boolean expression."""
        if not self.written.text.strip():
            raise StreamJoinError("on: the condition is empty; expected one such as l.x <= r.a")
        try:
            tree = self.written.parse()
            expr = self.bind(tree)
        except RecursionError:
            raise StreamJoinError("on: the condition is nested too deeply; compute parts of it as columns") from None
        if expr.type not in (BOOLEAN, UNKNOWN, VOID):
            raise self.written.error(f"expected a condition, but this is {expr.type}", self.written.span(tree))
        return expr

    def bind(self, node: exp.Expr) -> Expr:
        """One node and all below it."""
        refuse_meaningless(node, self.written)
        match node:
            case exp.Paren():
                return self.bind(node.this)
            case exp.Column() | exp.Dot() if all(isinstance(part, exp.Identifier) for part in node.parts):
                return self.names.column(node)
            case exp.Literal() | exp.Boolean() | exp.Null() | exp.Interval():
                return self.literal(node)
            case exp.Neg(this=exp.Literal(is_string=False) as positive):
                return read_number(f"-{positive.this}", self.written.span(node))
            case exp.Neg(this=exp.Cast() as suffixed) if self.is_suffixed(suffixed):
                return self.read_suffixed(suffixed, sign="-")
            case exp.Between():
                above = self.call(">=", [node.this, node.args["low"]], node)
                return self.apply("AND", [above, self.call("<=", [node.this, node.args["high"]], node)], node)
            case exp.In(expressions=[_, *_]):
                return self.call("IN", [node.this, *node.expressions], node)
            case exp.Is():
                return self.test(node)
            case exp.NullSafeNEQ():
                return self.apply("NOT", [self.call("<=>", [node.this, node.expression], node)], node)
            case exp.Case() | exp.If():
                return self.case(node)
            case exp.Cast() if not node.args.get("safe"):
                return self.cast(node)
            case exp.Anonymous():
                return self.function(node)
            case exp.Like() | exp.ILike() | exp.Escape() if (match := drop_not(node)) != node:
                return self.apply("NOT", [self.leave_to_spark(match)], node)
        if (op := find_operator(node)) is not None:
            return self.call(op, [node.this, *([node.expression] if isinstance(node, exp.Binary) else [])], node)
        return self.leave_to_spark(node)

    def call(self, op: str, args: Sequence[exp.Expr], node: exp.Expr) -> Expr:
        return self.apply(op, [self.bind(arg) for arg in args], node)

    def apply(self, op: str, args: Sequence[Expr], node: exp.Expr) -> Expr:
        try:
            expr = apply(op, args)
        except Mismatch as mismatch:
            raise self.written.error(
                str(mismatch), mismatch.at.span if mismatch.at else self.written.span(node)
            ) from None
        object.__setattr__(expr, "span", self.written.span(node))
        return expr

    def test(self, node: exp.Is) -> Expr:
        """IS [NOT] NULL, TRUE, FALSE; sqlglot puts the NOT outside."""
        match node.expression:
            case exp.Null():
                return self.call("IS NULL", [node.this], node)
            case exp.Boolean(this=value):
                return self.call("IS TRUE" if value else "IS FALSE", [node.this], node)
        return self.leave_to_spark(node)

    def case(self, node: exp.Case | exp.If) -> Expr:
        branches = [node] if isinstance(node, exp.If) else node.args["ifs"]
        default = node.args.get("false" if isinstance(node, exp.If) else "default")
        subject = node.this if isinstance(node, exp.Case) else None
        args = []
        for branch in branches:
            args.append(self.call("=", [subject, branch.this], branch) if subject else self.bind(branch.this))
            args.append(self.bind(branch.args["true"]))
        args.append(self.bind(default) if default else Literal(VOID, None, "NULL"))
        return self.apply("CASE", args, node)

    def cast(self, node: exp.Cast) -> Expr:
        target = parse_type(node.to.sql(dialect="spark"))
        if self.is_suffixed(node):
            return self.read_suffixed(node)
        text = node.this.this if isinstance(node.this, exp.Literal) and node.this.is_string else None
        if text is not None and text.strip().lower() in ("now", "today", "yesterday", "tomorrow"):
            raise self.written.error(explain_no_repeat(f"'{text}'"), self.written.span(node))
        if text is not None and (literal := read_text(text, target, self.written.span(node))) is not None:
            return literal
        return Cast(target, self.bind(node.this), span=self.written.span(node))

    def is_suffixed(self, node: exp.Cast) -> bool:
        """Whether it is a constant such as 5L or 3BD, which sqlglot reads as a cast."""
        if not isinstance(node.this, exp.Literal):
            return False
        start, end = self.written.span(node.this)
        return "start" not in node.this.meta or (
            not node.this.is_string and self.written.text[start:end][-1:].isalpha()
        )

    def read_suffixed(self, node: exp.Cast, sign: str = "") -> Expr:
        digits, target = f"{sign}{node.this.this}", parse_type(node.to.sql(dialect="spark"))
        plain = read_number(digits, self.written.span(node))
        try:
            value = cast_value(plain.value, plain.type, target)
        except (EvaluationError, NotEvaluable):
            raise self.written.error(
                f"{digits}{SUFFIXES[target.name]} does not fit into {target}", plain.span
            ) from None
        return Literal(target, value, f"{digits}{SUFFIXES[target.name]}", span=plain.span)

    def function(self, node: exp.Anonymous) -> Expr:
        operator = find(str(node.this).lower())
        if operator is None or operator.is_function:
            return self.leave_to_spark(node)
        try:
            return self.call(operator.name, node.expressions, node)
        except LeftToSpark:
            return self.leave_to_spark(node)

    def literal(self, node: exp.Expr) -> Expr:
        match node:
            case exp.Null():
                return Literal(VOID, None, "NULL", span=self.written.span(node))
            case exp.Boolean(this=value):
                return Literal(BOOLEAN, bool(value), "TRUE" if value else "FALSE", span=self.written.span(node))
            case exp.Literal(this=text, is_string=True):
                return Literal(STRING, text, node.sql(dialect=Dialect), span=self.written.span(node))
            case exp.Literal(this=text):
                return read_number(text, self.written.span(node))
            case exp.Interval(this=exp.Literal(this=amount), unit=exp.Var(this=unit)):
                name = str(unit).lower().removesuffix("s")
                if name in UNITS:
                    try:
                        us = microseconds(f"{amount} {unit}", "INTERVAL")
                    except StreamJoinError as error:
                        raise self.written.error(str(error), self.written.span(node)) from None
                    kind = INTERVAL_DAY if name in ("day", "week") and us % UNITS["day"] == 0 else INTERVAL
                    return Literal(kind, us, f"INTERVAL '{amount}' {unit}", span=self.written.span(node))
        return self.leave_to_spark(node)

    def leave_to_spark(self, node: exp.Expr) -> Expr:
        """Leave a node to Spark: its names are resolved, the rest is text."""
        columns: list[Column] = []

        def slot(part: exp.Expr) -> exp.Expr:
            if isinstance(part, exp.Column):
                columns.append(self.names.column(part))
                return exp.Var(this=f"\0{len(columns) - 1}\0")
            refuse_meaningless(part, self.written)
            return part

        text = node.copy().transform(slot).sql(dialect=Dialect, normalize_functions=False)
        if not isinstance(node, exp.Anonymous | exp.Bracket | exp.Cast | exp.Interval):
            text = f"({text})"
        pieces = tuple(
            columns[int(piece)] if odd else piece
            for odd, piece in ((i % 2, piece) for i, piece in enumerate(text.split("\0")))
            if odd or piece
        )
        opaque = Opaque(UNKNOWN, pieces, span=self.written.span(node))
        if (known := self.understand(node, opaque)) is not None:
            return known
        kind = infer_type(node) or (self.typeof(str(opaque)) if self.typeof else None)
        return replace(opaque, type=kind or UNKNOWN)

    def understand(self, node: exp.Expr, opaque: Opaque) -> Function | None:
        """With what a worker must know to evaluate it, if it is a function that workers evaluate."""
        if (called := find_call(node)) is None:
            return None
        operator, nodes = called
        if not operator.least <= len(nodes) <= operator.most:
            return None
        try:
            args = [self.bind(arg) for arg in nodes]
        except StreamJoinError:
            return None  # Spark knows better
        signature = operator.types
        assert isinstance(signature, Signature)
        args = [_as_string(arg) if takes == STRING else arg for arg, takes in zip(args, signature.takes, strict=False)]
        if not signature.fits([arg.type for arg in args]):
            return None
        return Function(signature.yields, opaque.pieces, operator.name, tuple(args), span=opaque.span)


def _as_string(expr: Expr) -> Expr:
    """A value of one side as the string that Spark makes of it for a function of strings."""
    simple = expr.type.is_numeric or expr.type in (DATE, BOOLEAN) or expr.type.is_timestamp
    return Cast(STRING, expr, implicit=True, span=expr.span) if simple and len(expr.sides) == 1 else expr

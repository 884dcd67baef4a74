"""SQL text over `l` and `r` becomes a typed expression.

sqlglot parses (Spark dialect); this module resolves names against the two schemas and types every node by
`rules`. Function calls keep the name they were written with: those that `rules` knows are understood, the others
are carried as text for Spark. Every error shows the text with a caret under the place.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, ClassVar

import sqlglot
from sqlglot import exp
from sqlglot.dialects import Spark
from sqlglot.errors import ParseError, TokenError

from streamjoin.duration import CALENDAR_UNITS, UNITS, microseconds
from streamjoin.errors import StreamJoinError
from streamjoin.predicate import rules
from streamjoin.predicate.arithmetic import EvaluationError, NotEvaluable, cast_value
from streamjoin.predicate.constant import SUFFIXES, number, typed_text
from streamjoin.predicate.expr import NO_SPAN, Cast, Column, Expr, Function, Literal, Opaque, Side, Span
from streamjoin.predicate.functions import FUNCTIONS, SYNONYMS
from streamjoin.predicate.pointer import closing_paren, explained, pointed, suggestion
from streamjoin.predicate.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    INTERVAL,
    INTERVAL_DAY,
    STRING,
    UNKNOWN,
    VOID,
    Schema,
    Type,
    find_field,
    parse_type,
)

TypeOf = Callable[[str], Type | None]
"""Asks Spark for the type of an SQL expression over ``l.`` and ``r.`` columns; None where it has none."""


class _Text(Spark):  # type: ignore[misc]
    """Spark's grammar with every function call left as it was written."""

    class Parser(Spark.Parser):  # type: ignore[misc]
        FUNCTIONS: ClassVar[dict[str, Any]] = {}
        FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
            name: parser
            for name, parser in Spark.Parser.FUNCTION_PARSERS.items()
            if name in ("CAST", "TRY_CAST", "EXTRACT", "OVERLAY", "POSITION", "SUBSTR", "SUBSTRING", "TRIM")
        }  # those with a syntax of their own


_OPERATORS: dict[type[exp.Expr], str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
    exp.IntDiv: "div",
    exp.Neg: "-",
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

_NOT_REPEATABLE = frozenset(
    (
        *("rand", "random", "randn", "uuid", "shuffle", "randstr", "uniform"),
        *("current_timestamp", "now", "current_date", "curdate", "current_time", "localtimestamp"),
        *("monotonically_increasing_id", "spark_partition_id", "input_file_name"),
        *("input_file_block_start", "input_file_block_length", "reflect", "java_method"),
    )
)


_NO_REPEAT = (
    "{} gives another value at every try, so the join would have no repeatable result; "
    "compute it as a column before the join"
)
_MORE_AGGREGATES = frozenset(  # Spark's, beyond those that sqlglot lists
    (
        *("collect_list", "collect_set", "mean", "std", "percentile", "approx_percentile", "percentile_approx"),
        *("bit_and", "bit_or", "bit_xor", "every", "some", "try_sum", "try_avg", "listagg", "string_agg"),
        *("histogram_numeric", "count_min_sketch"),
    )
)
_TESTS = (exp.In, exp.Between, exp.Is, exp.Like, exp.ILike, exp.RegexpLike)
_COMPARISONS = (exp.EQ, exp.NullSafeEQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)


@cache
def _aggregates() -> frozenset[str]:
    def below(cls: type[exp.Func]) -> set[type[exp.Func]]:
        return {cls}.union(*(below(sub) for sub in cls.__subclasses__()))

    return _MORE_AGGREGATES | {name.lower() for cls in below(exp.AggFunc) for name in cls.sql_names()}


def bind(text: str, left: Schema, right: Schema, typeof: TypeOf | None = None) -> Expr:
    """Parse and type a condition.

    >>> print(bind("abs(x - r.a) <= 10", Schema({"x": "int"}), Schema({"a": "int"})))
    abs(l.x - r.a) <= 10
    """
    return _Binder(text, left, right, typeof).condition()


class _Binder:
    def __init__(self, text: str, left: Schema, right: Schema, typeof: TypeOf | None) -> None:
        self.text = text
        self.schemas: dict[Side, Schema] = {"l": left, "r": right}
        self.typeof = typeof

    def condition(self) -> Expr:
        """The whole text as a boolean expression."""
        if not self.text.strip():
            raise StreamJoinError("on: the condition is empty; expected one such as l.x <= r.a")
        try:
            tree = self.parse()
            expr = self.bind(tree)
        except RecursionError:
            raise StreamJoinError("on: the condition is nested too deeply; compute parts of it as columns") from None
        if expr.type not in (BOOLEAN, UNKNOWN, VOID):
            raise self.error(f"expected a condition, but this is {expr.type}", self.span(tree))
        return expr

    def parse(self) -> exp.Expr:
        try:
            tree = sqlglot.parse_one(self.text, dialect=_Text)
        except ParseError as error:
            place = error.errors[0] if error.errors else {}
            at = self.offset(place.get("line"), place.get("col"), len(place.get("highlight") or ""))
            raise self.error(f"cannot parse the condition: {explained(place.get('description'))}", at) from None
        except TokenError as error:
            start = max(self.text.rfind(quote) for quote in "'\"`")
            reason = "a quote is not closed" if start >= 0 else str(error)
            at = (max(start, 0), max(start, 0) + 1)
            raise self.error(f"cannot parse the condition: {reason}", at) from None
        if not isinstance(tree, exp.Condition) or isinstance(tree, exp.Query):
            raise self.error("expected a condition such as l.x <= r.a, not a statement", (0, len(self.text)))
        return tree

    def offset(self, line: int | None, column: int | None, length: int) -> Span:
        """Where sqlglot's line and column (that of the token's last character) stand in the text."""
        if line is None or column is None:
            return NO_SPAN
        end = sum(len(row) + 1 for row in self.text.split("\n")[: line - 1]) + column
        return max(end - max(length, 1), 0), end

    def error(self, message: str, span: Span) -> StreamJoinError:
        return StreamJoinError(f"on: {message}{pointed(self.text, span)}")

    def span(self, node: exp.Expr) -> Span:
        """From the first to the last character of a node, as far as its names, constants and calls tell."""
        spans = [self.own_span(part) for part in node.walk() if "start" in part.meta]
        if not spans:
            return 0, len(self.text)
        return min(start for start, _ in spans), max(end for _, end in spans)

    def own_span(self, node: exp.Expr) -> Span:
        start, end = node.meta["start"], node.meta["end"] + 1
        if isinstance(node, exp.Anonymous) and (closing := closing_paren(self.text, end)):
            end = closing
        return start, end

    def bind(self, node: exp.Expr) -> Expr:
        """One node and all below it."""
        self.check(node)
        match node:
            case exp.Paren():
                return self.bind(node.this)
            case exp.Column() | exp.Dot() if all(isinstance(part, exp.Identifier) for part in node.parts):
                return self.column(node)
            case exp.Literal() | exp.Boolean() | exp.Null() | exp.Interval():
                return self.literal(node)
            case exp.Neg(this=exp.Literal(is_string=False) as positive):
                return number(f"-{positive.this}", self.span(node))
            case exp.Neg(this=exp.Cast() as suffixed) if self.is_suffixed(suffixed):
                return self.suffixed(suffixed, sign="-")
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
            case exp.Like() | exp.ILike() | exp.Escape() if (match := _without_not(node)) != node:
                return self.apply("NOT", [self.opaque(match)], node)
        if (op := _OPERATORS.get(type(node))) is not None:
            return self.call(op, [node.this, *([node.expression] if isinstance(node, exp.Binary) else [])], node)
        return self.opaque(node)

    def call(self, op: str, args: Sequence[exp.Expr], node: exp.Expr) -> Expr:
        return self.apply(op, [self.bind(arg) for arg in args], node)

    def apply(self, op: str, args: Sequence[Expr], node: exp.Expr) -> Expr:
        try:
            expr = rules.apply(op, args)
        except rules.Mismatch as mismatch:
            raise self.error(str(mismatch), mismatch.at.span if mismatch.at else self.span(node)) from None
        object.__setattr__(expr, "span", self.span(node))
        return expr

    def test(self, node: exp.Is) -> Expr:
        """IS [NOT] NULL, TRUE, FALSE; sqlglot puts the NOT outside."""
        match node.expression:
            case exp.Null():
                return self.call("IS NULL", [node.this], node)
            case exp.Boolean(this=value):
                return self.call("IS TRUE" if value else "IS FALSE", [node.this], node)
        return self.opaque(node)

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
            return self.suffixed(node)
        text = node.this.this if isinstance(node.this, exp.Literal) and node.this.is_string else None
        if text is not None and text.strip().lower() in ("now", "today", "yesterday", "tomorrow"):
            raise self.error(_NO_REPEAT.format(f"'{text}'"), self.span(node))
        if text is not None and (literal := typed_text(text, target, self.span(node))) is not None:
            return literal
        return Cast(target, self.bind(node.this), span=self.span(node))

    def is_suffixed(self, node: exp.Cast) -> bool:
        """Whether it is a constant such as 5L or 3BD, which sqlglot reads as a cast."""
        if not isinstance(node.this, exp.Literal):
            return False
        start, end = self.span(node.this)
        return "start" not in node.this.meta or (not node.this.is_string and self.text[start:end][-1:].isalpha())

    def suffixed(self, node: exp.Cast, sign: str = "") -> Expr:
        digits, target = f"{sign}{node.this.this}", parse_type(node.to.sql(dialect="spark"))
        plain = number(digits, self.span(node))
        try:
            value = cast_value(plain.value, plain.type, target)
        except (EvaluationError, NotEvaluable):
            raise self.error(f"{digits}{SUFFIXES[target.name]} does not fit into {target}", plain.span) from None
        return Literal(target, value, f"{digits}{SUFFIXES[target.name]}", span=plain.span)

    def function(self, node: exp.Anonymous) -> Expr:
        name = str(node.this).lower()
        op, args = rules.SYNONYMS.get(name, name), list(node.expressions)
        if op == "log" and len(args) == 1:
            op = "ln"
        if op == "if" and len(args) == 3:
            return self.call("CASE", args, node)
        if op in ("date_add", "date_sub") and len(args) == 2:
            moved = [self.bind(arg) for arg in args]
            if moved[0].type == DATE and moved[1].type.is_integral and moved[1].type != BIGINT:
                return self.apply("-" if op == "date_sub" else "+", moved, node)
            return self.opaque(node)
        if op == "isnotnull":
            return self.apply("NOT", [self.call("IS NULL", args, node)], node)
        if op not in rules.RULES or (op in ("floor", "ceil") and len(args) == 2):
            return self.opaque(node)
        return self.call(op, args, node)

    def literal(self, node: exp.Expr) -> Expr:
        match node:
            case exp.Null():
                return Literal(VOID, None, "NULL", span=self.span(node))
            case exp.Boolean(this=value):
                return Literal(BOOLEAN, bool(value), "TRUE" if value else "FALSE", span=self.span(node))
            case exp.Literal(this=text, is_string=True):
                return Literal(STRING, text, node.sql(dialect=_Text), span=self.span(node))
            case exp.Literal(this=text):
                return number(text, self.span(node))
            case exp.Interval(this=exp.Literal(this=amount), unit=exp.Var(this=unit)):
                name = str(unit).lower().removesuffix("s")
                if name in UNITS and name not in CALENDAR_UNITS:
                    try:
                        us = microseconds(f"{amount} {unit}", "INTERVAL")
                    except StreamJoinError as error:
                        raise self.error(str(error), self.span(node)) from None
                    kind = INTERVAL_DAY if name in ("day", "week") and us % UNITS["day"] == 0 else INTERVAL
                    return Literal(kind, us, f"INTERVAL '{amount}' {unit}", span=self.span(node))
        return self.opaque(node)

    def column(self, node: exp.Column | exp.Dot) -> Column:
        names = [part.name for part in node.parts]
        span = self.span(node)
        if "*" in names or "" in names:
            raise self.error("a join condition compares single columns", span)
        head = names[0].lower()
        if head in self.schemas and len(names) > 1:
            return self.field(head, names[1:], span)
        try:
            found = [side for side, schema in self.schemas.items() if schema.find(names[0])]
        except StreamJoinError as error:
            raise self.error(str(error), span) from None
        if len(found) == 2:
            raise self.error(f"ambiguous name {names[0]}: both sides have it; write l.{names[0]} or r.{names[0]}", span)
        if found:
            return self.field(found[0], names, span)
        if len(names) > 1:
            raise self.error(f"unknown side {names[0]}: the left input is l, the right one is r", span)
        known = [f"{side}.{name}" for side, schema in self.schemas.items() for name in schema.names]
        raise self.error(f"unknown column {names[0]}{suggestion(names[0], known)}", span)

    def field(self, side: Side, path: Sequence[str], span: Span) -> Column:
        fields = self.schemas[side].columns
        resolved: list[str] = []
        kind = UNKNOWN
        for name in path:
            try:
                found = find_field(fields, name)
            except StreamJoinError as error:
                raise self.error(str(error), span) from None
            if found is None and resolved and not fields:
                raise self.error(f"{'.'.join((side, *resolved))} is {kind} and has no fields", span)
            if found is None:
                where = ".".join((side, *resolved))
                known = [f"{where}.{field}" for field, _ in fields]
                raise self.error(f"unknown column {where}.{name}{suggestion(name, known)}", span)
            resolved.append(found[0])
            kind = found[1]
            fields = kind.fields
        return Column(kind, side, tuple(resolved), span=span)

    def opaque(self, node: exp.Expr) -> Expr:
        """Leave a node to Spark: its names are resolved, the rest is text."""
        columns: list[Column] = []

        def slot(part: exp.Expr) -> exp.Expr:
            if isinstance(part, exp.Column):
                columns.append(self.column(part))
                return exp.Var(this=f"\0{len(columns) - 1}\0")
            self.check(part)
            return part

        text = node.copy().transform(slot).sql(dialect=_Text, normalize_functions=False)
        if not isinstance(node, exp.Anonymous | exp.Bracket | exp.Cast | exp.Interval):
            text = f"({text})"
        pieces = tuple(
            columns[int(piece)] if odd else piece
            for odd, piece in ((i % 2, piece) for i, piece in enumerate(text.split("\0")))
            if odd or piece
        )
        opaque = Opaque(UNKNOWN, pieces, span=self.span(node))
        if (known := self.understood(node, opaque)) is not None:
            return known
        kind = _known_type(node) or (self.typeof(str(opaque)) if self.typeof else None)
        return replace(opaque, type=kind or UNKNOWN)

    def understood(self, node: exp.Expr, opaque: Opaque) -> Function | None:
        """With what a worker must know to evaluate it, if it is a function that workers evaluate."""
        if (called := _called(node)) is None:
            return None
        op, nodes = called
        try:
            args = [self.bind(arg) for arg in nodes]
        except StreamJoinError:
            return None  # Spark knows better
        takes = FUNCTIONS[op].takes
        args = [_as_string(arg) if takes[i : i + 1] == (STRING,) else arg for i, arg in enumerate(args)]
        if not FUNCTIONS[op].fits([arg.type for arg in args]):
            return None
        return Function(FUNCTIONS[op].yields, opaque.pieces, op, tuple(args), span=opaque.span)

    def check(self, node: exp.Expr) -> None:
        """Refuse what has no meaning for a pair of rows."""
        if isinstance(node, exp.Star | exp.Alias) or (isinstance(node, exp.Between) and node.args.get("symmetric")):
            raise self.error("this has no meaning in a join condition", self.span(node))
        if isinstance(node, _COMPARISONS) and any(
            isinstance(child.this if isinstance(child, exp.Not) else child, _TESTS)
            for child in (node.this, node.expression)
        ):
            raise self.error("write parentheses: this is read in more than one way", self.span(node))
        if isinstance(node, exp.Window):
            raise self.error("a window function cannot be part of a join condition", self.span(node))
        if isinstance(node, exp.Query | exp.Exists | exp.SubqueryPredicate) or node.args.get("query"):
            start, end = self.span(node)
            start = max(self.text.lower().rfind("select", 0, end), 0)
            raise self.error("a sub-query cannot be part of a join condition", (start, end))
        if not isinstance(node, exp.Func):
            return
        name = str(node.this if isinstance(node, exp.Anonymous) else node.sql_name()).lower()
        if name == "unix_timestamp" and not node.expressions:
            name = "current_timestamp"
        if name in _aggregates():
            raise self.error(f"the aggregate {name} cannot be part of a join condition", self.span(node))
        if name in _NOT_REPEATABLE:
            span = self.span(node)
            if span == (0, len(self.text)) and (start := self.text.lower().find(name)) >= 0:
                span = start, start + len(name)  # sqlglot does not say where words without parentheses stand
            raise self.error(_NO_REPEAT.format(name), span)


def _without_not(node: exp.Expr) -> exp.Expr:
    """A match with a pattern as it is written without NOT: sqlglot keeps that within it."""
    positive = node.copy()
    (positive.this if isinstance(positive, exp.Escape) else positive).args.pop("negate", None)
    return positive


def _called(node: exp.Expr) -> tuple[str, list[exp.Expr]] | None:
    """The function of `functions` that a node calls, in whatever syntax, and its arguments."""
    match node:
        case exp.Anonymous():
            name = str(node.this).lower()
            op, args = SYNONYMS.get(name, name), list(node.expressions)
        case exp.Like() | exp.ILike() | exp.RegexpLike() if not isinstance(node.expression, exp.Any | exp.All):
            names: dict[type[exp.Expr], str] = {exp.Like: "like", exp.ILike: "ilike", exp.RegexpLike: "rlike"}
            op, args = names[type(node)], [node.this, node.expression]
        case exp.Escape() if (called := _called(node.this)) is not None:
            op, args = called[0], [*called[1], node.expression]
        case exp.DPipe():
            op, args = "concat", [node.this, node.expression]
        case exp.Substring():
            op, args = "substring", [node.args[part] for part in ("this", "start", "length") if node.args.get(part)]
        case exp.Trim() if node.expression is None:
            sides = {"LEADING": "ltrim", "TRAILING": "rtrim"}
            op, args = sides.get(str(node.args.get("position")).upper(), "trim"), [node.this]
        case _:
            return None
    return (op, args) if op in FUNCTIONS else None


def _as_string(expr: Expr) -> Expr:
    """A value of one side as the string that Spark makes of it for a function of strings."""
    simple = expr.type.is_numeric or expr.type in (DATE, BOOLEAN) or expr.type.is_timestamp
    return Cast(STRING, expr, implicit=True, span=expr.span) if simple and len(expr.sides) == 1 else expr


def _known_type(node: exp.Expr) -> Type | None:
    """The type of syntax that Spark alone evaluates but whose type its form tells."""
    if isinstance(node, exp.Predicate | exp.Like | exp.RegexpLike):
        return BOOLEAN
    if isinstance(node, exp.Interval):
        unit = str(node.unit or "").lower().removesuffix("s")
        return Type("interval month") if unit in CALENDAR_UNITS else None
    if isinstance(node, exp.Cast):
        return parse_type(node.to.sql(dialect="spark"))
    return STRING if isinstance(node, exp.DPipe) else None

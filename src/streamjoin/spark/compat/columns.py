"""Columns of Spark's as SQL text: the tree behind one, before Spark has resolved a name in it.

Classic Spark holds it in Java, behind ``_jc``; Connect sends it to the server as a message. Both have the same few
kinds of nodes, and a node of any other kind is refused by its name. ``tests/spark/test_columns.py`` says what every
kind is written as, on every Spark that we support.
"""

from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, NoReturn

from pyspark.sql import Column

from streamjoin.errors import StreamJoinError
from streamjoin.operators.expr import quote_name
from streamjoin.sql.call import write_call, write_case, write_field
from streamjoin.sql.trace import sql_value

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_BOUND = (
    "a column is bound to its DataFrame, as trades.x or trades['x'] is; name its side instead: lambda l, r: l.x < r.y, "
    "F.col('l.x') < F.col('r.y') or SQL text"
)
_PYTHON = (
    "a Python function is called on a column; register it, spark.udf.register('score', score), and call it by its "
    "name: F.call_function('score', l.x, r.y), or in SQL text"
)


def write_column(column: Column) -> str:
    """A column as SQL text, in parentheses where it is more than a name, a constant or a call."""
    held: Any = column
    return _write_node(held._jc.node()) if hasattr(held, "_jc") else _write_message(held.to_plan(_NoClient()))


class _NoClient:
    """In place of Connect's client, of which a message asks only where a Python function is sent along."""

    def __getattr__(self, name: str) -> NoReturn:
        _refuse(_PYTHON)


def _refuse(reason: str) -> NoReturn:
    raise StreamJoinError(f"on: {reason}")


def _refuse_kind(kind: str) -> NoReturn:
    _refuse(f"a column holds a {kind}, for which a condition has no SQL; write the condition as SQL text")


# Classic


def _write_node(node: Any) -> str:
    kind = str(node.getClass().getSimpleName())
    return _NODES.get(kind, lambda _: _refuse_kind(kind))(node)


def _items(sequence: Any) -> Iterator[Any]:
    return (sequence.apply(at) for at in range(sequence.size()))


def _write_attribute(node: Any) -> str:
    if node.planId().isDefined():
        _refuse(_BOUND)
    return ".".join(quote_name(part) for part in _items(node.nameParts()))


def _write_function(node: Any) -> str:
    if node.isDistinct():
        _refuse_kind("DISTINCT aggregate")
    return write_call(node.functionName(), [_write_node(argument) for argument in _items(node.arguments())])


def _write_cast(node: Any) -> str:
    mode = node.evalMode()
    tries = mode.isDefined() and "try" in str(mode.get().toString()).lower()
    return f"{'TRY_CAST' if tries else 'CAST'}({_write_node(node.child())} AS {node.dataType().sql()})"


def _write_choice(node: Any) -> str:
    branches = [(_write_node(pair._1()), _write_node(pair._2())) for pair in _items(node.branches())]
    otherwise = node.otherwise()
    return write_case(branches, _write_node(otherwise.get()) if otherwise.isDefined() else None)


def _write_literal(node: Any) -> str:
    written = sql_value(_read_java(node.value()))
    type = node.dataType()
    return f"CAST({written} AS {type.get().sql()})" if type.isDefined() else written


def _read_java(value: Any) -> object:
    """A value of Java as one of Python; what the gateway does not convert by itself."""
    name = value.getClass().getName() if hasattr(value, "getClass") else ""
    match name:
        case "":
            return value
        case "java.sql.Date" | "java.time.LocalDate":
            return date.fromisoformat(str(value.toString()))
        case "java.sql.Timestamp":
            return _EPOCH + timedelta(seconds=value.getTime() // 1000, microseconds=value.getNanos() // 1000)
        case "java.time.Instant":
            return _EPOCH + timedelta(seconds=value.getEpochSecond(), microseconds=value.getNano() // 1000)
        case "java.time.LocalDateTime":
            return datetime.fromisoformat(str(value.toString()))
        case "java.time.Duration":
            return timedelta(seconds=value.getSeconds(), microseconds=value.getNano() // 1000)
    _refuse_kind(f"constant of {name}")


def _write_expression(node: Any) -> str:
    """What Spark made an expression of already: a column of a DataFrame, or a function of Python's."""
    expression = node.expression()
    names = {str(expression.getClass().getSimpleName())}
    names |= {str(child.getClass().getSimpleName()) for child in _items(expression.children())}
    _refuse(_PYTHON if any("UDF" in name for name in names) else _BOUND)


_NODES: dict[str, Callable[[Any], str]] = {
    "UnresolvedAttribute": _write_attribute,
    "UnresolvedFunction": _write_function,
    "Literal": _write_literal,
    "Cast": _write_cast,
    "SqlExpression": lambda node: f"({node.expression()})",
    "CaseWhenOtherwise": _write_choice,
    "UnresolvedExtractValue": lambda node: write_field(_write_node(node.child()), _write_node(node.extraction())),
    "ExpressionColumnNode": _write_expression,
    "InvokeInlineUserDefinedFunction": lambda _: _refuse(_PYTHON),
}


# Connect


def _write_message(message: Any) -> str:
    kind = str(message.WhichOneof("expr_type"))
    return _MESSAGES.get(kind, lambda _: _refuse_kind(kind))(getattr(message, kind))


def _write_named(part: Any) -> str:
    if part.HasField("plan_id"):
        _refuse(_BOUND)
    return str(part.unparsed_identifier)


def _write_called(part: Any) -> str:
    if getattr(part, "is_distinct", False):
        _refuse_kind("DISTINCT aggregate")
    return write_call(part.function_name, [_write_message(argument) for argument in part.arguments])


def _write_converted(part: Any) -> str:
    from pyspark.sql.connect.types import proto_schema_to_pyspark_data_type  # needs gRPC, as all of Connect

    type = part.type_str or proto_schema_to_pyspark_data_type(part.type).simpleString()
    tries = part.eval_mode == part.EVAL_MODE_TRY
    return f"{'TRY_CAST' if tries else 'CAST'}({_write_message(part.expr)} AS {type})"


def _write_constant(part: Any) -> str:
    kind = str(part.WhichOneof("literal_type"))
    value = getattr(part, kind)
    if kind not in _CONSTANTS:
        _refuse_kind(f"constant of type {kind}")
    return sql_value(_CONSTANTS[kind](value))


def _same(value: object) -> object:
    return value


_CONSTANTS: dict[str, Callable[[Any], object]] = {
    "null": lambda _: None,
    **dict.fromkeys(("boolean", "byte", "short", "integer", "long", "float", "double", "string"), _same),
    "decimal": lambda value: Decimal(value.value),
    "date": lambda days: (_EPOCH + timedelta(days=days)).date(),
    "timestamp": lambda micros: _EPOCH + timedelta(microseconds=micros),
    "timestamp_ntz": lambda micros: (_EPOCH + timedelta(microseconds=micros)).replace(tzinfo=None),
    "day_time_interval": lambda micros: timedelta(microseconds=micros),
}

_MESSAGES: dict[str, Callable[[Any], str]] = {
    "unresolved_attribute": _write_named,
    "unresolved_function": _write_called,
    "call_function": _write_called,
    "literal": _write_constant,
    "cast": _write_converted,
    "expression_string": lambda part: f"({part.expression})",
    "unresolved_extract_value": lambda part: write_field(_write_message(part.child), _write_message(part.extraction)),
    "common_inline_user_defined_function": lambda _: _refuse(_PYTHON),
}

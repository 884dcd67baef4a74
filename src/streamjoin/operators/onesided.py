"""One-sided expressions on Arrow columns: keys and filters where no Spark computes them.

Plain columns are taken as they are, arithmetic and comparisons of numbers go by Arrow's kernels, and anything else by
`evaluate`, a row at a time. So does a column on which Arrow fails: `evaluate` then says what Spark would.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamjoin.errors import StreamJoinError
from streamjoin.operators.arithmetic import EvaluationError, NotEvaluable
from streamjoin.operators.evaluate import evaluate
from streamjoin.operators.expr import Call, Cast, Column, Expr, Function, Literal, Opaque
from streamjoin.operators.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    INTERVAL,
    INTERVAL_DAY,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    VOID,
    Schema,
    Type,
    decimal,
)

ARROW = {
    BOOLEAN: pa.bool_(),
    TINYINT: pa.int8(),
    SMALLINT: pa.int16(),
    INT: pa.int32(),
    BIGINT: pa.int64(),
    FLOAT: pa.float32(),
    DOUBLE: pa.float64(),
    STRING: pa.string(),
    BINARY: pa.binary(),
    DATE: pa.date32(),
    TIMESTAMP: pa.timestamp("us", "UTC"),
    TIMESTAMP_NTZ: pa.timestamp("us"),
    INTERVAL: pa.duration("us"),
    INTERVAL_DAY: pa.duration("us"),
    VOID: pa.null(),
}
"""How columns of a type lie in memory."""

_READ_AS = {
    **{type: own for own, type in ARROW.items()},
    pa.uint8(): SMALLINT,
    pa.uint16(): INT,
    pa.uint32(): BIGINT,
    pa.large_string(): STRING,
    pa.string_view(): STRING,
    pa.large_binary(): BINARY,
    pa.binary_view(): BINARY,
    pa.date64(): DATE,
    pa.uint64(): decimal(20, 0),
}
_CHECKED = {"+": pc.add_checked, "-": pc.subtract_checked, "*": pc.multiply_checked}
_PLAIN = {"+": pc.add, "-": pc.subtract, "*": pc.multiply}
_COMPARED = {"=": pc.equal, "<": pc.less, "<=": pc.less_equal, ">": pc.greater, ">=": pc.greater_equal}
_LOGIC = {"AND": pc.and_kleene, "OR": pc.or_kleene}


def read_type(type: pa.DataType) -> Type:
    """An Arrow type as conditions see it; one that they cannot compute with keeps its name.

    >>> str(read_type(pa.timestamp("ns"))), str(read_type(pa.list_(pa.int32())))
    ('timestamp_ntz', 'array<int>')
    """
    if pa.types.is_dictionary(type):
        return read_type(type.value_type)
    if pa.types.is_timestamp(type):
        return TIMESTAMP_NTZ if type.tz is None else TIMESTAMP
    if pa.types.is_duration(type):
        return INTERVAL
    if pa.types.is_decimal(type):
        return decimal(type.precision, type.scale)
    if pa.types.is_list(type) or pa.types.is_large_list(type):
        return Type(f"array<{read_type(type.value_type)}>")
    if pa.types.is_struct(type):
        return Type("struct", fields=tuple((field.name, read_type(field.type)) for field in type))
    return _READ_AS.get(type) or Type(str(type))


def read_schema(schema: pa.Schema) -> Schema:
    """The columns of an Arrow schema as conditions see them."""
    return Schema([(field.name, read_type(field.type)) for field in schema])


def find_arrow(type: Type) -> pa.DataType | None:
    """The Arrow type of a computed column; None where a column of such values is taken as it is."""
    return pa.decimal128(type.precision, type.scale) if type.is_decimal else ARROW.get(type)


def check_evaluable(expr: Expr, argument: str) -> None:
    """Refuse by name what no operator here computes."""
    parts = [
        *expr.walk(),
        *(inner for f in expr.walk() if isinstance(f, Function) for a in f.args for inner in a.walk()),
    ]
    for part in parts:
        if isinstance(part, Opaque) and not isinstance(part, Function):
            raise StreamJoinError(
                f"{argument}: only Spark evaluates {part}; without Spark a condition takes the operators and functions "
                "that streamjoin has of its own. Compute a column of it before, and compare that"
            )


def evaluate_column(expr: Expr, batch: pa.RecordBatch) -> pa.Array:
    """The values of an expression over the columns of one side, one for each row.

    >>> from streamjoin.predicate import parse
    >>> columns = pa.record_batch({"x": pa.array([1, None], pa.int32())})
    >>> predicate = parse("l.x + 1 < r.a", Schema({"x": "int"}), Schema({"a": "int"}))
    >>> [key] = predicate.keys("l")
    >>> evaluate_column(key, columns).to_pylist()
    [1, None]
    """
    try:
        found = _by_arrow(expr, batch)
    except pa.ArrowInvalid:  # overflow: which value it was, `evaluate` says as Spark does
        found = None
    return _row_by_row(expr, batch) if found is None else found


def find_column(batch: pa.RecordBatch, path: tuple[str, ...]) -> pa.Array:
    """A column, or a field inside one."""
    values = batch.column(batch.schema.names.index(path[0]))
    for name in path[1:]:
        values = pc.struct_field(values, name)
    return values


def read_column(batch: pa.RecordBatch, path: tuple[str, ...], type: Type) -> pa.Array:
    """A column, or a field inside one, as values of its type lie in memory."""
    values = find_column(batch, path)
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    wanted = find_arrow(type)
    if wanted is None or values.type == wanted:
        return values
    if pa.types.is_timestamp(values.type) and values.type.unit == "us":
        return values.view(pa.int64()).view(wanted)
    return values.cast(wanted)


def _by_arrow(expr: Expr, batch: pa.RecordBatch) -> pa.Array | None:
    """The values where Arrow computes exactly what Spark does; None elsewhere."""
    match expr:
        case Column(path=path, type=type):
            return read_column(batch, path, type)
        case Literal(value=value, type=type) if (arrow := find_arrow(type)) is not None and not type.is_decimal:
            return pa.repeat(pa.scalar(value, arrow), batch.num_rows)
        case Cast(type=type, arg=arg):
            values = _by_arrow(arg, batch)
            if values is None or type == arg.type:
                return values
            widens = arg.type.is_integral and (type.is_integral or type == DOUBLE)
            return values.cast(ARROW[type]) if widens or (arg.type, type) == (FLOAT, DOUBLE) else None
        case Call(op=op, args=args):
            return _call_arrow(op, expr.type, [(arg.type, _by_arrow(arg, batch)) for arg in args])
    return None


def _call_arrow(op: str, type: Type, args: list[tuple[Type, pa.Array | None]]) -> pa.Array | None:
    types = {given for given, _ in args}
    values = [value for _, value in args if value is not None]
    if len(values) < len(args):
        return None
    if op == "NOT" and types == {BOOLEAN}:
        return pc.invert(values[0])
    if op == "IS NULL":
        return values[0].is_null()
    if len(values) != 2 or len(types) > 1:
        return None
    [one] = types
    compute: Callable[..., Any] | None = None
    if one == type and type in (INT, BIGINT):
        compute = _CHECKED.get(op)
    elif one == type and type.is_floating:
        compute = _PLAIN.get(op)
    elif one.is_integral or one in (STRING, DATE) or one.is_timestamp:
        compute = _COMPARED.get(op)
    elif one == BOOLEAN:
        compute = _LOGIC.get(op)
    return None if compute is None else compute(*values)


def _row_by_row(expr: Expr, batch: pa.RecordBatch) -> pa.Array:
    names = sorted({column.path[0] for column in expr.columns})
    side = next(iter(expr.sides), "l")
    try:
        rows = batch.select(names).to_pylist()
        values = [evaluate(expr, row, {}) if side == "l" else evaluate(expr, {}, row) for row in rows]
    except EvaluationError as error:
        raise EvaluationError(f"{expr}: {error}") from None
    except NotEvaluable as error:
        raise StreamJoinError(f"on: only Spark evaluates {error}") from None
    arrow = find_arrow(expr.type)
    assert arrow is not None, f"{expr} is computed, and has a type that Arrow knows"
    if expr.type.is_timestamp or expr.type.is_interval or expr.type == DATE:
        whole = pa.array(values, pa.int32() if expr.type == DATE else pa.int64())
        return whole.view(arrow)
    if expr.type == FLOAT:
        floats = np.array([np.nan if value is None else value for value in values], np.float32)
        return pa.array(floats, mask=np.array([value is None for value in values], np.bool_))
    return pa.array(values, arrow)

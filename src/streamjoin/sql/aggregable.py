"""Which types the aggregates take, and which they give: Spark's rules."""

from collections.abc import Sequence

from streamjoin.errors import StreamJoinError
from streamjoin.operators.types import BIGINT, BINARY, BOOLEAN, DATE, DOUBLE, STRING, Type, decimal
from streamjoin.sql.aggregates import AggregateCall

SUMMED_DIGITS, AVERAGED_DIGITS = 28, 18
"""Decimals of at most so many digits can be summed and averaged: then no sum of theirs has more than 38."""


def check_types(call: AggregateCall, types: Sequence[Type]) -> None:
    """Refuse an aggregate of what cells cannot add or compare as Spark does."""
    if call.op in ("sum", "avg"):
        most = SUMMED_DIGITS if call.op == "sum" else AVERAGED_DIGITS
        of = types[0]
        if not of.is_numeric:
            raise _refuse(call, of, "a number")
        if of.is_decimal and of.precision > most:
            raise _refuse(call, of, f"a decimal of at most {most} digits, or a double")
    elif call.op in ("min", "max", "min_by", "max_by") and not _is_ordered(types[-1]):
        raise _refuse(call, types[-1], "a number, string, binary, date, time or boolean")
    elif call.op in ("bool_and", "bool_or") and types[0] != BOOLEAN:
        raise _refuse(call, types[0], "a boolean")


def find_type(call: AggregateCall, types: Sequence[Type]) -> Type:
    """The type that Spark gives to an aggregate of arguments of these types.

    >>> print(find_type(AggregateCall("sum", ("r.x",)), [decimal(10, 2)]))
    decimal(20,2)
    """
    match call.op:
        case "count" | "count_if":
            return BIGINT
        case "sum":
            of = types[0]
            return decimal(of.precision + 10, of.scale) if of.is_decimal else BIGINT if of.is_integral else DOUBLE
        case "avg":
            of = types[0]
            return decimal(of.precision + 4, of.scale + 4) if of.is_decimal else DOUBLE
        case "var_pop" | "var_samp" | "stddev_pop" | "stddev_samp":
            return DOUBLE
    return types[0]


def _is_ordered(of: Type) -> bool:
    return of.is_numeric or of in (BOOLEAN, STRING, BINARY, DATE) or of.is_timestamp or of.is_interval


def _refuse(call: AggregateCall, of: Type, expected: str) -> StreamJoinError:
    return StreamJoinError(f"select: {call.op} of {call.args[-1]}, which is {of}; expected {expected}: cast it before")

"""Arithmetic on numbers, dates and times."""

import math
import operator
from typing import Any

from streamjoin.operators import arithmetic, machine, rules
from streamjoin.operators.entry import Operator, always
from streamjoin.operators.expr import Call, Literal
from streamjoin.operators.types import BIGINT, DATE, INT, TIMESTAMP, Type
from streamjoin.spec.duration import UNITS


def _unless_floating(type: Type) -> bool:
    """Whether a result may not fit into its type."""
    return not type.is_floating


def _reads_zone(call: Call) -> bool:
    """Zoned times that are subtracted, moved by days, or made of dates."""
    types = [arg.type for arg in call.args]
    if TIMESTAMP not in (*types, call.type):
        return False
    shifts = [arg for arg in call.args if arg.type.is_interval]
    by_hours = all(isinstance(shift, Literal) and abs(shift.value) < UNITS["day"] for shift in shifts)
    return DATE in types or not by_hours or not shifts


def _count(name: str, takes: Type, yields: Type, unit: int) -> Operator:
    """The whole units since the epoch."""
    return Operator(name, rules.type_conversion(takes, yields), 1, 1, lambda v: v // unit, machine.count_units(unit))


_OVERFLOWS: dict[str, Any] = {"typed": True, "may_raise": _unless_floating}
_DIVIDES: dict[str, Any] = {"typed": True, "may_raise": always, "last_first": True}

ENTRIES = (
    Operator(
        *("+", rules.type_arithmetic, 2, 2, arithmetic.add, machine.add("+")), reads_zone=_reads_zone, **_OVERFLOWS
    ),
    Operator(
        *("-", rules.type_arithmetic, 1, 2, arithmetic.subtract, machine.add("-")),
        synonyms=("negative",),
        reads_zone=_reads_zone,
        **_OVERFLOWS,
    ),
    Operator("*", rules.type_arithmetic, 2, 2, arithmetic.multiply, machine.multiply, **_OVERFLOWS),
    Operator("/", rules.type_arithmetic, 2, 2, arithmetic.divide, machine.divide, **_DIVIDES),
    Operator("div", rules.type_arithmetic, 2, 2, arithmetic.divide_whole, machine.divide_whole, **_DIVIDES),
    Operator(
        *("%", rules.type_arithmetic, 2, 2, arithmetic.remainder, machine.remainder), synonyms=("mod",), **_DIVIDES
    ),
    Operator(
        *("pmod", rules.type_arithmetic, 2, 2, arithmetic.positive_remainder, machine.positive_remainder), **_DIVIDES
    ),
    Operator("abs", rules.type_same, 1, 1, arithmetic.absolute, machine.absolute, **_OVERFLOWS),
    Operator("floor", rules.type_whole, 1, 2, arithmetic.to_whole(math.floor), machine.to_whole("floor"), **_OVERFLOWS),
    Operator(
        *("ceil", rules.type_whole, 1, 2, arithmetic.to_whole(math.ceil), machine.to_whole("ceil")),
        synonyms=("ceiling",),
        **_OVERFLOWS,
    ),
    Operator(
        *("round", rules.type_round, 1, 2, arithmetic.round_half_up, machine.round_half_up),
        constants=(1,),
        **_OVERFLOWS,
    ),
    Operator("&", rules.type_bits, 2, 2, operator.and_, machine.combine_bits("{} & {}")),
    Operator("|", rules.type_bits, 2, 2, operator.or_, machine.combine_bits("{} | {}")),
    Operator("^", rules.type_bits, 2, 2, operator.xor, machine.combine_bits("{} ^ {}")),
    Operator("~", rules.type_bits, 1, 1, operator.invert, machine.combine_bits("~{}")),
    _count("unix_micros", TIMESTAMP, BIGINT, 1),
    _count("unix_millis", TIMESTAMP, BIGINT, 1_000),
    _count("unix_seconds", TIMESTAMP, BIGINT, 1_000_000),
    _count("unix_date", DATE, INT, 1),
    Operator(
        *("datediff", rules.type_days_between, 2, 2, arithmetic.subtract, machine.add("-")),
        synonyms=("date_diff",),
        **_OVERFLOWS,
    ),
)

"""Arithmetic on numbers, dates and times."""

import math
import operator
from typing import Any

from streamjoin.operators import arithmetic, machine, rules
from streamjoin.operators.entry import Operator, Rule, always
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


def _check_result(
    name: str, types: Rule, value: Any, code: Any, *synonyms: str, least: int = 2, **more: Any
) -> Operator:
    """Arithmetic of at most two operands, whose result may not fit into its type."""
    properties: dict[str, Any] = {"typed": True, "may_raise": _unless_floating} | more
    return Operator(name, types, least, 2, value, code, synonyms=synonyms, **properties)


def _division(name: str, value: Any, code: Any, *synonyms: str) -> Operator:
    """Raises where the divisor is zero, which is looked at first."""
    return _check_result(name, rules.type_arithmetic, value, code, *synonyms, may_raise=always, last_first=True)


ENTRIES = (
    _check_result("+", rules.type_arithmetic, arithmetic.add, machine.add("+"), reads_zone=_reads_zone),
    _check_result(
        "-", rules.type_arithmetic, arithmetic.subtract, machine.add("-"), "negative", least=1, reads_zone=_reads_zone
    ),
    _check_result("*", rules.type_arithmetic, arithmetic.multiply, machine.multiply),
    _division("/", arithmetic.divide, machine.divide),
    _division("div", arithmetic.divide_whole, machine.divide_whole),
    _division("%", arithmetic.remainder, machine.remainder, "mod"),
    _division("pmod", arithmetic.positive_remainder, machine.positive_remainder),
    Operator(
        "abs", rules.type_same, 1, 1, arithmetic.absolute, machine.absolute, typed=True, may_raise=_unless_floating
    ),
    _check_result("floor", rules.type_whole, arithmetic.to_whole(math.floor), machine.to_whole("floor"), least=1),
    _check_result(
        "ceil", rules.type_whole, arithmetic.to_whole(math.ceil), machine.to_whole("ceil"), "ceiling", least=1
    ),
    _check_result("round", rules.type_round, arithmetic.round_half_up, machine.round_half_up, least=1, constants=(1,)),
    _check_result("datediff", rules.type_days_between, arithmetic.subtract, machine.add("-"), "date_diff"),
    Operator("&", rules.type_bits, 2, 2, operator.and_, machine.combine_bits("{} & {}")),
    Operator("|", rules.type_bits, 2, 2, operator.or_, machine.combine_bits("{} | {}")),
    Operator("^", rules.type_bits, 2, 2, operator.xor, machine.combine_bits("{} ^ {}")),
    Operator("~", rules.type_bits, 1, 1, operator.invert, machine.combine_bits("~{}")),
    _count("unix_micros", TIMESTAMP, BIGINT, 1),
    _count("unix_millis", TIMESTAMP, BIGINT, 1_000),
    _count("unix_seconds", TIMESTAMP, BIGINT, 1_000_000),
    _count("unix_date", DATE, INT, 1),
)

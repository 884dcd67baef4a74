"""`arithmetic` on machine numbers: casts and operators as statements that Numba compiles."""

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from streamjoin.operators.arithmetic import MICROS_PER_DAY, NotEvaluable
from streamjoin.operators.statements import (
    INT64,
    NEVER,
    SURELY_FITS,
    Operation,
    Statements,
    Value,
    any_value,
    dtype_of,
    limit_of,
    no_value,
)
from streamjoin.operators.types import BOOLEAN, DATE, FLOAT, VOID, Type

Code = Callable[[Statements, Operation], Value]


def cast(s: Statements, value: Value, source: Type, target: Type) -> Value:
    """The value in another type; flagged where it does not fit."""
    if source == target or (source.is_timestamp and target.is_timestamp) or (source.is_interval and target.is_interval):
        return replace(value, null=NEVER, error=NEVER)
    if source == VOID:
        return no_value(target)
    if target == BOOLEAN and source.is_numeric:
        return Value(s.put(f"{value.text} != 0"), "bool_")
    if target.is_floating and (source.is_numeric or source == BOOLEAN):
        wide = value.text if value.is_floating else s.hold(value, "float64")  # Python's float comes before float32
        same = dtype_of(target) == (value.dtype if value.is_floating else "float64")
        text = wide if same else s.put(f"np.{dtype_of(target)}({wide})")
        return Value(text, dtype_of(target), may_be_nan=value.may_be_nan)
    if target.is_integral and source.is_floating:
        return _truncate(s, value, target)
    if target.is_integral and source == BOOLEAN:
        return Value(s.hold(value, "int8"), "int8", low=0, high=1)
    if target.is_integral and source.is_integral:
        return s.fit(value.text, value.dtype, target, value.low, value.high)
    if source == DATE and target.is_timestamp:
        return _add_microseconds(s, "", Operation(target, [value], [DATE]))
    if source.is_timestamp and target == DATE:
        return any_value(s.put(f"np.int32({value.text} // {MICROS_PER_DAY})"), DATE)
    raise NotEvaluable(f"CAST from {source} to {target}")


def _truncate(s: Statements, value: Value, target: Type) -> Value:
    limit = limit_of(target)
    above = f">= {float(-limit)!r}" if limit == INT64 else f"> {float(-limit - 1)!r}"
    fits = s.put(f"({value.text} {above}) & ({value.text} < {float(limit)!r})")
    inside = s.choose(fits, value.text, f"np.{value.dtype}(0)")
    return any_value(s.put(f"np.{dtype_of(target)}({inside})"), target, error=s.negate(fits))


def add(sign: str) -> Code:
    def apply(s: Statements, node: Operation) -> Value:
        type, texts = node.type, [value.text for value in node.values]
        if type.is_floating:
            return _float(type, s.put(f" {sign} ".join(texts) if len(texts) == 2 else f"{sign}{texts[0]}"))
        if DATE in node.types and (type.is_interval or type.is_timestamp):
            return _add_microseconds(s, sign, node)
        a, b = node.values if len(texts) == 2 else (Value("np.int32(0)", "int32"), *node.values)
        if type == DATE:
            a, b = (_to_days(s, v) if t.is_interval else v for v, t in zip((a, b), node.types, strict=True))
        return s.add(sign, type, a, b)

    return apply


def _float(type: Type, text: str) -> Value:
    return Value(text, dtype_of(type), may_be_nan=True)


def _to_days(s: Statements, interval: Value) -> Value:
    most = INT64 // MICROS_PER_DAY + 1
    return Value(s.put(f"np.int32({interval.text} // {MICROS_PER_DAY})"), "int32", low=-most, high=most)


def _add_microseconds(s: Statements, sign: str, node: Operation) -> Value:
    """A sum or difference in which dates count as their first microsecond."""
    factors = [MICROS_PER_DAY if type == DATE else 1 for type in node.types]
    exact, about = (
        f" {sign} ".join(f"np.{dtype}({v.text}) * {factor}" for v, factor in zip(node.values, factors, strict=True))
        for dtype in ("int64", "float64")
    )
    return any_value(s.put(exact), node.type, error=s.put(f"abs({about}) > {SURELY_FITS!r}"))


def multiply(s: Statements, node: Operation) -> Value:
    a, b = node.values
    if node.type.is_floating:
        return _float(node.type, s.put(f"{a.text} * {b.text}"))
    return s.multiply(node.type, a, b)


def _is_zero(s: Statements, divisor: Value) -> str:
    return s.put(f"{divisor.text} == 0") if not divisor.constant else NEVER


def divide(s: Statements, node: Operation) -> Value:
    a, b = node.values
    return replace(_float(node.type, s.put(f"{a.text} / {b.text}")), error=_is_zero(s, b))


def _make_safe(s: Statements, divisor: Value) -> tuple[str, str, str]:
    """A whole divisor that cannot trap, and the flags that it was 0 and that it was -1."""
    text, zero = s.hold(divisor, "int64"), _is_zero(s, divisor)
    minus_one = NEVER if divisor.constant not in (None, -1) else s.put(f"{text} == -1")
    return s.choose(s.either(zero, minus_one), "np.int64(1)", text), zero, minus_one


def divide_whole(s: Statements, node: Operation) -> Value:
    a, b = (s.hold(value, "int64") for value in node.values)
    safe, zero, minus_one = _make_safe(s, node.values[1])
    floored = s.put(f"{a} // {safe}")
    inexact = s.put(f"({floored} * {safe} != {a}) & (({a} < 0) != ({b} < 0))")
    quotient = s.choose(minus_one, s.put(f"-{a}"), s.put(f"{floored} + 1 if {inexact} else {floored}"))
    overflow = s.both(minus_one, s.put(f"{a} == {-INT64}")) if node.values[0].low == -INT64 else NEVER
    return any_value(quotient, node.type, error=s.either(zero, overflow))


def remainder(s: Statements, node: Operation) -> Value:
    """The remainder with the sign of the dividend."""
    a, b = node.values
    if node.type.is_floating:
        return replace(_float(node.type, _fmod(s, node.type, a.text, b.text)), error=_is_zero(s, b))
    safe, zero, _ = _make_safe(s, b)
    text = s.remainder(s.hold(a, "int64"), s.hold(b, "int64"), safe)
    return replace(s.fit(text, "int64", node.type, min(a.low, 0), max(a.high, 0)), error=zero)


def _fmod(s: Statements, type: Type, a: str, b: str) -> str:
    text = s.put(f"np.fmod(np.float64({a}), np.float64({b}))")
    return s.put(f"np.float32({text})") if type == FLOAT else text


def positive_remainder(s: Statements, node: Operation) -> Value:
    """The remainder that is positive for a positive divisor."""
    first = remainder(s, node)
    r, b = first.text, node.values[1].text
    if node.type.is_floating:
        again = _fmod(s, node.type, s.put(f"{r} + {b}"), b)
        return replace(first, text=s.put(f"{r} if ({r} >= 0) | ({r} != {r}) else {again}"))
    limit = limit_of(node.type)
    moved = s.put(f"np.int64({r}) + np.int64({b})")
    if limit != INT64:  # wraps in 32 bits
        moved = s.put(f"(({moved} + {2**31}) & {2**32 - 1}) - {2**31}")
    safe, zero, _ = _make_safe(s, node.values[1])
    again = s.remainder(moved, s.hold(node.values[1], "int64"), safe)
    chosen = s.put(f"np.int64({r}) if {r} >= 0 else {again}")
    return replace(s.fit(chosen, "int64", node.type, -limit, limit - 1), error=zero)


def combine_bits(text: str) -> Code:
    """Bitwise operators, on numbers held in one type."""

    def apply(s: Statements, node: Operation) -> Value:
        dtype = dtype_of(node.type)
        operands = [s.hold(value, dtype) for value in node.values]
        return any_value(s.put(f"np.{dtype}({text.format(*operands)})"), node.type)

    return apply


def count_units(unit: int) -> Code:
    """Whole units since the epoch, of a date or a time."""

    def apply(s: Statements, node: Operation) -> Value:
        (time,) = node.values
        return any_value(time.text if unit == 1 else s.put(f"{time.text} // {unit}"), node.type)

    return apply


def absolute(s: Statements, node: Operation) -> Value:
    (a,) = node.values
    if a.is_floating:
        return _float(node.type, s.put(f"abs({a.text})"))
    dtype = "int64" if a.dtype == "int64" else "int32"
    size = s.put(f"np.{dtype}(abs({s.hold(a, dtype)}))")
    limit = limit_of(node.type)
    error = s.put(f"{a.text} == {-limit}") if a.low <= -limit else NEVER
    return Value(size, dtype, error=error, low=0, high=limit - 1)


def to_whole(function: str) -> Code:
    def apply(s: Statements, node: Operation) -> Value:
        (a,) = node.values
        if not a.is_floating:
            return a
        whole = s.put(f"np.{function}({a.text})")
        fits = s.put(f"({whole} >= {float(-INT64)!r}) & ({whole} < {float(INT64)!r})")
        made = any_value(s.put(f"np.int64({s.choose(fits, whole, 'np.float64(0)')})"), node.type)
        is_nan = s.put(f"{a.text} != {a.text}") if a.may_be_nan else NEVER  # 0, as the JVM converts it
        return replace(made, error=s.negate(s.either(fits, is_nan)))

    return apply


def round_half_up(s: Statements, node: Operation) -> Value:
    """Half away from zero, at a decimal place."""
    type, (value,), places = node.type, node.values, node.constants[0] if node.constants else 0
    if value.is_floating:
        return _round_float(s, type, value, places)
    if places >= 0 or places < -19:
        return value if places >= 0 else any_value("np.int64(0)", type)
    a = s.hold(value, "int64")
    if places == -19:  # 10^19 or 0, and only 0 fits
        error = s.put(f"({a} >= {5 * 10**18}) | ({a} <= {-5 * 10**18})")
        return Value("np.int64(0)", "int64", error=error)
    unit = 10**-places
    rest = s.remainder(a, "1", str(unit))
    up = s.put(f"{unit} if {rest} >= {unit // 2} else {-unit} if {rest} <= {-unit // 2} else 0")
    most = max(-value.low, value.high)
    base = Value(s.put(f"{a} - {rest}"), "int64", low=-most, high=most)
    return s.add("+", type, base, Value(up, "int64", low=-unit, high=unit))


def _round_float(s: Statements, type: Type, value: Value, places: int) -> Value:
    """Spark rounds the shortest decimal text that reads back as the value.

    Let the value have b bits. While ``|a| * 10^(places+1) < 2^(b-1)``, no two decimals of places + 1
    digits read back as the same value. So the text lies at or above a midpoint iff the value is at or above what
    the midpoint reads as, which one division rounds correctly. From ``|a| * 10^places >= 2^(b+1)`` on, some decimal
    of that many places reads back as the value: it stays as it is. What lies between is left to `evaluate`.
    """
    bits, most = 53, 21  # a float too is rounded by the text of the double that it is
    near = 0.0 if places > most or places < -22 else 2.0 ** (bits - 1) / 10.0 ** (max(places, -1) + 1)
    far = (
        float(Fraction(2 ** (bits + 1)) / Fraction(10) ** places)
        if 0 <= places < 400
        else 0.0
        if places > 0
        else math.inf
    )
    size = s.put(f"abs(np.float64({value.text}))")
    between = s.put(f"({size} {'>=' if near else '>'} {near!r}) & ({size} < {far!r})".replace("inf", "np.inf"))
    if near == 0.0:
        return replace(value, error=between)
    unit = float(10 ** abs(places))
    base = s.put(f"np.floor({size} {'*' if places >= 0 else '/'} {unit!r})")
    midpoints = [
        f"({k} * 10.0 + 5.0) / {unit * 10!r}" if places >= 0 else f"{k} * {unit!r} + {unit / 2!r}"
        for k in (f"({base} - 1.0)", base)
    ]
    steps = " + ".join(f"np.float64({size} >= {midpoint})" for midpoint in midpoints)
    count = s.put(f"{base} - 1.0 + {steps}")
    result = s.put(f"np.copysign({count} {'/' if places >= 0 else '*'} {unit!r}, np.float64({value.text}))")
    text = s.put(f"np.float32({result})") if type == FLOAT else result
    return replace(value, text=s.choose(s.put(f"{size} < {near!r}"), text, value.text), error=between)

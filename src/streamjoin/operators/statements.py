"""Straight-line Python in the making: values with their flags, assignments, comparisons, whole-number arithmetic.

Nothing here branches, so that LLVM vectorizes a loop over it. A `Value` is the name of a variable with two flags
beside it: that it is NULL, and that Spark would raise. The error flag may also be set where the exact answer would
be costly to compute: such pairs are left to `evaluate`, which has the last word.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from streamjoin.operators.types import BOOLEAN, DATE, DOUBLE, FLOAT, INT, INTEGRAL_RANGE, SMALLINT, TINYINT, VOID, Type

NEVER, ALWAYS = "False", "True"
_DTYPES = {
    VOID: "bool_",
    BOOLEAN: "bool_",
    TINYINT: "int8",
    SMALLINT: "int16",
    INT: "int32",
    DATE: "int32",
    FLOAT: "float32",
    DOUBLE: "float64",
}
INT64 = 2**63
SURELY_FITS = 2.0**63 * (1 - 2**-40)
"""A double below this, computed beside a whole number with a few roundings, says that the number fits an int64."""


def dtype_of(type: Type) -> str:
    """The name of the NumPy type that holds values of a type.

    >>> dtype_of(DATE), dtype_of(DOUBLE)
    ('int32', 'float64')
    """
    return _DTYPES.get(type, "int64")


def limit_of(type: Type) -> int:
    """One more than the greatest whole number of a type."""
    return INTEGRAL_RANGE.get(type, 2**31 if type == DATE else INT64)


@dataclass(frozen=True)
class Value:
    """A computed node: its variable, its flags, and what is known of it before it is computed.

    Whole numbers lie between `low` and `high` and may be held in a narrower or wider type than their own.
    """

    text: str
    dtype: str
    null: str = NEVER
    error: str = NEVER
    low: int = 0
    high: int = 0
    may_be_nan: bool = False
    constant: Any = None

    @property
    def is_floating(self) -> bool:
        """Whether it is an IEEE 754 number."""
        return self.dtype.startswith("float")


def any_value(text: str, type: Type, **known: Any) -> Value:
    """A value that may be anything its type holds."""
    return Value(text, dtype_of(type), low=-limit_of(type), high=limit_of(type) - 1, **known)


def no_value(type: Type, **known: Any) -> Value:
    """What stands for a value where a flag says that there is none."""
    return any_value(NEVER if dtype_of(type) == "bool_" else f"np.{dtype_of(type)}(0)", type, **known)


@dataclass(frozen=True)
class Operation:
    """An operator's result type, its operands with their own types, and those of them that are constants by rule."""

    type: Type
    values: Sequence[Value]
    types: Sequence[Type]
    constants: Sequence[Any] = ()


@dataclass
class Statements:
    """Assignments in order, each text only once, and logic on flags that leaves out what is known beforehand."""

    lines: list[str] = field(default_factory=list)
    is_strict: bool = False
    """Whether functions of `strict` are called."""

    _names: dict[str, str] = field(default_factory=dict)
    _opposites: dict[str, str] = field(default_factory=lambda: {NEVER: ALWAYS, ALWAYS: NEVER})

    def put(self, text: str) -> str:
        """A variable that holds the text's value."""
        if text not in self._names:
            self._names[text] = f"v{len(self._names)}"
            self.lines.append(f"{self._names[text]} = {text}")
        return self._names[text]

    def call_strict(self, function: Callable[..., float], arguments: Sequence[str]) -> str:
        """The value of a function of `strict`."""
        self.is_strict = True
        return self.put(f"{function.__name__}({', '.join(arguments)})")

    def either(self, *flags: str) -> str:
        """That at least one flag is set."""
        return self._join(" | ", ALWAYS, NEVER, flags)

    def both(self, *flags: str) -> str:
        """That all flags are set."""
        return self._join(" & ", NEVER, ALWAYS, flags)

    def _join(self, operator: str, deciding: str, neutral: str, flags: tuple[str, ...]) -> str:
        if deciding in flags:
            return deciding
        needed = list(dict.fromkeys(flag for flag in flags if flag != neutral))
        return self.put(operator.join(needed)) if len(needed) > 1 else needed[0] if needed else neutral

    def negate(self, flag: str) -> str:
        """That the flag is not set."""
        if flag not in self._opposites:
            opposite = self.put(f"not {flag}")
            self._opposites |= {flag: opposite, opposite: flag}
        return self._opposites[flag]

    def choose(self, flag: str, a: str, b: str) -> str:
        """`a` where the flag is set, else `b`."""
        if flag in (NEVER, ALWAYS) or a == b:
            return a if flag == ALWAYS else b
        return self.put(f"{a} if {flag} else {b}")

    def hold(self, value: Value, dtype: str) -> str:
        """The value held in another type."""
        return value.text if value.dtype == dtype else self.put(f"np.{dtype}({value.text})")

    # Comparisons: NaN equals itself and is greater than every number.

    def equal(self, a: Value, b: Value) -> str:
        """That two values of one type are equal."""
        x, y = self._comparable(a), self._comparable(b)
        nan = f" | (({x} != {x}) & ({y} != {y}))" if a.may_be_nan and b.may_be_nan else ""
        return self.put(f"({x} == {y}){nan}")

    def less(self, a: Value, b: Value) -> str:
        """That a value comes before another one."""
        x, y = self._comparable(a), self._comparable(b)
        if not b.may_be_nan:
            return self.put(f"{x} < {y}")
        return self.put(f"not {y} <= {x}" if not a.may_be_nan else f"(not {y} <= {x}) & ({x} == {x})")

    def not_greater(self, a: Value, b: Value) -> str:
        """That a value is equal to another one or comes before it."""
        x, y = self._comparable(a), self._comparable(b)
        if not b.may_be_nan:
            return self.put(f"{x} <= {y}")
        return self.put(f"not {y} < {x}" if not a.may_be_nan else f"({x} <= {y}) | ({y} != {y})")

    def _comparable(self, value: Value) -> str:
        return self.hold(value, "int8") if value.dtype == "bool_" else value.text

    # Whole numbers

    def fit(self, text: str, dtype: str, type: Type, low: int, high: int) -> Value:
        """A whole number between low and high, computed without overflow, brought into its type."""
        limit = limit_of(type)
        error = self.either(
            self.put(f"{text} < {-limit}") if low < -limit else NEVER,
            self.put(f"{text} > {limit - 1}") if high >= limit else NEVER,
        )
        value = Value(text, dtype, NEVER, error, max(low, -limit), min(high, limit - 1))
        narrow = limit <= 2**31 and dtype == "int64"
        return replace(value, text=self.put(f"np.int32({text})"), dtype="int32") if narrow else value

    def add(self, sign: str, type: Type, a: Value, b: Value) -> Value:
        """A sum or difference of whole numbers, in 32 bits where those hold its type."""
        low, high = (a.low + b.low, a.high + b.high) if sign == "+" else (a.low - b.high, a.high - b.low)
        dtype = "int64" if "int64" in (a.dtype, b.dtype) or limit_of(type) > 2**31 else "int32"
        x, y = self.hold(a, dtype), self.hold(b, dtype)
        total = self.put(f"np.{dtype}({x} {sign} {y})")
        bits = 2**31 if dtype == "int32" else INT64
        if -bits <= low and high < bits:
            return self.fit(total, dtype, type, low, high)
        wrapped = f"({x} ^ {total}) & ({y} ^ {total})" if sign == "+" else f"({x} ^ {y}) & ({x} ^ {total})"
        return replace(any_value(total, type), dtype=dtype, error=self.put(f"np.{dtype}({wrapped}) < 0"))

    def multiply(self, type: Type, a: Value, b: Value) -> Value:
        """A product of whole numbers."""
        ends = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
        product = self.put(f"{self.hold(a, 'int64')} * {self.hold(b, 'int64')}")
        if min(ends) >= -INT64 and max(ends) < INT64:
            return self.fit(product, "int64", type, min(ends), max(ends))
        size = self.put(f"abs(np.float64({a.text}) * np.float64({b.text}))")
        return any_value(product, type, error=self.put(f"{size} > {SURELY_FITS!r}"))

    def remainder(self, a: str, b: str, safe: str) -> str:
        """That of int64 numbers, with the sign of the dividend; `safe` is b, or 1 where b is 0 or -1."""
        floored = self.put(f"{a} % {safe}")
        return self.put(f"{floored} - {safe} if ({floored} != 0) & (({a} < 0) != ({b} < 0)) else {floored}")

    # Logic

    def is_true(self, value: Value) -> str:
        """That a condition is neither false nor NULL."""
        return self.both(value.text, self.negate(value.null))

    def is_false(self, value: Value) -> str:
        """That a condition is neither true nor NULL."""
        return self.both(self.negate(value.text), self.negate(value.null))

    def first_of(self, pairs: list[tuple[str, Value]]) -> tuple[str, str, str]:
        """The text, NULL and error flag of the first value whose flag is set; the last one's is."""
        common = common_dtype([value for _, value in pairs])
        (_, last), *before = reversed(pairs)
        text, null, error = self.hold(last, common), last.null, last.error
        for flag, value in before:
            text = self.choose(flag, self.hold(value, common), text)
            null = self.either(self.both(flag, value.null), self.both(self.negate(flag), null))
            error = self.either(self.both(flag, value.error), self.both(self.negate(flag), error))
        return text, null, error


def common_dtype(values: Sequence[Value]) -> str:
    """The widest: values of one type differ only in how many bits hold a whole number."""
    return max((value.dtype for value in values), key=lambda dtype: np.dtype(getattr(np, dtype)).itemsize)


def join_values(values: Sequence[Value], text: str, null: str, error: str) -> Value:
    """The value that is one of several."""
    return Value(
        text,
        common_dtype(values),
        null,
        error,
        min(value.low for value in values),
        max(value.high for value in values),
        any(value.may_be_nan for value in values),
    )

"""What an operator or function is: one entry says all that the other modules ask of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from streamjoin.operators.arithmetic import NotEvaluable
from streamjoin.operators.expr import Call, Expr
from streamjoin.operators.statements import Operation, Statements, Value
from streamjoin.operators.types import Type


def _has_no_value(*_: object) -> NoReturn:
    raise NotEvaluable("it stands for another expression")


MANY = 10**6
"""As many arguments as one likes."""

Rule = Callable[[str, Sequence[Expr]], Expr]


@dataclass(frozen=True)
class Signature:
    """The types of the arguments and of the result; an argument of type None is an array, or one of its elements."""

    takes: tuple[Type | None, ...]
    yields: Type

    def fits(self, types: Sequence[Type]) -> bool:
        """Whether these are types of its arguments."""
        if self.takes[0] is None:
            return str(types[0]) == f"array<{types[1]}>"
        return all(takes == type for takes, type in zip(self.takes, types, strict=False))


def never(_: object) -> bool:
    """A property that nothing has."""
    return False


def always(_: object) -> bool:
    """A property that everything has."""
    return True


@dataclass(frozen=True, eq=False)
class Operator:
    """An operator or function.

    Its type rule decides what a call becomes. A `Rule` makes a `Call`, which is compiled, or an expression of other
    operators. A `Signature` makes a `Function`: Spark evaluates it wherever it can, a worker by Arrow columns where it
    must.
    """

    name: str
    types: Rule | Signature
    least: int
    most: int
    value: Callable[..., Any] = _has_no_value
    """Computes plain Python values, none of them NULL; see `typed` and `lazy`. Not needed where the type rule returns
    other operators."""

    code: Callable[[Statements, Operation], Value] | None = None
    """Writes the statements that compute it on machine numbers. Without them, calls on two sides are left to Spark."""

    arrow: Callable[..., Any] | None = None
    """Computes Arrow columns: an array, or a `vector.Column` that marks errors. Without it, a function of strings is
    computed value by value, and any other operator takes no strings in a worker."""

    synonyms: tuple[str, ...] = ()
    typed: bool = False
    """Whether `value` takes the type of the result first, and brings its result into that type."""

    lazy: bool = False
    """Whether it sees NULL, or does not look at every argument: `value` takes expressions and how to evaluate one."""

    guards: bool = False
    """Whether its first argument may keep Spark from evaluating the others."""

    last_first: bool = False
    """Whether Spark evaluates its last argument first."""

    may_raise: Callable[[Type], bool] = never
    """Whether it can fail by itself, given the type of its result."""

    reads_zone: Callable[[Call], bool] = never
    """Whether a call looks at the session's time zone."""

    constants: tuple[int, ...] = ()
    """The places of arguments that a worker takes as constants only."""

    @property
    def is_compiled(self) -> bool:
        """Whether it has compiled code."""
        return self.code is not None

    @property
    def is_function(self) -> bool:
        """Whether calls of it become a `Function`."""
        return isinstance(self.types, Signature)

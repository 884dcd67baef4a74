"""Predicates understood: text, a lambda or column names become conjuncts that kernels and Spark can serve.

>>> left, right = Schema({"ts": "timestamp", "x": "int"}), Schema({"ts": "timestamp", "a": "int"})
>>> print(parse("abs(l.x - r.a) <= 10 AND l.x > 0", left, right))
abs(l.x - r.a) <= 10 AND l.x > 0
  band       -10 <= l.x - r.a <= 10
  one-sided  l.x > 0
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from streamjoin.errors import StreamJoinError
from streamjoin.operators.expr import quote_name
from streamjoin.operators.types import Schema
from streamjoin.predicate.classify import classify
from streamjoin.predicate.predicate import Predicate
from streamjoin.sql.pointer import point_at

if TYPE_CHECKING:
    from streamjoin.sql.bind import TypeOf

__all__ = ["On", "Predicate", "Schema", "parse"]

On = str | Sequence[str] | Callable[[Any, Any], Any]
"""What a user may give as `on`."""


def parse(on: On, left: Schema, right: Schema, typeof: "TypeOf | None" = None) -> Predicate:
    """Understand a condition; `typeof` asks Spark for the types of functions that only Spark knows."""
    from streamjoin.sql.bind import bind  # with the parser, which Python workers need not load

    text = _text(on)
    condition = bind(text, left, right, typeof)
    if len(condition.sides) == 1:
        named = "left" if "l" in condition.sides else "right"
        raise StreamJoinError(
            f"on: the condition names only the {named} side; a join compares columns of l with columns of r"
            + point_at(text, (0, len(text)))
        )
    return Predicate(text, condition, classify(condition))


def _text(on: object) -> str:
    if isinstance(on, str):
        return on
    if callable(on):
        from streamjoin.sql.trace import trace

        return trace(on)
    if isinstance(on, Sequence) and on and all(isinstance(name, str) for name in on):
        return " AND ".join(f"l.{quote_name(name)} = r.{quote_name(name)}" for name in on)
    raise StreamJoinError(f"on: expected SQL text, a lambda over (l, r) or a list of column names; got {on!r}")

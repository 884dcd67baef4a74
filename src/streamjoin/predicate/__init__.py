"""Predicates understood: text, a lambda or column names become conjuncts that kernels and Spark can serve.

>>> left, right = Schema({"ts": "timestamp", "x": "int"}), Schema({"ts": "timestamp", "a": "int"})
>>> print(parse("abs(l.x - r.a) <= 10 AND l.x > 0", left, right))
abs(l.x - r.a) <= 10 AND l.x > 0
  band       -10 <= l.x - r.a <= 10
  one-sided  l.x > 0
"""

from typing import TYPE_CHECKING

from streamjoin.errors import StreamJoinError
from streamjoin.operators.types import Schema
from streamjoin.predicate.classify import classify
from streamjoin.predicate.predicate import Predicate
from streamjoin.sql.on import On, to_text
from streamjoin.sql.pointer import point_at

if TYPE_CHECKING:
    from streamjoin.sql.bind import TypeOf

__all__ = ["On", "Predicate", "Schema", "parse"]


def parse(on: On, left: Schema, right: Schema, typeof: "TypeOf | None" = None) -> Predicate:
    """Understand a condition; `typeof` asks Spark for the types of functions that only Spark knows."""
    from streamjoin.sql.bind import bind  # imports sqlglot, which Python workers need not load

    text = to_text(on)
    condition = bind(text, left, right, typeof)
    if len(condition.sides) == 1:
        named = "left" if "l" in condition.sides else "right"
        raise StreamJoinError(
            f"on: the condition names only the {named} side; a join compares columns of l with columns of r"
            + point_at(text, (0, len(text)))
        )
    return Predicate(text, condition, classify(condition))

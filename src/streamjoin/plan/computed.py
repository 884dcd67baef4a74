"""Values of aggregates that take both rows of a pair: what cells compute of them, and of which columns."""

from streamjoin.errors import StreamJoinError
from streamjoin.operators.expr import Expr
from streamjoin.operators.values import CompiledValues
from streamjoin.predicate.classify import Keys, over_keys


def compile_value(text: str, expr: Expr) -> CompiledValues:
    """An expression over both sides, as it is written and as it is bound; what speaks of one side becomes its keys."""
    over = over_keys(expr, Keys(), guarded=False)
    if over is None:
        raise StreamJoinError(
            f"select: only Spark evaluates {text}, and a cell would have to for each pair of rows. Compute what "
            "speaks of one side as columns before, and combine them by arithmetic and comparisons of numbers"
        )
    return CompiledValues(over)

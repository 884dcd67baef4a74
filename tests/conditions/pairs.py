"""Every left row beside every right row, in Spark and here: what a condition says of each pair, on either side."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from streamjoin.operators.arithmetic import EvaluationError
from streamjoin.predicate import Predicate

Rows = list[dict[str, Any]]


@contextmanager
def view_of_pairs(spark: Any, ddl: str) -> Iterator[Callable[..., list[tuple[Any, Any]]]]:
    """Makes the view `pairs`: every left row `l` beside every right row `r`, numbered, of these columns."""
    frames: list[Any] = []

    def make(lefts: Rows, rights: Rows, as_spark: Callable[[dict[str, Any]], tuple[Any, ...]]) -> list[tuple[Any, Any]]:
        pairs = list(itertools.product(lefts, rights))
        rows = [(i, as_spark(l), as_spark(r)) for i, (l, r) in enumerate(pairs)]
        for frame in frames:
            frame.unpersist()
        frames[:] = [spark.createDataFrame(rows, f"id int, l struct<{ddl}>, r struct<{ddl}>").cache()]
        frames[0].createOrReplaceTempView("pairs")
        return pairs

    spark.conf.set("spark.sql.subexpressionElimination.enabled", "false")  # keeps CASE a guard
    yield make
    spark.conf.unset("spark.sql.subexpressionElimination.enabled")


def outcomes(condition: Any, pairs: Iterable[tuple[Any, Any]]) -> list[Any]:
    """True, False, None or the error that evaluating gave, for every pair."""

    def outcome(l: Any, r: Any) -> Any:
        try:
            return condition(l, r)
        except EvaluationError as error:
            return error

    return [outcome(l, r) for l, r in pairs]


def agreed(
    spark: Any, predicates: Sequence[Predicate], pairs: list[tuple[Any, Any]]
) -> Iterator[tuple[Predicate, list[int], set[int]]]:
    """For each predicate, which `evaluate` must agree with Spark on: the pairs on which it does not raise, and those
    of them for which it holds.
    """
    found = [outcomes(predicate, pairs) for predicate in predicates]
    quiet = [[i for i, value in enumerate(column) if not isinstance(value, EvaluationError)] for column in found]
    kept = _where(spark, [predicate.text for predicate in predicates], quiet)
    for predicate, column, ids, wanted in zip(predicates, found, quiet, kept, strict=True):
        assert {i for i in ids if column[i] is True} == wanted, predicate.text
        yield predicate, ids, wanted


def _where(spark: Any, texts: list[str], allowed: list[list[int]]) -> list[set[int]]:
    """For each text, the ids of the allowed pairs that Spark's WHERE keeps."""
    kept = ", ".join(
        f"collect_list(id) FILTER (WHERE CASE WHEN id IN ({', '.join(map(str, ids)) or 'NULL'}) THEN ({text}) END)"
        for text, ids in zip(texts, allowed, strict=True)
    )
    return [set(ids) for ids in spark.sql(f"SELECT {kept} FROM pairs").first()]

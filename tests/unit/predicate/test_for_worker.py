"""In an inner join a worker decides what it decides exactly as Spark does; the rest stays with Spark, part by part."""

from collections.abc import Callable

import pytest

from streamjoin.operators.expr import to_sql
from streamjoin.operators.types import Schema
from streamjoin.predicate import Predicate, parse
from streamjoin.predicate.conjunct import Evaluated
from streamjoin.spec.side import SIDES

SCHEMA = Schema(
    {
        "ts": "timestamp",
        "s": "string",
        "t": "string",
        "n": "int",
        "m": "decimal(10,2)",
        "words": "array<string>",
        "raw": "binary",
    }
)


def moved(on: str) -> Predicate:
    return parse(on, SCHEMA, SCHEMA).prefer_worker()


@pytest.mark.parametrize(
    ("on", "kind"),
    [
        ("levenshtein(l.s, r.s) <= 2", "evaluated"),
        ("levenshtein(upper(l.s), r.s) <= 2", "evaluated"),  # Spark computes upper(l.s) before the join
        ("l.n = r.n OR levenshtein(l.s, r.s) <= 2", "evaluated"),
        ("levenshtein(l.s, r.s) / length(l.s) < 0.2", "evaluated"),
        ("l.s < r.s", "evaluated"),
        ("l.s = r.s OR l.n = r.n", "evaluated"),
        ("l.raw < r.raw", "evaluated"),
        ("startswith(l.s, r.s)", "evaluated"),
        ("array_contains(l.words, r.s)", "evaluated"),
        ("length(l.s || r.s) div r.n = 1", "evaluated"),  # fails on the same pairs as in Spark
        # Patterns: only constants, with sense, that mean the same to Java and RE2.
        ("concat(l.s, r.s) LIKE 'a%'", "evaluated"),
        ("concat(l.s, r.s) LIKE NULL", "residual"),
        ("concat(l.s, r.s) LIKE 'a!_%' ESCAPE '!'", "evaluated"),
        (r"concat(l.s, r.s) LIKE 'a\\b'", "residual"),
        ("l.s LIKE r.s", "residual"),
        ("l.s LIKE concat('%', r.s)", "residual"),
        ("l.n = r.n OR l.s LIKE l.t", "residual"),
        ("concat(l.s, r.s) RLIKE '^a+$'", "evaluated"),
        ("concat(l.s, r.s) RLIKE 'a(?=b)'", "residual"),
        ("concat(l.s, r.s) RLIKE 'a('", "residual"),
        ("l.s RLIKE r.s", "residual"),
        ("l.n = r.n OR l.s RLIKE 'a(?=b)' AND l.s <> r.s", "residual"),
        # Letters of both sides whose case goes by Unicode's tables.
        ("upper(concat(l.s, r.s)) = 'AB'", "residual"),
        ("concat(l.s, r.s) ILIKE 'a%'", "residual"),
        ("concat(l.s, r.s) <> lower('ÀX')", "residual"),
        # The session's zone, also within the argument of a function.
        ("contains(l.s, r.ts)", "residual"),
        # What only Spark knows, also on one side: it might fail on rows that no pair needs.
        ("my_udf(l.s, r.s)", "residual"),
        ("l.n = r.n OR my_udf(l.s, r.s)", "residual"),
        ("levenshtein(my_udf(l.s), r.s) <= 2", "residual"),
        ("levenshtein(l.s, r.s) <= CAST(l.t AS INT)", "residual"),
        ("l.m * r.m > 5", "residual"),
        ("l.words = r.words", "residual"),
        # The session's time zone stays Spark's.
        ("l.ts - r.ts <> INTERVAL 1 HOUR", "residual"),
        ("l.s < r.s OR l.ts - r.ts < INTERVAL 1 HOUR", "residual"),
    ],
)
def test_a_conjunct_is_the_worker_s_or_spark_s(on: str, kind: str) -> None:
    assert [conjunct.kind for conjunct in moved(on).conjuncts] == [kind]
    assert [conjunct.exact for conjunct in moved(on).conjuncts] == [parse(on, SCHEMA, SCHEMA).condition]


def test_each_conjunct_for_itself() -> None:
    predicate = moved("l.n = r.n AND my_udf(l.t, r.t) AND levenshtein(l.s, r.s) <= 2 AND l.s LIKE r.t AND l.t < r.s")
    assert [conjunct.kind for conjunct in predicate.conjuncts] == [
        "equi",
        "residual",
        "evaluated",
        "residual",
        "evaluated",
    ]
    assert [str(key) for key in predicate.keys("l")] == ["l.n", "l.s", "l.t"]
    assert [str(key) for key in predicate.keys("r")] == ["r.n", "r.s"]  # not r.t, which only Spark reads
    assert [str(conjunct) for conjunct in predicate.residual] == ["my_udf(l.t, r.t)", "(l.s LIKE r.t)"]


def test_what_may_raise_stays_behind_what_spark_decides() -> None:
    """Spark does not divide where the conjunct before is false."""
    divides = "length(l.s || r.s) div r.n = 1"
    assert [c.kind for c in moved(f"my_udf(l.t, r.t) AND {divides}").conjuncts] == ["residual", "residual"]
    assert [c.kind for c in moved(f"{divides} AND my_udf(l.t, r.t)").conjuncts] == ["evaluated", "residual"]
    assert [c.kind for c in moved(f"l.s < r.s AND {divides}").conjuncts] == ["evaluated", "evaluated"]


@pytest.mark.parametrize(
    ("written", "bounded"),
    [
        ("levenshtein(l.s, r.s) <= 2", "levenshtein(l.s, r.s, 2) >= 0"),
        ("levenshtein(l.s, r.s) < 2", "levenshtein(l.s, r.s, 1) >= 0"),
        ("levenshtein(l.s, r.s) > 2", "levenshtein(l.s, r.s, 2) < 0"),
        ("levenshtein(l.s, r.s) >= 2", "levenshtein(l.s, r.s, 1) < 0"),
        ("levenshtein(l.s, r.s) < 0", "levenshtein(l.s, r.s) < 0"),
        ("levenshtein(l.s, r.s) = 2", "levenshtein(l.s, r.s) = 2"),
        ("levenshtein(l.s, r.s, 3) > 2", "levenshtein(l.s, r.s, 3) > 2"),
    ],
)
def test_a_distance_is_known_up_to_its_bound(written: str, bounded: str) -> None:
    (conjunct,) = moved(written).conjuncts
    assert isinstance(conjunct, Evaluated)
    ((pair,), check) = conjunct.pairs, str(conjunct.check)
    assert check.replace(str(pair.key), str(pair.tree)) == bounded


@pytest.mark.parametrize(
    "on",
    [
        "levenshtein(l.s, 'smith') <= 2 OR contains(l.t, r.t)",
        "levenshtein(l.s, l.t) > 1 AND contains(l.s, r.t) OR l.n < r.n",
        "CASE WHEN levenshtein(l.s, l.t) < 3 THEN contains(l.s, r.t) ELSE FALSE END",
        "contains(l.s, r.t) = (levenshtein(l.t, 'x') >= 2)",
    ],
)
@pytest.mark.parametrize("serve", [Predicate.prefer_worker, Predicate.require_worker])
def test_what_spark_computes_for_one_side_is_what_was_written(on: str, serve: Callable[[Predicate], Predicate]) -> None:
    """A bound that only the kernel takes must not change the condition that Spark is given."""
    keys = [to_sql(key.arg) for side in SIDES for key in serve(parse(on, SCHEMA, SCHEMA)).keys(side)]
    measured = [sql for sql in keys if "levenshtein" in sql]
    assert measured
    assert all(sql in on for sql in measured), measured

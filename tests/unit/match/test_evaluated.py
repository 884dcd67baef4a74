"""Conditions on strings and arrays hold for exactly the pairs for which `evaluate` says so."""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamjoin import within
from streamjoin.errors import StreamJoinError
from streamjoin.match import Matcher
from streamjoin.operators.arithmetic import EvaluationError
from streamjoin.operators.evaluate import evaluate
from streamjoin.pane import KeyColumn, Rows, Segment
from streamjoin.predicate import Predicate, parse
from streamjoin.predicate.conjunct import OneSided
from streamjoin.predicate.traits import may_raise
from streamjoin.spec.side import Side
from tests.conditions.texts import CONDITIONS, SCHEMA, SIDES

_ARROW = {
    "string": pa.string(),
    "array<string>": pa.list_(pa.string()),
    "array<int>": pa.list_(pa.int32()),
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "double": pa.float64(),
}


def rows_of(predicate: Predicate, side: Side, rows: Sequence[dict[str, Any]]) -> Rows:
    def column(key: Any) -> KeyColumn:
        computed = key.arg if key.type == key.arg.type else key
        values = pa.array(
            [evaluate(computed, *((row, {}) if side == "l" else ({}, row))) for row in rows], _ARROW[str(key.type)]
        )
        valid = values.is_valid().to_numpy(zero_copy_only=False)
        mask = None if valid.all() else valid
        if not key.type.is_machine:
            return KeyColumn(np.array([len(str(v)) for v in values.to_pylist()], np.int64), mask, values)
        zero = False if pa.types.is_boolean(values.type) else 0
        return KeyColumn(values.fill_null(zero).to_numpy(zero_copy_only=False), mask)

    payload = pa.record_batch([pa.array(range(len(rows)), pa.int64())], ["id"])
    time = np.array([row["ts"] for row in rows], np.int64)
    return Rows(time, tuple(column(key) for key in predicate.keys(side)), payload)


def decided(text: str) -> Predicate | None:
    """The condition as a worker decides it; None for what names one side only, or more than a worker knows."""
    try:
        return parse(text, SCHEMA, SCHEMA).require_worker()
    except StreamJoinError:
        return None


def outcome(predicate: Predicate, l: dict[str, Any], r: dict[str, Any]) -> bool | None:
    """Whether a pair matches; None where that cannot be had."""
    try:
        return predicate(l, r) is True
    except EvaluationError:
        return None


@given(CONDITIONS, SIDES, SIDES, st.sampled_from("lr"))
@settings(max_examples=300)
def test_a_matcher_finds_the_pairs(text: str, left: list[Any], right: list[Any], probe: Side) -> None:
    if (predicate := decided(text)) is None:
        return
    sides = {"l": rows_of(predicate, "l", left), "r": rows_of(predicate, "r", right)}
    wanted = {(i, j): outcome(predicate, l, r) for i, l in enumerate(left) for j, r in enumerate(right)}
    matcher = Matcher(predicate, within("1 second"))
    segment = matcher.prepare("r" if probe == "l" else "l", Segment("s", sides["r" if probe == "l" else "l"]))
    try:
        pairs = [
            pair for p in matcher.pairs(probe, sides[probe], segment) for pair in zip(p.probe, p.build, strict=True)
        ]
    except EvaluationError:
        assert None in wanted.values(), text
        return
    found = sorted((int(a), int(b)) if probe == "l" else (int(b), int(a)) for a, b in pairs)
    known = {pair for pair, match in wanted.items() if match is not None}
    assert [pair for pair in found if pair in known] == sorted(pair for pair, match in wanted.items() if match), text


@given(CONDITIONS, SIDES, SIDES, st.sampled_from("lr"))
@settings(max_examples=300)
def test_an_inner_join_s_matcher_and_spark_find_the_pairs(
    text: str, left: list[Any], right: list[Any], probe: Side
) -> None:
    """The matcher takes its part without an error, whatever the patterns; Spark, here `evaluate`, takes the rest."""
    if (predicate := in_inner_join(text)) is None:
        return
    sides = {"l": rows_of(predicate, "l", left), "r": rows_of(predicate, "r", right)}
    matcher = Matcher(predicate, within("1 second"))
    build: Side = "r" if probe == "l" else "l"
    segment = matcher.prepare(build, Segment("s", sides[build]))
    found = {
        (int(a), int(b)) if probe == "l" else (int(b), int(a))
        for p in matcher.pairs(probe, sides[probe], segment)
        for a, b in zip(p.probe, p.build, strict=True)
    }
    for pair in itertools.product(range(len(left)), range(len(right))):
        l, r = left[pair[0]], right[pair[1]]
        if (match := outcome(predicate, l, r)) is not None:
            kept = pair in found and all(evaluate(c.exact, l, r) is True for c in predicate.residual)
            assert kept == match, text


def in_inner_join(text: str) -> Predicate | None:
    """The condition as an inner join has it; None for what names one side only, or fails on rows before the join."""
    try:
        predicate = parse(text, SCHEMA, SCHEMA).prefer_worker()
    except StreamJoinError:
        return None
    before = [c for c in predicate.conjuncts if isinstance(c, OneSided) and may_raise(c.exact)]
    return None if before else predicate


def test_much_of_what_is_drawn_is_moved_to_the_worker() -> None:
    drawn: list[Predicate] = []

    @given(CONDITIONS)
    @settings(max_examples=200, database=None)
    def draw(text: str) -> None:
        if (predicate := in_inner_join(text)) is not None:
            drawn.append(predicate)

    draw()
    kinds = [conjunct.kind for predicate in drawn for conjunct in predicate.conjuncts]
    assert kinds.count("evaluated") > 20
    assert kinds.count("residual") > 20


def test_most_of_what_is_drawn_is_decided() -> None:
    """Or the test above would say nothing."""
    drawn: list[str] = []

    @given(CONDITIONS)
    @settings(max_examples=200, database=None)
    def draw(text: str) -> None:
        drawn.append(text)

    draw()
    both = [text for text in drawn if "l." in text and "r." in text]
    assert sum(decided(text) is not None for text in both) > len(both) * 0.6


BAD = r"a\b"


@pytest.mark.parametrize(
    "text",
    [
        "(l.s RLIKE r.q) <> (l.t RLIKE r.q)",
        "CASE WHEN l.s RLIKE r.q THEN NOT l.t RLIKE r.q ELSE false END",
    ],
)
def test_patterns_that_a_worker_does_not_know_are_no_reason_to_guess(text: str) -> None:
    """Either of them may match or not: it would be wrong to let both match, or neither."""
    predicate = parse(text, SCHEMA, SCHEMA).require_worker()
    matcher = Matcher(predicate, within("1 second"))
    segment = matcher.prepare("r", Segment("s", rows_of(predicate, "r", [{"ts": 0, "q": "b(?=c)"}])))
    with pytest.raises(EvaluationError, match="RLIKE: a worker does not know"):
        list(matcher.pairs("l", rows_of(predicate, "l", [{"ts": 0, "s": "abc", "t": "x"}]), segment))


@pytest.mark.parametrize(
    ("text", "kinds", "matches"),
    [
        ("l.s LIKE r.p", ["x"], None),
        ("l.ok OR l.s LIKE r.p", ["x"], [True]),
        ("CASE WHEN r.t = 'pattern' THEN l.s LIKE r.p ELSE l.s = r.p END", ["pattern"], None),
        ("CASE WHEN r.t = 'pattern' THEN l.s LIKE r.p ELSE l.s = r.p END", ["plain"], [True]),
    ],
)
def test_a_pattern_without_sense_raises_where_it_is_needed(text: str, kinds: list[str], matches: Any) -> None:
    predicate = parse(text, SCHEMA, SCHEMA).require_worker()
    left = [{"ts": 0, "s": BAD, "ok": True}]
    right = [{"ts": 0, "p": BAD, "t": kind} for kind in kinds]
    matcher = Matcher(predicate, within("1 second"))
    segment = matcher.prepare("r", Segment("s", rows_of(predicate, "r", right)))
    found = matcher.pairs("l", rows_of(predicate, "l", left), segment)
    if matches is None:
        with pytest.raises(EvaluationError, match="escape character"):
            list(found)
    else:
        assert sum(len(pairs.probe) for pairs in found) == sum(matches)


@pytest.mark.parametrize(
    ("on", "part", "reason"),
    [
        ("my_udf(l.n, r.n) AND l.n = r.n", r"my_udf\(l.n, r.n\)", "only Spark evaluates this"),
        ("length(l.s || r.s) > 2 OR length(l.s) = 3 OR my(l.s, r.s)", r"my\(l.s, r.s\) in .*", "only Spark"),
        ("l.words = r.words", "l.words = r.words", "array<string>"),
        ("CASE WHEN l.n < r.n THEN l.s ELSE r.s END = 'a'", "l.n < r.n in .*", "within a function of strings"),
        ("l.s LIKE r.p ESCAPE 'é'", ".*ESCAPE 'é'.*", "an ASCII one"),
        ("levenshtein(l.s, r.s, r.n) > 0", "levenshtein.*", "a worker takes r.n as a constant only"),
        (
            "CASE WHEN r.ok THEN CASE WHEN l.s LIKE r.p THEN l.t ELSE r.q END ELSE l.t END = 'x'",
            r"\(l.s LIKE r.p\) in .*",
            "a pattern behind a condition",
        ),
    ],
)
def test_what_a_worker_cannot_decide_is_refused_by_name(on: str, part: str, reason: str) -> None:
    with pytest.raises(StreamJoinError, match=rf"on: {part}: .*{reason}.*[Cc]ompute a column before the join"):
        parse(on, SCHEMA, SCHEMA).require_worker()

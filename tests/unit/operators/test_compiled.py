"""Compiled conditions mean what `evaluate` says, on every pair of rows, with and without the compiler."""

import contextlib
import itertools
import math
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from streamjoin.errors import StreamJoinError
from streamjoin.operators.arithmetic import EvaluationError, NotEvaluable
from streamjoin.operators.codegen import TILE, nested_source, pairs_source
from streamjoin.operators.compiled import CompiledCheck, KeyColumn, new_cursor
from streamjoin.operators.evaluate import evaluate
from streamjoin.operators.expr import Column, Expr, Key
from streamjoin.operators.statements import dtype_of
from streamjoin.operators.types import DATE, DOUBLE, FLOAT, INTERVAL, INTERVAL_DAY, TIMESTAMP_NTZ, Type
from streamjoin.predicate import Schema, parse
from streamjoin.predicate.conjunct import Compiled
from streamjoin.sql.bind import bind
from tests.conditions.operators import COMPILED, GROUPS, texts_of
from tests.conditions.schemas import LEFT, RIGHT
from tests.conditions.strategies import conditions, rows, values

Row = Mapping[str, Any]
PLAIN = bool(getattr(numba.config, "DISABLE_JIT", False))


def over_keys(expr: Expr) -> Expr:
    """Every column a key of its own, so that one-sided operations are compiled too."""
    if isinstance(expr, Column):
        return Key(expr.type, expr, name=f"{expr.side}_{'_'.join(expr.path)}")
    return expr.rebuild(over_keys)


def compiled(text: str, left: Schema = LEFT, right: Schema = RIGHT) -> CompiledCheck:
    return CompiledCheck([over_keys(bind(text, left, right))])


def columns(keys: Sequence[Key], side: Sequence[Row]) -> list[KeyColumn]:
    """The key columns of some rows; the value beneath a NULL is anything, here 0."""
    found = []
    for key in keys:
        cells = [row[key.arg.path[0]] if isinstance(key.arg, Column) else evaluate(key, row, row) for row in side]
        valid = np.array([cell is not None for cell in cells], np.bool_)
        array = np.array([0 if cell is None else cell for cell in cells]).astype(dtype_of(key.type))
        found.append((array, None if valid.all() else valid))
    return found


def outcome(condition: Expr, l: Row, r: Row) -> bool | None:
    """Whether the condition is true; None where it raises."""
    try:
        return evaluate(condition, l, r) is True
    except EvaluationError:
        return None


# Every operator on every type, by its value


def _may_be_left(text: str, x: Any, a: Any) -> bool:
    """Whether an operation that does not raise may be left to `evaluate`: it is near the end of what is exact."""
    if text == "r.i + l.x":  # within seconds of the last time there is
        return True
    if "round" in text:
        return isinstance(x, float) and math.isfinite(x) and ("25" in text or "7" in text or abs(x) > 2**22 / 1000)
    return " * " in text and None not in (x, a) and abs(x * a) > 2**63 * (1 - 2**-39)


def _edges(type: Type) -> st.SearchStrategy[Any]:
    """Values of a type with its ends: beyond what rows of everyday tests hold."""
    ends = {DATE: 2**31 // 100, TIMESTAMP_NTZ: 2**63, INTERVAL: 2**63, INTERVAL_DAY: 86_400_000_000 * 10**8}
    if type in ends:
        top = ends[type]
        whole = st.one_of(st.integers(-3, 3), st.sampled_from([top - 1, -top, -top + 1]), values(DATE))
        if type == INTERVAL_DAY:
            return st.integers(-(10**8), 10**8).map(lambda days: days * 86_400_000_000)
        return st.one_of(whole, values(type)) if type == DATE else st.one_of(whole, st.integers(-top, top - 1))
    if type in (FLOAT, DOUBLE):
        near = st.integers(-(10**7), 10**7).map(lambda n: n / 1000)
        halves = st.integers(-(10**5), 10**5).map(lambda n: n / 2)
        return st.one_of(values(type), near.map(lambda v: float(np.float32(v)) if type == FLOAT else v), halves)
    return values(type)


@pytest.mark.parametrize("group", [group for group in COMPILED if group != "angle"])
def test_every_operator_yields_the_value_that_evaluate_does(group: str) -> None:
    """One structure for all operators of a type: CASE chooses the one that a row asks for.

    The right row holds the operator's value as `evaluate` computes it, so that `<=>` is true. What `evaluate`
    raises on raises; nothing else is left to it, but for `_may_be_left`.
    """
    types, texts = GROUPS[group], texts_of(group)
    bound = [over_keys(bind(f"({text}) <=> ({text})", Schema(types), Schema(types))).children[0] for text in texts]
    results = {str(expr.type): f"e{i}" for i, expr in enumerate(bound)}
    left, right = Schema(types | {"op": "int"}), Schema(types | {"zero": "int"} | {c: t for t, c in results.items()})
    cases = " ".join(
        f"WHEN l.op + r.zero = {i} THEN ({text}) <=> r.{results[str(expr.type)]}"
        for i, (text, expr) in enumerate(zip(texts, bound, strict=True))
    )
    check = compiled(f"CASE {cases} END", left, right)
    cells = st.fixed_dictionaries({name: st.none() | _edges(type) for name, type in Schema(types).columns})

    @settings(max_examples=5 if PLAIN else 50)
    @given(st.lists(st.tuples(cells, cells), min_size=1, max_size=8))
    def holds(pairs: list[tuple[dict[str, Any], dict[str, Any]]]) -> None:
        asked: list[tuple[int, Row, Row]] = []
        raising: list[tuple[Row, Row]] = []
        for (i, expr), (l, r) in itertools.product(enumerate(bound), pairs):
            l, r = l | {"op": i}, r | {"zero": 0} | dict.fromkeys(results.values())
            try:
                asked.append((i, l, r | {results[str(expr.type)]: evaluate(expr, l, r)}))
            except EvaluationError:
                raising.append((l, r))
        for l, r in raising[:4]:
            with pytest.raises(EvaluationError, match="CASE"):
                check.pairs(columns(check.left, [l]), columns(check.right, [r]), *np.zeros((2, 1), np.int32))
        lc, rc = columns(check.left, [l for _, l, _ in asked]), columns(check.right, [r for _, _, r in asked])
        every = np.arange(len(asked), dtype=np.int32)
        check.evaluated = 0
        wrong = [asked[k] for k in np.flatnonzero(~check.pairs(lc, rc, every, every))]
        assert not [(texts[i], l, r) for i, l, r in wrong]
        assert check.evaluated <= sum(_may_be_left(texts[i], l["x"], r["a"]) for i, l, r in asked)

    holds()


def test_angles_agree_to_the_last_digit() -> None:
    """The compiler's mathematical library need not be Python's, so a unit in the last place may differ."""
    real = texts_of("angle")
    left, right = Schema({"x": "double", "op": "int"}), Schema({"a": "double", "e": "double", "zero": "int"})
    bound = [bind(f"({text}) <=> r.e", left, right).children[0] for text in real]
    close = "({0}) <=> r.e OR abs(({0}) - r.e) <= abs(r.e) * 1e-15 OR abs(r.e) < 1e-300 AND abs({0}) < 1e-300"
    cases = " ".join(f"WHEN l.op + r.zero = {i} THEN {close.format(text)}" for i, text in enumerate(real))
    check = compiled(f"CASE {cases} END", left, right)
    number = st.one_of(st.none(), st.floats(-20, 20), values(DOUBLE), st.integers(-5, 5).map(float))

    @given(st.lists(st.tuples(number, number), min_size=1, max_size=8))
    def holds(pairs: list[tuple[float | None, float | None]]) -> None:
        asked = [
            ({"x": v, "op": i}, {"a": w, "e": evaluate(expr, {"x": v}, {"a": w}), "zero": 0})
            for (v, w), (i, expr) in itertools.product(pairs, enumerate(bound))
        ]
        lefts, rights = [l for l, _ in asked], [r for _, r in asked]
        every = np.arange(len(asked))
        found = check.pairs(columns(check.left, lefts), columns(check.right, rights), every, every)
        wrong = [(real[l["op"]], l, r) for (l, r), true in zip(asked, found, strict=True) if not true]
        assert not wrong

    holds()


# Conditions as users write them


CONDITIONS = [
    "l.x * r.a <= 10",
    "l.v * r.w + l.f < r.f OR l.ok AND NOT r.fine",
    "l.x <> 0 AND r.b div l.x = l.y % 7 AND coalesce(l.big, r.big, 1) > least(l.small, r.tiny)",
    "CASE WHEN r.a > 5 THEN l.x / (r.a - 6) > 0.5D WHEN l.v > r.w THEN l.ok ELSE l.x IN (r.a, r.b, 7, NULL) END",
]
LEFTS, RIGHTS = st.lists(rows(LEFT), min_size=1, max_size=6), st.lists(rows(RIGHT), min_size=1, max_size=6)
TIMES = st.lists(st.integers(-3, 3), min_size=6, max_size=6).map(lambda times: np.array(times, np.int64))


def _nested(
    check: CompiledCheck,
    probe: Any,
    lc: list[KeyColumn],
    rc: list[KeyColumn],
    low: Any,
    high: Any,
    time: Any,
    room: int,
) -> tuple[list[tuple[int, int]], int]:
    """All matches as (left, right), through arrays of so much room, and the number of pairs examined."""
    probes, builds = np.empty((2, room), np.int32)
    cursor = new_cursor()
    found: list[tuple[int, int]] = []
    while cursor[0] >= 0:
        count = check.nested(probe, lc, rc, low, high, time, probes, builds, cursor)
        found += zip(probes[:count].tolist(), builds[:count].tolist(), strict=True)
    return sorted(found if probe == "l" else [(b, p) for p, b in found]), int(cursor[3])


def _agrees(
    check: CompiledCheck, lefts: list[Row], rights: list[Row], low: Any, high: Any, time: Any, room: int
) -> None:
    condition = check.conditions[0]
    pairs = list(itertools.product(range(len(lefts)), range(len(rights))))
    wanted = {(i, j): outcome(condition, lefts[i], rights[j]) for i, j in pairs}
    lc, rc = columns(check.left, lefts), columns(check.right, rights)
    quiet = [pair for pair in pairs if wanted[pair] is not None]
    li, ri = np.array(quiet, np.int64).reshape(-1, 2).T
    assert check.pairs(lc, rc, li, ri).tolist() == [wanted[pair] for pair in quiet]
    for i, j in pairs:
        if wanted[i, j] is None:
            with pytest.raises(EvaluationError):
                check.pairs(lc, rc, np.array([i]), np.array([j]))
    for probe, (p, b) in (("l", (lefts, rights)), ("r", (rights, lefts))):
        bounds = low[: len(p)], high[: len(p)], time[: len(b)]
        seen = {
            (i, j): wanted[i, j]
            for i, j in pairs
            if low[i if probe == "l" else j] <= time[j if probe == "l" else i] <= high[i if probe == "l" else j]
        }
        if None in seen.values():
            with pytest.raises(EvaluationError):
                _nested(check, probe, lc, rc, *bounds, room)
        else:
            found, examined = _nested(check, probe, lc, rc, *bounds, room)
            assert found == sorted(pair for pair, true in seen.items() if true)
            assert len(seen) <= examined <= len(pairs)


@pytest.mark.parametrize("text", CONDITIONS)
def test_conditions_hold_for_the_pairs_that_evaluate_says(text: str) -> None:
    check = compiled(text)

    @settings(max_examples=10 if PLAIN else 50)
    @given(LEFTS, RIGHTS, TIMES, TIMES, TIMES, st.integers(1, 5))
    def holds(lefts: Any, rights: Any, low: Any, high: Any, time: Any, room: int) -> None:
        _agrees(check, lefts, rights, low, high, time, room)

    holds()


@contextlib.contextmanager
def _without_compiler() -> Iterator[None]:
    saved = numba.config.DISABLE_JIT
    numba.config.DISABLE_JIT = 1
    try:
        yield
    finally:
        numba.config.DISABLE_JIT = saved


@given(conditions(3), LEFTS, RIGHTS, TIMES, TIMES, TIMES, st.integers(1, 5))
@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
def test_any_condition_on_machine_numbers(
    text: str, lefts: Any, rights: Any, low: Any, high: Any, time: Any, room: int
) -> None:
    """Every tree, in the generated code as plain Python: to compile each would take a second or two."""
    checks = []
    with contextlib.suppress(NotEvaluable, StreamJoinError):
        checks.append(compiled(text))
    with contextlib.suppress(StreamJoinError, EvaluationError):
        checks += [CompiledCheck([c.exact]) for c in parse(text, LEFT, RIGHT).conjuncts if isinstance(c, Compiled)]
    assume(checks)
    with _without_compiler():
        for check in checks:
            if not _keys_raise(check, lefts, rights):  # Spark computes those before the join
                _agrees(check, lefts, rights, low, high, time, room)


def _keys_raise(check: CompiledCheck, lefts: list[Row], rights: list[Row]) -> bool:
    return any(
        outcome(key, row, row) is None
        for keys, side in ((check.left, lefts), (check.right, rights))
        for key, row in itertools.product(keys, side)
    )


@pytest.mark.parametrize("probe", ["l", "r"])
@pytest.mark.parametrize("nulls", [False, True])
def test_nested_loops_over_many_tiles_find_what_pairs_finds(probe: Any, nulls: bool) -> None:
    """Build rows of several tiles in disorder, windows that take in whole tiles, parts of them and none."""
    random = np.random.default_rng(7)
    check = compiled(CONDITIONS[1])
    sizes = {probe: 3 if PLAIN else 60, "r" if probe == "l" else "l": 2 * TILE + 37}

    def column(key: Key, size: int) -> KeyColumn:
        floats = random.normal(size=size).astype(dtype_of(key.type))
        array = floats > 0.5 if dtype_of(key.type) == "bool_" else floats
        return array, random.random(size) < 0.9 if nulls else None

    lc = [column(key, sizes["l"]) for key in check.left]
    rc = [column(key, sizes["r"]) for key in check.right]
    time = np.arange(2 * TILE + 37) + random.integers(-50, 50, 2 * TILE + 37)
    low = random.integers(-100, 3 * TILE, sizes[probe])
    high = low + random.integers(-10, 2 * TILE, sizes[probe])
    low[0], high[0] = -(2**63), 2**63 - 1
    li, ri = (a.ravel() for a in np.meshgrid(np.arange(sizes["l"]), np.arange(sizes["r"]), indexing="ij"))
    p, b = (li, ri) if probe == "l" else (ri, li)
    mask = check.pairs(lc, rc, li, ri) & (low[p] <= time[b]) & (time[b] <= high[p])
    wanted = list(zip(li[mask].tolist(), ri[mask].tolist(), strict=True))
    assert 500 < len(wanted) < len(li) / 2
    found, examined = _nested(check, probe, lc, rc, low, high, time, 101)
    assert found == wanted
    assert len(wanted) < examined < len(li)


# Structure


@pytest.mark.parametrize(
    ("one", "other", "shared"),
    [
        ("l.x * r.a <= 10", "l.y * r.b <= 20", True),
        ("l.x * r.a <= 10", "l.x * r.a <= 5 + 5", True),
        ("l.v * r.w / 3 < 1", "l.v * r.w / 7 < -1", True),
        ("l.x * r.a <= 10", "l.x * r.a < 10", False),
        ("l.x * r.a <= 10", "l.big * r.a <= 10", False),
        ("l.x * r.a <= 10", "r.a * l.x <= 10", False),
        ("l.x * l.y <= r.a", "l.x * l.x <= r.a", False),
        ("l.v * r.w / 3 < 1", "l.v * r.w / 0 < 1", False),
        ("atan2(l.v, 0.0D) < r.w OR atan2(l.v, 0.0D) > 1", "atan2(l.v, 0.0D) < r.w OR atan2(l.v, -0.0D) > 1", False),
    ],
)
def test_conditions_of_one_structure_share_their_code(one: str, other: str, shared: bool) -> None:
    a, b = (over_keys(bind(text, LEFT, RIGHT)) for text in (one, other))
    for source in (pairs_source, lambda e, **kwargs: nested_source(e, "l", **kwargs)):
        for nullable in (False, True):
            texts = {source(e, nullable=nullable, index="int64").text for e in (a, b)}
            assert len(texts) == (1 if shared else 2)


def test_the_conjunction_stops_at_the_first_condition_that_is_false() -> None:
    first, second = (over_keys(bind(text, LEFT, RIGHT)) for text in ("r.a > 0", "l.x / r.a > 1"))
    check = CompiledCheck([first, second])
    x, a = np.array([9, 9], np.int32), np.array([0, 5], np.int32)
    side = {"l.x": (x.astype(np.int32), None), "r.a": (a, None)}
    args = [[side[str(key)] for key in keys] for keys in (check.left, check.right)]
    assert check.pairs(*args, np.array([0, 1]), np.array([0, 1])).tolist() == [False, True]
    with pytest.raises(
        EvaluationError, match=r"l\.x / r\.a > 1 AND r\.a > 0: division by zero; for l\.x = 9, r\.a = 0"
    ):
        CompiledCheck([second, first]).pairs(*args, np.array([1, 0]), np.array([1, 0]))


def test_it_travels_as_its_conditions() -> None:
    check = compiled(CONDITIONS[0])
    again = pickle.loads(pickle.dumps(check))
    assert (again.left, again.right, repr(again)) == (check.left, check.right, repr(check))


def test_arrays_may_be_read_only_and_strided_but_not_of_another_type() -> None:
    check = compiled(CONDITIONS[0])
    x = np.arange(10, dtype=np.int32)
    x.flags.writeable = False
    every = np.arange(5)
    every.flags.writeable = False
    wanted = [int(v) * int(v) <= 10 for v in x[::2]]
    assert check.pairs([(x[::2], None)], [(x[::2].copy(), None)], every, every).tolist() == wanted
    with pytest.raises(TypeError, match=r"l\.x: expected a one-dimensional int32 array, got int64\(10,\)"):
        check.pairs([(x.astype(np.int64), None)], [(x, None)], every, every)
    with pytest.raises(ValueError, match=r"expected the columns l\.x; got 0"):
        check.pairs([], [(x, None)], every, every)


@pytest.mark.parametrize("text", ["l.m * r.n < 3", "l.name < r.name", "CAST('x' AS DOUBLE) < l.v * r.w"])
def test_what_no_machine_number_holds_is_refused(text: str) -> None:
    with pytest.raises(NotEvaluable):
        compiled(text)


@pytest.mark.slow
@pytest.mark.skipif(PLAIN, reason="this is that run")
def test_all_of_this_without_the_compiler() -> None:
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-x",
        "-p",
        "no:cacheprovider",
        __file__,
        "-k",
        "not any_condition",
    ]
    run = subprocess.run(command, env=os.environ | {"NUMBA_DISABLE_JIT": "1"}, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout

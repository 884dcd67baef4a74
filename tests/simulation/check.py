"""Is what came out what the reference says? And is what state holds what it should?"""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial

from streamjoin import reference
from streamjoin.flow.emit import PLAN_CELL
from streamjoin.plan.reduction import Aggregates, Pick, Sliding
from streamjoin.reference import Batch, Joined, list_dropped
from streamjoin.reference_reduce import Met, fold, meet, pick, slide
from streamjoin.spark.processor import CellState
from streamjoin.spec.how import sides_of
from streamjoin.spec.side import NAMED, SIDES, Side
from streamjoin.worker import Worker
from tests.simulation.history import Row
from tests.simulation.joins import COLUMNS, Join
from tests.simulation.runtime import Runtime
from tests.simulation.sql import Result, hash_row, project, sql_of
from tests.simulation.state import Handle

Rows = dict[Side, list[Row]]


class Wrong(AssertionError):
    """A history came out wrong."""


def check_results(runtime: Runtime) -> None:
    """Compare the sink, and what was counted, with the reference."""
    history = runtime.history
    found: Counter[str] = sum(runtime.sink.values(), Counter())
    marks = [max(logged.watermark, 0) * 1000 or None for logged in runtime.log]
    given: list[Rows] = [
        {side: [row for rows in logged.arriving.streams(side) for row in rows] for side in SIDES}
        for logged in runtime.log
    ]
    first = history.joins[0]
    _check_counts(runtime, given, marks)
    if len(history.joins) == 1 and history.seed % 12 == 0:  # takes its time
        for id, results in enumerate(_expect_by_batch(first, given, marks)):
            _compare(runtime.sink[id], results, f"in batch {runtime.log[id].arriving.number}, ")
    of_joins = [given]
    if len(history.joins) == 1:
        expected = _expect(first, given, marks)
        _check_order(runtime, expected)
    else:
        runtime.hit("chain")
        results = _expect_by_batch(first, given, marks)
        other: Side = "r" if history.chained == "l" else "l"
        chained: list[Rows] = [
            {history.chained: [project(r, history.chained) for r in new], other: logged.arriving.rows["t"]}
            for new, logged in zip(results, runtime.log, strict=True)
        ]
        of_joins.append(chained)
        expected = _expect(history.joins[1], chained, marks)
    _compare(found, expected)
    _check_kept(runtime, of_joins, marks)


def _check_order(runtime: Runtime, expected: Sequence[Result]) -> None:
    """The results of batch after batch are the reference's sequence, where that is asked for."""
    if runtime.history.joins[0].ordered:
        found = [result for id in sorted(runtime.sequence) for result in runtime.sequence[id]]
        wanted = list(map(repr, expected))
        if sorted(found) == sorted(wanted) and found != wanted:
            at = next(n for n, pair in enumerate(zip(found, wanted, strict=True)) if len({*pair}) > 1)
            raise Wrong(f"out of order from result {at} on: {found[at]} came, not {wanted[at]}")


def _tie(side: str, row: Row) -> int:
    return hash_row(side[0], *row.values())


def _compare(found: Counter[str], expected: Sequence[Result], where: str = "") -> None:
    wanted = Counter(map(repr, expected))
    if found != wanted:
        missing, excess = wanted - found, found - wanted
        raise Wrong(
            "\n".join(
                [
                    f"{where}{sum(missing.values())} results are missing, {sum(excess.values())} too many",
                    *(f"  missing  {result}" for result in sorted(missing.elements())[:5]),
                    *(f"  too many {result}" for result in sorted(excess.elements())[:5]),
                ]
            )
        )


def _check_counts(runtime: Runtime, given: list[Rows], marks: list[int | None]) -> None:
    """Rows without a time and late rows of the first join were counted, each once."""
    join = runtime.history.joins[0]
    sql = sql_of(join)
    invalid = late = 0
    for rows, mark in zip(given, marks, strict=True):
        for side in SIDES:
            passed = sql.filter(side, rows[side])
            invalid += sum(row["ts"] is None for row in passed)
            late += sum(row["ts"] is not None and mark is not None and row["ts"] < mark for row in passed)
    told = [metrics for (number, _), each in runtime.metrics.items() if number == 0 for metrics in each]
    counted = sum(m.invalid_rows for m in told), sum(m.late_left + m.late_right for m in told)
    if counted != (invalid, late):
        raise Wrong(f"rows without a time, late rows: counted {counted}, expected {(invalid, late)}")
    if invalid:
        runtime.hit("row without a time")
    if late:
        runtime.hit("late row")


def _check_kept(runtime: Runtime, of_joins: Sequence[list[Rows]], marks: list[int | None]) -> None:
    """With `late="keep"` each row that a join dropped came out once, in its batch."""
    for id, found in runtime.kept.items():
        wanted = Counter[str]()
        for number, (join, given) in enumerate(zip(runtime.history.joins, of_joins, strict=True)):
            if join.keeps_late:
                wanted.update(repr((number, *row)) for row in _list_kept(join, given[id], _find_marks(join, marks, id)))
        if found != wanted:
            lost, excess = list(wanted - found), list(found - wanted)
            raise Wrong(f"kept rows of batch {runtime.log[id].arriving.number}: missing {lost}, too many {excess}")
        if found:
            runtime.hit("kept row")


def _list_kept(join: Join, rows: Rows, marks: dict[Side, int | None]) -> Iterator[Result]:
    """What is dropped of a batch, as it comes out: its own columns, where results have them, and why."""
    aggregates = join.reduction if isinstance(join.reduction, Aggregates) else None
    own: tuple[Side, ...] = ("l",) if aggregates else sides_of(join.how)
    for side in SIDES:
        passed = sql_of(join).filter(side, rows[side])
        for dropped in list_dropped([Batch(**{NAMED[side]: passed}, watermark=marks[side])]):
            values = [dropped.row[name] if each == side else None for each in own for name in COLUMNS[each]]
            values += [None] * len(aggregates.each if aggregates else ())
            yield (*values, dropped.row["ts"], dropped.reason, dropped.side, dropped.watermark)


def _find_marks(join: Join, marks: Sequence[int | None], id: int) -> dict[Side, int | None]:
    """By side, the watermark that rows of a batch must not lie before: of a lagging side that of the batch before."""
    return {side: marks[id] if side not in join.lagging else marks[id - 1] if id else None for side in SIDES}


def _admit(join: Join, given: Sequence[Rows], marks: Sequence[int | None]) -> list[Batch]:
    """Batches without what is late: before the watermark, of a lagging side before that of the batch before.

    The reference knows no lagging sides, so it is given what is admitted, and the watermark in the end alone.
    """
    batches = []
    for at, rows in enumerate(given):
        kept = {}
        for side, mark in _find_marks(join, marks, at).items():
            kept[side] = [row for row in rows[side] if row["ts"] is not None and (mark is None or row["ts"] >= mark)]
        batches.append(Batch(kept["l"], kept["r"]))
    return [*batches, Batch(watermark=marks[-1] if marks else None)]


_HOLDS: dict[str, dict[tuple[object, ...], bool | None]] = {}


def _expect(join: Join, given: Sequence[Rows], marks: Sequence[int | None]) -> list[Result]:
    predicate, known = join.planned.predicate, _HOLDS.setdefault(join.on, {})

    def on(left: Row, right: Row) -> bool | None:
        key = (left["x"], left["y"], left["s"], right["a"], right["b"], right["u"])
        if key not in known:
            known[key] = predicate(left, right)
        return known[key]

    if isinstance(join.reduction, Sliding):
        return list(_slide(join.reduction, _admit(join, given, marks)))
    if join.reduction is not None:
        met = meet(_admit(join, given, marks), on, join.window, tie=partial(_tie, "r"), ended=False)
        return [result for each in met if (result := _reduce(join, each)) is not None]
    found = reference.join(
        _admit(join, given, marks), on, join.window, join.how, tie=_tie, ordered=join.ordered, ended=False
    )
    return [_to_result(join, joined) for joined in found.rows]


def _slide(sliding: Sliding, batches: Sequence[Batch]) -> Iterator[Result]:
    """The results of windows that have ended."""
    names = COLUMNS["r"]
    for start, key, rows in slide(batches, sliding.size, sliding.every, names[: sliding.keys], ended=False):
        columns = [[[row[names[o.column]] for row in rows] for o in each.operands] for each in sliding.each]  # type: ignore[union-attr]
        values = [fold(each.op, *of) if of else len(rows) for each, of in zip(sliding.each, columns, strict=True)]
        yield (start, *key, *values, start + sliding.size - 1)


def _reduce(join: Join, met: Met) -> Result | None:
    """The result of a left row and all that it met, if there is one."""
    if isinstance(join.reduction, Pick):
        row = pick(met, join.reduction.direction, exact=join.reduction.exact)
        matched, values = row is not None, list((row or dict.fromkeys(COLUMNS["r"])).values())
    else:
        matched, values = bool(met.right), []
        for each in join.reduction.each:  # type: ignore[union-attr]
            columns = [[row[COLUMNS["r"][operand.column]] for row in met.right] for operand in each.operands]  # type: ignore[union-attr]
            values.append(fold(each.op, *columns) if columns else len(met.right))
    return (*met.left.values(), *values, met.join_time) if matched or join.how == "left" else None


def _expect_by_batch(join: Join, given: Sequence[Rows], marks: Sequence[int | None]) -> list[list[Result]]:
    """What each batch adds: the difference of what all batches so far yield."""
    before: Counter[str] = Counter()
    added = []
    for stop in range(1, len(given) + 1):
        results = _expect(join, given[:stop], marks[:stop])
        now = Counter(map(repr, results))
        new, fresh = now - before, []
        assert not before - now, "the reference took a result back"
        for result in results:
            if new[repr(result)] > 0:
                new[repr(result)] -= 1
                fresh.append(result)
        added.append(fresh)
        before = now
    return added


def _to_result(join: Join, joined: Joined) -> Result:
    rows = {"l": joined.left, "r": joined.right}
    values = [row[name] if (row := rows[side]) else None for side in sides_of(join.how) for name in COLUMNS[side]]
    return (*values, joined.join_time)


def check_state(runtime: Runtime) -> None:
    """A cell is restored from state alone, and state holds nothing that this does not read."""
    for (number, _), versions in runtime.versions.items():
        plan = runtime.history.joins[number].planned.plan
        for cell, own in versions[max(versions)].items():
            if cell == PLAN_CELL or own.note is None:
                continue
            state, read = CellState(Handle({cell: own}, cell, lambda: None)), set()
            note = state.read_note()
            assert note is not None

            def fetch(name: str, state: CellState = state, read: set[str] = read) -> bytes | None:
                found = state.get(name)
                if found is not None:
                    read.update(state._keys(name))
                return found

            Worker.restore(plan, note.manifest, fetch)
            if unread := {key for (key,) in own.contents} - read:
                raise Wrong(f"state of cell {cell} of join {number} holds what it does not need: {sorted(unread)}")

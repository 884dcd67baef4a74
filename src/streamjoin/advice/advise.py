"""The verb: from what a user knows of a join to advice on it."""

import os.path
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from streamjoin.errors import StreamJoinError
from streamjoin.operators.types import Schema
from streamjoin.predicate import On
from streamjoin.spec.duration import Duration, microseconds
from streamjoin.spec.how import How, how_of
from streamjoin.spec.side import NAMED, SIDES, Side
from streamjoin.spec.window import Window

if TYPE_CHECKING:
    from streamjoin.advice.answer import Advice
    from streamjoin.advice.question import Question
    from streamjoin.advice.ranges import Ranges
    from streamjoin.advice.sample import Sampled
    from streamjoin.model.pairs import Sides
    from streamjoin.plan import Plan

Pair = float | tuple[float, float]
_ROW_BYTES = 32.0


def advise(
    left: Any = None,
    right: Any = None,
    *,
    on: On | None = None,
    window: Window | None = None,
    time: str | tuple[str, str] = "ts",
    delay: Duration | None = None,
    how: str = "inner",
    rates: Pair | None = None,
    p: float | None = None,
    ranges: "Ranges | None" = None,
    row_bytes: Pair | None = None,
    cores: int | None = None,
    cells: int | None = None,
    interval: Duration | None = None,
    name: str = "streamjoin",
    calibration: Literal["auto", "none"] = "auto",
) -> "Advice":
    """What to expect of a join on Spark, and which layout and micro-batch interval to give it.

    :param left: what is known of the rows: a batch DataFrame or a file of them (sampled: then rates, p and sizes
        follow from it), a schema such as ``"ts TIMESTAMP, x INT"``, or nothing. Or a running query, and nothing else.
    :param right: likewise; by default as the left.
    :param on: the condition, as for `join`.
    :param window: as for `join`.
    :param time: the columns of event time, as for `join`: where rows are sampled, or `on` bounds the time.
    :param delay: as for `join`; rows are kept so much longer.
    :param how: as for `join`.
    :param rates: rows per second: one number, or one for each side.
    :param p: the hit rate: the share of the window's pairs that match.
    :param ranges: instead of `p`, for bands and equalities of uniform values: ``{"l.x": (1, 10_000)}``, or the number
        of keys, ``{"sym": 500}``.
    :param row_bytes: bytes of a row's columns that results carry: one number, or one for each side.
    :param cores: Spark's; by default those of this machine.
    :param cells: of the layout; by default as many as serve best.
    :param interval: between micro-batches; by default the shortest that leaves headroom.
    :param name: of the join within the query.
    :param calibration: "auto" for this machine's constants where ``streamjoin advise --calibrate`` has measured them,
        "none" for those that ship.

    The answer prints well in a terminal and in a notebook; `to_dict` has its figures.

    >>> from streamjoin import within
    >>> found = advise(on="abs(l.x - r.a) <= 10 AND abs(l.y - r.b) <= 10", window=within("15 minutes"), rates=1000,
    ...     p=4e-6, row_bytes=24, cores=2, calibration="none")
    >>> found.is_sustained, f"{found.output_rate:.0f} results per second"
    (True, '7200 results per second')
    """
    from streamjoin.advice.answer import answer
    from streamjoin.advice.kept import find_constants
    from streamjoin.local.asked import check_count
    from streamjoin.model.choice import Machine

    check_count("cores", cores)
    check_count("cells", cells)
    constants, calibrated = find_constants(calibration)
    machine = Machine(cores or os.cpu_count() or 1, constants)
    given = None if interval is None else microseconds(interval, "interval") / 1e6
    if given is not None and given <= 0:
        raise StreamJoinError(f"interval: got {interval!r}; expected a duration above 0")
    if _is_query(left):
        from streamjoin.advice.running import ask_query

        question, machine, said = ask_query(left, name, machine, cores)
        return answer(question, machine, f"{calibrated}; {said}", cells, given)
    question = _ask(left, left if right is None else right, on, window, time, how_of(how), rates, p, ranges, row_bytes)
    wait = 0.0 if delay is None else microseconds(delay, "delay") / 1e6
    question = replace(question, demand=replace(question.demand, delay=wait))
    return answer(question, machine, calibrated, cells, given)


def _ask(
    left: Any,
    right: Any,
    on: On | None,
    window: Window | None,
    time: str | tuple[str, str],
    how: How,
    rates: Pair | None,
    p: float | None,
    ranges: "Ranges | None",
    row_bytes: Pair | None,
) -> "Question":
    from streamjoin.advice.question import Question, find_narrowing, find_width
    from streamjoin.advice.ranges import find_shares
    from streamjoin.model.demand import Demand

    if on is None:
        raise StreamJoinError('on: expected a condition such as "l.id = r.id"; only a running query brings its own')
    times = (time, time) if isinstance(time, str) else (time[0], time[1])
    plan, sampled, schemas = _read({"l": left, "r": right}, on, window, times, how)
    sources = {}
    if sampled is not None:
        told = f"{sampled.matches:,} matches in {sampled.pairs:,} pairs of the sample"
        sources["p"] = told if sampled.matches else f"at most: none of {sampled.pairs:,} pairs of the sample match"
    if p is not None:
        if not isinstance(p, int | float) or not 0 <= p <= 1:
            raise StreamJoinError(f"p: got {p!r}; expected the share of pairs that match, from 0 to 1")
        hit_rate, narrowing = float(p), sampled.narrowing if sampled else find_narrowing(plan, float(p))
        sources["p"] = "as given"
    elif ranges is not None:
        hit_rate, narrowing = find_shares(plan, ranges)
        sources["p"] = "of uniform values"
    elif sampled is not None:
        hit_rate, narrowing = sampled.hit_rate, sampled.narrowing
    else:
        raise StreamJoinError(
            "p: how many pairs match is not known; give p=, the share of them, or ranges= of uniform values, or as "
            "left and right batch DataFrames or files, of which a sample is taken"
        )
    if residual := plan.predicate.residual:
        sources["p"] += f"; without {' AND '.join(map(str, residual))}, which only Spark decides"
    found = _pair("rates", rates) if rates is not None else sampled and sampled.rates
    if not found:
        raise StreamJoinError("rates: expected rows per second, one number or a pair for left and right")
    if rates is None:
        sources["rates"] = "of the sample"
    if row_bytes is not None:
        widths = _pair("row_bytes", row_bytes)
    elif sampled is not None:
        widths, sources["row_bytes"] = sampled.widths, "of the sample"
    elif schemas is not None:
        widths = _sides(*(find_width([type for _, type in schemas[side].columns]) for side in SIDES))
        sources["row_bytes"] = "by their types"
    else:
        widths, sources["row_bytes"] = _sides(_ROW_BYTES, _ROW_BYTES), "assumed; give row_bytes="
    keys = _sides(*(find_width([key.type for key in plan.keys[side]]) for side in SIDES))
    return Question(plan, Demand(plan.window, found, hit_rate, narrowing, widths, keys, how=how), sources)


def _read(
    inputs: Mapping[Side, Any], on: On, window: Window | None, time: tuple[str, str], how: How
) -> "tuple[Plan, Sampled | None, Mapping[Side, Schema] | None]":
    """The plan, what sampled rows tell, and the columns, as far as the inputs say."""
    from streamjoin.advice.question import assume_schemas, understand

    kinds = {side: _kind(NAMED[side], given) for side, given in inputs.items()}
    if len({*kinds.values()}) > 1:
        raise StreamJoinError(f"left is {kinds['l']} and right is {kinds['r']}: expected both of one kind")
    match kinds["l"]:
        case "nothing":
            assumed = assume_schemas(on)
            try:
                return understand(on, assumed, window, how, time), None, None
            except StreamJoinError as error:
                raise StreamJoinError(
                    f"{error}\nWithout rows all columns are taken to be numbers: give left= and right= as schemas, "
                    'such as "ts TIMESTAMP, sym STRING"'
                ) from error
        case "a schema":
            schemas = {
                side: Schema.from_ddl(given) if isinstance(given, str) else Schema(cast("Any", given))
                for side, given in inputs.items()
            }
            return understand(on, schemas, window, how, time), None, schemas
        case "a file":
            from streamjoin.advice.files import sample_files

            return (*sample_files(inputs, on, window, time, how), None)
        case _:
            from streamjoin.advice.sample import SAMPLE_ROWS, measure_sample
            from streamjoin.spark.sample import sample_frames

            plan, rows = sample_frames(inputs["l"], inputs["r"], SAMPLE_ROWS, on=on, window=window, time=time, how=how)
            return plan, measure_sample(plan, rows), None


def _kind(named: str, given: Any) -> str:
    if given is None:
        return "nothing"
    if isinstance(given, Path) or (isinstance(given, str) and os.path.exists(given)):  # noqa: PTH110 (long schemas)
        return "a file"
    if isinstance(given, str):
        _check_schema(named, given)
        return "a schema"
    if isinstance(given, Mapping):
        return "a schema"
    if hasattr(given, "isStreaming") and hasattr(given, "selectExpr"):
        if given.isStreaming:
            raise StreamJoinError(
                "left, right: got a streaming DataFrame, of which no sample can be taken; expected batch ones, files, "
                "schemas, or the running query itself"
            )
        return "a DataFrame"
    raise StreamJoinError(
        f"left, right: got {given!r}; expected batch DataFrames, files, or schemas such as 'ts TIMESTAMP, x INT'"
    )


def _check_schema(named: str, given: str) -> None:
    try:
        Schema.from_ddl(given)
    except StreamJoinError as error:
        raise StreamJoinError(
            f"{named}: there is no file or directory {given!r}, and it is no schema such as 'ts TIMESTAMP, x INT'"
        ) from error


def _is_query(given: Any) -> bool:
    return hasattr(given, "recentProgress") and hasattr(given, "awaitTermination")


def _pair(argument: str, value: Any) -> "Sides":
    from streamjoin.advice.question import is_number

    both = value if isinstance(value, tuple | list) else (value, value)
    if len(both) != 2 or not all(map(is_number, both)):
        raise StreamJoinError(f"{argument}: got {value!r}; expected one number, or a pair for left and right")
    return _sides(*both)


def _sides(left: float, right: float) -> "Sides":
    from streamjoin.model.pairs import Sides

    return Sides(float(left), float(right))

"""What a caller asks of a join in this process, checked: the plan, how pushes are read, what results look like."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from streamjoin.errors import StreamJoinError
from streamjoin.layout import Keyed, Layout, Scale
from streamjoin.local.handshake import Handshake
from streamjoin.local.intake import Intake, Source, check_time
from streamjoin.operators.expr import Expr
from streamjoin.operators.onesided import check_evaluable, read_schema
from streamjoin.plan import Plan
from streamjoin.plan.reduction import Pick, Reduction
from streamjoin.predicate import On, Predicate, parse
from streamjoin.predicate.traits import reads_zone
from streamjoin.spec.how import How, sides_of
from streamjoin.spec.side import NAMED, SIDES, Side
from streamjoin.spec.window import Both, Last, Window, require_time_window, require_window
from streamjoin.sql.select import JOIN_TIME, Carried, Struct, find, result_fields

TIME, TIE = "__time", "__tie"
"""Columns that results carry where they are put in order: the time of a side's row, and the hash of all it holds."""


@dataclass(frozen=True)
class Typed:
    """An Arrow type with its fields, if it is a struct, as `sql.select` reads them."""

    arrow: pa.DataType

    @property
    def fields(self) -> list["Named"]:
        """The fields of a struct."""
        return [Named(f.name, Typed(f.type)) for f in self.arrow] if pa.types.is_struct(self.arrow) else []


@dataclass(frozen=True)
class Named:
    """A column or field."""

    name: str
    dataType: Typed  # noqa: N815  as Spark names it


def to_structs(schemas: Mapping[Side, pa.Schema]) -> dict[Side, Struct]:
    """Both sides' columns, as `sql.select` reads them."""
    return {side: Typed(pa.struct(list(schema))) for side, schema in schemas.items()}


class Asked:
    """A join that was checked; with `pick` an as-of join. Results carry what they are put in order by if it `sorts`."""

    def __init__(
        self,
        *,
        on: On,
        window: Window | None,
        schemas: dict[Side, pa.Schema],
        time: tuple[str, str],
        how: How,
        select: Sequence[str] | None,
        layout: "Layout | Handshake | str",
        suffixes: tuple[str, str] = ("", ""),
        timezone: str = "UTC",
        ordered: bool = False,
        pick: Pick | None = None,
    ) -> None:
        if window is not None:
            require_window(window)
        if layout != "auto" and not isinstance(layout, Layout | Handshake):
            raise StreamJoinError(f"layout: got {layout!r}; expected 'auto' or a layout such as Grid(2, 2)")
        self.schemas, self.time, self._timezone = schemas, dict(zip(SIDES, time, strict=True)), timezone
        self._structs = to_structs(schemas)
        self._reduction: Reduction | None = pick
        self._flows = isinstance(layout, Handshake)
        self.sorts = ordered or (isinstance(layout, Scale) and not self.reduces)
        if ordered and isinstance(layout, Handshake):
            raise StreamJoinError(
                f"ordered: in {layout} a pair is found when its rows happen to meet, after the watermark has passed "
                f"it; take Scale({layout.n}), whose results come in order"
            )
        for side in SIDES:
            check_time(self.time[side], schemas[side], side)
        whole = parse(on, read_schema(schemas["l"]), read_schema(schemas["r"]))
        window, whole = whole.choose_window(window, time)
        if self.reduces:
            require_time_window(window)
        self._filters, predicate = _decide_here(whole, timezone).split_filters(how, window)
        using = () if isinstance(on, str) or callable(on) else tuple(on)
        self._choose_columns(select, suffixes, how, using, counts=isinstance(window, Last | Both))
        left, right = (self._payload(side) for side in SIDES)
        self.plan = Plan(predicate, window, left, right, how, reduction=self._reduction)

    @property
    def reduces(self) -> bool:
        """Whether what a left row met becomes one result."""
        return self._reduction is not None

    # Which columns travel

    def _choose_columns(
        self, select: Sequence[str] | None, suffixes: tuple[str, str], how: How, using: Sequence[str], *, counts: bool
    ) -> None:
        self._fields = result_fields(self._structs, select, suffixes, how, using)
        needed = [carried for field in self._fields for carried in field.sources]
        if counts:  # rows of one time are put in order by their hash, then by all they hold
            every = [(side, name) for side in SIDES for name in self.schemas[side].names]
            needed += [find(side, (name,), self._structs[side], "") for side, name in every]
        self._carried: dict[Side, list[Carried]] = {
            side: list({carried.path: carried for carried in needed if carried.side == side}.values()) for side in SIDES
        }

    def _list_sources(self, side: Side) -> list[tuple[Source, pa.DataType]]:
        """What travels of one side, with its types."""
        return [(carried.path, carried.type.arrow) for carried in self._carried[side]]

    def _payload(self, side: Side) -> pa.Schema:
        columns = [(f"{side}{at}", type) for at, (_, type) in enumerate(self._list_sources(side))]
        extra = [(f"{side}{TIME}", pa.int64()), (f"{side}{TIE}", pa.int64())] if self.sorts else []
        return pa.schema([*columns, *extra])

    def _internal(self, carried: Carried) -> str:
        return f"{carried.side}{self._carried[carried.side].index(carried)}"

    @property
    def is_prompt(self) -> bool:
        """Whether the step that the later of two rows comes in delivers their match; else rows wait for something."""
        return not (self.sorts or self.plan.counts or self.reduces or self._flows)

    def intake(self, side: Side, layout: "Layout | Handshake") -> Intake:
        """Reads what is pushed on one side, for a join of this layout."""
        return Intake(
            side,
            self.schemas[side],
            self.time[side],
            [source for source, _ in self._list_sources(side)],
            self.plan,
            self._filters[side],
            hashed=not self.is_prompt or isinstance(layout, Keyed),
            sortable=self.sorts,
        )

    # Results

    @cached_property
    def schema(self) -> pa.Schema:
        """The schema of results as the caller sees them."""
        return pa.schema([*((f.name, f.carried.type.arrow) for f in self._fields), (JOIN_TIME, self._time_type)])

    @cached_property
    def _time_type(self) -> pa.DataType:
        type = self.schemas["l"].field(self.time["l"]).type
        return type if type == pa.int64() else pa.timestamp("us", type.tz)

    @cached_property
    def _places(self) -> list[list[int]]:
        names = [field.name for field in self.plan.columns]
        return [[names.index(self._internal(source)) for source in field.sources] for field in self._fields]

    def present(self, results: pa.RecordBatch) -> pa.RecordBatch:
        """Results under the names that were asked for."""
        columns = [
            results.column(first) if not others else pc.coalesce(*map(results.column, (first, *others)))
            for first, *others in self._places
        ]
        return pa.RecordBatch.from_arrays([*columns, self._read_time(results)], schema=self.schema)

    def _read_time(self, results: pa.RecordBatch) -> pa.Array:
        times = results.column(results.num_columns - 1)
        return times if self._time_type == pa.int64() else times.view(self._time_type)

    @cached_property
    def order(self) -> list[str]:
        """The columns that results are put in order by, after their join time."""
        return [f"{side}{kind}" for kind in (TIME, TIE) for side in sides_of(self.plan.how)]


def _decide_here(predicate: Predicate, timezone: str) -> Predicate:
    """The predicate with nothing left to Spark; refuses by name what streamjoin has no operator for."""
    check_evaluable(predicate.condition, "on")
    try:
        decided = predicate.require_worker()
    except StreamJoinError as error:
        reason = str(error).partition(", and in a join that keeps")[0]
        raise StreamJoinError(
            f"{reason}, and there is no Spark here. Compute a column before the join and compare that"
        ) from None
    check_zone(decided.condition, timezone)
    return decided


def check_zone(expr: Expr, timezone: str) -> None:
    """Refuse what depends on a time zone that is not served."""
    zoned = next(filter(reads_zone, expr.walk()), None)
    if timezone != "UTC" and zoned is not None:
        raise StreamJoinError(
            f"timezone: {zoned} depends on the time zone, and without Spark only 'UTC' is served; got {timezone!r}"
        )


def check_schema(schema: Any, side: Side) -> pa.Schema:
    """An Arrow schema as it was given, or an error."""
    if not isinstance(schema, pa.Schema):
        raise StreamJoinError(f"{NAMED[side]}: got {schema!r}; expected a pyarrow.Schema, such as table.schema")
    twice = {name for name in schema.names if schema.names.count(name) > 1}
    if twice:
        raise StreamJoinError(f"{NAMED[side]}: several columns are named {', '.join(sorted(twice))}")
    return schema


def check_count(argument: str, value: object, *, optional: bool = True) -> None:
    """Refuse what is no whole number of 1 or more; None is none, if it is `optional`."""
    if value is None and optional:
        return
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise StreamJoinError(f"{argument}: got {value!r}; expected a whole number, 1 or more")

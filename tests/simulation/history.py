"""A seed becomes a history: joins, rows, cuts into micro-batches, faults. A history is plain data, so it can be shrunk.

What the runtime decides besides (orders, partitions, processes) it draws from the seed and the name of the place, so
that a history from which something was taken away runs the rest as before.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from streamjoin import Cell
from streamjoin.plan.reduction import Aggregates, Sliding
from streamjoin.spec.how import HOWS
from streamjoin.spec.side import OTHER, Side
from streamjoin.spec.window import Last, Tumbling
from tests.simulation.faults import KINDS, RESTARTS, Fault
from tests.simulation.joins import COLUMNS, MS, REDUCTIONS, SLIDINGS, WINDOWS, Join, choices, fitting, serves, slide

Row = dict[str, Any]
Stream = str
"""An input: "l" and "r" of the first join, further physical streams of its sides ("l2"), "t" of a second in a chain."""

NAN = float("nan")
_FURTHER = ("l2", "l3", "l4", "r2", "r3", "r4")
_WHOLES = (0, 1, 2, 3, None)
_FLOATS = (0.0, -0.0, 0.5, 1.0, 2.5, NAN, None)
_TEXTS = ("a", "ab", "b", "", None)


@dataclass(frozen=True)
class Arriving:
    """The rows of one micro-batch, by stream. `number` stays when batches before it are taken away."""

    number: int
    rows: dict[Stream, list[Row]]

    @property
    def count(self) -> int:
        return sum(map(len, self.rows.values()))

    def streams(self, side: Side) -> list[list[Row]]:
        """The rows of a side of the first join, by physical stream."""
        return [rows for stream, rows in self.rows.items() if stream[0] == side]


@dataclass(frozen=True)
class History:
    """All that a run is given."""

    seed: int
    joins: tuple[Join, ...]
    delays: dict[Stream, int]
    """In milliseconds."""
    partitions: int
    most_bytes: int | None
    """Of the cache."""
    batches: tuple[Arriving, ...]
    faults: tuple[Fault, ...]
    chained: Side = "l"
    """The side of the second join that the results of the first are."""

    @property
    def rows(self) -> int:
        return sum(batch.count for batch in self.batches)

    def draw(self, *place: object) -> Random:
        """What is drawn at a place."""
        return Random(f"{self.seed} {place}")

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield f"history of seed {self.seed}: {len(self.batches)} batches, {self.rows} rows, {len(self.faults)} faults"
        for number, join in enumerate(self.joins):
            side = f" (the first's results are {self.chained})" if number else ""
            yield f"  join {number}: {join}{side}"
        delays = ", ".join(f"{stream} {delay} ms" for stream, delay in self.delays.items())
        yield f"  delays: {delays}; {self.partitions} partitions; cache of {self.most_bytes or 'any number of'} bytes"
        for batch in self.batches:
            yield f"  batch {batch.number}:" + ("" if batch.count else " no rows")
            for stream, rows in batch.rows.items():
                for row in rows:
                    yield f"    {stream} " + " ".join(f"{name}={value!r}" for name, value in row.items())
            yield from (f"    ! {fault}" for fault in self.faults if fault.batch == batch.number)


def side_of(stream: Stream, chained: Side) -> Side:
    """The side of its join that a stream is."""
    return OTHER[chained] if stream == "t" else stream[0]  # type: ignore[return-value]


def make_history(seed: int) -> History:
    """The history of a seed."""
    random = Random(seed)
    sliding = Random(f"{seed} slides")
    first = slide(sliding.choice(SLIDINGS)) if sliding.random() < 0.05 else _draw_join(random)
    joins, chained = (first,), random.choice(("l", "r"))
    if random.random() < 0.1 and not isinstance(
        first.reduction, Aggregates | Sliding
    ):  # whose results have other columns
        lagging = (chained,) if first.planned.plan.lags else ()
        joins = (first, _draw_join(random, lagging))
    joins = tuple(replace(join, keeps_late=random.random() < 0.4 and not join.slides) for join in joins)
    streams = ("l", "r", "t")[: 1 + len(joins)]
    if random.random() < 0.25:
        streams += tuple(random.sample(_FURTHER, random.randint(1, 3)))
    streams = tuple(stream for stream in streams if stream[0] != "l" or not first.slides)
    delays = {stream: random.choice((0, 0, 2, 5, 12)) for stream in streams}
    batches = tuple(_draw_batches(random, streams, chained, delays))
    return History(
        seed,
        joins,
        delays,
        random.choice((1, 2, 2, 3)),
        random.choice((None, None, None, 6000)),
        batches,
        tuple(_draw_faults(random, batches, len(joins))),
        chained,
    )


def _draw_join(random: Random, lagging: tuple[Side, ...] = ()) -> Join:
    how = random.choice(HOWS)
    pairs = choices(how)
    kind = random.choice(sorted({kind for kind, _ in pairs}))
    on = random.choice([on for each, on in pairs if each == kind])
    window = random.choice(random.choice(list(WINDOWS.values())))
    layout = random.choice(fitting(how, kind, on))
    if isinstance(layout, Cell) and isinstance(window, Last):  # no slots of time
        window = WINDOWS["within"][0]
    join = Join(how, layout, window, on, lagging)
    reduced = replace(join, reduction=random.choice(random.choice(list(REDUCTIONS.values()))))
    if how in ("inner", "left") and random.random() < 0.5 and not isinstance(window, Last) and serves(reduced):
        return reduced
    often = 0.8 if isinstance(window, Tumbling) else 0.3  # the end of a bucket is the time of all its unmatched rows
    return replace(join, ordered=random.random() < often)


def _draw_batches(
    random: Random, streams: tuple[Stream, ...], chained: Side, delays: dict[Stream, int]
) -> Iterator[Arriving]:
    """Batches move on by a few milliseconds; some rows are early, some late, some at the same time, some have none."""
    count, stretch = random.randint(3, 6), random.choice((2, 4, 8))
    density = random.choice((4, 6, 9))
    now = random.choice((-6, 0, 3, 1_000_000))
    identity = 0
    for number in range(count):
        rows: dict[Stream, list[Row]] = {stream: [] for stream in streams}
        if number == 0 or random.random() > 0.12:
            for stream in streams:
                if random.random() < 0.1:
                    continue
                names = COLUMNS[side_of(stream, chained)]
                for _ in range(random.randint(1, max(4 * density // len(streams), 1))):
                    identity += 1
                    time = _draw_time(random, now, stretch, delays[stream])
                    values = time, random.choice(_WHOLES), random.choice(_FLOATS), random.choice(_TEXTS), identity
                    rows[stream].append(dict(zip(names, values, strict=True)))
                    if random.random() < 0.06:
                        rows[stream].append(rows[stream][-1])
        now += stretch if random.random() > 0.1 else 5 * stretch
        yield Arriving(number, rows)
    if random.random() < 0.8:  # what decides all that is left
        last = {
            stream: [dict(zip(COLUMNS[side_of(stream, chained)], ((now + 90) * MS, None, None, None, 0), strict=True))]
            for stream in streams
        }
        yield Arriving(count, last)


def _draw_time(random: Random, now: int, stretch: int, delay: int) -> int | None:
    kind = random.random()
    if kind < 0.03:
        return None
    at = now + random.randrange(stretch)
    if kind < 0.25:
        at -= random.randint(0, delay + 2 * stretch)
    if kind > 0.8:
        at -= at % 6  # where buckets of `tumbling` begin
    return at * MS + random.choice((0, 0, 0, 0, 1, 500, 999))


def _draw_faults(random: Random, batches: tuple[Arriving, ...], joins: int) -> Iterator[Fault]:
    if random.random() < 0.65:
        for _ in range(random.choice((1, 1, 2))):
            yield Fault(random.choice(RESTARTS), random.choice(batches).number, 0, random.getrandbits(32))
    others = [*(kind for kind in KINDS if kind not in RESTARTS), *["emit runs twice"] * 3]
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        yield Fault(
            random.choice(others), random.choice(batches).number, random.randrange(joins), random.getrandbits(32)
        )

"""The answer: figures of a join before it runs, and what to pass."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from textwrap import fill
from typing import Any

from streamjoin.advice.question import Question
from streamjoin.layout import Layout
from streamjoin.model.choice import (
    USUAL,
    Estimate,
    Machine,
    choose_interval,
    estimate_layout,
    find_headroom,
    find_needed_cores,
    find_smallest,
    list_degrees,
    rank_layouts,
)
from streamjoin.model.pairs import find_pair_rate
from streamjoin.table import to_html

RIGHT = 1.1
"""A running layout that takes at most so many times the seconds of the best one is right."""

ONE_A_YEAR = 1 / (365 * 86_400)
"""Results per second: fewer are none."""

_LIMITS = {
    "fixed": "Spark's fixed cost of a micro-batch",
    "rows": "reading, packing and storing rows",
    "copies": "the copies of rows that are sent to cells",
    "probes": "looking for pairs",
    "results": "moving result rows",
    "busiest cell": "one cell, which has the commonest key: others wait for it",
}
_WIDTH = 100


@dataclass(frozen=True)
class Advice:
    """What the model says of a join: `best` is the layout and interval to pass, `others` the rest, the best first.

    Printed, it reads as a page; `to_dict` gives the figures.
    """

    question: Question
    machine: Machine
    best: Estimate
    others: tuple[Estimate, ...]
    calibrated: str
    """Whose constants were used, in words."""

    @property
    def layout(self) -> Layout:
        """To pass to ``join(..., layout=...)``."""
        return self.best.layout

    @property
    def interval(self) -> float:
        """Seconds between micro-batches, for ``trigger(processingTime=...)``."""
        return self.best.interval

    @property
    def is_sustained(self) -> bool:
        """Whether the join keeps up with its streams on these cores."""
        return self.best.is_sustained

    @property
    def output_rate(self) -> float:
        """Results per second once the windows are full."""
        return self.question.demand.result_rate

    @property
    def comparisons_per_second(self) -> float:
        """Pairs that the window holds, per second: those of a nested loop."""
        return find_pair_rate(self.question.demand.window, self.question.demand.rates)

    @property
    def state_bytes(self) -> float:
        """Bytes of state in all cells, once the windows are full."""
        return self.best.state_bytes

    @property
    def latency(self) -> float:
        """Mean seconds from a row's arrival to the results it completes."""
        return self.best.latency

    @property
    def runner_up(self) -> Estimate | None:
        """The best of the layouts that deal otherwise: of another kind, or of another shape with as many cells."""
        best = self.layout
        differ = (e for e in self.others if type(e.layout) is not type(best) or e.layout.cells == best.cells)
        return next(differ, None)

    @cached_property
    def smallest(self) -> Estimate | None:
        """The layout with the fewest cells that is sustained."""
        return find_smallest((self.best, *self.others))

    @cached_property
    def needed_cores(self) -> int | None:
        """The fewest cores that sustain the join; None where none would."""
        return find_needed_cores(self.question.plan, self.question.demand, self.machine, max(self.interval, USUAL))

    @cached_property
    def headroom(self) -> float:
        """How many times the rates the best layout sustains at its interval."""
        return find_headroom(self.layout, self.question.plan, self.question.demand, self.machine, self.interval)

    @cached_property
    def now(self) -> Estimate | None:
        """What the model says of the layout and interval that run now."""
        running, q = self.question.running, self.question
        if running is None:
            return None
        return estimate_layout(running.layout, q.plan, q.demand, self.machine, running.interval)

    def to_dict(self) -> dict[str, Any]:
        """All figures, as JSON has them."""
        demand, best, smallest, runner_up = self.question.demand, self.best, self.smallest, self.runner_up
        found: dict[str, Any] = {
            "layout": str(self.layout),
            "interval_seconds": self.interval,
            "sustained": self.is_sustained,
            "sustained_times": self.headroom,
            "cores": self.machine.cores,
            "needed_cores": self.needed_cores,
            "smallest": None if smallest is None else {"layout": str(smallest.layout), "cells": smallest.layout.cells},
            "results_per_second": self.output_rate,
            "comparisons_per_second": self.comparisons_per_second,
            "examined_per_second": self.comparisons_per_second * demand.narrowing.candidates,
            "state_bytes": best.state_bytes,
            "shuffled_bytes_per_second": best.shuffle_rate,
            "batch_seconds": best.seconds,
            "latency_seconds": best.latency,
            "core_seconds_per_second": {
                part: getattr(best.work, part) for part in ("rows", "copies", "probes", "results", "total")
            },
            "limit": best.limit,
            "runner_up": runner_up and {"layout": str(runner_up.layout), "batch_seconds": runner_up.seconds},
            "rates": [demand.rates.left, demand.rates.right],
            "p": demand.hit_rate,
            "row_bytes": [demand.widths.left, demand.widths.right],
            "sources": dict(self.question.sources),
            "constants": self.calibrated,
        }
        running = self.question.running
        if running is not None and self.now is not None:
            found["running"] = {
                "layout": str(running.layout),
                "interval_seconds": running.interval,
                "batch_seconds": running.seconds,
                "layout_is_right": self.layout_is_right,
                "interval_is_right": self.interval_is_right,
            }
        return found

    @property
    def layout_is_right(self) -> bool:
        """Whether the layout that runs now is the advised one, or costs about as much."""
        running = self.question.running
        if running is None or self.now is None:
            return False
        q = self.question
        best = estimate_layout(self.layout, q.plan, q.demand, self.machine, running.interval)
        return running.layout == self.layout or self.now.seconds <= RIGHT * best.seconds

    @property
    def interval_is_right(self) -> bool:
        """Whether the interval that runs now leaves headroom, and is not far above the advised one."""
        running = self.question.running
        if running is None:
            return False
        return running.seconds <= running.interval and running.interval <= 2 * self.interval

    def list_lines(self) -> Iterator[tuple[str, str]]:
        """Headings, each with a sentence."""
        demand, best = self.question.demand, self.best
        trigger = f'trigger(processingTime="{_seconds(self.interval)}")'
        yield "Pass", f"join(..., layout={self.layout}), writeStream.{trigger}"
        yield "Or in a shell", f'streamjoin run ... --layout "{self.layout}" --trigger "{_seconds(self.interval)}"'
        busy = f"a micro-batch of {_seconds(self.interval)} takes {best.seconds:.2g} s on {_cores(self.machine.cores)}"
        if self.is_sustained:
            kept_up = "yes" if best.leaves_headroom else "just, with little headroom"
            times = f"{self.headroom:,.{0 if self.headroom >= 10 else 1}f}"
            yield "Sustained", f"{kept_up}: {busy}; up to {times} times these rates"
        else:
            needed = f"; {_cores(self.needed_cores)} would" if self.needed_cores else ", nor would 4,096 cores"
            yield "Sustained", f"no: {busy}{needed}"
        if self.smallest is not None and len({e.layout.cells for e in (best, *self.others)}) > 1:
            cells = self.smallest.layout.cells
            yield "Least degree", f"{cells} cell{'s' * (cells > 1)} would do: {self.smallest.layout}"
        yield "Results", f"{_number(self.output_rate if self.output_rate >= ONE_A_YEAR else 0)} per second"
        examined = self.comparisons_per_second * demand.narrowing.candidates
        yield (
            "Comparisons",
            f"{_number(self.comparisons_per_second)} pairs per second in the windows, of which "
            f"{_number(examined)} are looked at",
        )
        yield "State", f"{_size(best.state_bytes)} in all cells; {_size(best.shuffle_rate)} shuffled per second"
        yield "Latency", f"{best.latency:.2g} s on average, from a row's arrival to the results it completes"
        yield "Limited by", f"{_LIMITS[best.limit]} ({self._share_of_limit():.0%} of a micro-batch's seconds)"
        if self.runner_up is not None:
            other = self.runner_up
            seconds = _compare(other.seconds, best.seconds, "seconds a micro-batch") or "as fast"
            state = _compare(other.state_bytes, best.state_bytes, "state") or "as much state"
            yield "Runner-up", f"{other.layout}: {seconds}, {state}"
        if self.question.running is not None:
            yield "Running", self._describe_running()
        rates = f"{_number(demand.rates.left)} and {_number(demand.rates.right)}"
        yield "Rates", f"{rates} rows per second{self._from('rates')}"
        yield "Hit rate", f"p = {demand.hit_rate:.3g}{self._from('p')}"
        yield "Rows", f"{demand.widths.left:.0f} and {demand.widths.right:.0f} bytes carried{self._from('row_bytes')}"
        yield "Constants", self.calibrated

    def _describe_running(self) -> str:
        running = self.question.running
        assert running is not None
        layout = "is right" if self.layout_is_right else f"is not the best: {self.layout} would take less"
        interval = "is right"
        if running.seconds > running.interval:
            interval = "is too short: micro-batches take longer"
        elif not self.interval_is_right:
            interval = f"could be shorter: {_seconds(self.interval)} would do"
        return (
            f"{running.layout} {layout}; the interval of {running.interval:.2g} s {interval} "
            f"(a micro-batch takes {running.seconds:.2g} s)"
        )

    def _share_of_limit(self) -> float:
        best = self.best
        if best.limit == "fixed":
            return best.fixed / best.seconds
        if best.limit == "busiest cell":
            return best.interval * best.work.cells * best.busiest / best.seconds
        share = 1 / self.machine.cores if best.limit == "rows" else max(1 / self.machine.cores, best.busiest)
        return float(best.interval * getattr(best.work, best.limit) * share / best.seconds)

    def _from(self, figure: str) -> str:
        said = self.question.sources.get(figure)
        return f" ({said})" if said else ""

    def __str__(self) -> str:
        indent = " " * 14
        return "\n".join(
            fill(text, _WIDTH, initial_indent=f"{heading:<14}", subsequent_indent=indent, break_long_words=False)
            for heading, text in self.list_lines()
        )

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return to_html(self.list_lines())


def answer(
    question: Question, machine: Machine, calibrated: str, cells: int | None = None, interval: float | None = None
) -> Advice:
    """The best layout and interval, and the others behind it."""
    degrees = [cells] if cells else list_degrees(machine.cores)
    chosen = interval or choose_interval(question.plan, question.demand, machine, degrees)
    best, *others = rank_layouts(question.plan, question.demand, machine, degrees, chosen)
    return Advice(question, machine, best, tuple(others), calibrated)


def _seconds(interval: float) -> str:
    if interval < 1:
        return f"{interval * 1000:.0f} milliseconds"
    return f"{interval:g} second{'s' * (interval != 1)}"


def _compare(value: float, best: float, what: str) -> str:
    """How much more or less of something; nothing where it is about as much.

    >>> _compare(110, 100, "state"), _compare(100.4, 100, "state")
    ('+10% state', '')
    """
    more = round(100 * (value / best - 1)) if best else 0
    return f"{more:+}% {what}" if more else ""


def _cores(count: int) -> str:
    return f"{count:,} core{'s' * (count != 1)}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _size(count: float) -> str:
    power = min(max(int(math.log(max(count, 1), 1024)), 0), 4)
    return f"{count / 1024**power:.3g} {('B', 'KiB', 'MiB', 'GiB', 'TiB')[power]}"

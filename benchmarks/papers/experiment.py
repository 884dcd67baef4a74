"""What an experiment is: what it measures, how its results are judged against the paper's, and how they are drawn.

Results are plain data, kept as JSON; judging and drawing are pure functions of them, so a report is made anew without
measuring anew.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Verdict = Literal["agrees", "differs", "not measurable here", "not run"]
Data = dict[str, Any]
Kind = Literal["ours", "paper", "model", "peer", "unmeasured"]
"""A line's meaning; `unmeasured`: more workers than cores, run for what that still shows, not for speed."""


class Steps:
    """What an experiment tells of its progress."""

    def expect(self, count: int) -> None:
        """So many steps there will be."""

    def done(self, what: str) -> None:
        """One more is done."""


@dataclass(frozen=True)
class Claim:
    """One thing that a paper says, a number or a shape, beside what was found here."""

    what: str
    paper: float | str
    ours: float | str
    verdict: Verdict
    unit: str = ""
    model: float | None = None
    note: str = ""

    @property
    def ratio(self) -> float | None:
        """Ours to the paper's, where both are numbers."""
        if isinstance(self.paper, str) or isinstance(self.ours, str) or not self.paper:
            return None
        return self.ours / self.paper


@dataclass(frozen=True)
class Line:
    """Points of a chart, with how much they vary where that was measured."""

    name: str
    x: Sequence[float | str]
    y: Sequence[float]
    kind: Kind = "ours"


@dataclass(frozen=True)
class Chart:
    """Lines over a common axis; bars where the axis has names."""

    title: str
    x: str
    y: str
    lines: Sequence[Line]
    log_x: bool = False
    log_y: bool = False


@dataclass(frozen=True)
class Experiment:
    """A figure or table of a paper, run here."""

    name: str
    paper: str
    title: str
    about: str
    full: Data
    quick: Data
    run: Callable[[Data, Steps], Data]
    judge: Callable[[Data], list[Claim]]
    draw: Callable[[Data], list[Chart]]
    table: Callable[[Data], tuple[list[str], list[list[object]]]] | None = field(default=None)

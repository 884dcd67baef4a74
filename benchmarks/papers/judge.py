"""Verdicts: agrees, differs, not measurable here, not run. A rule says what it takes; none looks at who is judged."""

from benchmarks.papers.experiment import Claim

MORE = 1.0
"""A value that is to be reached is reached at this part of it."""


def compare_value(what: str, paper: float, ours: float, percent: float, unit: str = "", **more: object) -> Claim:
    """A number that does not depend on the machine: agrees within so many percent.

    >>> compare_value("results", 100, 101, 2).verdict, compare_value("results", 100, 110, 2).verdict
    ('agrees', 'differs')
    """
    agrees = abs(ours - paper) <= abs(paper) * percent / 100
    return Claim(what, paper, ours, "agrees" if agrees else "differs", unit, **more)  # type: ignore[arg-type]


def compare_limit(what: str, most: float, ours: float, unit: str = "", **more: object) -> Claim:
    """A bound that holds on any machine, such as a balance: agrees if it is kept.

    >>> compare_limit("spread", 4, 0.2, "%").verdict, compare_limit("spread", 4, 5, "%").verdict
    ('agrees', 'differs')
    """
    return Claim(what, most, ours, "agrees" if ours <= most else "differs", unit, **more)  # type: ignore[arg-type]


def compare_speed(
    what: str, paper: float, ours: float, unit: str, *, cores: int, their_cores: int, **more: object
) -> Claim:
    """A speed of another machine: agrees if it is reached; with fewer cores than theirs, falling short says nothing.

    >>> compare_speed("rate", 1000, 3000, "rows/s", cores=2, their_cores=8).verdict
    'agrees'
    >>> compare_speed("rate", 1000, 300, "rows/s", cores=2, their_cores=8).verdict
    'not measurable here'
    >>> compare_speed("rate", 1000, 300, "rows/s", cores=8, their_cores=8).verdict
    'differs'
    """
    if ours >= paper * MORE:
        return Claim(what, paper, ours, "agrees", unit, **more)  # type: ignore[arg-type]
    return Claim(what, paper, ours, "not measurable here" if cores < their_cores else "differs", unit, **more)  # type: ignore[arg-type]


def compare_shape(what: str, said: str, found: str, holds: bool | None, **more: object) -> Claim:
    """A shape: holds, does not, or (None) cannot be seen on this machine.

    >>> compare_shape("threads", "linear", "1.9x on 2", True).verdict, compare_shape("t", "linear", "", None).verdict
    ('agrees', 'not measurable here')
    """
    verdict = "not measurable here" if holds is None else "agrees" if holds else "differs"
    return Claim(what, said, found, verdict, **more)  # type: ignore[arg-type]


def leave_out(what: str, paper: float, unit: str = "", *, note: str) -> Claim:
    """A claim whose experiment was not run; the note says why.

    >>> leave_out("rate", 1400, "1/s", note="it takes an hour").verdict
    'not run'
    """
    return Claim(what, paper, "", "not run", unit, note=note)

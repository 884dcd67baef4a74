"""Seconds are those of probing alone."""

from collections.abc import Iterator
from itertools import count

import pytest

from streamjoin.worker import Counters, counters


def test_seconds_of_probing_leave_out_those_of_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = count()
    monkeypatch.setattr(counters, "perf_counter", lambda: float(next(clock)))

    def probe() -> Iterator[str]:
        for result in ("a", "b"):
            next(clock)  # a second of work
            yield result

    counted = Counters()
    for _ in counted.time_probe(probe()):
        for _ in range(100):
            next(clock)  # seconds of the caller
    assert counted.probe_seconds == 2 + 2 + 1  # the clock is read twice for each result, and for the end

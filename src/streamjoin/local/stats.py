"""What a join in this process says of itself."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ddsketch import DDSketch

if TYPE_CHECKING:
    from streamjoin.local.admission import Admission
    from streamjoin.local.driver import Driver
    from streamjoin.local.engine import Engine


@dataclass(frozen=True)
class Stats:
    """Rows and results so far; what is held now; latencies in milliseconds, within 1 %.

    Latency is that of DP-Join's Definition 4.2: delivery of a match minus arrival of the later of its rows. It is
    measured where the step that the later row comes in delivers the match, from the earliest push of that step: it may
    come out too long, never too short. Unmatched rows, which wait for the watermark, are left out. It is None where
    matches wait, too: in count windows, ordered results (`Scale`), reductions, and `Handshake`, whose rows meet on
    their way.

    What is counted goes on after `restore`; what is timed (`blocked_seconds`, latencies) begins anew there.
    """

    rows_left: int
    rows_right: int
    late_left: int
    late_right: int
    invalid_left: int
    invalid_right: int
    results: int
    unread: int
    """Results that wait to be read."""
    queued: int
    """Rows that wait for the step that runs to be over."""
    blocked_seconds: float
    """How long pushes waited because too many rows were queued."""
    steps: int
    watermark: int | None
    live_left: int
    live_right: int
    waiting_left: int
    waiting_right: int
    segments: int
    bytes: int
    comparisons: int
    """Every probing row times the live opposite window, as the papers count."""
    latency_p50: float | None
    latency_p99: float | None
    latency_max: float | None


class Latency:
    """A histogram of seconds."""

    def __init__(self) -> None:
        self._sketch = DDSketch(0.01)
        self._most = 0.0

    def add(self, seconds: float, results: int) -> None:
        """So many results were delivered after so long."""
        self._sketch.add(seconds, results)
        self._most = max(self._most, seconds)

    def milliseconds(self) -> tuple[float | None, float | None, float | None]:
        """The median, the 99th percentile and the greatest."""
        if not self._sketch.count:
            return None, None, None
        p50, p99 = (1000 * (self._sketch.get_quantile_value(q) or 0.0) for q in (0.5, 0.99))
        most = 1000 * self._most
        return min(p50, most), min(p99, most), most


def collect_stats(driver: "Driver", admission: "Admission", engine: "Engine", *, prompt: bool) -> Stats:
    """What the parts of a join say between two steps; latencies where it is `prompt`."""
    size = engine.size
    p50, p99, most = driver.latency.milliseconds() if prompt else (None, None, None)
    return Stats(
        rows_left=admission.pushed["l"],
        rows_right=admission.pushed["r"],
        late_left=admission.late["l"],
        late_right=admission.late["r"],
        invalid_left=admission.invalid["l"],
        invalid_right=admission.invalid["r"],
        results=driver.delivered,
        unread=driver.unread,
        queued=driver.queued,
        blocked_seconds=driver.blocked,
        steps=driver.steps,
        watermark=admission.watermark,
        live_left=size.live_left,
        live_right=size.live_right,
        waiting_left=size.waiting_left,
        waiting_right=size.waiting_right,
        segments=size.segments,
        bytes=size.bytes,
        comparisons=engine.counted.comparisons,
        latency_p50=p50,
        latency_p99=p99,
        latency_max=most,
    )

"""What a micro-batch did, as a notebook shows it."""

from datetime import UTC, datetime

from streamjoin.flow.metrics import METRICS
from streamjoin.spark.progress import Progress


def test_a_notebook_shows_what_people_ask_first() -> None:
    counts = {metric.name: 0 for metric in METRICS} | {"rows_left": 3000, "rows_right": 1000, "late_right": 7}
    done = Progress(4, 2.0, datetime(2026, 1, 5, tzinfo=UTC), "", **(counts | {"loads": (1, 1)}))  # type: ignore[arg-type]
    assert dict(done.list_lines())["Rows"] == "3,000 left, 1,000 right; 2,000 a second"
    shown = done._repr_html_()
    assert "2026-01-05" in shown
    assert "7 late" in shown
    assert "Waiting" not in shown

"""Reports as Spark writes them."""

from typing import Any

from streamjoin.flow.metrics import METRICS


def make_metrics(**given: Any) -> dict[str, Any]:
    zero: dict[str, Any] = {metric.name: 0 for metric in METRICS}
    return {**zero, "newest_left": None, "newest_right": None, "loads": [3, 1], "plan": "0123", **given}


def make_report(
    batch: int, *, run: str = "run-1", second: int = 0, joins: dict[str, Any] | None = None
) -> dict[str, Any]:
    return {
        "id": "query-1",
        "runId": run,
        "name": "near",
        "timestamp": f"2026-01-05T{9 + second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}.000Z",
        "batchId": batch,
        "durationMs": {"addBatch": 300, "walCommit": 50, "triggerExecution": 400},
        "eventTime": {"max": "2026-01-05T08:59:59.000Z", "watermark": "2026-01-05T08:59:49.000Z"},
        "sources": [{"description": "FileStreamSource[trades]", "numInputRows": 7}],
        "observedMetrics": {"streamjoin": make_metrics(rows_left=4, matches=2, state_rows=9)}
        if joins is None
        else joins,
    }

"""Metrics are declared once; what people see of them follows."""

from dataclasses import fields
from itertools import groupby
from pathlib import Path

from streamjoin.flow.metrics import METRICS, NUMBERS, SECONDS, CellMetrics
from streamjoin.spark.progress import Progress

DOCS = Path(__file__).parents[3] / "docs" / "metrics.md"


def write_table() -> list[str]:
    """The table of the docs: metrics that mean the same, one beside the other, share a line."""
    lines = ["| metric | kind | meaning, in one micro-batch |", "|---|---|---|"]
    for (kind, meaning), same in groupby(METRICS, key=lambda metric: (metric.kind, metric.meaning)):
        lines.append(f"| {', '.join(f'`{metric.name}`' for metric in same)} | {kind} | {meaning} |")
    return lines


def test_the_table_of_the_docs_is_the_declaration() -> None:
    found = [line for line in DOCS.read_text().splitlines() if line.startswith("|")]
    assert found == write_table(), "\n".join(["expected in docs/metrics.md:", *write_table()])


def test_progress_reports_them_in_their_order_after_the_batch() -> None:
    assert [f.name for f in fields(Progress)] == ["batch", "seconds", "watermark", "plan", *(m.name for m in METRICS)]


def test_a_cell_reports_what_the_others_are_put_together_of() -> None:
    assert {*NUMBERS, *SECONDS} == {f.name for f in fields(CellMetrics)}
    assert all(metric.of in (*NUMBERS, *SECONDS) for metric in METRICS)
    assert all(metric.kind in ("count", "level", "seconds") for metric in METRICS)
    numbers = {f.name: f.type for f in fields(CellMetrics)}
    assert all(numbers[name] in (int, int | None) for name in NUMBERS)
    assert all(numbers[name] is float for name in SECONDS)

"""What a running join shows: a live table in a terminal, a line per micro-batch elsewhere."""

from collections.abc import Callable
from time import monotonic, sleep

from pyspark.sql.streaming.query import StreamingQuery
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress import BarColumn, TextColumn
from rich.progress import Progress as Bar
from rich.table import Table
from rich.text import Text

from streamjoin.cli.words import count, si, size
from streamjoin.spark.progress import Progress, read_progress

REFRESH_SECONDS = 0.25
_BAR = 24


class Monitor:
    """Follows a query until it ends or is told to stop; keeps what it saw."""

    def __init__(
        self, query: StreamingQuery, name: str, console: Console, title: str, steps: int | None = None
    ) -> None:
        self.seen: list[Progress] = []
        self._query, self._name, self._console, self._title, self._steps = query, name, console, title, steps
        self._last_batch = -1
        self._started = monotonic()

    def follow(self, finished: Callable[[], bool]) -> None:
        """Show progress until the query has ended or `finished` says so; the query's failure is raised."""
        if self._console.is_terminal:
            with Live(self._view(), console=self._console, refresh_per_second=4, transient=True) as live:
                self._poll(finished, lambda _: live.update(self._view()))
        else:
            self._poll(finished, self._print)

    def _print(self, new: list[Progress]) -> None:
        for report in new:
            self._console.print(_line(report), soft_wrap=True, highlight=False)

    def _poll(self, finished: Callable[[], bool], show: Callable[[list[Progress]], None]) -> None:
        while True:
            ended = not self._query.isActive
            show(self._news())
            if ended or finished():
                break
            sleep(REFRESH_SECONDS)
        if error := self._query.exception():
            raise error

    def _news(self) -> list[Progress]:
        new = []
        for report in self._query.recentProgress:
            if report["batchId"] > self._last_batch:
                self._last_batch = report["batchId"]
                if found := read_progress(report, self._name):
                    new.append(found)
        self.seen += new
        return new

    # The live view

    def _view(self) -> RenderableType:
        header = Text.assemble((self._title, "bold"), f"   {monotonic() - self._started:.0f} s")
        if not self.seen:
            return Group(header, Text("starting: the first micro-batch takes some seconds", style="dim"))
        last = self.seen[-1]
        grid = Table.grid(padding=(0, 3))
        for label, value, more in self._figures(last):
            grid.add_row(Text(label, style="dim"), Text(value, style="cyan"), more)
        parts: list[RenderableType] = [header, Text(), grid, Text(), _loads(last)]
        if self._steps:
            bar = Bar(TextColumn("{task.completed}/{task.total} micro-batches"), BarColumn(), console=self._console)
            bar.add_task("", total=self._steps, completed=len(self.seen))
            parts += [Text(), bar]
        return Group(*parts)

    def _figures(self, last: Progress) -> list[tuple[str, str, str]]:
        segments = count(last.segments, "segment")
        watermark = f"{last.watermark:%Y-%m-%d %H:%M:%S}" if last.watermark else "none yet"
        late = last.late_left + last.late_right
        dropped = f"{late} late, {last.invalid_rows} without time" if late or last.invalid_rows else ""
        return [
            ("input", f"{si(last.rows_per_second)} rows/s", f"{si(last.rows_left + last.rows_right)} in this batch"),
            ("matches", f"{si(last.matches_per_second)} /s", f"{si(sum(p.matches for p in self.seen))} so far"),
            ("comparisons", f"{si(last.comparisons_per_second)} pairs/s", f"{si(last.examined)} looked at"),
            ("windows", f"{si(last.state_rows)} rows", f"{size(last.state_bytes)} in {segments}"),
            ("watermark", watermark, dropped),
            ("batch", f"{last.seconds:.2f} s", f"number {last.batch}, joining {last.worker_seconds:.2f} s"),
        ]


def _loads(last: Progress) -> RenderableType:
    """A bar for each of the first cells: its share of the comparisons."""
    table = Table.grid(padding=(0, 2))
    most = max(last.loads, default=0) or 1
    for cell, load in enumerate(last.loads[:16]):
        table.add_row(
            Text(f"cell {cell}", style="dim"), Text("━" * round(_BAR * load / most), style="cyan"), f"{si(load)} pairs"
        )
    if len(last.loads) > 16:
        table.add_row("", Text(f"... {len(last.loads)} cells, spread {last.load_std_percent:.1f} %", style="dim"))
    return table


def _line(last: Progress) -> str:
    return (
        f"batch {last.batch}: {count(last.rows_left + last.rows_right, 'row')}, "
        f"{count(last.matches, 'match', 'matches')}, {si(last.comparisons_per_second)} pairs/s, "
        f"windows {count(last.state_rows, 'row')} {size(last.state_bytes)}, "
        f"load spread {last.load_std_percent:.1f} %, {last.seconds:.2f} s"
    )

"""Faults planted in the product, by patches: each must be found within a minute, from whatever seed.

`make simulate PLANTED=1` finds each from five seeds and writes how soon into planted.md.
"""

import mmap
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from streamjoin.flow import cell, emit, sequence, settle
from streamjoin.flow.cache import segments
from streamjoin.flow.cache.segments import SegmentCache
from streamjoin.pane import Limit, Segment
from streamjoin.plan import Plan
from streamjoin.spark.processor import CellState
from streamjoin.spec.window import Between, Tumbling
from streamjoin.worker import Worker
from streamjoin.worker import round as rounds
from streamjoin.worker import slide as slides
from streamjoin.worker import store as stores
from streamjoin.worker import worker as workers
from streamjoin.worker.best import Best
from streamjoin.worker.flags import Flags
from streamjoin.worker.journal import Journal
from streamjoin.worker.store import Store
from streamjoin.worker.waiting import Waiting
from tests.simulation.run import Tally, run_seeds

Patch = pytest.MonkeyPatch
PLANTED: dict[str, Callable[[Patch], None]] = {}
SEEDS = tuple(1_000_000 * n for n in range(1, 6))
SECONDS = 60.0
"""Of one core, in which a fault is to be found."""


def plant(function: Callable[[Patch], None]) -> Callable[[Patch], None]:
    PLANTED[function.__name__.replace("_", " ")] = function
    return function


# The cache


class _AnyDigest(str):
    def __ne__(self, other: object) -> bool:
        return False

    __hash__ = str.__hash__


@plant
def a_digest_not_checked(patch: Patch) -> None:
    real = segments.read_digest
    patch.setattr(segments, "read_digest", lambda b: _AnyDigest(real(b)) if isinstance(b, mmap.mmap) else real(b))


@plant
def a_change_in_use_not_noticed(patch: Patch) -> None:
    patch.setattr(SegmentCache, "check", lambda self: None)


@plant
def a_full_disk_fails_the_batch(patch: Patch) -> None:
    def put(self: SegmentCache, segment: Segment) -> str | None:
        if self._directory is None:
            return None
        pieces = segment.pack()
        written = segments.read_digest(pieces[0])
        segments.write_whole(self._directory / f"{segment.name}~{written}", pieces)
        return written

    patch.setattr(SegmentCache, "put", put)


@plant
def a_lost_directory_fails_the_batch(patch: Patch) -> None:
    def get(self: SegmentCache, name: str, written: str, real: Any = SegmentCache.get) -> Segment | None:
        if self._directory is not None and not (self._directory / f"{name}~{written}").exists():
            raise FileNotFoundError(name)
        return real(self, name, written)

    patch.setattr(SegmentCache, "get", get)


# State


@plant
def a_segment_not_written(patch: Patch) -> None:
    real = Worker.take_new_segments
    patch.setattr(Worker, "take_new_segments", lambda self: real(self)[:1])


@plant
def a_flag_page_not_written_again(patch: Patch) -> None:
    def changes(self: Flags) -> dict[int, bytes]:
        found = {page: self._pack_page(page) for page in sorted(self._changed - self._written)}
        self._written |= self._changed
        self._changed.clear()
        return found

    patch.setattr(Flags, "take_changes", changes)


@plant
def a_segment_dropped_from_state_too_early(patch: Patch) -> None:
    """Once it is merged, as if the cache would always have it."""
    real = Worker.take_dropped_names

    def dropped(self: Worker) -> list[str]:
        merged = [part for segment in self.list_segments() if len(segment.parts) > 1 for part in segment.parts]
        return [*real(self), *merged[:1]]

    patch.setattr(Worker, "take_dropped_names", dropped)


@plant
def a_segment_never_dropped_from_state(patch: Patch) -> None:
    patch.setattr(Journal, "take_dropped", lambda self: [])


@plant
def segments_numbered_anew_after_a_restore(patch: Patch) -> None:
    real = Store.restore

    def restore(self: Store, *args: Any) -> None:
        real(self, *args)
        self._named = {"": 0, "w": 0}

    patch.setattr(Store, "restore", restore)


@plant
def ranks_begin_anew_after_a_restore(patch: Patch) -> None:
    real = Store.restore

    def restore(self: Store, manifest: dict[str, Any], *args: Any) -> None:
        real(self, manifest, *args)
        self.ranked = max(0, self.ranked - 1)

    patch.setattr(Store, "restore", restore)


@plant
def the_manifest_of_the_batch_before(patch: Patch) -> None:
    real_restore, real = Worker.restore.__func__, Worker.to_manifest  # type: ignore[attr-defined]

    def restore(cls: type[Worker], plan: Any, manifest: bytes, fetch: Any, *, journal: bool = True) -> Worker:
        worker: Worker = real_restore(cls, plan, manifest, fetch, journal=journal)
        worker._before = manifest  # type: ignore[attr-defined]
        return worker

    patch.setattr(Worker, "restore", classmethod(restore))
    patch.setattr(Worker, "to_manifest", lambda self: getattr(self, "_before", None) or real(self))


@plant
def a_large_content_read_in_part(patch: Patch) -> None:
    def get(self: CellState, name: str) -> bytes | None:
        found = self._contents.getValue((name,))
        return found and found[0]

    patch.setattr(CellState, "get", get)


@plant
def a_timer_lost(patch: Patch) -> None:
    patch.setattr(CellState, "wake_after", lambda self, watermark: None)


# Time


def _moved(patch: Patch, kind: type, by: int) -> None:
    real = stores.find_limit

    def horizon(window: Any, side: Any, watermark: int | None, ranked: int, **ordered: bool) -> Limit:
        limit = real(window, side, watermark, ranked, **ordered)
        return Limit(limit.time + by, limit.rank) if isinstance(window, kind) and watermark is not None else limit

    patch.setattr(stores, "find_limit", horizon)


@plant
def expiry_a_microsecond_early(patch: Patch) -> None:
    _moved(patch, Between, 1)


@plant
def expiry_a_microsecond_late(patch: Patch) -> None:
    _moved(patch, Between, -1)


@plant
def a_row_at_the_watermark_taken_for_ready(patch: Patch) -> None:
    real = Waiting.release
    patch.setattr(Waiting, "release", lambda self, watermark: real(self, watermark + 1))


@plant
def an_ordered_bucket_ended_at_the_watermark(patch: Patch) -> None:
    real = stores.find_limit
    patch.setattr(stores, "find_limit", lambda *given, **_: real(*given))


@plant
def ties_left_to_chance(patch: Patch) -> None:
    def sort_by_time(keys: Any) -> Any:
        return np.argsort(keys[0], kind="stable")

    patch.setattr(sequence, "argsort_keys", sort_by_time)


@plant
def a_cell_that_counts_its_own_rows_alone(patch: Patch) -> None:
    patch.setattr(cell.CellBatch, "_read_tally", lambda self, records: None)


@plant
def a_bucket_expired_milliseconds_early(patch: Patch) -> None:
    real = stores.find_limit

    def early(window: Any, side: Any, watermark: int | None, ranked: int, **ordered: bool) -> Limit:
        moved = watermark + 3000 if watermark is not None and isinstance(window, Tumbling) else watermark
        return real(window, side, moved, ranked, **ordered)

    patch.setattr(stores, "find_limit", early)


@plant
def a_late_row_admitted(patch: Patch) -> None:
    real = workers.admit
    patch.setattr(workers, "admit", lambda p, s, b, mark: real(p, s, b, None if mark is None else mark - 1000))


@plant
def a_row_at_the_watermark_late(patch: Patch) -> None:
    real = workers.admit
    patch.setattr(workers, "admit", lambda p, s, b, mark: real(p, s, b, None if mark is None else mark + 1))


@plant
def a_lagging_side_judged_by_the_watermark_of_its_batch(patch: Patch) -> None:
    real = Worker._admit

    def admit(self: Worker, side: Any, blocks: Any, watermark: int | None) -> Any:
        before, self._watermark = self._watermark, watermark
        found = real(self, side, blocks, watermark)
        self._watermark = before
        return found

    patch.setattr(Worker, "_admit", admit)


@plant
def a_kept_row_without_its_watermark(patch: Patch) -> None:
    patch.setattr(cell, "set_watermark", lambda kept, watermark: kept)


@plant
def a_late_row_kept_in_each_of_its_cells(patch: Patch) -> None:
    real = cell.keep_late

    def keep_late(plan: Any, side: Any, blocks: Any, before: Any) -> Iterator[pa.RecordBatch]:
        return real(plan, side, [replace(block, first=None) for block in blocks], before)

    patch.setattr(cell, "keep_late", keep_late)


@plant
def a_NULL_time_admitted(patch: Patch) -> None:  # noqa: N802
    real = emit.read_rows

    def read_rows(job: Any, side: Any, batch: pa.RecordBatch) -> Any:
        at = job.sources[side].time
        return real(job, side, batch.set_column(at, batch.schema.field(at).name, batch.column(at).fill_null(0)))

    patch.setattr(emit, "read_rows", read_rows)


# Rows that are reduced


@plant
def right_rows_not_kept_for_left_rows_that_wait(patch: Patch) -> None:
    patch.setattr(Plan, "keeps", property(lambda self: self.window))


@plant
def ties_of_an_as_of_join_left_to_chance(patch: Patch) -> None:
    real = Best.add
    patch.setattr(Best, "add", lambda self, stored, pairs: real(self, replace(stored, route=None), pairs))


# Cells that decide together


@plant
def a_rank_off_by_one(patch: Patch) -> None:
    real = cell.answer

    def answer(layout: Any, number: int, found: Any) -> Iterator[Any]:
        if isinstance(found, pa.RecordBatch) or settle.is_first_of_stripe(layout, number, found.side):
            return real(layout, number, found)
        return real(layout, number, replace(found, ranks=found.ranks + 1))

    patch.setattr(cell, "answer", answer)


@plant
def rows_of_a_shared_side_not_put_in_order(patch: Patch) -> None:
    patch.setattr(cell, "sort_blocks", lambda blocks: list(blocks))


@plant
def rows_routed_by_their_position(patch: Patch) -> None:
    real = emit.read_rows

    def read_rows(job: Any, side: Any, batch: pa.RecordBatch) -> Any:
        rows, hashes, nulls = real(job, side, batch)
        return rows, np.arange(len(hashes)), nulls

    patch.setattr(emit, "read_rows", read_rows)


@plant
def settled_with_the_answers_of_a_cell_missing(patch: Patch) -> None:
    def settle_pages(layout: Any, waiting: Any) -> Iterator[pa.RecordBatch]:
        for (stripe, _), cells in waiting.pages():
            first, *others = layout.stripe("l", stripe) if stripe < layout.m else layout.stripe("r", stripe - layout.m)
            if first in cells:
                ranks = [[r for r, _ in settle._read_ranks(cells[c])] for c in others if c in cells]
                yield from settle.intersect_unmatched(settle._read_ranks(cells[first]), ranks)

    patch.setattr(settle, "_settle_pages", settle_pages)


# Results


@plant
def an_unmatched_row_emitted_twice(patch: Patch) -> None:
    def over(self: Store, now: Limit) -> Iterator[Any]:
        for segment in self.panes.segments:
            found = np.flatnonzero(now.is_expired(segment.rows))
            if len(found):
                yield segment.rows, found

    patch.setattr(Store, "find_expired", over)


@plant
def a_released_row_not_marked(patch: Patch) -> None:
    real = Flags.mark
    patch.setattr(Flags, "mark", lambda self, ranks: real(self, ranks[1:]))


@plant
def the_time_of_an_unmatched_row_off_by_one(patch: Patch) -> None:
    real = rounds.time_unmatched
    patch.setattr(rounds, "time_unmatched", lambda *args: real(*args) + 1)


@plant
def a_window_that_slides_emitted_again(patch: Patch) -> None:
    real = slides.Slide._emit

    def emit_again(self: slides.Slide, segments: Any) -> Iterator[pa.RecordBatch]:
        before = None if self.before is None else self.before - self.sliding.every
        yield from real(replace(self, before=before), segments)

    patch.setattr(slides.Slide, "_emit", emit_again)


@plant
def a_pane_dropped_when_its_rows_are_passed(patch: Patch) -> None:
    real = slides.find_limit
    patch.setattr(slides, "find_limit", lambda keeps, *args: real(Between(0, 0), *args))


def choose_seed(name: str) -> int:
    """One of the seeds, by the name of the fault."""
    return SEEDS[zlib.crc32(name.encode()) % len(SEEDS)]


def find_planted(name: str, seed: int, root: Path) -> tuple[int, float, str] | None:
    """Plant a fault and run histories from a seed on: how many until it was found, in what time, and how it showed."""
    tally, until = Tally(), time.process_time() + SECONDS
    with Patch.context() as patch:
        PLANTED[name](patch)
        failure = run_seeds(count(seed), tally, root, until, clock=time.process_time)
    return failure and (tally.count, tally.seconds, type(failure.error).__name__)

"""The driver: steps run one at a time, in the thread of a caller or in its own, and results wait to be read.

    submit -> queue -> one step at a time -> unread results, or the callback
                       (the caller's thread if the step is small and nobody runs, else the driver's)

What arrives while a step runs waits for the next step, which takes up all of it.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from time import perf_counter
from typing import TypeAlias, TypeVar

import pyarrow as pa

from streamjoin.errors import StreamJoinError
from streamjoin.local.engine import FEW
from streamjoin.local.stats import Latency
from streamjoin.local.step import Step

QUEUED_ROWS = 1 << 18
"""Rows that may wait for their step: beyond, a push waits."""

QUICK = 0.001
"""Seconds that a caller may take for a step of its own; what takes longer is for the join's thread."""

Results: TypeAlias = "list[pa.RecordBatch]"
T = TypeVar("T")
Callback = Callable[[pa.RecordBatch], None]


class Driver:
    """Runs the steps of a join.

    :param join: runs steps as one.
    :param callback: is given each batch of results; without it they wait to be read.
    :param close: frees what the join holds, once no step runs any more.
    :param count_matches: says how many matches were found so far; of them latency is measured, not of unmatched rows.
    :param most_rows: so many rows are put into one step; None if every push is a step of its own.
    :param unread: so many results may wait to be read; beyond, pushing raises.
    """

    def __init__(
        self,
        join: Callable[[Sequence[Step]], Results],
        callback: Callback | None,
        close: Callable[[], None],
        count_matches: Callable[[], int],
        *,
        most_rows: int | None,
        unread: int,
    ) -> None:
        self._join, self._callback, self._close, self._count_matches = join, callback, close, count_matches
        self._most_rows, self._unread = most_rows, unread
        self.latency = Latency()
        self.mutex = threading.Lock()
        self._changed = threading.Condition(self.mutex)  # whoever waits for results, room or rest
        self._work = threading.Condition(self.mutex)  # the thread: it is woken for work alone
        self._queue: deque[Step] = deque()
        self.queued = 0
        self.results: deque[pa.RecordBatch] = deque()
        self.unread = self.delivered = self.steps = 0
        self.matches = 0
        """How many had been found when results were last delivered."""
        self.blocked = 0.0
        self._per_row = 0.0  # seconds that a row of the last step took
        self._runner: threading.Thread | None = None  # who runs a step now
        self._thread: threading.Thread | None = None
        self.ended = self._closed = False
        self._error: BaseException | None = None

    # Steps come in

    def submit(self, admit: Callable[[], Step], *, brings_rows: bool = False, ends: bool = False) -> None:
        """Run a step, or queue it; `admit` makes it, in its turn. One that `brings_rows` waits for room."""
        with self.mutex:
            self.check_open()
            if brings_rows:
                self._check_unread()
                self._wait_for_room()
            self.ended = ends
            step = admit()
            at_once = self._enqueue(step)
        if at_once:
            self._run_steps([step])

    def claim(self, admit: Callable[[], T]) -> T | None:
        """Let the calling thread go on with `run`, if nobody runs: what `admit` gave in its turn, else None."""
        with self.mutex:
            self.check_open()
            self._check_unread()
            if self._runner is not None or self._queue:
                return None
            admitted = admit()
            self._runner = threading.current_thread()
        return admitted

    def _enqueue(self, step: Step) -> bool:
        """Queue a step; True if the caller shall run it at once, since it is small and nobody runs."""
        small = step.count <= FEW and step.count * self._per_row <= QUICK
        if small and self._runner is None and not self._queue:
            self._runner = threading.current_thread()
            return True
        self._queue.append(step)
        self.queued += step.count
        if self._thread is None:
            self._thread = threading.Thread(target=self._drive, name="streamjoin-driver", daemon=True)
            self._thread.start()
        self._work.notify()
        return False

    def _wait_for_room(self) -> None:
        if self.queued < QUEUED_ROWS or self._runner is threading.current_thread():
            return
        start = perf_counter()
        while self.queued >= QUEUED_ROWS and not self._closed and self._error is None:
            self._changed.wait()
        self.blocked += perf_counter() - start
        self.check_open()

    def _check_unread(self) -> None:
        if self.unread > self._unread:
            raise StreamJoinError(
                f"push: {self.unread:,} results wait to be read, and unread= allows {self._unread:,}; read them "
                "(read(), or iterate), give callback=, or allow more. Nothing of this push was taken"
            )

    def _check_failed(self) -> None:
        if self._error is not None:
            raise StreamJoinError(f"the join failed and is closed: {self._error}") from self._error

    def check_open(self) -> None:
        """Refuse, with the mutex held, what a join that has ended does not do."""
        self._check_failed()
        if self._closed:
            raise StreamJoinError("the join is closed; nothing can be pushed any more")
        if self.ended:
            raise StreamJoinError("the join was flushed: its input has ended, nothing can be pushed any more")

    # Steps run

    def _drive(self) -> None:
        """Run what is queued, all of it at once, until the join is closed."""
        while True:
            with self.mutex:
                while not self._closed and (self._runner is not None or not self._queue):
                    self._work.wait()
                if self._closed:
                    return
                steps = self._take_steps()
                self._runner = threading.current_thread()
                self._changed.notify_all()
            try:
                self._run_steps(steps)
            except BaseException:  # noqa: BLE001  it is kept, and raised to who calls next
                return

    def _run_steps(self, steps: list[Step]) -> None:
        begun = perf_counter()
        self.run(partial(self._join, steps), steps[0].arrived, len(steps))
        if count := sum(step.count for step in steps):
            self._per_row = (perf_counter() - begun) / count

    def _take_steps(self) -> list[Step]:
        """What is queued, as far as it may be one step."""
        steps = [self._queue.popleft()]
        rows = steps[0].count
        while self._most_rows and self._queue and rows + self._queue[0].count <= self._most_rows:
            steps.append(self._queue.popleft())
            rows += steps[-1].count
        self.queued -= rows
        return steps

    def run(self, join: Callable[[], Results], since: float, steps: int = 1) -> None:
        """Run steps as one; the caller has made itself the runner."""
        try:
            self._deliver(join(), since)
        except BaseException as error:
            with self.mutex:
                self._error, self._closed = error, True
                self._queue.clear()
            self._close()
            raise
        finally:
            with self.mutex:
                self._runner = None
                self.steps += steps
                self._changed.notify_all()
                if self._queue or self._closed:
                    self._work.notify()

    def _deliver(self, results: Results, since: float) -> None:
        if not results:
            return
        count = sum(batch.num_rows for batch in results)
        self.delivered += count
        if self._callback is None:
            with self.mutex:
                self.results.extend(results)
                self.unread += count
                self._changed.notify_all()
        else:
            for batch in results:
                self._callback(batch)
        before, self.matches = self.matches, self._count_matches()
        if self.matches > before:
            self.latency.add(perf_counter() - since, min(self.matches - before, count))

    # Results go out

    def wait_idle(self) -> None:
        """Wait, with the mutex held, until all that was submitted has run."""
        if self._runner is threading.current_thread():
            raise StreamJoinError("callback: a callback cannot wait for the step that calls it; read afterwards")
        while (self._runner is not None or self._queue) and self._error is None and not self._closed:
            self._changed.wait()
        self._check_failed()

    def wait_between_steps(self) -> None:
        """Wait, with the mutex held, until no other thread runs a step."""
        while self._runner is not None and self._runner is not threading.current_thread():
            self._changed.wait()

    def read(self) -> Results:
        """All results of what was submitted so far that have not been read."""
        with self.mutex:
            self.wait_idle()
            batches = list(self.results)
            self.results.clear()
            self.unread = 0
        return batches

    def iterate(self) -> Iterator[pa.RecordBatch]:
        """Results as they come, until no more can."""
        while True:
            with self.mutex:
                while not self.results and not self._is_over():
                    self._changed.wait()
                if not self.results:
                    self._check_failed()
                    return
                batch = self.results.popleft()
                self.unread -= batch.num_rows
            yield batch

    def _is_over(self) -> bool:
        """Whether no more results can come."""
        idle = self._runner is None and not self._queue
        return self._error is not None or (idle and (self.ended or self._closed))

    def close(self) -> None:
        """End the thread, once the step that runs is over; what is queued is dropped."""
        with self.mutex:
            self._closed = True
            self._queue.clear()
            self.queued = 0
            self._changed.notify_all()
            self._work.notify_all()
            self.wait_between_steps()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()
        self._close()

"""The threads that run cells: a few tasks at a time, all of them over when `run` returns."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TypeVar

_Task = TypeVar("_Task")
_Done = TypeVar("_Done")


class Pool:
    """So many threads, started when there is work for two.

    >>> with Pool(2) as pool:
    ...     pool.run(len, ["a", "bb", "ccc"])
    [1, 2, 3]
    """

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._threads: ThreadPoolExecutor | None = None

    def run(
        self,
        work: Callable[[_Task], _Done],
        tasks: Sequence[_Task],
        *,
        alone: bool = False,
        meanwhile: Callable[[], None] | None = None,
    ) -> list[_Done]:
        """The results of all tasks in their order; `alone` in the caller's thread, for work too little to share.

        The caller does `meanwhile` while others work. Where tasks fail, the first error is raised once all are over.
        """
        if alone or self.workers == 1 or len(tasks) < 2:
            done = [work(task) for task in tasks]
            if meanwhile is not None:
                meanwhile()
            return done
        if self._threads is None:
            self._threads = ThreadPoolExecutor(self.workers, thread_name_prefix="streamjoin-worker")
        futures = [self._threads.submit(work, task) for task in tasks]
        if meanwhile is not None:
            meanwhile()
        wait(futures)
        return [future.result() for future in futures]

    def resize(self, workers: int) -> None:
        """So many threads from now on."""
        self.close()
        self.workers = workers

    def close(self) -> None:
        """End the threads, once what they do is done."""
        if self._threads is not None:
            self._threads.shutdown(wait=True, cancel_futures=True)
            self._threads = None

    def __enter__(self) -> "Pool":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

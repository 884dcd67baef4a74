"""The thesis' distribution of sliding windows (chapter 2) and its map and stencil on tumbling ones (chapter 3).

For readers and tests: nothing in streamjoin decides by them. The problem of chapter 3 is R[i][j] = F(A[i], B[j]) for
vectors A and B of N elements that arrive on two streams; it is what a tumbling window's join does.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Form = Literal["map", "stencil", "replicated map", "replicated stencil"]
"""Both vectors partitioned over a square of workers, sent by the emitter (map) or handed on from worker to worker
(stencil); or B partitioned and A replicated on each."""

# Chapter 2: a window of N elements slides by s


def count_window_copies(size: int, slide: int, workers: int) -> int:
    """Workers that an element is sent to where windows go to workers: min(W, ceil(N / s)) (2.1.1).

    >>> count_window_copies(4, 1, workers=5), count_window_copies(6, 2, workers=2)
    (4, 2)
    """
    return min(workers, -(-size // slide))


def find_pane(size: int, slide: int) -> int:
    """Elements of a pane, the largest piece that all windows are made up of: gcd(N, s) (2.1.2).

    >>> find_pane(6, 4)
    2
    """
    return math.gcd(size, slide)


def find_batch(size: int, slide: int, windows: int) -> tuple[int, int]:
    """Size and slide of a batch of B consecutive windows: N + (B - 1) s and B s (2.1.3).

    >>> find_batch(6, 2, windows=3)
    (10, 6)
    >>> count_window_copies(*find_batch(6, 2, windows=3), workers=9)
    2
    """
    return size + (windows - 1) * slide, windows * slide


# Chapter 3


@dataclass(frozen=True)
class Problem:
    """N elements in each vector, the time of F, and of a message: to set up, and to transmit an element."""

    size: int
    function: float
    setup: float
    transmission: float

    def send(self, elements: float) -> float:
        """T_send(g) = T_setup + g T_transm (3.2)."""
        return self.setup + elements * self.transmission

    def grain(self, form: Form, workers: float) -> float:
        """Elements of a vector that a worker has: g = N / sqrt(n), or N / n where A is replicated."""
        return self.size / _count_messages(form, workers)


EXAMPLE = Problem(size=1000, function=6400, setup=1000, transmission=100)
"""Section 3.6, in clock cycles."""


def find_sequential_time(problem: Problem) -> float:
    """N^2 T_F.

    >>> find_sequential_time(EXAMPLE)
    6400000000
    """
    return problem.size**2 * problem.function


def find_completion_time(form: Form, problem: Problem, workers: float) -> float:
    """T_C = L_scatter + L_communications + execution + L_gather, of vectors that are there (3.2 to 3.5).

    >>> find_completion_time("map", Problem(size=4, function=10, setup=1, transmission=1), workers=4)
    57.0
    """
    n, g = workers, problem.grain(form, workers)
    send, size = problem.send, problem.size
    match form:
        case "map":
            return n * send(g) + g**2 * problem.function + send(g**2)
        case "stencil":
            return 2 * math.sqrt(n) * send(g) + g**2 * problem.function + send(g**2)
        case "replicated map":
            return n * send(g + size) + g * size * problem.function + send(g * size)
        case "replicated stencil":
            return (n + 1) * send(size) + g * size * problem.function + send(g * size)


def find_buffered_time(form: Form, problem: Problem, workers: float, arrival: float) -> float:
    """T_Buffer + T_C: all messages are awaited first, one every `arrival` (T_A) (3.2.1, 3.3.1, 3.4.1, 3.5.1)."""
    return _count_messages(form, workers) * arrival + find_completion_time(form, problem, workers)


def find_streaming_time(form: Form, problem: Problem, workers: float, arrival: float) -> float:
    """Completion where every message is worked on as it arrives (3.2.2, 3.3.2, 3.4.2, 3.5.2).

    Each form has two cases: the emitter is slower than the arrivals, or waits for them.
    """
    n, g, root = workers, problem.grain(form, workers), math.sqrt(workers)
    send, size, function = problem.send, problem.size, problem.function
    last = g**2 * function + send(g**2)
    match form:
        case "map":
            slow = arrival < root * send(g)
            return (arrival + n * send(g) if slow else root * (arrival + send(g))) + last
        case "stencil":
            slow = arrival < send(g)
            return (arrival + root * send(g) if slow else root * arrival + send(g)) + root * send(g) + last
        case "replicated map":
            slow = arrival < n * send(g)
            overlapped = max(n * send(g), g * (size - g) * function, (n - 1) * send(g**2))
            return (arrival + n**2 * send(g) if slow else n * arrival) + overlapped + last
        case "replicated stencil":
            slow = arrival < send(g)
            overlapped = max(g * (size - g) * function, (n - 1) * send(g**2))
            return (arrival + n * send(g) if slow else n * arrival) + overlapped + last


def find_best_degree(form: Form, time: Callable[[float], float], most: float = 1e6) -> int:
    """The number of workers with the least time, rounded down; for a square of workers to a square (3.6.2).

    >>> find_best_degree("map", lambda n: find_buffered_time("map", EXAMPLE, n, 1000))
    1681
    """
    # The formulae jump where their cases meet: first the best of a coarse range, then between its neighbours.
    coarse = [most ** (step / 1000) for step in range(1001)]
    at = min(range(len(coarse)), key=lambda step: time(coarse[step]))
    low, high = coarse[max(0, at - 1)], coarse[min(len(coarse) - 1, at + 1)]
    for _ in range(100):
        third = (high - low) / 3
        low, high = (low, high - third) if time(low + third) <= time(high - third) else (low + third, high)
    best = math.floor(low)
    return best if form.startswith("replicated") else math.isqrt(best) ** 2


@dataclass(frozen=True)
class Memory:
    """Elements that are held by a worker, by an emitter, and by all of them."""

    worker: float
    emitter: float
    total: float


def find_memory(form: Form, size: int, workers: int, *, streaming: bool, waiting: float | None = None) -> Memory:
    """Tables 3.4 to 3.6; `waiting` is x, what waits in a streaming emitter: by default one message of each vector.

    >>> find_memory("map", 1000, 100, streaming=False)
    Memory(worker=10200.0, emitter=1000.0, total=1022000.0)
    >>> find_memory("replicated map", 1000, 100, streaming=True)
    Memory(worker=1110.0, emitter=20.0, total=111020.0)
    """
    g = size / _count_messages(form, workers)
    emitters = 1 if form == "replicated map" else 2
    held = 2.0 * size / emitters
    if streaming:
        held = 2 * g / emitters if waiting is None else waiting
    if form.startswith("replicated"):
        worker = g + size + (g**2 if streaming else g * size)
    else:
        worker = 2 * g + g**2
    return Memory(worker, held, workers * worker + emitters * held)


def _count_messages(form: Form, workers: float) -> float:
    """In how many parts a vector comes."""
    return workers if form.startswith("replicated") else math.sqrt(workers)

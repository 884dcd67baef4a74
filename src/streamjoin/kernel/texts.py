"""Texts in a ring of bytes: byte n lies at n modulo the ring's size, a power of two."""

from typing import Any

from streamjoin.compile.ondisk import kernel


@kernel
def scatter(held: Any, ends: Any, ring: Any, end: int, slots: Any, starts: Any, lengths: Any) -> int:
    """Append the texts that `ends` delimits in `held`; each slot is told where its own starts and how long it is.

    Returns how many bytes were ever appended, which was `end` before.
    """
    mask = ring.size - 1
    for row in range(slots.size):
        starts[slots[row]] = end
        lengths[slots[row]] = ends[row + 1] - ends[row]
        for at in range(ends[row], ends[row + 1]):
            ring[end & mask] = held[at]
            end += 1
    return end


@kernel
def gather(ring: Any, starts: Any, slots: Any, ends: Any, found: Any) -> None:
    """Write the texts in these slots one after the other, where `ends` says."""
    mask = ring.size - 1
    for row in range(slots.size):
        start = starts[slots[row]] - ends[row]
        for at in range(ends[row], ends[row + 1]):
            found[at] = ring[(start + at) & mask]

"""Which key value sends a cell to which partition.

Spark sends a group to partition ``pmod(murmur3(key), partitions)``. Small integers would fall together by chance, so
the key of cell c is an integer whose hash falls into partition ``c % partitions``: cells are spread evenly.
"""

from functools import lru_cache

from streamjoin.flow.emit import PLAN_CELL

_MASK = 0xFFFFFFFF
_SEED = 42


@lru_cache
def cell_keys(cells: int, partitions: int) -> dict[int, int]:
    """The key of each cell, as Spark's records bear it; that of the plan's cell is its number."""
    return {**dict(enumerate(deal_keys(cells, partitions))), PLAN_CELL: PLAN_CELL}


@lru_cache(maxsize=1 << 12)
def find_cell(key: int, cells: int, partitions: int) -> int:
    """The cell of a key; of a key that only another layout has, the plan's."""
    return next((cell for cell, found in cell_keys(cells, partitions).items() if found == key), PLAN_CELL)


def deal_keys(count: int, partitions: int) -> list[int]:
    """So many keys, all of them different, that Spark deals to partitions in turn.

    >>> keys = deal_keys(4, 2)
    >>> [spark_hash(key) % 2 for key in keys]
    [0, 1, 0, 1]
    """
    keys = [0] * count
    following = list(range(partitions))  # the number that the next key of each partition gets
    missing, key = count, 0
    while missing:
        number = following[partition := spark_hash(key) % partitions]
        if number < count:
            keys[number], following[partition] = key, number + partitions
            missing -= 1
        key += 1
    return keys


def spark_hash(value: int) -> int:
    """Spark's ``hash()`` of an int column: Murmur3, 32 bits, with Spark's seed.

    >>> spark_hash(1)
    -559580957
    """
    mixed = (value & _MASK) * 0xCC9E2D51 & _MASK
    mixed = _rotate(mixed, 15) * 0x1B873593 & _MASK
    state = (_rotate(_SEED ^ mixed, 13) * 5 + 0xE6546B64) & _MASK
    state ^= 4  # bytes
    state = (state ^ state >> 16) * 0x85EBCA6B & _MASK
    state = (state ^ state >> 13) * 0xC2B2AE35 & _MASK
    state ^= state >> 16
    return state - (1 << 32) if state >> 31 else state


def _rotate(word: int, bits: int) -> int:
    return (word << bits | word >> 32 - bits) & _MASK

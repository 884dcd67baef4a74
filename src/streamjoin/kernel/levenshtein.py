"""Levenshtein's distance of strings side by side: how many characters must be put in, left out or changed.

Of a pair only what lies between the common beginning and the common end is looked at.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamjoin.compile.ondisk import kernel
from streamjoin.kernel.strings import Strings, arrays_of, width_of


def distances(a: Strings, b: Strings, most: int = 2**31 - 1) -> NDArray[np.int32]:
    """How many characters must be put in, left out or changed to make b of a (Levenshtein).

    Of a distance above `most` only this much is said: it is above.
    """
    return _distances(*arrays_of(a, b), most)  # type: ignore[no-any-return]


@kernel
def _distances(ao: Any, ad: Any, bo: Any, bd: Any, most: int) -> Any:
    found = np.zeros(len(ao) - 1, np.int32)
    longest = 0
    for k in range(len(found)):
        longest = max(longest, ao[k + 1] - ao[k], bo[k + 1] - bo[k])
    x, y = np.empty(longest, np.int64), np.empty(longest, np.int64)
    slots = 256
    while slots < 2 * longest:
        slots *= 2
    known, masks, used = np.full(slots, -1, np.int64), np.zeros(slots, np.uint64), np.empty(longest, np.int64)
    for k in range(len(found)):
        n, m = _decode(ad, ao[k], ao[k + 1], x), _decode(bd, bo[k], bo[k + 1], y)
        start = 0
        while start < min(n, m) and x[start] == y[start]:
            start += 1
        while min(n, m) > start and x[n - 1] == y[m - 1]:
            n, m = n - 1, m - 1
        if n > m:
            x, y, n, m = y, x, m, n
        if n == start or m - n > most:
            found[k] = m - start
        elif n - start <= 64:
            found[k] = _distance(x[start:n], y[start:m], known, masks, used, most)
        else:
            found[k] = _long_distance(x[start:n], y[start:m], known, used, most)
    return found


@kernel
def _distance(short: Any, long: Any, known: Any, masks: Any, used: Any, most: int) -> int:
    """Levenshtein's distance, a column of its table at a time (Myers 1999, as Hyyrö 2003 writes it).

    A column is the signs of its steps: bit i of `up` says that row i + 1 is one above row i, of `down` that it is one
    below. `masks` holds, in the slot of a character (`known`), where `short` has it.
    """
    one = np.uint64(1)
    count, bit = 0, one
    for i in range(len(short)):
        slot = _slot(short[i], known)
        if known[slot] < 0:
            known[slot], used[count] = short[i], slot
            count += 1
        masks[slot] |= bit
        bit <<= one
    up, down, last, score = ~np.uint64(0), np.uint64(0), np.uint64(len(short) - 1), len(short)
    left = len(long)
    for j in range(len(long)):
        same = masks[_slot(long[j], known)]
        free = (((same & up) + up) ^ up) | same | down
        rises, falls = down | ~(free | up), free & up
        score += int(rises >> last & one) - int(falls >> last & one)
        left -= 1
        if score - left > most:
            break
        rises = rises << one | one  # the first row of the table rises by one with every column
        up, down = falls << one | ~(free | rises), rises & free
    for i in range(count):
        known[used[i]] = -1
        masks[used[i]] = np.uint64(0)
    return score


@kernel
def _long_distance(short: Any, long: Any, known: Any, used: Any, most: int) -> int:
    """The same for more rows than a word has bits: word by word, with what the last row of one hands to the next."""
    one, top = np.uint64(1), np.uint64(63)
    words, count = (len(short) + 63) >> 6, 0
    place = np.empty(len(known), np.int64)
    for i in range(len(short)):
        slot = _slot(short[i], known)
        if known[slot] < 0:
            known[slot], used[count], place[slot] = short[i], slot, count
            count += 1
    masks = np.zeros((count + 1, words), np.uint64)  # the last for characters that `short` lacks
    for i in range(len(short)):
        masks[place[_slot(short[i], known)], i >> 6] |= one << np.uint64(i & 63)
    up, down = np.full(words, ~np.uint64(0), np.uint64), np.zeros(words, np.uint64)
    last, score = np.uint64((len(short) - 1) & 63), len(short)
    for j in range(len(long)):
        slot = _slot(long[j], known)
        mask = masks[place[slot] if known[slot] >= 0 else count]
        higher, lower = one, np.uint64(0)
        rises = falls = lower
        for w in range(words):
            same = mask[w] | lower
            free = (((same & up[w]) + up[w]) ^ up[w]) | same | down[w]
            rises, falls = down[w] | ~(free | up[w]), free & up[w]
            rise, fall = rises << one | higher, falls << one | lower
            higher, lower = rises >> top, falls >> top
            up[w], down[w] = fall | ~(free | rise), rise & free
        score += int(rises >> last & one) - int(falls >> last & one)
        if score - (len(long) - j - 1) > most:
            break
    for i in range(count):
        known[used[i]] = -1
    return score


@kernel
def _slot(point: int, known: Any) -> int:
    """Where a character stands in a table of characters, or would stand."""
    slot = (point ^ point >> 5) & (len(known) - 1)
    while known[slot] != point and known[slot] >= 0:
        slot = (slot + 1) & (len(known) - 1)
    return slot


@kernel
def _decode(data: Any, start: int, stop: int, points: Any) -> int:
    """The characters of a string, each as one number; how many there are."""
    count, at = 0, start
    while at < stop:
        point, at = np.int64(data[at]), at + 1
        if point >= 0xC0:
            for _ in range(min(width_of(point) - 1, stop - at)):
                point, at = point << 8 | np.int64(data[at]), at + 1
        points[count] = point
        count += 1
    return count

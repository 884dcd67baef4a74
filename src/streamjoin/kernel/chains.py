"""Chains in a ring: an index that takes rows one by one, for windows that are probed after every row.

Rows lie in a ring, numbered as they come; row s is in slot ``s & mask``. Every bucket (as wide as the band, along up to
two keys) has a chain of the rows in it, newest first: `heads` has the newest, `older` the one before each. A number
before `base` ends a chain, so expired rows need not be taken out. Buckets share heads by a hash; a candidate counts
only in the bucket that it is in.
"""

from typing import Any

import numpy as np

from streamjoin.compile.ondisk import kernel

NONE = -1
MOST_BUCKETS = 8
_FAR = float(1 << 51)


@kernel
def find_bucket(value: float, per: float) -> Any:
    """The bucket of a finite value; what is far away shares the outermost ones."""
    number = np.floor(value * per)
    return np.int64(min(max(number, -_FAR), _FAR))


@kernel
def find_head(x: int, y: int, heads: int) -> Any:
    """The place of a bucket's head."""
    mixed = np.uint64(x) * np.uint64(0x9E3779B97F4A7C15) ^ np.uint64(y) * np.uint64(0xC2B2AE3D27D4EB4F)
    mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(32)
    return np.int64(mixed & np.uint64(heads - 1))


@kernel
def is_near(asked: Any, stored: Any, is_left: bool, low: Any, high: Any, slack: Any) -> Any:
    """Whether ``low <= l - r <= high`` for each key, or nearly so."""
    for k in range(asked.size):
        apart = asked[k] - stored[k] if is_left else stored[k] - asked[k]
        spare = slack[k] * (abs(asked[k]) + abs(low[k]) + abs(high[k]))
        if not low[k] - spare <= apart <= high[k] + spare:
            return False
    return True


@kernel
def is_between(left: int, right: int, first: int, last: int) -> Any:
    """Whether ``first <= right - left <= last`` for two times; a difference beyond 64 bits, which wraps, is not."""
    distance = right - left
    return first <= distance <= last and (distance < 0) == (right < left)


@kernel
def insert(keys: Any, pers: Any, start: int, stop: int, heads: Any, older: Any) -> None:
    """Put the rows numbered from `start` to before `stop` into their chains; a row without a finite key into none."""
    mask = older.size - 1
    flat = keys.shape[1] < 2
    for number in range(start, stop):
        slot = number & mask
        able = True
        for k in range(keys.shape[1]):
            able &= np.isfinite(keys[slot, k])
        older[slot] = NONE
        if able:
            x = find_bucket(keys[slot, 0], pers[0])
            y = 0 if flat else find_bucket(keys[slot, 1], pers[1])
            head = find_head(x, y, heads.size)
            older[slot] = heads[head]
            heads[head] = number


@kernel
def pass_expired(times: Any, base: int, stop: int, before: int) -> int:
    """The number of the first row from `base` on that does not lie before a time."""
    mask = times.size - 1
    while base < stop and times[base & mask] < before:
        base += 1
    return base


@kernel
def find_range(asked: float, is_left: bool, low: float, high: float, slack: float, per: float) -> Any:
    """The first and last bucket in which a row's partners may be."""
    spare = slack * (abs(asked) + abs(low) + abs(high))
    first = asked - high if is_left else asked + low
    last = asked - low if is_left else asked + high
    return find_bucket(first - spare, per), find_bucket(last + spare, per)


@kernel
def probe(
    asked: Any,
    asked_times: Any,
    is_left: bool,
    low: Any,
    high: Any,
    slack: Any,
    first: int,
    last: int,
    keys: Any,
    times: Any,
    pers: Any,
    base: int,
    newest: int,
    heads: Any,
    older: Any,
    probes: Any,
    builds: Any,
    cursor: Any,
) -> int:
    """Candidates of rows from ``cursor[0]`` on: ``low <= l - r <= high`` for each key, `slack` (relative) aside.

    Also ``first <= t_r - t_l <= last``. A row's candidates are written wholly or not at all; ``cursor[0]`` is the row
    to go on with, ``cursor[1]`` counts the rows that were looked at. Where slack makes an interval span many buckets,
    because values are huge, all rows are looked at.
    """
    mask, count = older.size - 1, 0
    flat = keys.shape[1] < 2
    for i in range(cursor[0], asked_times.size):
        start, able = count, True
        for k in range(keys.shape[1]):
            able &= np.isfinite(asked[i, k])
        if not able:
            cursor[0] = i + 1
            continue
        x_from, x_to = find_range(asked[i, 0], is_left, low[0], high[0], slack[0], pers[0])
        y_from = y_to = np.int64(0)
        if not flat:
            y_from, y_to = find_range(asked[i, 1], is_left, low[1], high[1], slack[1], pers[1])
        everything = x_to - x_from > MOST_BUCKETS or y_to - y_from > MOST_BUCKETS
        if everything:
            x_to, y_to = x_from, y_from
        for x in range(x_from, x_to + 1):
            for y in range(y_from, y_to + 1):
                number = newest if everything else heads[find_head(x, y, heads.size)]
                while number >= base:
                    slot = number & mask
                    cursor[1] += 1
                    left, right = (asked_times[i], times[slot]) if is_left else (times[slot], asked_times[i])
                    good = is_between(left, right, first, last)
                    good = good and is_near(asked[i], keys[slot], is_left, low, high, slack)
                    if good and not everything:
                        good = find_bucket(keys[slot, 0], pers[0]) == x
                        if not flat:
                            good &= find_bucket(keys[slot, 1], pers[1]) == y
                    if good:
                        if count == probes.size:
                            return start
                        probes[count] = i
                        builds[count] = slot
                        count += 1
                    number = number - 1 if everything else older[slot]
        cursor[0] = i + 1
    return count

"""What a layout sends and keeps, in rows and bytes."""

import math
from dataclasses import dataclass

from streamjoin.layout.base import Cost, Layout
from streamjoin.model.pairs import Sides, find_reach
from streamjoin.plan import Plan
from streamjoin.spec.window import Window


@dataclass(frozen=True)
class Copies:
    """The cells of a layout, and to how many a row of each side is sent and in how many it is stored."""

    cells: int
    left: Cost
    right: Cost

    @property
    def shares(self) -> Sides:
        """The share of each side's window that one cell holds: 1 / m and 1 / n in DP-Join's grid of m x n."""
        return Sides(self.left.stored / self.cells, self.right.stored / self.cells)


def count_copies(layout: Layout, plan: Plan) -> Copies:
    """What the layout says of itself, for the join of a plan."""
    return Copies(layout.cells, layout.cost("l", plan), layout.cost("r", plan))


def find_sent_rate(copies: Copies, rates: Sides) -> float:
    """Copies of rows that are sent to cells per second.

    >>> find_sent_rate(Copies(6, Cost(3, 3), Cost(2, 2)), Sides(1000, 100))
    3200
    """
    return rates.left * copies.left.sent + rates.right * copies.right.sent


def find_shuffle_rate(copies: Copies, rates: Sides, widths: Sides) -> float:
    """Bytes that are shuffled per second, for rows of these bytes.

    >>> find_shuffle_rate(Copies(6, Cost(3, 3), Cost(2, 2)), Sides(1000, 100), Sides(16, 200))
    88000
    """
    return rates.left * copies.left.sent * widths.left + rates.right * copies.right.sent * widths.right


def find_stored_rate(copies: Copies, rates: Sides, widths: Sides | None = None) -> float:
    """Copies of rows that are stored per second; with widths, their bytes.

    >>> find_stored_rate(Copies(6, Cost(6, 1), Cost(6, 1)), Sides(1000, 100))
    1100.0
    """
    left, right = (1.0, 1.0) if widths is None else (widths.left, widths.right)
    return rates.left * copies.left.stored * left + rates.right * copies.right.stored * right


def find_stay(window: Window, rates: Sides, lag: float = 0.0) -> Sides:
    """How many seconds a row of each side is kept; in tumbling windows the first of a bucket, the longest.

    A left row is kept until the watermark has passed ``t_l + upper``, a right one until ``t_r - lower``. The watermark
    lags behind the newest rows by the delay and by the micro-batch that is being joined.

    >>> from streamjoin.spec.window import between, within
    >>> find_stay(within("60 seconds"), Sides(1, 1), lag=10)
    Sides(left=70.0, right=70.0)
    >>> find_stay(between("-5 seconds", "-1 second"), Sides(1, 1), lag=10)
    Sides(left=9.0, right=15.0)
    """
    reach = find_reach(window, rates)
    if reach.bucket < math.inf:  # the law lets a bucket's rows go together
        return Sides.equal(reach.bucket + lag)
    return Sides(max(0.0, reach.upper + lag), max(0.0, lag - reach.lower))


def count_state_rows(copies: Copies, window: Window, rates: Sides, lag: float = 0.0) -> Sides:
    """Copies of rows of each side in the state of all cells together, once the windows are full.

    >>> from streamjoin.spec.window import within
    >>> count_state_rows(Copies(6, Cost(3, 3), Cost(2, 2)), within("60 seconds"), Sides(1000, 100), lag=10)
    Sides(left=210000.0, right=14000.0)
    """
    stay = find_stay(window, rates, lag)
    left = rates.left * stay.left * copies.left.stored if rates.left else 0.0  # `last(n)` keeps these for ever
    return Sides(left, rates.right * stay.right * copies.right.stored if rates.right else 0.0)


def find_state_size(copies: Copies, window: Window, rates: Sides, widths: Sides, lag: float = 0.0) -> float:
    """Bytes of state in all cells together, for rows of these bytes."""
    rows = count_state_rows(copies, window, rates, lag)
    return rows.left * widths.left + rows.right * widths.right

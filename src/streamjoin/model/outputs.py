"""Results of a join: the pairs of its windows times the hit rate p, the share of pairs that match.

Other joins than the papers' inner ones emit rows that have no match, or one result for a row that has some.
"""

import math

from streamjoin.model.pairs import Sides, count_pairs, find_pair_rate
from streamjoin.spec.how import PRESERVED, How
from streamjoin.spec.side import NAMED
from streamjoin.spec.window import Window


def find_output_rate(window: Window, rates: Sides, hit_rate: float) -> float:
    """Results per second once the windows are full: λ_L λ_R (T_L + T_R) p.

    Thesis (4.2), the ideal output rate of the module; DP-Join Eq. 4, the maximum bandwidth ``2 λ_x λ_y T_w p``.

    >>> from streamjoin.spec.window import within
    >>> round(find_output_rate(within("300 seconds"), Sides.equal(2100), 3.6e-6), 1)
    9525.6
    """
    return find_pair_rate(window, rates) * hit_rate


def find_result_rate(window: Window, rates: Sides, hit_rate: float, how: How) -> float:
    """Results per second of a join of any type, where pairs match independently of each other.

    Then the matches of a row are Poisson: of rows with m on average a share e^-m has none. Where a few rows have most
    of the matches, more rows than that have none.

    >>> from streamjoin.spec.window import within
    >>> one_each = within("5 seconds"), Sides.equal(100), 0.001
    >>> [round(find_result_rate(*one_each, how), 1) for how in ("inner", "left", "full", "left_semi", "left_anti")]
    [100.0, 136.8, 173.6, 63.2, 36.8]
    """
    matches = find_output_rate(window, rates, hit_rate)
    preserved = (float(getattr(rates, NAMED[side])) for side in PRESERVED[how])
    unmatched = sum(rate * math.exp(-matches / rate) for rate in preserved if rate)
    if how == "left_semi":
        return rates.left - unmatched
    return unmatched if how == "left_anti" else matches + unmatched


def count_outputs(
    window: Window, rates: Sides, hit_rate: float, until: float, *, since: float = 0.0, phase: float = 0.0
) -> float:
    """Results whose later row comes from `since` to `until`, in streams that begin at time 0 with empty windows.

    Thesis (4.1) and DP-Join Eq. 3 where the windows are full at `since`; the thesis' filling phase (4.7) from the
    start, exact for unequal windows too (`count_pairs`).

    >>> from streamjoin.spec.window import within
    >>> round(count_outputs(within("300 seconds"), Sides(800, 1200), 3.6e-6, 900))
    1555200
    """
    return count_pairs(window, rates, until, since=since, phase=phase) * hit_rate

"""Mutants are applied to the running product, and differ from it."""

import numpy as np

from streamjoin.worker.flags import Flags
from tests.mutation.mutants import all_mutants


def test_a_mutant_is_the_product_with_one_thing_wrong() -> None:
    mutants = [mutant for mutant in all_mutants() if mutant.function == "Flags.extend"]
    without = next(mutant for mutant in mutants if mutant.what == "without self._stop = stop")
    whole = Flags.extend.__code__
    flags = [Flags(), Flags()]
    flags[0].extend(3)
    try:
        without.apply()
        flags[1].extend(3)
    finally:
        Flags.extend.__code__ = whole
    for each in flags:
        each.mark(np.array([1]))
    assert [each.count for each in flags] == [1, 0]


def test_every_mutant_says_where_it_is_and_differs_from_the_others() -> None:
    mutants = all_mutants()
    assert len(mutants) > 500
    assert len({(m.path, m.function, m.node, m.way) for m in mutants}) == len(mutants)
    assert any(str(m).startswith("worker/flags.py:") for m in mutants)

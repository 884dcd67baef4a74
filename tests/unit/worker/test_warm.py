"""Made-up rows are reduced to the end, so that all that a plan needs is compiled."""

import contextlib
from typing import Any

import pytest

from streamjoin.kernel import reduce, slide
from streamjoin.worker import warm


class _Nothing(contextlib.nullcontext[None]):
    """In place of what keeps errors back."""

    def __init__(self, *_: Any) -> None:
        super().__init__()


@pytest.mark.parametrize("plan", list(warm.list_reductions()), ids=lambda plan: type(plan.reduction).__name__)
def test_every_reduction_runs_on_made_up_rows(plan: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warm.contextlib, "suppress", _Nothing)
    warm.warm_reduction(plan)


def test_together_they_need_every_kernel_of_reducing() -> None:
    for plan in warm.list_reductions():
        warm.warm_reduction(plan)
    kernels = {
        name: found
        for module in (reduce, slide)
        for name, found in vars(module).items()
        if hasattr(found, "signatures") and found.py_func.__module__ == module.__name__
    }
    assert kernels
    of_decimals, within_others = {"sum_wide", "divide_wide", "subtract_wide"}, {"merge_moments"}
    assert {name for name, found in kernels.items() if not found.signatures} <= of_decimals | within_others

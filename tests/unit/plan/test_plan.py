"""What a plan refuses."""

from typing import get_args

import pytest

from streamjoin import reference
from streamjoin.errors import StreamJoinError
from streamjoin.spec.how import How
from streamjoin.worker import Worker
from tests.unit.worker.joins import left, pairs, plan_of, right


def test_residual_conditions_are_left_to_the_caller_of_an_inner_join() -> None:
    on = "l.x = r.a AND l.s LIKE r.s"
    worker = Worker(plan_of(on=on))
    assert pairs(worker.process(left((0, 1)), right((0, 1)))) == [(0, 100, 0)]
    with pytest.raises(StreamJoinError, match="only Spark can evaluate"):
        plan_of(how="left", on=on)  # without `require_worker`


def test_a_plan_names_what_it_cannot_be() -> None:
    with pytest.raises(StreamJoinError, match="how: got 'outer'; expected one of inner, left"):
        plan_of(how="outer")  # type: ignore[arg-type]
    assert get_args(How) == get_args(reference.How)

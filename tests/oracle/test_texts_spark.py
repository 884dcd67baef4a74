"""The judge is Spark: conditions on strings and arrays hold for the pairs that Spark's own WHERE keeps.

Both for the condition evaluated pair by pair, which the other tests stand on, and as a worker decides it.
"""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from streamjoin import within
from streamjoin.match import Matcher
from streamjoin.operators.arithmetic import EvaluationError
from streamjoin.pane import Segment
from tests.conditions.pairs import agreed, view_of_pairs
from tests.conditions.texts import COLUMNS, CONDITIONS, DDL, ROWS
from tests.unit.match.test_evaluated import decided, rows_of

pytestmark = pytest.mark.spark
SIDES = st.lists(ROWS, min_size=5, max_size=9)


@pytest.fixture(scope="module")
def pairs_of(spark: Any) -> Any:
    with view_of_pairs(spark, DDL) as make:
        yield lambda lefts, rights: make(
            lefts, rights, lambda row: (datetime(1970, 1, 1, tzinfo=UTC), *(row[name] for name in COLUMNS))
        )


@given(st.lists(CONDITIONS, min_size=40, max_size=40), SIDES, SIDES)
@settings(
    max_examples=3,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.large_base_example, HealthCheck.data_too_large],
)
def test_conditions_hold_for_the_pairs_that_spark_keeps(
    spark: Any, pairs_of: Any, texts: list[str], lefts: Any, rights: Any
) -> None:
    pairs = pairs_of(lefts, rights)
    predicates = [predicate for text in texts if (predicate := decided(text)) is not None]
    assume(predicates)
    for predicate, ids, wanted in agreed(spark, predicates, pairs):
        matcher = Matcher(predicate, within("1 second"))
        segment = matcher.prepare("r", Segment("s", rows_of(predicate, "r", rights)))
        try:
            matches = list(matcher.pairs("l", rows_of(predicate, "l", lefts), segment))
        except EvaluationError:
            assert len(ids) < len(pairs), predicate.text
            continue
        met = {int(p) * len(rights) + int(b) for each in matches for p, b in zip(each.probe, each.build, strict=True)}
        assert met & set(ids) == wanted, predicate.text

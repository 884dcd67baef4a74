"""The judge is Java: `operators.strict` has every bit that Spark's functions on doubles have.

Java 24 and later may compute `cbrt`, `sinh` and `tanh` by code of the platform, as all do `sin`, `cos` and `tan`.
"""

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from streamjoin.operators.registry import OPERATORS
from tests.conditions.doubles import doubles_of
from tests.conditions.operators import STRICT

pytestmark = pytest.mark.spark
COUNT = 20_000
PLATFORM = ("cbrt", "sinh", "tanh")


def test_every_bit_is_javas(spark: Any) -> None:
    x, a = doubles_of(COUNT, seed=4), doubles_of(COUNT, seed=5)
    java = int(spark._jvm.System.getProperty("java.version").split(".")[0])
    names = [name for name in STRICT if java < 24 or name not in PLATFORM]
    calls = [(name, f"{name}(x)") for name in names]
    calls += [(name, f"{name}(x, a)") for name in ("atan2", "hypot", "log", "pow")]
    rows = spark.createDataFrame(pa.table({"k": np.arange(len(x)), "x": x, "a": a}))
    found = rows.selectExpr("k", *(f"{text} AS {name}" for name, text in calls)).toArrow().sort_by("k")
    pairs = list(zip(x.tolist(), a.tolist(), strict=True))
    for name, text in calls:
        values = [OPERATORS[name].value(*pair[: text.count(",") + 1]) for pair in pairs]
        wrong = [
            (pair, ours, theirs)
            for pair, ours, theirs in zip(pairs, values, found[name].to_pylist(), strict=True)
            if not _is_same(ours, theirs)
        ]
        assert not wrong, f"{text}: {len(wrong)}, such as {wrong[:3]}"


def _is_same(a: float | None, b: float | None) -> bool:
    if a is None or b is None:
        return a is b
    return (a == b and math.copysign(1, a) == math.copysign(1, b)) or (math.isnan(a) and math.isnan(b))

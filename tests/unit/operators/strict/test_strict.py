"""Java's functions without Java: near the platform's everywhere, exact where the value is known.

That every bit is Java's is shown in `tests/oracle/test_strict_spark.py`.
"""

import math
from collections.abc import Callable

import numpy as np
import pytest

from streamjoin.operators.strict import angles, exponentials, logarithms, powers
from streamjoin.operators.strict.bits import chop, from_bits, from_words, high_word, scale, to_bits
from tests.conditions.doubles import doubles_of

Function = Callable[..., float]
ONE = {
    exponentials.exp: np.exp,
    exponentials.expm1: np.expm1,
    exponentials.sinh: np.sinh,
    exponentials.cosh: np.cosh,
    exponentials.tanh: np.tanh,
    logarithms.log: np.log,
    logarithms.log2: np.log2,
    logarithms.log10: np.log10,
    logarithms.log1p: np.log1p,
    powers.cbrt: np.cbrt,
    angles.asin: np.arcsin,
    angles.acos: np.arccos,
    angles.atan: np.arctan,
}
TWO = {powers.hypot: np.hypot, powers.power: np.power, angles.atan2: np.arctan2}


def _is_near(found: list[float], wanted: np.ndarray) -> np.ndarray:
    values = np.array(found)
    with np.errstate(all="ignore"):
        near = np.abs(values - wanted) <= 4 * np.spacing(np.minimum(np.abs(wanted), 1e308))
    return (values == wanted) | near | (np.isnan(values) & np.isnan(wanted))


@pytest.mark.parametrize("function", ONE, ids=lambda function: function.__name__)
def test_is_near_the_platforms(function: Function) -> None:
    x = doubles_of(4000, seed=1)
    with np.errstate(all="ignore"):
        wanted = ONE[function](x)
    near = _is_near([function(v) for v in x.tolist()], wanted)
    assert not x[~near].tolist()


@pytest.mark.parametrize("function", TWO, ids=lambda function: function.__name__)
def test_is_near_the_platforms_on_two(function: Function) -> None:
    x, y = doubles_of(4000, seed=2), doubles_of(4000, seed=3)
    with np.errstate(all="ignore"):
        wanted = TWO[function](x + 0.0, y + 0.0)
    if function is powers.power:
        wanted[np.isnan(y) | ((np.abs(x) == 1) & np.isinf(y))] = np.nan  # C's is 1
    near = _is_near([function(v, w) for v, w in zip(x.tolist(), y.tolist(), strict=True)], wanted)
    assert not list(zip(x[~near], y[~near], strict=True))


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        (exponentials.exp(0.0), 1.0),
        (exponentials.expm1(-1000.0), -1.0),
        (exponentials.tanh(-math.inf), -1.0),
        (logarithms.log2(8.0), 2.0794415416798357 / 0.6931471805599453),
        (logarithms.log10(1e15), 15.0),
        (logarithms.log_to_base(2.0, 1.0), 0.0),
        (logarithms.log_to_base(1.0, 5.0), math.inf),
        (logarithms.atanh(1.0), math.inf),
        (powers.cbrt(-27.0), -3.0),
        (powers.hypot(3.0, -4.0), 5.0),
        (powers.hypot(math.nan, math.inf), math.inf),
        (powers.power(-2.0, 3.0), -8.0),
        (powers.power(2.0, -1074.0), 5e-324),
        (angles.atan2(-0.0, -1.0), math.pi),
        (angles.acos(-1.0), math.pi),
    ],
)
def test_known_values(found: float, wanted: float) -> None:
    assert found == wanted


def test_bits() -> None:
    assert to_bits(-0.0) == -(2**63)
    assert from_bits(to_bits(math.pi)) == math.pi
    assert high_word(1.0) == 0x3FF00000
    assert from_words(high_word(math.pi), to_bits(math.pi) & 0xFFFFFFFF) == math.pi
    assert chop(1 + 2.0**-20 + 2.0**-21) == 1 + 2.0**-20
    assert scale(1.5, -3) == 1.5 / 8

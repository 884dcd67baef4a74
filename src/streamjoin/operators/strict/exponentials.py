"""Powers of e, and what is made of them."""

import math

from streamjoin.operators.strict.bits import scale

LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
INVERSE_LN2 = 1.44269504088896338700e00
HALF_LN2, THREE_HALVES_LN2 = float.fromhex("0x1.62e43p-2"), float.fromhex("0x1.0a2b2p0")
"""Beyond the one there is a multiple of ln 2 to take off; up to the other it is one."""

LARGEST, SMALLEST = 7.09782712893383973096e02, -7.45133219101941108420e02
"""Beyond the one, e^x overflows; below the other, it is zero."""

LEAST_OF_EXPM1 = -float.fromhex("0x1.3687ap5")


def exp(x: float) -> float:
    """The power of e."""
    if x != x:
        return x
    if x > LARGEST:
        return math.inf
    if x < SMALLEST:
        return 0.0
    if abs(x) < 2.0**-28:
        return 1.0 + x
    k = _count_ln2(x)
    high, low = x - k * LN2_HIGH, k * LN2_LOW
    r = high - low
    c = r - exp_series(r * r)
    y = 1.0 - ((low - (r * c) / (2.0 - c)) - high)
    return scale(y, k) if k >= -1021 else scale(y, k + 1000) * 2.0**-1000


def exp_series(t: float) -> float:
    """By the square of r, what r loses on the way to e^r."""
    rest = 6.61375632143793436117e-05 + t * (-1.65339022054652515390e-06 + t * 4.13813679705723846039e-08)
    return t * (1.66666666666666019037e-01 + t * (-2.77777777770155933842e-03 + t * rest))


def _count_ln2(x: float) -> int:
    """How often ln 2 is taken off so that at most half of it remains."""
    if abs(x) < HALF_LN2:
        return 0
    if abs(x) < THREE_HALVES_LN2:
        return 1 if x > 0.0 else -1
    return int(INVERSE_LN2 * x + (0.5 if x > 0.0 else -0.5))


def expm1(x: float) -> float:
    """The power of e less 1, exact where that is small."""
    if x != x or abs(x) < 2.0**-54:
        return x
    if x > LARGEST:
        return math.inf
    if x <= LEAST_OF_EXPM1:
        return -1.0
    k = _count_ln2(x)
    high, low = x - k * LN2_HIGH, k * LN2_LOW
    r = high - low
    c = (high - r) - low
    half = 0.5 * r
    square = r * half
    p = -7.93650757867487942473e-05 + square * (4.00821782732936239552e-06 + square * -2.01099218183624371326e-07)
    p = 1.0 + square * (-3.33333333333331316428e-02 + square * (1.58730158725481460165e-03 + square * p))
    t = 3.0 - p * half
    e = square * ((p - t) / (6.0 - r * t))
    if k == 0:
        return r - (r * e - square)
    e = (r * (e - c) - c) - square
    if k == -1:
        return 0.5 * (r - e) - 0.5
    if k == 1:
        return -2.0 * (e - (r + 0.5)) if r < -0.25 else 1.0 + 2.0 * (r - e)
    if k <= -2 or k > 56:
        return scale(1.0 - (e - r), k) - 1.0
    if k < 20:
        return scale((1.0 - scale(1.0, -k)) - (e - r), k)
    return scale((r - (e + scale(1.0, -k))) + 1.0, k)


EXP_FITS, HYPERBOLIC_FITS = float.fromhex("0x1.62e42p9"), float.fromhex("0x1.633ce8fb9f87dp9")


def sinh(x: float) -> float:
    """The hyperbolic sine."""
    a, half = abs(x), 0.5 if x > 0.0 else -0.5
    if not a >= 2.0**-28:
        return x
    if a < 22.0:
        t = expm1(a)
        return half * (2.0 * t - t * t / (t + 1.0)) if a < 1.0 else half * (t + t / (t + 1.0))
    return _grow(a, half)


def cosh(x: float) -> float:
    """The hyperbolic cosine."""
    a = abs(x)
    if a < HALF_LN2:
        t = expm1(a)
        return 1.0 + t if a < 2.0**-55 else 1.0 + (t * t) / ((1.0 + t) + (1.0 + t))
    if a < 22.0:
        t = exp(a)
        return 0.5 * t + 0.5 / t
    return _grow(a, 0.5)


def _grow(a: float, half: float) -> float:
    """Half of the power of e, which itself may overflow."""
    if a < EXP_FITS:
        return half * exp(a)
    if a <= HYPERBOLIC_FITS:
        root = exp(0.5 * a)
        return (half * root) * root
    return a * half * math.inf


def tanh(x: float) -> float:
    """The hyperbolic tangent."""
    a = abs(x)
    if a < 2.0**-55:
        return x * (1.0 + x)
    if a >= 22.0:
        y = 1.0
    elif a >= 1.0:
        y = 1.0 - 2.0 / (expm1(2.0 * a) + 2.0)
    else:
        t = expm1(-2.0 * a)
        y = -t / (t + 2.0)
    return y if x >= 0.0 else -y

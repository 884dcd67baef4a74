"""Logarithms."""

import math

from streamjoin.operators.strict.bits import MANTISSA, from_bits, to_bits
from streamjoin.operators.strict.exponentials import LN2_HIGH, LN2_LOW

SMALLEST_NORMAL = 2.0**-1022
LN2, LN10_INVERSE = 0.6931471805599453, 4.34294481903251816668e-01
LOG10_2_HIGH, LOG10_2_LOW = 3.01029995663611771306e-01, 3.69423907715893078616e-13


def log(x: float) -> float:
    """The natural logarithm."""
    if not 0.0 < x < math.inf:
        return x if x > 0.0 or x != x else -math.inf if x == 0.0 else math.nan
    bits, k = _normalize(x)
    fraction = (bits >> 32) & 0xFFFFF
    carry = (fraction + 0x95F64) & 0x100000  # whether it is above the root of 2: then it is halved
    f = from_bits((bits & MANTISSA) | ((carry ^ 0x3FF00000) << 32)) - 1.0
    k += carry >> 20
    if (fraction + 2) & 0xFFFFF < 3:  # |f| < 2^-20
        if f == 0.0:
            return k * LN2_HIGH + k * LN2_LOW
        return k * LN2_HIGH - ((f * f * (0.5 - 0.33333333333333333 * f) - k * LN2_LOW) - f)
    s = f / (2.0 + f)
    z = s * s
    w = z * z
    even = w * (3.999999999940941908e-01 + w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01))
    odd = z * (
        6.666666666666735130e-01
        + w * (2.857142874366239149e-01 + w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01))
    )
    rest = odd + even
    if 0x6147A <= fraction <= 0x6B851:
        half = 0.5 * f * f
        return k * LN2_HIGH - ((half - (s * (half + rest) + k * LN2_LOW)) - f)
    return k * LN2_HIGH - ((s * (f - rest) - k * LN2_LOW) - f)


def _normalize(x: float) -> tuple[int, int]:
    """The bits of a positive double, made normal, and the power of two that it has."""
    if x < SMALLEST_NORMAL:
        bits = to_bits(x * 2.0**54)
        return bits, (bits >> 52) - 1077
    bits = to_bits(x)
    return bits, (bits >> 52) - 1023


def log2(x: float) -> float:
    """The logarithm to base 2, as Spark makes it."""
    return log(x) / LN2


def log10(x: float) -> float:
    """The logarithm to base 10."""
    if not 0.0 < x < math.inf:
        return log(x)
    bits, k = _normalize(x)
    below = 1 if k < 0 else 0
    y = float(k + below)
    part = from_bits((bits & MANTISSA) | ((1023 - below) << 52))
    return (y * LOG10_2_LOW + LN10_INVERSE * log(part)) + y * LOG10_2_HIGH


def log_to_base(base: float, x: float) -> float:
    """The logarithm to any base, as Spark makes it."""
    divisor, dividend = log(base), log(x)
    if divisor != 0.0:
        return dividend / divisor
    return math.nan if dividend == 0.0 or dividend != dividend else math.copysign(math.inf, dividend)


NEAR_ZERO = -float.fromhex("0x1.2bec4p-2"), float.fromhex("0x1.a827ap-2")


def log1p(x: float) -> float:
    """The natural logarithm of 1 + x, exact where x is small."""
    if not -1.0 < x < math.inf:
        return x if x > 0.0 or x != x else -math.inf if x == -1.0 else math.nan
    if abs(x) < 2.0**-29:
        return x if abs(x) < 2.0**-54 else x - x * x * 0.5
    k, f, c, fraction = 0, x, 0.0, 1
    if not NEAR_ZERO[0] < x < NEAR_ZERO[1]:
        u = 1.0 + x if x < 2.0**53 else x
        bits = to_bits(u)
        k = (bits >> 52) - 1023
        if x < 2.0**53:
            c = (1.0 - (u - x) if k > 0 else x - (u - 1.0)) / u
        fraction = (bits >> 32) & 0xFFFFF
        halved = 1 if fraction >= 0x6A09E else 0
        k += halved
        f = from_bits((bits & MANTISSA) | ((1023 - halved) << 52)) - 1.0
        if halved:
            fraction = (0x100000 - fraction) >> 2
    half = 0.5 * f * f
    low = k * LN2_LOW + c if k != 0 else 0.0
    if fraction == 0:  # |f| < 2^-20
        if f == 0.0:
            return k * LN2_HIGH + low
        return k * LN2_HIGH - ((half * (1.0 - 0.66666666666666666 * f) - low) - f)
    s = f / (2.0 + f)
    z = s * s
    rest = 2.222219843214978396e-01 + z * (
        1.818357216161805012e-01 + z * (1.531383769920937332e-01 + z * 1.479819860511658591e-01)
    )
    rest = z * (6.666666666666735130e-01 + z * (3.999999999940941908e-01 + z * (2.857142874366239149e-01 + z * rest)))
    return k * LN2_HIGH - ((half - (s * (half + rest) + low)) - f)


def atanh(x: float) -> float:
    """The inverse hyperbolic tangent, as Spark makes it."""
    return 0.5 * (log1p(x) - log1p(-x))

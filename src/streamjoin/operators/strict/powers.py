"""Powers and roots."""

import math

from streamjoin.operators.strict.bits import LOW_WORD, chop, from_words, high_word, scale, to_bits
from streamjoin.operators.strict.exponentials import exp_series

LARGEST_DOUBLE = 1.7976931348623157e308
LARGE = float.fromhex("0x1.00000ffffffffp500")


def cbrt(x: float) -> float:
    """The cube root."""
    if x == 0.0 or x != x or abs(x) == math.inf:
        return x
    a = abs(x)
    # A third of the exponent; then a rational approximation to 23 bits, and a step of Newton's to 53.
    if a < 2.0**-1022:
        lifted = a * 2.0**54
        t = from_words(high_word(lifted) // 3 + 696219795, to_bits(lifted) & LOW_WORD)
    else:
        t = from_words(high_word(a) // 3 + 715094163, 0)
    s = 5.42857142857142815906e-01 + (t * t / a) * t
    t *= 3.57142857142857150787e-01 + 1.60714285714285720630e00 / (
        s + 1.41428571428571436819e00 + -7.05306122448979611050e-01 / s
    )
    t = from_words(high_word(t) + 1, 0)
    r = a / (t * t)
    r = (r - t) / ((t + t) + r)
    t = t + t * r
    return t if x > 0.0 else -t


def hypot(x: float, y: float) -> float:
    """The length of a vector, without overflow on the way."""
    a, b = max(abs(x), abs(y)), min(abs(x), abs(y))
    if abs(x) == math.inf or abs(y) == math.inf:
        return math.inf
    if x != x or y != y:
        return math.nan
    high_a, high_b = high_word(a), high_word(b)
    if b == 0.0 or high_a - high_b > 60 << 20:
        return a + b
    k = 0
    if a > LARGE:
        a, b, k = a * 2.0**-600, b * 2.0**-600, 600
    elif b < 2.0**-1022:  # fdlibm goes on with the high halves as they were
        a, b, k = a * 2.0**1022, b * 2.0**1022, -1022
    elif b < 2.0**-500:
        a, b, k = a * 2.0**600, b * 2.0**600, -600
    if abs(k) == 600:
        high_a, high_b = high_a - (k << 20), high_b - (k << 20)
    w = a - b
    if w > b:
        t = from_words(high_a, 0)
        w = math.sqrt(t * t - (b * (-b) - (a - t) * (a + t)))
    else:
        twice = a + a
        y1, t1 = from_words(high_b, 0), from_words(high_a + 0x100000, 0)
        w = math.sqrt(t1 * y1 - (w * (-w) - (t1 * (b - y1) + (twice - t1) * b)))
    return w * scale(1.0, k) if k != 0 else w


HUGE_EXPONENT = float.fromhex("0x1.00000ffffffffp31")
ABOVE_HALF = float.fromhex("0x1.00001p-1")
JUST_BELOW_ONE, JUST_ABOVE_ONE = float.fromhex("0x1.fffffp-1"), float.fromhex("0x1.00000ffffffffp0")


def power(x: float, y: float) -> float:
    """One number to the power of the other."""
    if y == 0.0:
        return 1.0
    if x != x or y != y:
        return math.nan
    a = abs(x)
    if y == 2.0:
        return x * x
    if y == 0.5 and x >= -LARGEST_DOUBLE:
        return math.sqrt(x + 0.0) if x >= 0.0 else math.nan
    if y == 1.0:
        return x
    if abs(y) == math.inf:
        if a == 1.0:
            return math.nan
        return math.inf if (a > 1.0) == (y > 0.0) else 0.0
    negative = to_bits(x) < 0
    odd = abs(y) % 2.0 == 1.0
    sign = -1.0 if negative and odd else 1.0
    if a == 0.0 or a == math.inf:
        return sign * (math.inf if (a == 0.0) == (y < 0.0) else 0.0)
    if negative and abs(y) % 1.0 != 0.0:
        return math.nan
    if y == -1.0:
        return 1.0 / x
    if a == 1.0:
        return sign
    if abs(y) > HUGE_EXPONENT and not JUST_BELOW_ONE <= a <= JUST_ABOVE_ONE:
        return sign * (math.inf if (a > 1.0) == (y > 0.0) else 0.0)
    high, low = _log2_near_one(a) if abs(y) > HUGE_EXPONENT else _log2(a)
    first = chop(y)
    p_low = (y - first) * high + y * low
    p_high = first * high
    return sign * _two_to(p_high, p_low)


def _log2_near_one(a: float) -> tuple[float, float]:
    """log2 in two parts, the first without its lower bits, by a series."""
    t = a - 1.0
    w = (t * t) * (0.5 - t * (0.3333333333333333333333 - t * 0.25))
    u = 1.44269502162933349609e00 * t
    v = t * 1.92596299112661746887e-08 - w * 1.44269504088896338700e00
    high = chop(u + v)
    return high, v - (high - u)


def _log2(a: float) -> tuple[float, float]:
    """log2 in two parts, the first without its lower bits."""
    n = 0
    if a < 2.0**-1022:
        a, n = a * 2.0**53, -53
    high = high_word(a)
    n += (high >> 20) - 1023
    fraction = high & 0xFFFFF
    word = fraction | 0x3FF00000
    middle = 0x3988E < fraction < 0xBB67A  # between the roots of 3/2 and of 3
    k = 1 if middle else 0
    if fraction >= 0xBB67A:
        n, word = n + 1, word - 0x100000
    a = from_words(word, to_bits(a) & LOW_WORD)
    base = 1.5 if middle else 1.0
    u, v = a - base, 1.0 / (a + base)
    s = u * v
    s_high = chop(s)
    t_high = from_words(((word >> 1) | 0x20000000) + 0x80000 + (k << 18), 0)
    t_low = a - (t_high - base)
    s_low = v * ((u - s_high * t_high) - s_high * t_low)
    z = s * s
    r = 2.72728123808534006489e-01 + z * (2.30660745775561754067e-01 + z * 2.06975017800338417784e-01)
    r = 5.99999999999994648725e-01 + z * (4.28571428578550184252e-01 + z * (3.33333329818377432918e-01 + z * r))
    r = z * z * r + s_low * (s_high + s)
    z = s_high * s_high
    t_high = chop(3.0 + z + r)
    t_low = r - ((t_high - 3.0) - z)
    u = s_high * t_high
    v = s_low * t_high + t_low * s
    p_high = chop(u + v)
    p_low = v - (p_high - u)
    z_high = 9.61796700954437255859e-01 * p_high
    z_low = -7.02846165095275826516e-09 * p_high + p_low * 9.61796693925975554329e-01 + 1.35003920212974897128e-08 * k
    offset = 5.84962487220764160156e-01 * k
    first = chop(((z_high + z_low) + offset) + n)
    return first, z_low - (((first - n) - offset) - z_high)


def _two_to(high: float, low: float) -> float:
    """Two to the power of a number in two parts."""
    z = low + high
    if z > 1024.0 or (z == 1024.0 and low + 8.0085662595372944372e-0017 > z - high):
        return math.inf
    if z < -1075.0 or (z == -1075.0 and low <= z - high):
        return 0.0
    n = 0
    if abs(z) >= ABOVE_HALF:
        n = int(chop(z) + (0.5 if z > 0.0 else -0.5))
        high -= n
    t = chop(low + high)
    u = t * 6.93147182464599609375e-01
    v = (low - (t - high)) * 6.93147180559945286227e-01 + t * -1.90465429995776804525e-09
    z = u + v
    w = v - (z - u)
    t = z - exp_series(z * z)
    r = (z * t) / (t - 2.0) - (w + z * w)
    z = 1.0 - (r - z)
    if (high_word(z) >> 20) + n > 0:
        return scale(z, n)
    return scale(z, n + 600) * 2.0**-600

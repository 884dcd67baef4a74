"""The inverses of sine, cosine and tangent."""

import math

from streamjoin.operators.strict.bits import chop, high_word

HALF_PI, HALF_PI_LOW = 1.57079632679489655800e00, 6.12323399573676603587e-17
NEAR_ONE = float.fromhex("0x1.f3333p-1")
QUARTER_PI = 7.85398163397448278999e-01
PI_LOW = 1.2246467991473531772e-16


def asin(x: float) -> float:
    """The angle of a sine."""
    a = abs(x)
    if not a < 1.0:
        return x * HALF_PI + x * HALF_PI_LOW if a == 1.0 else math.nan
    if a < 2.0**-27:
        return x
    if a < 0.5:
        return x + x * _ratio(x * x)
    t = (1.0 - a) * 0.5
    s = math.sqrt(t)
    if a >= NEAR_ONE:
        y = HALF_PI - (2.0 * (s + s * _ratio(t)) - HALF_PI_LOW)
    else:
        w = chop(s)
        c = (t - w * w) / (s + w)
        p = 2.0 * s * _ratio(t) - (HALF_PI_LOW - 2.0 * c)
        y = QUARTER_PI - (p - (QUARTER_PI - 2.0 * w))
    return y if x > 0.0 else -y


def acos(x: float) -> float:
    """The angle of a cosine."""
    if not abs(x) < 1.0:
        return 0.0 if x == 1.0 else math.pi + 2.0 * HALF_PI_LOW if x == -1.0 else math.nan
    if abs(x) < 0.5:
        if abs(x) <= 2.0**-57:
            return HALF_PI + HALF_PI_LOW
        return HALF_PI - (x - (HALF_PI_LOW - x * _ratio(x * x)))
    z = (1.0 - abs(x)) * 0.5
    s = math.sqrt(z)
    if x < 0.0:
        return math.pi - 2.0 * (s + (_ratio(z) * s - HALF_PI_LOW))
    first = chop(s)
    return 2.0 * (first + (_ratio(z) * s + (z - first * first) / (s + first)))


def _ratio(t: float) -> float:
    """What asin adds to x, over x, by the square of x."""
    p = -4.00555345006794114027e-02 + t * (7.91534994289814532176e-04 + t * 3.47933107596021167570e-05)
    p = 1.66666666666666657415e-01 + t * (-3.25565818622400915405e-01 + t * (2.01212532134862925881e-01 + t * p))
    q = 2.02094576023350569471e00 + t * (-6.88283971605453293030e-01 + t * 7.70381505559019352791e-02)
    return (t * p) / (1.0 + t * (-2.40339491173441421878e00 + t * q))


def atan(x: float) -> float:
    """The angle of a tangent."""
    a = abs(x)
    if a != a or a < 2.0**-29:
        return x
    if a >= 2.0**66:
        return HALF_PI + HALF_PI_LOW if x > 0.0 else -HALF_PI - HALF_PI_LOW
    if a < 0.4375:
        return x - x * _series(x)
    if a < 0.6875:
        high, low, t = 4.63647609000806093515e-01, 2.26987774529616870924e-17, (2.0 * a - 1.0) / (2.0 + a)
    elif a < 1.1875:
        high, low, t = QUARTER_PI, 3.06161699786838301793e-17, (a - 1.0) / (a + 1.0)
    elif a < 2.4375:
        high, low, t = 9.82793723247329054082e-01, 1.39033110312309984516e-17, (a - 1.5) / (1.0 + 1.5 * a)
    else:
        high, low, t = HALF_PI, HALF_PI_LOW, -1.0 / a
    y = high - ((t * _series(t) - low) - t)
    return y if x > 0.0 else -y


def _series(t: float) -> float:
    z = t * t
    w = z * z
    odd = 6.66107313738753120669e-02 + w * (4.97687799461593236017e-02 + w * 1.62858201153657823623e-02)
    odd = z * (
        3.33333333333329318027e-01 + w * (1.42857142725034663711e-01 + w * (9.09088713343650656196e-02 + w * odd))
    )
    even = -7.69187620504482999495e-02 + w * (-5.83357013379057348645e-02 + w * -3.65315727442169155270e-02)
    even = w * (-1.99999999998764832476e-01 + w * (-1.11111104054623557880e-01 + w * even))
    return odd + even


def atan2(y: float, x: float) -> float:
    """The angle of a point, as Spark makes it: it adds 0.0 to both, so that there is no -0.0."""
    y, x = y + 0.0, x + 0.0
    if x != x or y != y:
        return math.nan
    if x == 1.0:
        return atan(y)
    if y == 0.0:
        return y if x >= 0.0 else math.pi
    if x == 0.0 or (abs(y) == math.inf and abs(x) != math.inf):
        return math.copysign(HALF_PI, y)
    if abs(x) == math.inf:
        if abs(y) == math.inf:
            return math.copysign(QUARTER_PI if x > 0.0 else 3.0 * QUARTER_PI, y)
        return math.copysign(0.0 if x > 0.0 else math.pi, y)
    apart = (high_word(abs(y)) - high_word(abs(x))) >> 20
    if apart > 60:
        z = HALF_PI + 0.5 * PI_LOW
    elif x < 0.0 and apart < -60:
        z = 0.0
    else:
        z = atan(abs(y / x))
    if x > 0.0:
        return z if y > 0.0 else -z
    return math.pi - (z - PI_LOW) if y > 0.0 else (z - PI_LOW) - math.pi

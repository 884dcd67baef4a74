"""A double's 64 bits: sign, 11 of exponent, 52 of mantissa."""

import struct

LOW_WORD = 2**32 - 1
MANTISSA = 2**52 - 1


def to_bits(x: float) -> int:
    """A double's bits, as a whole number with a sign."""
    bits: int = struct.unpack("q", struct.pack("d", x))[0]
    return bits


def from_bits(bits: int) -> float:
    """The double of these bits."""
    x: float = struct.unpack("d", struct.pack("q", bits))[0]
    return x


def high_word(x: float) -> int:
    """Sign, exponent and the first 20 bits of the mantissa."""
    return to_bits(x) >> 32


def from_words(high: int, low: int) -> float:
    """The double of both halves."""
    return from_bits((high << 32) | low)


def chop(x: float) -> float:
    """A double without the lower half of its bits: products of two such are exact."""
    return from_bits(to_bits(x) & ~LOW_WORD)


def scale(x: float, k: int) -> float:
    """A double times a power of two; both must be normal."""
    return from_bits(to_bits(x) + (k << 52))

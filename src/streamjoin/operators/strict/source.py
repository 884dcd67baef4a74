"""These functions as part of a generated module: Numba compiles those that are called, for where they are called."""

import functools
import inspect
import re

from streamjoin.operators.strict import angles, bits, exponentials, logarithms, powers

_BITS = """
def to_bits(x):
    return np.float64(x).view(np.int64)


def from_bits(bits):
    return np.int64(bits).view(np.float64)
"""


@functools.cache
def read_source() -> str:
    """The text of all functions: it needs `np` and `njit`."""
    modules = (bits, exponentials, logarithms, powers, angles)
    text = "\n".join([*map(inspect.getsource, modules), _BITS])
    text = re.sub(r"^from streamjoin.*\n", "", text, flags=re.MULTILINE)
    return re.sub(r"^def ", '@njit(nogil=True, fastmath=False, error_model="numpy")\ndef ', text, flags=re.MULTILINE)

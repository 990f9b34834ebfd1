"""Hash functions. Their values decide where entries lie in a table, never what a result is."""

import numpy as np

from numbpe_kernels._jit import njit

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # 2**64 / golden ratio, odd: spreads adjacent keys


@njit
def hash_key(key: int, shift: np.uint64) -> int:
    """Return a slot for ``key`` in a table of ``2**(64 - shift)`` slots.

    key : int64, any value; shift : uint64, 1 to 63
    Reads only. The upper bits of the product depend on all bits of the key.
    """
    return np.int64((np.uint64(key) * _MULTIPLIER) >> shift)

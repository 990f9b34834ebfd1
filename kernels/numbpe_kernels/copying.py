"""Copying bytes many at once, where something may be written behind the copy."""

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit_inline

COPY_NBYTES = 32
"""Bytes of a step: up to this many, less one, are read and written behind what is copied."""

_STEP = np.uint64(COPY_NBYTES)


@njit_inline
def bytes_copy(
    source: NDArray[np.uint8], start: int, length: int, out: NDArray[np.uint8], place: int
) -> None:
    """Write ``source[start:start + length]`` to ``out`` from ``place`` on, and some bytes of no use behind.

    source : (>= start + length + COPY_NBYTES,) uint8; out : (>= place + length + COPY_NBYTES,) uint8
    start, length, place : int64, not negative. Linear.
    """
    # Unsigned: signed indices, which might be negative, would be looked at one by one.
    here, there, stop = np.uint64(start), np.uint64(place), np.uint64(start + length)
    while here < stop:
        for i in range(COPY_NBYTES):
            out[there + np.uint64(i)] = source[here + np.uint64(i)]
        here += _STEP
        there += _STEP

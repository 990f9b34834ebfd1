"""Bitmaps in arrays of bytes, the lowest bit of a byte first."""

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit_inline

_BIT_MASK = np.uint64(7)
_BYTE_SHIFT = np.uint64(3)
_ONE = np.uint64(1)


@njit_inline
def bitmap_get(bitmap: NDArray[np.uint8], bit: np.uint64) -> np.uint64:
    """Return a bit of a bitmap, 1 or 0, uint64. bitmap : (n,) uint8; bit : uint64. Reads only."""
    return np.uint64(bitmap[bit >> _BYTE_SHIFT]) >> (bit & _BIT_MASK) & _ONE


@njit_inline
def bitmap_set(bitmap: NDArray[np.uint8], bit: np.uint64) -> None:
    """Set a bit of a bitmap. bitmap : (n,) uint8; bit : uint64. Writes bitmap."""
    bitmap[bit >> _BYTE_SHIFT] |= np.uint8(_ONE << (bit & _BIT_MASK))

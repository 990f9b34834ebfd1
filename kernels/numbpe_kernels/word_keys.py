"""Keys of words: two numbers, which are the word itself if it is short.

A word of at most SHORT_NBYTES bytes is its own key: its bytes, zeros, and its length in the highest byte.
A longer word has its hash, and its length below LONG_MARK.
"""

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit, njit_inline
from numbpe_kernels.memory import load_u64
from numbpe_kernels.packed_rows import load_masked_pair

SHORT_NBYTES = 15
LONG_MARK = np.uint64(0xFF << 56)

_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_OTHER_FACTOR = np.uint64(0xD6E8FEB86659FD93)
_BYTE_BITS = np.uint64(8)
_LENGTH_SHIFT = np.uint64(56)
_HALF = np.uint64(32)
_ODD_SHIFT = np.uint64(29)
_KEY_SHIFT = np.uint64(2)

# The bytes of a short word of each length among the 16 loaded, as two masks.
_LOW_MASKS = np.array([(1 << (8 * min(n, 8))) - 1 for n in range(16)], dtype=np.uint64)
_HIGH_MASKS = np.array([(1 << (8 * max(n - 8, 0))) - 1 for n in range(16)], dtype=np.uint64)
_KEYS = np.array(
    [[_LOW_MASKS[n], _HIGH_MASKS[n], 0, n << 56] for n in range(16)], dtype=np.uint64
).ravel()
"""Of a short word of each length, what is kept of the 16 bytes loaded, and what is set in them."""


@njit_inline
def word_mix(low: np.uint64, high: np.uint64) -> np.uint64:
    """Return a hash of a key whose upper bits depend on all its bits. low, high : uint64."""
    return (low ^ high * _OTHER_FACTOR) * _FACTOR


@njit
def word_hash_long(text: NDArray[np.uint8], start: int, length: int) -> np.uint64:
    """Return a hash of ``text[start : start + length]``.

    text : (n,) uint8 with padding; start, length : int64, length at least 8
    Reads only. 8 bytes a step; the last step overlaps the one before.
    """
    mixed = np.uint64(length) * _OTHER_FACTOR
    place = start
    last = start + length - 8
    while place < last:
        mixed = (mixed ^ load_u64(text, place)) * _FACTOR
        mixed ^= mixed >> _ODD_SHIFT
        place += 8
    mixed = (mixed ^ load_u64(text, last)) * _FACTOR
    return mixed ^ (mixed >> _HALF)


@njit
def word_equal_long(
    text: NDArray[np.uint8], start: int, arena: NDArray[np.uint8], place: int, length: int
) -> bool:
    """Return whether text at ``start`` and arena at ``place`` agree in ``length`` bytes.

    text, arena : (n,) uint8; start, place, length : int64, length at least 8. Reads only.
    """
    last = length - 8
    i = 0
    while i < last:
        if load_u64(text, start + i) != load_u64(arena, place + i):
            return False
        i += 8
    return load_u64(text, start + last) == load_u64(arena, place + last)


@njit_inline
def word_key_short(
    text: NDArray[np.uint8], start: np.uint64, length: np.uint64
) -> tuple[np.uint64, np.uint64]:
    """Return the two numbers of the key of a short word, both uint64.

    text : (n,) uint8 with padding; start, length : uint64, length 1 to SHORT_NBYTES. Reads only.
    """
    low = load_u64(text, start) & _LOW_MASKS[length]
    high = load_u64(text, start + _BYTE_BITS) & _HIGH_MASKS[length]
    high |= length << _LENGTH_SHIFT
    return low, high


@njit_inline
def word_write_short_key(
    text: NDArray[np.uint8],
    start: np.uint64,
    length: np.uint64,
    batch: NDArray[np.uint64],
    column: np.uint64,
) -> None:
    """Write what word_key_short returns to ``batch[column : column + 2]``, in one piece.

    text : (n,) uint8 with padding; start, length, column : uint64, length 1 to SHORT_NBYTES
    """
    load_masked_pair(text, start, _KEYS, length << _KEY_SHIFT, batch, column)


@njit_inline
def word_key(text: NDArray[np.uint8], start: int, length: int) -> tuple[np.uint64, np.uint64]:
    """Return the two numbers of a word's key, both uint64: of a long one its hash and its length.

    text : (n,) uint8 with padding; start, length : int64, length at least 1. Reads only.
    """
    if length <= SHORT_NBYTES:
        return word_key_short(text, np.uint64(start), np.uint64(length))
    return word_hash_long(text, start, length), LONG_MARK | np.uint64(length)

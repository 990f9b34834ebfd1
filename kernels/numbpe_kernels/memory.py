"""Loads of several bytes at once, and bit tricks on them.

Each function here is plain Python, so that it works under ``NUMBA_DISABLE_JIT=1`` and in a kernel's
``py_func``; compiled code gets the LLVM instruction that ``memory_intrinsics`` ties to it.
Words are read as the machine stores them; kernels that look at single bytes of a word assume that
the lowest byte comes first, as it does on x86-64 and ARM64.
"""

import numpy as np
from numpy.typing import NDArray


def load_u64(array: NDArray[np.uint8], index: int) -> np.uint64:
    """Return the 8 bytes ``array[index : index + 8]`` as one uint64, lowest byte first.

    array : (n,) uint8, C-contiguous
    index : int64 or uint64, 0 <= index <= n - 8; need not be a multiple of 8
    Reads only. Undefined outside the array.
    """
    return np.uint64(int.from_bytes(array[int(index) : int(index) + 8].tobytes(), "little"))


def count_trailing_zeros(word: np.uint64) -> int:
    """Return how many zero bits stand below the lowest set bit of a uint64; 64 if there is none."""
    value = int(word)
    return (value & -value).bit_length() - 1 if value else 64


def count_leading_zeros(word: np.uint64) -> int:
    """Return how many zero bits stand above the highest set bit of a uint64; 64 if there is none."""
    return 64 - int(word).bit_length()


def count_ones(word: np.uint64) -> int:
    """Return how many bits of a uint64 are set."""
    return int(word).bit_count()


def clear_lowest_one(word: np.uint64) -> np.uint64:
    """Return a uint64 without its lowest set bit; 0 for 0."""
    return np.uint64(int(word) & (int(word) - 1)) if word else word


def make_opaque(word: np.uint64) -> np.uint64:
    """Return a uint64 as it is; LLVM cannot tell what it was made from.

    A condition that is made opaque stays one condition, and one jump: LLVM likes to make two of
    ``a | b``, of which each may be foreseen worse than both together.
    """
    return word


def find_least(array: NDArray[np.int32], index: np.uint64) -> np.int32:
    """Return the least of ``array[index : index + 16]``, int32, by vector instructions.

    array : (n,) int32, C-contiguous; index : uint64, at most n - 16. Reads only.
    """
    return np.int32(array[int(index) : int(index) + 16].min())


def mask_block(
    text: NDArray[np.uint8], index: int, fold: np.uint8, low: np.uint8, span: np.uint8
) -> np.uint64:
    """Return one bit for each of 64 bytes: whether ``low <= (byte | fold) <= low + span``.

    text : (n,) uint8, C-contiguous; index : int64, 0 <= index <= n - 64, of any alignment
    fold, low, span : uint8; fold 0x20 maps A-Z onto a-z
    Bit i belongs to byte ``index + i``. The result passes an opaque barrier: without it LLVM takes
    the algebra on masks back into vector registers, which is three times slower.
    """
    block = text[int(index) : int(index) + 64] | np.uint8(fold)
    hits = (block >= low) & (block.astype(np.int64) <= int(low) + int(span))
    return np.uint64(int.from_bytes(np.packbits(hits, bitorder="little").tobytes(), "little"))


def mask_bit(flags: NDArray[np.uint8], bit: int) -> np.uint64:
    """Return one bit for each of the first 64 bytes: whether its bit ``bit``, 0 to 7, is set.

    flags : (>= 64,) uint8. As in mask_block, the result passes an opaque barrier.
    """
    hits = (flags[:64] >> np.uint8(bit)) & np.uint8(1)
    return np.uint64(int.from_bytes(np.packbits(hits, bitorder="little").tobytes(), "little"))


def make_block() -> NDArray[np.uint8]:
    """Return 64 bytes of any content that live as long as the function that asks for them."""
    return np.zeros(64, dtype=np.uint8)


def prefetch(array: NDArray[np.uint64], index: int | np.uint64) -> None:
    """Ask for the cache line of ``array[index]``, a flat array; changes nothing."""

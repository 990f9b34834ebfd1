"""The token that is spelled exactly as a word, for vocabularies that look a word up before merging."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit

_PRIME = np.uint64(0x100000001B3)
_BASIS = np.uint64(0xCBF29CE484222325)
_UPPER = np.uint64(32)


class TokenTable(NamedTuple):
    """Open addressing from the bytes of tokens to their ids.

    slots : (m,) int32, m a power of two, at least half of it -1, the others token ids
    contents : (c,) uint8 and offsets : (n + 1,) int64, the bytes of token i are
        ``contents[offsets[i] : offsets[i + 1]]``
    """

    slots: NDArray[np.int32]
    contents: NDArray[np.uint8]
    offsets: NDArray[np.int64]


@njit
def token_table_probe(table: TokenTable, text: NDArray[np.uint8], start: int, length: int) -> int:
    """Return the slot of the token that is ``text[start : start + length]``, or the free slot for it.

    text : (>= start + length,) uint8; start, length : int64. Reads only; int64. O(length) expected.
    """
    mixed = _BASIS
    for i in range(length):
        mixed = (mixed ^ np.uint64(text[start + i])) * _PRIME
    mask = np.int64(table.slots.shape[0] - 1)
    slot = np.int64((mixed ^ (mixed >> _UPPER)) & np.uint64(0xFFFFFFFF)) & mask
    while table.slots[slot] >= 0:
        token = np.int64(table.slots[slot])
        offset = table.offsets[token]
        if table.offsets[token + 1] - offset == length:
            n_equal = 0
            while n_equal < length and table.contents[offset + n_equal] == text[start + n_equal]:
                n_equal += 1
            if n_equal == length:
                return slot
        slot = (slot + 1) & mask
    return slot


@njit
def token_table_find(table: TokenTable, text: NDArray[np.uint8], start: int, length: int) -> int:
    """Return the id of the token that is ``text[start : start + length]``, -1 if there is none.

    text : (>= start + length,) uint8; start, length : int64. Reads only; int64.
    """
    return np.int64(table.slots[token_table_probe(table, text, start, length)])


@njit
def token_table_fill(table: TokenTable, ids: NDArray[np.int64]) -> None:
    """Enter tokens into an empty table; of tokens that are spelled alike the first counts.

    ids : (k,) int64, tokens that are not empty, k <= m / 2. Writes slots. Linear in their bytes.
    """
    for i in range(ids.shape[0]):
        offset = table.offsets[ids[i]]
        length = table.offsets[ids[i] + 1] - offset
        slot = token_table_probe(table, table.contents, offset, length)
        if table.slots[slot] < 0:
            table.slots[slot] = np.int32(ids[i])

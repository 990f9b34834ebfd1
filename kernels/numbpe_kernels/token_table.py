"""The token that is spelled exactly as a word, so that a known word need not be merged."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit, njit_inline
from numbpe_kernels.word_keys import word_key, word_mix

_EMPTY = np.uint64(0)
_ONE = np.uint64(1)
_HALF = np.uint64(32)
_ID_MASK = np.uint64(0xFFFFFFFF)


class TokenTable(NamedTuple):
    """Open addressing from the bytes of tokens to their ids.

    slots : (m,) uint64, m a power of two, at least half of it 0, the others the upper half of a
        token's hash and, below, its id plus one
    contents : (c + TEXT_PADDING,) uint8 and offsets : (n + 1,) int64, the bytes of token i are
        ``contents[offsets[i] : offsets[i + 1]]``
    """

    slots: NDArray[np.uint64]
    contents: NDArray[np.uint8]
    offsets: NDArray[np.int64]


@njit_inline
def token_equals(
    table: TokenTable, token: int, text: NDArray[np.uint8], start: int, length: int
) -> bool:
    """Return whether a token is ``text[start : start + length]``.

    token, start, length : int64; text : (>= start + length,) uint8. Reads only.
    """
    offset = table.offsets[token]
    if table.offsets[token + 1] - offset != length:
        return False
    n_equal = 0
    while n_equal < length and table.contents[offset + n_equal] == text[start + n_equal]:
        n_equal += 1
    return n_equal == length


@njit_inline
def token_table_find(table: TokenTable, text: NDArray[np.uint8], start: int, length: int) -> int:
    """Return the id of the token that is ``text[start : start + length]``, -1 if there is none.

    text : (n,) uint8 with padding; start, length : int64, length at least 1. Reads only; int64.
    """
    mixed = word_mix(*word_key(text, start, length))
    last = np.uint64(table.slots.shape[0] - 1)
    place = (mixed >> _ONE) & last
    while table.slots[place] != _EMPTY:
        slot = table.slots[place]
        if slot >> _HALF == mixed >> _HALF:
            token = np.int64(slot & _ID_MASK) - 1
            if token_equals(table, token, text, start, length):
                return token
        place = (place + _ONE) & last
    return -1


@njit
def token_table_fill(table: TokenTable, ids: NDArray[np.int64]) -> None:
    """Enter tokens, of which no two are spelled alike, into an empty table.

    ids : (k,) int64, tokens that are not empty, k <= m / 2. Writes slots. Linear in their bytes.
    """
    last = np.uint64(table.slots.shape[0] - 1)
    for i in range(ids.shape[0]):
        offset = table.offsets[ids[i]]
        mixed = word_mix(*word_key(table.contents, offset, table.offsets[ids[i] + 1] - offset))
        place = (mixed >> _ONE) & last
        while table.slots[place] != _EMPTY:
            place = (place + _ONE) & last
        table.slots[place] = (mixed >> _HALF) << _HALF | np.uint64(ids[i] + 1)

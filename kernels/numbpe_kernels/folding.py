"""Characters whose bytes merge to one token before anything else is merged with them.

Most merges of a word in another script than the Latin one are those that make its characters of their
bytes. They need not be done one by one where nothing comes between. The character is *folded* then: it
is laid into a lane as the token that it will be.

While a part of a character is not yet a part of more, one of the merges that make the character is
waiting, of a rank that is known. So no merge joins that part to what stands beside it unless that merge
has a rank as low. Which merges have is known, too, and the bytes that they join the part to: beside those
the character does not fold. Nor does it ever if some merge of the whole character has a rank as low as
one of those that make it: it might come to be only after others were done.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit_inline
from numbpe_kernels.memory import load_u64

N_FOLDED = 1 << 16
"""Characters up to U+FFFF may be folded."""

TOKEN_BITS = 21
MAX_KINDS = (1 << (32 - TOKEN_BITS)) - 1
NO_BYTE = 256
"""What stands beside the first and the last character of a word."""

BEHIND = 8
KIND_WIDTH = 16
"""A kind of characters is this many entries of ``neighbours``: a bit for each byte that may not stand
before them, and, from the entry BEHIND on, for each byte that may not stand behind them."""

_BEHIND = np.uint64(BEHIND)
_KIND_SHIFT = np.uint64(4)
_TOKEN_BITS = np.uint64(TOKEN_BITS)
_TOKEN_MASK = np.uint64((1 << TOKEN_BITS) - 1)
_NO_BYTE = np.uint64(NO_BYTE)
_SPACE = np.uint8(0x20)
_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_TWO = np.uint64(2)
_THREE = np.uint64(3)
_SIX = np.uint64(6)
_EIGHT = np.uint64(8)
_TWELVE = np.uint64(12)
_SIXTEEN = np.uint64(16)
_LOW_FOUR_BITS = np.uint64(0x0F)
_LOW_FIVE_BITS = np.uint64(0x1F)
_LOW_SIX_BITS = np.uint64(0x3F)
# The bits of a word that tell characters of two and of three bytes, and their values.
_LEADS_TWO, _IS_TWO = np.uint64(0xC0E0), np.uint64(0x80C0)
_LEADS_THREE, _IS_THREE = np.uint64(0xC0C0F0), np.uint64(0x8080E0)
_LEAST_OF_TWO, _LEAST_OF_THREE = np.uint64(0x80), np.uint64(0x800)


class FoldTable(NamedTuple):
    """Which characters fold to which tokens, and beside which bytes they do not.

    alone : (N_FOLDED,) uint32, of each code point ``kind << 21 | token``, 0 for one that never folds;
        (0,) where no character folds
    spaced : the same of a space that begins a word and the character behind it
    neighbours : (kinds * KIND_WIDTH,) uint64; kind 0 is not used
    """

    alone: NDArray[np.uint32]
    spaced: NDArray[np.uint32]
    neighbours: NDArray[np.uint64]


def make_no_folds() -> FoldTable:
    """Return the table of a vocabulary of which no character folds."""
    none = np.zeros(0, dtype=np.uint32)
    return FoldTable(none, none, np.zeros(0, dtype=np.uint64))


@njit_inline
def fold_read(text: NDArray[np.uint8], position: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Return the code point that may fold, and how many bytes it has; 0 and 1 for any other byte.

    text : (>= position + 8,) uint8; position : uint64. Reads only; uint64.
    """
    word = load_u64(text, position)
    second = word >> _EIGHT & _LOW_SIX_BITS
    if word & _LEADS_THREE == _IS_THREE:
        code_point = (word & _LOW_FOUR_BITS) << _TWELVE | second << _SIX
        code_point |= word >> _SIXTEEN & _LOW_SIX_BITS
        return code_point * np.uint64(code_point >= _LEAST_OF_THREE), _THREE
    if word & _LEADS_TWO == _IS_TWO:
        code_point = (word & _LOW_FIVE_BITS) << _SIX | second
        return code_point * np.uint64(code_point >= _LEAST_OF_TWO), _TWO
    return _ZERO, _ONE


@njit_inline
def fold_has_neighbour(folds: FoldTable, place: np.uint64, byte: np.uint64) -> np.uint64:
    """Return whether a byte may not stand there, 1 or 0. place, byte : uint64, byte up to NO_BYTE."""
    return folds.neighbours[place + (byte >> _SIX)] >> (byte & _LOW_SIX_BITS) & _ONE


@njit_inline
def fold_find(
    folds: FoldTable, entry: np.uint64, before: np.uint64, behind: np.uint64
) -> np.uint64:
    """Return whether an entry is that of a character that folds between two bytes, 1 or 0, uint64.

    entry, before, behind : uint64, bytes or NO_BYTE. Reads only.
    """
    kind = (entry >> _TOKEN_BITS) << _KIND_SHIFT
    is_joined = fold_has_neighbour(folds, kind, before)
    is_joined |= fold_has_neighbour(folds, kind + _BEHIND, behind)
    return np.uint64(entry != _ZERO) & ~is_joined


@njit_inline
def fold_word(
    folds: FoldTable,
    byte_ids: NDArray[np.int32],
    text: NDArray[np.uint8],
    start: np.uint64,
    stop: np.uint64,
    tokens_out: NDArray[np.int32],
    base: np.uint64,
    most: np.uint64,
) -> np.uint64:
    """Write the tokens of a word's characters that fold, and those of its other bytes; return how many.

    folds : one of which some character folds; byte_ids : (256,) int32
    text : (n,) uint8 with padding; start < stop, uint64
    tokens_out : (>= base + most + 5,) int32; base : uint64, where the tokens go
    Returns uint64; most + 1 for more than ``most``. Whether a character folds cannot be foreseen: its
    bytes are written in any case.
    """
    place = base
    position = start
    before = _NO_BYTE
    if text[start] == _SPACE:
        code_point, n_bytes = fold_read(text, start + _ONE)
        position += _ONE + n_bytes
        behind = np.uint64(text[position]) if position < stop else _NO_BYTE
        entry = np.uint64(folds.spaced[code_point])
        is_folded = fold_find(folds, entry, before, behind) & np.uint64(position <= stop)
        token = np.int32(entry & _TOKEN_MASK)
        tokens_out[place] = token if is_folded != _ZERO else byte_ids[_SPACE]
        place += _ONE
        position = position if is_folded != _ZERO else start + _ONE
        before = np.uint64(text[position - _ONE])
    last = base + most
    while position < stop and place <= last:
        code_point, n_bytes = fold_read(text, position)
        end = position + n_bytes
        behind = np.uint64(text[end]) if end < stop else _NO_BYTE
        entry = np.uint64(folds.alone[code_point])
        # A character that the end of the word cuts is not one.
        is_folded = fold_find(folds, entry, before, behind) & np.uint64(end <= stop)
        token = np.int32(entry & _TOKEN_MASK)
        first = byte_ids[text[position]]
        tokens_out[place] = token if is_folded != _ZERO else first
        tokens_out[place + _ONE] = byte_ids[text[position + _ONE]]
        tokens_out[place + _TWO] = byte_ids[text[position + _TWO]]
        n_bytes = min(n_bytes, stop - position)
        position += n_bytes
        place += _ONE if is_folded != _ZERO else n_bytes
        before = np.uint64(text[position - _ONE])
    return min(place - base, most + _ONE)

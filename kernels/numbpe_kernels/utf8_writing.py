"""Characters of a ``str`` to UTF-8, from the memory that Python keeps them in.

Python itself asks of each character how many bytes it takes, and where scripts alternate with spaces the
processor cannot foresee the answer. Here nothing is asked: all forms are made, for 16 characters at once,
one is chosen by masks, four bytes are written, and the next character overwrites those that were too many.
What compiled code does instead of the plain functions is in ``utf8_writing_intrinsics``.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit_brief, njit_inline
from numbpe_kernels.views import view_u8, view_u16, view_u32

BLOCK = 16
"""Characters that are written at once."""

SLACK = 64
"""Bytes behind the last one that may be written."""

_BLOCK = np.uint64(BLOCK)
_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_TWO = np.uint64(2)
_THREE = np.uint64(3)
_SIX_BITS = np.uint64(0x3F)
_SIX, _EIGHT, _TWELVE, _SIXTEEN, _EIGHTEEN, _TWENTY_FOUR = (
    np.uint64(n) for n in (6, 8, 12, 16, 18, 24)
)
_TO_TWO, _TO_THREE, _TO_FOUR = np.uint64(0x80), np.uint64(0x800), np.uint64(0x10000)
"""The first code points of two bytes, of three and of four."""

_MARKS_OF_TWO = np.uint64(0x80C0)
_MARKS_OF_THREE = np.uint64(0x8080E0)
_MARKS_OF_FOUR = np.uint64(0x808080F0)
"""The bits that are set in the bytes of such characters, the first byte lowest."""

_KIND_BIT, _COMPACT_BIT = np.uint32(2), np.uint32(5)
"""Where the state of a str says how many bytes a character takes, and that they follow the object."""

SURROGATE_BITS = 11
SURROGATE_PREFIX = 0xD800 >> SURROGATE_BITS
"""Surrogates are the code points of this prefix before so many bits."""

HAS_SURROGATE = (1 << 64) - 1
"""What write_block returns of a block with a surrogate."""

_HAS_SURROGATE = np.uint64(HAS_SURROGATE)
_SURROGATE_SHIFT, _SURROGATE_PREFIX = np.uint64(SURROGATE_BITS), np.uint64(SURROGATE_PREFIX)


@njit_inline
def utf8_write_character(code: np.uint64, out: NDArray[np.uint8], place: np.uint64) -> np.uint64:
    """Write a character in four bytes, of which the first ones count; return how many do, uint64.

    code : uint64, a code point; out : (>= place + 4,) uint8; place : uint64
    """
    is_two, is_three = np.uint64(code >= _TO_TWO), np.uint64(code >= _TO_THREE)
    is_four = np.uint64(code >= _TO_FOUR)
    last, middle = code & _SIX_BITS, code >> _SIX & _SIX_BITS
    two = _MARKS_OF_TWO | code >> _SIX | last << _EIGHT
    three = _MARKS_OF_THREE | code >> _TWELVE | middle << _EIGHT | last << _SIXTEEN
    four = _MARKS_OF_FOUR | code >> _EIGHTEEN | (code >> _TWELVE & _SIX_BITS) << _EIGHT
    four |= middle << _SIXTEEN | last << _TWENTY_FOUR
    word = code ^ (code ^ two) * is_two ^ (two ^ three) * is_three ^ (three ^ four) * is_four
    out[place] = np.uint8(word)
    out[place + _ONE] = np.uint8(word >> _EIGHT)
    out[place + _TWO] = np.uint8(word >> _SIXTEEN)
    out[place + _THREE] = np.uint8(word >> _TWENTY_FOUR)
    return _ONE + is_two + is_three + is_four


def narrow_block(
    units: NDArray[Any], index: np.uint64, out: NDArray[np.uint8], place: np.uint64
) -> bool:
    """Write the low bytes of ``units[index : index + BLOCK]``; return whether all are ASCII.

    units : (n,) uint8, uint16 or uint32, C-contiguous; index : uint64, at most n - BLOCK
    out : (>= place + BLOCK,) uint8; place : uint64. By vector instructions.
    """
    block = units[int(index) : int(index) + BLOCK]
    out[int(place) : int(place) + BLOCK] = block.astype(np.uint8)
    return bool((block < 0x80).all())


def write_block(
    units: NDArray[Any], index: np.uint64, out: NDArray[np.uint8], place: np.uint64
) -> np.uint64:
    """Write the characters ``units[index : index + BLOCK]`` as UTF-8; return where they end, uint64.

    units : (n,) uint8, uint16 or uint32, C-contiguous; index : uint64, at most n - BLOCK
    out : (>= place + 4 BLOCK,) uint8; place : uint64. Forms and lengths by vector instructions.
    Returns HAS_SURROGATE if one is a surrogate.
    """
    for unit in units[int(index) : int(index) + BLOCK].tolist():
        if 0xD800 <= unit < 0xE000:
            return _HAS_SURROGATE
        content = chr(unit).encode()
        out[int(place) : int(place) + len(content)] = list(content)
        place += np.uint64(len(content))
    return place


@njit_inline
def utf8_write_units(units: NDArray[Any], out: NDArray[np.uint8]) -> int:
    """Write characters as UTF-8; return how many bytes they have, int64, -1 if one is a surrogate.

    units : (n,) uint8, uint16 or uint32, code points; out : (>= bytes + SLACK,) uint8, written
    """
    n, i, place = np.uint64(units.shape[0]), _ZERO, _ZERO
    while i + _BLOCK <= n:
        if narrow_block(units, i, out, place):
            place += _BLOCK
        else:
            place = write_block(units, i, out, place)
            if place == _HAS_SURROGATE:
                return -1
        i += _BLOCK
    while i < n:
        code = np.uint64(units[i])
        if code >> _SURROGATE_SHIFT == _SURROGATE_PREFIX:
            return -1
        place += utf8_write_character(code, out, place)
        i += _ONE
    return np.int64(place)


@njit_brief
def utf8_write(
    text: int, n_characters: int, state_offset: int, offset: int, out: NDArray[np.uint8]
) -> int:
    """Write the characters of a str as UTF-8; return how many bytes they have, int64.

    text : int64, its address; n_characters : int64
    state_offset, offset : int64, where its state and its characters stand, see numbpe.utf8
    out : (>= bytes + SLACK,) uint8, written. Returns -1 if a character is a surrogate, or if they do not
        stand there.
    """
    state = view_u32(text + state_offset, 1)[0]
    if state >> _COMPACT_BIT & np.uint32(1) == np.uint32(0):
        return -1
    n_unit_bytes = state >> _KIND_BIT & np.uint32(7)
    if n_unit_bytes == np.uint32(1):
        return utf8_write_units(view_u8(text + offset, n_characters), out)
    if n_unit_bytes == np.uint32(2):
        return utf8_write_units(view_u16(text + offset, n_characters), out)
    return utf8_write_units(view_u32(text + offset, n_characters), out)

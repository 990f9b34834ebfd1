"""Strings and values of JSON: find where they end, compare them, write them as UTF-8.

The grammar is that of Python's ``json``: RFC 8259, and ``NaN``, ``Infinity`` and ``-Infinity``. A
line end is no white space here, since rows are lines; it ends every loop, so callers see to it that
one stands behind the last row, and check no other bounds. Bytes outside ASCII are not looked at.
"""

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit, njit_inline
from numbpe_kernels.copying import bytes_copy
from numbpe_kernels.masks import NO_FOLD, ZERO
from numbpe_kernels.memory import count_trailing_zeros, load_u64, mask_block

_LOW_BITS = np.uint64(0x0101010101010101)
_HIGH_BITS = np.uint64(0x8080808080808080)
_QUOTES = np.uint64(0x2222222222222222)
_BACKSLASHES = np.uint64(0x5C5C5C5C5C5C5C5C)
_SPACES = np.uint64(0x2020202020202020)

_QUOTE_BYTE = np.uint8(0x22)
_BACKSLASH_BYTE = np.uint8(0x5C)
_FIRST_BYTE = np.uint8(0)
_LAST_CONTROL = np.uint8(0x1F)
_NO_SPAN = np.uint8(0)

_QUOTE = 0x22
_BACKSLASH = 0x5C
_SLASH = 0x2F

_ESCAPES = sum(1 << (ord(letter) - _BACKSLASH) for letter in "\\bfnrt")
"""A bit for each letter behind a backslash, counted from the backslash itself."""


@njit_inline
def json_find_special(text: NDArray[np.uint8], position: int) -> int:
    """Return the first place from ``position`` on of a quote, a backslash or a control character.

    text : (n + 64,) uint8, with such a byte before n. Reads up to 64 bytes behind that byte.
    """
    word = load_u64(text, position)
    quotes = word ^ _QUOTES
    backslashes = word ^ _BACKSLASHES
    # The lowest bit of each test is exact; borrows reach only upwards.
    hits = (quotes - _LOW_BITS) & ~quotes
    hits |= (backslashes - _LOW_BITS) & ~backslashes
    hits |= (word - _SPACES) & ~word
    hits &= _HIGH_BITS
    if hits != ZERO:
        return position + (count_trailing_zeros(hits) >> 3)
    position += 8
    while True:
        block = mask_block(text, position, NO_FOLD, _QUOTE_BYTE, _NO_SPAN)
        block |= mask_block(text, position, NO_FOLD, _BACKSLASH_BYTE, _NO_SPAN)
        block |= mask_block(text, position, NO_FOLD, _FIRST_BYTE, _LAST_CONTROL)
        if block != ZERO:
            return position + count_trailing_zeros(block)
        position += 64


@njit_inline
def json_skip_space(text: NDArray[np.uint8], position: int) -> int:
    """Return the first place from ``position`` on that is no blank, tab or carriage return.

    text : (n,) uint8. Reads up to that byte.
    """
    while text[position] == 0x20 or text[position] == 0x09 or text[position] == 0x0D:
        position += 1
    return position


@njit
def json_read_hex(text: NDArray[np.uint8], position: int) -> int:
    """Return the number that the four bytes at ``position`` spell in hexadecimal, -1 if they do not.

    text : (n,) uint8. Reads four bytes, fewer if one of them is no digit.
    """
    value = 0
    for place in range(position, position + 4):
        byte = np.int64(text[place])
        if 0x30 <= byte <= 0x39:
            digit = byte - 0x30
        elif 0x61 <= byte | 0x20 <= 0x66:
            digit = (byte | 0x20) - 0x57
        else:
            return -1
        value = (value << 4) | digit
    return value


@njit
def json_is_escape(byte: int) -> bool:
    """Return whether a backslash and ``byte`` are an escape; that of ``u`` is not. Reads nothing."""
    if byte in (_QUOTE, _SLASH):
        return True
    return _BACKSLASH <= byte < 64 + _BACKSLASH and (_ESCAPES >> (byte - _BACKSLASH)) & 1 == 1


@njit
def json_find_string_end(text: NDArray[np.uint8], position: int, found: NDArray[np.int64]) -> int:
    """Return the place of the quote that ends the string whose first byte is at ``position``.

    text : (n + 64,) uint8, with a control character before n
    found : (2,) int64; written: [0] is where it is no string, [1] whether it has escapes
    Returns -1 for what is no string: a control character, or an escape that there is not.
    Cost: 64 bytes a step.
    """
    found[1] = 0
    while True:
        position = json_find_special(text, position)
        byte = np.int64(text[position])
        if byte == _QUOTE:
            return position
        if byte != _BACKSLASH:
            found[0] = position
            return -1
        found[1] = 1
        byte = np.int64(text[position + 1])
        if byte == 0x75:
            if json_read_hex(text, position + 2) < 0:
                found[0] = position
                return -1
            position += 6
        elif json_is_escape(byte):
            position += 2
        else:
            found[0] = position
            return -1


@njit
def json_write_character(out: NDArray[np.uint8], filled: int, code: int) -> int:
    """Write a code point as UTF-8 from ``filled`` on, U+FFFD for a surrogate; return its end.

    out : (m,) uint8, written
    """
    if 0xD800 <= code <= 0xDFFF:
        code = 0xFFFD
    if code < 0x80:
        out[filled] = np.uint8(code)
        return filled + 1
    if code < 0x800:
        out[filled] = np.uint8(0xC0 | (code >> 6))
        out[filled + 1] = np.uint8(0x80 | (code & 0x3F))
        return filled + 2
    if code < 0x10000:
        out[filled] = np.uint8(0xE0 | (code >> 12))
        out[filled + 1] = np.uint8(0x80 | ((code >> 6) & 0x3F))
        out[filled + 2] = np.uint8(0x80 | (code & 0x3F))
        return filled + 3
    out[filled] = np.uint8(0xF0 | (code >> 18))
    out[filled + 1] = np.uint8(0x80 | ((code >> 12) & 0x3F))
    out[filled + 2] = np.uint8(0x80 | ((code >> 6) & 0x3F))
    out[filled + 3] = np.uint8(0x80 | (code & 0x3F))
    return filled + 4


@njit
def json_take_string(
    text: NDArray[np.uint8],
    position: int,
    out: NDArray[np.uint8],
    filled: int,
    found: NDArray[np.int64],
) -> int:
    """Write the string whose first byte is at ``position``, without its escapes.

    text : (n + 64,) uint8, with a control character before n
    out : uint8, written from ``filled`` on: no more bytes than the string has, and COPY_NBYTES of no use
    found : (2,) int64; written: [0] is where it is no string, [1] where it ends in ``out``
    Returns the place of the quote that ends it, or -1 as :func:`json_find_string_end`. Two escapes of
    surrogates that pair up are one character, others U+FFFD. Cost: one pass.
    """
    while True:
        special = json_find_special(text, position)
        bytes_copy(text, position, special - position, out, filled)
        filled += special - position
        byte = np.int64(text[special])
        if byte == _QUOTE:
            found[1] = filled
            return special
        found[0] = special
        if byte != _BACKSLASH:
            return -1
        byte = np.int64(text[special + 1])
        position = special + 2
        if byte != 0x75:
            if not json_is_escape(byte):
                return -1
            if byte == 0x6E:
                byte = 0x0A
            elif byte == 0x74:
                byte = 0x09
            elif byte == 0x72:
                byte = 0x0D
            elif byte == 0x62:
                byte = 0x08
            elif byte == 0x66:
                byte = 0x0C
            out[filled] = np.uint8(byte)
            filled += 1
            continue
        code = json_read_hex(text, position)
        if code < 0:
            return -1
        position += 4
        if 0xD800 <= code <= 0xDBFF and text[position] == _BACKSLASH and text[position + 1] == 0x75:
            second = json_read_hex(text, position + 2)
            if 0xDC00 <= second <= 0xDFFF:
                code = 0x10000 + ((code - 0xD800) << 10) + (second - 0xDC00)
                position += 6
        filled = json_write_character(out, filled, code)


@njit
def json_is_word(text: NDArray[np.uint8], position: int, word: np.uint64, n_bytes: int) -> bool:
    """Return whether the ``n_bytes``, at most 8, at ``position`` are the lowest ones of ``word``.

    text : (n + 8,) uint8. Reads 8 bytes.
    """
    shift = np.uint64(64 - 8 * n_bytes)
    return load_u64(text, position) << shift == word << shift


@njit
def json_find_number_end(text: NDArray[np.uint8], position: int) -> int:
    """Return where the number that begins at ``position`` ends, -1 if it is none.

    text : (n,) uint8. Reads up to one byte behind the number.
    """
    if text[position] == 0x2D:
        position += 1
    if text[position] == 0x30:
        position += 1
    elif 0x31 <= text[position] <= 0x39:
        while 0x30 <= text[position] <= 0x39:
            position += 1
    else:
        return -1
    if text[position] == 0x2E and 0x30 <= text[position + 1] <= 0x39:
        position += 1
        while 0x30 <= text[position] <= 0x39:
            position += 1
    if text[position] | 0x20 == 0x65:
        first = position + 1
        if text[first] == 0x2B or text[first] == 0x2D:
            first += 1
        if 0x30 <= text[first] <= 0x39:
            position = first
            while 0x30 <= text[position] <= 0x39:
                position += 1
    return position

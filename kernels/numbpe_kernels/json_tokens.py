"""Writing vocabularies as JSON: tokens in quotes, the ids of tokens, and pairs of tokens."""

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit, njit_inline
from numbpe_kernels.copying import bytes_copy

MEMBER_NBYTES = 24
"""Bytes that a token and its id take at most, beside the token itself."""

PAIR_NBYTES = 6
"""Bytes that a pair takes beside its tokens."""

_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_BYTE_BITS = np.uint64(8)

_QUOTE = np.uint8(0x22)
_COMMA = np.uint8(0x2C)
_SPACE = np.uint8(0x20)
_COLON = np.uint8(0x3A)
_OPENING = np.uint8(0x5B)
_CLOSING = np.uint8(0x5D)
_DIGIT = np.uint64(0x30)
_TEN = np.uint64(10)


@njit
def json_quote_tokens(
    contents: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    letters: NDArray[np.uint16],
    bounds_out: NDArray[np.int64],
    text_out: NDArray[np.uint8],
) -> None:
    """Write each token in quotes, its bytes as the letters that stand for them.

    contents : (c,) uint8; offsets : (n + 1,) int64: tokens; one that is empty is left out
    letters : (256,) uint16, of each byte the one or two bytes of its letter, as they stand in a JSON
        string, the first one lowest; a letter of one byte has zeros above it
    bounds_out : (n, 2) int64, where each token begins and ends in text_out
    text_out : (>= 2 * total + 2 * n,) uint8, written. Linear.
    """
    place = _ZERO
    for token in range(np.uint64(bounds_out.shape[0])):
        start, stop = np.uint64(offsets[token]), np.uint64(offsets[token + _ONE])
        bounds_out[token, _ZERO] = np.int64(place)
        if start < stop:
            text_out[place] = _QUOTE
            place += _ONE
            for i in range(start, stop):
                letter = np.uint64(letters[np.uint64(contents[i])])
                text_out[place] = np.uint8(letter)
                text_out[place + _ONE] = np.uint8(letter >> _BYTE_BITS)
                place += _ONE + np.uint64(letter >= (_ONE << _BYTE_BITS))
            text_out[place] = _QUOTE
            place += _ONE
        bounds_out[token, _ONE] = np.int64(place)


@njit_inline
def json_write_token(
    quoted: NDArray[np.uint8],
    bounds: NDArray[np.int64],
    token: int,
    text_out: NDArray[np.uint8],
    place: np.uint64,
) -> np.uint64:
    """Write a token in quotes to ``text_out`` from ``place`` on; return where it ends, uint64.

    quoted : uint8 with COPY_NBYTES of any content behind; bounds : (n, 2) int64; token : int64
    text_out : uint8, with as many
    """
    start, stop = bounds[np.uint64(token), _ZERO], bounds[np.uint64(token), _ONE]
    bytes_copy(quoted, start, stop - start, text_out, np.int64(place))
    return place + np.uint64(stop - start)


@njit
def json_write_ids(
    quoted: NDArray[np.uint8],
    bounds: NDArray[np.int64],
    ids: NDArray[np.int64],
    text_out: NDArray[np.uint8],
) -> int:
    """Write tokens with their ids as members of an object, each with ", " behind it.

    quoted : uint8 with COPY_NBYTES of any content behind; bounds : (n, 2) int64
    ids : (k,) int64, of the tokens to write
    text_out : (>= total + MEMBER_NBYTES * k + COPY_NBYTES,) uint8, written
    Returns how many bytes, int64. Linear.
    """
    place = _ZERO
    for i in range(np.uint64(ids.shape[0])):
        place = json_write_token(quoted, bounds, ids[i], text_out, place)
        text_out[place] = _COLON
        text_out[place + _ONE] = _SPACE
        place += _ONE + _ONE
        number = np.uint64(ids[i])
        power = _ONE
        while number // power >= _TEN:
            power *= _TEN
        while power > _ZERO:
            text_out[place] = np.uint8(_DIGIT + number // power % _TEN)
            place += _ONE
            power //= _TEN
        text_out[place] = _COMMA
        text_out[place + _ONE] = _SPACE
        place += _ONE + _ONE
    return np.int64(place)


@njit
def json_write_pairs(
    quoted: NDArray[np.uint8],
    bounds: NDArray[np.int64],
    pairs: NDArray[np.int64],
    text_out: NDArray[np.uint8],
) -> int:
    """Write pairs of tokens as lists of two strings, each with ", " behind it.

    quoted : uint8 with COPY_NBYTES of any content behind; bounds : (n, 2) int64
    pairs : (k, 2) int64, ids
    text_out : (>= total + PAIR_NBYTES * k + COPY_NBYTES,) uint8, written
    Returns how many bytes, int64. Linear.
    """
    place = _ZERO
    for i in range(np.uint64(pairs.shape[0])):
        text_out[place] = _OPENING
        place = json_write_token(quoted, bounds, pairs[i, _ZERO], text_out, place + _ONE)
        text_out[place] = _COMMA
        text_out[place + _ONE] = _SPACE
        place = json_write_token(quoted, bounds, pairs[i, _ONE], text_out, place + _ONE + _ONE)
        text_out[place] = _CLOSING
        text_out[place + _ONE] = _COMMA
        text_out[place + _ONE + _ONE] = _SPACE
        place += _ONE + _ONE + _ONE
    return np.int64(place)

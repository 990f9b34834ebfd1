"""Words that are one token: looked up before they are merged, all new words of a block together.

Merging a new word takes hundreds of instructions, and two in five of those that are new in English text
or code are a token each. Their keys are there, since they were just entered into the cache.
So what a word needs is one look at one cache line: a bucket of four rows, which are compared at once.
A token that found no room in its bucket is left out, and is merged as any other word: what stands
here gives the same ids sooner.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit, njit_inline
from numbpe_kernels.memory import prefetch
from numbpe_kernels.word_keys import word_key_short, word_mix

MAX_WHOLE_NBYTES = 12
"""Longest token of a row: the last four bytes of a key, but for its length, hold the id."""

MAX_WHOLE_ID = (1 << 21) - 1
"""Greatest id, as it stands in the row of a known word."""

BUCKET_WIDTH = 8
"""Numbers of a bucket: those with the first eight bytes of four tokens, then those with the rest, the id
and the length of each. It is one cache line."""

ROWS_A_BUCKET = 4

_FOUR = np.uint64(ROWS_A_BUCKET)
_WIDTH_SHIFT = np.uint64(3)
_ID_SHIFT = np.uint64(32)
_ID_MASK = np.uint64(MAX_WHOLE_ID)
_TOO_LONG = np.uint64((MAX_WHOLE_NBYTES + 1) << 56)
_KEY_MASK = np.uint64(0xFF000000FFFFFFFF)
_ZERO = np.uint64(0)
_ONE = np.uint64(1)


class WholeWords(NamedTuple):
    """Tokens that a word becomes that is spelled as they are.

    rows : (m * BUCKET_WIDTH,) uint64, m a power of two, at least 2, at the start of a cache line; (0,) where
        no word is looked up. A free row is zeros, and those in use come first
    shift : uint64, 64 - log2(m)
    """

    rows: NDArray[np.uint64]
    shift: np.uint64


def make_no_whole_words() -> WholeWords:
    """Return a table in which no word is looked up."""
    return WholeWords(np.zeros(0, dtype=np.uint64), np.uint64(0))


@njit_inline
def whole_words_bucket(words: WholeWords, low: np.uint64, high: np.uint64) -> np.uint64:
    """Return where the bucket of a word begins. low, high : uint64, its key. Reads only; uint64.

    Of words that are too long it is the first, which is near then: they are not worth a cache miss.
    """
    bucket = (word_mix(low, high) >> words.shift) << _WIDTH_SHIFT
    return bucket if high < _TOO_LONG else _ZERO


@njit_inline
def whole_words_read(
    words: WholeWords, bucket: np.uint64, low: np.uint64, high: np.uint64
) -> np.uint64:
    """Return the row of a word in its bucket, 0 if it is not there.

    bucket, low, high : uint64. Reads only; uint64, see whole_words_get_token.
    """
    found = _ZERO
    for i in range(ROWS_A_BUCKET):
        place = bucket + np.uint64(i)
        row = words.rows[place + _FOUR]
        differs = (words.rows[place] ^ low) | ((row ^ high) & _KEY_MASK)
        found |= row if differs == _ZERO else _ZERO
    return found


@njit_inline
def whole_words_ask(words: WholeWords, low: np.uint64, high: np.uint64) -> None:
    """Ask for the bucket of a word. low, high : uint64, its key. Reads only."""
    prefetch(words.rows, whole_words_bucket(words, low, high))


@njit_inline
def whole_words_get_token(row: np.uint64) -> np.uint64:
    """Return the token of a row, uint64. row : uint64."""
    return row >> _ID_SHIFT & _ID_MASK


@njit
def whole_words_fill(
    words: WholeWords,
    contents: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    ids: NDArray[np.int64],
    left_out: NDArray[np.uint8],
) -> None:
    """Enter tokens into a table with buckets.

    contents : (n + TEXT_PADDING,) uint8; offsets : (t + 1,) int64, where the bytes of tokens begin and end
    ids : (k,) int64, at most MAX_WHOLE_ID, of tokens of 1 to MAX_WHOLE_NBYTES bytes
    left_out : (k,) uint8, 1 is written for a token without room. Writes rows.
    """
    for i in range(ids.shape[0]):
        start, stop = np.uint64(offsets[ids[i]]), np.uint64(offsets[ids[i] + 1])
        low, high = word_key_short(contents, start, stop - start)
        place = whole_words_bucket(words, low, high) + _FOUR
        last = place + _FOUR
        while place < last and words.rows[place] != _ZERO:
            place += _ONE
        left_out[i] = place == last
        if place < last:
            words.rows[place - _FOUR] = low
            words.rows[place] = high | np.uint64(ids[i]) << _ID_SHIFT

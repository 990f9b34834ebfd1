"""Entering tokens into the table of junctions between characters of one block; see ``near_junctions``."""

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit, njit_inline
from numbpe_kernels.bitmaps import bitmap_set
from numbpe_kernels.memory import load_u64
from numbpe_kernels.near_junctions import (
    ASCII_BIT,
    MOST_CHARACTERS,
    NUMBER_BITS,
    PAIR_BITS,
    SAME_BLOCK,
    NearJunctions,
    near_add,
    near_get_block,
    near_get_number,
    near_is_character,
    near_key,
    near_key_behind,
)

_ZERO = np.uint64(0)


@njit_inline
def near_measure_token(contents: NDArray[np.uint8], start: int, stop: int) -> int:
    """Return how many characters a token has, all of one block, but for a byte of ASCII before them; 0 for others.

    contents : (>= stop + 8,) uint8; start < stop, int64, its bytes. Reads only; int64.
    """
    place = start + np.int64(contents[start] < ASCII_BIT)
    n_characters = np.int64(0)
    first = load_u64(contents, place)
    while place + 3 <= stop:
        word = load_u64(contents, place)
        if not near_is_character(word) or (word ^ first) & SAME_BLOCK != _ZERO:
            return np.int64(0)
        place += 3
        n_characters += 1
    return n_characters if place == stop else np.int64(0)


@njit
def near_count_tokens(
    contents: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    ids: NDArray[np.int64],
    counts: NDArray[np.int64],
) -> int:
    """Count the tokens of three characters and more of each block; return about how many entries of ``spans`` they need.

    contents : (n + 8,) uint8; offsets : (t + 1,) int64, where the bytes of tokens begin and end
    ids : (k,) int64, which tokens to take; counts : (N_BLOCKS,) int64. Writes counts; int64.
    """
    n_entries = np.int64(0)
    for i in range(ids.shape[0]):
        start, stop = offsets[ids[i]], offsets[ids[i] + 1]
        n_characters = near_measure_token(contents, start, stop)
        if n_characters >= 3:
            counts[near_get_block(load_u64(contents, stop - 3))] += 1
            n_entries += (
                1 if n_characters <= MOST_CHARACTERS else n_characters - MOST_CHARACTERS + 1
            )
    return n_entries


@njit
def near_learn_characters(
    table: NearJunctions, contents: NDArray[np.uint8], start: int, stop: int
) -> None:
    """Enter a token of characters of one block, perhaps behind a byte of ASCII.

    contents : (>= stop + 8,) uint8; start < stop, int64, its bytes. Writes pairs and spans.
    """
    has_ascii = contents[start] < ASCII_BIT
    start += np.int64(has_ascii)
    n_characters = (stop - start) // 3
    block = near_get_block(load_u64(contents, start))
    count = min(n_characters, MOST_CHARACTERS)
    for i in range(n_characters - count + 1):
        numbers = _ZERO
        for k in range(count):
            word = load_u64(contents, start + 3 * (i + k))
            numbers = numbers << NUMBER_BITS | near_get_number(word)
        if count == 2 and not has_ascii:
            bitmap_set(table.pairs, block << PAIR_BITS | numbers)
        elif count >= 2:
            key = near_key(block, numbers, count)
            if has_ascii and n_characters == count:
                key = near_key_behind(key, np.uint64(contents[start - 1]))
            near_add(table, key)


@njit
def near_learn_pairs(
    table: NearJunctions, contents: NDArray[np.uint8], start: int, stop: int
) -> None:
    """Enter each two characters of one block that a token holds.

    contents : (>= stop + 8,) uint8; start < stop, int64, its bytes. Writes pairs.
    """
    for place in range(start, stop - 5):
        left, right = load_u64(contents, place), load_u64(contents, place + 3)
        is_pair = near_is_character(left) and near_is_character(right)
        if is_pair and (left ^ right) & SAME_BLOCK == _ZERO:
            numbers = near_get_number(left) << NUMBER_BITS | near_get_number(right)
            bitmap_set(table.pairs, near_get_block(left) << PAIR_BITS | numbers)


@njit
def near_learn_tokens(
    table: NearJunctions,
    contents: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    ids: NDArray[np.int64],
) -> None:
    """Enter tokens.

    contents : (n + 8,) uint8; offsets : (t + 1,) int64, where the bytes of tokens begin and end
    ids : (k,) int64, which tokens to take. Writes pairs and spans.
    """
    for i in range(ids.shape[0]):
        start, stop = offsets[ids[i]], offsets[ids[i] + 1]
        is_followed = False
        if near_measure_token(contents, start, stop) > 0:
            is_followed = table.is_deep[near_get_block(load_u64(contents, stop - 3))] != 0
        if is_followed:
            near_learn_characters(table, contents, start, stop)
        else:
            near_learn_pairs(table, contents, start, stop)

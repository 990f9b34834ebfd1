"""Rows of Combinatorial BPE to bytes: measure and check first, then copy.

A row spells its prefix, its core under its variation, and its suffix. The bytes of every core under
every variation are there: core c under variation v is number ``v * n_cores + c``.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit, njit_inline
from numbpe_kernels.decoding import WORD_NBYTES, write_word
from numbpe_kernels.memory import load_u64


class TupleSpellings(NamedTuple):
    """What rows stand for.

    core_offsets : (n_var * n_cores + 1,) int64, prefix_offsets : (n_prefix + 1,) int64,
    suffix_offsets : (n_suffix + 1,) int64: where the bytes of each lie in
    core_contents, prefix_contents, suffix_contents : (c,) uint8, readable 8 bytes past the last
    sizes : (4,) int64, rows of the four tables, in the order of a row
    """

    core_offsets: NDArray[np.int64]
    core_contents: NDArray[np.uint8]
    prefix_offsets: NDArray[np.int64]
    prefix_contents: NDArray[np.uint8]
    suffix_offsets: NDArray[np.int64]
    suffix_contents: NDArray[np.uint8]
    sizes: NDArray[np.int64]


@njit
def tuple_find_bad_row(rows: NDArray[np.int32], sizes: NDArray[np.int64]) -> int:
    """Return -1, or the place in ``rows`` of the first index that its table does not have, int64.

    rows : (4n,) int32, rows one after another, any values; sizes : (4,) int64. Reads only.
    """
    for i in range(0, rows.shape[0], 4):
        for column in range(4):
            index = np.int64(rows[i + column])
            if index < 0 or index >= sizes[column]:
                return i + column
    return -1


@njit
def tuple_measure(
    spellings: TupleSpellings,
    rows: NDArray[np.int32],
    bounds: NDArray[np.int64],
    ends_out: NDArray[np.int64],
) -> int:
    """Return -1, or the place in ``rows`` of the first index that its table does not have, int64.

    rows : (4n,) int32, rows one after another, any values
    bounds : (t + 1,) int64, not decreasing, from 0 to n: text i is rows bounds[i] to bounds[i + 1]
    ends_out : (t + 1,) int64; written: where the bytes of each text begin, and the total
    One pass.
    """
    n_cores = spellings.sizes[2]
    total = np.int64(0)
    ends_out[0] = 0
    for text in range(bounds.shape[0] - 1):
        first, last = bounds[text], bounds[text + 1]
        bad = tuple_find_bad_row(rows[4 * first : 4 * last], spellings.sizes)
        if bad >= 0:
            return 4 * first + bad
        for i in range(4 * first, 4 * last, 4):
            core = np.int64(rows[i]) * n_cores + np.int64(rows[i + 2])
            prefix, suffix = np.int64(rows[i + 1]), np.int64(rows[i + 3])
            total += spellings.core_offsets[core + 1] - spellings.core_offsets[core]
            total += spellings.prefix_offsets[prefix + 1] - spellings.prefix_offsets[prefix]
            total += spellings.suffix_offsets[suffix + 1] - spellings.suffix_offsets[suffix]
        ends_out[text + 1] = total
    return -1


@njit_inline
def copy_item(
    contents: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    item: int,
    text_out: NDArray[np.uint8],
    place: int,
) -> int:
    """Write the bytes of an item at ``place``; return where they end, int64.

    contents : (c,) uint8, readable 8 bytes past the last; offsets : (n + 1,) int64; item : int64
    text_out : (>= end + 8,) uint8, written, 8 bytes at a time
    """
    start = offsets[item]
    length = offsets[item + 1] - start
    write_word(text_out, np.uint64(place), load_u64(contents, start))
    for done in range(WORD_NBYTES, length, WORD_NBYTES):
        write_word(text_out, np.uint64(place + done), load_u64(contents, start + done))
    return place + length


@njit
def tuple_copy(
    spellings: TupleSpellings, rows: NDArray[np.int32], text_out: NDArray[np.uint8]
) -> None:
    """Write the bytes of rows one after another.

    rows : (4n,) int32, all of which tuple_measure has accepted
    text_out : (total + 8,) uint8; written, the last 8 bytes with anything. One pass.
    """
    n_cores = spellings.sizes[2]
    place = np.int64(0)
    for i in range(0, rows.shape[0], 4):
        prefix, suffix = np.int64(rows[i + 1]), np.int64(rows[i + 3])
        core = np.int64(rows[i]) * n_cores + np.int64(rows[i + 2])
        if prefix != 0:
            place = copy_item(
                spellings.prefix_contents, spellings.prefix_offsets, prefix, text_out, place
            )
        place = copy_item(spellings.core_contents, spellings.core_offsets, core, text_out, place)
        if suffix != 0:
            place = copy_item(
                spellings.suffix_contents, spellings.suffix_offsets, suffix, text_out, place
            )

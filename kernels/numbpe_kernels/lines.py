"""Cutting texts into lines, each with its line feed."""

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit
from numbpe_kernels.memory import (
    clear_lowest_one,
    count_ones,
    count_trailing_zeros,
    mask_block,
)

_BLOCK_NBYTES = 64
_ONE = np.uint64(1)
_ZERO = np.uint64(0)
_NO_FOLD = np.uint8(0)
_LINE_FEED = np.uint8(0x0A)
_NO_SPAN = np.uint8(0)


@njit
def lines_count(text: NDArray[np.uint8], documents: NDArray[np.int64]) -> int:
    """Return how many rows lines_split writes, int64.

    text : (n,) uint8 with padding; documents : (d, 2) int64, starts and stops, none empty
    Reads only. Cost: 64 bytes a step.
    """
    n_lines = 0
    for i in range(documents.shape[0]):
        # The last line of a document may end without a line feed.
        n_lines += 1
        last = documents[i, 1] - 1
        for block in range(documents[i, 0], last, _BLOCK_NBYTES):
            found = mask_block(text, block, _NO_FOLD, _LINE_FEED, _NO_SPAN)
            if last - block < _BLOCK_NBYTES:
                found &= (_ONE << np.uint64(last - block)) - _ONE
            n_lines += count_ones(found)
    return n_lines


@njit
def lines_split(
    text: NDArray[np.uint8], documents: NDArray[np.int64], lines_out: NDArray[np.int64]
) -> None:
    """Cut documents behind each line feed.

    text, documents : as in lines_count
    lines_out : (lines_count(text, documents), 2) int64, written: starts and stops, none empty
    Cost: 64 bytes a step, and a step for each line.
    """
    n_lines = 0
    for i in range(documents.shape[0]):
        start = documents[i, 0]
        last = documents[i, 1] - 1
        for block in range(documents[i, 0], last, _BLOCK_NBYTES):
            found = mask_block(text, block, _NO_FOLD, _LINE_FEED, _NO_SPAN)
            if last - block < _BLOCK_NBYTES:
                found &= (_ONE << np.uint64(last - block)) - _ONE
            while found != _ZERO:
                stop = block + count_trailing_zeros(found) + 1
                lines_out[n_lines, 0] = start
                lines_out[n_lines, 1] = stop
                n_lines += 1
                start = stop
                found = clear_lowest_one(found)
        lines_out[n_lines, 0] = start
        lines_out[n_lines, 1] = documents[i, 1]
        n_lines += 1

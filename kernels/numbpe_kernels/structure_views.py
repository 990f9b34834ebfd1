"""The structures that several descriptors hold, made from the numbers that stand at some place.

The numbers of a structure are the fields in their order; see ``views`` and ``encoder_views``.
"""

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit_inline
from numbpe_kernels.class_masks import ClassTable
from numbpe_kernels.ranks import MergeScratch, MergeTable
from numbpe_kernels.token_table import TokenTable
from numbpe_kernels.views import view_i32, view_i64, view_u8, view_u64
from numbpe_kernels.word_table import WordTable

CLASS_TABLE_SIZE = 4
MERGE_SCRATCH_SIZE = 12
MERGE_TABLE_SIZE = 9
TOKEN_TABLE_SIZE = 6
WORD_TABLE_SIZE = 10
"""Numbers of each."""


@njit_inline
def view_class_table(d: NDArray[np.int64], i: int) -> ClassTable:
    """Return the table that stands at ``i``, int64. d : (>= i + CLASS_TABLE_SIZE,) int64. Reads only."""
    return ClassTable(view_i32(d[i], d[i + 1]), view_u8(d[i + 2], d[i + 3]))


@njit_inline
def view_merge_scratch(d: NDArray[np.int64], i: int) -> MergeScratch:
    """Return the room that stands at ``i``, int64. d : (>= i + MERGE_SCRATCH_SIZE,) int64. Reads only."""
    return MergeScratch(
        view_i32(d[i], d[i + 1]),
        view_i32(d[i + 2], d[i + 3]),
        view_i32(d[i + 4], d[i + 5]),
        view_i32(d[i + 6], d[i + 7]),
        view_i32(d[i + 8], d[i + 9]),
        view_i64(d[i + 10], d[i + 11]),
    )


@njit_inline
def view_merge_table(d: NDArray[np.int64], i: int) -> MergeTable:
    """Return the table that stands at ``i``, int64. d : (>= i + MERGE_TABLE_SIZE,) int64. Reads only."""
    return MergeTable(
        view_u64(d[i], d[i + 1]),
        np.uint64(d[i + 2]),
        view_i32(d[i + 3], d[i + 4]),
        view_i32(d[i + 5], d[i + 6]),
        view_i32(d[i + 7], d[i + 8]),
    )


@njit_inline
def view_token_table(d: NDArray[np.int64], i: int) -> TokenTable:
    """Return the table that stands at ``i``, int64. d : (>= i + TOKEN_TABLE_SIZE,) int64. Reads only."""
    return TokenTable(
        view_u64(d[i], d[i + 1]), view_u8(d[i + 2], d[i + 3]), view_i64(d[i + 4], d[i + 5])
    )


@njit_inline
def view_word_table(d: NDArray[np.int64], i: int) -> WordTable:
    """Return the table that stands at ``i``, int64. d : (>= i + WORD_TABLE_SIZE,) int64. Reads only."""
    return WordTable(
        view_u64(d[i], d[i + 1]),
        view_u8(d[i + 2], d[i + 3]),
        view_u64(d[i + 4], d[i + 5]),
        view_i64(d[i + 6], d[i + 7]),
        np.uint64(d[i + 8]),
        np.uint64(d[i + 9]),
    )

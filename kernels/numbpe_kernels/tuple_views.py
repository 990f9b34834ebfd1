"""The parts of a combinatorial encoder, made from a descriptor; see ``views`` and ``encoder_views``."""

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit, njit_inline
from numbpe_kernels.class_masks import ClassTable
from numbpe_kernels.ranks import MergeScratch, MergeTable
from numbpe_kernels.token_table import TokenTable
from numbpe_kernels.tuple_cache import TupleState
from numbpe_kernels.tuple_model import TupleModel, TupleScratch
from numbpe_kernels.views import view_i32, view_i64, view_u8, view_u16, view_u64
from numbpe_kernels.word_table import WordTable

TUPLE_MODEL_SIZE = 35
TUPLE_STATE_SIZE = 60
TUPLE_DESCRIPTOR_SIZE = TUPLE_MODEL_SIZE + TUPLE_STATE_SIZE
"""Numbers of a model and a state, which stand in this order."""

_WORD_TABLE_SIZE = 10


@njit
def tuple_view_model(d: NDArray[np.int64]) -> TupleModel:
    """Return the model of a descriptor. d : (TUPLE_MODEL_SIZE or more,) int64. Reads only."""
    merges = MergeTable(
        view_u64(d[0], d[1]),
        np.uint64(d[2]),
        view_i32(d[3], d[4]),
        view_i32(d[5], d[6]),
        view_i32(d[7], d[8]),
    )
    prefixes = TokenTable(view_u64(d[17], d[18]), view_u8(d[19], d[20]), view_i64(d[21], d[22]))
    suffixes = TokenTable(view_u64(d[23], d[24]), view_u8(d[25], d[26]), view_i64(d[27], d[28]))
    return TupleModel(
        merges,
        view_u16(d[9], d[10]),
        view_i32(d[11], d[12]),
        view_i32(d[13], d[14]),
        view_i32(d[15], d[16]),
        prefixes,
        suffixes,
        ClassTable(view_i32(d[29], d[30]), view_u8(d[31], d[32])),
        view_i64(d[33], d[34]),
    )


@njit_inline
def view_word_table(d: NDArray[np.int64], i: int) -> WordTable:
    """Return the table that stands at ``i``, int64. d : (i + 10 or more,) int64. Reads only."""
    return WordTable(
        view_u64(d[i], d[i + 1]),
        view_u8(d[i + 2], d[i + 3]),
        view_u64(d[i + 4], d[i + 5]),
        view_i64(d[i + 6], d[i + 7]),
        np.uint64(d[i + 8]),
        np.uint64(d[i + 9]),
    )


@njit
def tuple_view_state(d: NDArray[np.int64]) -> TupleState:
    """Return the state of a descriptor. d : (TUPLE_DESCRIPTOR_SIZE,) int64. Reads only."""
    words = view_word_table(d, np.int64(TUPLE_MODEL_SIZE))
    gaps = view_word_table(d, np.int64(TUPLE_MODEL_SIZE) + _WORD_TABLE_SIZE)
    i = TUPLE_MODEL_SIZE + 2 * _WORD_TABLE_SIZE
    merging = MergeScratch(
        view_i32(d[i + 10], d[i + 11]),
        view_i32(d[i + 12], d[i + 13]),
        view_i32(d[i + 14], d[i + 15]),
        view_i32(d[i + 16], d[i + 17]),
        view_i32(d[i + 18], d[i + 19]),
        view_i64(d[i + 20], d[i + 21]),
    )
    scratch = TupleScratch(merging, view_u8(d[i + 22], d[i + 23]), view_i32(d[i + 24], d[i + 25]))
    return TupleState(
        words,
        gaps,
        view_i32(d[i], d[i + 1]),
        view_i32(d[i + 2], d[i + 3]),
        view_i32(d[i + 4], d[i + 5]),
        view_i32(d[i + 6], d[i + 7]),
        view_i64(d[i + 8], d[i + 9]),
        scratch,
        view_i64(d[i + 26], d[i + 27]),
        view_i64(d[i + 28], d[i + 29]),
        view_i64(d[i + 30], d[i + 31]),
        view_u64(d[i + 32], d[i + 33]),
        view_i64(d[i + 34], d[i + 35]),
        view_i64(d[i + 36], d[i + 37]),
        view_i64(d[i + 38], d[i + 39]),
    )

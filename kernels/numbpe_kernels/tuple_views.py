"""The parts of a combinatorial encoder, made from a descriptor; see ``views`` and ``encoder_views``."""

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit
from numbpe_kernels.structure_views import (
    MERGE_SCRATCH_SIZE,
    WORD_TABLE_SIZE,
    view_class_table,
    view_merge_scratch,
    view_merge_table,
    view_token_table,
    view_word_table,
)
from numbpe_kernels.tuple_cache import TupleState
from numbpe_kernels.tuple_model import TupleModel, TupleScratch
from numbpe_kernels.views import view_i32, view_i64, view_u8, view_u16, view_u64

TUPLE_MODEL_SIZE = 35
TUPLE_STATE_SIZE = 60
TUPLE_DESCRIPTOR_SIZE = TUPLE_MODEL_SIZE + TUPLE_STATE_SIZE
"""Numbers of a model and a state, which stand in this order."""

_WORDS = TUPLE_MODEL_SIZE
_GAPS = _WORDS + WORD_TABLE_SIZE
_REST = _GAPS + WORD_TABLE_SIZE
_SCRATCH = _REST + 10
_BEHIND_SCRATCH = _SCRATCH + MERGE_SCRATCH_SIZE
"""Where the parts of a state begin."""


@njit
def tuple_view_model(d: NDArray[np.int64]) -> TupleModel:
    """Return the model of a descriptor. d : (TUPLE_MODEL_SIZE or more,) int64. Reads only."""
    return TupleModel(
        view_merge_table(d, np.int64(0)),
        view_u16(d[9], d[10]),
        view_i32(d[11], d[12]),
        view_i32(d[13], d[14]),
        view_i32(d[15], d[16]),
        view_token_table(d, np.int64(17)),
        view_token_table(d, np.int64(23)),
        view_class_table(d, np.int64(29)),
        view_i64(d[33], d[34]),
    )


@njit
def tuple_view_state(d: NDArray[np.int64]) -> TupleState:
    """Return the state of a descriptor. d : (TUPLE_DESCRIPTOR_SIZE,) int64. Reads only."""
    i, j = _REST, _BEHIND_SCRATCH
    merging = view_merge_scratch(d, np.int64(_SCRATCH))
    scratch = TupleScratch(merging, view_u8(d[j], d[j + 1]), view_i32(d[j + 2], d[j + 3]))
    return TupleState(
        view_word_table(d, np.int64(_WORDS)),
        view_word_table(d, np.int64(_GAPS)),
        view_i32(d[i], d[i + 1]),
        view_i32(d[i + 2], d[i + 3]),
        view_i32(d[i + 4], d[i + 5]),
        view_i32(d[i + 6], d[i + 7]),
        view_i64(d[i + 8], d[i + 9]),
        scratch,
        view_i64(d[j + 4], d[j + 5]),
        view_i64(d[j + 6], d[j + 7]),
        view_i64(d[j + 8], d[j + 9]),
        view_u64(d[j + 10], d[j + 11]),
        view_i64(d[j + 12], d[j + 13]),
        view_i64(d[j + 14], d[j + 15]),
        view_i64(d[j + 16], d[j + 17]),
    )

"""The parts of an encoder, made from a descriptor; see ``views``.

A descriptor lists the fields of a structure in their order, fields of fields included: of an array
the address and the length of each dimension, of a number its value.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit
from numbpe_kernels.automaton import Automaton
from numbpe_kernels.characters import CharacterTable
from numbpe_kernels.encoder_arrays import EncoderState
from numbpe_kernels.folding import FoldTable
from numbpe_kernels.junction_table import JunctionTable
from numbpe_kernels.lanes import MergeLanes
from numbpe_kernels.model import EncoderModel
from numbpe_kernels.near_junctions import NearJunctions
from numbpe_kernels.scanner import Scanner
from numbpe_kernels.structure_views import (
    MERGE_SCRATCH_SIZE,
    MERGE_TABLE_SIZE,
    TOKEN_TABLE_SIZE,
    WORD_TABLE_SIZE,
    view_class_table,
    view_merge_scratch,
    view_merge_table,
    view_token_table,
    view_word_table,
)
from numbpe_kernels.views import (
    view_i32,
    view_i64,
    view_i64_matrix,
    view_u8,
    view_u8_matrix,
    view_u16,
    view_u32,
    view_u64,
)
from numbpe_kernels.whole_words import WholeWords
from numbpe_kernels.word_cache import WordCache

SCANNER_SIZE = 36
MODEL_SIZE = 37
STATE_SIZE = 54
CALL_SIZE = 9
DESCRIPTOR_SIZE = SCANNER_SIZE + MODEL_SIZE + STATE_SIZE + CALL_SIZE
"""Numbers of a scanner, a model, a state and a call, which stand in this order."""

CALL_N_PARTS = 3
CALL_N_OFFSETS = 8
"""Places in the description of a call: how many parts it has, and how many offsets."""

JUNCTIONS_SIZE = 16
"""Numbers of a table of junctions, which has a descriptor of its own."""

_MODEL = SCANNER_SIZE
_STATE = SCANNER_SIZE + MODEL_SIZE
_CALL = SCANNER_SIZE + MODEL_SIZE + STATE_SIZE
_CHARACTERS = _MODEL + MERGE_TABLE_SIZE
_TOKENS = _CHARACTERS + 9
_SCRATCH = _STATE + WORD_TABLE_SIZE + 4
_LANES = _SCRATCH + MERGE_SCRATCH_SIZE
"""Where parts of the descriptor begin."""


class EncoderCall(NamedTuple):
    """What is to be encoded, and where the ids go; see encoding.encode_words."""

    text: NDArray[np.uint8]
    parts: NDArray[np.int64]
    ids_out: NDArray[np.uint32]
    offsets_out: NDArray[np.int64]


@njit
def encoder_view_junctions(d: NDArray[np.int64]) -> JunctionTable:
    """Return a table of junctions from its own descriptor. d : (JUNCTIONS_SIZE,) int64. Reads only."""
    return JunctionTable(
        view_u8(d[0], d[1]),
        np.uint64(d[2]),
        view_u8(d[3], d[4]),
        view_u8(d[5], d[6]),
        view_u8(d[7], d[8]),
        NearJunctions(
            view_u8(d[9], d[10]), view_u64(d[11], d[12]), np.uint64(d[13]), view_u8(d[14], d[15])
        ),
    )


@njit
def encoder_view_scanner(
    d: NDArray[np.int64], junctions: NDArray[np.int64], is_refined: bool
) -> Scanner:
    """Return the scanner of a descriptor, with junctions if words are cut there.

    d : (DESCRIPTOR_SIZE,) int64; junctions : (JUNCTIONS_SIZE,) int64. Reads only.
    """
    automaton = Automaton(
        view_u8(d[1], d[2]),
        view_u16(d[3], d[4]),
        view_u8(d[5], d[6]),
        view_i32(d[7], d[8]),
        view_i64(d[9], d[10]),
        view_i64(d[11], d[12]),
        view_u8_matrix(d[13], d[14], d[15]),
    )
    # Those of the descriptor's own scanner are empty.
    numbers = junctions if is_refined else d[SCANNER_SIZE - JUNCTIONS_SIZE : SCANNER_SIZE]
    classes = view_class_table(d, np.int64(16))
    return Scanner(d[0], automaton, classes, encoder_view_junctions(numbers))


@njit
def encoder_view_model(d: NDArray[np.int64]) -> EncoderModel:
    """Return the model of a descriptor. d : (DESCRIPTOR_SIZE,) int64. Reads only."""
    i = _CHARACTERS
    characters = CharacterTable(
        view_u16(d[i], d[i + 1]),
        view_i32(d[i + 2], d[i + 3]),
        view_u8(d[i + 4], d[i + 5]),
        view_i64(d[i + 6], d[i + 7]),
        d[i + 8],
    )
    j = _TOKENS + TOKEN_TABLE_SIZE
    return EncoderModel(
        view_merge_table(d, np.int64(_MODEL)),
        characters,
        view_token_table(d, np.int64(_TOKENS)),
        view_i32(d[j], d[j + 1]),
        FoldTable(
            view_u32(d[j + 2], d[j + 3]), view_u32(d[j + 4], d[j + 5]), view_u64(d[j + 6], d[j + 7])
        ),
        WholeWords(view_u64(d[j + 8], d[j + 9]), np.uint64(d[j + 10])),
        view_i64(d[j + 11], d[j + 12]),
    )


@njit
def encoder_view_state(d: NDArray[np.int64]) -> EncoderState:
    """Return the state of a descriptor. d : (DESCRIPTOR_SIZE,) int64. Reads only."""
    table = view_word_table(d, np.int64(_STATE))
    i = _STATE + WORD_TABLE_SIZE
    cache = WordCache(table, view_u32(d[i], d[i + 1]), view_i64(d[i + 2], d[i + 3]))
    i = _LANES
    lanes = MergeLanes(
        view_i32(d[i], d[i + 1]),
        view_i32(d[i + 2], d[i + 3]),
        view_u64(d[i + 4], d[i + 5]),
        view_u64(d[i + 6], d[i + 7]),
        view_u64(d[i + 8], d[i + 9]),
    )
    j = _LANES + 10
    return EncoderState(
        cache,
        view_merge_scratch(d, np.int64(_SCRATCH)),
        lanes,
        view_i64(d[j], d[j + 1]),
        view_i64(d[j + 2], d[j + 3]),
        view_i64(d[j + 4], d[j + 5]),
        view_i64(d[j + 6], d[j + 7]),
        view_u32(d[j + 8], d[j + 9]),
        view_u64(d[j + 10], d[j + 11]),
        view_i64(d[j + 12], d[j + 13]),
        view_i64(d[j + 14], d[j + 15]),
        view_i64(d[j + 16], d[j + 17]),
    )


@njit
def encoder_view_call(d: NDArray[np.int64]) -> EncoderCall:
    """Return the call of a descriptor. d : (DESCRIPTOR_SIZE,) int64. Reads only."""
    i = _CALL
    return EncoderCall(
        view_u8(d[i], d[i + 1]),
        view_i64_matrix(d[i + 2], d[i + 3], d[i + 4]),
        view_u32(d[i + 5], d[i + 6]),
        view_i64(d[i + 7], d[i + 8]),
    )

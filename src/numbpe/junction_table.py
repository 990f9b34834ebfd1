"""Where no token of a vocabulary over bytes can span two characters: the table that kernels read."""

import numpy as np
from numpy.typing import NDArray

from numbpe.arrays import copy_text
from numbpe.definition import TokenizerDefinition
from numbpe.encoder_model import find_unmade
from numbpe.encoder_state import describe_arrays
from numbpe.vocabulary import Vocabulary
from numbpe_kernels.junction_table import (
    FILTER_SIZE,
    LOG2_BITS,
    LOG2_SPECIAL_BITS,
    JunctionTable,
    junction_fill_near,
    junction_forbid_cuts,
    junction_learn_tokens,
)
from numbpe_kernels.model import EncoderModel
from numbpe_kernels.near_junctions import N_BLOCKS, N_NEAR, NearJunctions
from numbpe_kernels.near_learning import near_count_tokens, near_learn_tokens

_BITS_A_PAIR = 32
_LEAST_BITS = 1 << 10
"""Least size of the bitmap of pairs: of others, one in 32 to 64 is taken for one of them, and the bitmap
stays in a near cache."""

_BITS_A_SPAN = 32
"""Least size of what tells tokens of one block, two bits each: of other characters in a row, one in 200 is taken
for one of them, which may cost as many as four junctions."""

LEAST_LONG_TOKENS = 64
"""How many tokens of three characters and more of a block make several of its characters be looked up together. GPT-2
has fewer of Thai: each pair of characters says all there, which is sooner seen."""


class Junctions:
    """A table of junctions, and its descriptor for kernels."""

    def __init__(self, table: JunctionTable) -> None:
        self.table = table  # keeps the arrays alive
        self.descriptor = describe_arrays(table)


def build_junction_table(
    definition: TokenizerDefinition, model: EncoderModel
) -> JunctionTable | None:
    """Return the junctions that tokens span; None where words must not be cut.

    Where words are looked up whole before they are merged, every token counts, so that none is
    ever cut; and a part of a word that is such a token, but would be merged to something else, must
    not come about.
    """
    vocabulary, rules = definition.vocabulary, definition.rules
    if rules.alphabet != "bytes" or rules.unk_id is not None:
        return None
    contents = copy_text(vocabulary.contents.tobytes())
    offsets = vocabulary.offsets.copy()
    ids = _list_ids(vocabulary, all_tokens=rules.ignore_merges)
    unmade = np.empty(0, dtype=np.int64)
    if rules.ignore_merges:
        unmade = ids[find_unmade(vocabulary, model, ids)]
    table = _make_table(_make_near(contents, offsets, ids))
    junction_learn_tokens(table, contents, offsets, ids)
    near_learn_tokens(table.near, contents, offsets, ids)
    for token_id in unmade.tolist():
        junction_forbid_cuts(table, contents, int(offsets[token_id]), int(offsets[token_id + 1]))
    junction_fill_near(table)
    return _shrink_table(table)


def _make_table(near: NearJunctions) -> JunctionTable:
    return JunctionTable(
        joined=np.zeros(1 << (LOG2_BITS - 3), dtype=np.uint8),
        shift=np.uint64(64 - LOG2_BITS),
        ends_and_leads=np.zeros(1 << 16, dtype=np.uint8),
        filter=np.zeros(FILTER_SIZE, dtype=np.uint8),
        special=np.zeros(1 << (LOG2_SPECIAL_BITS - 3), dtype=np.uint8),
        near=near,
    )


def _make_near(
    contents: NDArray[np.uint8], offsets: NDArray[np.int64], ids: NDArray[np.int64]
) -> NearJunctions:
    """Return an empty table for the tokens of those ids; see ``near_junctions``."""
    counts = np.zeros(N_BLOCKS, dtype=np.int64)
    n_entries = int(near_count_tokens(contents, offsets, ids, counts))
    n_bits = max(_LEAST_BITS, 1 << (_BITS_A_SPAN * n_entries).bit_length())
    return NearJunctions(
        pairs=np.zeros(N_NEAR, dtype=np.uint8),
        spans=np.zeros(n_bits >> 6, dtype=np.uint64),
        shift=np.uint64(71 - n_bits.bit_length()),
        is_deep=(counts >= LEAST_LONG_TOKENS).astype(np.uint8),
    )


def _shrink_table(table: JunctionTable) -> JunctionTable:
    """Return the table with a bitmap of pairs that is as small as it may be."""
    bits = np.unpackbits(table.joined, bitorder="little")
    n_bits = max(_LEAST_BITS, 1 << (_BITS_A_PAIR * int(bits.sum())).bit_length())
    if n_bits >= len(bits):
        return table
    # The hash of fewer bits begins with the same ones.
    fewer = bits.reshape(n_bits, -1).any(axis=1)
    return table._replace(
        joined=np.packbits(fewer, bitorder="little"), shift=np.uint64(65 - n_bits.bit_length())
    )


def _list_ids(vocabulary: Vocabulary, *, all_tokens: bool) -> NDArray[np.int64]:
    """Return the tokens that hold bytes outside ASCII: those that merges make, or all."""
    if all_tokens:
        is_wanted = np.diff(vocabulary.offsets) > 1
    else:
        is_wanted = np.zeros(vocabulary.n_ids, dtype=bool)
        is_wanted[vocabulary.merge_results] = True
    n_high = np.zeros(len(vocabulary.contents) + 1, dtype=np.int64)
    np.cumsum(vocabulary.contents >= 0x80, out=n_high[1:])
    is_wanted &= np.diff(n_high[vocabulary.offsets]) > 0
    return np.flatnonzero(is_wanted)

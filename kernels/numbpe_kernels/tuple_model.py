"""One word or one gap to rows of Combinatorial BPE, by all that its tables say.

A *piece* is what a row holds beside its affixes: ``core << 2 | variation``. A gap becomes the suffix
of the word before it, pieces, and the prefix of the word behind it.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit, njit_inline
from numbpe_kernels.characters import CHARACTER_PAGE_BITS, characters_decode
from numbpe_kernels.class_masks import FLAG_LOWER, ClassTable
from numbpe_kernels.ranks import (
    MAX_MERGED_ID,
    MergeScratch,
    MergeTable,
    merge_rank_pairs,
    merge_tokens,
)
from numbpe_kernels.token_table import TokenTable, token_table_find
from numbpe_kernels.tuple_words import character_find_class

AS_IS = 0
CAPITALISED = 1
UPPER = 2
TRADITIONAL = 3
"""Variations: of a piece nothing changes, its first letter, all letters, all characters."""

VARIATION_BITS = 2

IS_UPPER = 1
IS_TRADITIONAL = 2
HAS_TRADITIONAL = 4
FOLD_BITS = 3
FOLD_FLAGS = (1 << FOLD_BITS) - 1
"""What folding has done to a character: it was a capital; it was Traditional; and whether its folded
form has a Traditional one."""

UNKNOWN = MAX_MERGED_ID + 1
"""Stands for a character outside the alphabet, which no merge joins."""

SPLITS_CASE = 0
PUNCTUATION_TO_NEXT = 1
LONGEST_PREFIX = 2
LONGEST_SUFFIX = 3
TUPLE_RULES_SIZE = 4
"""Places in ``TupleModel.rules``: 1 if case parts words; 1 if punctuation belongs to the next word;
bytes of the longest prefix and of the longest suffix."""

_PAGE_MASK = (1 << CHARACTER_PAGE_BITS) - 1


class TupleModel(NamedTuple):
    """What a combinatorial vocabulary says; only read, and shared by all threads.

    merges : MergeTable, over cores
    page_numbers : (0x110000 / 256 + 1,) uint16, for both tables of characters
    plain, folded : (n pages * 256,) int32, ``core << FOLD_BITS | flags`` of a character in a gap, where
        nothing is folded, and of one in a word
    core_lengths : (cores,) int32, characters of each core
    prefixes, suffixes : TokenTable, all but the empty ones
    classes : ClassTable, see tuple_words
    rules : (TUPLE_RULES_SIZE,) int64
    """

    merges: MergeTable
    page_numbers: NDArray[np.uint16]
    plain: NDArray[np.int32]
    folded: NDArray[np.int32]
    core_lengths: NDArray[np.int32]
    prefixes: TokenTable
    suffixes: TokenTable
    classes: ClassTable
    rules: NDArray[np.int64]


class TupleScratch(NamedTuple):
    """Room for words and gaps of up to n bytes; what it holds between two calls means nothing.

    merging : MergeScratch, for n tokens
    flags : (n + 8,) uint8, what folding did to each character
    pieces : (n + 8,) int32
    """

    merging: MergeScratch
    flags: NDArray[np.uint8]
    pieces: NDArray[np.int32]


@njit_inline
def find_character_entry(model: TupleModel, entries: NDArray[np.int32], code_point: int) -> int:
    """Return the entry of a character in model.plain or model.folded, int64.

    entries : (n pages * 256,) int32; code_point : int64, NOT_UTF8 included. Reads only.
    """
    page = np.int64(model.page_numbers[code_point >> CHARACTER_PAGE_BITS])
    return np.int64(entries[page << CHARACTER_PAGE_BITS | (code_point & _PAGE_MASK)])


@njit_inline
def choose_variation(flags: NDArray[np.uint8], first: int, length: int) -> int:
    """Return the variation of a piece, -1 if none gives its characters, int64.

    flags : (>= first + length,) uint8, what folding did; first, length : int64. Reads only.
    """
    any_flag = np.int64(0)
    all_flags = np.int64(FOLD_FLAGS)
    n_lacking = np.int64(0)
    n_upper = np.int64(0)
    for i in range(first, first + length):
        flag = np.int64(flags[i])
        any_flag |= flag
        all_flags &= flag
        n_upper += flag & IS_UPPER
        if flag & (IS_TRADITIONAL | HAS_TRADITIONAL) == HAS_TRADITIONAL:
            n_lacking += 1
    if any_flag & (IS_UPPER | IS_TRADITIONAL) == 0:
        return AS_IS
    if any_flag & IS_TRADITIONAL == 0:
        if n_upper == 1 and np.int64(flags[first]) & IS_UPPER != 0:
            return CAPITALISED
        return UPPER if all_flags & IS_UPPER != 0 else -1
    if any_flag & IS_UPPER == 0 and n_lacking == 0:
        return TRADITIONAL
    return -1


@njit_inline
def choose_single_variation(flag: int) -> int:
    """Return the variation of a character that stands for itself. flag, result : int64."""
    if flag & IS_UPPER != 0:
        return CAPITALISED
    return TRADITIONAL if flag & IS_TRADITIONAL != 0 else AS_IS


@njit_inline
def list_characters(
    model: TupleModel,
    scratch: TupleScratch,
    entries: NDArray[np.int32],
    text: NDArray[np.uint8],
    start: int,
    stop: int,
) -> int:
    """Write the core of each character, and what folding did to it; return how many, int64.

    entries : model.plain or model.folded, (n pages * 256,) int32
    text : (>= stop + TEXT_PADDING,) uint8; start, stop : int64. Writes merging.tokens and flags.
    """
    tokens, flags = scratch.merging.tokens, scratch.flags
    n_tokens = np.int64(0)
    position = np.int64(start)
    while position < stop:
        character = characters_decode(text, position, stop)
        entry = find_character_entry(model, entries, character >> 3)
        tokens[n_tokens] = np.int32(entry >> FOLD_BITS)
        flags[n_tokens] = np.uint8(entry & FOLD_FLAGS)
        n_tokens += 1
        position += character & 7
    return n_tokens


@njit
def tuple_encode_run(
    model: TupleModel,
    scratch: TupleScratch,
    entries: NDArray[np.int32],
    text: NDArray[np.uint8],
    start: int,
    stop: int,
    n_pieces: int,
) -> int:
    """Write the pieces of a word, or of a part of a gap, behind ``n_pieces`` of scratch.pieces.

    entries : model.folded for a word, model.plain for a gap, (n pages * 256,) int32
    text : (>= stop + TEXT_PADDING,) uint8; start < stop, n_pieces : int64; scratch has room for it
    Writes scratch. Returns how many pieces there are then, int64. O(n log n) for a long word.
    """
    merging, flags, pieces = scratch.merging, scratch.flags, scratch.pieces
    n_tokens = list_characters(model, scratch, entries, text, start, stop)
    merge_rank_pairs(model.merges, merging, n_tokens)
    n_tokens = merge_tokens(model.merges, merging, n_tokens)
    position = np.int64(start)
    first = np.int64(0)
    for i in range(n_tokens):
        core = np.int64(merging.tokens[i])
        # An unknown character is its bytes, a piece that no variation spells is its characters.
        length = np.int64(1)
        variation = np.int64(-1)
        if core != UNKNOWN:
            length = np.int64(model.core_lengths[core])
            variation = choose_variation(flags, first, length)
        if variation >= 0:
            pieces[n_pieces] = np.int32(core << VARIATION_BITS | variation)
            n_pieces += 1
        for j in range(first, first + length):
            character = characters_decode(text, position, stop)
            n_bytes = character & 7
            if core == UNKNOWN:
                for k in range(n_bytes):
                    byte = np.int64(text[position + k])
                    pieces[n_pieces] = np.int32(byte << VARIATION_BITS)
                    n_pieces += 1
            elif variation < 0:
                entry = find_character_entry(model, entries, character >> 3)
                single = choose_single_variation(np.int64(flags[j]))
                pieces[n_pieces] = np.int32(entry >> FOLD_BITS << VARIATION_BITS | single)
                n_pieces += 1
            position += n_bytes
        first += length
    return n_pieces


@njit
def tuple_find_white(model: TupleModel, text: NDArray[np.uint8], start: int, stop: int) -> int:
    """Return where the first white space of a gap begins, int64: where its punctuation ends.

    text : (>= stop + TEXT_PADDING,) uint8; start, stop : int64. Reads only. ``start`` if punctuation
    belongs to the next word.
    """
    position = np.int64(start)
    if model.rules[PUNCTUATION_TO_NEXT] == 1:
        return position
    while position < stop:
        character = characters_decode(text, position, stop)
        if character_find_class(model.classes, text, position, character) == FLAG_LOWER:
            break
        position += character & 7
    return position


@njit
def tuple_find_prefix(model: TupleModel, text: NDArray[np.uint8], start: int, stop: int) -> int:
    """Return the prefix that text[start:stop] ends with, the longest: ``bytes << 32 | row``; 0 if none.

    text : (>= stop + TEXT_PADDING,) uint8; start, stop : int64. Reads only; int64.
    """
    for n_bytes in range(min(stop - start, model.rules[LONGEST_PREFIX]), 0, -1):
        row = token_table_find(model.prefixes, text, stop - n_bytes, n_bytes)
        if row >= 0:
            return np.int64(n_bytes) << 32 | row
    return 0


@njit
def tuple_find_suffix(model: TupleModel, text: NDArray[np.uint8], start: int, stop: int) -> int:
    """Return the suffix that text[start:stop] begins with; see tuple_find_prefix.

    text : (>= stop + TEXT_PADDING,) uint8; start, stop : int64. Reads only; int64.
    """
    for n_bytes in range(min(stop - start, model.rules[LONGEST_SUFFIX]), 0, -1):
        row = token_table_find(model.suffixes, text, start, n_bytes)
        if row >= 0:
            return np.int64(n_bytes) << 32 | row
    return 0

"""One word to token ids, by all that a vocabulary says: its alphabet, its merges and its rules."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit, njit_inline
from numbpe_kernels.characters import (
    CharacterTable,
    characters_decode,
    characters_find_token,
)
from numbpe_kernels.folding import FoldTable
from numbpe_kernels.ranks import MergeScratch, MergeTable, merge_rank_pairs, merge_tokens
from numbpe_kernels.token_table import TokenTable, token_table_find
from numbpe_kernels.whole_words import WholeWords

CHARACTERS = 0
SHORTEST_TOKEN = 1
BYTE_FALLBACK = 2
UNKNOWN_ID = 3
FUSE_UNKNOWN = 4
USES_LANES = 5
CHARACTERS_USE_LANES = 6
RULES_SIZE = 7
"""Places in ``EncoderModel.rules``: 1 for a vocabulary over characters; the length of the shortest token in
``tokens``, NO_TOKENS if there is none; rules of the definition, UNKNOWN_ID -1 for none;
1 if the bytes of words may be merged in lanes: each of them is a token; and 1 if the characters of
words may be: no token has an id that merges do not know."""

NO_TOKENS = 1 << 62
"""A length that no word has."""


class EncoderModel(NamedTuple):
    """What a vocabulary says about words; only read, and shared by all threads.

    tokens : those that a word becomes that is spelled as they are, and need not be merged
    fallback_ids : (256,) int32, the token of each byte of a character without a token, -1 for none
    folds : characters that are laid into lanes as one token
    whole : tokens that short words are looked up among before anything else is done
    rules : (RULES_SIZE,) int64
    """

    merges: MergeTable
    characters: CharacterTable
    tokens: TokenTable
    fallback_ids: NDArray[np.int32]
    folds: FoldTable
    whole: WholeWords
    rules: NDArray[np.int64]


@njit_inline
def model_list_bytes(
    model: EncoderModel, scratch: MergeScratch, text: NDArray[np.uint8], start: int, stop: int
) -> int:
    """Write the tokens of the bytes of a word, and the ranks of neighbours; return how many, int64.

    text : (>= stop,) uint8; start, stop : int64. Writes scratch.tokens and scratch.entries.
    Returns -1 if a byte has no token.
    """
    merges = model.merges
    missing = np.int32(0)
    previous = np.int64(0)
    for i in range(stop - start):
        byte = np.int64(text[start + i])
        token = merges.byte_ids[byte]
        missing |= token
        scratch.tokens[i] = token
        if i > 0:
            scratch.entries[i - 1] = merges.byte_ranks[previous << 8 | byte]
        previous = byte
    return stop - start if missing >= 0 else -1


@njit
def model_list_known_bytes(
    model: EncoderModel, scratch: MergeScratch, text: NDArray[np.uint8], start: int, stop: int
) -> int:
    """Do as model_list_bytes for a word with bytes that have no token.

    text : (>= stop,) uint8; start, stop : int64. Writes scratch.tokens and scratch.entries.
    A byte without a token becomes the unknown one, or -1 - its position is returned.
    """
    n_tokens = 0
    was_unknown = False
    for position in range(start, stop):
        token = np.int64(model.merges.byte_ids[text[position]])
        is_unknown = token < 0
        if is_unknown:
            token = model.rules[UNKNOWN_ID]
            if token < 0:
                return -1 - np.int64(position)
        if not (is_unknown and was_unknown and model.rules[FUSE_UNKNOWN] == 1):
            scratch.tokens[n_tokens] = np.int32(token)
            n_tokens += 1
        was_unknown = is_unknown
    merge_rank_pairs(model.merges, scratch, n_tokens)
    return n_tokens


@njit
def model_list_characters(
    model: EncoderModel, scratch: MergeScratch, text: NDArray[np.uint8], start: int, stop: int
) -> int:
    """Write the tokens of the characters of a word; return how many, int64.

    text : (>= stop + TEXT_PADDING,) uint8; start, stop : int64. Writes scratch.tokens.
    A character without a token becomes the tokens of its bytes, if all are there, or the unknown
    token; where neither may be, -1 - its position is returned.
    """
    n_tokens = 0
    was_unknown = False
    position = np.int64(start)
    while position < stop:
        character = characters_decode(text, position, stop)
        n_bytes = character & 7
        token = characters_find_token(model.characters, character >> 3)
        is_unknown = False
        if token >= 0:
            scratch.tokens[n_tokens] = np.int32(token)
            n_tokens += 1
        else:
            is_unknown = model.rules[BYTE_FALLBACK] == 0
            for i in range(n_bytes):
                byte = model.fallback_ids[text[position + i]]
                is_unknown = is_unknown or byte < 0
                scratch.tokens[n_tokens + i] = byte
            if not is_unknown:
                n_tokens += n_bytes
            elif model.rules[UNKNOWN_ID] < 0:
                return -1 - position
            elif not (was_unknown and model.rules[FUSE_UNKNOWN] == 1):
                scratch.tokens[n_tokens] = np.int32(model.rules[UNKNOWN_ID])
                n_tokens += 1
        was_unknown = is_unknown
        position += n_bytes
    return n_tokens


@njit_inline
def model_encode_word(
    model: EncoderModel, scratch: MergeScratch, text: NDArray[np.uint8], start: int, stop: int
) -> int:
    """Write the ids of one word into scratch.tokens; return how many, int64.

    text : (>= stop + TEXT_PADDING,) uint8; start < stop, int64; scratch : for stop - start bytes
    Returns -1 - position of a byte or character without a token.
    """
    # A word that is a token, and is made by merging or need not be: most words that come up.
    if stop - start >= model.rules[SHORTEST_TOKEN]:
        token = token_table_find(model.tokens, text, start, stop - start)
        if token >= 0:
            scratch.tokens[0] = np.int32(token)
            return 1
    if model.rules[CHARACTERS] == 1:
        n_tokens = model_list_characters(model, scratch, text, start, stop)
        merge_rank_pairs(model.merges, scratch, n_tokens)
    else:
        n_tokens = model_list_bytes(model, scratch, text, start, stop)
        if n_tokens < 0:
            n_tokens = model_list_known_bytes(model, scratch, text, start, stop)
    if n_tokens < 2:
        return n_tokens
    return merge_tokens(model.merges, scratch, n_tokens)

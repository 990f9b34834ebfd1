"""Parts of text to token ids in one pass: cut, look each word up, merge those that are new.

Ids of words that were met before stand in a cache: the table of ``word_table`` with other contents.
Of a short word with up to three ids, COUNT holds the first two and PLACE the third and, in its upper
half, their number. All other words have their ids in ``cached_ids``: COUNT is ``n << 40 | place``,
and the upper half of PLACE is 0; of a long word PLACE says where its bytes are, as ever.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit
from numbpe_kernels.characters import (
    CharacterTable,
    characters_cut,
    characters_decode,
    characters_find_token,
)
from numbpe_kernels.ranks import MergeScratch, MergeTable, merge_rank_pairs, merge_tokens
from numbpe_kernels.scanner import Scanner, scanner_split
from numbpe_kernels.token_table import TokenTable, token_table_find
from numbpe_kernels.word_table import (
    ARENA_END,
    BATCH,
    COUNT,
    HIGH,
    LONG_MARK,
    N_WORDS,
    PLACE,
    WordTable,
    word_table_capacity,
    word_table_enter,
    word_table_hash,
    word_table_probe,
)

CUT_BY_PATTERN = 0
CUT_AT_JUNCTIONS = 1
CUT_NOWHERE = 2
"""How text becomes words: by the pattern; where no token can span; each part is one word."""

CUT = 0
CHARACTERS = 1
IGNORE_MERGES = 2
BYTE_FALLBACK = 3
UNKNOWN_ID = 4
FUSE_UNKNOWN = 5
RULES_SIZE = 6
"""Places in ``EncoderModel.rules``: one of CUT_*; 1 for a vocabulary over characters; and the
rules of the definition, UNKNOWN_ID -1 for none."""

PART = 0
POSITION = 1
N_ENDS = 2
N_DONE = 3
N_IDS = 4
CACHED_IDS_END = 5
NEEDED = 6
PROGRESS_SIZE = 7
"""Places in ``EncoderState.progress``: the part at hand; where its next word begins, -1 before the
part is begun; words cut and, of those, done; ids written; ids in ``cached_ids``; the position or the
size that the status speaks of."""

DONE = 0
CACHE_IS_FULL = 1
SCRATCH_IS_SMALL = 2
NO_TOKEN = 3
"""What ``encode_parts`` returns. After CACHE_IS_FULL and SCRATCH_IS_SMALL it is called again."""

MAX_CACHED_NBYTES = 256
"""Longer words are merged each time they are met."""

BATCH_NBYTES = BATCH * MAX_CACHED_NBYTES
"""Room in the arena, and ids in ``cached_ids``, that a batch may take."""

ID_SLACK = 3
"""Entries of ``ids_out`` that must be there behind the last id."""

SCRATCH_SLACK = 8
"""Entries of the arrays of scratch that must be there behind those of a word."""

_MAX_INLINE_IDS = 3
_PLACE_BITS = np.uint64(40)
_PLACE_MASK = np.uint64((1 << 40) - 1)
_HALF = np.uint64(32)
_ZERO = np.uint64(0)


class EncoderModel(NamedTuple):
    """What a vocabulary says about words; only read, and shared by all threads.

    fallback_ids : (256,) int32, the token of each byte of a character without a token, -1 for none
    rules : (RULES_SIZE,) int64
    """

    merges: MergeTable
    characters: CharacterTable
    tokens: TokenTable
    fallback_ids: NDArray[np.int32]
    rules: NDArray[np.int64]


class EncoderState(NamedTuple):
    """What one thread has of its own.

    cache : WordTable; cached_ids : (k,) uint32
    scratch : MergeScratch, for words of some length
    ends : (>= 128,) int64; level_stops : (levels,) int64, see automaton.automaton_split
    progress : (PROGRESS_SIZE,) int64
    """

    cache: WordTable
    cached_ids: NDArray[np.uint32]
    scratch: MergeScratch
    ends: NDArray[np.int64]
    level_stops: NDArray[np.int64]
    progress: NDArray[np.int64]


@njit
def encoder_list_bytes(
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
def encoder_list_known_bytes(
    model: EncoderModel, scratch: MergeScratch, text: NDArray[np.uint8], start: int, stop: int
) -> int:
    """Do as encoder_list_bytes for a word with bytes that have no token.

    text, start, stop : as there. A byte without a token becomes the unknown one, or
    -1 - its position is returned. Writes scratch.tokens and scratch.entries.
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
def encoder_list_characters(
    model: EncoderModel, scratch: MergeScratch, text: NDArray[np.uint8], start: int, stop: int
) -> int:
    """Write the tokens of the characters of a word, and the ranks of neighbours; return how many.

    text : (>= stop + TEXT_PADDING,) uint8; start, stop : int64. Writes scratch.tokens and
    scratch.entries; int64.
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
    merge_rank_pairs(model.merges, scratch, n_tokens)
    return n_tokens


@njit
def encoder_merge_word(
    model: EncoderModel, scratch: MergeScratch, text: NDArray[np.uint8], start: int, stop: int
) -> int:
    """Write the ids of one word into scratch.tokens; return how many, int64.

    text : (>= stop + TEXT_PADDING,) uint8; start < stop, int64; scratch : for stop - start bytes
    Returns -1 - position of a byte or character without a token.
    """
    if model.rules[IGNORE_MERGES] == 1:
        token = token_table_find(model.tokens, text, start, stop - start)
        if token >= 0:
            scratch.tokens[0] = np.int32(token)
            return 1
    if model.rules[CHARACTERS] == 1:
        n_tokens = encoder_list_characters(model, scratch, text, start, stop)
    else:
        n_tokens = encoder_list_bytes(model, scratch, text, start, stop)
        if n_tokens < 0:
            n_tokens = encoder_list_known_bytes(model, scratch, text, start, stop)
    if n_tokens < 2:
        return n_tokens
    return merge_tokens(model.merges, scratch, n_tokens)


@njit
def encoder_remember(state: EncoderState, row: np.uint64, n_tokens: int) -> None:
    """Write the ids in scratch.tokens into the row of their word, which was just entered.

    row : uint64; n_tokens : int64, at least 1. Writes cache rows, cached_ids and progress.
    """
    rows, tokens = state.cache.rows, state.scratch.tokens
    is_long = rows[row + HIGH] >= LONG_MARK
    if n_tokens <= _MAX_INLINE_IDS and not is_long:
        second = np.int64(tokens[1]) if n_tokens > 1 else 0
        third = np.int64(tokens[2]) if n_tokens > 2 else 0
        rows[row + COUNT] = np.uint64(tokens[0]) | np.uint64(second) << _HALF
        rows[row + PLACE] = np.uint64(third) | np.uint64(n_tokens) << _HALF
        return
    place = state.progress[CACHED_IDS_END]
    for i in range(n_tokens):
        state.cached_ids[place + i] = np.uint32(tokens[i])
    rows[row + COUNT] = np.uint64(place) | np.uint64(n_tokens) << _PLACE_BITS
    state.progress[CACHED_IDS_END] = place + n_tokens


@njit
def encoder_learn_word(
    model: EncoderModel,
    state: EncoderState,
    text: NDArray[np.uint8],
    start: int,
    stop: int,
    i: np.uint64,
    row: np.uint64,
) -> int:
    """Write the ids of a word that the cache lacks into scratch.tokens; return how many, int64.

    text : (>= stop + TEXT_PADDING,) uint8; start < stop, int64
    i, row : uint64, the word's place in its batch and the free row for it
    Writes scratch, and the cache if the word is not too long. Returns a status, negated, where it
    cannot go on: -SCRATCH_IS_SMALL or -NO_TOKEN.
    """
    length = stop - start
    if length > state.scratch.tokens.shape[0] - SCRATCH_SLACK:
        state.progress[NEEDED] = length
        return -SCRATCH_IS_SMALL
    n_tokens = encoder_merge_word(model, state.scratch, text, start, stop)
    if n_tokens < 0:
        state.progress[NEEDED] = -1 - n_tokens
        return -NO_TOKEN
    if length <= MAX_CACHED_NBYTES:
        word_table_enter(state.cache, text, start, i, row, _ZERO)
        encoder_remember(state, row, n_tokens)
    return n_tokens


@njit
def encoder_encode_words(
    model: EncoderModel,
    state: EncoderState,
    text: NDArray[np.uint8],
    ids_out: NDArray[np.uint32],
) -> int:
    """Write the ids of the words that are cut and not done; return a status, int64.

    text : (n,) uint8 with padding; ids_out : (>= n + ID_SLACK,) uint32, written from N_IDS on
    Writes state. Cost: about one cache miss a word that is not common.
    """
    cache, scratch, ends, progress = state.cache, state.scratch, state.ends, state.progress
    rows = cache.rows
    n_ids = progress[N_IDS]
    while progress[N_DONE] < progress[N_ENDS]:
        done = progress[N_DONE]
        n_batch = min(BATCH, progress[N_ENDS] - done)
        is_full = cache.state[N_WORDS] + n_batch > word_table_capacity(cache)
        is_full = is_full or cache.arena.shape[0] - cache.state[ARENA_END] < BATCH_NBYTES + 64
        if is_full or state.cached_ids.shape[0] - progress[CACHED_IDS_END] < BATCH_NBYTES:
            return CACHE_IS_FULL
        # Ask for the rows of all words of the batch before the first is needed.
        place = progress[POSITION]
        for i in range(n_batch):
            end = ends[done + i]
            word_table_hash(cache, text, place, end - place, np.uint64(i))
            place = end
        place = progress[POSITION]
        for i in range(n_batch):
            end = ends[done + i]
            row = word_table_probe(cache, text, place, np.uint64(i))
            if rows[row + HIGH] == _ZERO:
                n_tokens = encoder_learn_word(model, state, text, place, end, np.uint64(i), row)
                if n_tokens < 0:
                    return -n_tokens
                for j in range(n_tokens):
                    ids_out[n_ids + j] = np.uint32(scratch.tokens[j])
                n_ids += n_tokens
            else:
                first, last = rows[row + COUNT], rows[row + PLACE]
                n_inline = np.int64(last >> _HALF)
                if n_inline > 0:
                    ids_out[n_ids] = np.uint32(first)
                    ids_out[n_ids + 1] = np.uint32(first >> _HALF)
                    ids_out[n_ids + 2] = np.uint32(last)
                    n_ids += n_inline
                else:
                    source = np.int64(first & _PLACE_MASK)
                    n_tokens = np.int64(first >> _PLACE_BITS)
                    for j in range(n_tokens):
                        ids_out[n_ids + j] = state.cached_ids[source + j]
                    n_ids += n_tokens
            place = end
            progress[POSITION] = end
            progress[N_DONE] = done + i + 1
            progress[N_IDS] = n_ids
    return DONE


@njit
def encode_parts(
    scanner: Scanner,
    model: EncoderModel,
    state: EncoderState,
    text: NDArray[np.uint8],
    parts: NDArray[np.int64],
    ids_out: NDArray[np.uint32],
    offsets_out: NDArray[np.int64],
) -> int:
    """Write the ids of all parts; return a status, int64: one of DONE and so on.

    text : (n,) uint8 with padding
    parts : (p, 3) int64, starts, stops and the ids behind them, -1 for none
    ids_out : (>= bytes of the parts + p + ID_SLACK,) uint32
    offsets_out : (p + 1,) int64; entry i + 1 is the number of ids when part i is done
    Writes state, ids_out and offsets_out. progress: PART 0, POSITION -1, N_ENDS, N_DONE, N_IDS 0
    before the first call; CACHED_IDS_END is that of the cache. Linear but for new words.
    """
    progress, ends = state.progress, state.ends
    while progress[PART] < parts.shape[0]:
        part = progress[PART]
        stop = parts[part, 1]
        if progress[POSITION] < 0:
            progress[POSITION] = parts[part, 0]
        while True:
            status = encoder_encode_words(model, state, text, ids_out)
            if status != DONE:
                return status
            position = progress[POSITION]
            if position >= stop:
                break
            # Cut more.
            progress[N_DONE] = 0
            if model.rules[CUT] == CUT_BY_PATTERN:
                n_ends = scanner_split(scanner, state.level_stops, text, position, stop, ends)
            elif model.rules[CUT] == CUT_AT_JUNCTIONS:
                n_ends = characters_cut(model.characters, text, position, stop, ends)
            else:
                ends[0] = stop
                n_ends = 1
            progress[N_ENDS] = n_ends
        if parts[part, 2] >= 0:
            ids_out[progress[N_IDS]] = np.uint32(parts[part, 2])
            progress[N_IDS] += 1
        offsets_out[part + 1] = progress[N_IDS]
        progress[PART] = part + 1
        progress[POSITION] = -1
    return DONE

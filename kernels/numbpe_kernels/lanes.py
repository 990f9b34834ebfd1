"""Merging the bytes of many short words: several words in turn, one merge of each at a time.

The merges of one word wait for one another: the least rank, the token that it makes, the ranks of
that token with its neighbours, which lie somewhere in a table that no near cache holds. Words do not
wait for each other. So a few words stand in lanes, and a round makes one merge in each. First every lane
reads the slots that it asked for a round ago and chooses its merge; then every lane makes it, and
asks for the slots of the two new pairs, which arrive while the other lanes have their turns.

Tokens keep the place of their first byte. Which places still begin a token is one number of 64 bits:
the neighbours of a place are its next bits, and no list is linked. Where there is no neighbour the
place is -1 or 64, which hold NO_NEIGHBOUR: no merge joins that, so the ends of a word need no branch.
All numbers are uint64, of which none is tested for being negative.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit_inline
from numbpe_kernels.folding import FoldTable, fold_word
from numbpe_kernels.memory import (
    clear_lowest_one,
    count_leading_zeros,
    count_ones,
    count_trailing_zeros,
    find_least,
    make_opaque,
    prefetch,
)
from numbpe_kernels.ranks import (
    ID_BITS,
    MAX_MERGED_ID,
    NO_RANK,
    RANK_BITS,
    MergeTable,
    merge_table_hash,
    merge_table_key,
    merge_table_read,
)

N_LANES = 12
"""Words that are merged in turn: with eight the slots of large vocabularies come too late, with sixteen
fewer are at work on average, since a block has few new words."""

MAX_LANE_NBYTES = 48
"""Longest word of a lane."""

MAX_FOLDED_NBYTES = 3 * MAX_LANE_NBYTES
"""Longest word of which characters are folded: it stands in a lane if it has no more tokens then."""

LANE_STRIDE = 80
_START = 8
"""A lane's tokens begin at ``lane * LANE_STRIDE + _START``, so that -1 and 64 are places too."""

NO_NEIGHBOUR = MAX_MERGED_ID + 1
"""What stands beside the first and the last token of a word: an id that no merge joins."""

NUMBERS_STRIDE = 16
ALIVE = np.uint64(0)
SIZE = np.uint64(1)
WORD = np.uint64(2)
PLACE = np.uint64(3)
LEFT_KEY = np.uint64(4)
LEFT_SLOT = np.uint64(5)
RIGHT_KEY = np.uint64(6)
RIGHT_SLOT = np.uint64(7)
BEFORE = np.uint64(8)
PAIRS = np.uint64(9)
LEAST = np.uint64(10)
"""Columns of ``MergeLanes.numbers``: bit i of ALIVE is set where place i begins a token; the entries
to look at, a multiple of 16; which word it is; the place of the last merge, and of the two pairs that
it made, on its left and on its right, the keys and the slots where their search begins; the place of the
token before it, where the entry of the left pair belongs, as that of the right one does at PLACE;
how many entries, from the first on, hold slots instead; the entry of the merge that is made next."""

_PLACE_BITS = np.uint64(6)
_PLACE_MASK = np.uint64(63)
_NO_ENTRY = np.int32(NO_RANK << 6 | 63)
_NO_RANK = np.uint64(NO_RANK)
_STRIDE = np.uint64(LANE_STRIDE)
_BEGIN = np.uint64(_START)
_NUMBERS = np.uint64(NUMBERS_STRIDE)
_MAX_TOKENS = np.uint64(MAX_LANE_NBYTES)
_NO_PAIR = np.uint64((NO_NEIGHBOUR << ID_BITS | NO_NEIGHBOUR) << RANK_BITS)
_BLOCK = np.uint64(16)
_BLOCK_MASK = np.uint64(15)
_ONE = np.uint64(1)
_ZERO = np.uint64(0)
_BYTE_BITS = np.uint64(8)


class MergeLanes(NamedTuple):
    """Words in lanes.

    tokens : (N_LANES * LANE_STRIDE,) int32, token ids; NO_NEIGHBOUR at the places -1 and 64 of
        each lane
    entries : (N_LANES * LANE_STRIDE,) int32, at the place of a token ``rank << 6 | place`` of its
        pair with the next one
    numbers : (N_LANES * NUMBERS_STRIDE,) uint64, what else is known of a lane
    active, free : (N_LANES,) uint64, the lanes with a word and those without
    """

    tokens: NDArray[np.int32]
    entries: NDArray[np.int32]
    numbers: NDArray[np.uint64]
    active: NDArray[np.uint64]
    free: NDArray[np.uint64]


def make_lanes() -> MergeLanes:
    """Return empty lanes."""
    return MergeLanes(
        tokens=np.full(N_LANES * LANE_STRIDE, NO_NEIGHBOUR, dtype=np.int32),
        entries=np.full(N_LANES * LANE_STRIDE, _NO_ENTRY, dtype=np.int32),
        numbers=np.zeros(N_LANES * NUMBERS_STRIDE, dtype=np.uint64),
        active=np.zeros(N_LANES, dtype=np.uint64),
        free=np.arange(N_LANES, dtype=np.uint64),
    )


@njit_inline
def lanes_begin(
    lanes: MergeLanes, table: MergeTable, lane: np.uint64, word: np.uint64, n_tokens: np.uint64
) -> None:
    """Make a lane ready whose tokens and entries are there.

    lane, word, n_tokens : uint64, see lanes_load. Writes numbers.
    """
    numbers = lanes.numbers
    number = lane * _NUMBERS
    numbers[number + ALIVE] = (_ONE << n_tokens) - _ONE
    numbers[number + SIZE] = (n_tokens + _BLOCK_MASK - _ONE) & ~_BLOCK_MASK
    numbers[number + WORD] = word
    # No merge yet: the pairs whose ranks the first step reads are none.
    numbers[number + BEFORE] = _PLACE_MASK
    numbers[number + PLACE] = _PLACE_MASK
    numbers[number + LEFT_KEY] = _NO_PAIR
    numbers[number + LEFT_SLOT] = merge_table_hash(table, _NO_PAIR)
    numbers[number + RIGHT_KEY] = _NO_PAIR
    numbers[number + RIGHT_SLOT] = merge_table_hash(table, _NO_PAIR)


@njit_inline
def lanes_ask_ranks(
    lanes: MergeLanes, table: MergeTable, lane: np.uint64, word: np.uint64, n_tokens: np.uint64
) -> None:
    """Make a lane ready whose tokens are there, and ask for the ranks that lanes_rank writes.

    lane, word, n_tokens : uint64, n_tokens 1 to MAX_LANE_NBYTES, see lanes_load. Writes entries and numbers.
    """
    tokens, entries = lanes.tokens, lanes.entries
    base = lane * _STRIDE + _BEGIN
    last = base + n_tokens - _ONE
    for block in range(np.int64((n_tokens + _BLOCK_MASK - _ONE) >> np.uint64(4))):
        for i in range(16):
            entries[base + np.uint64(16 * block + i)] = _NO_ENTRY
    place = base
    while place < last:
        key = merge_table_key(np.uint64(tokens[place]), np.uint64(tokens[place + _ONE]))
        slot = merge_table_hash(table, key)
        prefetch(table.slots, slot)
        entries[place] = np.int32(slot)
        place += _ONE
    lanes_begin(lanes, table, lane, word, n_tokens)
    lanes.numbers[lane * _NUMBERS + PAIRS] = n_tokens - _ONE


@njit_inline
def lanes_load(
    lanes: MergeLanes,
    table: MergeTable,
    lane: np.uint64,
    word: np.uint64,
    text: NDArray[np.uint8],
    start: np.uint64,
    length: np.uint64,
) -> None:
    """Lay the bytes of a word into a lane.

    table : every byte has a token; lane, start, length : uint64, length 1 to MAX_LANE_NBYTES
    word : uint64, what lanes_get_word is to return; text : (>= start + length,) uint8
    Writes tokens, entries and numbers.
    """
    tokens, entries = lanes.tokens, lanes.entries
    base = lane * _STRIDE + _BEGIN
    last = base + length - _ONE
    size = (length + _BLOCK_MASK - _ONE) & ~_BLOCK_MASK
    for block in range(np.int64(size >> np.uint64(4))):
        for i in range(16):
            entries[base + np.uint64(16 * block + i)] = _NO_ENTRY
    left = np.uint64(text[start])
    place = base
    position = start
    while place < last:
        position += _ONE
        right = np.uint64(text[position])
        rank = table.byte_ranks[left << _BYTE_BITS | right]
        tokens[place] = table.byte_ids[left]
        entries[place] = rank << np.int32(6) | np.int32(place - base)
        left = right
        place += _ONE
    tokens[last] = table.byte_ids[left]
    lanes_begin(lanes, table, lane, word, length)


@njit_inline
def lanes_load_folded(
    lanes: MergeLanes,
    table: MergeTable,
    folds: FoldTable,
    lane: np.uint64,
    word: np.uint64,
    text: NDArray[np.uint8],
    start: np.uint64,
    length: np.uint64,
) -> bool:
    """Do as lanes_load with characters that fold as one token; return whether that may be.

    table, lane, word : as in lanes_load; folds : one of which some character folds
    text : (n,) uint8 with padding; start, length : uint64, length up to MAX_FOLDED_NBYTES
    It may not if no character folds, or if there are more than MAX_LANE_NBYTES tokens. Writes tokens,
    entries and numbers, which mean nothing then.
    """
    base = lane * _STRIDE + _BEGIN
    stop = start + length
    n_tokens = fold_word(folds, table.byte_ids, text, start, stop, lanes.tokens, base, _MAX_TOKENS)
    if n_tokens == min(length, _MAX_TOKENS + _ONE):
        return False
    lanes_ask_ranks(lanes, table, lane, word, n_tokens)
    return True


@njit_inline
def lanes_load_tokens(
    lanes: MergeLanes,
    table: MergeTable,
    lane: np.uint64,
    word: np.uint64,
    tokens: NDArray[np.int32],
    n_tokens: np.uint64,
) -> None:
    """Lay the tokens of a word into a lane.

    table, lane, word : as in lanes_load; tokens : (>= n_tokens,) int32, ids up to MAX_MERGED_ID
    n_tokens : uint64, 1 to MAX_LANE_NBYTES. Writes tokens, entries and numbers.
    """
    base = lane * _STRIDE + _BEGIN
    for i in range(n_tokens):
        lanes.tokens[base + np.uint64(i)] = tokens[np.uint64(i)]
    lanes_ask_ranks(lanes, table, lane, word, n_tokens)


@njit_inline
def lanes_rank(lanes: MergeLanes, table: MergeTable, lane: np.uint64) -> None:
    """Write the ranks of the pairs of a lane that lanes_ask_ranks has asked for.

    lane : uint64. Writes entries and numbers.
    """
    tokens, entries, numbers = lanes.tokens, lanes.entries, lanes.numbers
    base = lane * _STRIDE + _BEGIN
    number = lane * _NUMBERS
    n_pairs = numbers[number + PAIRS]
    place = _ZERO
    while place < n_pairs:
        left, right = tokens[base + place], tokens[base + place + _ONE]
        key = merge_table_key(np.uint64(left), np.uint64(right))
        rank = merge_table_read(table, key, np.uint64(entries[base + place]))
        entries[base + place] = np.int32(rank << _PLACE_BITS | place)
        place += _ONE
    numbers[number + PAIRS] = _ZERO


@njit_inline
def lanes_get_word(lanes: MergeLanes, lane: np.uint64) -> np.uint64:
    """Return which word stands in a lane, as was said when it was loaded. lane : uint64; uint64."""
    return lanes.numbers[lane * _NUMBERS + WORD]


@njit_inline
def lanes_choose(lanes: MergeLanes, table: MergeTable, lane: np.uint64) -> np.uint64:
    """Find the next merge of a lane, and note it; return whether there is one, uint64, 1 or 0.

    lane : uint64. Writes entries and numbers.
    """
    entries, numbers = lanes.entries, lanes.numbers
    base = lane * _STRIDE + _BEGIN
    number = lane * _NUMBERS
    # The ranks of the pairs that the last merge made, whose slots were asked for a round ago.
    left = merge_table_read(table, numbers[number + LEFT_KEY], numbers[number + LEFT_SLOT])
    right = merge_table_read(table, numbers[number + RIGHT_KEY], numbers[number + RIGHT_SLOT])
    before = numbers[number + BEFORE]
    place = numbers[number + PLACE]
    left_entry = np.int32(left << _PLACE_BITS | before & _PLACE_MASK)
    right_entry = np.int32(right << _PLACE_BITS | place)
    # Their entries hold none until now: to read what was just written would take long.
    least = min(find_least(entries, base), min(left_entry, right_entry))
    block = _BLOCK
    while block < numbers[number + SIZE]:
        least = min(least, find_least(entries, base + block))
        block += _BLOCK
    entries[base + before] = left_entry
    entries[base + place] = right_entry
    rank = np.uint64(least) >> _PLACE_BITS
    prefetch(table.results, min(rank, np.uint64(table.results.shape[0] - 1)))
    numbers[number + LEAST] = np.uint64(least)
    return np.uint64(rank != _NO_RANK)


@njit_inline
def lanes_merge(lanes: MergeLanes, table: MergeTable, lane: np.uint64) -> None:
    """Make the merge of a lane that lanes_choose has found.

    lane : uint64. Writes tokens, entries and numbers.
    """
    tokens, entries, numbers = lanes.tokens, lanes.entries, lanes.numbers
    base = lane * _STRIDE + _BEGIN
    number = lane * _NUMBERS
    least = numbers[number + LEAST]
    place = least & _PLACE_MASK
    token = np.uint64(table.results[least >> _PLACE_BITS])
    # The neighbours are the next bits on both sides; the one above is absorbed.
    alive = numbers[number + ALIVE]
    bit = _ONE << place
    above = alive & ~(bit | (bit - _ONE))
    absorbed = np.uint64(count_trailing_zeros(above))
    after = np.uint64(count_trailing_zeros(clear_lowest_one(above)))
    before = _PLACE_MASK - np.uint64(count_leading_zeros(alive & (bit - _ONE)))
    tokens[base + place] = np.int32(token)
    entries[base + before] = _NO_ENTRY
    entries[base + place] = _NO_ENTRY
    entries[base + absorbed] = _NO_ENTRY
    left_key = merge_table_key(np.uint64(tokens[base + before]), token)
    right_key = merge_table_key(token, np.uint64(tokens[base + after]))
    left_slot = merge_table_hash(table, left_key)
    right_slot = merge_table_hash(table, right_key)
    prefetch(table.slots, left_slot)
    prefetch(table.slots, right_slot)
    numbers[number + ALIVE] = alive ^ (_ONE << absorbed)
    numbers[number + BEFORE] = before
    numbers[number + PLACE] = place
    numbers[number + LEFT_KEY] = left_key
    numbers[number + LEFT_SLOT] = left_slot
    numbers[number + RIGHT_KEY] = right_key
    numbers[number + RIGHT_SLOT] = right_slot


@njit_inline
def lanes_round(
    lanes: MergeLanes, table: MergeTable, n_active: np.uint64, n_free: np.uint64
) -> tuple[np.uint64, np.uint64]:
    """Make a merge in each active lane; return how many lanes are active then, and how many free.

    n_active, n_free : uint64, how many there are before. The lanes whose words are done become free:
    they are ``free[n_free:]`` up to the number returned, to be unloaded before they are loaded again.
    Writes lanes.

    Choosing and making are loops of their own: in each few steps wait for one another, so that the
    processor works at several lanes at once. Whether a word is done is added to the number of lanes,
    which no branch has to foresee.
    """
    active, free = lanes.active, lanes.free
    n_going_on = _ZERO
    for i in range(n_active):
        lane = active[np.uint64(i)]
        goes_on = make_opaque(lanes_choose(lanes, table, lane))
        active[n_going_on] = lane
        free[n_free] = lane
        n_going_on += goes_on
        n_free += _ONE - goes_on
    for i in range(n_going_on):
        lanes_merge(lanes, table, active[np.uint64(i)])
    return n_going_on, n_free


@njit_inline
def lanes_unload(lanes: MergeLanes, lane: np.uint64, tokens_out: NDArray[np.int32]) -> int:
    """Write the tokens of a lane; return how many, int64.

    lane : uint64; tokens_out : (>= MAX_LANE_NBYTES,) int32. Three are written in any case: most words
    have no more, and how many cannot be foreseen.
    """
    base = lane * _STRIDE + _BEGIN
    alive = lanes.numbers[lane * _NUMBERS + ALIVE]
    n_tokens = count_ones(alive)
    for i in range(3):
        tokens_out[i] = lanes.tokens[base + np.uint64(count_trailing_zeros(alive))]
        alive = clear_lowest_one(alive)
    i = 3
    while alive != _ZERO:
        tokens_out[i] = lanes.tokens[base + np.uint64(count_trailing_zeros(alive))]
        alive = clear_lowest_one(alive)
        i += 1
    return n_tokens

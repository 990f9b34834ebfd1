"""The ids of words that were met before, in the rows of a word table.

Of a short word with up to three ids, COUNT holds the first two and PLACE the third and, in its upper
half, their number. All other words have their ids in an array behind one another: COUNT is
``n << 40 | place``, and the upper half of PLACE is 0; of a long word PLACE says where its bytes are,
as ever. A word whose ids are not there yet has 0 in COUNT and in the upper half of PLACE.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit, njit_inline
from numbpe_kernels.word_table import (
    ARENA_END,
    COUNT,
    HIGH,
    LONG_MARK,
    LONGEST_BATCH,
    N_WORDS,
    PLACE,
    WordTable,
    word_table_capacity,
)

MAX_CACHED_NBYTES = 256
"""Longer words are merged each time they are met."""

BATCH_NBYTES = LONGEST_BATCH * MAX_CACHED_NBYTES
"""Room in the arena, and ids in ``ids``, that a batch may take."""

CACHE_SALT = np.uint64(0x2D358DCCAA6C78A5)
"""The salt of the table of a cache: words often come in the order of a table that counted them."""

IDS_END = 0
CACHE_STATE_SIZE = 1

_MAX_INLINE_IDS = 3
_SPARSE_SIZE = 1 << 20  # entries of rows: 8 MiB
_PLACE_BITS = np.uint64(40)
_PLACE_MASK = np.uint64((1 << 40) - 1)
HALF = np.uint64(32)


class WordCache(NamedTuple):
    """Rows of words, and the ids that do not fit into them.

    table : WordTable; ids : (k,) uint32; state : (CACHE_STATE_SIZE,) int64, ids in use
    """

    table: WordTable
    ids: NDArray[np.uint32]
    state: NDArray[np.int64]


@njit_inline
def word_cache_remember(
    cache: WordCache, row: np.uint64, tokens: NDArray[np.int32], n_tokens: int
) -> None:
    """Write the ids of a word into its row, which was just entered.

    row : uint64; tokens : (>= 3,) int32; n_tokens : int64, at least 1. Writes rows, ids and state.
    """
    rows = cache.table.rows
    if n_tokens <= _MAX_INLINE_IDS and rows[row + HIGH] < LONG_MARK:
        # What stands behind the last id may be anything: as many are read as there are.
        first, second = np.uint64(np.uint32(tokens[0])), np.uint64(np.uint32(tokens[1]))
        rows[row + COUNT] = first | second << HALF
        rows[row + PLACE] = np.uint64(np.uint32(tokens[2])) | np.uint64(n_tokens) << HALF
        return
    place = cache.state[IDS_END]
    for i in range(n_tokens):
        cache.ids[place + i] = np.uint32(tokens[i])
    rows[row + COUNT] = np.uint64(place) | np.uint64(n_tokens) << _PLACE_BITS
    cache.state[IDS_END] = place + n_tokens


@njit_inline
def word_cache_recall(
    cache: WordCache, row: np.uint64, ids_out: NDArray[np.uint32], n_ids: int
) -> int:
    """Write the ids of the word in a row behind the first ``n_ids``; return how many there are then.

    row : uint64; ids_out : (>= n_ids + ids of the word + 3,) uint32; n_ids : int64; int64
    """
    first = cache.table.rows[row + COUNT]
    last = cache.table.rows[row + PLACE]
    n_inline = np.int64(last >> HALF)
    if n_inline > 0:
        ids_out[n_ids] = np.uint32(first)
        ids_out[n_ids + 1] = np.uint32(first >> HALF)
        ids_out[n_ids + 2] = np.uint32(last)
        return n_ids + n_inline
    source = np.int64(first & _PLACE_MASK)
    n_tokens = np.int64(first >> _PLACE_BITS)
    for j in range(n_tokens):
        ids_out[n_ids + j] = cache.ids[source + j]
    return n_ids + n_tokens


@njit
def word_cache_capacity(table: WordTable) -> int:
    """Return how many words the cache takes, int64. Reads only.

    Three eighths of its rows, half of what the table would take: nearly all words then stand in the
    first row that is looked at, and which row it is need not be foreseen. A table that no near cache
    holds is filled, since its words are far in any case.
    """
    capacity = word_table_capacity(table)
    return capacity // 2 if table.rows.shape[0] <= _SPARSE_SIZE else capacity


@njit_inline
def word_cache_has_room(cache: WordCache, n_pending: int) -> bool:
    """Return whether a batch finds room in the cache. Reads only.

    n_pending : int64, bytes of new words whose ids are not there yet
    """
    table = cache.table
    return (
        table.state[N_WORDS] + LONGEST_BATCH <= word_cache_capacity(table)
        and table.arena.shape[0] - table.state[ARENA_END] >= BATCH_NBYTES + 64
        and cache.ids.shape[0] - cache.state[IDS_END] - n_pending >= BATCH_NBYTES
    )

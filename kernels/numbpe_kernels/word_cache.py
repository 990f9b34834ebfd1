"""The ids of words that were met before, in the rows of a word table.

Of a short word with up to five ids below 2**21, COUNT holds the first three and PLACE two more and, above
them, their number. All other words have their ids in an array behind one another: COUNT is
``n << 40 | place``, and the upper third of PLACE is 0; of a long word PLACE says where its bytes are, as
ever. A word whose ids are not there yet has 0 in COUNT and in the upper third of PLACE.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit, njit_inline
from numbpe_kernels.packed_rows import PACKED_BITS, unpack_ids
from numbpe_kernels.word_keys import LONG_MARK
from numbpe_kernels.word_table import (
    ARENA_END,
    COUNT,
    HIGH,
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

INLINE_COUNT = np.uint64(2 * PACKED_BITS)
"""Where the number of ids stands in PLACE."""

COPY_STEP = 4
"""Ids that are copied at once: entries that must be there behind the last."""

_MAX_INLINE_IDS = 5
_IDS_OF_COUNT = 3
_SPARSE_SIZE = 1 << 20  # entries of rows: 8 MiB
_PLACE_BITS = np.uint64(40)
_PLACE_MASK = np.uint64((1 << 40) - 1)
_ID_BITS = np.uint64(PACKED_BITS)
_ID_MASK = np.uint64((1 << PACKED_BITS) - 1)
_ZERO = np.uint64(0)
_FOUR = np.uint64(4)
_STEP = np.uint64(COPY_STEP)


class WordCache(NamedTuple):
    """Rows of words, and the ids that do not fit into them.

    table : WordTable; ids : (k,) uint32, with COPY_STEP entries behind those in use
    state : (CACHE_STATE_SIZE,) int64, ids in use
    """

    table: WordTable
    ids: NDArray[np.uint32]
    state: NDArray[np.int64]


@njit_inline
def word_cache_remember(
    cache: WordCache, row: np.uint64, tokens: NDArray[np.int32], n_tokens: int
) -> None:
    """Write the ids of a word into its row, which was just entered.

    row : uint64; tokens : (>= 5,) int32; n_tokens : int64, at least 1. Writes rows, ids and state.
    """
    rows = cache.table.rows
    if n_tokens <= _MAX_INLINE_IDS and rows[row + HIGH] < LONG_MARK:
        # What stands behind the last id may be anything, and is written without asking.
        n = np.uint64(n_tokens)
        every = head = tail = _ZERO
        for i in range(_MAX_INLINE_IDS):
            token = np.uint64(np.uint32(tokens[i]))
            every |= token * np.uint64(np.uint64(i) < n)
            if i < _IDS_OF_COUNT:
                head |= (token & _ID_MASK) << np.uint64(PACKED_BITS * i)
            else:
                tail |= (token & _ID_MASK) << np.uint64(PACKED_BITS * (i - _IDS_OF_COUNT))
        if every <= _ID_MASK:
            rows[row + COUNT] = head
            rows[row + PLACE] = tail | n << INLINE_COUNT
            return
    place = cache.state[IDS_END]
    for i in range(n_tokens):
        cache.ids[place + i] = np.uint32(tokens[i])
    rows[row + COUNT] = np.uint64(place) | np.uint64(n_tokens) << _PLACE_BITS
    cache.state[IDS_END] = place + n_tokens


@njit_inline
def word_cache_unpack(
    rows: NDArray[np.uint64], row: np.uint64, ids_out: NDArray[np.uint32], n_ids: np.uint64
) -> None:
    """Write the ids that stand in a row behind the first ``n_ids``: five, however many there are.

    rows : (m,) uint64; row, n_ids : uint64; ids_out : (>= n_ids + 5,) uint32
    """
    unpack_ids(rows, row + COUNT, ids_out, n_ids)
    ids_out[n_ids + _FOUR] = np.uint32(rows[row + PLACE] >> _ID_BITS & _ID_MASK)


@njit_inline
def word_cache_copy_ids(
    cache: WordCache, row: np.uint64, ids_out: NDArray[np.uint32], n_ids: np.uint64
) -> np.uint64:
    """Write the ids of a word that do not stand in its row; see word_cache_recall.

    row, n_ids : uint64; ids_out : (>= n_ids + ids of the word + COPY_STEP,) uint32; uint64
    """
    place = cache.table.rows[row + COUNT]
    source = place & _PLACE_MASK
    n_tokens = place >> _PLACE_BITS
    i = _ZERO
    while i < n_tokens:
        for j in range(COPY_STEP):
            ids_out[n_ids + i + np.uint64(j)] = cache.ids[source + i + np.uint64(j)]
        i += _STEP
    return n_ids + n_tokens


@njit_inline
def word_cache_recall(
    cache: WordCache, row: np.uint64, ids_out: NDArray[np.uint32], n_ids: np.uint64
) -> np.uint64:
    """Write the ids of the word in a row behind the first ``n_ids``; return how many there are then.

    row, n_ids : uint64; ids_out : (>= n_ids + ids of the word + COPY_STEP,) uint32; uint64
    """
    n_inline = cache.table.rows[row + PLACE] >> INLINE_COUNT
    if n_inline == _ZERO:
        return word_cache_copy_ids(cache, row, ids_out, n_ids)
    word_cache_unpack(cache.table.rows, row, ids_out, n_ids)
    return n_ids + n_inline


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
        and cache.ids.shape[0] - cache.state[IDS_END] - n_pending >= BATCH_NBYTES + COPY_STEP
    )

"""Greedy byte-pair merges over a corpus of weighted words, with exact incremental counts.

The corpus is one array of cells, one cell per alphabet symbol, with -1 before, between and after
the words. A token of k cells keeps its number in its first and in its last cell, so that both
neighbours of a token are one look-up away and nothing is ever moved; cells inside a token hold
remains of earlier ones. Where a merge swallows a token of several cells, the swallowed start is
set to SWALLOWED, which makes ``cells[p] == left and cells[p + length(left)] == right`` an exact
test of whether an occurrence of a pair still stands: tokens only grow, so an old last cell is
never mistaken for a start.

All occurrences of a pair are written once, when the pair is born, as one ascending slice of the
pool. The slice only loses members, and they are tested when it is walked. A pair's count can only
fall after its birth. Pairs whose count is below the floor have no list, no row in the table and no
heap entry; when the heap runs dry, the caller lowers the floor and lists the pairs anew.
"""

import numpy as np

from numbpe_kernels._jit import njit, njit_inline
from numbpe_kernels.heap import heap_sift_down
from numbpe_kernels.memory import prefetch
from numbpe_kernels.pair_births import (
    trainer_clear_neighbours,
    trainer_list_newborn,
    trainer_update_counts,
)
from numbpe_kernels.pair_table import (
    COUNT,
    FIRST,
    KEY,
    LENGTH,
    ROW_WIDTH,
    pair_key,
    pair_left,
    pair_right,
    pair_table_find,
    pair_table_prefetch,
)
from numbpe_kernels.training_state import (
    FLOOR,
    HEAP_SIZE,
    N_LEFT,
    N_MERGES,
    N_RIGHT,
    N_TOKENS,
    NEIGHBOUR_SHIFT,
    POOL_END,
    PREFETCH_DISTANCE,
    RIGHT_PLACE,
    RIGHT_WEIGHT,
    SEPARATOR,
    STATUS_CONTENTS_FULL,
    STATUS_DRY,
    STATUS_FINISHED,
    STATUS_HEAP_FULL,
    STATUS_PAUSED,
    STATUS_POOL_FULL,
    STATUS_TABLE_FULL,
    SWALLOWED,
    TABLE_FILL,
    Trainer,
    cells_run_at,
)

_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_TWO = np.uint64(2)
_SHIFT = np.uint64(NEIGHBOUR_SHIFT)
_AHEAD = np.uint64(PREFETCH_DISTANCE)


@njit_inline
def trainer_weigh(
    trainer: Trainer,
    token: int,
    side: np.uint64,
    n_met: np.uint64,
    weight: int,
    lost: int,
    born: int,
) -> np.uint64:
    """Add an occurrence to the columns of a token on the left (side 0) or right (side 1) of a merge.

    token, weight : int64; side, n_met : uint64, n_met tokens being listed in touched[side]
    lost, born : int64, the keys of the pairs that the merge ends and makes there
    Writes neighbours and touched. Returns how many tokens are listed then, uint64.
    """
    neighbours = trainer.neighbours
    # A side has two columns, weight and place, those of the left first.
    columns = (np.uint64(token) << _SHIFT) + (side << _ONE)
    if neighbours[columns + _ONE] == 0:
        trainer.touched[side, n_met] = np.int32(token)
        n_met += _ONE
        # Their counts are changed next.
        pair_table_prefetch(trainer.table, lost)
        pair_table_prefetch(trainer.table, born)
    neighbours[columns] += weight
    neighbours[columns + _ONE] += 1
    return n_met


@njit
def trainer_merge_occurrences(trainer: Trainer, key: int, first: np.uint64, stop: np.uint64) -> int:
    """Merge every standing occurrence of a pair and weigh its neighbours.

    key : int64, the pair; first, stop : uint64, its slice of the pool
    Writes corpus.cells; packs the places that were merged into pool[first:first + n]. Adds weight
    and number of the occurrences to the left columns of the token on the left and to the right
    columns of the token on the right as it was before its own merge; where the left neighbour is
    the new token, to the right columns of the new token instead. Lists the tokens it met in
    touched[0] and touched[1], and how many in state[N_LEFT] and state[N_RIGHT]. Writes the tokens
    beside each new token, as they are when all is merged, to beside.
    Returns n, int64.
    Cost: one pass over the slice, two or three cache lines an occurrence.
    """
    corpus, cells, pool = trainer.corpus, trainer.corpus.cells, trainer.pool
    neighbours, beside = trainer.neighbours, trainer.beside
    left, right, new = pair_left(key), pair_right(key), trainer.state[N_TOKENS]
    new_columns = np.uint64(new) << _SHIFT
    left_length = np.uint64(trainer.lengths[left])
    new_length = left_length + np.uint64(trainer.lengths[right])
    swallows_start = trainer.lengths[right] > 1
    n_left = n_right = _ZERO
    merged = first
    place_beside = _ZERO
    run = run_stop = _ZERO
    weight = 0
    for i in range(first, min(stop, first + _AHEAD)):
        prefetch(cells, np.uint64(pool[i]))
    for i in range(first, stop):
        prefetch(cells, np.uint64(pool[i + _AHEAD]))
        place = np.uint64(pool[i])
        middle = place + left_length
        if cells[place] != left or cells[middle] != right:
            continue
        if place >= run_stop:
            run = cells_run_at(corpus, place, run)
            run_stop = np.uint64(corpus.run_starts[run + _ONE])
            weight = corpus.run_counts[run]
        # Write the new token; the order matters where it swallows a token of one cell.
        behind = place + new_length
        if swallows_start:
            cells[middle] = np.int32(SWALLOWED)
        cells[place] = np.int32(new)
        cells[behind - _ONE] = np.int32(new)
        pool[merged] = np.int32(place)
        merged += _ONE
        # The old pairs with both neighbours are gone.
        before = np.int64(cells[place - _ONE])
        beside[place_beside] = np.int32(before)
        if before == new:
            # It was another token when that one was merged.
            beside[place_beside - _ONE] = np.int32(new)
            neighbours[new_columns + RIGHT_WEIGHT] += weight
            neighbours[new_columns + RIGHT_PLACE] += 1
        elif before != SEPARATOR:
            lost, born = pair_key(before, left), pair_key(before, new)
            n_left = trainer_weigh(trainer, before, _ZERO, n_left, weight, lost, born)
        after = np.int64(cells[behind])
        beside[place_beside + _ONE] = np.int32(after)
        place_beside += _TWO
        if after != SEPARATOR:
            lost, born = pair_key(right, after), pair_key(new, after)
            n_right = trainer_weigh(trainer, after, _ONE, n_right, weight, lost, born)
    trainer.state[N_LEFT] = np.int64(n_left)
    trainer.state[N_RIGHT] = np.int64(n_right)
    return np.int64(merged - first)


@njit
def trainer_name_token(trainer: Trainer, key: int) -> None:
    """Enter the length, symbols and prefix of the token that the pair ``key`` makes.

    key : int64. Writes lengths, order.contents, order.offsets and order.prefixes at the next
    token; the contents have room for it. O(length).
    """
    order = trainer.order
    left = pair_left(key)
    right = pair_right(key)
    new = trainer.state[N_TOKENS]
    trainer.lengths[new] = trainer.lengths[left] + trainer.lengths[right]
    target = order.offsets[new]
    for token in (left, right):
        for i in range(order.offsets[token], order.offsets[token + 1]):
            order.contents[target] = order.contents[i]
            target += 1
    order.offsets[new + 1] = target
    # A symbol takes symbol_bits of the prefix: 8 over bytes, 32 over any other alphabet.
    bits = order.symbol_bits
    in_prefix = 64 // np.int64(bits)
    prefix = order.prefixes[left]
    taken = np.int64(trainer.lengths[left])
    if taken < in_prefix:
        prefix |= order.prefixes[right] >> (np.uint64(taken) * bits)
    order.prefixes[new] = prefix


@njit
def trainer_find_best(trainer: Trainer) -> int:
    """Bring the pair to merge next to the top of the heap.

    Writes heap and heap size: entries whose pair has lost occurrences sink to their present
    count, or go where that is below the floor. Returns the pair's row in the table, int64, or -1
    where the heap ran dry.
    """
    state = trainer.state
    heap = trainer.heap
    rows = trainer.table.rows
    while state[HEAP_SIZE] > 0:
        key = heap.keys[0]
        row = pair_table_find(trainer.table, key)
        count = rows[row + COUNT] if rows[row + KEY] == key else 0
        if count == heap.counts[0]:
            return row
        if count >= state[FLOOR]:
            heap.counts[0] = count
        else:
            last = state[HEAP_SIZE] - 1
            heap.counts[0] = heap.counts[last]
            heap.keys[0] = heap.keys[last]
            state[HEAP_SIZE] = last
        if state[HEAP_SIZE] > 0:
            heap_sift_down(heap, trainer.order, 0, state[HEAP_SIZE])
            # One of these comes to the top next; a heap has room for many more.
            pair_table_prefetch(trainer.table, heap.keys[1])
            pair_table_prefetch(trainer.table, heap.keys[2])
    return -1


@njit
def trainer_find_shortage(trainer: Trainer, key: int, length: int) -> int:
    """Return the status that names the first structure without room for a merge, or PAUSED.

    key : int64, the pair; length : int64, the length of its slice. Reads only.
    """
    state = trainer.state
    births = 2 * min(length, state[N_TOKENS]) + 1
    if state[POOL_END] + 2 * length > (trainer.pool.shape[0] - PREFETCH_DISTANCE):
        return STATUS_POOL_FULL
    # Half-full tables keep probes short.
    if 2 * (state[TABLE_FILL] + births) > np.int64(trainer.table.rows.shape[0] // ROW_WIDTH):
        return STATUS_TABLE_FULL
    if state[HEAP_SIZE] + births > trainer.heap.counts.shape[0]:
        return STATUS_HEAP_FULL
    new_length = trainer.lengths[pair_left(key)] + trainer.lengths[pair_right(key)]
    contents_end = trainer.order.offsets[state[N_TOKENS]]
    if contents_end + new_length > trainer.order.contents.shape[0]:
        return STATUS_CONTENTS_FULL
    return STATUS_PAUSED


@njit
def trainer_merge(trainer: Trainer, max_work: int) -> int:
    """Merge pairs, the most frequent first, until all merges are done or something is in the way.

    max_work : int64, pause once this many occurrences were looked at
    Writes everything but the number of merges wanted, which is the length of trainer.merges.
    Returns one of the statuses, int64. After STATUS_*_FULL the caller gives that structure more
    room, after STATUS_DRY it lowers the floor, and calls again.
    """
    state = trainer.state
    rows = trainer.table.rows
    work = 0
    while state[N_MERGES] < trainer.merges.shape[0]:
        if work > max_work:
            return STATUS_PAUSED
        row = trainer_find_best(trainer)
        if row < 0:
            return STATUS_DRY
        key = rows[row + KEY]
        first = rows[row + FIRST]
        length = rows[row + LENGTH]
        status = trainer_find_shortage(trainer, key, length)
        if status != STATUS_PAUSED:
            return status
        done = state[N_MERGES]
        trainer.merges[done, 0] = np.int32(pair_left(key))
        trainer.merges[done, 1] = np.int32(pair_right(key))
        trainer.merge_counts[done] = rows[row + COUNT]
        rows[row + COUNT] = 0
        trainer_name_token(trainer, key)
        begin = np.uint64(first)
        n_merged = trainer_merge_occurrences(trainer, key, begin, begin + np.uint64(length))
        if trainer_update_counts(trainer, key):
            trainer_list_newborn(trainer, state[N_TOKENS], begin, begin + np.uint64(n_merged))
        trainer_clear_neighbours(trainer)
        state[N_TOKENS] += 1
        state[N_MERGES] = done + 1
        work += length + 64
    return STATUS_FINISHED

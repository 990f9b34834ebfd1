"""What a merge does to pairs: those that it ended lose their count, those that it made are born.

It goes by what merging has left in the columns of the neighbours; see training.
"""

import numpy as np

from numbpe_kernels._jit import njit
from numbpe_kernels.heap import heap_sift_up
from numbpe_kernels.pair_table import (
    COUNT,
    EMPTY_KEY,
    FIRST,
    KEY,
    LENGTH,
    pair_key,
    pair_left,
    pair_right,
    pair_table_find,
)
from numbpe_kernels.training_state import (
    FLOOR,
    HEAP_SIZE,
    LEFT_PLACE,
    LEFT_WEIGHT,
    MAX_CELLS,
    N_LEFT,
    N_RIGHT,
    N_TOKENS,
    NEIGHBOUR_SHIFT,
    POOL_END,
    RIGHT_PLACE,
    RIGHT_WEIGHT,
    SEPARATOR,
    TABLE_FILL,
    Trainer,
)

_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_TWO = np.uint64(2)
_SHIFT = np.uint64(NEIGHBOUR_SHIFT)


@njit
def trainer_bear_pair(trainer: Trainer, left: int, right: int, weight: int, number: int) -> int:
    """Give a newborn pair its row, its heap entry and its slice of the pool, if it is worth one.

    left, right, weight, number : int64; the pair is not in the table yet
    Writes table, heap and state. Returns the start of its slice, int64, or -1 where the pair is
    below the floor or its token would be too long. O(log heap).
    """
    state = trainer.state
    if weight < state[FLOOR] or number == 0:
        return -1
    cells = np.int64(trainer.lengths[left]) + np.int64(trainer.lengths[right])
    if cells > state[MAX_CELLS]:
        return -1
    key = pair_key(left, right)
    row = pair_table_find(trainer.table, key)
    first = state[POOL_END]
    rows = trainer.table.rows
    rows[row + KEY] = key
    rows[row + COUNT] = weight
    rows[row + FIRST] = first
    rows[row + LENGTH] = number
    state[TABLE_FILL] += 1
    state[POOL_END] = first + number
    place = state[HEAP_SIZE]
    trainer.heap.counts[place] = weight
    trainer.heap.keys[place] = key
    state[HEAP_SIZE] = place + 1
    heap_sift_up(trainer.heap, trainer.order, place)
    return first


@njit
def trainer_update_counts(trainer: Trainer, key: int) -> bool:
    """Take away the pairs that a merge ended and bear those that it made.

    key : int64, the pair merged by trainer_merge_occurrences just before
    Writes table, heap and state, and puts into the place columns of the touched neighbours where
    the occurrences of the newborn pair are to be written, or -1. Returns whether any is.
    Cost: two probes for each distinct neighbour.
    """
    neighbours = trainer.neighbours
    left = pair_left(key)
    right = pair_right(key)
    new = trainer.state[N_TOKENS]
    n_left = trainer.state[N_LEFT]
    n_both = n_left + trainer.state[N_RIGHT]
    twin = np.uint64(new) << _SHIFT
    any_born = False
    # One loop for left neighbours, right neighbours and the new token as its own right neighbour:
    # each function called here is compiled into it once.
    for i in range(n_both + 1):
        newborn_left = new
        newborn_right = new
        columns = twin + RIGHT_WEIGHT
        lost = EMPTY_KEY
        if i < n_left:
            newborn_left = np.int64(trainer.touched[0, i])
            columns = (np.uint64(newborn_left) << _SHIFT) + LEFT_WEIGHT
            lost = pair_key(newborn_left, left)
        elif i < n_both:
            newborn_right = np.int64(trainer.touched[1, i - n_left])
            columns = (np.uint64(newborn_right) << _SHIFT) + RIGHT_WEIGHT
            lost = pair_key(right, newborn_right)
        weight = neighbours[columns]
        number = neighbours[columns + _ONE]
        if lost != EMPTY_KEY:
            row = pair_table_find(trainer.table, lost)
            if trainer.table.rows[row + KEY] == lost:
                trainer.table.rows[row + COUNT] -= weight
        if newborn_left == new and newborn_right == left and i < n_both:
            # Those that were themselves merged afterwards stand beside the new token as its twin.
            weight -= neighbours[twin + RIGHT_WEIGHT]
            number -= neighbours[twin + RIGHT_PLACE]
        first = trainer_bear_pair(trainer, newborn_left, newborn_right, weight, number)
        neighbours[columns + _ONE] = first
        any_born = any_born or first >= 0
    return any_born


@njit
def trainer_list_newborn(trainer: Trainer, new: int, first: np.uint64, stop: np.uint64) -> None:
    """Write the occurrences of the newborn pairs into their slices, in ascending order.

    new : int64, the new token; first, stop : uint64, the slice of places that were merged
    Reads beside and places; writes the pool and advances the place columns. One pass.
    """
    beside, pool, neighbours = trainer.beside, trainer.pool, trainer.neighbours
    place_beside = _ZERO
    for i in range(first, stop):
        place = pool[i]
        before = np.int64(beside[place_beside])
        if before != SEPARATOR and before != new:
            column = (np.uint64(before) << _SHIFT) + LEFT_PLACE
            target = neighbours[column]
            if target >= 0:
                pool[np.uint64(target)] = place - trainer.lengths[np.uint64(before)]
                neighbours[column] = target + 1
        after = np.int64(beside[place_beside + _ONE])
        place_beside += _TWO
        if after != SEPARATOR:
            column = (np.uint64(after) << _SHIFT) + RIGHT_PLACE
            target = neighbours[column]
            if target >= 0:
                pool[np.uint64(target)] = place
                neighbours[column] = target + 1


@njit
def trainer_clear_neighbours(trainer: Trainer) -> None:
    """Set the rows of all touched tokens and of the new one back to 0. Writes neighbours."""
    neighbours, touched = trainer.neighbours, trainer.touched
    for i in range(np.uint64(trainer.state[N_LEFT])):
        columns = np.uint64(touched[_ZERO, i]) << _SHIFT
        neighbours[columns + LEFT_WEIGHT] = 0
        neighbours[columns + LEFT_PLACE] = 0
    for i in range(np.uint64(trainer.state[N_RIGHT])):
        columns = np.uint64(touched[_ONE, i]) << _SHIFT
        neighbours[columns + RIGHT_WEIGHT] = 0
        neighbours[columns + RIGHT_PLACE] = 0
    columns = np.uint64(trainer.state[N_TOKENS]) << _SHIFT
    neighbours[columns + RIGHT_WEIGHT] = 0
    neighbours[columns + RIGHT_PLACE] = 0

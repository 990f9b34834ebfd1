"""Ragged arrays: contents one after another, and n + 1 offsets of n items."""

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit
from numbpe_kernels.memory import prefetch

STEP = 8
"""Symbols that are written at once."""

_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_STEP = np.uint64(STEP)
_AHEAD = np.uint64(16)  # items between the one at hand and the one whose symbols are asked for


@njit
def csr_order_by_weight(
    offsets: NDArray[np.int64],
    cell_offsets: NDArray[np.int64],
    weights: NDArray[np.int64],
    bounds: NDArray[np.int64],
    n_cells_out: NDArray[np.int64],
    order_out: NDArray[np.int64],
) -> tuple[int, int]:
    """List the items of two symbols or more, the heaviest first, those of a weight as they stand.

    offsets : (n + 1,) int64, not decreasing; cell_offsets : (n + 1,) int64, the same in cells
    weights : (n,) int64, not negative
    bounds, n_cells_out : (w,) int64, zeros before, at least 2. Items of the weight w - 1 and more come first,
        as they stand. Written: scratch, and the cells that all items of a weight take, one more for each
    order_out : (n,) int64. Returns how many items it lists, and how many of them weigh w - 1 or more,
        int64 each. Cost: two passes.
    """
    n_items, last = np.uint64(weights.shape[0]), np.uint64(bounds.shape[0] - 1)
    for item in range(n_items):
        if offsets[item + _ONE] - offsets[item] > 1:
            weight = min(np.uint64(weights[item]), last)
            bounds[weight] += 1
            n_cells_out[weight] += cell_offsets[item + _ONE] - cell_offsets[item] + 1
    # Where the items of each weight begin: behind all those that weigh more.
    n_listed = 0
    for i in range(last + _ONE):
        weight = last - i
        n_listed += bounds[weight]
        bounds[weight] = n_listed - bounds[weight]
    n_heaviest = bounds[last - _ONE]
    for item in range(n_items):
        if offsets[item + _ONE] - offsets[item] > 1:
            weight = min(np.uint64(weights[item]), last)
            order_out[np.uint64(bounds[weight])] = np.int64(item)
            bounds[weight] += 1
    return n_listed, n_heaviest


@njit
def csr_count_cells(cell_offsets: NDArray[np.int64], order: NDArray[np.int64]) -> int:
    """Return the cells that some items take, one more for each, int64.

    cell_offsets : (n + 1,) int64, not decreasing; order : (k,) int64, the items. Reads only; one pass.
    """
    n_cells = order.shape[0]
    for i in range(np.uint64(order.shape[0])):
        item = np.uint64(order[i])
        n_cells += cell_offsets[item + _ONE] - cell_offsets[item]
    return n_cells


@njit
def csr_write_cells(
    contents: NDArray[np.uint8] | NDArray[np.int32],
    offsets: NDArray[np.int64],
    order: NDArray[np.int64],
    cells_out: NDArray[np.int32],
) -> None:
    """Write items as cells, each followed by -1, and -1 before the first.

    contents : (c,) uint8, or int32 over an alphabet that is not bytes; offsets : (n + 1,) int64, not decreasing
    order : (k,) int64, the items to write, in this order
    cells_out : (total + k + 1,) int32, total being the sum of the lengths of those items
    Writes cells_out; one pass.
    """
    n_items = np.uint64(order.shape[0])
    cells_out[_ZERO] = np.int32(-1)
    place = _ONE
    for i in range(n_items):
        if i + _AHEAD < n_items:
            prefetch(contents, offsets[np.uint64(order[i + _AHEAD])])
        item = np.uint64(order[i])
        begin, end = np.uint64(offsets[item]), np.uint64(offsets[item + _ONE])
        stop = place + (end - begin)
        if end + _STEP <= np.uint64(contents.shape[0]) and stop + _STEP <= np.uint64(
            cells_out.shape[0]
        ):
            # Some at once; what is written behind the item is written again.
            while place < stop:
                for j in range(STEP):
                    cells_out[place + np.uint64(j)] = np.int32(contents[begin + np.uint64(j)])
                place += _STEP
                begin += _STEP
        else:
            while place < stop:
                cells_out[place] = np.int32(contents[begin])
                place += _ONE
                begin += _ONE
        cells_out[stop] = np.int32(-1)
        place = stop + _ONE


@njit
def csr_write_tokens(
    tokens: NDArray[np.int32],
    offsets: NDArray[np.int64],
    lengths: NDArray[np.int32],
    inside: int,
    order: NDArray[np.int64],
    cells_out: NDArray[np.int32],
) -> None:
    """Do as csr_write_cells with items of tokens, each of which takes as many cells as it is long.

    tokens : (c,) int32; offsets, order : as in csr_write_cells
    lengths : (v,) int32, positive, the cells of each token; inside : int64, written to the cells of
        a token but for its first and its last, which hold the token
    cells_out : as there, total being the sum of the lengths of the tokens
    Writes cells_out; one pass.
    """
    cells_out[0] = np.int32(-1)
    place = 1
    for i in range(order.shape[0]):
        item = order[i]
        for j in range(offsets[item], offsets[item + 1]):
            token = tokens[j]
            stop = place + np.int64(lengths[token])
            cells_out[place] = token
            for cell in range(place + 1, stop - 1):
                cells_out[cell] = np.int32(inside)
            cells_out[stop - 1] = token
            place = stop
        cells_out[place] = np.int32(-1)
        place += 1

"""What one thread of an encoder has of its own, and what its places mean."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit_inline
from numbpe_kernels.lanes import MergeLanes
from numbpe_kernels.ranks import MergeScratch
from numbpe_kernels.word_cache import WordCache

PART = 0
POSITION = 1
N_DONE = 2
N_IDS = 3
NEEDED = 4
PROGRESS_SIZE = 5
"""Places in ``EncoderState.progress``: the part at hand; where its next word begins, -1 before the
part is begun; how many of the ends are done; ids written; the position or the size that the status
speaks of."""

DONE = 0
CACHE_IS_FULL = 1
SCRATCH_IS_SMALL = 2
NO_TOKEN = 3
PAUSED = 4
"""What ``encode_words`` and the kernels that run it return. After CACHE_IS_FULL, SCRATCH_IS_SMALL and PAUSED,
which is of those alone, they are called again."""

BLOCK = 1024
"""Words that go through the three loops together."""

COPY_STEP = 8
ID_SLACK = COPY_STEP
"""Entries of ``ids_out`` that must be there behind the last id: ids are copied 8 at a time."""

BLOCK_IDS_SIZE = 16 * BLOCK
"""Room for the ids of a block without its specials: where many of its words have many, the last of those
are specials too."""

SPECIAL_WIDTH = 4
SPECIALS_SIZE = 2 * BLOCK * SPECIAL_WIDTH
"""A special is four numbers: how many ids of the block stand before it; its row, LONG_WORD or
PART_END; where it begins and where it ends."""

SCRATCH_SLACK = 8
"""Entries of the arrays of scratch that must be there behind those of a word."""

LONG_WORD = np.uint64(0xFFFFFFFFFFFFFFFF)
PART_END = np.uint64(0xFFFFFFFFFFFFFFFE)


class EncoderState(NamedTuple):
    """What one thread has of its own.

    cache : WordCache
    scratch : MergeScratch, for words of some length; lanes : MergeLanes, for many short words
    ends : (k,) int64, where words end, and scan : (SCAN_SIZE,) int64, see scanning
    words : (k,) int64, where parts of words end, and refine : (REFINE_SIZE,) int64, see junctions
    block_ids : (BLOCK_IDS_SIZE,) uint32, the ids of a block without those of its specials
    specials : (SPECIALS_SIZE,) uint64; fresh : (BLOCK,) int64, which of them are new words
    level_stops : (levels,) int64, see automaton.automaton_split
    progress : (PROGRESS_SIZE,) int64
    """

    cache: WordCache
    scratch: MergeScratch
    lanes: MergeLanes
    ends: NDArray[np.int64]
    scan: NDArray[np.int64]
    words: NDArray[np.int64]
    refine: NDArray[np.int64]
    block_ids: NDArray[np.uint32]
    specials: NDArray[np.uint64]
    fresh: NDArray[np.int64]
    level_stops: NDArray[np.int64]
    progress: NDArray[np.int64]


@njit_inline
def encoder_list_special(
    state: EncoderState, n_specials: int, n_ids: np.uint64, row: np.uint64, start: int, stop: int
) -> int:
    """Add a special, see SPECIAL_WIDTH; return how many there are then, int64."""
    place = SPECIAL_WIDTH * n_specials
    state.specials[place] = n_ids
    state.specials[place + 1] = row
    state.specials[place + 2] = np.uint64(start)
    state.specials[place + 3] = np.uint64(stop)
    return n_specials + 1

"""Counting the words of a chunk that were cut: the second half of counting."""

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit
from numbpe_kernels.word_table import WordTable, word_table_add

DOCUMENT = 0
POSITION = 1
N_COUNTED = 2
N_PIECES = 3
PROGRESS_SIZE = 4
"""Places in ``progress``: the document at hand; where its next word begins, -1 before the document
is begun; how many of the ends that were found are counted; pieces counted in all chunks."""


@njit
def count_words(
    table: WordTable,
    text: NDArray[np.uint8],
    documents: NDArray[np.int64],
    ends: NDArray[np.int64],
    n_ends: int,
    progress: NDArray[np.int64],
) -> bool:
    """Count the words whose ends were found. Returns whether all of them were counted.

    text : uint8 with padding; documents : (n, 2) int64, starts and stops of texts
    ends : (>= n_ends,) int64, ends of words, which follow one another document for document
    progress : (PROGRESS_SIZE,) int64, DOCUMENT 0, POSITION -1 before a chunk is begun, and
        N_COUNTED 0 before each call that has other ends; where the table ran out of room, the
        caller enlarges it and calls again
    Writes table and progress. Linear in the words.
    """
    done = progress[N_COUNTED]
    while done < n_ends:
        stop = documents[progress[DOCUMENT], 1]
        if progress[POSITION] < 0:
            progress[POSITION] = documents[progress[DOCUMENT], 0]
        position = progress[POSITION]
        if position >= stop:
            progress[DOCUMENT] += 1
            progress[POSITION] = -1
            continue
        # The words of this document, which its stop ends.
        behind = n_ends
        if ends[n_ends - 1] > stop:
            behind = done
            while ends[behind] < stop:
                behind += 1
            behind += 1
        found = done
        done = word_table_add(table, text, position, ends, found, behind)
        progress[N_PIECES] += done - found
        progress[N_COUNTED] = done
        if done > found:
            progress[POSITION] = ends[done - 1]
        if done < behind:
            return False
    return True

"""Cutting and counting the documents of a chunk in one pass."""

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit
from numbpe_kernels.scanner import Scanner, scanner_split
from numbpe_kernels.word_table import WordTable, word_table_add

DOCUMENT = 0
POSITION = 1
N_ENDS = 2
N_COUNTED = 3
N_PIECES = 4
PROGRESS_SIZE = 5
"""Places in ``progress``: the document at hand; where the next unknown piece begins in it, -1
before the document is begun; pieces cut and, of those, counted; pieces counted in all chunks."""


@njit
def count_documents(
    scanner: Scanner,
    level_stops: NDArray[np.int64],
    table: WordTable,
    text: NDArray[np.uint8],
    documents: NDArray[np.int64],
    ends: NDArray[np.int64],
    progress: NDArray[np.int64],
) -> bool:
    """Count the pieces of all documents of a chunk. Returns whether all of it was counted.

    level_stops : (levels,) int64, -1 before a chunk is begun, see automaton.automaton_split
    text : uint8 with padding; documents : (n, 2) int64, starts and stops of texts
    ends : (>= 128,) int64, scratch that is kept between calls
    progress : (PROGRESS_SIZE,) int64, DOCUMENT 0, POSITION -1, N_ENDS 0, N_COUNTED 0 before a
        chunk is begun; where the table ran out of room, the caller enlarges it and calls again
    Writes table, ends and progress. Linear in the text.
    """
    document = progress[DOCUMENT]
    while document < documents.shape[0]:
        stop = documents[document, 1]
        position = progress[POSITION]
        if position < 0:
            position = documents[document, 0]
        while True:
            # Count what is cut.
            n_counted = progress[N_COUNTED]
            n_ends = progress[N_ENDS]
            if n_counted < n_ends:
                done = word_table_add(table, text, position, ends, n_counted, n_ends)
                progress[N_COUNTED] = done
                progress[N_PIECES] += done - n_counted
                if done > n_counted:
                    position = ends[done - 1]
                if done < n_ends:
                    progress[DOCUMENT] = document
                    progress[POSITION] = position
                    return False
            if position >= stop:
                break
            # Cut more.
            progress[N_COUNTED] = 0
            progress[N_ENDS] = scanner_split(scanner, level_stops, text, position, stop, ends)
        document += 1
        progress[POSITION] = -1
    progress[DOCUMENT] = document
    return True

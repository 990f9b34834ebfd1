"""Words of several tables, or of parts of runs, added up and laid out as arrays."""

from collections.abc import Sequence

import numpy as np

from numbpe.arrays import TextArray
from numbpe.spilling import Words
from numbpe.word_tables import empty_words
from numbpe_kernels.constants import TEXT_PADDING
from numbpe_kernels.word_export import word_table_export
from numbpe_kernels.word_slices import word_table_absorb_slice, word_table_measure_slices
from numbpe_kernels.word_table import (
    N_WORDS,
    ROW_WIDTH,
    WordTable,
    make_word_table,
    word_table_add_counted,
)

SLICE_WORDS = 1 << 15
"""Words of a slice, about: its table stays in the nearest caches."""


class GatheredWords:
    """The words of one table after another.

    most_words, most_bytes : for how many there is room, of which the system provides only what is
        written to
    """

    def __init__(self, most_words: int, most_bytes: int) -> None:
        self._contents: TextArray = np.empty(most_bytes + TEXT_PADDING, dtype=np.uint8)
        self._offsets = np.zeros(most_words + 1, dtype=np.int64)
        self._counts = np.empty(most_words, dtype=np.int64)
        self.n_words = 0

    def add(self, table: WordTable) -> None:
        """Take the words of ``table``, which no other table has."""
        cursor = np.array([[self.n_words, self._offsets[self.n_words]]], dtype=np.int64)
        row_bytes = table.rows.view(np.uint8)
        word_table_export(
            table, row_bytes, np.uint64(0), cursor, self._contents, self._offsets, self._counts
        )
        self.n_words, n_bytes = cursor[0].tolist()
        self._offsets[self.n_words] = n_bytes

    def finish(self) -> Words:
        """Return contents with their padding, offsets, and counts."""
        n_words, most_words = self.n_words, len(self._counts)
        end = int(self._offsets[n_words]) + TEXT_PADDING
        words = self._contents[:end], self._offsets[: n_words + 1], self._counts[:n_words]
        if n_words < most_words // 2:  # address space that nobody needs
            return words[0].copy(), words[1].copy(), words[2].copy()
        return words


class TableSum:
    """The sum of the counts of several tables with the same salt."""

    def __init__(self, tables: Sequence[WordTable]) -> None:
        self._tables = tables
        n_words = sum(int(table.state[N_WORDS]) for table in tables)
        least_rows = min(len(table.rows) // ROW_WIDTH for table in tables)
        bits = max(1, (n_words // SLICE_WORDS).bit_length())
        self._bits = min(bits, least_rows.bit_length() - 1)
        self._sizes = np.zeros((1 << self._bits, 2), dtype=np.int64)
        for table in tables:
            word_table_measure_slices(table, np.uint64(self._bits), self._sizes)
        most_words, most_bytes = self._sizes.max(axis=0).tolist()
        self._part_slots = max(64, 1 << (most_words * 4 // 3).bit_length())
        self._part_nbytes = most_bytes + 2 * TEXT_PADDING

    @property
    def nbytes(self) -> int:
        """Bytes that adding up takes at most, beside the tables."""
        n_words, n_bytes = self._sizes.sum(axis=0).tolist()
        part = 8 * ROW_WIDTH * self._part_slots + self._part_nbytes
        return int(2 * 8 * n_words + n_bytes + part)

    def add_up(self) -> Words:
        """Return the words of all tables, each once."""
        part = make_word_table(self._part_slots, self._part_nbytes, self._tables[0].salt)
        # The bits that all hashes of a slice share do not choose a row.
        part = part._replace(shift=part.shift - np.uint64(self._bits))
        gathered = GatheredWords(*self._sizes.sum(axis=0).tolist())
        for number in range(1 << self._bits):
            for table in self._tables:
                word_table_absorb_slice(part, table, np.uint64(self._bits), np.uint64(number))
            gathered.add(part)
            empty_words(part)
        return gathered.finish()


def merge_words(part: list[Words]) -> WordTable:
    """Return a table of the sums of several word counts."""
    n_rows = sum(len(counts) for _, _, counts in part)
    n_bytes = sum(int(offsets[-1]) for _, offsets, _ in part)
    n_slots = max(64, 1 << (n_rows * 4 // 3).bit_length())
    table = make_word_table(n_slots, n_bytes + 2 * TEXT_PADDING)
    for contents, offsets, counts in part:
        word_table_add_counted(table, contents, offsets, counts, 0)
    return table

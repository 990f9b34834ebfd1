"""Words of several tables, or of parts of runs, added up and laid out as arrays."""

import functools
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from numbpe.arrays import TextArray
from numbpe.parallel import call_side_by_side, cut_evenly
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

MOST_SECTIONS = 8
"""Threads that add up, at most: each has a table for a slice, some 3 MB."""


class GatheredWords:
    """The words of one table after another.

    sizes : (k, 2), for how many words and bytes there is room in each of k sections, which may be
        filled at the same time; the system provides only what is written to
    """

    def __init__(self, sizes: ArrayLike) -> None:
        # Some bytes of no use are written behind the last word of a section.
        padded = np.add(sizes, (0, TEXT_PADDING))
        bounds = np.concatenate([[(0, 0)], np.cumsum(padded, axis=0)])
        most_words, most_bytes = bounds[-1].tolist()
        self._firsts = bounds[:-1]
        self._cursors = self._firsts.copy()
        self._contents: TextArray = np.empty(most_bytes, dtype=np.uint8)
        self._offsets = np.zeros(most_words + 1, dtype=np.int64)
        self._counts = np.empty(most_words, dtype=np.int64)

    @property
    def n_words(self) -> int:
        """Words that were taken."""
        return int((self._cursors - self._firsts)[:, 0].sum())

    def add(self, table: WordTable, section: int = 0) -> None:
        """Take the words of ``table``, which no other table has."""
        cursor = self._cursors[section : section + 1]
        row_bytes = table.rows.view(np.uint8)
        word_table_export(
            table, row_bytes, np.uint64(0), cursor, self._contents, self._offsets, self._counts
        )

    def finish(self) -> Words:
        """Return contents with their padding, offsets, and counts."""
        n_words = n_bytes = 0
        for (word, byte), (last_word, last_byte) in zip(
            self._firsts.tolist(), self._cursors.tolist(), strict=True
        ):
            stop_word, stop_byte = n_words + last_word - word, n_bytes + last_byte - byte
            if byte > n_bytes:  # of all but the first section, since each has padding
                self._contents[n_bytes:stop_byte] = self._contents[byte:last_byte]
                self._offsets[word:last_word] -= byte - n_bytes
                self._offsets[n_words:stop_word] = self._offsets[word:last_word]
                self._counts[n_words:stop_word] = self._counts[word:last_word]
            n_words, n_bytes = stop_word, stop_byte
        self._offsets[n_words] = n_bytes
        words = (
            self._contents[: n_bytes + TEXT_PADDING],
            self._offsets[: n_words + 1],
            self._counts[:n_words],
        )
        if n_words < len(self._counts) // 2:  # address space that nobody needs
            return words[0].copy(), words[1].copy(), words[2].copy()
        return words


class TableSum:
    """The sum of the counts of several tables with the same salt."""

    def __init__(self, tables: Sequence[WordTable], threads: int = 1) -> None:
        self._tables = tables
        n_words = sum(int(table.state[N_WORDS]) for table in tables)
        least_rows = min(len(table.rows) // ROW_WIDTH for table in tables)
        bits = max(1, (n_words // SLICE_WORDS).bit_length())
        self._bits = min(bits, least_rows.bit_length() - 1)
        measured = call_side_by_side(
            [functools.partial(self._measure_slices, table) for table in tables]
        )
        self._sizes = np.sum(measured, axis=0)
        n_sections = min(threads, len(self._sizes), MOST_SECTIONS)
        bounds = cut_evenly(len(self._sizes), n_sections)
        self._sections = [range(*pair) for pair in pairwise(bounds)]
        most_words, most_bytes = self._sizes.max(axis=0).tolist()
        self._part_slots = max(64, 1 << (most_words * 4 // 3).bit_length())
        self._part_nbytes = most_bytes + 2 * TEXT_PADDING

    @property
    def nbytes(self) -> int:
        """Bytes that adding up takes at most, beside the tables."""
        n_words, n_bytes = self._sizes.sum(axis=0).tolist()
        part = 8 * ROW_WIDTH * self._part_slots + self._part_nbytes
        return int(2 * 8 * n_words + n_bytes + len(self._sections) * part)

    def add_up(self) -> Words:
        """Return the words of all tables, each once."""
        gathered = GatheredWords(
            [self._sizes[slices.start : slices.stop].sum(axis=0) for slices in self._sections]
        )
        call_side_by_side(
            [
                functools.partial(self._add_up_section, gathered, section)
                for section in range(len(self._sections))
            ]
        )
        return gathered.finish()

    def _measure_slices(self, table: WordTable) -> NDArray[np.int64]:
        """Return (2**bits, 2), words and bytes of each slice of a table."""
        sizes = np.zeros((1 << self._bits, 2), dtype=np.int64)
        word_table_measure_slices(table, np.uint64(self._bits), sizes)
        return sizes

    def _add_up_section(self, gathered: GatheredWords, section: int) -> None:
        """Add up some slices, in a table of their own."""
        part = make_word_table(self._part_slots, self._part_nbytes, self._tables[0].salt)
        # The bits that all hashes of a slice share do not choose a row.
        part = part._replace(shift=part.shift - np.uint64(self._bits))
        for number in self._sections[section]:
            for table in self._tables:
                word_table_absorb_slice(part, table, np.uint64(self._bits), np.uint64(number))
            gathered.add(part, section)
            empty_words(part)


def merge_words(part: list[Words]) -> WordTable:
    """Return a table of the sums of several word counts."""
    n_rows = sum(len(counts) for _, _, counts in part)
    n_bytes = sum(int(offsets[-1]) for _, offsets, _ in part)
    n_slots = max(64, 1 << (n_rows * 4 // 3).bit_length())
    table = make_word_table(n_slots, n_bytes + 2 * TEXT_PADDING)
    for contents, offsets, counts in part:
        word_table_add_counted(table, contents, offsets, counts, 0)
    return table

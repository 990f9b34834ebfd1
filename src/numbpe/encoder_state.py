"""What one thread of an encoder has of its own: the cache of words, and room for long ones."""

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from numbpe.arrays import TextArray, allocate_text
from numbpe.small_pages import gather_pages, small_pages
from numbpe.word_tables import empty_words, grow_arena, grow_array, grow_rows
from numbpe_kernels import encoder_arrays as kernel
from numbpe_kernels.encoder_views import (
    CALL_N_OFFSETS,
    CALL_N_PARTS,
    CALL_SIZE,
    EncoderCall,
)
from numbpe_kernels.junctions import REFINE_SIZE
from numbpe_kernels.lanes import make_lanes
from numbpe_kernels.model import EncoderModel
from numbpe_kernels.ranks import MergeScratch
from numbpe_kernels.scanner import Scanner
from numbpe_kernels.scanning import POSITION, SCAN_SIZE
from numbpe_kernels.word_cache import (
    BATCH_NBYTES,
    CACHE_SALT,
    CACHE_STATE_SIZE,
    WordCache,
    word_cache_capacity,
)
from numbpe_kernels.word_table import (
    ARENA_END,
    LONGEST_BATCH,
    N_WORDS,
    make_word_table,
)

MAX_CACHE_NBYTES: Final = 64 << 20
"""Most bytes of a cache; it is emptied when it would grow beyond."""

FIRST_SLOTS: Final = 1 << 17
"""Rows of a cache at first, 4 MB: the words of some ten megabytes of English. Making them more takes
as long as encoding a megabyte, most of it for loading the kernel that does it."""

_FIRST_ARENA_NBYTES: Final = 1 << 20
_FIRST_CACHED_IDS: Final = 1 << 18
"""Room for the bytes and the ids of long words at first, 1 MB each, enough for most texts of some megabytes: what is
not used is no memory, and making more takes half a millisecond."""

_ENDS_A_CALL: Final = 1 << 13
"""Words that are cut before they are encoded: their ends fit in the nearest cache but one, and the
two calls of kernels, some 3 microseconds, are a hundredth of the time."""

SHORT_NBYTES: Final = 1 << 16
"""Longest text that is encoded in the arrays that a thread keeps."""

SHORT_PARTS: Final = 256
"""Most parts of such a text, which is cut at added tokens: a page has dozens where these are line ends."""

MOST_KEPT_IDS: Final = (1 << 20) - (1 << 10)
"""Room for ids that is kept between texts that are not short: for those of a group of a batch. Memory that is
new to the process takes as long to touch as encoding takes to fill it. It is taken in small pages, which a
little more would not be, so that what is never used never is memory."""

_KEPT_SCRATCH: Final = 1 << 12
"""Length of the longest word for which room is kept between texts."""


class ThreadState:
    """The arrays of one thread; used by one thread at a time.

    text : (SHORT_NBYTES + TEXT_PADDING,) uint8, room for a short text, and text_view, the same memory
    part : (1, 3) int64, that text as one part: 0, where it ends, -1; parts : (SHORT_PARTS, 3) int64, as
        several: starts, stops, and the ids of the added tokens behind them
    ids : (SHORT_NBYTES + SHORT_PARTS + ID_SLACK,) uint32 and offsets : (SHORT_PARTS + 1,) int64, what
        the kernel writes of a short text; offsets_view, the same memory
    arrays : what the kernels go on with from one text to the next; descriptor : int64, all of it for them
    model : what the kernels read
    n_encoded_nbytes : about how many bytes were encoded
    n_beyond_ascii : about how many of them, in texts with more than a few, are not ASCII
    is_large : whether there is room for a word that is longer than what is kept
    """

    def __init__(
        self,
        scanner: Scanner,
        model: EncoderModel,
        max_cache_nbytes: int | None = None,
    ) -> None:
        self._max_cache_nbytes = max_cache_nbytes or MAX_CACHE_NBYTES
        self._scanner = scanner
        self.model = model
        self.n_encoded_nbytes = 0
        self.n_beyond_ascii = 0
        # Where a text is begun lies together, so that one assignment begins it.
        n_levels = len(scanner.automaton.start_rows)
        cursors = np.zeros(SCAN_SIZE + REFINE_SIZE + n_levels + kernel.PROGRESS_SIZE, np.int64)
        self.text = allocate_text(SHORT_NBYTES)
        self.text_view = memoryview(self.text.data)
        self.part = np.array([[0, 0, -1]], dtype=np.int64)
        self.parts = np.empty((SHORT_PARTS, 3), dtype=np.int64)
        self.ids = np.empty(SHORT_NBYTES + SHORT_PARTS + kernel.ID_SLACK, dtype=np.uint32)
        self._more_ids = np.empty(0, dtype=np.uint32)
        self.offsets = np.zeros(SHORT_PARTS + 1, dtype=np.int64)
        self.offsets_view = memoryview(self.offsets.data)
        short_call = EncoderCall(self.text, self.part, self.ids, self.offsets[:2])
        self._call_numbers = self._short_numbers = describe_arrays(short_call)
        parts_call = EncoderCall(self.text, self.parts, self.ids, self.offsets)
        self._parts_numbers = describe_arrays(parts_call)
        self._parts_view = memoryview(self._parts_numbers.data)
        self._set_arrays(self._make_arrays(cursors))
        self.arrays.scan[POSITION] = self.arrays.refine[POSITION] = -1
        self.arrays.progress[kernel.POSITION] = -1
        self.arrays.level_stops[:] = -1
        # Python writes to a view of memory in a third of the time that an array takes.
        n_begun = len(cursors) + kernel.NEEDED - kernel.PROGRESS_SIZE
        self._cursors = memoryview(cursors[:n_begun].data).cast("B")
        self._beginning = bytes(self._cursors)
        self._part_numbers = memoryview(self.part.ravel().data)

    @staticmethod
    def _make_arrays(cursors: NDArray[np.int64]) -> kernel.EncoderState:
        return kernel.EncoderState(
            cache=WordCache(
                table=make_word_table(FIRST_SLOTS, _FIRST_ARENA_NBYTES, CACHE_SALT),
                ids=np.empty(_FIRST_CACHED_IDS, dtype=np.uint32),
                state=np.zeros(CACHE_STATE_SIZE, dtype=np.int64),
            ),
            scratch=make_scratch(_KEPT_SCRATCH),
            lanes=make_lanes(),
            ends=np.empty(_ENDS_A_CALL, dtype=np.int64),
            scan=cursors[:SCAN_SIZE],
            words=np.empty(_ENDS_A_CALL, dtype=np.int64),
            refine=cursors[SCAN_SIZE : SCAN_SIZE + REFINE_SIZE],
            block_ids=np.empty(kernel.BLOCK_IDS_SIZE, dtype=np.uint32),
            specials=np.empty(kernel.SPECIALS_SIZE, dtype=np.uint64),
            fresh=np.empty(kernel.BLOCK, dtype=np.int64),
            level_stops=cursors[SCAN_SIZE + REFINE_SIZE : -kernel.PROGRESS_SIZE],
            progress=cursors[-kernel.PROGRESS_SIZE :],
        )

    def _set_arrays(self, arrays: kernel.EncoderState) -> None:
        """Take ``arrays``, and describe them and what they are used with for the kernel."""
        self.arrays = arrays
        numbers = describe_arrays((self._scanner, self.model, arrays))
        self.descriptor = np.concatenate([numbers, self._call_numbers])
        self.is_large = len(arrays.scratch.tokens) > _KEPT_SCRATCH + kernel.SCRATCH_SLACK

    def set_call(self, call: EncoderCall | None = None) -> None:
        """Take what is encoded next, and where its ids go: None for the arrays of a short text.

        The caller keeps the arrays of ``call`` alive until it is replaced.
        """
        self._set_call_numbers(describe_arrays(call) if call else self._short_numbers)

    def _set_call_numbers(self, numbers: NDArray[np.int64]) -> None:
        self._call_numbers = numbers
        self.descriptor[-CALL_SIZE:] = numbers

    def make_ids(self, n_ids: int) -> NDArray[np.uint32]:
        """Return room for ids of a text that is not short: mostly that of the text before."""
        if n_ids > MOST_KEPT_IDS:
            with small_pages():  # Most texts have far fewer ids than that.
                return np.empty(n_ids, dtype=np.uint32)
        if len(self._more_ids) < n_ids:
            size = min(1 << n_ids.bit_length(), MOST_KEPT_IDS)
            self._more_ids = np.empty(size, dtype=np.uint32)
        return self._more_ids

    def set_short_parts(self, text: TextArray, parts: NDArray[np.int64]) -> None:
        """Take the parts of a short text into the arrays of the state.

        text: at most SHORT_NBYTES long; parts: (p, 3) int64, p at most SHORT_PARTS.
        """
        self.text[: len(text)] = text
        self.parts[: len(parts)] = parts
        self.take_parts(len(parts))

    def take_parts(self, n_parts: int) -> None:
        """Take the first of ``parts``, of the text that is there."""
        # The lengths are all that differs: describing the arrays anew takes as long as short texts do.
        self._parts_view[CALL_N_PARTS] = n_parts
        self._parts_view[CALL_N_OFFSETS] = n_parts + 1
        self._set_call_numbers(self._parts_numbers)

    def use_model(self, model: EncoderModel) -> None:
        """Go on with another model that gives the same ids."""
        self.model = model
        self._set_arrays(self.arrays)

    @property
    def cache_nbytes(self) -> int:
        """Bytes of the cache."""
        cache = self.arrays.cache
        return cache.table.rows.nbytes + cache.table.arena.nbytes + cache.ids.nbytes

    @property
    def needed(self) -> int:
        """The position or the size that the last status speaks of."""
        return int(self.arrays.progress[kernel.NEEDED])

    def begin_part(self, n_bytes: int) -> None:
        """Take the first bytes of ``text`` as one part, and make ready for them."""
        self._part_numbers[1] = n_bytes
        self._cursors[:] = self._beginning
        self.n_encoded_nbytes += n_bytes

    def begin(self) -> None:
        """Make ready for another text; what the cache holds stays."""
        self._cursors[:] = self._beginning

    def make_room(self, status: int) -> None:
        """Do what the kernel returned for: a larger cache or an empty one, or larger scratch."""
        if status == kernel.SCRATCH_IS_SMALL:
            self._set_arrays(self.arrays._replace(scratch=make_scratch(2 * self.needed)))
            return
        cache = self.arrays.cache
        table, ids = cache.table, cache.ids
        rows_are_full = table.state[N_WORDS] + LONGEST_BATCH > word_cache_capacity(table)
        arena_is_full = len(table.arena) - table.state[ARENA_END] < BATCH_NBYTES + 64
        grown = table.rows.nbytes if rows_are_full else 0
        grown += table.arena.nbytes if arena_is_full else 0
        ids_are_full = not rows_are_full and not arena_is_full
        grown += ids.nbytes if ids_are_full else 0
        if self.cache_nbytes + grown > self._max_cache_nbytes:
            self.empty_cache()
            return
        if rows_are_full:
            # Before they are of use, new large pages may take longer than a megabyte of text.
            with small_pages():
                table = grow_rows(table)
            gather_pages(table.rows)
        if arena_is_full:
            table = grow_arena(table)
        if ids_are_full:
            ids = grow_array(ids, 2 * len(ids))
        self._set_arrays(self.arrays._replace(cache=cache._replace(table=table, ids=ids)))

    def empty_cache(self) -> None:
        """Forget all words."""
        cache = self.arrays.cache
        empty_words(cache.table)
        cache.state[:] = 0

    def shrink(self) -> None:
        """Give back the room that a long word took."""
        self._set_arrays(self.arrays._replace(scratch=make_scratch(_KEPT_SCRATCH)))


def make_scratch(longest: int) -> MergeScratch:
    """Return room for merging words of up to ``longest`` bytes."""
    n_tokens = longest + kernel.SCRATCH_SLACK
    return MergeScratch(
        tokens=np.empty(n_tokens, dtype=np.int32),
        entries=np.empty(n_tokens, dtype=np.int32),
        products=np.empty(n_tokens, dtype=np.int32),
        next=np.empty(n_tokens, dtype=np.int32),
        previous=np.empty(n_tokens, dtype=np.int32),
        heap=np.empty(2 * n_tokens, dtype=np.int64),
    )


def describe_arrays(structure: Any) -> NDArray[np.int64]:
    """Return the descriptor of a tuple of arrays; see ``numbpe_kernels.views``."""
    return np.array(list(_iterate_numbers(structure)), dtype=np.int64)


def _iterate_numbers(structure: Any) -> Iterator[int]:
    for value in structure:
        if isinstance(value, np.ndarray):
            yield value.__array_interface__["data"][0]
            yield from value.shape
        elif isinstance(value, tuple):
            yield from _iterate_numbers(value)
        else:
            yield int(value)

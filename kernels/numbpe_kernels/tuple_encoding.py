"""Texts to rows of Combinatorial BPE: words and gaps are found, looked up, and written.

A row is two numbers of 64 bits: variation and prefix, core and suffix, the first of them in the lower
half, so that the bytes of four int32 lie one after another.
"""

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit, njit_inline
from numbpe_kernels.tuple_cache import (
    FIRST_GAP,
    HEAD_WIDTH,
    IS_BEGUN,
    LONG_WORD,
    N_DONE,
    N_JOBS,
    N_PIECES,
    N_ROWS,
    N_TAKEN,
    NEEDED,
    PART,
    PENDING_PREFIX,
    PIECES,
    PLACE_BITS,
    PREFIX,
    SCRATCH_SLACK,
    SUFFIX,
    TUPLE_BLOCK,
    TupleBlock,
    TupleState,
    block_find_gap,
    tuple_learn,
    tuple_probe_gaps,
    tuple_probe_words,
)
from numbpe_kernels.tuple_model import SPLITS_CASE, VARIATION_BITS, TupleModel
from numbpe_kernels.tuple_views import tuple_view_model, tuple_view_state
from numbpe_kernels.tuple_words import CARRY, N_ENDS, N_STARTS, POSITION, tuple_find_words
from numbpe_kernels.word_table import COUNT, PLACE

DONE = 0
WORDS_ARE_FULL = 1
GAPS_ARE_FULL = 2
SCRATCH_IS_SMALL = 3
ROWS_ARE_FULL = 4
"""What ``tuple_encode`` returns. After all but DONE it is called again, with more room; after
ROWS_ARE_FULL with N_ROWS 0, the rows having been taken out."""

ROW_SLACK = 3
"""Rows of ``rows_out`` that must be there behind the last."""

_PLACE_MASK = np.uint64((1 << 40) - 1)
_HALF = np.uint64(32)
_HALF_MASK = np.uint64(0xFFFFFFFF)
_VARIATION_MASK = np.uint64((1 << VARIATION_BITS) - 1)
_VARIATION_BITS = np.uint64(VARIATION_BITS)
_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_TWO = np.uint64(2)
_FOUR = np.uint64(4)


@njit_inline
def write_piece(rows_out: NDArray[np.uint64], place: np.uint64, piece: np.uint64) -> None:
    """Write the row of a piece without affixes. rows_out : (2n,) uint64, written at ``place``."""
    rows_out[place] = piece & _VARIATION_MASK
    rows_out[place + _ONE] = piece >> _VARIATION_BITS


@njit_inline
def write_pieces(
    values: NDArray[np.int32],
    source: int,
    n_pieces: int,
    rows_out: NDArray[np.uint64],
    n_rows: int,
) -> int:
    """Write the rows of pieces; return how many rows there are then, int64.

    values : (>= source + n_pieces,) int32; source, n_pieces, n_rows : int64
    rows_out : (2m,) uint64, written from row n_rows on
    """
    place = np.uint64(n_rows) << _ONE
    for i in range(source, source + n_pieces):
        write_piece(rows_out, place, np.uint64(values[i]))
        place += _TWO
    return n_rows + n_pieces


@njit_inline
def tuple_recall_word(
    state: TupleState, row: np.uint64, rows_out: NDArray[np.uint64], n_rows: int
) -> int:
    """Write the rows of the word in a row of the cache; return how many rows there are then, int64.

    row : uint64; n_rows : int64
    rows_out : (2m,) uint64, with room for ROW_SLACK rows behind those of the word; written
    """
    first = state.words.rows[row + COUNT]
    last = state.words.rows[row + PLACE]
    n_inline = last >> _HALF
    if n_inline > _ZERO:
        place = np.uint64(n_rows) << _ONE
        write_piece(rows_out, place, first & _HALF_MASK)
        write_piece(rows_out, place + _TWO, first >> _HALF)
        write_piece(rows_out, place + _FOUR, last & _HALF_MASK)
        return n_rows + np.int64(n_inline)
    source = np.int64(first & _PLACE_MASK)
    n_pieces = np.int64(first >> PLACE_BITS)
    return write_pieces(state.word_values, source, n_pieces, rows_out, n_rows)


@njit_inline
def tuple_write_gap(
    state: TupleState, number: int, rows_out: NDArray[np.uint64], n_rows: int
) -> int:
    """Put the suffix of a gap on the last row, and write its pieces; return how many rows there are.

    number, n_rows : int64; rows_out : (2m,) uint64, written; int64
    """
    head = HEAD_WIDTH * number
    suffix = np.uint64(state.gap_heads[head + SUFFIX])
    n_pieces = np.int64(state.gap_heads[head + N_PIECES])
    if suffix != _ZERO:
        rows_out[(np.uint64(n_rows) << _ONE) - _ONE] |= suffix << _HALF
    if n_pieces > 0:
        place = np.int64(state.gap_heads[head + PIECES])
        values = state.long_values if number < FIRST_GAP else state.gap_values
        n_rows = write_pieces(values, place, n_pieces, rows_out, n_rows)
    return n_rows


@njit
def tuple_write_block(state: TupleState, block: TupleBlock, rows_out: NDArray[np.uint64]) -> None:
    """Write the rows of a block whose words and gaps are known.

    rows_out : (2m,) uint64, with room for them. Writes rows_out and progress.
    """
    progress = state.progress
    n_rows = progress[N_ROWS]
    prefix = np.uint64(progress[PENDING_PREFIX])
    if block.is_first == 1:
        gap = state.found_gaps[0]
        n_rows = tuple_write_gap(state, gap, rows_out, n_rows)
        prefix = np.uint64(state.gap_heads[HEAD_WIDTH * gap + PREFIX])
    for i in range(block.n_words):
        before = np.uint64(n_rows) << _ONE
        row = state.found[i]
        if row < LONG_WORD:
            n_rows = tuple_recall_word(state, row, rows_out, n_rows)
        else:
            source = np.int64(row ^ LONG_WORD)
            n_pieces = np.int64(state.long_values[source])
            n_rows = write_pieces(state.long_values, source + 1, n_pieces, rows_out, n_rows)
        rows_out[before] |= prefix << _HALF
        gap = state.found_gaps[i + 1]
        n_rows = tuple_write_gap(state, gap, rows_out, n_rows)
        prefix = np.uint64(state.gap_heads[HEAD_WIDTH * gap + PREFIX])
    progress[N_DONE] += block.n_words
    progress[N_ROWS] = n_rows
    progress[PENDING_PREFIX] = np.int64(prefix)


@njit
def tuple_find_more(
    model: TupleModel, state: TupleState, text: NDArray[np.uint8], stop: int
) -> None:
    """Find more words of a part, and move those that are not written to the front.

    text : (n,) uint8 with padding; stop : int64. Writes starts, ends, scan and progress.
    """
    done = state.progress[N_DONE]
    n_starts, n_ends = state.scan[N_STARTS], state.scan[N_ENDS]
    for i in range(done, n_starts):
        state.starts[i - done] = state.starts[i]
    for i in range(done, n_ends):
        state.ends[i - done] = state.ends[i]
    state.scan[N_STARTS] = n_starts - done
    state.scan[N_ENDS] = n_ends - done
    state.progress[N_DONE] = 0
    splits_case = model.rules[SPLITS_CASE] == 1
    tuple_find_words(model.classes, splits_case, text, stop, state.scan, state.starts, state.ends)


@njit
def tuple_choose_block(
    model: TupleModel, state: TupleState, text: NDArray[np.uint8], start: int, stop: int
) -> TupleBlock:
    """Return the next block of a part, as many words as there are, up to TUPLE_BLOCK.

    text : (n,) uint8 with padding; start, stop : int64, of the part. Writes starts, ends, scan and
    progress.
    """
    progress, scan = state.progress, state.scan
    is_first = np.int64(1 - progress[IS_BEGUN])
    if is_first == 1:
        scan[POSITION] = start
        scan[N_STARTS] = scan[N_ENDS] = scan[CARRY] = 0
        progress[N_DONE] = progress[PENDING_PREFIX] = 0
        tuple_find_more(model, state, text, stop)
    # The gap behind a word is known when the next one has begun.
    elif scan[POSITION] < stop and scan[N_STARTS] - progress[N_DONE] <= TUPLE_BLOCK:
        tuple_find_more(model, state, text, stop)
    is_through = scan[POSITION] >= stop
    n_words = scan[N_ENDS] - progress[N_DONE]
    is_last = np.int64(1) if is_through and n_words <= TUPLE_BLOCK else np.int64(0)
    if not is_through:
        n_words = min(n_words, scan[N_STARTS] - progress[N_DONE] - 1)
    n_words = np.int64(min(n_words, TUPLE_BLOCK))
    return TupleBlock(n_words, start, stop, is_first, is_last)


@njit
def tuple_limit_block(
    state: TupleState, block: TupleBlock, rows_out: NDArray[np.uint64]
) -> TupleBlock:
    """Return as much of a block as there is room to write; n_words is - 1 - a status if nothing is.

    rows_out : (2m,) uint64. Writes NEEDED.
    """
    progress = state.progress
    room = (rows_out.shape[0] >> 1) - progress[N_ROWS] - ROW_SLACK - 1
    scratch_room = state.scratch.flags.shape[0] - SCRATCH_SLACK
    begin, begin_stop = block_find_gap(state, block, 0)
    if block.is_first == 0:
        begin = begin_stop
    _, end = block_find_gap(state, block, block.n_words)
    if end - begin <= min(room, scratch_room):
        return block
    for i in range(block.n_words + 1):
        gap_start, gap_stop = block_find_gap(state, block, i)
        longest = gap_stop - gap_start if i > 0 or block.is_first == 1 else np.int64(0)
        if i > 0:
            longest = max(longest, gap_start - state.starts[progress[N_DONE] + i - 1])
        status = DONE
        if longest > scratch_room:
            progress[NEEDED] = longest
            status = SCRATCH_IS_SMALL
        elif gap_stop - begin > room:
            progress[NEEDED] = gap_stop - begin + ROW_SLACK + 1
            status = ROWS_ARE_FULL
        if status != DONE:
            n_words = np.int64(i - 1 if i > 1 else -1 - status)
            return TupleBlock(n_words, block.start, block.stop, block.is_first, np.int64(0))
    return block


@njit
def tuple_encode_block(
    model: TupleModel,
    state: TupleState,
    text: NDArray[np.uint8],
    part: NDArray[np.int64],
    rows_out: NDArray[np.uint64],
) -> int:
    """Write the rows of the next block of a part; return a status, int64, -1 if there are more blocks.

    text : (n,) uint8 with padding; part : (3,) int64, start, stop, and the core behind it, -1 for none
    rows_out : (2m,) uint64. Writes state and rows_out.
    """
    progress = state.progress
    block = tuple_choose_block(model, state, text, part[0], part[1])
    block = tuple_limit_block(state, block, rows_out)
    if block.n_words < 0:
        return -1 - block.n_words
    progress[N_JOBS] = 0
    n_gaps = tuple_probe_gaps(state, text, block)
    n_words = np.int64(0)
    status = DONE
    if n_gaps < min(block.n_words, 1):
        status = GAPS_ARE_FULL
        n_gaps = np.int64(0)
    else:
        n_words = tuple_probe_words(state, text, n_gaps)
        if n_words < min(block.n_words, 1):
            status = WORDS_ARE_FULL
    # What was entered has to be learned, even if it is not written yet.
    tuple_learn(model, state, text, block)
    if status != DONE:
        return status
    is_last = block.is_last if n_words == block.n_words else np.int64(0)
    block = TupleBlock(n_words, block.start, block.stop, block.is_first, is_last)
    tuple_write_block(state, block, rows_out)
    progress[IS_BEGUN] = 1
    return DONE if is_last == 1 else -1


@njit
def tuple_encode(
    descriptor: NDArray[np.int64],
    text: NDArray[np.uint8],
    parts: NDArray[np.int64],
    rows_out: NDArray[np.uint64],
    offsets_out: NDArray[np.int64],
) -> int:
    """Write the rows of parts of text; return a status, int64: DONE and so on.

    descriptor : (TUPLE_DESCRIPTOR_SIZE,) int64, of a TupleModel and a TupleState that are alive
    text : (n,) uint8, readable TEXT_PADDING bytes past the last stop
    parts : (p, 3) int64, starts, stops and the cores of special tokens behind them, -1 for none; each
        part is a text of its own
    rows_out : (2m,) uint64, rows; what is written stands before N_ROWS
    offsets_out : (p + 1,) int64, offsets_out[0] is 0; entry i + 1 is the number of rows when part i is
        done, those that were taken out before included
    Writes the state, rows_out and offsets_out. progress: PART, IS_BEGUN, N_DONE, N_ROWS, N_TAKEN are 0
    before the first call. Linear, but for what is met for the first time.
    """
    model = tuple_view_model(descriptor)
    state = tuple_view_state(descriptor)
    progress = state.progress
    while progress[PART] < parts.shape[0]:
        number = progress[PART]
        part = parts[number]
        status = tuple_encode_block(model, state, text, part, rows_out)
        if status > DONE:
            return status
        if status == DONE:
            if part[2] >= 0:
                write_piece(
                    rows_out,
                    np.uint64(progress[N_ROWS]) << _ONE,
                    np.uint64(part[2]) << _VARIATION_BITS,
                )
                progress[N_ROWS] += 1
            offsets_out[number + 1] = progress[N_TAKEN] + progress[N_ROWS]
            progress[PART] += 1
            progress[IS_BEGUN] = 0
    return DONE

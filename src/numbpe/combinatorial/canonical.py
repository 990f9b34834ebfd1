"""Which rows are those that a text is encoded to: of many rows that spell one text, the one choice.

Rows are *canonical* if encoding what they spell gives them back. A core under a variation is *legal* if
that is so of the row that has it without affixes. Whatever a longer text is encoded to has legal
pairs only: merging inside a piece goes as it would if the piece stood alone.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from numbpe.combinatorial.definition import CombinatorialVocabulary
from numbpe.combinatorial.row_arrays import Rows
from numbpe.combinatorial.row_decoder import RowDecoder
from numbpe.combinatorial.row_encoder import RowEncoder
from numbpe.segments import Segmenter

_STEP_ROWS = 1 << 13
"""Rows that are compared before the next are encoded."""


def find_legal_variations(
    vocabulary: CombinatorialVocabulary, encoder: RowEncoder, decoder: RowDecoder
) -> NDArray[np.bool_]:
    """Return the (cores, variations) pairs that texts are encoded to.

    Not legal are a variation that changes nothing, UPPER of one letter, cores that merging never
    makes, bytes for which there is a character, and capitals in the alphabet that are folded.
    """
    n_var, n_cores = vocabulary.n_var, vocabulary.n_cores
    offsets = decoder.spellings.core_offsets
    parts = np.full((n_var * n_cores, 3), -1, dtype=np.int64)
    parts[:, 0], parts[:, 1] = offsets[:-1], offsets[1:]
    rows, bounds = encoder.encode_parts(decoder.spellings.core_contents, parts)
    wanted = np.zeros((n_var * n_cores, 4), dtype=np.int32)
    wanted[:, 0] = np.repeat(np.arange(n_var), n_cores)
    wanted[:, 2] = np.tile(np.arange(n_cores), n_var)
    legal: NDArray[np.bool_] = np.diff(bounds) == 1
    legal[legal] = (rows[bounds[:-1][legal]] == wanted[legal]).all(axis=1)
    legal = legal.reshape(n_var, n_cores).T.copy()
    legal[vocabulary.first_special_id :] = np.arange(n_var) == 0
    return legal


def find_first_difference(
    rows: Rows,
    legal: NDArray[np.bool_],
    encoder: RowEncoder,
    decoder: RowDecoder,
    segmenter: Segmenter,
) -> int:
    """Return the first row at which the encoding of what ``rows`` spell differs, -1 if none does.

    Where a row holds a pair that is not legal nothing is encoded, and the first such row is
    returned. Else text is encoded up to the step in which the difference lies.

    rows: (n, 4) int32, all of whose indices the tables have.
    """
    illegal = ~legal[rows[:, 2], rows[:, 0]]
    if illegal.any():
        return int(illegal.argmax())
    content = decoder.decode_bytes(rows)
    prepared = segmenter.prepare([content], "allow")
    place = 0
    for part in prepared.parts:
        start, stop, core = part.tolist()
        while True:
            end = _choose_stop(encoder, prepared.text, start, stop)
            step = np.array([[start, end, core if end == stop else -1]], dtype=np.int64)
            encoded, _ = encoder.encode_parts(prepared.text, step)
            given = rows[place : place + len(encoded)]
            differ = (given != encoded[: len(given)]).any(axis=1)
            if differ.any():
                return place + int(differ.argmax())
            if len(given) < len(encoded):
                return len(rows) - 1
            place += len(encoded)
            if end == stop:
                break
            start = end
    return -1 if place == len(rows) else place


def _choose_stop(encoder: RowEncoder, text: NDArray[np.uint8], start: int, stop: int) -> int:
    """Return where the next step ends: where a unit does, if the text is long."""
    n_bytes = 4 * _STEP_ROWS
    while start + n_bytes < stop:
        cut = encoder.find_cut(text, start, start + n_bytes)
        if cut > start:
            return cut
        n_bytes *= 2
    return stop


def make_canonical(
    rows: Any, encoder: RowEncoder, decoder: RowDecoder, segmenter: Segmenter
) -> Rows:
    """Return the rows to which what ``rows`` spell is encoded."""
    prepared = segmenter.prepare([decoder.decode_bytes(rows)], "allow")
    return encoder.encode_parts(prepared.text, prepared.parts)[0]

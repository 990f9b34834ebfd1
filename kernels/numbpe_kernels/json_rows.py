"""Rows of JSON, one a line: check each whole, and take the string of one field out of it.

What counts as a row is what Python's ``json.loads`` takes for an object. Of equal keys the last one
counts, on every level of the path. Objects and arrays may lie up to :data:`MAX_DEPTH` deep.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit
from numbpe_kernels.json_text import (
    json_find_number_end,
    json_find_string_end,
    json_is_word,
    json_skip_space,
    json_take_string,
)

MAX_DEPTH = 900
"""Python's own limit lies near 1,000 and depends on what calls it."""

TEXT = 0
MISSING = 1
IS_NULL = 2
NOT_TEXT = 3
NOT_OBJECT = 4
MALFORMED = 5
"""What a row may be: one with text, or one without."""

_TRUE = np.uint64(int.from_bytes(b"true", "little"))
_FALSE = np.uint64(int.from_bytes(b"false", "little"))
_NULL = np.uint64(int.from_bytes(b"null", "little"))
_NAN = np.uint64(int.from_bytes(b"NaN", "little"))
_INFINITY = np.uint64(int.from_bytes(b"Infinity", "little"))

_KIND, _IS_ON_PATH, _FAULT, _DETAIL, _TEXT_END = range(5)
"""Places in ``RowReader.found``. _FAULT and _DETAIL are written by the functions of strings: where
there is none, and whether it has escapes, or where it ends in what is written."""

_VALUE, _KEY, _BEHIND_VALUE = range(3)
"""What comes next in a row."""

_LINE_END = 0x0A
_QUOTE = 0x22
_COMMA = 0x2C
_COLON = 0x3A
_ARRAY = 0x5B
_OBJECT = 0x7B
_TO_END = 2
"""From the code of what opens an object or array to that of what closes it."""


class RowReader(NamedTuple):
    """What reading rows needs.

    path : (p,) uint8, the names that lead to the field, in UTF-8, one after another
    path_bounds : (d + 1,) int64, where each of the d names begins and ends in ``path``
    containers : (MAX_DEPTH + 1,) uint8, room for the kinds of the objects and arrays that are open
    found : (5,) int64, room: what a row holds, and where its text ends in what is written
    """

    path: NDArray[np.uint8]
    path_bounds: NDArray[np.int64]
    containers: NDArray[np.uint8]
    found: NDArray[np.int64]


def make_row_reader(names: list[bytes]) -> RowReader:
    """Return a reader of the field that ``names`` lead to; for one thread at a time."""
    bounds = np.zeros(len(names) + 1, dtype=np.int64)
    np.cumsum([len(name) for name in names], out=bounds[1:])
    return RowReader(
        np.frombuffer(bytearray(b"".join(names)), dtype=np.uint8),
        bounds,
        np.zeros(MAX_DEPTH + 1, dtype=np.uint8),
        np.zeros(5, dtype=np.int64),
    )


@njit
def _is_name(reader: RowReader, level: int, text: NDArray[np.uint8], start: int, stop: int) -> bool:
    """Return whether ``text[start:stop]`` is the name of the path at ``level``, from 1. Reads only."""
    first = reader.path_bounds[level - 1]
    if stop - start != reader.path_bounds[level] - first:
        return False
    for place in range(stop - start):  # noqa: SIM110, all() would need a generator
        if text[start + place] != reader.path[first + place]:
            return False
    return True


@njit
def _find_scalar_end(text: NDArray[np.uint8], position: int) -> int:
    """Return where a number or a word such as ``true`` ends, -1 for none. Reads only."""
    byte = text[position]
    if byte == 0x74 and json_is_word(text, position, _TRUE, 4):
        return position + 4
    if byte == 0x66 and json_is_word(text, position, _FALSE, 5):
        return position + 5
    if byte == 0x6E and json_is_word(text, position, _NULL, 4):
        return position + 4
    if byte == 0x4E and json_is_word(text, position, _NAN, 3):
        return position + 3
    if byte == 0x2D and json_is_word(text, position + 1, _INFINITY, 8):
        return position + 9
    if byte == 0x49 and json_is_word(text, position, _INFINITY, 8):
        return position + 8
    return json_find_number_end(text, position)


@njit
def _read_key(
    reader: RowReader,
    text: NDArray[np.uint8],
    position: int,
    level: int,
    out: NDArray[np.uint8],
) -> int:
    """Return where the value of the key at ``position`` begins, -1 if there is no key and colon.

    Writes ``reader.found``: whether it is the name at ``level``; level 0 has none. What ``out``
    holds behind the text of the row is overwritten.
    """
    found = reader.found
    found[_IS_ON_PATH] = 0
    if text[position] != _QUOTE:
        found[_FAULT] = position
        return -1
    start = position + 1
    stop = json_find_string_end(text, start, found[_FAULT:])
    if stop < 0:
        return -1
    if level > 0:
        if found[_DETAIL] == 0:
            found[_IS_ON_PATH] = _is_name(reader, level, text, start, stop)
        else:
            first = found[_TEXT_END]
            json_take_string(text, start, out, first, found[_FAULT:])
            found[_IS_ON_PATH] = _is_name(reader, level, out, first, found[_DETAIL])
    position = json_skip_space(text, stop + 1)
    if text[position] != _COLON:
        found[_FAULT] = position
        return -1
    return position + 1


@njit
def _read_scalar(
    reader: RowReader,
    text: NDArray[np.uint8],
    position: int,
    is_target: bool,
    out: NDArray[np.uint8],
    filled: int,
) -> int:
    """Return where the string, number or word at ``position`` ends, -1 if it is none.

    Writes ``reader.found``: what it is, if it is the field's, or where the fault lies; and the string
    of the field to ``out`` from ``filled`` on.
    """
    found = reader.found
    if text[position] != _QUOTE:
        end = _find_scalar_end(text, position)
        if end < 0:
            found[_FAULT] = position
        elif is_target:
            found[_KIND] = IS_NULL if text[position] == 0x6E else NOT_TEXT
        return end
    if is_target:
        end = json_take_string(text, position + 1, out, filled, found[_FAULT:])
        found[_KIND] = TEXT
        found[_TEXT_END] = found[_DETAIL]
    else:
        end = json_find_string_end(text, position + 1, found[_FAULT:])
    return end + 1 if end >= 0 else -1


@njit
def _read_row(
    reader: RowReader,
    text: NDArray[np.uint8],
    position: int,
    out: NDArray[np.uint8],
    filled: int,
) -> int:
    """Return where the value that begins at ``position`` ends, -1 if it is not well-formed.

    Writes ``reader.found``: what the field holds, and where the text ends that is written to ``out``
    from ``filled`` on, where it ended before; or where the fault lies. What ``out`` holds behind is
    overwritten.
    """
    found = reader.found
    containers = reader.containers
    n_names = len(reader.path_bounds) - 1
    depth = level = 0  # level: how many of the open objects, from the outermost on, lie on the path
    leads_on = True  # whether an object that begins here would be the next of them
    is_target = False
    awaited = _VALUE
    found[_KIND] = NOT_OBJECT
    while True:
        position = json_skip_space(text, position)
        byte = np.int64(text[position])
        if awaited == _KEY:
            name = level if level == depth else 0
            position = _read_key(reader, text, position, name, out)
            if position < 0:
                return -1
            if found[_IS_ON_PATH]:
                found[_KIND] = MISSING  # whatever an equal key before has given
                is_target = level == n_names
                leads_on = not is_target
            awaited = _VALUE
            continue
        if awaited == _VALUE:
            awaited = _BEHIND_VALUE
            # The codes of what opens them differ in one bit, that of small letters.
            if byte | 0x20 == _OBJECT and depth < MAX_DEPTH:
                depth += 1
                containers[depth] = np.uint8(byte)
                if is_target:
                    found[_KIND] = NOT_TEXT
                elif byte == _OBJECT and leads_on:
                    level = depth
                    found[_KIND] = MISSING
                position = json_skip_space(text, position + 1)
                if text[position] != byte + _TO_END:
                    awaited = _KEY if byte == _OBJECT else _VALUE
            else:
                position = _read_scalar(reader, text, position, is_target, out, filled)
                if position < 0:
                    return -1
            is_target = leads_on = False
        elif byte == _COMMA:
            position += 1
            awaited = _KEY if containers[depth] == _OBJECT else _VALUE
        elif byte == np.int64(containers[depth]) + _TO_END:
            position += 1
            level -= np.int64(level == depth)
            depth -= 1
        else:
            found[_FAULT] = position
            return -1
        if depth == 0:
            return position


@njit
def _find_line_end(text: NDArray[np.uint8], position: int) -> int:
    """Return the first place of a line end from ``position`` on. Reads only."""
    while text[position] != _LINE_END:
        position += 1
    return position


@njit
def json_rows_read(
    reader: RowReader,
    text: NDArray[np.uint8],
    stop: int,
    cursor: NDArray[np.int64],
    out: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    rows: NDArray[np.int64],
) -> int:
    """Read rows, one a line, and write the strings of their field one after another.

    reader : what to look for; its room is written
    text : (stop + 64,) uint8, whole rows, and a line end at ``stop``
    cursor : (3,) int64, where to go on in text, how many lines were passed, and how much of ``out``
        is filled; written
    out : (>= stop + COPY_NBYTES,) uint8, written; a row writes no more bytes than it has, and some
        behind that are of no use
    offsets : (r + 1,) int64, written: where each document begins and ends in ``out``; that of a row
        without text is empty
    rows : (r, 3) int64, written: what a row is (:data:`TEXT` and so on), the number of its line,
        from 0, and where it begins in ``text``
    Returns how many rows were read, at most r; fewer than r at the end of text. Lines of white space
    are no rows. Cost: a step for each 64 bytes of a string, and for each value and key.
    """
    found = reader.found
    position = cursor[0]
    n_lines = cursor[1]
    filled = cursor[2]
    offsets[0] = filled
    n_rows = 0
    while position < stop and n_rows < len(rows):
        start = json_skip_space(text, position)
        if text[start] == _LINE_END:
            position = start + 1
            n_lines += 1
            continue
        found[_TEXT_END] = filled
        end = _read_row(reader, text, start, out, filled)
        if end >= 0:
            end = json_skip_space(text, end)
        kind = found[_KIND]
        if end < 0 or text[end] != _LINE_END:
            kind = MALFORMED
            end = _find_line_end(text, found[_FAULT] if end < 0 else end)
        elif kind == TEXT:
            filled = found[_TEXT_END]
        rows[n_rows, 0] = kind
        rows[n_rows, 1] = n_lines
        rows[n_rows, 2] = start
        n_rows += 1
        offsets[n_rows] = filled
        position = end + 1
        n_lines += 1
    cursor[0] = position
    cursor[1] = n_lines
    cursor[2] = filled
    return n_rows

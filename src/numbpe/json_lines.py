"""JSON Lines: one object a line, of which one field is the text of a document."""

from collections.abc import Generator
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from numbpe.arrays import Offsets, TextArray, allocate_text
from numbpe.bad_input import SKIP_HINT, BadInput
from numbpe.columns import ColumnPath, choose_text, read_json_row
from numbpe.documents import BinaryReader, NameDocument, read_some
from numbpe.errors import DataError, shorten_value
from numbpe_kernels.constants import TEXT_PADDING
from numbpe_kernels.copying import COPY_NBYTES
from numbpe_kernels.json_rows import MALFORMED, TEXT, json_rows_read, make_row_reader

BLOCK_NBYTES: Final = 1 << 20
"""How much is read at once; a longer row makes the block longer."""

_ROWS_A_CALL: Final = 4096
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"

RowBlock: TypeAlias = tuple[NDArray[np.uint8], Offsets, NameDocument]
"""Documents one after another, as in :class:`numbpe.documents.Batch`; there may be none."""


def read_json_lines(
    reader: BinaryReader, name: str, column: ColumnPath, bad: BadInput
) -> Generator[RowBlock, None, None]:
    """Yield the texts of ``column`` in JSON Lines, a block of the file at a time.

    name: what the file is called in messages, which number lines from 1.

    Rows are what Python's ``json.loads`` takes for an object; of equal keys the last counts. Lines of
    white space are no rows. A row that is malformed, or has no text in the column, goes to ``bad``.
    """
    rows = _RowTaker(name, column, bad)
    text = allocate_text(BLOCK_NBYTES)
    n_held = 0
    while True:
        if n_held == len(text) - TEXT_PADDING:
            text = _grow(text)
        filled = _fill(reader, text, n_held, name)
        if rows.n_bytes_before == 0 and text[:3].tobytes() == _BYTE_ORDER_MARK:
            text[:3] = ord(" ")
        if filled < len(text) - TEXT_PADDING:
            text[filled] = ord("\n")
            yield from rows.take(text, filled)
            return
        stop = text[n_held:filled].tobytes().rfind(b"\n") + 1
        if stop == 0:
            n_held = filled
            continue
        stop += n_held
        yield from rows.take(text, stop)
        n_held = filled - stop
        text[:n_held] = text[stop:filled].copy()


def _grow(text: TextArray) -> TextArray:
    """Return the text in an array twice as long."""
    longer = allocate_text(2 * (len(text) - TEXT_PADDING))
    longer[: len(text)] = text
    return longer


def _fill(reader: BinaryReader, text: TextArray, start: int, name: str) -> int:
    """Read until the array is full or the file is at its end; return how far it is filled."""
    capacity = len(text) - TEXT_PADDING
    while start < capacity:
        n_read = read_some(reader, text.data[start:capacity], name)
        if n_read == 0:
            break
        start += n_read
    return start


class _RowTaker:
    """Takes the texts out of successive blocks of whole rows."""

    def __init__(self, name: str, column: ColumnPath, bad: BadInput) -> None:
        self.n_bytes_before = 0
        self._n_lines_before = 0
        self._name = name
        self._column = column
        self._bad = bad
        self._reader = make_row_reader([name.encode("utf-8", "replace") for name in column.names])

    def take(self, text: TextArray, stop: int) -> Generator[RowBlock, None, None]:
        """Yield the texts of the rows in ``text[:stop]``, behind which there is a line end."""
        out = np.empty(stop + COPY_NBYTES, dtype=np.uint8)
        cursor = np.zeros(3, dtype=np.int64)
        is_done = False
        while not is_done:
            offsets = np.empty(_ROWS_A_CALL + 1, dtype=np.int64)
            rows = np.empty((_ROWS_A_CALL, 3), dtype=np.int64)
            n_rows = json_rows_read(self._reader, text, stop, cursor, out, offsets, rows)
            is_done = n_rows < _ROWS_A_CALL
            offsets, rows = offsets[: n_rows + 1], rows[:n_rows]
            is_text = rows[:, 0] == TEXT
            if not is_text.all():
                self._give_up(text, rows[~is_text])
                offsets = np.concatenate([offsets[:1], offsets[1:][is_text]])
                rows = rows[is_text]
            if len(rows):
                yield out, offsets, self._make_name(rows[:, 1] + (self._n_lines_before + 1))
        self.n_bytes_before += stop
        self._n_lines_before += int(cursor[1])

    def _make_name(self, lines: NDArray[np.int64]) -> NameDocument:
        return lambda place: f"line {lines[place]:,} of {self._name}"

    def _give_up(self, text: TextArray, rows: NDArray[np.int64]) -> None:
        """Leave rows without text out, or raise what is wrong with the first of them."""
        if self._bad.skips and self._bad.first:
            # Only the first of all is described.
            self._bad.add_rows(len(rows), DataError(""))
            return
        kind, line, start = rows[0].tolist()
        end = text[start:].tobytes().find(b"\n")
        row = text[start : start + end].tobytes()
        place = (
            f"line {self._n_lines_before + line + 1:,} of {self._name}, at byte "
            f"{self.n_bytes_before + start:,}"
        )
        self._bad.add_rows(len(rows), self._word_error(row, kind, place))

    def _word_error(self, row: bytes, kind: int, place: str) -> DataError:
        """Return what is wrong with a row, in the words of Python's own reader where it finds it."""
        try:
            value = read_json_row(row)
            if kind != MALFORMED:
                choose_text(value, self._column, place)
            reason = "it is not well-formed"
        except DataError as error:
            return error
        except RecursionError:
            reason = "its values lie too deep within each other"
        except ValueError as error:
            reason = str(error)
        if row[:1] == b"[":
            reason += "; it seems to be one array, of which each element must be a line of its own"
        elif row.strip() in (b"{", b"{}"):
            reason += "; each object must be on one line"
        return DataError(
            f"cannot read {place}: {shorten_value(row, 100)} is no row of JSON Lines: {reason}{SKIP_HINT}"
        )

"""The documents of a file, whatever it holds."""

import sys
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, cast

from numbpe.bad_input import BadInput
from numbpe.columns import ColumnPath
from numbpe.compressed_files import open_archive, read_blocks
from numbpe.documents import Batch, BinaryReader, Stream, read_some, split_documents
from numbpe.errors import DataError
from numbpe.input_files import FileRange, InputFile
from numbpe.json_lines import RowBlock, read_json_lines
from numbpe.reading_ahead import BlockReader, read_ahead
from numbpe.source_detection import (
    HEAD_NBYTES,
    FileKind,
    Layout,
    detect_compression,
    detect_layout,
    may_hold_rows,
)

_BLOCK_NBYTES: Final = 1 << 20
_LEAST_HEAD: Final = 8
"""How many bytes tell every binary format."""


@dataclass(frozen=True)
class FileReading:
    """How files are read.

    layout: what the user says they are; None if that is to be found out.
    """

    column: ColumnPath
    bad: BadInput
    layout: Layout | None = None


def open_file_documents(
    file: InputFile, reading: FileReading, batch_nbytes: int
) -> Iterator[Stream | Batch]:
    """Yield the documents of a file: a text is one, and so is each row. It is open while they are used."""
    if file.is_standard_input:
        reader = cast(BinaryReader, getattr(sys.stdin, "buffer", sys.stdin))
        yield from open_reader_documents(reader, file.name, "", reading, batch_nbytes)
        return
    with file.open() as reader:
        if isinstance(file, FileRange):  # how its file begins has told what it holds
            yield Stream(file.name, reader, is_file=True)
            return
        yield from open_reader_documents(
            reader, file.name, file.path, reading, batch_nbytes,
            is_remote=file.filesystem is not None,
        )  # fmt: skip


def open_reader_documents(
    reader: BinaryReader,
    name: str,
    path: str,
    reading: FileReading,
    batch_nbytes: int,
    *,
    is_remote: bool = False,
) -> Iterator[Stream | Batch]:
    """Yield the documents of an open file.

    name: what it is called in messages.
    path: its path, for its suffixes; empty if it has none.
    is_remote: whether each read takes its time.
    """
    try:
        opened = open_contents(reader, name, path, reading)
    except DataError as error:
        reading.bad.add_damage(error)
        return
    kind = opened.kind
    if kind.is_plain and not is_remote:
        yield Stream(name, opened.contents, is_file=True)
    elif kind.layout == "text":
        # In a thread, so that it is undone while what came before is counted.
        with closing(read_ahead(read_blocks(opened.contents, name, _BLOCK_NBYTES))) as blocks:
            yield Stream(name, BlockReader(blocks), is_file=True)
    else:
        with closing(read_ahead(_read_rows(opened, name, reading))) as row_blocks:
            for contents, offsets, name_row in row_blocks:
                yield from split_documents(contents, offsets, name_row, batch_nbytes)


@dataclass(frozen=True)
class OpenedFile:
    """A file of which it is known what it holds.

    contents: reads what it holds, uncompressed, from the start.
    reader: the file itself.
    path: its path on this machine, if that is where it is.
    """

    kind: FileKind
    contents: BinaryReader
    reader: BinaryReader
    path: str


def open_contents(reader: BinaryReader, name: str, path: str, reading: FileReading) -> OpenedFile:
    """Find out what an open file holds.

    Raises DataError for one that is not what its suffix, or the user, says.
    """
    head = HeadReader(reader, name)
    compression = detect_compression(head.peek(_LEAST_HEAD), path, reading.layout)
    if compression is not None:
        head = HeadReader(open_archive(head, compression, name, reading.bad), name)
    start = head.peek(_LEAST_HEAD)
    if reading.layout is None and may_hold_rows(start):
        start = head.peek(HEAD_NBYTES, until_line_end=not path)
    layout = detect_layout(
        start, path, compressed=compression is not None, wanted=reading.layout,
        column=reading.column,
    )  # fmt: skip
    return OpenedFile(FileKind(compression, layout), head, reader, path)


class HeadReader:
    """A file of which the first bytes may be looked at before they are read."""

    def __init__(self, reader: BinaryReader, name: str) -> None:
        self._reader = reader
        self._name = name
        self._head = b""

    def peek(self, n_bytes: int, *, until_line_end: bool = False) -> bytes:
        """Return the next ``n_bytes``, fewer at the end of the file, and leave them to be read.

        until_line_end: whether a line that holds more than white space will do: what comes from a
            terminal or a pipe must not be waited for.
        """
        while len(self._head) < n_bytes:
            if until_line_end and b"\n" in self._head.lstrip():
                break
            buffer = bytearray(n_bytes - len(self._head))
            n_read = read_some(self._reader, memoryview(buffer), self._name)
            if n_read == 0:
                break
            self._head += buffer[:n_read]
        return self._head[:n_bytes]

    def readinto(self, buffer: memoryview, /) -> int:
        """Fill the head of ``buffer``; return how many bytes, 0 at the end."""
        if not self._head:
            return read_some(self._reader, buffer, self._name)
        n_bytes = min(len(self._head), len(buffer))
        buffer[:n_bytes] = self._head[:n_bytes]
        self._head = self._head[n_bytes:]
        return n_bytes


def _read_rows(
    opened: OpenedFile, name: str, reading: FileReading
) -> Generator[RowBlock, None, None]:
    """Yield the texts of a file that holds rows."""
    if opened.kind.layout == "jsonl":
        yield from read_json_lines(opened.contents, name, reading.column, reading.bad)
        return
    import pyarrow as pa

    from numbpe import tables

    columns = tables.ColumnReader(name, reading.column, reading.bad)
    if opened.kind.layout == "arrows":
        # Of pyarrow's own files not even one that was read a little is read again from the start.
        contents = pa.PythonFile(_ReadableFile(opened.contents, name), mode="r")
        yield from tables.read_arrow_stream(contents, columns)
        return
    read = tables.read_parquet if opened.kind.layout == "parquet" else tables.read_arrow_file
    with open_seekable(opened, name) as file:
        yield from read(file, columns)


@contextmanager
def open_seekable(opened: OpenedFile, name: str) -> Iterator[Any]:
    """Return a file of pyarrow's that can seek; DataError for a pipe, which cannot."""
    import pyarrow as pa

    reader: Any = opened.reader
    if isinstance(reader, pa.NativeFile):
        reader.seek(0)
        yield reader
    elif opened.path:
        with pa.OSFile(opened.path) as file:
            yield file
    elif hasattr(reader, "seekable") and reader.seekable():
        reader.seek(0)
        yield pa.PythonFile(reader, mode="r")
    else:
        raise DataError(
            f"cannot read {name}: {opened.kind.layout.capitalize()} must be read from its end, which a "
            "pipe does not let; save it to a file, and give that"
        )


class _ReadableFile:
    """A file as pyarrow asks for it."""

    closed = False

    def __init__(self, reader: BinaryReader, name: str) -> None:
        self._reader = reader
        self._name = name

    def read(self, n_bytes: int) -> bytes:
        """Return ``n_bytes``, fewer at the end."""
        return b"".join(map(bytes, islice(read_blocks(self._reader, self._name, n_bytes), 1)))

    def readable(self) -> bool:
        """Return True."""
        return True

    def close(self) -> None:
        """Do nothing: the file is closed where it was opened."""

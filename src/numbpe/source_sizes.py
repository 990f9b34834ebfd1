"""How much text there is in files, before it is read: exactly in plain text, else by a sample."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from numbpe.bad_input import BadInput
from numbpe.documents import BinaryReader, encode_text, read_some
from numbpe.errors import DataError
from numbpe.file_documents import FileReading, OpenedFile, open_contents, open_seekable
from numbpe.input_files import InputFile
from numbpe.json_lines import read_json_lines
from numbpe.source_detection import FileKind

SAMPLE_NBYTES: Final = 1 << 21
"""How much text of a file is read to tell how much there is."""

_FILES_A_KIND: Final = 8
"""How many files of a kind are looked into; the others are taken to be like them."""


def measure_plain_text(files: Sequence[InputFile], reading: FileReading) -> int | None:
    """Return the bytes of files on this machine if all of them are plain text, else None."""
    trial = replace(reading, bad=BadInput("skip"))
    n_bytes = 0
    for file in files:
        state = None if file.filesystem is not None else file.measure()
        if state is None or not find_kind(file, trial).is_plain:
            return None
        n_bytes += state[0]
    return n_bytes


def estimate_text(files: Sequence[InputFile], reading: FileReading) -> int | None:
    """Return about how many bytes of text there are in files, None where that cannot be told.

    The same files give the same number. It is exact for plain text.
    """
    # What is bad is found again, and counted, when it is read.
    trial = replace(reading, bad=BadInput("skip"))
    n_bytes = 0
    sizes = defaultdict(list)
    for file in files:
        state = file.measure()
        if state is None:
            return None
        kind = find_kind(file, trial)
        if kind.is_plain:
            n_bytes += state[0]
        else:
            sizes[kind].append((file, state[0]))
    for alike in sizes.values():
        step = -(-len(alike) // _FILES_A_KIND)
        samples = [_sample_file(file, size, trial) for file, size in alike[::step]]
        n_text, n_read = map(sum, zip(*samples, strict=True))
        n_bytes += n_text * sum(size for _, size in alike) // max(1, n_read)
    return n_bytes


def estimate_items(items: Sequence[object]) -> int:
    """Return how many bytes of text the items of a list hold; what is no text has none.

    Of an object all texts count, whichever of them is read.
    """
    n_bytes = 0
    for item in items:
        if isinstance(item, str):
            n_bytes += len(encode_text(item))
        elif isinstance(item, bytes):
            n_bytes += len(item)
        elif isinstance(item, Mapping):
            n_bytes += estimate_items(list(item.values()))
    return n_bytes


def find_kind(file: InputFile, reading: FileReading) -> FileKind:
    """Return what a file holds; plain text if that cannot be told."""
    try:
        with file.open() as reader:
            return open_contents(reader, file.name, file.path, reading).kind
    except DataError:
        return FileKind(None, "text")


def _sample_file(file: InputFile, size: int, reading: FileReading) -> tuple[int, int]:
    """Return how much text so many bytes of the file give."""
    with file.open() as reader:
        counter = _CountingReader(reader, file.name)
        try:
            opened = open_contents(counter, file.name, file.path, reading)
            if opened.kind.layout in ("parquet", "arrow"):
                return _measure_table(replace(opened, reader=reader), file.name, reading), size
            return _count_text(opened, file.name, reading), counter.n_taken
        except DataError:
            return counter.n_taken, counter.n_taken


def _count_text(opened: OpenedFile, name: str, reading: FileReading) -> int:
    n_text = 0
    if opened.kind.layout == "jsonl":
        for _, offsets, _ in read_json_lines(opened.contents, name, reading.column, reading.bad):
            n_text += int(offsets[-1] - offsets[0])
            if n_text >= SAMPLE_NBYTES:
                break
        return n_text
    buffer = memoryview(bytearray(1 << 18))
    while n_text < SAMPLE_NBYTES and (n_read := read_some(opened.contents, buffer, name)):
        n_text += n_read
    return n_text


def _measure_table(opened: OpenedFile, name: str, reading: FileReading) -> int:
    from numbpe import tables

    columns = tables.ColumnReader(name, reading.column, reading.bad)
    with open_seekable(opened, name) as file:
        measure = tables.measure_parquet
        if opened.kind.layout == "arrow":
            measure = tables.measure_arrow_file
        return measure(file, columns)


class _CountingReader:
    """Counts the bytes that are read of a file."""

    def __init__(self, reader: BinaryReader, name: str) -> None:
        self._reader: Any = reader
        self._name = name
        self.n_taken = 0

    def readinto(self, buffer: memoryview, /) -> int:
        n_bytes = read_some(self._reader, buffer, self._name)
        self.n_taken += n_bytes
        return n_bytes

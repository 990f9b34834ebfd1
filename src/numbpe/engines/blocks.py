"""A source in blocks, each of which a worker can read for itself."""

import os
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from numbpe.bad_input import BadInput
from numbpe.columns import parse_column
from numbpe.documents import Batch
from numbpe.engines.file_cuts import FileCutter
from numbpe.errors import ArgumentError, DataError
from numbpe.file_documents import FileReading
from numbpe.input_files import FileRange, InputFile
from numbpe.source_sizes import find_kind
from numbpe.sources import ResolvedSource

TEXT_COLUMN: Final = "text"
_BATCH_NBYTES: Final = 1 << 20
_MOST_TEXT_NBYTES: Final = 16 << 20
"""The most text that is sent to a worker at once, where it does not read files."""


@dataclass(frozen=True)
class FileBlock:
    """Successive files, or a part of one, that the worker opens.

    sizes: the bytes of each file where the run was started; None where that was not asked.
    """

    files: tuple[InputFile, ...]
    sizes: tuple[int | None, ...]

    def resolve(self, reading: FileReading) -> ResolvedSource:
        """Return the block as a source; DataError if this machine has other files."""
        for file, size in zip(self.files, self.sizes, strict=True):
            if size is not None:
                _require_same_file(file, size)
        return ResolvedSource(reading, files=self.files)


@dataclass(frozen=True)
class TextBlock:
    """Documents of items or tables, sent along.

    table: a column of large_binary; name: where they stood, for messages.
    """

    table: Any
    name: str

    def resolve(self, reading: FileReading) -> ResolvedSource:
        """Return the block as a source."""
        reading = replace(reading, column=parse_column(TEXT_COLUMN))
        return ResolvedSource(reading, table=self.table, table_name=self.name)


Block = FileBlock | TextBlock


def list_blocks(
    source: ResolvedSource, block_nbytes: int, cutter: FileCutter | None
) -> Iterator[Block]:
    """Yield the blocks of a source, in order, of about ``block_nbytes``.

    cutter: where files of plain text may be cut; None if nowhere.

    Raises ArgumentError for what no worker could read: standard input, pipes, open files.
    """
    if source.files is not None:
        return _list_file_blocks(source, block_nbytes, cutter)
    if source.reader is not None:
        raise _word_unreadable(source.description)
    return _list_text_blocks(source, min(block_nbytes, _MOST_TEXT_NBYTES))


def _list_file_blocks(
    source: ResolvedSource, block_nbytes: int, cutter: FileCutter | None
) -> Iterator[Block]:
    trial = replace(source.reading, bad=BadInput("skip"))
    group: list[InputFile] = []
    sizes: list[int | None] = []
    n_group_bytes = 0
    for file in source.files or ():
        state = file.measure()
        if state is None:
            raise _word_unreadable(file.name)
        n_bytes, is_local = state[0], file.filesystem is None
        if group and n_group_bytes + n_bytes > block_nbytes:
            yield FileBlock(tuple(group), tuple(sizes))
            group, sizes, n_group_bytes = [], [], 0
        path = os.path.abspath(file.path) if is_local else file.path
        named = InputFile(path, file.filesystem, file.address or file.path)
        size = n_bytes if is_local else None
        cuts = []
        if cutter is not None and n_bytes > block_nbytes and find_kind(file, trial).is_plain:
            cuts = cutter.find_cuts(file, n_bytes, block_nbytes)
        if cuts:
            for start, stop in zip([0, *cuts], [*cuts, n_bytes], strict=True):
                part = FileRange(named.path, named.filesystem, named.address, start, stop)
                yield FileBlock((part,), (size,))
            continue
        group.append(named)
        sizes.append(size)
        n_group_bytes += n_bytes
    if group:
        yield FileBlock(tuple(group), tuple(sizes))


def _list_text_blocks(source: ResolvedSource, block_nbytes: int) -> Iterator[Block]:
    arrays: list[Any] = []
    name = ""
    n_bytes = 0
    with closing(source.open(min(block_nbytes, _BATCH_NBYTES))) as documents:
        for document in documents:
            if isinstance(document, Batch):
                array, first_name = _copy_batch(document), document.name(0)
            else:
                array = _make_array([b"".join(document.read_parts(_BATCH_NBYTES))])
                first_name = document.name
            if arrays and n_bytes + array.nbytes > block_nbytes:
                yield _make_text_block(arrays, name)
                arrays, n_bytes = [], 0
            name = name if arrays else first_name
            arrays.append(array)
            n_bytes += array.nbytes
    if arrays:
        yield _make_text_block(arrays, name)


def _make_text_block(arrays: list[Any], first_name: str) -> TextBlock:
    import pyarrow as pa

    table = pa.table({TEXT_COLUMN: pa.chunked_array(arrays)})
    return TextBlock(table, f"the documents from {first_name} on")


def _make_array(items: list[bytes]) -> Any:
    import pyarrow as pa

    return pa.array(items, type=pa.large_binary())


def _copy_batch(batch: Batch) -> Any:
    """Return the documents of a batch as an array that holds nothing else."""
    import pyarrow as pa

    first, last = int(batch.offsets[0]), int(batch.offsets[-1])
    offsets = np.ascontiguousarray(batch.offsets - first)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(batch.contents[first:last].tobytes())]
    return pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(offsets) - 1, buffers)


def _require_same_file(file: InputFile, size: int) -> None:
    whole = InputFile(file.path, file.filesystem, file.address)
    hint = (
        "the workers of an engine must see the same files; put them into a folder that all machines "
        "share, or give an address such as s3://bucket/key"
    )
    try:
        state = whole.measure()
    except OSError as error:
        raise DataError(f"a worker cannot read {whole.name}: {error.strerror}; {hint}") from error
    if state is None or state[0] != size:
        found = "no file" if state is None else f"{state[0]:,} bytes"
        raise DataError(
            f"a worker cannot read {whole.name}: it finds {found} there, not {size:,} bytes; {hint}"
        )


def _word_unreadable(name: str) -> ArgumentError:
    return ArgumentError(
        f"cannot read {name} with an engine: its workers read for themselves, and more than once if "
        "one of them dies; save it to a file, and give that"
    )

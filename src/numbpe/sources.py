"""What may be read: files of many kinds, standard input, tables, and iterables of text.

A source is a sequence of documents. It is checked as far as can be before anything is read, and
handed out as streams (a file, a long text) and as batches (many short texts at once).
"""

import glob
import io
import os
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any, TypeAlias, TypedDict, cast

from numbpe.bad_input import BadInput, BadPolicy, check_policy
from numbpe.columns import parse_column
from numbpe.documents import Batch, BinaryReader, Stream
from numbpe.errors import ArgumentError, DataError, shorten_value
from numbpe.file_documents import FileReading, open_file_documents, open_reader_documents
from numbpe.input_files import InputFile, expand_path, has_magic, is_address
from numbpe.items import ItemReader, is_arrow, open_arrow_documents
from numbpe.source_detection import check_format
from numbpe.source_sizes import estimate_items, estimate_text, measure_plain_text

N_ITEMS_PROBED = 1000
"""How many items of a list are looked at to tell a list of paths from a list of texts."""

READ_NBYTES = 1 << 20
"""How much is read at once where documents are wanted whole."""

_LONGEST_PATH = 4096
_TEXT_FILE_SUFFIXES = (
    ".txt", ".text", ".md", ".csv", ".tsv", ".json", ".jsonl", ".xml", ".html", ".gz", ".zst",
    ".bz2", ".xz", ".parquet", ".arrow", ".feather",
)  # fmt: skip
_ACCEPTED = (
    'a path, a folder, a glob such as "data/*.txt", "-" for standard input, a list of paths, an open '
    "binary file, a table of pyarrow's, or an iterable of str or bytes in which each item is one "
    "document"
)


class ReadingOptions(TypedDict, total=False):
    """How a source is read; what is not given is found out.

    format: ``"text"``, ``"jsonl"``, ``"parquet"``, ``"arrow"`` or ``"feather"``: what files hold, once
        they are uncompressed, whatever their names and first bytes say.
    column, field: two names for one thing: the column of a table, or the field of an object, that
        holds the text; with dots between names where it lies within another. ``"text"`` by default.
    on_bad: ``"error"`` or ``"skip"``: what becomes of rows without text and of damaged files.
    filesystem: a file system of ``pyarrow.fs`` (or fsspec) in which the paths are.
    """

    format: str | None
    column: str | None
    field: str | None
    on_bad: BadPolicy
    filesystem: Any


@dataclass(frozen=True)
class TextSource:
    """A source with what must be known to read it; see :class:`ReadingOptions`.

    Whatever takes a source takes this.

    Example: ``numbpe.train(TextSource("web/*.parquet", column="body", on_bad="skip"), 32_000)``
    """

    source: Any
    format: str | None = None
    column: str | None = None
    on_bad: BadPolicy = "error"
    filesystem: Any = None


Source: TypeAlias = (
    str
    | os.PathLike[str]
    | BinaryReader
    | Iterable[str | bytes | Mapping[str, object]]
    | Sequence[str | os.PathLike[str]]
    | TextSource
)
"""A path, folder, glob, address or "-"; an open binary file; a list of paths; an iterable of texts or
of objects with a field; a table, dataset, array or stream of pyarrow's; or a :class:`TextSource`."""


def describe_source(source: Source, options: ReadingOptions) -> Source:
    """Return ``source`` with the options for its reading, as one thing.

    Raises ArgumentError for an option that there is not, and for a column that has two names.
    """
    given = {name: value for name, value in options.items() if value is not None}
    unknown = given.keys() - ReadingOptions.__annotations__.keys()
    if unknown:
        raise TypeError(
            f"there is no argument {min(unknown)!r}; those about reading are "
            f"{', '.join(ReadingOptions.__annotations__)}"
        )
    if "field" in given:
        if given.get("column", given["field"]) != given["field"]:
            raise ArgumentError("column and field are two names for one thing; give one of them")
        given["column"] = given.pop("field")
    if not given:
        return source
    if isinstance(source, TextSource):
        return replace(source, **given)  # type: ignore[arg-type]
    return TextSource(source, **given)  # type: ignore[arg-type]


def refuse_reading(options: ReadingOptions) -> None:
    """Raise ArgumentError if there are options for reading, where nothing is read."""
    for name, value in options.items():
        if value is not None:
            raise ArgumentError(f"{name} is about reading text, and word counts are given instead")


@dataclass(frozen=True)
class ResolvedSource:
    """A source that was checked; exactly one of files, reader, items and table is given.

    reading: how it is read; ``reading.bad`` counts what could not be used.
    table_name: what a table is called in messages, if not by its class.
    """

    reading: FileReading
    files: tuple[InputFile, ...] | None = None
    reader: BinaryReader | None = None
    items: Iterable[object] | None = None
    table: Any = None
    table_name: str = ""

    @cached_property
    def n_bytes(self) -> int | None:
        """Bytes of text to be read if all are regular files of plain text, else ``None``."""
        return measure_plain_text(self.files, self.reading) if self.files is not None else None

    def estimate_text(self) -> int | None:
        """Return about how many bytes of text there are; None where that cannot be told."""
        if self.files is not None:
            return self.n_bytes or estimate_text(self.files, self.reading)
        if isinstance(self.items, (list, tuple)):
            return estimate_items(self.items)
        nbytes = getattr(self.table, "nbytes", None)
        return int(nbytes) if isinstance(nbytes, int) else None

    @property
    def description(self) -> str:
        """What was given, in words for a message."""
        if self.files is not None:
            names = [file.name for file in self.files]
            return names[0] if len(names) == 1 else f"{len(names)} files, the first {names[0]}"
        if self.table is not None:
            return self.table_name or f"the {type(self.table).__name__}"
        return "the open file" if self.reader is not None else "the iterable"

    def word_empty(self) -> DataError:
        """Return the error for a source that was read and held nothing."""
        left_out = self.reading.bad.describe()
        left_out = f"; left out: {left_out}" if left_out else ""
        return DataError(f"nothing to read: {self.description} holds no text{left_out}")

    def describe_files(self) -> list[list[object]] | None:
        """Return path, size and time of change of each file; None if not all of it is in files."""
        if self.files is None:
            return None
        states = [(file.identify(), file.measure()) for file in self.files]
        return None if any(s is None for _, s in states) else [[n, *s] for n, s in states if s]

    def describe_reading(self) -> dict[str, object]:
        """Return what decides which text is read, as values that JSON can hold."""
        reading = self.reading
        return {
            "format": reading.layout,
            "column": str(reading.column),
            "on_bad": "skip" if reading.bad.skips else "error",
        }

    def open(self, batch_nbytes: int) -> Generator[Stream | Batch, None, None]:
        """Yield the documents; short ones of many in batches of up to ``batch_nbytes``.

        A file is open while its documents are in use, and closed when the next one is asked for.
        """
        reading = self.reading
        if self.files is not None:
            for file in self.files:
                yield from open_file_documents(file, reading, batch_nbytes)
        elif self.reader is not None:
            name = str(getattr(self.reader, "name", "the open file"))
            yield from open_reader_documents(self.reader, name, "", reading, batch_nbytes)
        elif self.items is not None:
            yield from ItemReader(reading.column, reading.bad).read(self.items, batch_nbytes)
        else:
            name = self.description
            yield from open_arrow_documents(
                self.table, name, reading.column, reading.bad, batch_nbytes
            )

    def read_documents(self) -> Iterator[tuple[str, bytes]]:
        """Yield each document whole, and its name in messages: for what fits into memory."""
        with closing(self.open(READ_NBYTES)) as documents:
            for document in documents:
                if isinstance(document, Batch):
                    names = map(document.name, range(len(document.offsets) - 1))
                    yield from zip(names, document.items, strict=True)
                else:
                    yield document.name, b"".join(document.read_parts(READ_NBYTES))

    def read_start(self, n_bytes: int) -> bytes:
        """Return the first ``n_bytes`` of text, of all documents one after another."""
        data = bytearray()
        with closing(self.open(READ_NBYTES)) as documents:
            for document in documents:
                parts: Iterable[bytes]
                if isinstance(document, Batch):
                    parts = document.items
                else:
                    parts = document.read_parts(READ_NBYTES)
                for part in parts:
                    data += part
                    if len(data) >= n_bytes:
                        return bytes(data[:n_bytes])
        return bytes(data)


def source_nbytes(source: Source) -> int | None:
    """Return how many bytes a source holds if it is made of regular files of text, else ``None``."""
    return resolve_source(source).n_bytes


def resolve_source(source: "Source | ResolvedSource") -> ResolvedSource:
    """Tell what a source is, and check that its files can be read.

    A ``str`` is a path, a folder, a glob, an address or "-"; never a text. A list or tuple of ``str``
    holds paths if all of its items are existing files, globs that match, addresses or "-", and texts
    if none of them is; a mixture is an error. (Of a long list the first ``N_ITEMS_PROBED`` items are
    looked at.) Items of any other iterable are texts, or objects with a field that holds one. Files
    are in the order given, those of one glob or folder sorted.

    Raises:
        FileNotFoundError: a file that does not exist, a glob without a match, an empty folder.
        PermissionError: a file that may not be read.
        ArgumentError: a source of another type.
        DataError: an empty list, or a list of paths and texts.
    """
    if isinstance(source, ResolvedSource):
        return source
    described = source if isinstance(source, TextSource) else TextSource(source)
    reading = FileReading(
        parse_column(described.column),
        BadInput(check_policy(described.on_bad)),
        check_format(described.format),
    )
    source, filesystem = described.source, described.filesystem
    if isinstance(source, str | os.PathLike):
        return ResolvedSource(reading, files=tuple(expand_path(source, filesystem)))
    if filesystem is not None:
        return ResolvedSource(reading, files=_expand_in_filesystem(source, filesystem))
    if isinstance(source, bytes | bytearray | memoryview):
        raise ArgumentError(
            f"cannot read from {type(source).__name__} {shorten_value(source)}: a text must stand in a "
            f"list; write [{shorten_value(source)}]"
        )
    if isinstance(source, io.TextIOBase):
        raise ArgumentError(
            "cannot read from a file that is open as text, where line ends may have been changed; "
            'give its path, or open it with mode "rb"'
        )
    if is_arrow(source):
        return ResolvedSource(reading, table=source)
    if isinstance(source, BinaryReader):
        return ResolvedSource(reading, reader=source)
    if isinstance(source, list | tuple):
        if source and all(isinstance(item, InputFile) for item in source):
            return ResolvedSource(reading, files=tuple(source))
        return _resolve_list(source, reading)
    if isinstance(source, Iterable) and not isinstance(source, Mapping):
        return ResolvedSource(reading, items=source)
    raise ArgumentError(
        f"cannot read from {shorten_value(source)}, of type {type(source).__name__}; give {_ACCEPTED}"
    )


def _expand_in_filesystem(source: object, filesystem: Any) -> tuple[InputFile, ...]:
    if not isinstance(source, list | tuple) or not source:
        raise ArgumentError(
            f"with filesystem= the source must be a path or a list of paths, not {shorten_value(source)}"
        )
    return tuple(chain.from_iterable(expand_path(path, filesystem) for path in source))


def _resolve_list(source: Sequence[object], reading: FileReading) -> ResolvedSource:
    if not source:
        raise DataError(f"nothing to read: the {type(source).__name__} is empty; give {_ACCEPTED}")
    if any(isinstance(item, os.PathLike) for item in source[:N_ITEMS_PROBED]):
        for position, item in enumerate(source):
            if not isinstance(item, str | os.PathLike):
                raise DataError(
                    f"cannot read item {position} of a list of paths: it is {shorten_value(item)}, of "
                    f"type {type(item).__name__}, not a path"
                )
        return _resolve_paths(cast("Sequence[str | os.PathLike[str]]", source), reading)
    if len(source) == source.count("-"):
        return _resolve_paths(["-"], reading)
    probed = [item for item in source[:N_ITEMS_PROBED] if isinstance(item, str) and item != "-"]
    n_paths = sum(map(_names_files, probed))
    if n_paths == 0:
        _refuse_missing_files(source)
        return ResolvedSource(reading, items=source)
    for position, item in enumerate(source):
        if item == "-" or (isinstance(item, str) and (_names_files(item) or os.path.isdir(item))):
            continue
        raise DataError(
            f"cannot tell whether the list holds paths or texts: {n_paths} of its items name "
            f"files, but item {position}, {shorten_value(item)}, does not; correct it, or give "
            "texts as iter([...]), or paths as pathlib.Path"
        )
    return _resolve_paths(cast("Sequence[str]", source), reading)


def _resolve_paths(
    paths: "Sequence[str | os.PathLike[str]]", reading: FileReading
) -> ResolvedSource:
    return ResolvedSource(reading, files=tuple(chain.from_iterable(map(expand_path, paths))))


def _refuse_missing_files(source: Sequence[object]) -> None:
    """Refuse a list of what can only be names of files, none of which is there."""
    for item in source:
        if not isinstance(item, str) or len(item) > _LONGEST_PATH:
            return
        if not item.lower().endswith(_TEXT_FILE_SUFFIXES) or item.split() != [item]:
            return
    raise FileNotFoundError(
        f"cannot read {shorten_value(source[0], 200)}: there is no such file; if the list holds texts "
        "and not paths, give it as iter([...])"
    )


def _names_files(item: str) -> bool:
    if not item or len(item) > _LONGEST_PATH or "\n" in item or "\0" in item:
        return False
    if is_address(item):
        return item.split() == [item]
    if os.path.exists(item):
        # A word may be the name of a folder by chance, and so may a slash.
        is_spelled_out = ("/" in item or os.sep in item) and item.strip("./" + os.sep) != ""
        return not os.path.isdir(item) or is_spelled_out
    if not has_magic(item) or ("**" in item and item.split() != [item]):
        return False  # a text, were it taken for a glob, should not make us walk through folders
    return any(not os.path.isdir(path) for path in glob.iglob(item, recursive=True))

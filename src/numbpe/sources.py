"""What may be read: files, globs, standard input, open binary files, and iterables of text.

A source is a sequence of documents. It is checked as far as can be before anything is read, and
handed out as streams (a file, a long text) and as batches (many short texts at once).
"""

import glob
import io
import os
import stat
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Protocol, TypeAlias, cast, runtime_checkable

from numbpe.errors import ArgumentError, DataError, shorten_value


@runtime_checkable
class BinaryReader(Protocol):
    """A binary file that is open for reading, or anything that fills a buffer as one does."""

    def readinto(self, buffer: memoryview, /) -> int | None: ...


Source: TypeAlias = (
    str | os.PathLike[str] | BinaryReader | Iterable[str | bytes] | Sequence[str | os.PathLike[str]]
)
"""A path, a glob, "-", an open binary file, a list of paths and globs, an iterable of texts."""

N_ITEMS_PROBED = 1000
"""How many items of a list are looked at to tell a list of paths from a list of texts."""

_MAX_AHEAD = 64
"""Most items taken from an iterable before the first of them is used."""

_LONGEST_PATH = 4096
_TEXT_FILE_SUFFIXES = (".txt", ".text", ".md", ".csv", ".tsv", ".json", ".jsonl", ".xml", ".html")
_ACCEPTED = (
    'a path, a glob such as "data/*.txt", "-" for standard input, a list of paths, an open binary '
    "file, or an iterable of str or bytes in which each item is one document"
)


class Stream:
    """One document that is read a part at a time, with a place to put bytes back."""

    def __init__(self, name: str, reader: BinaryReader, *, is_file: bool = False) -> None:
        self.name = name
        self.is_file = is_file
        """Whether it is a file of text, or a pipe, rather than an item of an iterable."""
        self.n_taken = 0
        """Bytes taken from the reader so far; those put back count once."""
        self._reader = reader
        self._is_exhausted = False
        self._returned = memoryview(b"")

    def push_back(self, data: bytes) -> None:
        """Let ``data`` be what is read next."""
        self._returned = memoryview(data + bytes(self._returned))

    def readinto(self, buffer: memoryview) -> int:
        """Fill the head of ``buffer``, which is not empty; return how many bytes, 0 at the end."""
        if self._returned:
            n_bytes = min(len(self._returned), len(buffer))
            buffer[:n_bytes] = self._returned[:n_bytes]
            self._returned = self._returned[n_bytes:]
            return n_bytes
        if self._is_exhausted:
            return 0
        n_read = self._reader.readinto(buffer)
        if n_read is None:
            raise DataError(
                f"cannot read {self.name}: it is in non-blocking mode and has no data yet; set it "
                "to blocking mode"
            )
        self._is_exhausted = n_read == 0
        self.n_taken += n_read
        return n_read


@dataclass(frozen=True, slots=True)
class Batch:
    """Short documents that were items of an iterable, as bytes that need not be UTF-8."""

    items: list[bytes]
    n_bytes: int
    first_position: int
    """Place of the first item in the iterable, from 0."""


def encode_text(text: str) -> bytes:
    """Return ``text`` as UTF-8; pairs of surrogates become one character, others U+FFFD."""
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        repaired = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        return repaired.encode("utf-8")


class _TextReader:
    """Encode a long ``str`` a slice at a time."""

    _SLICE = 1 << 16

    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0
        self._encoded = memoryview(b"")

    def readinto(self, buffer: memoryview, /) -> int:
        if not self._encoded:
            stop = self._position + self._SLICE
            if "\ud800" <= self._text[stop - 1 : stop] <= "\udbff":
                stop += 1  # so as not to part a pair of surrogates
            self._encoded = memoryview(encode_text(self._text[self._position : stop]))
            self._position = stop
        n_bytes = min(len(self._encoded), len(buffer))
        buffer[:n_bytes] = self._encoded[:n_bytes]
        self._encoded = self._encoded[n_bytes:]
        return n_bytes


@dataclass(frozen=True)
class ResolvedSource:
    """A source that was checked; exactly one of the three is given."""

    paths: tuple[str, ...] | None = None
    reader: BinaryReader | None = None
    items: Iterable[object] | None = None

    @property
    def n_bytes(self) -> int | None:
        """Bytes to be read if all are regular files, else ``None``."""
        if self.paths is None or "-" in self.paths:
            return None
        sizes = [os.stat(path) for path in self.paths]
        if not all(stat.S_ISREG(size.st_mode) for size in sizes):
            return None
        return sum(size.st_size for size in sizes)

    @property
    def description(self) -> str:
        """What was given, in words for a message."""
        if self.paths is not None:
            names = [name_path(path) for path in self.paths]
            return names[0] if len(names) == 1 else f"{len(names)} files, the first {names[0]}"
        return "the open file" if self.reader is not None else "the iterable"

    def open(self, batch_nbytes: int) -> Iterator[Stream | Batch]:
        """Yield the documents; short items of an iterable in batches of up to ``batch_nbytes``.

        A file is open while its stream is in use, and closed when the next one is asked for.
        """
        if self.paths is not None:
            yield from _open_files(self.paths)
        elif self.reader is not None:
            name = str(getattr(self.reader, "name", "the open file"))
            yield Stream(name, self.reader, is_file=True)
        elif self.items is not None:
            yield from _gather_items(self.items, batch_nbytes)


def name_path(path: str) -> str:
    """Return a path as it is named in messages."""
    return "standard input" if path == "-" else shorten_value(path, 200)


def _open_files(paths: Iterable[str]) -> Iterator[Stream]:
    for path in paths:
        if path == "-":
            standard_input = cast(BinaryReader, getattr(sys.stdin, "buffer", sys.stdin))
            yield Stream(name_path(path), standard_input, is_file=True)
            continue
        with open(path, "rb", buffering=0) as file:
            yield Stream(name_path(path), cast(BinaryReader, file), is_file=True)


def _gather_items(items: Iterable[object], batch_nbytes: int) -> Iterator[Stream | Batch]:
    """Yield short items in batches and long ones as streams, taking only a few items ahead."""
    iterator = iter(items)
    batch: list[bytes] = []
    n_batched = 0
    position = 0
    n_ahead = 1
    while group := list(islice(iterator, n_ahead)):
        whole = _encode_group(group, batch_nbytes)
        # If one of them is long or odd, each is looked at alone.
        alone = ((_encode_group([item], batch_nbytes), [item]) for item in group)
        n_bytes = 0
        for encoded, part in alone if whole is None else [(whole, group)]:
            n_bytes = sum(map(len, encoded or ()))
            if batch and (encoded is None or n_batched + n_bytes > batch_nbytes):
                yield Batch(batch, n_batched, position - len(batch))
                batch, n_batched = [], 0
            if encoded is None:
                yield _open_item(part[0], position)
            else:
                batch += encoded
                n_batched += n_bytes
            position += len(part)
        is_short = whole is not None and 4 * n_bytes < batch_nbytes
        n_ahead = min(2 * n_ahead, _MAX_AHEAD) if is_short else 1
    if batch:
        yield Batch(batch, n_batched, position - len(batch))


def _encode_group(group: list[object], batch_nbytes: int) -> list[bytes] | None:
    """Return items as bytes; ``None`` if they are too long together, or not alike."""
    kinds = set(map(type, group))
    if kinds == {bytes}:
        encoded = cast("list[bytes]", group)
    elif kinds == {str}:
        texts = cast("list[str]", group)
        if sum(map(len, texts)) > batch_nbytes:
            return None
        try:
            encoded = list(map(str.encode, texts))
        except UnicodeEncodeError:
            encoded = list(map(encode_text, texts))
    elif len(group) == 1 and isinstance(group[0], str | bytes):  # of a class derived from them
        item = group[0]
        return _encode_group(
            [str.__str__(item) if isinstance(item, str) else bytes(item)], batch_nbytes
        )
    else:
        return None
    return encoded if sum(map(len, encoded)) <= batch_nbytes else None


def _open_item(item: object, position: int) -> Stream:
    if isinstance(item, str):
        return Stream(f"item {position}", _TextReader(item))
    if isinstance(item, bytes):
        return Stream(f"item {position}", cast(BinaryReader, io.BytesIO(item)))
    raise _word_item_error(item, position)


def _word_item_error(item: object, position: int) -> DataError:
    hint = ""
    if isinstance(item, os.PathLike):
        hint = "; give paths as a list, not through a generator"
    return DataError(
        f"cannot read item {position} of the iterable: it is {shorten_value(item)}, of type "
        f"{type(item).__name__}; each item must be one document, a str or bytes{hint}"
    )


def source_nbytes(source: Source) -> int | None:
    """Return how many bytes a source holds if it is made of regular files, else ``None``."""
    return resolve_source(source).n_bytes


def resolve_source(source: Source) -> ResolvedSource:
    """Tell what a source is, and check that its files can be read.

    A ``str`` is a path, a glob or "-"; never a text. A list or tuple of ``str`` holds paths if all
    of its items are existing files, globs that match, or "-", and texts if none of them is; a mixture
    is an error. (Of a long list the first ``N_ITEMS_PROBED`` items are looked at.) Items of any other
    iterable are texts. Files are in the order given, those of one glob sorted.

    Raises:
        FileNotFoundError: a file that does not exist, a glob without a match.
        IsADirectoryError: a folder.
        PermissionError: a file that may not be read.
        ArgumentError: a source of another type.
        DataError: an empty list, or a list of paths and texts.
    """
    if isinstance(source, str | os.PathLike):
        return ResolvedSource(paths=tuple(_expand_path(source)))
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
    if isinstance(source, BinaryReader):
        return ResolvedSource(reader=source)
    if isinstance(source, list | tuple):
        return _resolve_list(source)
    if isinstance(source, Iterable) and not isinstance(source, dict) and not _is_arrow(source):
        return ResolvedSource(items=source)
    raise ArgumentError(
        f"cannot read from {shorten_value(source)}, of type {type(source).__name__}; give {_ACCEPTED}"
    )


def _is_arrow(source: object) -> bool:
    return type(source).__module__.partition(".")[0] == "pyarrow"


def _resolve_list(source: Sequence[object]) -> ResolvedSource:
    if not source:
        raise DataError(f"nothing to read: the {type(source).__name__} is empty; give {_ACCEPTED}")
    if any(isinstance(item, os.PathLike) for item in source[:N_ITEMS_PROBED]):
        for position, item in enumerate(source):
            if not isinstance(item, str | os.PathLike):
                raise DataError(
                    f"cannot read item {position} of a list of paths: it is {shorten_value(item)}, of "
                    f"type {type(item).__name__}, not a path"
                )
        paths = cast("Sequence[str | os.PathLike[str]]", source)
        return ResolvedSource(paths=tuple(chain.from_iterable(map(_expand_path, paths))))
    probed = [item for item in source[:N_ITEMS_PROBED] if isinstance(item, str) and item != "-"]
    n_paths = sum(map(_names_files, probed))
    if len(source) == source.count("-"):
        return ResolvedSource(paths=("-",))
    if n_paths == 0:
        _refuse_missing_files(source)
        return ResolvedSource(items=source)
    for position, item in enumerate(source):
        if item != "-" and not (isinstance(item, str) and _names_files(item)):
            raise DataError(
                f"cannot tell whether the list holds paths or texts: {n_paths} of its items name "
                f"files, but item {position}, {shorten_value(item)}, does not; correct it, or give "
                "texts as iter([...]), or paths as pathlib.Path"
            )
    names = cast("Sequence[str]", source)
    return ResolvedSource(paths=tuple(chain.from_iterable(map(_expand_path, names))))


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
    if os.path.exists(item):
        return not os.path.isdir(item)
    if not glob.has_magic(item) or ("**" in item and item.split() != [item]):
        return False  # a text, were it taken for a glob, should not make us walk through folders
    return any(not os.path.isdir(path) for path in glob.iglob(item, recursive=True))


def _match_glob(pattern: str) -> list[str]:
    matches = glob.glob(pattern, recursive=True)
    return sorted(path for path in matches if not os.path.isdir(path))


def _expand_path(path: str | os.PathLike[str]) -> list[str]:
    """Return the files that a path, a glob or "-" stands for."""
    name = os.fspath(path)
    if not isinstance(name, str):
        raise ArgumentError(f"cannot read from {shorten_value(path)}: paths of bytes are not taken")
    if name == "-":
        return [name]
    if "\0" not in name and os.path.exists(name):
        _check_file(name)
        return [name]
    if isinstance(path, str) and glob.has_magic(name) and "\0" not in name:
        matches = _match_glob(name)
        if not matches:
            raise FileNotFoundError(
                f"cannot read {shorten_value(name, 200)}: no file matches this pattern, seen from the "
                f"folder {os.getcwd()!r}"
            )
        for match in matches:
            _check_file(match)
        return matches
    raise FileNotFoundError(
        f"cannot read {shorten_value(name, 200)}: there is no such file; a text, unlike a path, must "
        'stand in a list: ["..."]'
    )


def _check_file(path: str) -> None:
    if os.path.isdir(path):
        raise IsADirectoryError(
            f"cannot read {shorten_value(path, 200)}: it is a folder; for the files in it give "
            f"{os.path.join(path, '*')!r}, or {os.path.join(path, '**', '*')!r} with its sub-folders"
        )
    if not os.access(path, os.R_OK):
        raise PermissionError(
            f"cannot read {shorten_value(path, 200)}: no permission to read it; see its access rights"
        )

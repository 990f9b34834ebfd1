"""Files to read: on this machine, or in a file system of pyarrow's, by address."""

import glob
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, cast

from numbpe.documents import BinaryReader
from numbpe.errors import ArgumentError, shorten_value

STANDARD_INPUT: Final = "-"

_ADDRESS: Final = re.compile(r"(file|s3|gs|gcs|abfss?|hdfs|viewfs|hf|mock)://", re.IGNORECASE)


@dataclass(frozen=True)
class InputFile:
    """A file that is read.

    path: its path, or "-" for standard input; in a file system, its path there.
    filesystem: a ``pyarrow.fs.FileSystem``, None for this machine.
    address: how it was named, for messages.
    """

    path: str
    filesystem: Any = None
    address: str = ""

    @property
    def is_standard_input(self) -> bool:
        """Whether this is standard input."""
        return self.path == STANDARD_INPUT and self.filesystem is None

    @property
    def name(self) -> str:
        """The file as it is named in messages."""
        if self.is_standard_input:
            return "standard input"
        return shorten_value(self.address or self.path, 200)

    def measure(self) -> tuple[int, int] | None:
        """Return the size in bytes and the time of the last change in ns; None for what is no file.

        Raises OSError if it is there no longer.
        """
        if self.is_standard_input:
            return None
        if self.filesystem is not None:
            info = self.filesystem.get_file_info(self.path)
            if info.size is None:
                raise FileNotFoundError(f"cannot read {self.name}: it is there no longer")
            return int(info.size), int(info.mtime_ns or 0)
        state = os.stat(self.path)
        return (state.st_size, state.st_mtime_ns) if stat.S_ISREG(state.st_mode) else None

    def identify(self) -> str:
        """Return what tells the file from any other."""
        if self.filesystem is not None:
            return self.address or f"{self.filesystem.type_name}:{self.path}"
        return os.path.abspath(self.path)

    @contextmanager
    def open(self) -> Iterator[BinaryReader]:
        """Return the file, open for reading; a local one without a buffer."""
        if self.filesystem is not None:
            with naming_errors(self.name):
                file = self.filesystem.open_input_file(self.path)
            with file:
                yield file
            return
        with open(self.path, "rb", buffering=0) as raw:
            yield cast(BinaryReader, raw)


@dataclass(frozen=True)
class FileRange(InputFile):
    """A part of a file of plain text, which is read as a file of its own.

    start, stop: where it begins and ends in the file, in bytes.
    """

    start: int = 0
    stop: int = 0

    @property
    def name(self) -> str:
        """The part as it is named in messages."""
        return f"bytes {self.start:,} to {self.stop:,} of {super().name}"

    def measure(self) -> tuple[int, int] | None:
        """Return the size of the part and the time of the file's last change in ns."""
        whole = super().measure()
        return None if whole is None else (self.stop - self.start, whole[1])

    @contextmanager
    def open(self) -> Iterator[BinaryReader]:
        """Return the part, open for reading."""
        with super().open() as reader:
            cast(Any, reader).seek(self.start)
            yield _RangeReader(reader, self.stop - self.start)


class _RangeReader:
    """Reads no more than so many bytes."""

    def __init__(self, reader: BinaryReader, n_bytes: int) -> None:
        self._reader = reader
        self._n_left = n_bytes

    def readinto(self, buffer: memoryview, /) -> int | None:
        """Fill the head of ``buffer``; return how many bytes, 0 at the end."""
        n_read = self._reader.readinto(buffer[: self._n_left])
        self._n_left -= n_read or 0
        return n_read


@contextmanager
def naming_errors(name: str) -> Iterator[None]:
    """Say which file a failure of a file system was about."""
    try:
        yield
    except OSError as error:
        raise type(error)(f"cannot read {name}: {error}") from error


def is_address(path: str) -> bool:
    """Return whether a path is an address such as ``s3://bucket/key``."""
    return _ADDRESS.match(path) is not None


def find_magic(path: str) -> int:
    """Return the first place of a character that makes a path a pattern of several, -1 for none."""
    return min((place for mark in "*?[" if (place := path.find(mark)) >= 0), default=-1)


def has_magic(path: str) -> bool:
    """Return whether a path is a pattern of several."""
    return find_magic(path) >= 0


def is_hidden(path: str) -> bool:
    """Return whether a file or one of its folders, relative to one that was asked for, is hidden.

    Names that begin with a dot are, and those with an underscore, which engines give to what is no
    data (``_SUCCESS``).
    """
    return any(part.startswith((".", "_")) for part in path.split("/"))


def expand_path(path: "str | os.PathLike[str]", filesystem: Any = None) -> list[InputFile]:
    """Return the files that a path, a folder, a glob, an address or "-" stands for.

    A folder stands for all files in it and its sub-folders, those of a glob and of a folder sorted,
    hidden ones left out.

    Raises FileNotFoundError if there is none, PermissionError for one that may not be read.
    """
    name = os.fspath(path)
    if not isinstance(name, str):
        raise ArgumentError(f"cannot read from {shorten_value(path)}: paths of bytes are not taken")
    if filesystem is not None:
        from numbpe.remote_files import check_filesystem, expand_remote

        return expand_remote(name, check_filesystem(filesystem), name)
    if isinstance(path, str) and is_address(name):
        from numbpe.remote_files import expand_address

        return expand_address(name)
    if name == STANDARD_INPUT:
        return [InputFile(name)]
    if "\0" not in name and os.path.exists(name):
        return _expand_existing(name)
    if isinstance(path, str) and has_magic(name) and "\0" not in name:
        matches = glob.glob(name, recursive=True)
        # What a folder holds is not taken in, since "**" names it once more.
        files = sorted(match for match in matches if not os.path.isdir(match))
        if not files:
            raise FileNotFoundError(
                f"cannot read {shorten_value(name, 200)}: no file matches this pattern, seen from the "
                f"folder {os.getcwd()!r}"
            )
        return [_check_file(match) for match in files]
    raise FileNotFoundError(
        f"cannot read {shorten_value(name, 200)}: there is no such file; a text, unlike a path, must "
        'stand in a list: ["..."]'
    )


def _expand_existing(path: str) -> list[InputFile]:
    if not os.path.isdir(path):
        return [_check_file(path)]
    found = []
    for folder, folders, names in os.walk(path):
        folders[:] = [name for name in folders if not is_hidden(name)]
        found += [os.path.join(folder, name) for name in names if not is_hidden(name)]
    if not found:
        raise FileNotFoundError(
            f"cannot read {shorten_value(path, 200)}: it is a folder without a file in it"
        )
    return [_check_file(file) for file in sorted(found)]


def _check_file(path: str) -> InputFile:
    if not os.access(path, os.R_OK):
        raise PermissionError(
            f"cannot read {shorten_value(path, 200)}: no permission to read it; see its access rights"
        )
    return InputFile(path)

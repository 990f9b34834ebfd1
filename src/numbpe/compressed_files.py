"""Archives of one file, undone as they are read: gzip, bzip2, xz and Zstandard.

An archive may have any number of members (gzip), streams (bzip2, xz) or frames (Zstandard) one after
another; their contents are joined. What is cut short or damaged is an error with its place.
"""

import bz2
import lzma
import zlib
from collections.abc import Callable, Generator
from typing import Any, Final, Protocol

from numbpe.bad_input import BadInput
from numbpe.documents import BinaryReader, read_some
from numbpe.errors import DataError
from numbpe.source_detection import Compression

INPUT_NBYTES: Final = 1 << 18
"""How much of an archive is read at once."""

_STEP_NBYTES: Final = 1 << 16

_DAMAGE: Final = (zlib.error, lzma.LZMAError, OSError, EOFError, ValueError)
"""What the libraries raise for bytes that they cannot undo."""


class _Member(Protocol):
    """One member of an archive, as the standard library undoes it."""

    eof: bool
    unused_data: bytes

    def decompress(self, data: bytes, max_length: int) -> bytes: ...


class _GzipMember:
    """zlib's object with the calls of those of ``bz2`` and ``lzma``: it keeps what it did not use."""

    def __init__(self) -> None:
        self._member: Any = zlib.decompressobj(zlib.MAX_WBITS | 16)

    @property
    def eof(self) -> bool:
        return bool(self._member.eof)

    @property
    def unused_data(self) -> bytes:
        return bytes(self._member.unused_data)

    def decompress(self, data: bytes, max_length: int) -> bytes:
        rest = self._member.unconsumed_tail
        return bytes(self._member.decompress(rest + data if rest else data, max_length))


_MEMBERS: Final[dict[str, Callable[[], Any]]] = {
    "gz": _GzipMember,
    "bz2": bz2.BZ2Decompressor,
    "xz": lzma.LZMADecompressor,
}


def open_archive(
    reader: BinaryReader, compression: Compression, name: str, bad: BadInput
) -> "MemberReader | FrameReader":
    """Return what reads the contents of an archive that is open.

    Where it is damaged the contents end if ``bad`` skips such files, else its reading raises
    DataError with the place.
    """
    if compression == "zst":
        return FrameReader(reader, name, bad)
    return MemberReader(reader, _MEMBERS[compression], name, bad)


class MemberReader:
    """Reads the contents of a gzip, bzip2 or xz archive."""

    def __init__(
        self, reader: BinaryReader, make_member: Callable[[], _Member], name: str, bad: BadInput
    ) -> None:
        self._reader = reader
        self._make_member = make_member
        self._member: _Member | None = None
        self._name = name
        self._bad = bad
        self._buffer = bytearray(INPUT_NBYTES)
        self._rest = b""
        self._n_taken = 0
        self._is_over = False

    def readinto(self, buffer: memoryview, /) -> int:
        """Fill the head of ``buffer``; return how many bytes, 0 at the end."""
        data = b""
        if not self._is_over:
            try:
                data = self._decompress(len(buffer))
            except DataError as error:
                self._is_over = True
                self._bad.add_damage(error)
        buffer[: len(data)] = data
        return len(data)

    def _decompress(self, most: int) -> bytes:
        """Return the next bytes of the contents, at most ``most``, none at the end."""
        while True:
            if self._member is None and not self._begin_member():
                self._is_over = True
                return b""
            member = self._member
            if member is None:
                continue
            given, self._rest = self._rest, b""
            try:
                data = member.decompress(given, most)
            except _DAMAGE as error:
                raise self._word_damage(f"it is damaged ({error})") from None
            if member.eof:
                self._rest = member.unused_data
                self._member = None
            if data:
                return data
            if self._member is not None and not self._read_more():
                raise self._word_damage("it ends in the middle: it was cut short")

    def _begin_member(self) -> bool:
        """Begin the next member; return False if the archive is at its end.

        Zeros behind a member are padding (gzip, section 1.5 of its manual; xz, section 2.2 of its
        specification).
        """
        while True:
            self._rest = self._rest.lstrip(b"\0") if self._n_taken > len(self._rest) else self._rest
            if self._rest:
                break
            if not self._read_more():
                return False
        self._member = self._make_member()
        return True

    def _read_more(self) -> bool:
        n_bytes = read_some(self._reader, memoryview(self._buffer), self._name)
        self._n_taken += n_bytes
        self._rest += self._buffer[:n_bytes]
        return n_bytes > 0

    def _word_damage(self, what: str) -> DataError:
        return _word_damage(self._name, what, self._n_taken)


class FrameReader:
    """Reads the contents of a Zstandard archive, by Arrow's codec."""

    def __init__(self, reader: BinaryReader, name: str, bad: BadInput) -> None:
        import pyarrow

        self._counter = _CountingFile(reader, name)
        source = pyarrow.PythonFile(self._counter, mode="r")
        self._stream: Any = pyarrow.CompressedInputStream(source, "zstd")
        self._name = name
        self._bad = bad
        self._is_over = False

    def readinto(self, buffer: memoryview, /) -> int:
        """Fill the head of ``buffer``; return how many bytes, 0 at the end."""
        if self._is_over:
            return 0
        try:
            # Small steps, since what one has made before it fails is lost.
            n_bytes = int(self._stream.readinto(buffer[:_STEP_NBYTES]))
        except OSError as error:
            if self._counter.error is not None:
                raise self._counter.error from None
            what = "it is damaged"
            if "Truncated" in str(error):
                what = "it ends in the middle: it was cut short"
            damage = _word_damage(self._name, f"{what} ({error})", self._counter.n_taken)
            self._bad.add_damage(damage)
            n_bytes = 0
        self._is_over = n_bytes == 0
        return n_bytes


class _CountingFile:
    """A file as pyarrow asks for it, which remembers what went wrong in reading it."""

    closed = False

    def __init__(self, reader: BinaryReader, name: str) -> None:
        self._reader = reader
        self._name = name
        self.n_taken = 0
        self.error: BaseException | None = None

    def read(self, n_bytes: int = INPUT_NBYTES) -> bytes:
        buffer = bytearray(max(1, min(n_bytes, INPUT_NBYTES)))
        try:
            n_read = read_some(self._reader, memoryview(buffer), self._name)
        except BaseException as error:
            self.error = error
            raise
        self.n_taken += n_read
        return bytes(memoryview(buffer)[:n_read])

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return False

    def seekable(self) -> bool:
        return False

    def close(self) -> None:
        """Do nothing: the file is closed where it was opened."""


def _word_damage(name: str, what: str, n_taken: int) -> DataError:
    return DataError(
        f"cannot read {name}: {what}, somewhere before byte {n_taken:,} of the archive; fetch or make "
        'it anew, or pass on_bad="skip" (--on-bad skip) to take what comes before'
    )


def read_blocks(
    reader: BinaryReader, name: str, block_nbytes: int
) -> Generator[bytearray, None, None]:
    """Yield what a reader gives in blocks of ``block_nbytes``, the last one shorter."""
    while True:
        block = bytearray(block_nbytes)
        n_bytes = 0
        with memoryview(block) as view:
            while n_bytes < block_nbytes:
                n_read = read_some(reader, view[n_bytes:], name)
                if n_read == 0:
                    break
                n_bytes += n_read
        if n_bytes:
            yield block if n_bytes == block_nbytes else block[:n_bytes]
        if n_bytes < block_nbytes:
            return

"""Documents on their way from a source to the reader that cuts them: streams and batches."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from numbpe.arrays import Offsets
from numbpe.errors import DataError

NameDocument: TypeAlias = Callable[[int], str]
"""Names a document of a batch in a message: ``name(2)`` may be "row 17 of 'a.parquet'"."""


@runtime_checkable
class BinaryReader(Protocol):
    """A binary file that is open for reading, or anything that fills a buffer as one does."""

    def readinto(self, buffer: memoryview, /) -> int | None: ...


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
        n_read = read_some(self._reader, buffer, self.name)
        self._is_exhausted = n_read == 0
        self.n_taken += n_read
        return n_read

    def read_parts(self, n_bytes: int) -> Iterator[bytes]:
        """Yield what is left of the document, at most ``n_bytes`` at a time."""
        buffer = memoryview(bytearray(n_bytes))
        while n_read := self.readinto(buffer):
            yield bytes(buffer[:n_read])


@dataclass(frozen=True, slots=True)
class Batch:
    """Short documents, as bytes that need not be UTF-8.

    contents: (n,) uint8, the documents one after another; it may be read-only.
    offsets: (m + 1,) int64, where each of the m documents, 1 or more, begins and ends.
    name: names a document by its place in the batch, from 0.
    """

    contents: NDArray[np.uint8]
    offsets: Offsets
    name: NameDocument

    @property
    def n_bytes(self) -> int:
        """Bytes of all documents."""
        return int(self.offsets[-1] - self.offsets[0])

    @property
    def items(self) -> list[bytes]:
        """The documents."""
        bounds = self.offsets.tolist()
        return [self.contents[start:stop].tobytes() for start, stop in pairwise(bounds)]


def join_items(items: list[bytes], name: NameDocument) -> Batch:
    """Return a batch of ``items``, one or more."""
    offsets = np.zeros(len(items) + 1, dtype=np.int64)
    np.cumsum(np.fromiter(map(len, items), np.int64, len(items)), out=offsets[1:])
    return Batch(np.frombuffer(b"".join(items), dtype=np.uint8), offsets, name)


def split_documents(
    contents: NDArray[np.uint8], offsets: Offsets, name: NameDocument, batch_nbytes: int
) -> Iterator[Stream | Batch]:
    """Yield documents that lie one after another: batches of up to ``batch_nbytes``, long ones alone.

    The arguments are those of :class:`Batch`, but that there may be no document.
    """
    n_documents = len(offsets) - 1
    first = 0
    while first < n_documents:
        limit = offsets[first] + batch_nbytes
        stop = int(np.searchsorted(offsets, limit, side="right")) - 1
        if stop > first:
            yield Batch(contents, offsets[first : stop + 1], _shift_name(name, first))
            first = stop
        else:
            document = contents[offsets[first] : offsets[first + 1]]
            yield Stream(name(first), BytesReader(document))
            first += 1


def _shift_name(name: NameDocument, first: int) -> NameDocument:
    return (lambda place: name(first + place)) if first else name


def read_some(reader: BinaryReader, buffer: memoryview, name: str) -> int:
    """Fill the head of ``buffer``; return how many bytes, 0 at the end.

    Raises DataError for a reader that has no data now and may have some later.
    """
    n_read = reader.readinto(buffer)
    if n_read is None:
        raise DataError(
            f"cannot read {name}: it is in non-blocking mode and has no data yet; set it "
            "to blocking mode"
        )
    return n_read


def encode_text(text: str) -> bytes:
    """Return ``text`` as UTF-8; pairs of surrogates become one character, others U+FFFD."""
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        repaired = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        return repaired.encode("utf-8")


class BytesReader:
    """Read from bytes, or an array of them, without a copy of the whole."""

    def __init__(self, data: "bytes | bytearray | NDArray[np.uint8]") -> None:
        self._rest = memoryview(data)  # type: ignore[arg-type]

    def readinto(self, buffer: memoryview, /) -> int:
        """Fill the head of ``buffer``; return how many bytes, 0 at the end."""
        n_bytes = min(len(self._rest), len(buffer))
        buffer[:n_bytes] = self._rest[:n_bytes]
        self._rest = self._rest[n_bytes:]
        return n_bytes


class TextReader:
    """Encode a long ``str`` a slice at a time."""

    _SLICE = 1 << 16

    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0
        self._encoded = memoryview(b"")

    def readinto(self, buffer: memoryview, /) -> int:
        """Fill the head of ``buffer``; return how many bytes, 0 at the end."""
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

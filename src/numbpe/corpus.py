"""Read a corpus in chunks that are cut where cutting changes nothing.

Read, check and repair UTF-8, find special tokens, cut: each step runs over one buffer of fixed size,
in the thread that asks for chunks. A document that does not fit is cut at a special token or where
the pattern is proven to end a piece; what stands behind the cut is carried over to the next buffer.
"""

import codecs
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from types import TracebackType
from typing import Literal, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from numbpe.arrays import TextArray, allocate_text
from numbpe.bad_input import BadInput
from numbpe.chunks import CUT, END_OF_DOCUMENT, Chunk, OpenChunk
from numbpe.documents import Batch, Stream, join_items
from numbpe.errors import ArgumentError, InvalidTextError, shorten_value
from numbpe.literals import build_literals
from numbpe.sources import ResolvedSource, Source, resolve_source
from numbpe_kernels.constants import TEXT_PADDING
from numbpe_kernels.literals import literals_find, literals_split
from numbpe_kernels.utf8 import utf8_find_invalid, utf8_find_truncated

ErrorPolicy: TypeAlias = Literal["replace", "ignore", "strict"]
"""What becomes of bytes that are not UTF-8; the names and results are those of ``bytes.decode``."""

FindCut: TypeAlias = Callable[[TextArray, int, int], int]
"""``find_cut(text, start, stop)``: the last safe cut c with start < c < stop, -1 if there is none."""

CHUNK_NBYTES = 1 << 20
"""Default size of a chunk: some milliseconds of counting, and a part of a core's cache."""

READ_NBYTES = 1 << 20
"""Most bytes read at once; fewer would still be in the cache when they are checked, but each read
costs some 100 microseconds of Python."""

_CUT_CONTEXT_NBYTES = 64
"""How much text before an unsearched part is shown again to ``find_cut``, for what it looks back."""

_MATCHES_A_CALL = 4096


class ChunkReader(Iterator[Chunk]):
    """Iterate over the chunks of a source.

    The chunks, each part split on its own, give the pieces of the whole documents, for any size of
    chunk; ``Chunk.parts`` tell what stood between the parts. Special tokens are found as literal text, leftmost and longest, and belong to no part; a
    special token does not run over the end of a file or an item. Line ends, NUL and a leading byte
    order mark are text like any other.

    Args:
        source: see :data:`numbpe.sources.Source`. Iterables are consumed lazily, by ``next``.
        special_tokens: not empty, UTF-8, each once (:func:`~numbpe.special_tokens.check_special_tokens`).
        find_cut: where text may be cut (:data:`FindCut`); ``None`` cuts at special tokens and ends
            of documents alone.
        errors: "replace" and "ignore" give the text of ``bytes.decode``; "strict" raises.
        chunk_nbytes: size of a chunk in bytes, 1 or more. Text without a place to cut makes a
            chunk larger, and nothing else does.
        on_bytes: called with the number of bytes read, after each read.
        allow_empty: whether a source without a single byte is no error.

    Raises:
        InvalidTextError: the source is not UTF-8 and ``errors`` is "strict".
        DataError: there is nothing to read, or an item is not text.
        OSError: a file cannot be read; see :func:`~numbpe.sources.resolve_source`.

    Memory: one chunk, and those that were handed out and not yet recycled.
    """

    def __init__(
        self,
        source: Source | ResolvedSource,
        *,
        special_tokens: Sequence[bytes],
        find_cut: FindCut | None,
        errors: ErrorPolicy = "replace",
        chunk_nbytes: int = CHUNK_NBYTES,
        on_bytes: Callable[[int], None] | None = None,
        allow_empty: bool = False,
    ) -> None:
        if errors not in ("replace", "ignore", "strict"):
            raise ArgumentError(
                f'errors must be "replace", "ignore" or "strict", not {shorten_value(errors)}'
            )
        if chunk_nbytes < 1:
            raise ArgumentError(f"chunk_nbytes must be 1 or more, not {chunk_nbytes}")
        self._source = resolve_source(source)
        self._literals = build_literals(special_tokens)
        self._longest_special = max(map(len, special_tokens), default=1)
        self._find_cut = find_cut
        self._errors: ErrorPolicy = errors
        self._chunk_nbytes = chunk_nbytes
        self._on_bytes = on_bytes
        self._allow_empty = allow_empty
        self._matches = np.empty((_MATCHES_A_CALL, 3), dtype=np.int64)
        self._parts = np.empty((_MATCHES_A_CALL, 3), dtype=np.int64)
        self._free_texts: deque[TextArray] = deque()
        self._n_read = 0
        self._open = self._begin_chunk(0)
        self._chunks = self._read_chunks()

    def __next__(self) -> Chunk:
        return next(self._chunks)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file that is being read, if any; no chunk comes after."""
        self._chunks.close()

    @property
    def source_nbytes(self) -> int | None:
        """Bytes of text in the source if it is made of regular files of it, else ``None``."""
        return self._source.n_bytes

    @property
    def bad(self) -> BadInput:
        """What could not be used so far."""
        return self._source.reading.bad

    def recycle(self, chunk: Chunk) -> None:
        """Give back the memory of a chunk that is no longer used. Any thread may call this."""
        if len(chunk.text) == self._chunk_nbytes + TEXT_PADDING:
            self._free_texts.append(chunk.text)

    def _read_chunks(self) -> Generator[Chunk, None, None]:
        # Items come in batches so small that a batch, repaired (3 bytes for 1), fits in a chunk.
        batch_nbytes = min(self._chunk_nbytes // 4, READ_NBYTES)
        # Closed here and not when it is collected, since a thread may be reading for it.
        with closing(self._source.open(batch_nbytes)) as documents:
            for document in documents:
                is_file = isinstance(document, Stream) and document.is_file
                if is_file != self._open.is_file:
                    if self._open.filled:
                        yield self._end_chunk(self._open.filled)
                    self._open.is_file = is_file
                if isinstance(document, Batch):
                    yield from self._add_batch(document)
                else:
                    yield from self._add_stream(document)
        if self._n_read == 0 and not self._allow_empty:
            raise self._source.word_empty()
        if self._open.filled or self._open.n_bytes or self._open.parts:
            yield self._open.finish()

    def _begin_chunk(self, n_carried: int) -> OpenChunk:
        """Return an empty chunk with room for ``n_carried`` bytes and more."""
        if n_carried >= self._chunk_nbytes:
            return OpenChunk(allocate_text(2 * n_carried))
        try:
            return OpenChunk(self._free_texts.pop())
        except IndexError:
            return OpenChunk(allocate_text(self._chunk_nbytes))

    def _end_chunk(self, start: int) -> Chunk:
        """Return the open chunk up to ``start``; the text behind it begins the next one."""
        ended = self._open
        self._open = self._begin_chunk(ended.filled - start)
        ended.carry_over(self._open, start)
        return ended.finish()

    def _count_bytes(self, n_bytes: int) -> None:
        self._n_read += n_bytes
        self._open.n_bytes += n_bytes
        if self._on_bytes is not None and n_bytes:
            self._on_bytes(n_bytes)

    # A document that is read in parts.

    def _add_stream(self, stream: Stream) -> Iterator[Chunk]:
        self._open.begin_document()
        ended = False
        while not ended:
            chunk = self._make_room()
            if chunk is not None:
                yield chunk
            ended = self._read_once(stream)
            self._find_special_tokens(ended)
        self._open.end_part(self._open.filled, END_OF_DOCUMENT)

    def _make_room(self) -> Chunk | None:
        """Leave room to read into: cut the text if it fills the chunk, else let the chunk grow."""
        open_ = self._open
        if open_.filled < open_.capacity:
            return None
        cut = self._find_safe_cut()
        if cut >= 0:
            open_.end_part(cut, CUT)
        if open_.part_start > 0:
            return self._end_chunk(open_.part_start)
        open_.grow()
        return None

    def _find_safe_cut(self) -> int:
        """Return the last safe cut within the open part, -1 if there is none.

        All the text that is shown to ``find_cut`` is known to belong to the part: special tokens
        that begin in it would have been found.
        """
        open_ = self._open
        start = max(open_.part_start, open_.searched_stop - _CUT_CONTEXT_NBYTES)
        if self._find_cut is None or open_.decided_stop - start < 2:
            return -1
        open_.searched_stop = open_.decided_stop
        return int(self._find_cut(open_.text, start, open_.decided_stop))

    def _read_once(self, stream: Stream) -> bool:
        """Read some bytes behind the text, check and repair them; return whether it was the end."""
        open_ = self._open
        stop = min(open_.capacity, open_.filled + READ_NBYTES)
        n_taken = stream.n_taken
        n_bytes = stream.readinto(open_.text.data[open_.filled : stop])
        self._count_bytes(stream.n_taken - n_taken)
        open_.filled += n_bytes
        ended = n_bytes == 0
        stop = open_.filled
        if not ended:
            stop = utf8_find_truncated(open_.text, open_.valid_stop, open_.filled)
        invalid = utf8_find_invalid(open_.text, open_.valid_stop, stop)
        if invalid < 0:
            open_.valid_stop = stop
            return ended
        self._repair(stream, invalid, ended)
        return False

    def _repair(self, stream: Stream, invalid: int, ended: bool) -> None:
        """Take the text from ``invalid`` on out of the chunk, and let its repaired form be read next.

        Reading it anew costs little and keeps its growth, three bytes for one, out of the buffer.
        """
        open_ = self._open
        data = open_.text[invalid : open_.filled].tobytes()
        if self._errors == "strict":
            # Nothing was repaired before, so bytes taken and bytes of text are the same.
            offset = stream.n_taken - len(data)
            raise word_invalid_text(stream.name, data, offset)
        decoder = codecs.getincrementaldecoder("utf-8")(self._errors)
        repaired = decoder.decode(data, ended)
        stream.push_back(repaired.encode("utf-8") + decoder.getstate()[0])
        open_.filled = open_.valid_stop = invalid

    def _find_special_tokens(self, ended: bool) -> None:
        """Find special tokens in the text that is valid; before its end only where it decides."""
        open_ = self._open
        limit = open_.valid_stop
        if not ended:
            # A longer token may begin here that is not there in full yet.
            limit = max(open_.decided_stop, limit - self._longest_special + 1)
        while open_.decided_stop < limit:
            n_matches = literals_find(
                self._literals,
                open_.text,
                open_.decided_stop,
                limit,
                open_.valid_stop,
                self._matches,
            )
            if n_matches:
                matches = self._matches[:n_matches]
                matches[:, 2] = self._literals.positions[matches[:, 2]]
                open_.add_matches(matches)
            open_.decided_stop = max(open_.part_start, limit)
            if n_matches == len(self._matches):
                open_.decided_stop = open_.part_start

    # Many short documents at once.

    def _add_batch(self, batch: Batch) -> Iterator[Chunk]:
        if not self._fits(batch.n_bytes):
            yield self._end_chunk(self._open.filled)
        self._count_bytes(batch.n_bytes)
        documents = self._append(batch)
        if not self._are_valid(documents):
            batch = self._repair_batch(batch)
            self._open.filled = int(documents[0, 0])
            if not self._fits(batch.n_bytes):
                yield self._end_chunk(self._open.filled)
            documents = self._append(batch)
        self._split_documents(documents)

    def _fits(self, n_bytes: int) -> bool:
        return self._open.filled + n_bytes <= self._open.capacity

    def _append(self, batch: Batch) -> NDArray[np.int64]:
        """Copy documents behind the text; return their (n, 2) starts and stops."""
        open_ = self._open
        first, last = int(batch.offsets[0]), int(batch.offsets[-1])
        shifted = batch.offsets + (open_.filled - first)
        documents = np.stack([shifted[:-1], shifted[1:]], axis=1)
        stop = open_.filled + last - first
        open_.text[open_.filled : stop] = batch.contents[first:last]
        open_.filled = stop
        return documents

    def _are_valid(self, documents: NDArray[np.int64]) -> bool:
        """Tell whether each of the documents at the end of the text is UTF-8."""
        text = self._open.text
        if utf8_find_invalid(text, int(documents[0, 0]), self._open.filled) >= 0:
            return False
        # Together they are; so each is, unless a border lies within a character.
        starts = documents[documents[:, 0] < documents[:, 1], 0]
        return not np.any(text[starts] & 0xC0 == 0x80)

    def _repair_batch(self, batch: Batch) -> Batch:
        items = batch.items
        if self._errors == "strict":
            for place, item in enumerate(items):
                try:
                    item.decode("utf-8")
                except UnicodeDecodeError as error:
                    raise word_invalid_text(
                        batch.name(place), item[error.start :], error.start
                    ) from None
        repaired = [item.decode("utf-8", self._errors).encode("utf-8") for item in items]
        return join_items(repaired, batch.name)

    def _split_documents(self, documents: NDArray[np.int64]) -> None:
        if not len(self._literals.positions):
            marks = np.full((len(documents), 1), END_OF_DOCUMENT, dtype=np.int64)
            self._open.parts.append(np.hstack([documents, marks]))
            return
        progress = np.zeros(2, dtype=np.int64)
        while progress[0] < len(documents):
            n_parts = literals_split(
                self._literals, self._open.text, documents, progress, self._parts
            )
            parts = self._parts[:n_parts].copy()
            is_token = parts[:, 2] >= 0
            parts[is_token, 2] = self._literals.positions[parts[is_token, 2]]
            self._open.parts.append(parts)


def read_chunks(
    source: Source,
    *,
    special_tokens: Sequence[bytes],
    find_cut: FindCut | None,
    errors: ErrorPolicy = "replace",
    chunk_nbytes: int = CHUNK_NBYTES,
    on_bytes: Callable[[int], None] | None = None,
) -> ChunkReader:
    """Return the chunks of a source; see :class:`ChunkReader`, whose arguments these are.

    Example:
        >>> [chunk.documents.tolist() for chunk in read_chunks(["a b", "c"], special_tokens=[],
        ...                                                    find_cut=None)]
        [[[0, 3], [3, 4]]]
    """
    return ChunkReader(
        source,
        special_tokens=special_tokens,
        find_cut=find_cut,
        errors=errors,
        chunk_nbytes=chunk_nbytes,
        on_bytes=on_bytes,
    )


def word_invalid_text(name: str, data: bytes, offset: int) -> InvalidTextError:
    """Return the error for ``data``, at byte ``offset`` of a document, that begins not as UTF-8."""
    n_invalid = 1
    try:
        data[:4].decode("utf-8")
    except UnicodeDecodeError as error:
        n_invalid = error.end
    hint = ""
    if offset == 0 and data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        hint = " (it begins like UTF-16)"
    return InvalidTextError(
        f"cannot read {name}: {data[:n_invalid]!r} at byte {offset} is not UTF-8{hint}; convert the text "
        'to UTF-8, or pass errors="replace" to read U+FFFD in its place, or errors="ignore" to leave it '
        "out"
    )

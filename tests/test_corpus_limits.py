"""The bounds of reading in chunks: memory, offsets, laziness, and what is refused."""

import io
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from numbpe.arrays import TextArray
from numbpe.corpus import CHUNK_NBYTES, ChunkReader, read_chunks
from numbpe.errors import ArgumentError, DataError, InvalidTextError
from numbpe_kernels.constants import TEXT_PADDING


def find_cut_before_space(text: TextArray, start: int, stop: int) -> int:
    """Return the last place before a space and behind another character."""
    before_space = re.compile(rb"(?<=[^ ])(?= )")
    found = [match.start() for match in before_space.finditer(text[start:stop].tobytes())]
    return start + found[-1] if found and found[-1] > 0 else -1


def read_parts(source: Any, special_tokens: list[bytes], **options: Any) -> list[bytes]:
    """Return the parts of all chunks."""
    reader = read_chunks(
        source, special_tokens=special_tokens, find_cut=find_cut_before_space, **options
    )
    return [
        chunk.text[start:stop].tobytes()
        for chunk in reader
        for start, stop in chunk.documents.tolist()
    ]


def test_read_chunks__long_texts_without_a_place_to_cut(rng: np.random.Generator) -> None:
    """Truth: hand-computed; one part, and find_cut sees each byte about once."""
    n_seen = 0

    def find_nothing(text: TextArray, start: int, stop: int) -> int:
        nonlocal n_seen
        n_seen += stop - start
        return -1

    data = rng.integers(97, 123, size=300_000, dtype=np.uint8).tobytes()
    for find_cut in (find_nothing, None):
        (chunk,) = read_chunks([data], special_tokens=[b"<"], find_cut=find_cut, chunk_nbytes=100)
        assert chunk.documents.tolist() == [[0, len(data)]]
        assert chunk.text[: len(data)].tobytes() == data
    assert n_seen < 1.1 * len(data) + 100 * 64


def test_read_chunks__find_cut_sees_no_special_token() -> None:
    """Truth: the contract; what is shown is text of one part, complete or not."""
    document = b"one two< >three four < > five" * 20
    shown: list[bytes] = []

    def find_and_note(text: TextArray, start: int, stop: int) -> int:
        assert 0 <= start < stop
        shown.append(text[start:stop].tobytes())
        return find_cut_before_space(text, start, stop)

    for chunk_nbytes in range(1, 60):
        reader = read_chunks(
            io.BytesIO(document),
            special_tokens=[b"< >"],
            find_cut=find_and_note,
            chunk_nbytes=chunk_nbytes,
        )
        for _ in reader:
            pass
    assert shown
    assert not any(b"< >" in text or text.endswith((b"<", b"< ")) for text in shown)


def test_read_chunks__chunks_stay_small_and_memory_is_used_again(
    rng: np.random.Generator,
) -> None:
    """Truth: the contract; invalid bytes, which grow threefold, do not make chunks larger."""
    data = rng.integers(0x80, 0x100, size=200_000, dtype=np.uint8)
    data[::10] = ord(" ")
    data[5::10] = ord("a")
    reader = read_chunks(
        io.BytesIO(data.tobytes()),
        special_tokens=[],
        find_cut=find_cut_before_space,
        chunk_nbytes=5000,
    )
    addresses = set()
    n_bytes = 0
    for chunk in reader:
        assert len(chunk.text) == 5000 + TEXT_PADDING
        addresses.add(chunk.text.ctypes.data)
        n_bytes += chunk.n_bytes
        reader.recycle(chunk)
    assert len(addresses) == 2
    assert n_bytes == len(data)


def test_read_chunks__consumes_iterables_lazily() -> None:
    """Truth: the contract; no more is taken than a chunk and a batch hold."""
    n_taken = 0

    def generate() -> Iterator[str]:
        nonlocal n_taken
        for _ in range(1000):
            n_taken += 1
            yield "x" * 100

    reader = read_chunks(generate(), special_tokens=[], find_cut=None, chunk_nbytes=10_000)
    assert n_taken == 0
    next(reader)
    assert n_taken <= 150


def test_read_chunks__reports_the_bytes_it_reads(tmp_path: Path) -> None:
    """Truth: the size of the file."""
    path = tmp_path / "text"
    path.write_bytes(b"some \xff words\n" * 5000)
    reported: list[int] = []
    reader = ChunkReader(
        path,
        special_tokens=[],
        find_cut=find_cut_before_space,
        chunk_nbytes=1000,
        on_bytes=reported.append,
    )
    total = sum(chunk.n_bytes for chunk in reader)
    assert total == sum(reported) == reader.source_nbytes == path.stat().st_size


@pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="4 GiB take hours where nothing is compiled"
)
def test_read_chunks__offsets_past_32_bits() -> None:
    """Truth: hand-computed; a reader that leaves zeros in the buffer and ends in a bad byte."""
    n_zeros = (1 << 32) + 12_345

    class Zeros:
        n_left = n_zeros + 1

        def readinto(self, buffer: memoryview, /) -> int:
            n_bytes = min(self.n_left, len(buffer))
            self.n_left -= n_bytes
            if n_bytes and not self.n_left:
                buffer[n_bytes - 1] = 0xFF
            return n_bytes

    reader = ChunkReader(
        Zeros(),
        special_tokens=[],
        find_cut=lambda text, start, stop: stop - 1,
        errors="strict",
    )

    def count_text() -> None:
        nonlocal n_text
        for chunk in reader:
            n_text += int((chunk.documents[:, 1] - chunk.documents[:, 0]).sum())
            reader.recycle(chunk)

    n_text = 0
    with pytest.raises(InvalidTextError, match=f"at byte {n_zeros} "):
        count_text()
    assert n_zeros - CHUNK_NBYTES <= n_text <= n_zeros


def test_read_chunks__nothing_to_read(tmp_path: Path) -> None:
    """Truth: the contract; an empty source is an error, an empty file beside others is not."""
    empty = tmp_path / "empty"
    empty.write_bytes(b"")
    full = tmp_path / "full"
    full.write_bytes(b"x")
    for source in (empty, [empty, empty], iter([]), iter([""]), [b"", b""], io.BytesIO()):
        with pytest.raises(DataError, match="nothing to read"):
            read_parts(source, [])
    assert read_parts([empty, full], []) == [b"x"]
    assert read_parts(["<|endoftext|>"], [b"<|endoftext|>"]) == []


@pytest.mark.parametrize("chunk_nbytes", [10, 1000])
def test_read_chunks__items_of_another_type(chunk_nbytes: int) -> None:
    """Truth: the contract; the error names the place and the type."""
    for item in (7, None, ["a"], Path("x")):
        message = f"cannot read item 3 of the iterable: .*{type(item).__name__}"
        with pytest.raises(DataError, match=message):
            read_parts(iter(["a", b"b" * 20, "c", item]), [], chunk_nbytes=chunk_nbytes)


def test_read_chunks__refuses_bad_arguments() -> None:
    """Truth: the contract."""
    with pytest.raises(ArgumentError, match='errors must be "replace", "ignore" or "strict"'):
        read_parts(["a"], [], errors="surrogateescape")
    with pytest.raises(ArgumentError, match="chunk_nbytes must be 1 or more, not 0"):
        read_parts(["a"], [], chunk_nbytes=0)


def test_read_chunks__closes_its_file(tmp_path: Path) -> None:
    """Truth: pytest turns the ResourceWarning of a file that is left open into an error."""
    path = tmp_path / "text"
    path.write_bytes(b"a b " * 1000)
    with read_chunks(
        path, special_tokens=[], find_cut=find_cut_before_space, chunk_nbytes=10
    ) as reader:
        next(reader)
    assert list(reader) == []

"""Reading in chunks, against plain Python on whole documents."""

import io
import lzma
import os
import re
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from numbpe.arrays import TextArray
from numbpe.corpus import CHUNK_NBYTES, ChunkReader, ErrorPolicy, read_chunks
from numbpe.errors import ArgumentError, DataError, InvalidTextError
from numbpe_kernels.constants import TEXT_PADDING

ENDOFTEXT = b"<|endoftext|>"

SPECIAL_SETS: list[list[bytes]] = [
    [],
    [ENDOFTEXT],
    [b"<a", b"<a>"],
    [b"<a>", b"<a"],
    [b"aba"],
    [b"a.c", b"(x|y)+", b"[INST]", b"$", b"^"],
    [b"< >", b" < > "],
    ["é".encode(), "\ufffd".encode(), b"\0"],
]

NASTY_PARTS = [
    *(text.encode() for text in ("a", "b", " ", "  ", "é", "€", "\U0001f600", "\ufeff", "\u2028")),
    *(
        b"\r\n",
        b"\n",
        b"\0",
        b"ababa",
        b"<a> <ab",
        b"abc a.c x (x|y)+ y",
        b"<",
        b" >",
        b"a long word ",
    ),
    *(b"\xff", b"\x80", b"\xe2\x82", b"\xf0\x9f\x98", b"\xed\xa0\x80", b"\xc0\x80", b"\xf4\x90"),
]


def find_toy_cut(text: TextArray, start: int, stop: int) -> int:
    """Return the last place before a space and behind another character."""
    found = list(re.finditer(rb"(?<=[^ ])(?= )", text[start:stop].tobytes()))
    inner = [start + match.start() for match in found if match.start() > 0]
    return inner[-1] if inner else -1


def split_toy(part: bytes) -> list[bytes]:
    """Return the pieces of a part: words with the spaces before them."""
    return re.findall(rb" *[^ ]+| +", part)


def expect_pieces(
    documents: Sequence[bytes], special_tokens: Sequence[bytes], errors: ErrorPolicy
) -> list[bytes]:
    """Return the pieces of whole documents, by Python's decoder and the re module."""
    longest_first = sorted(special_tokens, key=len, reverse=True)
    special = re.compile(b"|".join(map(re.escape, longest_first)) or rb"(?!)")
    pieces = []
    for document in documents:
        for part in special.split(document.decode("utf-8", errors).encode()):
            pieces += split_toy(part)
    return pieces


def read_pieces(source: Any, special_tokens: Sequence[bytes], **options: Any) -> list[bytes]:
    """Return the pieces of all chunks, in order, and give each chunk back."""
    reader = read_chunks(source, special_tokens=special_tokens, find_cut=find_toy_cut, **options)
    pieces = []
    for chunk in reader:
        assert np.all(chunk.documents[:, 0] < chunk.documents[:, 1])
        for start, stop in chunk.documents.tolist():
            pieces += split_toy(chunk.text[start:stop].tobytes())
        chunk.text[:] = 0xFF  # what was carried over must not be this chunk's own memory
        reader.recycle(chunk)
    return pieces


def make_document(rng: np.random.Generator, special_tokens: Sequence[bytes], size: int) -> bytes:
    parts = NASTY_PARTS if rng.random() < 0.5 else NASTY_PARTS[:-7]
    parts = [*parts, *special_tokens, *special_tokens]
    return b"".join(parts[i] for i in rng.integers(len(parts), size=size))


@pytest.mark.parametrize("errors", ["replace", "ignore"])
@pytest.mark.parametrize("special_tokens", SPECIAL_SETS, ids=repr)
def test_read_chunks__random_documents(
    special_tokens: list[bytes], errors: ErrorPolicy, rng: np.random.Generator, tmp_path: Path
) -> None:
    """Truth: whole documents by bytes.decode and re.split, for files, open files and items."""
    for _ in range(25):
        documents = [
            make_document(rng, special_tokens, int(rng.integers(30)))
            for _ in range(rng.integers(1, 6))
        ]
        documents[0] += b"x"
        expected = expect_pieces(documents, special_tokens, errors)
        paths = []
        for number, document in enumerate(documents):
            paths.append(tmp_path / f"{number}.bin")
            paths[-1].write_bytes(document)
        for chunk_nbytes in (1, 2, 3, int(rng.integers(4, 100)), 1 << 16):
            options = {"errors": errors, "chunk_nbytes": chunk_nbytes}
            assert read_pieces(paths, special_tokens, **options) == expected
            assert read_pieces(iter(documents), special_tokens, **options) == expected
            one = expect_pieces(documents[:1], special_tokens, errors)
            assert read_pieces(io.BytesIO(documents[0]), special_tokens, **options) == one


@pytest.mark.parametrize("special_tokens", SPECIAL_SETS, ids=repr)
def test_read_chunks__every_chunk_size(
    special_tokens: list[bytes], rng: np.random.Generator
) -> None:
    """Truth: the whole document by bytes.decode and re.split, in chunks from 1 byte up."""
    document = b"\xef\xbb\xbf" + make_document(rng, special_tokens, 40) + b"\xf0\x9f"
    expected = expect_pieces([document], special_tokens, "replace")
    for chunk_nbytes in range(1, len(document) + 3):
        actual = read_pieces(io.BytesIO(document), special_tokens, chunk_nbytes=chunk_nbytes)
        assert actual == expected, chunk_nbytes


def test_read_chunks__slow_pipe_in_small_portions(rng: np.random.Generator) -> None:
    """Truth: the whole document by bytes.decode and re.split."""

    class Trickle:
        def __init__(self, data: bytes) -> None:
            self.file = io.BytesIO(data)

        def readinto(self, buffer: memoryview, /) -> int:
            return self.file.readinto(buffer[: int(rng.integers(1, 5))])

    for special_tokens in SPECIAL_SETS:
        document = make_document(rng, special_tokens, 60) + b"x"
        expected = expect_pieces([document], special_tokens, "replace")
        for chunk_nbytes in (1, 7, 50, 1000):
            actual = read_pieces(Trickle(document), special_tokens, chunk_nbytes=chunk_nbytes)
            assert actual == expected


def test_read_chunks__real_text_by_every_route(
    shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Truth: the whole text by re.split; a path, a list, a generator and a pipe are the same."""
    parts = []
    for name in ("english", "code", "zh", "hi"):
        with lzma.open(shared_data / "corpora" / f"{name}.txt.xz") as file:
            parts.append(file.read(60_000).decode("utf-8", "ignore"))
    text = "".join(parts).encode()
    expected = expect_pieces([text], [ENDOFTEXT], "strict")
    path = tmp_path / "text.txt"
    path.write_bytes(text)
    for chunk_nbytes in (1000, 4096, 65_537, 2 << 20):
        options = {"chunk_nbytes": chunk_nbytes, "errors": "strict"}
        assert read_pieces(path, [ENDOFTEXT], **options) == expected
        assert read_pieces(str(path), [ENDOFTEXT], **options) == expected
        assert read_pieces([text.decode()], [ENDOFTEXT], **options) == expected
        items = iter(text.split(ENDOFTEXT))
        assert read_pieces(items, [ENDOFTEXT], **options) == expected
        with FeedStdin(text, monkeypatch):
            assert read_pieces("-", [ENDOFTEXT], **options) == expected


class FeedStdin:
    """Let standard input be a pipe that holds ``data``."""

    def __init__(self, data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
        read_end, self.write_end = os.pipe()
        self.stdin = os.fdopen(read_end, encoding="utf-8")
        self.data = data
        self.writer = threading.Thread(target=self.write)
        monkeypatch.setattr(sys, "stdin", self.stdin)

    def write(self) -> None:
        with os.fdopen(self.write_end, "wb") as file:
            file.write(self.data)

    def __enter__(self) -> None:
        self.writer.start()

    def __exit__(self, *_: object) -> None:
        self.writer.join()
        self.stdin.close()


def test_read_chunks__line_ends_nul_and_byte_order_mark_are_kept(tmp_path: Path) -> None:
    """Truth: hand-computed; the bytes of the file."""
    data = b"\xef\xbb\xbfa\r\nb\r\n\r\n  c \r d\n\r\0e"
    path = tmp_path / "text"
    path.write_bytes(data)
    for source in (path, [data], [data.decode()]):
        (chunk,) = read_chunks(source, special_tokens=[ENDOFTEXT], find_cut=None)
        ((start, stop),) = chunk.documents.tolist()
        assert chunk.text[start:stop].tobytes() == data
        assert len(chunk.text) >= stop + TEXT_PADDING


def test_read_chunks__special_tokens_do_not_run_over_ends_of_documents(tmp_path: Path) -> None:
    """Truth: hand-computed; the end of a file or of an item ends a document."""
    for index, data in enumerate((b"x<|endof", b"text|>y")):
        (tmp_path / str(index)).write_bytes(data)
    expected = [b"x<|endof", b"text|>y"]
    assert read_pieces(str(tmp_path / "*"), [ENDOFTEXT]) == expected
    assert read_pieces(iter(expected), [ENDOFTEXT]) == expected
    # Half a character at the end of a document is not completed by the next one.
    halves = [b"\xe2\x82", b"\xac"]
    assert read_pieces(iter(halves), []) == ["\ufffd".encode()] * 2
    assert read_pieces(iter(halves), [], errors="ignore") == []


def test_read_chunks__invalid_utf8_is_repaired_as_python_does() -> None:
    """Truth: bytes.decode, on the example of a public report of silent stops."""
    data = b"abc \xff\xfe abc \xe2\x82"
    for errors in ("replace", "ignore"):
        expected = split_toy(data.decode("utf-8", errors).encode())
        assert read_pieces([data], [], errors=errors) == expected
        assert read_pieces(io.BytesIO(data), [], errors=errors) == expected


def test_read_chunks__strict_names_file_and_byte(rng: np.random.Generator, tmp_path: Path) -> None:
    """Truth: UnicodeDecodeError.start of bytes.decode."""
    path = tmp_path / "bad.txt"
    n_bad = 0
    for _ in range(60):
        document = make_document(rng, [ENDOFTEXT], int(rng.integers(1, 40)))
        path.write_bytes(document)
        try:
            document.decode("utf-8")
            continue
        except UnicodeDecodeError as error:
            offset = error.start
            found = re.escape(repr(document[offset : error.end]))
        n_bad += 1
        for chunk_nbytes in (1, 5, 64, 1000):
            options: Any = {"errors": "strict", "chunk_nbytes": chunk_nbytes}
            message = f"cannot read '.*bad.txt': {found} at byte {offset} is not UTF-8.*replace"
            with pytest.raises(InvalidTextError, match=message):
                read_pieces(path, [ENDOFTEXT], **options)
            message = f"cannot read item 2: {found} at byte {offset} is not"
            with pytest.raises(InvalidTextError, match=message):
                read_pieces(iter(["é", b"ok", document]), [ENDOFTEXT], **options)
    assert n_bad > 10


def test_read_chunks__strict_says_when_it_looks_like_utf16() -> None:
    """Truth: the UTF-16 byte order marks."""
    with pytest.raises(InvalidTextError, match="begins like UTF-16"):
        read_pieces(["abc".encode("utf-16")], [], errors="strict")


SURROGATES = ["\ud83d", "\ud83d" + "\udc4d", "a\udbc0b", "\udc4d\ud83d", "x\udfff"]


@pytest.mark.parametrize("text", SURROGATES, ids=ascii)
def test_read_chunks__surrogates_in_items(text: str) -> None:
    """Truth: UTF-16 of Python: pairs become one character, single ones U+FFFD."""
    expected = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()
    for errors in ("replace", "ignore", "strict"):
        for chunk_nbytes in (1, 100):
            options: Any = {"errors": errors, "chunk_nbytes": chunk_nbytes}
            assert read_pieces([text], [], **options) == [expected]
    # A pair that lies on the border of the slices in which long items are encoded.
    long = "x" * 65_535 + text
    expected = long.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()
    assert read_pieces([long], [], chunk_nbytes=1 << 17) == [expected]


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
        return find_toy_cut(text, start, stop)

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
        io.BytesIO(data.tobytes()), special_tokens=[], find_cut=find_toy_cut, chunk_nbytes=5000
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


def test_read_chunks__chunks_not_recycled_keep_their_text(rng: np.random.Generator) -> None:
    """Truth: the whole document by re.split; all chunks are held before any is looked at."""
    document = make_document(rng, [ENDOFTEXT], 500)
    reader = read_chunks(
        io.BytesIO(document), special_tokens=[ENDOFTEXT], find_cut=find_toy_cut, chunk_nbytes=50
    )
    pieces = []
    for chunk in list(reader):
        for start, stop in chunk.documents.tolist():
            pieces += split_toy(chunk.text[start:stop].tobytes())
    assert pieces == expect_pieces([document], [ENDOFTEXT], "replace")


def test_read_chunks__many_short_items_share_a_chunk() -> None:
    """Truth: hand-computed; empty items leave no part."""
    items = [str(number) for number in range(10_000)]
    items[5] = ""
    chunks = list(read_chunks(items, special_tokens=[ENDOFTEXT], find_cut=None))
    assert len(chunks) == 1
    (chunk,) = chunks
    actual = [chunk.text[a:b].tobytes().decode() for a, b in chunk.documents.tolist()]
    assert actual == [item for item in items if item]
    assert chunk.n_bytes == sum(map(len, items))


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
        find_cut=find_toy_cut,
        chunk_nbytes=1000,
        on_bytes=reported.append,
    )
    total = sum(chunk.n_bytes for chunk in reader)
    assert total == sum(reported) == reader.source_nbytes == path.stat().st_size


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
            read_pieces(source, [])
    assert read_pieces([empty, full], []) == [b"x"]
    assert read_pieces(["<|endoftext|>"], [ENDOFTEXT]) == []


@pytest.mark.parametrize("chunk_nbytes", [10, 1000])
def test_read_chunks__items_of_another_type(chunk_nbytes: int) -> None:
    """Truth: the contract; the error names the place and the type."""
    for item in (7, None, ["a"], Path("x")):
        message = f"cannot read item 3 of the iterable: .*{type(item).__name__}"
        with pytest.raises(DataError, match=message):
            read_pieces(iter(["a", b"b" * 20, "c", item]), [], chunk_nbytes=chunk_nbytes)


def test_read_chunks__refuses_bad_arguments() -> None:
    """Truth: the contract."""
    with pytest.raises(ArgumentError, match='errors must be "replace", "ignore" or "strict"'):
        read_pieces(["a"], [], errors="surrogateescape")
    with pytest.raises(ArgumentError, match="chunk_nbytes must be 1 or more, not 0"):
        read_pieces(["a"], [], chunk_nbytes=0)


def test_read_chunks__closes_its_file(tmp_path: Path) -> None:
    """Truth: pytest turns the ResourceWarning of a file that is left open into an error."""
    path = tmp_path / "text"
    path.write_bytes(b"a b " * 1000)
    with read_chunks(path, special_tokens=[], find_cut=find_toy_cut, chunk_nbytes=10) as reader:
        next(reader)
    assert list(reader) == []

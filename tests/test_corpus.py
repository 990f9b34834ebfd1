"""Reading in chunks, against plain Python on whole documents."""

import io
import lzma
import os
import re
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from numbpe.arrays import TextArray
from numbpe.corpus import ErrorPolicy, read_chunks
from numbpe.errors import InvalidTextError
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

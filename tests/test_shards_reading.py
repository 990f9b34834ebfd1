"""What chunks say of the places between their parts, and how documents are found by it."""

import io
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from numbpe import corpus
from numbpe.arrays import TextArray
from numbpe.chunks import CUT, END_OF_DOCUMENT, Chunk
from numbpe.corpus import read_chunks

TOKENS = [b"<b>", b"<a", b"<a>", b"\xc3\xa9"]
PARTS = [b"a", b" ", b"<", b"<a", b"<a> ", b"<b>", b"\xc3\xa9", b"long word ", b"\n", b""]


def find_cut_before_space(text: TextArray, start: int, stop: int) -> int:
    found = [match.start() for match in re.finditer(rb"(?<=[^ ])(?= )", text[start:stop].tobytes())]
    return start + found[-1] if found and found[-1] > 0 else -1


def expect_marks(document: bytes) -> list[bytes | int]:
    """Return the text of a document and the places of special tokens in it, by re."""
    longest_first = sorted(TOKENS, key=len, reverse=True)
    found: list[bytes | int] = []
    start = 0
    for match in re.finditer(b"|".join(map(re.escape, longest_first)), document):
        found += [document[start : match.start()], TOKENS.index(match[0])]
        start = match.end()
    return [*found, document[start:], END_OF_DOCUMENT]


def read_marks(reader: Iterator[Chunk]) -> list[bytes | int]:
    """Return the same by the parts of chunks, joined at cuts."""
    found: list[bytes | int] = []
    held = b""
    for chunk in reader:
        position = 0
        for start, stop, mark in chunk.parts.tolist():
            assert start == position, "a gap between parts"
            position = stop + (len(TOKENS[mark]) if mark >= 0 else 0)
            held += chunk.text[start:stop].tobytes()
            if mark != CUT:
                found += [held, mark]
                held = b""
    assert held == b""
    return found


def test_parts__tell_what_stands_between_them(rng: np.random.Generator) -> None:
    """Truth: the re module on whole documents, for files and items and any size of chunk."""
    for _ in range(40):
        documents = [
            b"".join(PARTS[i] for i in rng.integers(len(PARTS), size=rng.integers(25)))
            for _ in range(rng.integers(1, 7))
        ]
        documents[0] += b"x"
        options: dict[str, Any] = {"special_tokens": TOKENS, "find_cut": find_cut_before_space}
        for chunk_nbytes in (1, 3, 8, int(rng.integers(9, 90)), 1 << 16):
            expected = [mark for document in documents for mark in expect_marks(document)]
            reader = read_chunks(iter(documents), chunk_nbytes=chunk_nbytes, **options)
            assert read_marks(reader) == expected
            file = io.BytesIO(documents[0])
            reader = read_chunks(file, chunk_nbytes=chunk_nbytes, **options)
            assert read_marks(reader) == expect_marks(documents[0])


def test_parts__of_items_without_special_tokens(rng: np.random.Generator) -> None:
    """Truth: the items themselves, empty ones included."""
    items = [b"one", b"", b"two three", b""]
    for chunk_nbytes in (1, 5, 1000):
        reader = read_chunks(
            iter(items), special_tokens=[], find_cut=None, chunk_nbytes=chunk_nbytes
        )
        assert read_marks(reader) == [mark for item in items for mark in (item, END_OF_DOCUMENT)]


def test_recycle__in_another_thread_leaves_what_is_being_read_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Truth: the docstring of recycle; a chunk comes back just when documents were split."""
    items = [b"one<a>two", b"three", b"<b>four"] * 4
    reader = read_chunks(iter(items), special_tokens=TOKENS, find_cut=None, chunk_nbytes=64)
    first = next(reader)
    split = corpus.literals_split

    def split_while_another_recycles(*arguments: Any) -> int:
        n_parts = split(*arguments)
        spare = Chunk(np.zeros_like(first.text), first.documents, 0)
        reader.recycle(spare)
        return int(n_parts)

    monkeypatch.setattr(corpus, "literals_split", split_while_another_recycles)
    expected = [mark for item in items for mark in expect_marks(item)]
    found = read_marks(iter([first])) + read_marks(reader)
    assert found == expected

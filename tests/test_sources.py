"""What may be read, and how what may not is refused, before anything is read."""

import io
import os
import re
from pathlib import Path
from typing import Any

import pytest

from numbpe.documents import Batch, Stream, encode_text
from numbpe.errors import ArgumentError, DataError
from numbpe.sources import resolve_source, source_nbytes


class Text(str):
    """A class of texts whose ``str()`` is something else, as that of an enumeration is."""

    __slots__ = ()

    def __str__(self) -> str:
        return "not the text"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with b.txt, a.txt, sub/c.txt, x[1].txt and empty, which is also the current one."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "empty").mkdir()
    for name, content in {"b.txt": "b", "a.txt": "aa", "sub/c.txt": "ccc", "x[1].txt": "x"}.items():
        (tmp_path / name).write_text(content)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read_documents(source: Any, batch_nbytes: int = 100) -> list[bytes]:
    """Return the documents of a source, whole."""
    documents: list[bytes] = []
    for document in resolve_source(source).open(batch_nbytes):
        if isinstance(document, Batch):
            assert document.n_bytes <= batch_nbytes
            documents += document.items
            continue
        buffer = memoryview(bytearray(3))
        parts = []
        while n_bytes := document.readinto(buffer):
            parts.append(bytes(buffer[:n_bytes]))
        documents.append(b"".join(parts))
    return documents


@pytest.mark.parametrize(
    "source, expected",
    [
        ("a.txt", ["aa"]),
        (Path("a.txt"), ["aa"]),
        (["b.txt", "a.txt"], ["b", "aa"]),
        ((Path("b.txt"), "a.txt"), ["b", "aa"]),
        ("[ab].txt", ["aa", "b"]),
        ("*.txt", ["aa", "b", "x"]),
        ("**/*.txt", ["aa", "b", "ccc", "x"]),
        ("**", ["aa", "b", "ccc", "x"]),
        ("x[1].txt", ["x"]),
        (["sub/*", "b.txt"], ["ccc", "b"]),
        ("sub", ["ccc"]),
        ([Path("sub"), "a.txt"], ["ccc", "aa"]),
        (["a.txt", "sub"], ["aa", "ccc"]),
        (["./sub"], ["ccc"]),
        (".", ["aa", "b", "ccc", "x"]),
        ("./a.txt", ["aa"]),
    ],
    ids=repr,
)
def test_resolve_source__files_and_globs(source: Any, expected: list[str], folder: Path) -> None:
    """Truth: hand-computed; files in the order given, those of a glob sorted."""
    assert read_documents(source) == [text.encode() for text in expected]
    assert source_nbytes(source) == sum(map(len, expected))


@pytest.mark.parametrize(
    "source, expected",
    [
        (["one", "two"], [b"one", b"two"]),
        ((b"one", "two"), [b"one", b"two"]),
        ([b"one"], [b"one"]),
        (["a.txt is a file", "b?"], [b"a.txt is a file", b"b?"]),
        (["-", "a"], [b"-", b"a"]),
        (["**bold** text", "no*match"], [b"**bold** text", b"no*match"]),
        ([Text("a.text"), b"b"], [b"a.text", b"b"]),
        (["", "sub", "x\0", "a\nb"], [b"", b"sub", b"x\0", b"a\nb"]),
        (iter(["a.txt"]), [b"a.txt"]),
        ((text for text in ("a", "b")), [b"a", b"b"]),
        ({"only one in this set"}, [b"only one in this set"]),
        (io.BytesIO(b"a\nb"), [b"a\nb"]),
        (iter(["x" * 50, b"y" * 120, "z" * 30, "é" * 99, ""]), None),
    ],
)
def test_resolve_source__texts(source: Any, expected: list[bytes] | None, folder: Path) -> None:
    """Truth: hand-computed; texts of any length, each a document."""
    expected = expected or [b"x" * 50, b"y" * 120, b"z" * 30, "é".encode() * 99, b""]
    assert read_documents(source) == expected


@pytest.mark.parametrize(
    "source, kind, message",
    [
        (
            "no.txt",
            FileNotFoundError,
            r"cannot read 'no.txt': .*no such file.* list: \[\"\.\.\.\"\]",
        ),
        ("some text of mine", FileNotFoundError, "a text, unlike a path, must stand in a list"),
        ("*.jsonl", FileNotFoundError, r"cannot read '\*.jsonl': no file matches"),
        (Path("*.txt"), FileNotFoundError, "no such file"),
        ("nul\0.txt", FileNotFoundError, "no such file"),
        ("", FileNotFoundError, "cannot read '': there is no such file"),
        (["no.txt", "nor.jsonl"], FileNotFoundError, "cannot read 'no.txt': there is no such file"),
        ([Path("a.txt"), "no"], FileNotFoundError, "cannot read 'no'"),
        ("empty", FileNotFoundError, "cannot read 'empty': it is a folder without a file in it"),
        ([Path("empty")], FileNotFoundError, "without a file in it"),
        ([], DataError, "nothing to read: the list is empty"),
        (["a.txt", "no"], DataError, "whether the list holds paths or texts: 1 .*item 1, 'no'"),
        (["a.txt", b"no"], DataError, "paths or texts"),
        ([Path("a.txt"), 3], DataError, "item 1 of a list of paths: it is 3, of type int"),
        (b"text", ArgumentError, r"write \[b'text'\]"),
        (7, ArgumentError, "cannot read from 7, of type int; give a path, a folder, a glob"),
        (None, ArgumentError, "cannot read from None, of type NoneType"),
        ({"a": 1}, ArgumentError, "of type dict"),
        (io.StringIO("a"), ArgumentError, 'open it with mode "rb"'),
        (Path(os.fsdecode(b"\xff")), FileNotFoundError, "no such file"),
    ],
)
def test_resolve_source__refuses(
    source: Any, kind: type[Exception], message: str, folder: Path
) -> None:
    """Truth: the contract; the type of the error, and what the message tells to do."""
    with pytest.raises(kind, match=message):
        resolve_source(source)


def test_resolve_source__file_without_permission(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Truth: the contract; os.access is replaced, as a superuser may read everything."""
    monkeypatch.setattr(os, "access", lambda path, mode: "b.txt" not in str(path))
    with pytest.raises(PermissionError, match=r"cannot read 'b\.txt': no permission"):
        resolve_source("*.txt")


def test_source_nbytes__unknown_for_pipes_and_iterables(folder: Path) -> None:
    """Truth: the contract."""
    os.mkfifo(folder / "pipe")
    for source in ("pipe", "-", ["a.txt", "-"], iter(["a"]), ["text"], io.BytesIO(b"a")):
        assert source_nbytes(source) is None


def test_stream__gives_back_what_is_put_back() -> None:
    """Truth: hand-computed."""
    stream = Stream("x", io.BytesIO(b"abcdef"))
    buffer = memoryview(bytearray(4))
    assert (stream.readinto(buffer), bytes(buffer)) == (4, b"abcd")
    stream.push_back(b"CD")
    stream.push_back(b"AB")
    assert (stream.readinto(buffer[:3]), bytes(buffer[:3])) == (3, b"ABC")
    assert (stream.readinto(buffer), bytes(buffer[:1])) == (1, b"D")
    assert (stream.readinto(buffer), bytes(buffer[:2])) == (2, b"ef")
    assert stream.readinto(buffer) == 0
    stream.push_back(b"g")
    assert (stream.readinto(buffer), bytes(buffer[:1])) == (1, b"g")
    assert stream.readinto(buffer) == 0
    assert stream.n_taken == 6


def test_stream__refuses_non_blocking_files() -> None:
    """Truth: the contract of RawIOBase.readinto, which gives None when no data is there yet."""
    read_end, write_end = os.pipe()
    os.set_blocking(read_end, False)
    with (
        os.fdopen(read_end, "rb", buffering=0) as reader,
        os.fdopen(write_end, "wb"),
        pytest.raises(DataError, match=re.escape("cannot read pipe: it is in non-blocking mode")),
    ):
        Stream("pipe", reader).readinto(memoryview(bytearray(4)))


@pytest.mark.parametrize(
    "text",
    ["", "abc", "é€\U0001f600", "\ufeffa", "\ud83d", "\udc4d\ud83d", "a\ud83d" + "\udc4d"],
    ids=ascii,
)
def test_encode_text__repairs_surrogates(text: str) -> None:
    """Truth: UTF-16 of Python."""
    expected = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()
    assert encode_text(text) == expected

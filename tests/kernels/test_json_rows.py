"""Rows of JSON, against Python's json module."""

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from numbpe.arrays import copy_text
from numbpe.documents import encode_text
from numbpe_kernels.copying import COPY_NBYTES
from numbpe_kernels.json_rows import (
    IS_NULL,
    MALFORMED,
    MAX_DEPTH,
    MISSING,
    NOT_OBJECT,
    NOT_TEXT,
    TEXT,
    json_rows_read,
    make_row_reader,
)

# Compiled, and as plain Python.
IMPLEMENTATIONS = [json_rows_read, getattr(json_rows_read, "py_func", json_rows_read)]
NAMES = ["compiled", "py_func"]

ROWS_A_CALL = 3


def read_rows(data: bytes, names: tuple[str, ...], function: Any) -> list[tuple[int, int, bytes]]:
    """Return kind, line and text of each row."""
    text = copy_text(data)
    text[len(data)] = ord("\n")
    reader = make_row_reader([name.encode() for name in names])
    cursor = np.zeros(3, dtype=np.int64)
    out = np.zeros(len(data) + COPY_NBYTES, dtype=np.uint8)
    offsets = np.zeros(ROWS_A_CALL + 1, dtype=np.int64)
    rows = np.zeros((ROWS_A_CALL, 3), dtype=np.int64)
    found = []
    while True:
        n_rows = function(reader, text, len(data), cursor, out, offsets, rows)
        for place in range(n_rows):
            kind, line, start = rows[place].tolist()
            assert data[:start].count(b"\n") == line
            found.append((kind, line, out[offsets[place] : offsets[place + 1]].tobytes()))
        if n_rows < ROWS_A_CALL:
            return found


def expect_rows(data: bytes, names: tuple[str, ...]) -> list[tuple[int, int, bytes]]:
    """Return the same by the json module, of which UTF-8 is repaired before."""
    lines = enumerate(data.split(b"\n"))
    return [
        (*expect_row(line.decode("utf-8", "replace"), names, number),)
        for number, line in lines
        if line.strip(b" \t\r")
    ]


def expect_row(line: str, names: tuple[str, ...], number: int) -> tuple[int, int, bytes]:
    """Return kind, line and text of one row."""
    try:
        value = json.loads(line)
    except ValueError:
        return MALFORMED, number, b""
    if not isinstance(value, dict):
        return NOT_OBJECT, number, b""
    for name in names:
        if not isinstance(value, dict) or name not in value:
            return MISSING, number, b""
        value = value[name]
    if isinstance(value, str):
        return TEXT, number, encode_text(value)
    return (IS_NULL if value is None else NOT_TEXT), number, b""


def repair(rows: list[tuple[int, int, bytes]]) -> list[tuple[int, int, bytes]]:
    """Return rows of which the texts are UTF-8."""
    return [(kind, line, text.decode("utf-8", "replace").encode()) for kind, line, text in rows]


ROWS = [
    '{"text": "plain"}',
    r'{"text": "\" \\ \/ \b \f \n \r \t \u0041 \u00e9 \u20AC \ud83d\ude00 \uFFFF \u0000"}',
    r'{"text": "\ud83d \ude00 \ude00\ud83d \ud83d\ud83d\ude00 \ud83d\n \ud83d\u0041"}',
    r'{"t\u0065xt": "by an escaped key", "te\u0078": 1}',
    '{"text": "first", "a": 1, "text": "last"}',
    '{"text": "first", "text": null}',
    '{"text": 1, "text": "text"}',
    '{"text": ""}',
    r'{"te\u0078t": "text", "\u0061": "key behind it", "te\u0078": "and", "\u0062\n": 1}',
    r'{"a": {"b": "x\n", "\u0062c": 1, "\u0063": "y"}, "text": "\ud83d", "t\u0065xt": "a\ud83d"}',
    '{"": "empty name"}',
    '{"a": {"text": "inner"}, "b": [{"text": "in a list"}]}',
    '{"a": {"b": {"text": "deep"}}, "text": "outer"}',
    '{"a": {"b": "x"}, "a": {"c": 1}}',
    '{"a": {"b": "x"}, "a": 7}',
    '{"a": 7, "a": {"b": "y", "b": "z"}}',
    '{"a": [{"b": "x"}], "b": "y"}',
    '{"a": {"b": ["x"]}}',
    '{"text": null}',
    '{"text": true, "u": false, "v": null}',
    '{"text": [1, 2, [], {}, [[]], {"a": {}}]}',
    '{"text": {"text": "x"}}',
    '{"n": [0, -0, 1.5, -1.5e10, 1E+2, 1e-2, 123456789012345678901234567890, 0.0]}',
    '{"n": [NaN, Infinity, -Infinity], "text": "python"}',
    ' \t{ \t"text" : \r"spaces" , "a" : [ 1 , 2 ] } \r',
    "[]", "{}", '""', "1", "null", '[{"text": "x"}]',
    *(f'{{"n": {wrong}, "text": "x"}}' for wrong in (
        "01", "1.", ".5", "+1", "-", "1e", "1e+", "--1", "0x1", "tru", "nul", "Nan", "-Inf", "",
        "'a'", "truefalse", "1 2", "[1,]", "[,]", "[1 2]", "{,}", '{"a"}', '{"a":}', "{1: 2}",
        '{"a" 1}', '{"a": 1,}', "[}", "{]", '"a', '"\\', '"\\x"', '"\\u12g4"', '"\\u123"', '"\t"',
    )),
    '{"text": "x"', '{"text": "x"}}', '{"text": "x"} x', '{"text": "x"},', "{", "}", ",", '"',
    '{"text": "x"}{"text": "y"}', "[", "]", '{"text"', '{"text":', "{\"text\": \"a\x1fb\"}",
]  # fmt: skip

PATHS: list[tuple[str, ...]] = [
    ("text",),
    ("a", "b"),
    ("a", "b", "text"),
    ("",),
    ("\u00e9t\u00e9",),
]

LETTERS = ["a", "b", "text", "\u00e9t\u00e9", "\u4e2d", "\U0001f600", "\n", '"', "\\", "/", "\0", "\x1f",
           "\ud83d", "\ude00", " ", "long text " * 9]  # fmt: skip
NOISE = [
    *(bytes([n]) for n in b'{}[]:,"\\ue0-.\n \r\t\x00\x80\xff'),
    b"null",
    b"\\ud83d",
    b"\xe2\x82",
]


def make_value(rng: np.random.Generator, depth: int) -> Any:
    """Return a random value of JSON."""
    choice = int(rng.integers(0, 8 if depth else 6))
    if choice < 3:
        return "".join(rng.choice(LETTERS, int(rng.integers(0, 6))))
    if choice < 6:
        return [None, True, -1.5e-7, 12345678901234567890, 0, float("inf")][int(rng.integers(0, 6))]
    count = int(rng.integers(0, 4))
    if choice == 6:
        return [make_value(rng, depth - 1) for _ in range(count)]
    names = ["text", "a", "b", "", "\u00e9t\u00e9"]
    return {str(rng.choice(names)): make_value(rng, depth - 1) for _ in range(count)}


def make_lines(rng: np.random.Generator, n_lines: int) -> Iterator[bytes]:
    """Yield rows, half of which are damaged at some places."""
    for _ in range(n_lines):
        row = {"text": make_value(rng, 2), "a": make_value(rng, 3)}
        line = json.dumps(row, ensure_ascii=bool(rng.integers(0, 2))).encode("utf-8", "replace")
        for _ in range(int(rng.integers(0, 3)) if rng.random() < 0.5 else 0):
            start = int(rng.integers(0, len(line) + 1))
            line = line[:start] + NOISE[int(rng.integers(0, len(NOISE)))] + line[start:]
            line = line[: start + 1] + line[start + 1 + int(rng.integers(0, 3)) :]
        yield line


@pytest.mark.parametrize("function", IMPLEMENTATIONS, ids=NAMES)
@pytest.mark.parametrize("names", PATHS, ids=ascii)
def test_json_rows_read__chosen_rows(names: tuple[str, ...], function: Any) -> None:
    """Truth: the json module; rows with every kind of escape, of value and of fault."""
    data = "\n".join(ROWS).encode()
    assert read_rows(data, names, function) == expect_rows(data, names)


@pytest.mark.parametrize(
    "function, n_lines", [(IMPLEMENTATIONS[0], 4_000), (IMPLEMENTATIONS[1], 400)], ids=NAMES
)
def test_json_rows_read__random_rows(function: Any, n_lines: int, rng: np.random.Generator) -> None:
    """Truth: the json module, on rows of random values, many of them damaged."""
    data = b"\n".join(make_lines(rng, n_lines))
    for names in PATHS:
        expected = expect_rows(data, names)
        assert repair(read_rows(data, names, function)) == expected
        assert len({kind for kind, _, _ in expected}) >= 2


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n", b"\n\n \n\t\r\n"])
def test_json_rows_read__blank_lines_are_no_rows(end: bytes) -> None:
    """Truth: hand-computed."""
    data = b'\n \r\n{"text": "a"}\n\n\r\n{"text": "b"}' + end
    assert read_rows(data, ("text",), json_rows_read) == [(TEXT, 2, b"a"), (TEXT, 5, b"b")]


def test_json_rows_read__depth() -> None:
    """Truth: the limit that the module names."""
    for brackets in ("[]", '{"a":}'):
        opening, closing = brackets[:-1], brackets[-1]
        for n_deep, kind in ((MAX_DEPTH - 1, NOT_TEXT), (MAX_DEPTH, MALFORMED)):
            value = opening * n_deep + ("1" if opening != "[" else "") + closing * n_deep
            data = f'{{"text": {value}}}\n{{"text": "next"}}'.encode()
            assert read_rows(data, ("text",), json_rows_read) == [
                (kind, 0, b""),
                (TEXT, 1, b"next"),
            ]

"""Kernels from ids to bytes, against a join in Python."""

import numpy as np
import pytest

from numbpe.arrays import join_byte_strings
from numbpe_kernels import decoding

COMPILED_AND_PLAIN = pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "plain"])


def choose(function, compiled):
    return function if compiled else getattr(function, "py_func", function)


def measure(ids, rows, tokens, left_out, compiled):
    _, offsets = join_byte_strings(tokens)
    is_token = np.array([token != b"" for token in tokens], dtype=np.uint8)
    is_left_out = np.zeros(len(tokens), dtype=np.uint8)
    is_left_out[left_out] = 1
    ends = np.full(len(rows), -7, dtype=np.int64)
    function = choose(decoding.decoding_measure, compiled)
    position = function(
        np.array(ids, dtype=np.int64),
        np.array(rows, dtype=np.int64),
        offsets,
        is_token,
        is_left_out,
        ends,
    )
    return position, ends.tolist()


@COMPILED_AND_PLAIN
def test_decoding_measure__adds_up_the_bytes_of_each_row(compiled: bool) -> None:
    """Truth: by hand: tokens of 1, 3 and 2 bytes, the last one left out."""
    tokens = [b"a", b"bcd", b"ef"]
    assert measure([0, 1, 1, 2, 0], [0, 2, 2, 5], tokens, [2], compiled) == (-1, [0, 4, 4, 8])
    assert measure([], [0], tokens, [], compiled) == (-1, [0])
    assert measure([], [0, 0], tokens, [], compiled) == (-1, [0, 0])


@COMPILED_AND_PLAIN
@pytest.mark.parametrize("bad", [-1, 3, 1, 2**62, -(2**63)])
def test_decoding_measure__finds_what_no_token_has(bad: int, compiled: bool) -> None:
    """Truth: by hand: id 1 has no bytes, ids end at 2; nothing wraps around."""
    tokens = [b"a", b"", b"ef"]
    position, _ = measure([0, 2, bad, 5], [0, 1, 4], tokens, [1, 2], compiled)
    assert position == 2


@COMPILED_AND_PLAIN
def test_decoding_copy__equals_a_join(compiled: bool, rng: np.random.Generator) -> None:
    """Truth: bytes.join; tokens of all lengths about the 8 bytes of a step, and long ones."""
    lengths = [*range(1, 26), 100, 1000]
    tokens = [rng.integers(256, size=length, dtype=np.uint8).tobytes() for length in lengths]
    contents, offsets = join_byte_strings(tokens)
    for n_ids in (0, 1, 2, 40):
        ids = rng.integers(len(tokens), size=n_ids)
        is_left_out = (rng.random(len(tokens)) < 0.2).astype(np.uint8)
        expected = b"".join(tokens[i] for i in ids if not is_left_out[i])
        text = np.zeros(len(expected) + 8, dtype=np.uint8)
        function = choose(decoding.decoding_copy, compiled)
        function(ids.astype(np.int64), contents, offsets, is_left_out, text)
        assert text[: len(expected)].tobytes() == expected

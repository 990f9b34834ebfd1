"""Words looked up among tokens, all new words of a block together: what a dict says."""

from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from numbpe import encoder_improving
from numbpe.arrays import copy_text, join_byte_strings
from numbpe.vocabulary import Vocabulary
from numbpe_kernels import learning, whole_words, word_keys, word_table
from numbpe_kernels._jit import njit
from numbpe_kernels.whole_words import MAX_WHOLE_NBYTES, ROWS_A_BUCKET, WholeWords


@njit
def find(words: WholeWords, text: NDArray[np.uint8], start: int, length: int) -> np.uint64:
    low, high = word_keys.word_key(text, start, length)
    bucket = whole_words.whole_words_bucket(words, low, high)
    return whole_words.whole_words_read(words, bucket, low, high)


@pytest.fixture(params=["compiled", "plain"])
def mode(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Run a test with compiled kernels, and with all of them as plain Python."""
    if request.param == "plain":
        monkeypatch.setitem(globals(), "find", find.py_func)
        for module in (whole_words, word_keys, word_table, learning, encoder_improving):
            for name, value in list(vars(module).items()):
                if hasattr(value, "py_func"):
                    monkeypatch.setattr(module, name, value.py_func)
    with np.errstate(over="ignore"):  # hashes wrap around, as they are meant to
        yield request.param


def draw_tokens(rng: np.random.Generator, n: int) -> list[bytes]:
    """Return tokens of any bytes, zeros above all: those behind a word stand in its key, too."""
    tokens = {
        bytes(rng.choice([0, 0, 1, 97, 255], int(rng.integers(1, 20))).astype(np.uint8))
        for _ in range(n)
    }
    return sorted(tokens)


def test_tokens__are_found_and_nothing_else(mode: str, rng: np.random.Generator) -> None:
    """Truth: a dict of the same tokens."""
    n_found = n_missing = 0
    for _ in range(20 if mode == "compiled" else 2):
        tokens = draw_tokens(rng, int(rng.integers(1, 400 if rng.integers(2) else 5)))
        vocabulary = Vocabulary.from_tokens(dict(enumerate(tokens)), [])
        words, has_room = encoder_improving._build_whole_words(
            vocabulary, np.arange(len(tokens), dtype=np.int64)
        )
        assert words.rows.ctypes.data % 64 == 0
        stored = {token for token, is_there in zip(tokens, has_room, strict=True) if is_there}
        assert all(len(token) <= MAX_WHOLE_NBYTES for token in stored)
        for word in [*tokens, *draw_tokens(rng, 100)]:
            text, _ = join_byte_strings([word + b"\0\xff"])
            row = find(words, text, 0, len(word))
            if word in stored:
                n_found += 1
                assert tokens[int(whole_words.whole_words_get_token(np.uint64(row)))] == word
            else:
                n_missing += 1
                assert row == 0
    if mode == "compiled":
        assert n_found > 100
        assert n_missing > 100


def test_tokens__are_left_out_of_full_buckets_alone(mode: str) -> None:
    """Truth: the contract of whole_words_fill, in a table of two buckets."""
    tokens = [bytes([i]) * (1 + i % 12) for i in range(20)]
    contents, offsets = copy_text(b"".join(tokens)), np.cumsum([0, *map(len, tokens)])
    words = WholeWords(np.zeros(16, dtype=np.uint64), np.uint64(63))
    left_out = np.full(20, 2, dtype=np.uint8)
    whole_words.whole_words_fill(words, contents, offsets, np.arange(20), left_out)
    buckets: list[int] = []
    for i in range(20):
        low, high = word_keys.word_key_short(
            contents, np.uint64(offsets[i]), np.uint64(len(tokens[i]))
        )
        bucket = int(whole_words.whole_words_bucket(words, np.uint64(low), np.uint64(high)))
        assert left_out[i] == (buckets.count(bucket) >= ROWS_A_BUCKET)
        buckets.append(bucket)
    assert left_out.any()

"""Merging words in lanes: compiled, plain and the reference agree, whatever stands in other lanes."""

import itertools
from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from numbpe import encoder, encoder_model, reference
from numbpe.arrays import join_byte_strings
from numbpe.definition import TokenizerDefinition
from numbpe.encoder_model import build_encoder_model, find_unmade
from numbpe.encoder_state import make_scratch
from numbpe.vocabulary import Vocabulary
from numbpe_kernels import encoding, lanes, memory, model, ranks, unmade
from numbpe_kernels._jit import njit


@njit
def find_least(array: NDArray[np.int32], index: np.uint64) -> np.int32:
    return memory.find_least(array, index)


@njit
def make_opaque(word: np.uint64) -> np.uint64:
    return memory.make_opaque(word)


BYTES = [bytes([byte]) for byte in range(256)]


@pytest.fixture(params=["compiled", "plain"])
def mode(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Run a test with compiled kernels, and with all of them as plain Python."""
    if request.param == "plain":
        for module in (encoding, lanes, model, ranks, unmade, encoder, encoder_model):
            for name, value in list(vars(module).items()):
                if hasattr(value, "py_func"):
                    monkeypatch.setattr(module, name, value.py_func)
    with np.errstate(over="ignore"):  # hashes wrap around, as they are meant to
        yield request.param


def draw_merges(rng: np.random.Generator) -> list[tuple[bytes, bytes]]:
    """Return merges of a few letters, trained or shuffled."""
    n_letters = int(rng.integers(1, 5))
    words = {draw_word(rng, 30, n_letters): 1 for _ in range(20)}
    merges = reference.train_bpe(words, int(rng.integers(1, 40)))
    return [merges[i] for i in rng.permutation(len(merges))] if rng.integers(2) else merges


def draw_word(rng: np.random.Generator, longest: int, n_letters: int = 4) -> bytes:
    length = int(rng.integers(1, longest + 1))
    return bytes(rng.integers(97, 97 + n_letters, length).astype(np.uint8))


def build(merges: list[tuple[bytes, bytes]]) -> tuple[TokenizerDefinition, dict[bytes, int]]:
    tokens = list(dict.fromkeys(itertools.chain(BYTES, (a + b for a, b in merges))))
    vocabulary = Vocabulary.from_tokens(dict(enumerate(tokens)), merges)
    definition = TokenizerDefinition.from_vocabulary(vocabulary)
    return definition, {token: i for i, token in enumerate(tokens)}


def merge_in_lanes(
    definition: TokenizerDefinition, words: list[bytes], order: np.random.Generator
) -> list[list[int]]:
    """Return the ids of words; which lane goes on is drawn, so that they are mixed in any way."""
    table = build_encoder_model(definition).merges
    state = lanes.make_lanes()
    text, offsets = join_byte_strings(words)
    found: list[list[int]] = [[] for _ in words]
    tokens = np.empty(lanes.MAX_LANE_NBYTES, dtype=np.int32)
    waiting, busy = list(range(len(words))), dict[int, int]()
    while waiting or busy:
        lane = int(order.integers(lanes.N_LANES))
        if lane in busy:
            if lanes.lanes_choose(state, table, np.uint64(lane)) == 1:
                lanes.lanes_merge(state, table, np.uint64(lane))
            else:
                word = busy.pop(lane)
                assert lanes.lanes_get_word(state, np.uint64(lane)) == word
                n_tokens = lanes.lanes_unload(state, np.uint64(lane), tokens)
                found[word] = tokens[:n_tokens].tolist()
        elif waiting:
            word = busy[lane] = waiting.pop()
            start, length = np.uint64(offsets[word]), np.uint64(len(words[word]))
            lanes.lanes_load(state, table, np.uint64(lane), np.uint64(word), text, start, length)
    return found


def test_lanes__equal_the_reference(mode: str, rng: np.random.Generator) -> None:
    """Truth: reference.encode_word, for words of 1 byte to the longest of a lane."""
    for _ in range(30 if mode == "compiled" else 3):
        merges = draw_merges(rng)
        definition, ids = build(merges)
        words = [draw_word(rng, lanes.MAX_LANE_NBYTES) for _ in range(30)]
        words += [b"a" * n for n in (1, 2, 16, 17, 18, 33, lanes.MAX_LANE_NBYTES)]
        expected = [[ids[part] for part in reference.encode_word(word, merges)] for word in words]
        assert merge_in_lanes(definition, words, rng) == expected


def test_find_unmade__equals_the_reference(mode: str, rng: np.random.Generator) -> None:
    """Truth: a token is made if reference.encode_word makes it of its bytes."""
    n_unmade = 0
    for _ in range(20 if mode == "compiled" else 2):
        merges = draw_merges(rng)
        definition, ids = build(merges)
        vocabulary = definition.vocabulary
        found = find_unmade(vocabulary, build_encoder_model(definition), np.arange(len(ids)))
        expected = [reference.encode_word(token, merges) != [token] for token in ids]
        assert found.tolist() == expected
        n_unmade += sum(expected)
    assert n_unmade > 0 or mode == "plain"


def test_find_least__equals_numpy(rng: np.random.Generator) -> None:
    """Truth: NumPy's minimum."""
    numbers = rng.integers(-(2**31), 2**31, 100).astype(np.int32)
    for place in range(85):
        expected = numbers[place : place + 16].min()
        assert memory.find_least(numbers, np.uint64(place)) == expected
        assert find_least(numbers, np.uint64(place)) == expected
        assert make_opaque(np.uint64(place)) == memory.make_opaque(np.uint64(place)) == place


def test_lanes__have_room_for_what_scratch_takes() -> None:
    """Truth: encoder_learn_words unloads lanes into scratch.tokens."""
    assert len(make_scratch(lanes.MAX_LANE_NBYTES).tokens) >= lanes.MAX_LANE_NBYTES

"""Merging one word: compiled, plain and the reference agree."""

import itertools
from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from numbpe import encoder, encoder_model, reference
from numbpe.definition import TokenizerDefinition
from numbpe.encoder import Encoder
from numbpe.vocabulary import Vocabulary
from numbpe_kernels import (
    encoder_runs,
    encoder_views,
    encoding,
    lanes,
    learning,
    model,
    probing,
    ranks,
    word_cache,
    word_table,
)

Merges = Sequence[tuple[bytes, bytes]]


@pytest.fixture(params=["compiled", "plain"])
def mode(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Run a test with compiled kernels, and with all of them as plain Python."""
    if request.param == "plain":
        modules = (ranks, lanes, learning, model, probing, encoding, encoder_runs, encoder_views)
        modules += (word_cache, word_table)
        for module in (*modules, encoder, encoder_model):
            for name, value in list(vars(module).items()):
                if hasattr(value, "py_func"):
                    monkeypatch.setattr(module, name, value.py_func)
    with np.errstate(over="ignore"):  # hashes wrap around, as they are meant to
        yield request.param


def make_encoder(merges: Merges) -> tuple[Encoder, Vocabulary]:
    tokens = dict.fromkeys(
        itertools.chain((bytes([b]) for b in range(256)), (a + b for a, b in merges))
    )
    vocabulary = Vocabulary.from_tokens(dict(enumerate(tokens)), merges)
    return Encoder(TokenizerDefinition.from_vocabulary(vocabulary), None), vocabulary


def merge(merges: Merges, word: bytes) -> list[bytes]:
    merger, vocabulary = make_encoder(merges)
    return [vocabulary.token_bytes(int(i)) for i in merger.encode_text(word)]


@pytest.mark.parametrize(
    "merges, word, expected",
    [
        ([], b"", []),
        ([], b"ab", [b"a", b"b"]),
        ([(b"a", b"a")], b"aaa", [b"aa", b"a"]),
        ([(b"a", b"a")], b"aaaaa", [b"aa", b"aa", b"a"]),
        # A merge that makes a pair of lower rank: one step at a time, not one rule at a time.
        ([(b"ab", b"a"), (b"a", b"b")], b"ababab", [b"aba", b"b", b"ab"]),
        # The last of equal merges counts: (b, c) comes first.
        ([(b"a", b"b"), (b"b", b"c"), (b"a", b"b")], b"abc", [b"a", b"bc"]),
    ],
)
def test_merge_word__by_hand(mode: str, merges: Merges, word: bytes, expected: list[bytes]) -> None:
    """Truth: hand-computed: lowest rank, then leftmost, one merge at a time."""
    assert merge(merges, word) == expected


def test_merge_word__equals_the_reference(mode: str, rng: np.random.Generator) -> None:
    """Truth: reference.encode_word on words that are scanned and words that are merged by heap."""
    n_rounds = 30 if mode == "compiled" else 4
    for _ in range(n_rounds):
        n_letters = int(rng.integers(1, 5))
        words = {
            bytes(rng.integers(97, 97 + n_letters, rng.integers(1, 30)).astype(np.uint8)): 1
            for _ in range(20)
        }
        merges = reference.train_bpe(words, int(rng.integers(1, 30)))
        shuffled = [merges[i] for i in rng.permutation(len(merges))]
        for length in (1, 2, 7, ranks.MAX_SCANNED, ranks.MAX_SCANNED + 1, 150):
            word = bytes(rng.integers(97, 97 + n_letters, length).astype(np.uint8))
            for ranked in (merges, shuffled):
                assert merge(ranked, word) == reference.encode_word(word, ranked)


def test_merge_word__grows_near_linearly() -> None:
    """Truth: the heap's bound; the scan would take hours for a word of a million bytes."""
    merger, vocabulary = make_encoder([(b"a" * n, b"a" * n) for n in (1, 2, 4, 8)])
    ids = merger.encode_text(b"a" * 1_000_003)
    assert ids.tolist() == [vocabulary.token_id(b"a" * 16)] * 62_500 + [
        vocabulary.token_id(b"aa"),
        vocabulary.token_id(b"a"),
    ]


def test_merge_table__finds_what_is_there_and_nothing_else(
    mode: str, rng: np.random.Generator
) -> None:
    """Truth: a dictionary; buckets that are full and passed over, in tables half full."""
    for n_merges in (
        0,
        1,
        5,
        200 if mode == "compiled" else 40,
        4000 if mode == "compiled" else 60,
    ):
        pairs = rng.integers(0, max(2, n_merges // 50), (n_merges, 2)).astype(np.int32)
        numbers = rng.permutation(n_merges).astype(np.int32)
        slots = np.full(1 << max(4, (2 * n_merges - 1).bit_length()), ranks.EMPTY_SLOT)
        table = ranks.MergeTable(
            slots=slots,
            shift=np.uint64(65 - (len(slots).bit_length() - 1)),
            results=np.zeros(n_merges + 1, dtype=np.int32),
            byte_ids=np.full(256, -1, dtype=np.int32),
            byte_ranks=np.empty(65536, dtype=np.int32),
        )
        ranks.merge_table_fill(table, pairs, numbers)
        known = {(int(a), int(b)): int(rank) for (a, b), rank in zip(pairs, numbers, strict=True)}
        asked = np.concatenate([pairs, rng.integers(0, 100, (300, 2))]).astype(np.int64)
        found = np.empty((len(asked), 1), dtype=np.int64)
        ranks.merge_table_rank_pairs(table, asked, found)
        expected = [known.get((a, b), ranks.NO_RANK) for a, b in asked.tolist()]
        assert found[:, 0].tolist() == expected

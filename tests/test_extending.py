"""Going on training where a vocabulary ends."""

import random
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer as PeerTokenizer

import numbpe
from numbpe import extending, growing, merging, reference
from numbpe.definition import ModelRules, Normalization, TokenizerDefinition
from numbpe.errors import ArgumentError, DataError
from numbpe.vocabulary import Vocabulary

TIES = {"cs336": "greatest_bytes", "tiktoken": "smallest_ids"}
QUIET = {"progress": False, "threads": 1}


def make_text(rng, n_parts=120):
    letters = rng.sample("abcde 1", rng.randint(2, 5))
    parts = [*letters, *letters, "aaaa", " the"]
    return "".join(rng.choice(parts) for _ in range(rng.randint(1, n_parts)))


def make_odd_vocabulary(rng):
    """Tokens and merges of which some tokens are made by no merge."""
    words = reference.count_words([make_text(rng)])
    merges = reference.train_bpe(words, rng.randint(0, 12))
    contents = [bytes([byte]) for byte in range(256)] + [left + right for left, right in merges]
    odd = {bytes(rng.choice(b"abcde ") for _ in range(rng.randint(2, 4))) for _ in range(8)}
    contents += sorted(odd.difference(contents))
    return {content: token_id for token_id, content in enumerate(contents)}, merges


@pytest.mark.parametrize("recipe", TIES)
def test_extend__random_vocabularies(recipe: str) -> None:
    """Truth: reference.extend_bpe on 60 seeded vocabularies, tokens that no merge makes among them."""
    n_homonyms = 0
    for seed in range(60):
        rng = random.Random(seed)
        vocab, merges = make_odd_vocabulary(rng)
        text = make_text(rng)
        ignore_merges = seed % 3 == 0
        vocabulary = Vocabulary.from_tokens({i: content for content, i in vocab.items()}, merges)
        rules = ModelRules(ignore_merges=ignore_merges)
        base = numbpe.Tokenizer.from_definition(TokenizerDefinition(vocabulary, rules))
        expected = reference.extend_bpe(
            reference.count_words([text]), vocab, merges, len(vocab) + 9,
            tie=TIES[recipe], ignore_merges=ignore_merges,
        )  # fmt: skip
        actual, report = extending.extend_with_report(
            base, [text], len(vocab) + 9, recipe=recipe, **QUIET
        )
        assert {content: i for i, content in actual.vocab.items()} == expected[0], f"seed {seed}"
        assert actual.merges == expected[1], f"seed {seed}"
        assert report.merge_counts.tolist() == expected[2]
        assert report.stopped_early == (len(expected[0]) < len(vocab) + 9)
        n_homonyms += report.n_merges - (actual.vocab_size - len(vocab))
    assert n_homonyms > 5


@pytest.mark.parametrize("recipe", ["cs336", "tiktoken", "hf"])
def test_extended__on_the_same_text_is_training(tmp_path: Path, recipe: str) -> None:
    """Truth: the training run to the greater size; ids of the smaller one are kept, and files load."""
    text = [make_text(random.Random(seed), 400) for seed in range(30)]
    small = numbpe.train(text, 280, recipe=recipe, progress=False)
    large = numbpe.train(text, 320, recipe=recipe, progress=False)
    grown = small.extended(text, 320, progress=False)
    assert grown.merges == large.merges
    assert grown.merge_counts.tolist() == large.merge_counts.tolist()
    assert grown.special_tokens == small.special_tokens
    assert small.vocab.items() <= grown.vocab.items()
    assert grown.extended(text, 320, progress=False).vocab == grown.vocab
    path = tmp_path / "tokenizer.json"
    grown.save(path)
    again = numbpe.load(path)
    assert again.merge_counts.tolist() == large.merge_counts.tolist()
    assert again.vocabulary.recipe_name == recipe
    peer = PeerTokenizer.from_file(str(path))
    for document in text[:5]:
        ids = grown.encode(document).tolist()
        assert again.encode(document).tolist() == peer.encode(document).ids == ids


def test_extended__keeps_ids_and_holes() -> None:
    """Truth: hand-computed; new ids come after the last, where holes and special tokens stay."""
    vocab = {2 * byte: bytes([byte]) for byte in range(256)} | {600: b"ab"}
    base = numbpe.Tokenizer(vocab, [(b"a", b"b")], {"<s>": 700})
    grown = base.extended(["abab<s>abab abc"], 260, **QUIET)
    assert grown.vocab.items() > base.vocab.items()
    assert {i: grown.vocab[i] for i in grown.vocab if i > 600} == {
        700: b"<s>", 701: b"abab", 702: b"ab" + b"c",
    }  # fmt: skip
    assert grown.merge_counts.tolist() == [0, 2, 1]


def test_extended__needs_only_the_counts(tmp_path: Path) -> None:
    """Truth: the run on the text; counts that were cut in another way are refused."""
    base = numbpe.train(["ab ab"], 258, progress=False)
    text = ["abc abc<|endoftext|>abd"]
    words = numbpe.count_words(text)
    assert base.extended(words, 260, **QUIET).merges == base.extended(text, 260, **QUIET).merges
    with pytest.raises(DataError, match="special tokens"):
        base.extended(numbpe.count_words(text, special_tokens=[]), 260, **QUIET)


@pytest.mark.parametrize(
    "size, options, message",
    [
        (200, {}, "vocab_size is 200; it must be at least 258, for the tokens that it has"),
        (300, {"recipe": "bpe"}, "unknown recipe"),
        (300, {"max_token_bytes": 0}, "max_token_bytes"),
        (300, {"min_frequency": -1}, "min_frequency"),
    ],
)
def test_extended__bad_options(size, options, message) -> None:
    """Truth: by definition; the errors of training."""
    base = numbpe.train(["ab ab"], 258, progress=False)
    with pytest.raises(ArgumentError, match=message):
        base.extended(["ab"], size, **QUIET, **options)


def test_extended__refuses_what_training_cannot_go_on_with() -> None:
    """Truth: by definition; one clear error each."""
    vocabulary = numbpe.train(["ab ab"], 258, progress=False).vocabulary
    tokens = {1: b"a", 2: b"b"}
    for definition, message in (
        (TokenizerDefinition(vocabulary, ModelRules(alphabet="characters")), "made of characters"),
        (TokenizerDefinition(vocabulary, normalizer=(Normalization("NFC"),)), "changes text"),
        (
            TokenizerDefinition(Vocabulary.from_tokens(tokens, [], pattern=())),
            "has no pattern",
        ),
    ):
        with pytest.raises(ArgumentError, match=f"cannot extend this tokenizer: .*{message}"):
            numbpe.Tokenizer.from_definition(definition).extended(["ab"], 300, **QUIET)
    base = numbpe.Tokenizer(tokens, [])
    with pytest.raises(DataError, match="no token for it"):
        base.extended(["abc"], 3, **QUIET)
    with pytest.warns(numbpe.training.StoppedEarlyWarning, match="asked for 9 tokens"):
        base.extended(["ab"], 9, **QUIET)


@pytest.mark.parametrize("threads", [1, 2])
def test_encode_words__in_several_calls(monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    """Truth: encoding each word alone; words longer than a call is are taken whole."""
    base = numbpe.train(["ab abab aba"], 260, progress=False)
    words = {b"abab": 1, b"a": 2, b"aba" * 5: 1, b"b": 1, b"ab": 7}
    counts = numbpe.WordCounts.from_dict(words)
    expected = sorted((base.encode(word).tolist(), count) for word, count in words.items())
    monkeypatch.setattr(growing, "MOST_CALLS", 9)
    for n_bytes in (1, 5, 1 << 20):
        monkeypatch.setattr(growing, "ENCODED_NBYTES", n_bytes)
        grown = extending._begin(base.definition)
        ids, offsets, numbers = grown.encode_words(counts, threads)
        parts = [part.tolist() for part in np.split(ids, offsets[1:-1])]
        assert sorted(zip(parts, numbers.tolist(), strict=True)) == expected
        assert numbers.tolist() == [7, 2, 1, 1, 1]
    nothing = grown.encode_words(numbpe.WordCounts.from_dict({}))
    assert [array.tolist() for array in nothing] == [[], [0], []]


def test_merge_run__begins_with_tokens_of_several_bytes() -> None:
    """Truth: the run over bytes, stopped and begun anew with the words as they were then."""
    for seed in range(40):
        rng = random.Random(seed)
        words = numbpe.WordCounts.from_dict(
            {
                bytes(rng.choice(b"abc") for _ in range(rng.randint(1, 30))): rng.randint(1, 9)
                for _ in range(20)
            }
        )
        rule = seed % 2
        arrays = (words.contents, words.offsets, words.counts)
        whole = merging.MergeRun(*arrays, n_merges=30, tie_rule=rule).finish()
        tokens = [bytes([byte]) for byte in range(256)]
        grown = growing.GrowingVocabulary(tokens, {})
        for n_ids in (266, 286):
            limits = growing.GrowthLimits(n_ids, rule)
            growing.grow(grown, words, limits)
        assert grown.pairs.tolist() == whole.pairs.tolist(), f"seed {seed}"
        assert grown.counts.tolist() == whole.counts.tolist()

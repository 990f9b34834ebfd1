"""Of which two tokens a token is made, and the encoder that knows it: the reference agrees."""

import itertools
from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from numbpe import encoder_improving, encoder_model, reference
from numbpe.arrays import join_byte_strings
from numbpe.definition import ModelRules, TokenizerDefinition
from numbpe.encoder import Encoder
from numbpe.encoder_state import make_scratch
from numbpe.vocabulary import Vocabulary
from numbpe_kernels import lanes, model, ranks, token_splits, token_table, whole_words, word_keys
from numbpe_kernels.token_splits import IS_BYTE, LEFT, NOT_KNOWN, RANK, RIGHT

Merge = tuple[bytes, bytes]

BYTES = [bytes([byte]) for byte in range(256)]


@pytest.fixture(params=["compiled", "plain"])
def mode(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Run a test with compiled kernels, and with all of them as plain Python."""
    if request.param == "plain":
        kernels = (lanes, model, ranks, token_splits, token_table, whole_words, word_keys)
        for module in (*kernels, encoder_model, encoder_improving):
            for name, value in list(vars(module).items()):
                if hasattr(value, "py_func"):
                    monkeypatch.setattr(module, name, value.py_func)
    with np.errstate(over="ignore"):  # hashes wrap around, as they are meant to
        yield request.param


def draw_word(rng: np.random.Generator, longest: int) -> bytes:
    length = int(rng.integers(1, longest + 1))
    return bytes(rng.integers(97, 100, length).astype(np.uint8))


def draw_merges(rng: np.random.Generator) -> list[Merge]:
    """Return trained merges, and other ways to make the same tokens, in an order that is more or less theirs."""
    trained = reference.train_bpe({draw_word(rng, 30): 1 for _ in range(20)}, 40)
    tokens = {left + right for left, right in trained} | set(BYTES)
    places = {left + right: i for i, (left, right) in enumerate(trained)}
    halves = [(token[:i], token[i:]) for token in tokens for i in range(1, len(token))]
    others = [pair for pair in halves if tokens.issuperset(pair) and rng.integers(2)]
    noise = rng.choice([0.0, 1.0, 10.0])
    merges = list(dict.fromkeys([*trained, *others]))
    return sorted(merges, key=lambda pair: places[b"".join(pair)] + noise * rng.random())


def build(
    rng: np.random.Generator, merges: list[Merge], rules: ModelRules
) -> tuple[TokenizerDefinition, dict[bytes, int]]:
    """Return a vocabulary of all bytes and of what is merged; with ids by rank if these are ranks."""
    tokens = list(dict.fromkeys([*BYTES, *(left + right for left, right in merges)]))
    by_result = rules.merge_order == "result"
    places = np.arange(len(tokens)) if by_result else rng.permutation(len(tokens))
    vocab = {token: int(i) for token, i in zip(tokens, places, strict=True)}
    vocabulary = Vocabulary.from_tokens({i: token for token, i in vocab.items()}, merges)
    return TokenizerDefinition(vocabulary, rules), vocab


def split_token(
    token: bytes, vocab: dict[bytes, int], merges: list[Merge], by_result: bool
) -> Merge | None:
    """Return the two halves that the bytes of a token are last, None if they do not become it."""
    ids = reference.encode_piece(token, vocab, merges, by_result=by_result)
    # Without the merges that make the token, its halves stay what they are.
    others = [pair for pair in merges if b"".join(pair) != token]
    halves = reference.encode_piece(token, vocab, others, by_result=by_result)
    for i in range(1, len(token)):
        pair = token[:i], token[i:]
        if ids == [vocab[token]] and pair in merges and halves == [vocab[half] for half in pair]:
            return pair
    return None


def find_whole(words: whole_words.WholeWords, text: NDArray[np.uint8], length: int) -> int:
    """Return the row of a word, 0 if it is not there."""
    key = word_keys.word_key_short(text, np.uint64(0), np.uint64(length))
    low, high = np.uint64(key[0]), np.uint64(key[1])
    bucket = np.uint64(whole_words.whole_words_bucket(words, low, high))
    return int(whole_words.whole_words_read(words, bucket, low, high))


@pytest.mark.parametrize("by_result", [False, True])
def test_splits__are_the_last_merges_of_tokens(
    mode: str, rng: np.random.Generator, by_result: bool
) -> None:
    """Truth: reference.encode_piece of a token's bytes, with and without the merges that make it."""
    n_known = n_made = 0
    rules = ModelRules(merge_order="result" if by_result else "merge")
    for _ in range(10 if mode == "compiled" else 2):
        merges = draw_merges(rng)
        definition, vocab = build(rng, merges, rules)
        vocabulary = definition.vocabulary
        found_ranks, _ = encoder_model.rank_merges(vocabulary, by_result=by_result)
        built = encoder_model.build_encoder_model(definition)
        splits = encoder_improving.find_splits(vocabulary, built, found_ranks)
        unknown = []
        for token, i in vocab.items():
            left, right, rank, _ = splits[i].tolist()
            if len(token) == 1:
                assert rank == IS_BYTE
                continue
            expected = split_token(token, vocab, merges, by_result)
            n_made += expected is not None
            if rank != NOT_KNOWN:
                n_known += 1
                assert expected is not None
                assert (left, right) == (vocab[expected[0]], vocab[expected[1]])
            elif expected is not None:
                unknown.append(expected)
        places = {pair: int(rank) for pair, rank in zip(merges, found_ranks, strict=True)}
        for pair in unknown:
            half_ranks = [splits[vocab[half], RANK] for half in pair]
            assert NOT_KNOWN in half_ranks or max(half_ranks) >= places[pair]
    assert n_known > 0.8 * n_made > 0


@pytest.mark.parametrize("ignore_merges", [False, True])
@pytest.mark.parametrize("by_result", [False, True])
def test_improve_model__gives_the_same_ids(
    mode: str,
    rng: np.random.Generator,
    monkeypatch: pytest.MonkeyPatch,
    by_result: bool,
    ignore_merges: bool,
) -> None:
    """Truth: reference.encode_piece, for tokens, words of tokens, and words of any letters."""
    # Merges are left out where the table does not become smaller, too.
    monkeypatch.setattr(encoder_improving, "count_merge_slots", lambda n: 0)
    n_left_out = n_whole = 0
    rules = ModelRules(merge_order="result" if by_result else "merge", ignore_merges=ignore_merges)
    for _ in range(8 if mode == "compiled" else 2):
        merges = draw_merges(rng)
        definition, vocab = build(rng, merges, rules)
        built = encoder_model.build_encoder_model(definition)
        improved = encoder_improving.improve_model(definition, built)
        n_slots = [np.count_nonzero(m.merges.slots != ranks.EMPTY_SLOT) for m in (built, improved)]
        n_left_out += int(n_slots[0] - n_slots[1])
        words = [draw_word(rng, 40) for _ in range(20)]
        words += [b"".join(rng.choice(list(vocab)[256:], 2)) for _ in range(20)] + list(vocab)[90:]
        scratch = make_scratch(100)
        for word in words:
            text, _ = join_byte_strings([word])
            place = (text, 0, len(word))
            n = model.model_encode_word(improved, scratch, *place)
            expected = reference.encode_piece(
                word, vocab, merges, by_result=by_result, ignore_merges=ignore_merges
            )
            found = scratch.tokens[:n].tolist()
            row = 0
            if len(word) <= whole_words.MAX_WHOLE_NBYTES:
                row = find_whole(improved.whole, text, len(word))
            if row:
                n_whole += 1
                assert [whole_words.whole_words_get_token(np.uint64(row))] == expected
            # Those that merging does not make stand in one table or the other.
            assert found == expected or (row and ignore_merges)
    assert n_whole > 0
    assert n_left_out > 10 or mode == "plain"


def test_encoder__improves_when_there_is_much_text(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Truth: the ids of an encoder that has seen no text."""
    for ignore_merges, by_result in itertools.product((False, True), repeat=2):
        rules = ModelRules(
            merge_order="result" if by_result else "merge", ignore_merges=ignore_merges
        )
        merges = draw_merges(rng)
        definition, vocab = build(rng, merges, rules)
        encoder, fresh = Encoder(definition, None), Encoder(definition, None)
        monkeypatch.setattr("numbpe.encoder.MORE_NBYTES", 100)
        first = encoder._model
        encoder.encode_text(b"c" * 99)
        encoder.encode_text(b"abc")
        assert encoder._model is first
        encoder.encode_text(b"b")
        assert len(encoder._model.whole.rows) > 0
        monkeypatch.setattr("numbpe.encoder.MORE_NBYTES", 1 << 60)
        for word in [*list(vocab)[256:], *(draw_word(rng, 60) for _ in range(200))]:
            assert encoder.encode_text(word).tolist() == fresh.encode_text(word).tolist()
        assert not len(fresh._model.whole.rows)


def test_encoder__goes_on_where_there_is_no_memory_to_improve(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Truth: the ids before; it is tried once."""
    definition, vocab = build(rng, draw_merges(rng), ModelRules())
    encoder = Encoder(definition, None)
    word = max(vocab, key=len) * 2
    expected = encoder.encode_text(word).tolist()
    calls = []

    def fail(*arguments: object) -> None:
        calls.append(arguments)
        raise MemoryError

    monkeypatch.setattr("numbpe.encoder.improve_model", fail)
    monkeypatch.setattr("numbpe.encoder.MORE_NBYTES", 1)
    model = encoder._model
    for _ in range(3):
        assert encoder.encode_text(word).tolist() == expected
    assert len(calls) == 1
    assert encoder._model is model


def test_encoder__of_a_stream_waits_longer(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Truth: the contract of is_lean: tables are made after LEAN_NBYTES alone."""
    definition, _ = build(rng, draw_merges(rng), ModelRules())
    monkeypatch.setattr("numbpe.encoder.MORE_NBYTES", 1)
    monkeypatch.setattr("numbpe.encoder.LEAN_NBYTES", 100)
    encoder = Encoder(definition, None)
    for _ in range(4):
        assert encoder._may_improve
        encoder.encode_text(b"abc" * 10, is_lean=True)
    encoder.encode_text(b"abc", is_lean=True)
    assert not encoder._may_improve


def test_encoder__says_once_that_much_text_has_come(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Truth: the contract of get_ready."""
    definition, _ = build(rng, draw_merges(rng), ModelRules())
    monkeypatch.setattr("numbpe.encoder.MORE_NBYTES", 40)
    calls: list[int] = []
    encoder = Encoder(definition, None, get_ready=lambda: calls.append(1))
    for n_calls in (0, 0, 1, 1):
        encoder.encode_text(b"abc" * 10)
        assert len(calls) == n_calls


def test_find_splits__knows_which_of_two_ways_is_taken() -> None:
    """Truth: by hand: of abc, ab is merged first; of aaa, which two ways make, the left two a."""
    merges = [(b"a", b"b"), (b"b", b"c"), (b"a", b"bc"), (b"ab", b"c"), (b"a", b"a"), (b"aa", b"a")]
    merges.append((b"a", b"aa"))
    definition, vocab = build(np.random.default_rng(1), merges, ModelRules())
    built = encoder_model.build_encoder_model(definition)
    found_ranks, _ = encoder_model.rank_merges(definition.vocabulary, by_result=False)
    splits = encoder_improving.find_splits(definition.vocabulary, built, found_ranks)
    assert splits[vocab[b"abc"], [LEFT, RIGHT, RANK]].tolist() == [vocab[b"ab"], vocab[b"c"], 3]
    assert splits[vocab[b"aaa"], [LEFT, RIGHT, RANK]].tolist() == [vocab[b"aa"], vocab[b"a"], 5]

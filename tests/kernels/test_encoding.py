"""Parts of text to ids: compiled, plain and the reference agree, whatever the cache holds."""

import itertools
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from numbpe import encoder as encoder_module
from numbpe import encoder_improving, encoder_model, encoder_state, reference, word_tables
from numbpe import folding as fold_builder
from numbpe import junction_table as junction_builder
from numbpe.arrays import copy_text
from numbpe.definition import ModelRules, TokenizerDefinition
from numbpe.encoder import Encoder
from numbpe.errors import DataError
from numbpe.patterns import compile_pattern
from numbpe.vocabulary import Vocabulary
from numbpe_kernels import (
    automaton,
    characters,
    copying,
    encoder_arrays,
    encoder_runs,
    encoder_views,
    encoding,
    folding,
    junction_masks,
    junction_table,
    junctions,
    lanes,
    learning,
    model,
    probing,
    ranks,
    scanner,
    scanning,
    structure_views,
    token_splits,
    token_table,
    unmade,
    utf8,
    whole_words,
    word_cache,
    word_table,
)

KERNEL_MODULES = (
    automaton,
    characters,
    copying,
    encoder_arrays,
    encoder_runs,
    encoder_views,
    encoding,
    folding,
    junction_masks,
    junction_table,
    junctions,
    lanes,
    learning,
    model,
    probing,
    ranks,
    scanner,
    scanning,
    structure_views,
    token_splits,
    token_table,
    unmade,
    utf8,
    whole_words,
    word_cache,
    word_table,
)
BRIDGES = (
    encoder_module,
    encoder_improving,
    encoder_model,
    encoder_state,
    fold_builder,
    junction_builder,
    word_tables,
)

LETTERS = ["a", "b", " ", "\u00e9", "\u4e2d", "\U0001f44d"]


def use_plain_kernels(monkeypatch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Put the plain function in place of every compiled one that ``module`` names."""
    for name, value in list(vars(module).items()):
        if hasattr(value, "py_func"):
            monkeypatch.setattr(module, name, value.py_func)


@pytest.fixture(params=["compiled", "plain"])
def mode(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Run a test with compiled kernels, and with all of them as plain Python."""
    if request.param == "plain":
        for module in (*KERNEL_MODULES, *BRIDGES):
            use_plain_kernels(monkeypatch, module)
    with np.errstate(over="ignore"):  # hashes wrap around, as they are meant to
        yield request.param


def make_random_model(
    rng: np.random.Generator, *, over_characters: bool
) -> tuple[dict[bytes, int], list[tuple[bytes, bytes]]]:
    """Return a vocabulary over some letters and merges that are in no particular order."""
    if over_characters:
        symbols = [letter.encode() for letter in LETTERS]
    else:
        symbols = [bytes([byte]) for byte in sorted(set("".join(LETTERS).encode()))]
    tokens = list(symbols)
    merges: list[tuple[bytes, bytes]] = []
    for _ in range(int(rng.integers(0, 40))):
        pair = (tokens[rng.integers(len(tokens))], tokens[rng.integers(len(tokens))])
        if pair in merges or len(pair[0] + pair[1]) > 40:
            continue
        merges.append(pair)
        if pair[0] + pair[1] not in tokens:
            tokens.append(pair[0] + pair[1])
    shuffled = [merges[i] for i in rng.permutation(len(merges))]
    return {
        token: int(i) for token, i in zip(tokens, rng.permutation(len(tokens)), strict=True)
    }, shuffled


def make_encoder(
    vocab: dict[bytes, int],
    merges: list[tuple[bytes, bytes]],
    rules: ModelRules,
    pattern: str | None = None,
) -> Encoder:
    compiled = None if pattern is None else compile_pattern(pattern)
    vocabulary = Vocabulary.from_tokens(
        {i: token for token, i in vocab.items()}, merges, pattern=compiled or ()
    )
    return Encoder(TokenizerDefinition(vocabulary, rules), compiled)


def encode(encoder: Encoder, *texts: bytes) -> list[list[int]]:
    """Return the ids of texts, each as one part."""
    stops = list(itertools.accumulate(map(len, texts)))
    parts = np.array(
        [[stop - len(text), stop, -1] for text, stop in zip(texts, stops, strict=True)],
        dtype=np.int64,
    )
    ids, offsets = encoder.encode_parts(copy_text(b"".join(texts)), parts)
    return [ids[a:b].tolist() for a, b in itertools.pairwise(offsets.tolist())]


def draw_text(rng: np.random.Generator, n_characters: int, letters: list[str]) -> bytes:
    return "".join(letters[i] for i in rng.integers(len(letters), size=n_characters)).encode()


@pytest.mark.parametrize("over_characters", [False, True])
@pytest.mark.parametrize("by_result", [False, True])
@pytest.mark.parametrize("ignore_merges", [False, True])
def test_encode_parts__equals_the_reference(
    mode: str, rng: np.random.Generator, over_characters: bool, by_result: bool, ignore_merges: bool
) -> None:
    """Truth: reference.encode_piece, for text that is one piece and for text cut by a pattern."""
    for _ in range(12 if mode == "compiled" else 2):
        vocab, merges = make_random_model(rng, over_characters=over_characters)
        rules = ModelRules(
            alphabet="characters" if over_characters else "bytes",
            merge_order="result" if by_result else "merge",
            ignore_merges=ignore_merges,
        )
        texts = [draw_text(rng, int(n), LETTERS) for n in (1, 2, 5, 17, 60, 5)]
        options: dict[str, Any] = {
            "over_characters": over_characters,
            "by_result": by_result,
            "ignore_merges": ignore_merges,
        }
        whole = make_encoder(vocab, merges, rules)
        expected = [reference.encode_piece(text, vocab, merges, **options) for text in texts]
        assert encode(whole, *texts) == expected
        cut = make_encoder(vocab, merges, rules, pattern="gpt2")
        for text, found in zip(texts, encode(cut, *texts), strict=True):
            pieces = reference.split_pieces(text.decode(), [reference.GPT2_PATTERN])
            expected_ids = [
                reference.encode_piece(piece.encode(), vocab, merges, **options) for piece in pieces
            ]
            assert found == list(itertools.chain.from_iterable(expected_ids))


@pytest.mark.parametrize("byte_fallback", [False, True])
@pytest.mark.parametrize("fuse_unk", [False, True])
def test_encode_parts__of_unknown_characters(
    mode: str, rng: np.random.Generator, byte_fallback: bool, fuse_unk: bool
) -> None:
    """Truth: reference.encode_piece; some bytes of the unknown have tokens and some have not."""
    unknown = ["x", "\u00e8", "\u4e2e", "\U0001f44e"]
    for _ in range(12 if mode == "compiled" else 2):
        vocab, merges = make_random_model(rng, over_characters=True)
        for byte in "".join(unknown[:3]).encode() + b"\xff":
            vocab[b"<0x%02X>" % byte] = len(vocab)
        vocab[b"<unk>"] = len(vocab)
        rules = ModelRules(
            alphabet="characters",
            byte_fallback=byte_fallback,
            unk_id=vocab[b"<unk>"],
            fuse_unk=fuse_unk,
        )
        encoder = make_encoder(vocab, merges, rules)
        texts = [draw_text(rng, int(n), LETTERS + unknown) for n in (1, 3, 20, 70)]
        texts.append(b"a\xff\xe4\xb8b\xf0\x9f")
        expected = [
            reference.encode_piece(
                text, vocab, merges, over_characters=True, byte_fallback=byte_fallback,
                unk_id=vocab[b"<unk>"], fuse_unk=fuse_unk,
            )
            for text in texts
        ]  # fmt: skip
        assert encode(encoder, *texts) == expected


def test_encode_parts__does_not_depend_on_the_cache(
    monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    """Truth: the same encoder with a cache so small that it is emptied again and again."""
    vocab, merges = make_random_model(rng, over_characters=False)
    lengths = rng.integers(1, 40, size=40_000)
    words = [draw_text(rng, int(n), ["a", "b", "\u00e9"]) for n in lengths]
    text = b" ".join(words)
    monkeypatch.setattr(encoder_state, "FIRST_SLOTS", 1 << 14)
    roomy = make_encoder(vocab, merges, ModelRules(), pattern="gpt2")
    expected = encode(roomy, text)
    assert len(roomy._idle_states[0].arrays.cache.table.rows) > 4 * encoder_state.FIRST_SLOTS
    monkeypatch.setattr(encoder_state, "MAX_CACHE_NBYTES", 1)
    cramped = make_encoder(vocab, merges, ModelRules(), pattern="gpt2")
    assert encode(cramped, text) == expected
    state = cramped._idle_states[0]
    assert len(state.arrays.cache.table.rows) == 4 * encoder_state.FIRST_SLOTS
    assert encode(cramped, text) == expected


@pytest.mark.parametrize("over_characters", [False, True])
@pytest.mark.parametrize("by_result", [False, True])
def test_encode_parts__does_not_depend_on_how_many_tokens_are_looked_up(
    monkeypatch: pytest.MonkeyPatch,
    rng: np.random.Generator,
    over_characters: bool,
    by_result: bool,
) -> None:
    """Truth: the same encoder while it looks words up among all tokens, not the unmade ones alone."""
    monkeypatch.setattr(encoder_module, "MORE_NBYTES", 1)
    rules = ModelRules(
        alphabet="characters" if over_characters else "bytes",
        merge_order="result" if by_result else "merge",
        ignore_merges=True,
    )
    n_unmade = n_made = 0
    for _ in range(40):
        vocab, merges = make_random_model(rng, over_characters=over_characters)
        encoder = make_encoder(vocab, merges, rules)
        texts = [*vocab, *(draw_text(rng, int(n), LETTERS) for n in (2, 5, 17, 60))]
        first = encode(encoder, *texts)
        n_slots = len(encoder._model.tokens.slots)
        encoder._idle_states[0].empty_cache()
        encode(encoder, b"ab", b"a")
        assert encode(encoder, *texts) == first
        n_unmade += len(encoder._model.tokens.slots) > 2
        n_made += len(encoder._model.tokens.slots) < n_slots
    assert n_unmade > 5
    assert n_made > 20


@pytest.mark.parametrize("over_characters", [False, True])
def test_find_cut__changes_no_ids(rng: np.random.Generator, over_characters: bool) -> None:
    """Truth: the ids of the whole text."""
    n_cuts = 0
    for _ in range(30):
        vocab, merges = make_random_model(rng, over_characters=over_characters)
        rules = ModelRules(alphabet="characters" if over_characters else "bytes")
        encoder = make_encoder(vocab, merges, rules, None if over_characters else "gpt2")
        text = draw_text(rng, 60, LETTERS)
        whole = encode(encoder, text)[0]
        stop = len(text)
        while stop > 0:
            cut = encoder.find_cut(copy_text(text), 0, stop)
            if cut < 0:
                break
            assert 0 < cut < stop
            left, right = encode(encoder, text[:cut], text[cut:])
            assert left + right == whole
            n_cuts += 1
            stop = cut
    assert n_cuts > 100


def test_encode_parts__with_gaps_between_them(rng: np.random.Generator) -> None:
    """Truth: each part encoded by itself; more words than a block, ends of parts anywhere in it."""
    vocab, merges = make_random_model(rng, over_characters=False)
    encoder = make_encoder(vocab, merges, ModelRules(), pattern="gpt2")
    for n_words in (1, 2, 3, 5):
        texts = [draw_text(rng, int(n), ["a", "b", " "]) for n in rng.integers(0, n_words, 3_000)]
        stops = np.cumsum([len(text) + 3 for text in texts])
        parts = np.array(
            [
                (stop - len(text) - 3, stop - 3, 7 if stop % 3 else -1)
                for text, stop in zip(texts, stops.tolist(), strict=True)
            ],
            dtype=np.int64,
        )
        ids, offsets = encoder.encode_parts(copy_text(b"xyz".join([*texts, b""])), parts)
        found = [ids[a:b].tolist() for a, b in itertools.pairwise(offsets.tolist())]
        behind = [[7] if stop % 3 else [] for stop in stops.tolist()]
        alone = [encoder.encode_text(text).tolist() for text in texts]
        assert found == [a + b for a, b in zip(alone, behind, strict=True)]


def test_encode_parts__without_a_token_names_the_place() -> None:
    """Truth: the contract of encode_parts; nothing is dropped silently."""
    encoder = make_encoder({b"a": 0, b"b": 1}, [], ModelRules(), pattern="gpt2")
    with pytest.raises(DataError, match="byte 0x63 at byte 3 of the text"):
        encode(encoder, b"ab", b"bca")
    assert encode(encoder, b"ab") == [[0, 1]]
    over_characters = make_encoder({b"a": 0}, [], ModelRules(alphabet="characters"))
    with pytest.raises(DataError, match="character '\u00e9' at byte 1 of the text"):
        encode(over_characters, "a\u00e9".encode())


def test_encode_parts__of_a_million_letters_takes_near_linear_time() -> None:
    """Truth: the heap's bound; hand-computed for merges that double."""
    powers = [b"a" * 2**k for k in range(5)]
    vocab = {power: i for i, power in enumerate(powers)}
    merges = [(power, power) for power in powers[:-1]]
    encoder = make_encoder(vocab, merges, ModelRules())
    assert encode(encoder, b"a" * 1_000_003) == [[4] * 62_500 + [1, 0]]
    assert not encoder._idle_states[0].is_large


@pytest.mark.parametrize("greatest_id", [0, 1 << 21])
def test_encode_text__of_words_with_any_number_of_ids(
    mode: str, rng: np.random.Generator, greatest_id: int
) -> None:
    """Truth: reference.encode_piece; up to five ids stand in a row, and only those below 2**21."""
    letters = [bytes([byte]) for byte in range(97, 117)]
    vocab = {letter: i for i, letter in enumerate(letters)}
    if greatest_id:
        vocab[b"t"] = greatest_id  # joined by no merge
    vocab[b"\n"] = 50
    counts = (1, 2, 3, 4, 5, 7, 14, 15, 40)
    words = [letters[i] * n + letters[-1] for i in range(19) for n in counts]
    text = b"\n".join(words[i] for i in rng.permutation(len(words)))
    encoder = make_encoder(vocab, [], ModelRules(), pattern="gpt2")
    expected = reference.encode_piece(text, vocab, [])
    for _ in range(3):  # new, known, known
        assert encoder.encode_text(text).tolist() == expected


def test_encode_parts__goes_on_after_a_word_without_a_token() -> None:
    """Truth: reference.encode_piece; the error comes while other words of the block are being merged."""
    letters = [chr(0x4E00 + i) for i in range(20)]
    merges = [(a.encode(), b.encode()) for a, b in itertools.pairwise(letters)]
    tokens = [letter.encode() for letter in letters] + [a + b for a, b in merges] + [b"\n"]
    vocab = {token: i for i, token in enumerate(tokens)}
    rng = np.random.default_rng(5)
    encoder = make_encoder(vocab, merges, ModelRules(alphabet="characters"), pattern="gpt2")
    for _ in range(20):
        words = [draw_text(rng, int(n), letters) for n in rng.integers(1, 14, size=60)]
        place = int(rng.integers(len(words)))
        with pytest.raises(DataError, match="cannot encode the character"):
            encoder.encode_text(b"\n".join([*words[:place], b"\xe5\x93\x88", *words[place:]]))
        expected = [
            token_id
            for word in words
            for token_id in [
                *reference.encode_piece(word, vocab, merges, over_characters=True),
                vocab[b"\n"],
            ]
        ]
        assert encoder.encode_text(b"\n".join([*words, b""])).tolist() == expected

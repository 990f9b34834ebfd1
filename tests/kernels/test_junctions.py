"""Cutting words where no token spans: the ids of the whole word, whatever the vocabulary."""

import itertools

import numpy as np
import pytest

from numbpe import encoder_model, junction_table, reference
from numbpe.arrays import copy_text
from numbpe.definition import ModelRules, TokenizerDefinition
from numbpe.encoder import Encoder
from numbpe.vocabulary import Vocabulary
from numbpe_kernels import junctions
from numbpe_kernels.junction_table import JunctionTable, junction_is_special

CHARACTERS = ["a", "\u00e9", "\u0431", "\u4e2d", "\u4e2e", "\u56fd", "\u5706", "\U0001f44d"]

NEAR_CHARACTERS = [*"a\u0915\u0916\u094d\u0e01\u0e02\u0e38\u0e48\u0800\u0fff\u4e2d"]
"""Some of them in one block, some at its ends, and neighbours that are none."""

Merge = tuple[bytes, bytes]


def make_vocabulary(
    rng: np.random.Generator, characters: list[str] = CHARACTERS, most_characters: int = 3
) -> tuple[dict[bytes, int], list[Merge]]:
    """Return all bytes and merges: of parts of characters, of whole ones, and over junctions."""
    tokens = [bytes([byte]) for byte in range(256)]
    merges: list[Merge] = []
    for _ in range(int(rng.integers(2, 14))):
        drawn = rng.integers(len(characters), size=most_characters)
        word = "".join(characters[i] for i in drawn).encode()
        start = int(rng.integers(0, len(word) - 1))
        stop = int(rng.integers(start + 2, len(word) + 1))
        # The merges that make word[start:stop], from the left or from the right.
        while stop - start > 1:
            inner = start + 1 if rng.integers(2) else stop - 1
            pair = (word[start:inner], word[inner:stop])
            if pair not in merges:
                merges.append(pair)
            tokens += [part for part in (*pair, word[start:stop]) if part not in tokens]
            start, stop = (start, inner) if inner - start > 1 else (inner, stop)
    order = rng.permutation(len(merges))
    return {token: i for i, token in enumerate(tokens)}, [merges[i] for i in order]


def make_encoder(vocab: dict[bytes, int], merges: list[Merge], rules: ModelRules) -> Encoder:
    vocabulary = Vocabulary.from_tokens(
        {i: token for token, i in vocab.items()}, merges, pattern=()
    )
    return Encoder(TokenizerDefinition(vocabulary, rules), None)


def count_words(encoder: Encoder, word: bytes) -> int:
    """Return into how many parts a word is cut."""
    encoder.encode_text(word)
    table = encoder._junctions
    assert table is not None
    refine = np.array([0, -1, 0, 0], dtype=np.int64)
    words = np.empty(2 * len(word), dtype=np.int64)
    parts = np.array([[0, len(word), -1]], dtype=np.int64)
    ends = np.array([len(word)], dtype=np.int64)
    text = copy_text(word)
    none = junctions.NONE_WHOLE
    assert junctions.junctions_refine(table.table, text, parts, ends, 1, none, refine, words)
    return int(refine[junctions.N_WORDS])


@pytest.mark.parametrize(
    ("characters", "least_long_tokens", "most_characters"),
    [
        (CHARACTERS, 64, 3),
        (NEAR_CHARACTERS, 64, 3),
        (NEAR_CHARACTERS, 1, 3),
        (NEAR_CHARACTERS, 1, 8),
    ],
    ids=["scripts", "near", "deep", "long"],
)
@pytest.mark.parametrize("ignore_merges", [False, True])
def test_cut_words__have_the_ids_of_the_whole(
    rng: np.random.Generator,
    monkeypatch: pytest.MonkeyPatch,
    ignore_merges: bool,
    characters: list[str],
    least_long_tokens: int,
    most_characters: int,
) -> None:
    """Truth: reference.encode_piece of the uncut word; tokens hold parts of characters too."""
    monkeypatch.setattr(junction_table, "LEAST_LONG_TOKENS", least_long_tokens)
    n_words = n_parts = 0
    for _ in range(150):
        vocab, merges = make_vocabulary(rng, characters, most_characters)
        encoder = make_encoder(vocab, merges, ModelRules(ignore_merges=ignore_merges))
        least = int(characters is CHARACTERS)
        words = [
            "".join(
                characters[i] for i in rng.integers(least, len(characters), size=int(n))
            ).encode()
            for n in rng.integers(2, 20, size=8)
        ]
        for word in words:
            expected = reference.encode_piece(word, vocab, merges, ignore_merges=ignore_merges)
            assert encoder.encode_text(word).tolist() == expected
            n_words += 1
            n_parts += count_words(encoder, word)
    assert n_parts > 2 * n_words


@pytest.mark.parametrize("least_long_tokens", [64, 1])
def test_cut_words__that_are_not_utf8(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, least_long_tokens: int
) -> None:
    """Truth: reference.encode_piece; lead bytes without their rest, and stray bytes."""
    monkeypatch.setattr(junction_table, "LEAST_LONG_TOKENS", least_long_tokens)
    alphabet = np.frombuffer(
        "a\u00e9\u4e2d\u56fd\u0e01\u0e02\U0001f44d".encode() + b"\xe4\xf0\xff\xe0", np.uint8
    )
    for _ in range(150):
        vocab, merges = make_vocabulary(rng, [*CHARACTERS, "\u0e01", "\u0e02"])
        encoder = make_encoder(vocab, merges, ModelRules())
        for n in rng.integers(2, 30, size=8):
            word = alphabet[rng.integers(len(alphabet), size=int(n))].tobytes()
            expected = reference.encode_piece(word, vocab, merges)
            assert encoder.encode_text(word).tolist() == expected


def test_cut_words__of_overlong_characters() -> None:
    """Truth: reference.encode_piece; E0 80 to E0 9F begin no character of a block, though near ones in form."""
    left, right = b"\xe0\x80\x80", b"\xe0\x80\x81"
    merges = [(b"\xe0", b"\x80"), (left[:2], b"\x80"), (right[:2], b"\x81"), (left, right)]
    tokens = [bytes([byte]) for byte in range(256)] + [a + b for a, b in merges]
    vocab = {token: i for i, token in enumerate(tokens)}
    word = (left + right) * 4
    expected = reference.encode_piece(word, vocab, merges)
    assert make_encoder(vocab, merges, ModelRules()).encode_text(word).tolist() == expected
    assert expected == [vocab[left + right]] * 4


@pytest.mark.parametrize("ignore_merges", [False, True])
def test_near__says_what_the_other_tables_say(
    rng: np.random.Generator, ignore_merges: bool
) -> None:
    """Truth: a search for tokens that reach over the junction of two characters; the look at any two."""
    n_joined = 0
    for _ in range(5):
        vocab, merges = make_vocabulary(rng, NEAR_CHARACTERS)
        encoder = make_encoder(vocab, merges, ModelRules(ignore_merges=ignore_merges))
        encoder.encode_text("\u0915".encode() * 20)
        assert encoder._junctions is not None
        table = encoder._junctions.table
        near = np.unpackbits(table.near.pairs, bitorder="little").reshape(16, 128, 128)
        members = [ord(character) - 0x800 for character in NEAR_CHARACTERS[1:-1]]
        members += rng.integers(2048, size=10).tolist()
        for left in members:
            for right in range(left & ~0x7F, (left | 0x7F) + 1):
                pair = (chr(0x800 + left) + chr(0x800 + right)).encode()
                words = np.empty(8, dtype=np.int64)
                found = bool(near[left >> 7, left & 0x7F, right & 0x7F])
                # The other tables take some pairs for joined that are not.
                assert found or not is_spanned(list(vocab), pair)
                assert is_joined(table, pair) or not found
                assert cut_word(table, pair, words) == ([6] if found else [3, 6])
                n_joined += found
    assert n_joined > 10


def is_spanned(tokens: list[bytes], pair: bytes) -> bool:
    """Return whether a token, wherever it stands, may reach over the middle of six bytes."""
    left, right = pair[:3], pair[3:]
    return any(
        (token[:i].endswith(left) or left.endswith(token[:i]))
        and (token[i:].startswith(right) or right.startswith(token[i:]))
        for token in tokens
        for i in range(1, len(token))
    )


def is_joined(table: JunctionTable, pair: bytes) -> bool:
    """Return what the tables but ``near`` say of two characters of three bytes."""
    left, right = (np.uint64(int.from_bytes(part, "little")) for part in (pair[:3], pair[3:]))
    bit = int(
        np.uint64(int.from_bytes(pair, "little") * 0x9E3779B97F4A7C15 % (1 << 64)) >> table.shift
    )
    joined = bool(table.joined[bit >> 3] >> (bit & 7) & 1)
    joined |= bool(table.ends_and_leads[pair[2] | pair[3] << 8])
    return joined or bool(junction_is_special(table, left, right))


def cut_word(table: JunctionTable, word: bytes, words_out: np.ndarray) -> list[int]:
    """Return where a word is cut, however short it is, and its end."""
    start, stop = np.uint64(0), np.uint64(len(word))
    n_words = junctions.junctions_cut_word(table, copy_text(word), start, stop, words_out, start)
    return words_out[: int(n_words)].tolist()


def test_junctions_refine__goes_on_where_it_was_full(rng: np.random.Generator) -> None:
    """Truth: one call with room for all; empty parts have no word."""
    vocab, merges = make_vocabulary(rng)
    encoder = make_encoder(vocab, merges, ModelRules())
    words = ["\u4e2d\u56fd\u56fd\u4e2d", "abc", "\u0431" * 7, "\u4e2d"]
    text = copy_text("".join(words).encode())
    stops = list(itertools.accumulate(len(word.encode()) for word in words))
    parts = np.array(
        [[0, 0, -1], [0, stops[1], -1], [stops[1], stops[1], 5], [stops[1], stops[3], -1]],
        dtype=np.int64,
    )
    ends = np.array(stops, dtype=np.int64)
    table = encoder._junctions
    assert table is not None
    found: dict[int, list[int]] = {}
    for room in (1, 2, 3, 50):
        refine = np.array([0, -1, 0, 0], dtype=np.int64)
        words_out = np.empty(room, dtype=np.int64)
        found[room] = []
        is_done = False
        while not is_done:
            is_done = junctions.junctions_refine(
                table.table, text, parts, ends, len(ends), junctions.NONE_WHOLE, refine, words_out
            )
            found[room] += words_out[: refine[junctions.N_WORDS]].tolist()
    assert found[1] == found[2] == found[3] == found[50]
    assert set(stops) <= set(found[50])


def test_build_junction_table__of_characters_is_none() -> None:
    """Truth: the contract: only vocabularies over bytes are cut this way."""
    vocabulary = Vocabulary.from_tokens({0: b"a"}, [], pattern=())
    definition = TokenizerDefinition(vocabulary, ModelRules(alphabet="characters"))
    model = encoder_model.build_encoder_model(definition)
    assert junction_table.build_junction_table(definition, model) is None


def test_encode_text__of_few_characters_outside_ascii_looks_for_no_junctions(
    rng: np.random.Generator,
) -> None:
    """Truth: the ids of the same text where it is not known how many characters it has."""
    vocab, merges = make_vocabulary(rng)
    encoder = make_encoder(vocab, merges, ModelRules())
    text = "a" * 2000 + "\u4e2d\u56fd\u56fd\u4e2d" + "a" * 2000
    content = text.encode()
    ids = encoder.encode_text(content, len(text)).tolist()
    assert "_junctions" not in vars(encoder)
    assert encoder.encode_text(content).tolist() == ids
    assert "_junctions" in vars(encoder)

"""Characters laid into lanes as one token: the ids of the word merged byte by byte, whatever is beside them."""

from collections.abc import Iterator

import numpy as np
import pytest

from numbpe import encoder_model, folding, reference
from numbpe.arrays import join_byte_strings
from numbpe.definition import ModelRules, TokenizerDefinition
from numbpe.encoder import MUCH_NBYTES, Encoder
from numbpe.vocabulary import Vocabulary
from numbpe_kernels import folding as kernel
from numbpe_kernels import lanes, ranks
from numbpe_kernels.model import EncoderModel

CHARACTERS = ["a", " ", "\u00e9", "\u00e8", "\u0431", "\u4e2d", "\u4e2e", "\u56fd", "\U0001f44d"]
STRAY = [b"\xe4", b"\xad", b"\xc3", b"\xe4\xb8", b"\xe0\x80\xad", b"\xc0\xa9"]
"""Bytes that are no characters, two of them ones that are spelled too long."""

Merge = tuple[bytes, bytes]


@pytest.fixture(params=["compiled", "plain"])
def mode(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Run a test with compiled kernels, and with all of them as plain Python."""
    if request.param == "plain":
        for module in (kernel, lanes, ranks, encoder_model, folding):
            for name, value in list(vars(module).items()):
                if hasattr(value, "py_func"):
                    monkeypatch.setattr(module, name, value.py_func)
    with np.errstate(over="ignore"):  # hashes wrap around, as they are meant to
        yield request.param


def draw_letters(rng: np.random.Generator) -> list[str]:
    """Return few enough that merges and words meet."""
    return [CHARACTERS[i] for i in rng.choice(len(CHARACTERS), size=4, replace=False)]


def draw_merges(rng: np.random.Generator, letters: list[str]) -> list[Merge]:
    """Return merges, in any order: of the bytes of characters, of characters, and over their borders."""
    merges: dict[Merge, None] = {}
    for _ in range(int(rng.integers(4, 16))):
        places = rng.integers(len(letters), size=rng.integers(1, 4))
        word = "".join(letters[i] for i in places).encode()
        start = 0 if rng.integers(2) else int(rng.integers(0, len(word)))
        stop = len(word) if rng.integers(2) else int(rng.integers(start, len(word) + 1))
        while stop - start > 1:
            inner = start + 1 if rng.integers(2) else stop - 1
            merges[word[start:inner], word[inner:stop]] = None
            start, stop = (start, inner) if inner - start > 1 else (inner, stop)
    # Short merges mostly come first, as in a vocabulary that was trained.
    noise = rng.integers(1, 12)
    return sorted(merges, key=lambda merge: len(merge[0] + merge[1]) + noise * rng.random())


def build(
    rng: np.random.Generator, merges: list[Merge], *, by_result: bool
) -> tuple[TokenizerDefinition, EncoderModel, dict[bytes, int]]:
    """Return a vocabulary of all bytes and of what is merged; the ids are in any order."""
    tokens = [bytes([byte]) for byte in range(256)]
    tokens += dict.fromkeys(part for a, b in merges for part in (a, b, a + b) if len(part) > 1)
    vocab = {token: int(i) for token, i in zip(tokens, rng.permutation(len(tokens)), strict=True)}
    vocabulary = Vocabulary.from_tokens(
        {i: token for token, i in vocab.items()}, merges, pattern=()
    )
    rules = ModelRules(merge_order="result" if by_result else "merge")
    definition = TokenizerDefinition(vocabulary, rules)
    return definition, encoder_model.build_encoder_model(definition), vocab


def draw_word(rng: np.random.Generator, letters: list[str]) -> bytes:
    parts = [letter.encode() for letter in letters] + STRAY * int(rng.integers(4) == 0)
    word = b"".join(parts[i] for i in rng.integers(len(parts), size=rng.integers(1, 7)))
    return word[: int(rng.integers(1, len(word) + 1))] if rng.integers(4) == 0 else word


def encode_folded(
    model: EncoderModel, folds: kernel.FoldTable, words: list[bytes]
) -> tuple[list[list[int]], int]:
    """Return the ids of words, and in how many of them some character folds."""
    state = lanes.make_lanes()
    text, offsets = join_byte_strings(words)
    tokens = np.empty(lanes.MAX_LANE_NBYTES, dtype=np.int32)
    found: list[list[int]] = []
    n_folded = 0
    lane = np.uint64(0)
    for i, word in enumerate(words):
        start, length = np.uint64(offsets[i]), np.uint64(len(word))
        place = (state, model.merges)
        what = (lane, np.uint64(i), text, start, length)
        if lanes.lanes_load_folded(*place, folds, *what):
            n_folded += 1
            lanes.lanes_rank(*place, lane)
        else:
            lanes.lanes_load(*place, *what)
        while lanes.lanes_choose(*place, lane) == 1:
            lanes.lanes_merge(*place, lane)
        found.append(tokens[: lanes.lanes_unload(state, lane, tokens)].tolist())
    return found, n_folded


@pytest.mark.parametrize("by_result", [False, True])
def test_words__have_the_ids_of_their_bytes(
    mode: str, rng: np.random.Generator, by_result: bool
) -> None:
    """Truth: reference.encode_piece, for merges of any order, and for bytes that are no characters."""
    n_words = n_folded = 0
    for _ in range(300 if mode == "compiled" else 8):
        letters = draw_letters(rng)
        merges = draw_merges(rng, letters)
        definition, model, vocab = build(rng, merges, by_result=by_result)
        folds = folding.build_fold_table(definition, model)
        if folds is None:
            continue
        words = [draw_word(rng, letters) for _ in range(30)]
        expected = [
            reference.encode_piece(word, vocab, merges, by_result=by_result) for word in words
        ]
        found, n = encode_folded(model, folds, words)
        assert found == expected
        n_words += len(words)
        n_folded += n
    assert n_folded > n_words / 4


def test_words__need_what_is_known_of_neighbours(rng: np.random.Generator) -> None:
    """Truth: reference.encode_piece: folding beside any byte would change ids."""
    n_wrong = 0
    for _ in range(100):
        letters = draw_letters(rng)
        merges = draw_merges(rng, letters)
        definition, model, vocab = build(rng, merges, by_result=False)
        folds = folding.build_fold_table(definition, model)
        if folds is None:
            continue
        careless = folds._replace(neighbours=np.zeros_like(folds.neighbours))
        words = [draw_word(rng, letters) for _ in range(10)]
        expected = [reference.encode_piece(word, vocab, merges) for word in words]
        n_wrong += sum(
            a != b for a, b in zip(expected, encode_folded(model, careless, words)[0], strict=True)
        )
    assert n_wrong > 10


def make_table(merges: list[Merge]) -> tuple[kernel.FoldTable | None, dict[bytes, int]]:
    definition, model, vocab = build(np.random.default_rng(1), merges, by_result=False)
    return folding.build_fold_table(definition, model), vocab


def test_build_fold_table__by_hand() -> None:
    """Truth: hand-computed: \u4e2d is e4 b8 ad, and (e4, b8) comes before (x, e4) and (ad, y)."""
    merges = [(b"\xe4", b"\xb8"), (b"x", b"\xe4"), (b"\xe4\xb8", b"\xad"), (b"\xad", b"y")]
    table, vocab = make_table(merges)
    assert table is not None
    assert np.flatnonzero(table.alone).tolist() == [0x4E2D]
    entry = int(table.alone[0x4E2D])
    assert entry & (1 << kernel.TOKEN_BITS) - 1 == vocab["\u4e2d".encode()]
    row = table.neighbours[(entry >> kernel.TOKEN_BITS) * kernel.KIND_WIDTH :]
    assert not row[: kernel.BEHIND].any()
    behind = np.unpackbits(row[kernel.BEHIND :][:4].view(np.uint8), bitorder="little")
    assert np.flatnonzero(behind).tolist() == list(range(0x80, 0xC0))


@pytest.mark.parametrize(
    ("first", "before", "behind"),
    [((b"x", b"\xe4"), b"x", b""), ((b"\xad", b"y"), b"", b"y"), ((b"\xb8\xad", b"y"), b"", b"")],
    ids=["before", "behind", "of a part that never is"],
)
def test_build_fold_table__of_merges_that_come_first(
    first: Merge, before: bytes, behind: bytes
) -> None:
    """Truth: hand-computed: beside the byte of a merge that is made earlier the character does not fold."""
    table, _ = make_table([first, (b"\xe4", b"\xb8"), (b"\xe4\xb8", b"\xad")])
    assert table is not None
    kind = int(table.alone[0x4E2D]) >> kernel.TOKEN_BITS
    row = table.neighbours[kind * kernel.KIND_WIDTH :]
    bits = [np.unpackbits(row[i : i + 4].view(np.uint8), bitorder="little") for i in (0, 8)]
    assert np.flatnonzero(bits[0]).tolist() == list(before)
    assert np.flatnonzero(bits[1]).tolist() == [*behind, *range(0x80, 0xC0)]


def test_build_fold_table__of_a_character_that_is_joined_early() -> None:
    """Truth: hand-computed: (\u00e9, x) is made as soon as \u00e9 is, but (x, x) before it."""
    early = [("\u00e9".encode(), b"x"), (b"x", b"x"), (b"\xc3", b"\xa9")]
    assert make_table(early)[0] is None
    table, _ = make_table([early[2], early[0], early[1]])
    assert table is not None
    assert np.flatnonzero(table.alone).tolist() == [0xE9]


def test_build_fold_table__of_nothing_to_fold_is_none() -> None:
    """Truth: the contract."""
    assert make_table([])[0] is None
    assert make_table([(b"a", b"b"), (b"\xe4", b"\xb8"), (b"\xb8", b"\xad")])[0] is None


def test_lanes_load_folded__of_a_word_too_long_for_a_lane() -> None:
    """Truth: the contract: it is loaded if it has at most MAX_LANE_NBYTES tokens then."""
    merges = [(b"\xe4", b"\xb8"), (b"\xe4\xb8", b"\xad"), ("\u4e2d".encode(), "\u4e2d".encode())]
    definition, model, _ = build(np.random.default_rng(1), merges, by_result=False)
    folds = folding.build_fold_table(definition, model)
    assert folds is not None
    state = lanes.make_lanes()
    for n in (47, 48):
        for head in (b"", b"a", b"ab", "\u56fd".encode()):
            word = head + "\u4e2d".encode() * n
            text, _ = join_byte_strings([word])
            what = (np.uint64(0), np.uint64(0), text, np.uint64(0), np.uint64(len(word)))
            is_loaded = lanes.lanes_load_folded(state, model.merges, folds, *what)
            assert is_loaded == (len(head) + n <= lanes.MAX_LANE_NBYTES)


def test_encoder__folds_when_there_is_much_text_outside_ascii() -> None:
    """Truth: the ids of the same words before; a short text does not wait for the table."""
    merges = [(b"\xe4", b"\xb8"), (b"\xe4\xb8", b"\xad"), ("\u4e2d".encode(), "\u4e2d".encode())]
    definition, _, vocab = build(np.random.default_rng(1), merges, by_result=False)
    encoder = Encoder(definition, None)
    text = ("\u4e2d" * 5 + "a").encode()
    expected = reference.encode_piece(text, vocab, merges)
    assert encoder.encode_text(text).tolist() == expected
    assert not len(encoder._model.folds.alone)
    encoder.encode_text(b"a" * MUCH_NBYTES)
    for _ in range(2):
        assert encoder.encode_text(text).tolist() == expected
        assert not len(encoder._model.folds.alone)
    encoder.encode_text("\u4e2d".encode() * MUCH_NBYTES)
    assert not len(encoder._model.folds.alone)
    assert encoder.encode_text(text * 3).tolist() == 3 * expected
    assert np.count_nonzero(encoder._model.folds.alone) == 1

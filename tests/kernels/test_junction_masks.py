"""Cutting at junctions while pieces are cut: where no token spans, and the ids stay as they are."""

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from numbpe import encoder_model, junction_table, reference
from numbpe.arrays import copy_text
from numbpe.definition import TokenizerDefinition
from numbpe.encoder import Encoder
from numbpe.patterns import compile_pattern
from numbpe.scanner_tables import AUTOMATON, FAMILIES, find_family, make_scanner
from numbpe.vocabulary import Vocabulary
from numbpe.word_counter import SCANS
from numbpe_kernels import class_masks, junction_masks, junctions, masks
from numbpe_kernels import junction_table as table_kernel
from numbpe_kernels.junction_table import JunctionTable
from numbpe_kernels.scanning import HAS_UNCUT, LEAST_ENDS, N_ENDS

EAST = ["\u4e2d", "\u4e2e", "\u56fd", "\u5706", "\u306e", "\ud55c", "\u3002", "\u201c"]
OTHER = [
    "a",
    "\u00e9",
    "\u0431",
    "\u0e01",
    "\u0e40",
    "\u0915",
    "\U0001f44d",
    " ",
    "\n",
    "'s",
    "1",
    "!",
]
STRAY = [b"\xe4", b"\xb8", b"\xe4\xb8", b"\xf0", b"\xff"]
FAMILY_NAMES = {
    find_family(compile_pattern(name)): name
    for name in FAMILIES
    if find_family(compile_pattern(name)) != AUTOMATON
}

Merge = tuple[bytes, bytes]


def make_vocabulary(rng: np.random.Generator) -> tuple[dict[bytes, int], list[Merge]]:
    """Return all bytes and merges, of parts of characters, of whole ones, and over junctions."""
    tokens = [bytes([byte]) for byte in range(256)]
    merges: list[Merge] = []
    kinds = [*EAST, "\u00e9", "\u0e01", "\u0915"]
    for _ in range(int(rng.integers(0, 10))):
        word = "".join(kinds[i] for i in rng.integers(len(kinds), size=3)).encode()
        start = int(rng.integers(0, len(word) - 1))
        stop = int(rng.integers(start + 2, len(word) + 1))
        while stop - start > 1:
            pair = (word[start : stop - 1], word[stop - 1 : stop])
            if pair not in merges:
                merges.append(pair)
            tokens += [part for part in (*pair, word[start:stop]) if part not in tokens]
            stop -= 1
    order = rng.permutation(len(merges))
    return {token: i for i, token in enumerate(tokens)}, [merges[i] for i in order]


def make_definition(vocab: dict[bytes, int], merges: list[Merge]) -> TokenizerDefinition:
    vocabulary = Vocabulary.from_tokens(
        {i: token for token, i in vocab.items()}, merges, pattern=()
    )
    return TokenizerDefinition.from_vocabulary(vocabulary)


def make_table(vocab: dict[bytes, int], merges: list[Merge]) -> JunctionTable:
    definition = make_definition(vocab, merges)
    model = encoder_model.build_encoder_model(definition)
    table = junction_table.build_junction_table(definition, model)
    assert table is not None
    return table


def draw_text(
    rng: np.random.Generator,
    n_parts: int,
    *,
    is_utf8: bool = True,
    others: Sequence[str] = OTHER,
) -> bytes:
    """Return text, most of it in runs of characters of three bytes."""
    parts: list[bytes] = []
    while len(parts) < n_parts:
        kind = rng.integers(12)
        if kind < 9:
            parts += [EAST[i].encode() for i in rng.integers(len(EAST), size=int(kind) + 1)]
        elif kind < 11 or is_utf8:
            parts.append(others[rng.integers(len(others))].encode())
        else:
            parts.append(STRAY[rng.integers(len(STRAY))])
    return b"".join(parts)


def is_spanned(data: bytes, position: int, tokens: list[bytes]) -> bool:
    """Return whether a token stands in the text on both sides of a position."""
    return any(
        data[position - k : position - k + len(token)] == token
        for token in tokens
        for k in range(1, min(len(token), position + 1))
    )


def scan(
    name: str, table: JunctionTable | None, data: bytes, n_ends: int
) -> tuple[list[int], list[tuple[int, list[int], bool]]]:
    """Return all ends; and of each call where it began, its ends, and what it says of uncut words."""
    pattern = compile_pattern(name)
    scanner = make_scanner(pattern)
    if table is not None:
        scanner = scanner._replace(junctions=table)
    text = copy_text(data)
    parts = np.array([[0, len(data), -1]], dtype=np.int64)
    state = np.array([0, -1, 0, 0], dtype=np.int64)
    level_stops = pattern.new_level_stops()
    ends = np.full(n_ends, -1, dtype=np.int64)
    found: list[int] = []
    calls = []
    is_done = False
    while not is_done:
        begin = found[-1] if found else 0
        run = SCANS[find_family(pattern)]
        is_done = run(scanner, level_stops, text, parts, state, ends)
        assert is_done or state[N_ENDS] > 0
        new = ends[: state[N_ENDS]].tolist()
        found += new
        calls.append((begin, new, bool(state[HAS_UNCUT])))
    assert (level_stops == -1).all()
    return found, calls


@pytest.mark.parametrize("name", FAMILY_NAMES.values())
@pytest.mark.parametrize("is_utf8", [True, False])
def test_scan__cuts_pieces_where_no_token_spans(
    name: str, is_utf8: bool, rng: np.random.Generator
) -> None:
    """Truth: the pieces without junctions, and a search for every token at every cut."""
    n_cuts = 0
    for _ in range(25):
        vocab, merges = make_vocabulary(rng)
        tokens = [token for token in vocab if len(token) > 1]
        data = draw_text(rng, int(rng.integers(1, 900)), is_utf8=is_utf8)
        pieces = set(scan(name, None, data, 2 * LEAST_ENDS)[0])
        found, _ = scan(name, make_table(vocab, merges), data, 2 * LEAST_ENDS)
        assert found == sorted(set(found))
        assert pieces <= set(found)
        cuts = set(found) - pieces
        n_cuts += len(cuts)
        assert not any(is_spanned(data, cut, tokens) for cut in cuts)
    assert n_cuts > 1000


@pytest.mark.parametrize("name", FAMILY_NAMES.values())
def test_scan__tells_whether_words_are_left_to_cut(name: str, rng: np.random.Generator) -> None:
    """Truth: junctions_refine, which cuts nothing more where a scan says that nothing is left."""
    n_clean = 0
    for i in range(40):
        vocab, merges = make_vocabulary(rng)
        table = make_table(vocab, merges)
        others = OTHER if i % 2 else [" ", "a", "!", "\n"]
        data = draw_text(rng, int(rng.integers(1, 400)), others=others)
        _, calls = scan(name, table, data, 2 * LEAST_ENDS)
        for begin, ends, has_uncut in calls:
            if has_uncut or not ends:
                continue
            n_clean += 1
            refine = np.array([0, begin, 0, 0], dtype=np.int64)
            words = np.empty(len(data) + 1, dtype=np.int64)
            junctions.junctions_refine(
                table,
                copy_text(data),
                np.array([[0, len(data), -1]], dtype=np.int64),
                np.array(ends, dtype=np.int64),
                len(ends),
                junctions.FIRST_MASKED,
                refine,
                words,
            )
            assert words[: refine[junctions.N_WORDS]].tolist() == ends
    assert n_clean > 10


@pytest.mark.parametrize("name", FAMILY_NAMES.values())
def test_encode_text__of_cut_pieces(name: str, rng: np.random.Generator) -> None:
    """Truth: reference.encode_piece of the pieces of the regex module."""
    pattern = compile_pattern(name)
    for _ in range(12):
        vocab, merges = make_vocabulary(rng)
        encoder = Encoder(make_definition(vocab, merges), pattern)
        for n_parts in (1, 5, 60, 400):
            data = draw_text(rng, n_parts)
            expected: list[int] = []
            for piece in reference.split_pieces(data.decode(), pattern.sources):
                expected += reference.encode_piece(piece.encode(), vocab, merges)
            assert encoder.encode_text(data).tolist() == expected


def use_plain_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (junction_masks, masks, class_masks, table_kernel):
        for name, value in list(vars(module).items()):
            if hasattr(value, "py_func"):
                monkeypatch.setattr(module, name, value.py_func)


def mask_in_python(data: bytes, block: int, n_bytes: int, table: JunctionTable) -> tuple[int, int]:
    """Return what junction_mask_block does, from characters and the tests of one junction."""
    starts = [i for i, byte in enumerate(data) if byte & 0xC0 != 0x80]
    cuts = others = 0
    for before, start in zip([None, *starts], starts, strict=False):
        if not block <= start < block + n_bytes or before is None or data[start] < 0x80:
            continue
        left, right = data[before:start], data[start:][:4].decode("utf-8", "ignore")[0].encode()
        bit = 1 << (start - block)
        if min(left[0], right[0]) >= 0xE1 and max(left[0], right[0]) < 0xF0:
            pair = np.uint64(int.from_bytes(left + right, "little"))
            ends = np.uint64(left[-1] | right[0] << 8)
            is_joined = junctions.junction_is_joined(table, pair, ends) | (
                table_kernel.junction_is_special(
                    table,
                    np.uint64(int.from_bytes(left, "little")),
                    np.uint64(int.from_bytes(right, "little")),
                )
            )
            cuts |= 0 if is_joined else bit
        elif left[0] >= 0x80:
            others |= bit
    return cuts, others


@pytest.mark.parametrize("is_plain", [False, True])
def test_mask_block__at_every_place(
    is_plain: bool, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Truth: the test of a single junction, character by character, wherever a block begins."""
    if is_plain:
        use_plain_kernels(monkeypatch)
    with np.errstate(over="ignore"):
        n_cuts = n_others = 0
        for _ in range(4 if is_plain else 40):
            vocab, merges = make_vocabulary(rng)
            table = make_table(vocab, merges)
            data = draw_text(rng, 60)
            text = copy_text(data)
            starts = [i for i, byte in enumerate(data) if byte & 0xC0 != 0x80]
            for block in starts[:: 3 if is_plain else 1]:
                stop = max(i for i in (*starts, len(data)) if i <= block + 64)
                expected = mask_in_python(data, block, stop - block, table)
                found = run_mask(table, text, block, stop - block)
                assert found == expected
                n_cuts += expected[0].bit_count()
                n_others += expected[1].bit_count()
        assert n_cuts > 100
        assert n_others > 10


def run_mask(
    table: JunctionTable, text: NDArray[np.uint8], block: int, n_bytes: int
) -> tuple[int, int]:
    high = text[block : block + 64] >= 0x80
    leads = text[block : block + 64] >= 0xC0
    continuation = np.packbits(high & ~leads, bitorder="little").tobytes()
    cuts, others = junction_masks.junction_mask_block(
        table, text, block, n_bytes, np.uint64(int.from_bytes(continuation, "little"))
    )
    return int(cuts), int(others)

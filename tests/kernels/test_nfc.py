"""The kernel that finds what NFC changes, against the normalizer, which equals tokenizers."""

import hashlib
import lzma
import os
import random
import sys
from pathlib import Path

import numpy as np
import pytest

from numbpe import nfc_changes
from numbpe.arrays import join_texts
from numbpe.definition import Normalization
from numbpe.nfc_changes import Composer
from numbpe.nfc_table import build_nfc_table, load_composition
from numbpe.normalizers import apply_steps
from numbpe_kernels import nfc

COMPILED_AND_PLAIN = pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "plain"])
IS_COMPILED = os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")

_NO_PARTS = np.empty((0, 3), dtype=np.int64)

CHARACTERS = [chr(c) for c in range(sys.maxunicode + 1) if not 0xD800 <= c < 0xE000]
CHARACTERS.remove("\n")
if not IS_COMPILED:
    CHARACTERS = [*CHARACTERS[:0x1300:7], *CHARACTERS[0x1300::601]]

SCRIPTS = {
    "settled by their bytes": "\u0915\u093c\u094d\u0958\u0e01\u0e38\u0e48\u30ab\u3099\u302a\uac00\uff21\ua66f\u3131",
    "Latin": "aeoAsiu\u00e1\u00e2\u1ea1\u01d6\u1e69\u0301\u0323\u0302\u0307\u0308\u031b\u0327\u0316\u0345\u0338<=",
    "Hindi": "\u0915\u0928\u0930\u0933\u0921\u0929\u0958\u095c\u093c\u093c\u094d\u093e\u0951 ",
    "Bengali and Tamil": "\u09c7\u09be\u09d7\u09cb\u09a1\u09bc\u09dc\u09cd\u0bc6\u0bbe\u0bca\u0bd7\u0b92",
    "Korean": "\u1100\u1112\u1113\u1161\u1175\u1176\u11a7\u11a8\u11c2\u11c3\uac00\uac01\uac1c\ud7a3a",
    "Hebrew and Arabic": "\u05d0\u05b0\u05bc\u05c1\ufb2a\ufb1d\u0627\u0653\u0654\u0655\u064e\u0651\u0622\u0670",
    "Tibetan": "\u0f40\u0f71\u0f72\u0f73\u0f74\u0f75\u0f80\u0f81\u0f90\u0fb5\u0f43\u0f39\u0f7a",
    "Japanese": "\u304b\u304c\u306f\u3099\u309a\u3071\u30a6\u4e2d\uf900\ufa0e\u3002\uff21",
    "later": "\u32ff\u1df6a\u0301\u08d3\U00011a34\U00010f46\U0001d15e\U0001d165\U000110ba\U00011099",
}


def find_regions(contents: list[bytes], compiled: bool = True) -> list[list[int]]:
    """Return part, start and stop of what the kernel finds; starts and stops are within the part."""
    # What lies between the texts belongs to none, and would change what is beside it.
    between = "\u0301".encode()
    lengths = np.array([len(content) for content in contents], dtype=np.int64)
    stops = np.cumsum(lengths + len(between))
    parts = np.stack([stops - lengths, stops, np.full(len(contents), -1)], axis=1)
    text = join_texts([between + between.join(contents)])
    regions = np.full((len(contents) + text.size // 2, 3), -7, dtype=np.int64)
    chain = np.full(nfc.CHAIN_SIZE, 7, dtype=np.int64)
    function = nfc.nfc_find_regions
    if not compiled:
        function = getattr(function, "py_func", function)
    n_regions = function(load_composition().descriptor, text, parts, chain, regions)
    found = regions[:n_regions]
    found[:, 1:] -= parts[found[:, 0], :1]
    return found.tolist()


def normalize(text: str) -> str:
    return apply_steps([Normalization("NFC")], text)


def normalize_bytes(content: bytes) -> bytes:
    return normalize(content.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")


def draw_soup(generator: random.Random, n_most: int) -> str:
    """Return characters of one script, or of all, and some ASCII."""
    scripts = list(SCRIPTS.values())
    pool = generator.choice([*scripts, "".join(scripts)])
    if generator.random() < 0.3:
        pool += "abcdefgh "
    return "".join(generator.choices(pool, k=generator.randrange(n_most)))


CONTEXTS = [
    "{}",
    "a{}",
    "a{}b",
    "e{}\u0301",
    "e\u0323{}",
    "e\u0323\u0302{}\u0301x",
    "\u1100{}\u11a8",
]


@pytest.mark.parametrize("context", CONTEXTS, ids=ascii)
def test_regions__every_character(context: str) -> None:
    """Truth: apply_steps, for every code point in a context: what has no region stays, and no
    other does."""
    texts = [context.format(character) for character in CHARACTERS]
    # NFC joins nothing with a line feed and moves nothing over one.
    expected = normalize("\n".join(texts)).split("\n")
    assert len(expected) == len(texts)
    changed = [k for k, text in enumerate(texts) if text != expected[k]]
    found = find_regions([text.encode() for text in texts])
    assert sorted({part for part, _, _ in found}) == changed


@pytest.mark.parametrize("seed", range(3))
@COMPILED_AND_PLAIN
def test_regions__soups(seed: int, compiled: bool) -> None:
    """Truth: apply_steps; the normalized regions in their places make the normalized text, and each
    changes."""
    generator = random.Random(seed)
    contents = [draw_soup(generator, 8).encode() for _ in range(6000 if IS_COMPILED else 300)]
    contents += [draw_soup(generator, 300).encode() for _ in range(500 if IS_COMPILED else 20)]
    check_regions(contents, compiled)


def check_regions(contents: list[bytes], compiled: bool) -> None:
    pieces: list[list[bytes]] = [[] for _ in contents]
    ends = [0] * len(contents)
    n_changed = 0
    for part, start, stop in find_regions(contents, compiled):
        region = contents[part][start:stop]
        changed = normalize_bytes(region)
        assert changed != region
        assert start >= ends[part]
        pieces[part] += (contents[part][ends[part] : start], changed)
        ends[part] = stop
        n_changed += 1
    for content, piece, end in zip(contents, pieces, ends, strict=True):
        assert b"".join(piece) + content[end:] == normalize_bytes(content)
    assert n_changed > len(contents) // 10


@pytest.mark.parametrize("seed", range(3))
def test_regions__what_is_not_utf8(seed: int) -> None:
    """Truth: apply_steps with surrogate escapes, for soups with bytes put in, taken out, changed."""
    generator = random.Random(seed)
    contents: list[bytes] = []
    for _ in range(4000 if IS_COMPILED else 200):
        content = bytearray(draw_soup(generator, 40).encode())
        for _ in range(generator.randrange(4)):
            place = generator.randrange(len(content) + 1)
            content[place : place + generator.randrange(3)] = generator.choice(
                [
                    b"",
                    b"\xff",
                    b"\xe0\xa4",
                    b"\xf0\x90",
                    b"\xc0\x80",
                    b"\xed\xa0\x80",
                    b"\xcc",
                    b"\x81",
                ]
            )
        contents.append(bytes(content))
    check_regions(contents, True)


@COMPILED_AND_PLAIN
def test_regions__at_all_alignments(compiled: bool) -> None:
    """Truth: by hand: e and an acute accent, between marks that are alone, moved over a block."""
    for n_before in range(70):
        content = b"\xe0\xb9\x88" * (n_before % 2) + b"x" * n_before + "e\u0301\u0e48".encode()
        start = content.index(b"e")
        assert find_regions([content + b"y" * 70], compiled) == [[0, start, start + 6]]
        # Marks in their order, and in none.
        content = b"x" * n_before + "\u0e01\u0e38\u0e48 \u0e01\u0e48\u0e38".encode()
        assert find_regions([content], compiled) == [[0, n_before + 10, n_before + 19]]


def test_regions__no_room() -> None:
    """Truth: the contract; two regions, and room for one."""
    text = join_texts(["e\u0301e\u0301".encode()])
    parts = np.array([[0, 6, -1]], dtype=np.int64)
    chain = np.empty(nfc.CHAIN_SIZE, dtype=np.int64)
    descriptor = load_composition().descriptor
    for n_rows, expected in ((0, nfc.TOO_MANY), (1, nfc.TOO_MANY), (2, 2)):
        regions = np.empty((n_rows, 3), dtype=np.int64)
        assert nfc.nfc_find_regions(descriptor, text, parts, chain, regions) == expected


def test_mask_chains__py_func_equals_compiled(rng: np.random.Generator) -> None:
    """Truth: the same kernel, compiled and not, on bytes at random and on a soup."""
    soup = draw_soup(random.Random(1), 4000).encode() + bytes(
        rng.integers(256, size=3000, dtype=np.uint8)
    )
    text = join_texts([soup])
    table = load_composition().table
    scan = nfc.nfc_scan_part
    found = []
    for function in (scan, getattr(scan, "py_func", scan)):
        regions = np.full((len(soup), 3), -7, dtype=np.int64)
        chain = np.full(nfc.CHAIN_SIZE, 7, dtype=np.int64)
        n_regions = function(table, text, 5, 3, len(soup), chain, regions, 0)
        found.append(regions[:n_regions].tolist())
    assert found[0] == found[1]
    assert len(found[0]) > 0


def test_table__is_the_same_in_every_python() -> None:
    """Truth: the digest under Python 3.11, which has Unicode 14.0; all Pythons must give it."""
    digest = hashlib.sha256()
    for array in build_nfc_table():
        digest.update(array.astype("<i8").tobytes())
    assert digest.hexdigest() == "3ccd8771e8cafef38f66bbccd42e0042a2c93422d0de49bbb884de5a38a9e6e3"


@pytest.fixture
def for_short_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the kernel be called for texts that it takes too long for."""
    monkeypatch.setattr(nfc_changes, "MIN_NBYTES", 0)


@pytest.mark.usefixtures("for_short_texts")
@pytest.mark.parametrize("is_much", [False, True])
def test_composer__equals_each_text_on_its_own(
    is_much: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Truth: apply_steps on each part; with no room for regions all is normalized as a whole."""
    if is_much:
        monkeypatch.setattr(nfc_changes, "_MOST_REGIONS", 0)
    composer = Composer()
    generator = random.Random(3)
    for _ in range(200 if IS_COMPILED else 20):
        contents = [draw_soup(generator, 30).encode() for _ in range(generator.randrange(1, 6))]
        lengths = np.array([len(content) for content in contents])
        stops = np.cumsum(lengths + 5)
        parts = np.stack([stops - lengths, stops, np.arange(len(contents))], axis=1)
        text = join_texts([b"<\xcc\x81t>" + b"<\xcc\x81t>".join(contents)])
        given = text.copy(), parts.copy()
        result, changed = composer.change_parts(text, parts) or (text, parts)
        assert [result[a:b].tobytes() for a, b, _ in changed.tolist()] == [
            normalize_bytes(content) for content in contents
        ]
        assert changed[:, 2].tolist() == list(range(len(contents)))
        assert np.array_equal(text, given[0])
        assert np.array_equal(parts, given[1])
        for content in contents:
            assert composer.change_text(content) == normalize_bytes(content)


@pytest.mark.parametrize("fewest", [0, 1 << 20])
def test_composer__leaves_what_is_settled(fewest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Truth: the contract: the same object, or None, by the kernel or by ``unicodedata``."""
    monkeypatch.setattr(nfc_changes, "MIN_NBYTES", fewest)
    composer = Composer()
    content = "\u00e9\u4e2d\u0928\u094d\u0921\u093c \u0e01\u0e48 \uac00 \xff".encode() + b"\xff"
    assert composer.change_text(content) is content
    assert composer.change_text(b"") == b""
    parts = np.array([[0, len(content), -1]], dtype=np.int64)
    assert composer.change_parts(join_texts([content]), parts) is None


@pytest.mark.parametrize("seed", range(3))
def test_composer__short_texts_in_their_place(seed: int) -> None:
    """Truth: apply_steps; a text that is left as it is, since it is much or finds no room, is the long way's."""
    composer = Composer()
    generator = random.Random(seed)
    outcomes = {"settled": 0, "changed": 0, "left": 0}
    for _ in range(600 if IS_COMPILED else 60):
        content = draw_soup(generator, generator.choice([10, 500])).encode()
        expected = normalize_bytes(content)
        text = join_texts([content, b"\xcc\x81" * generator.randrange(3)])
        given = text.copy()
        # What stands behind the text is not part of it. Of several parts each is in NFC if all of it is.
        kept = composer.change_short_text(text, len(content), _NO_PARTS, 2)
        assert kept == (len(content) if content == expected else -1)
        assert np.array_equal(text, given)
        n_bytes = composer.change_short_text(text, len(content), _NO_PARTS, 1)
        if n_bytes < 0:
            assert content != expected
            assert np.array_equal(text, given)
            outcomes["left"] += 1
        else:
            assert text[:n_bytes].tobytes() == expected
            outcomes["settled" if content == expected else "changed"] += 1
    assert min(outcomes.values()) > 3, outcomes


def test_composer__a_short_text_that_outgrows_its_room() -> None:
    """Truth: by hand: U+0958 is a letter and a mark in NFC, six bytes for three."""
    composer = Composer()
    content = "\u0958".encode()
    for n_spare, expected in ((2, -1), (3, 6)):
        text = join_texts([content + b" " * n_spare])
        assert composer.change_short_text(text, len(content), _NO_PARTS, 1) == expected


@pytest.mark.parametrize("name", ["zh", "ja", "ko", "th", "hi", "ru", "ar"])
def test_composer__real_texts(name: str, shared_data: Path) -> None:
    """Truth: apply_steps on 10,000 characters each; nearly all other than Hindi are settled."""
    with lzma.open(shared_data / "corpora" / f"{name}.txt.xz") as file:
        content = file.read(1_000_000 if IS_COMPILED else 30_000).decode("utf-8", "ignore")
    composer = Composer()
    n_settled = n_texts = 0
    for start in range(0, len(content), 10_000):
        text = content[start : start + 10_000]
        expected = normalize(text)
        encoded = text.encode()
        changed = composer.change_text(encoded)
        assert changed == expected.encode()
        assert (changed is encoded) == (text == expected)
        n_settled += changed is encoded
        n_texts += 1
    assert n_settled >= (0.5 if name == "hi" else 0.9) * n_texts

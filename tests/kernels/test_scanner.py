"""The scanners by bit masks against the automaton and the regex module."""

import lzma
import os
import platform
import random
import re

import numpy as np
import pytest

from numbpe import reference
from numbpe.arrays import copy_text
from numbpe.patterns import compile_pattern
from numbpe.scanner_tables import AUTOMATON, FAMILIES, find_family, load_class_table, make_scanner
from numbpe.word_counter import SCANS
from numbpe_kernels import _code_store, _jit, masks, memory
from numbpe_kernels._compiler import find_dispatcher
from numbpe_kernels._jit import njit
from numbpe_kernels.class_masks import FLAG_APART, FLAG_HAN, FLAG_LETTER, FLAG_LOWER, FLAG_UPPER
from numbpe_kernels.scanning import LEAST_ENDS, N_ENDS, scan_by_automaton

ASCII = [
    "a", "Z", "th", "Th", "xY", "ABc", "0", "12", "345", "6789", " ", "  ", "     ", "\n", "\n\n", "\t",
    "\r\n", "\v\f", "\n \n", "\n  ", " \n", "'", "''", "'s", "'S", "'t", "'re", "'rE", "'VE", "'ll",
    "'l", "'r", "'d", "'m", "'M", "!", "?!", " !", "!\n", ";\n/", "/", "//", "/\n", "\n/", "_", "\0",
    "\x1c", "\x7f", "word", " the", " The", "don't", "IT'S", "$a", "(b", "\t(", "\tx",
]  # fmt: skip
OTHER = [
    "é", "É", "ſ", "'ſ", "\u01c5", "\u02b0", "\u00a0", "\u3000", "\u0085", "\u2028", "\u2009", "中", "中文",
    "龦", "䷀", "々", "〇", "ゟ", "゛", "カ", "・", "한", "가힣", "हि", "न्दी", "\u0301", "e\u0301", "३", "٣",
    "٣٤٥٦", "½", "Ⅷ", "ш", "Ш", "ПриВет", "ก็", "🙃", "👩‍👩", "\u200d", "\u200c", "\ue000", "\U0001d7d8",
    "\U00010400", "\U00010428", "。", "，", "“", "”", "—", "€", "\ufeff", "\U0002a700", "\U000e0100",
]  # fmt: skip
NAMES = [name for name in FAMILIES if find_family(compile_pattern(name)) != AUTOMATON]
PATTERN_OF = {find_family(compile_pattern(name)): name for name in NAMES}


def cut(scan, pattern, text, parts, n_ends=512):
    """All ends that a kernel finds in parts of text."""
    scanner = make_scanner(pattern)
    level_stops = pattern.new_level_stops()
    state = np.array([0, -1, 0, 0], dtype=np.int64)
    ends = np.full(n_ends, -1, dtype=np.int64)
    found = []
    is_done = False
    while not is_done:
        is_done = scan(scanner, level_stops, text, np.array(parts), state, ends)
        assert is_done or state[N_ENDS] > 0
        found += ends[: state[N_ENDS]].tolist()
    assert (level_stops == -1).all()
    return found


def cut_by_masks(pattern, text, parts, n_ends=512):
    return cut(SCANS[find_family(pattern)], pattern, text, parts, n_ends)


def check(name, data, n_ends=512):
    """Hold the pieces of masks to those of the automaton."""
    text = copy_text(data)
    pattern = compile_pattern(name)
    expected = cut(scan_by_automaton, pattern, text, [[0, len(data)]])
    actual = cut_by_masks(pattern, text, [[0, len(data)]], n_ends)
    if actual != expected:
        first = next(
            i for i, pair in enumerate(zip(actual, expected, strict=False)) if pair[0] != pair[1]
        )
        start = max(0, expected[first] - 80)
        context = bytes(data[start : expected[first] + 80]).decode("utf-8", "replace")
        pytest.fail(f"{name}: {actual[first]} for {expected[first]} after {start}: {context!r}")


def make_soup(seed, length, parts):
    rng = random.Random(seed)
    return "".join(rng.choice(parts) for _ in range(length)).encode()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", range(20))
def test_scan__ascii(name, seed):
    """Truth: the regex module, on ASCII where all versions of Unicode agree."""
    soup = make_soup(seed, 400, ASCII)
    pattern = compile_pattern(name)
    pieces = reference.split_pieces(soup.decode(), pattern.sources)
    expected = np.cumsum([len(piece) for piece in pieces]).tolist()
    assert cut_by_masks(pattern, copy_text(soup), [[0, len(soup)]]) == expected


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", range(3))
def test_scan__alignment(name, seed):
    """Truth: the automaton, at all 64 alignments and with text behind the end that must not count."""
    kinds = [ASCII, ASCII * 3 + OTHER, OTHER][seed]
    pattern = compile_pattern(name)
    data = make_soup(seed, 60, kinds)
    behind = make_soup(seed + 100, 40, kinds)
    for shift in range(64):
        text = copy_text(b"s" * shift + data + behind)
        for stop in (shift + len(data), shift + len(data) - seed - 1):
            expected = cut(scan_by_automaton, pattern, text, [[shift, stop]])
            assert cut_by_masks(pattern, text, [[shift, stop]]) == expected, shift
            parts = [[0, shift], [shift, stop - 20], [stop, stop], [stop - 20, stop]]
            expected = cut(scan_by_automaton, pattern, text, parts)
            assert cut_by_masks(pattern, text, parts) == expected, shift


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", range(60))
def test_scan__mixed(name, seed):
    """Truth: the automaton, on text of few or of many kinds of characters, long enough to recur."""
    rng = random.Random(seed)
    parts = rng.choice([ASCII * 40 + OTHER, ASCII * 3 + OTHER, OTHER * 3 + ASCII])
    if rng.random() < 0.6:
        parts = rng.sample(parts, rng.randint(3, 30))
    data = make_soup(seed, 1500, parts)
    for n_ends in (2 * LEAST_ENDS, 1024):
        check(name, data, n_ends)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", range(6))
def test_scan__not_utf8(name, seed):
    """Truth: the automaton, to which a stray byte is a character of its own."""
    rng = random.Random(seed)
    data = bytearray(make_soup(seed, 800, OTHER + ASCII))
    for _ in range(8 << seed):
        data[rng.randrange(len(data))] = rng.choice(
            [0x80, 0xBF, 0xC0, 0xC3, 0xE0, 0xED, 0xF0, 0xFF]
        )
    data += rng.randbytes(400) + b"\xed\xa0\x80\xe0\x80\xaf\xc1\xbf\xf4\x90\x80\x80\xf0\x80\x80\x80"
    check(name, data)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("cut_off", ["\u00e9", "\u4e2d", "\U0001f600"])
def test_scan__not_utf8_before_a_character_across_blocks(name, cut_off):
    """Truth: the automaton; the byte that wants more stands before a character that is cut off."""
    for n_before in range(58, 66):
        for lead in (b"\xc3", b"\xe4\xb8", b"\xf0\x9f\x98"):
            check(name, b"a" * n_before + lead + cut_off.encode() + b" bcd, efg hij" * 9)


@pytest.mark.parametrize("name", NAMES)
def test_scan__borders_of_blocks(name):
    """Truth: the automaton; each short sequence of kinds at each place before the border of a block."""
    rng = random.Random(7)
    kinds = ["'s", "'re", "'ll", "'l", "'ſ", "a", "B", "é", "Б", "中", "1", "22", " ", "\n", "\t", "!",
             "/", "\u0301", "。", "\u3000", "\0"]  # fmt: skip
    for n_before in range(50, 68):
        for _ in range(60):
            middle = "".join(rng.choice(kinds) for _ in range(rng.randint(2, 9)))
            filling = rng.choice(["a", " ", "1", "!", "\n", "A", " b", "中"])
            check(name, (filling * n_before + middle + rng.choice(kinds) + " b" * 40).encode())


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("filling", ["a", "A", " ", "\n", "7", "!", "中", "é", "\u0301", "' "])
def test_scan__long_runs(name, filling):
    """Truth: the automaton; runs of any length, with a character of another kind now and then."""
    for tail in ("", "é", " x", "\n", "1"):
        data = (filling * 3000 + tail + filling * 70 + "!" + filling * 64 + tail).encode()
        check(name, data)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "language", ["ar", "chat", "code", "english", "hi", "ja", "ko", "ru", "th", "zh"]
)
def test_scan__corpora(shared_data, name, language):
    """Truth: the automaton, on real text in ten languages."""
    path = shared_data / "corpora" / f"{language}.txt.xz"
    with lzma.open(path) as stream:
        data = stream.read(1_000_000)
    check(name, data, 8192)


@pytest.fixture(scope="module")
def every_character():
    """Each code point that text may hold, among others of several kinds."""
    points = [*range(0xD800), *range(0xE000, 0x110000)]
    rng = random.Random(5)
    kinds = ["a", "B", "1", " ", "", "", "中", "!"]
    return "".join(chr(point) + rng.choice(kinds) for point in points).encode()


@pytest.mark.parametrize("name", NAMES)
def test_scan__every_character(name, every_character):
    """Truth: the automaton, whose classes come from the Unicode tables by another way."""
    check(name, every_character, 8192)


@pytest.mark.parametrize("name", ["gpt2", "o200k"])
def test_scan__other_version_of_unicode(name, every_character):
    """Truth: the automaton; characters new in version 17 are letters there, and not before."""
    pattern = compile_pattern(name, "17")
    text = copy_text(every_character)
    parts = [[0, len(every_character)]]
    expected = cut(scan_by_automaton, pattern, text, parts)
    assert cut_by_masks(pattern, text, parts) == expected
    assert cut_by_masks(compile_pattern(name), text, parts) != expected


@pytest.mark.parametrize("version", ["16", "17"])
def test_class_table__rows_that_are_not_looked_up(version):
    """Truth: the Unicode tables, of U+5000 to U+8FFF and U+B000 to U+CFFF."""
    table = load_class_table(version)
    letter_of_no_case = FLAG_LETTER | FLAG_UPPER | FLAG_LOWER
    for first, last, flags in (
        (0x5000, 0x8FFF, letter_of_no_case | FLAG_APART | FLAG_HAN),
        (0xB000, 0xCFFF, letter_of_no_case),
    ):
        for point in range(first, last + 1):
            a, b, c = chr(point).encode()
            assert table.rows[table.row_offsets[(a & 0x0F) << 8 | b] + c] == flags


@pytest.mark.parametrize("name", NAMES)
def test_scan__plain_python(name):
    """Truth: the compiled kernel; the same pieces where nothing is compiled."""
    data = make_soup(3, 60, ASCII + OTHER)
    text = copy_text(data)
    pattern = compile_pattern(name)
    scan = SCANS[find_family(pattern)]
    expected = cut(scan, pattern, text, [[0, len(data)]])
    with np.errstate(over="ignore"):  # sums carry out of a word, as they are meant to
        assert cut(scan.py_func, pattern, text, [[0, len(data)]]) == expected


@njit
def mask_letters(text, index):
    """Call mask_block as the scanner does. text : uint8; index : int64. Reads only."""
    return memory.mask_block(text, index, np.uint8(0x20), np.uint8(97), np.uint8(25))


def test_mask_block__all_alignments(rng):
    """Truth: the plain Python body of mask_block."""
    text = rng.integers(0, 256, 400).astype(np.uint8)
    for index in range(300):
        assert mask_letters(text, index) == mask_letters.py_func(text, index)


@njit
def mask_halves(text):
    """Copy 64 bytes to the stack and look at two bits of each. text : uint8. Reads only."""
    block = memory.make_block()
    for i in range(64):
        block[i] = text[i]
    return memory.mask_bit(block, 0), memory.mask_bit(block, 5), memory.mask_bit(block, 7)


def test_mask_bit(rng):
    """Truth: the plain Python bodies of mask_bit and make_block."""
    text = rng.integers(0, 256, 64).astype(np.uint8)
    assert mask_halves(text) == mask_halves.py_func(text)


@njit
def count_bits(word):
    """Call the bit tricks. word : uint64. Reads nothing."""
    return (
        memory.count_leading_zeros(word),
        memory.count_trailing_zeros(word),
        memory.count_ones(word),
        memory.clear_lowest_one(word),
    )


def test_bit_tricks(rng):
    """Truth: their plain Python bodies."""
    words = rng.integers(0, 1 << 63, 200, dtype=np.uint64) << rng.integers(
        0, 64, 200, dtype=np.uint64
    )
    for word in [np.uint64(0), np.uint64(1), np.uint64(2**64 - 1), *words]:
        assert count_bits(word) == count_bits.py_func(word)


def test_mask_extend():
    """Truth: hand-computed; two runs, of which one has two markers, and one outside."""
    through = np.uint64(0b1110_0111_1000)
    markers = np.uint64(0b0000_0101_0001)
    assert masks.mask_extend(markers, through) == 0b0000_0111_0000


def test_mask_trim():
    """Truth: hand-computed."""
    assert masks.mask_trim(np.uint64(0b0110), 3) == 1
    assert masks.mask_trim(np.uint64(0b1110), 3) == 1
    assert masks.mask_trim(np.uint64(2**64 - 1), 64) == 0
    assert masks.mask_trim(np.uint64(0), 64) == 64


@pytest.mark.skipif(
    platform.machine() not in ("x86_64", "AMD64")
    or os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"),
    reason="looks at machine code of x86-64",
)
@pytest.mark.parametrize("family", sorted(set(SCANS) - {AUTOMATON}))
def test_scan__keeps_masks_out_of_vectors(family, monkeypatch):
    """Truth: by definition; masks are gathered from vectors, and no word is put into one.

    Without the barrier of mask_block LLVM takes the algebra on masks back into vector registers,
    word by word (vpinsrq): three times slower.
    """
    # Code that is loaded cannot be looked at.
    monkeypatch.setattr(_code_store, "load_code", lambda *arguments: None)
    kernel = _jit.njit(SCANS[family].py_func)
    cut(kernel, compile_pattern(PATTERN_OF[family]), copy_text("a é".encode()), [[0, 4]])
    (code,) = find_dispatcher(kernel).inspect_asm().values()
    # Instructions that gather masks: those of SSE and AVX, and of AVX-512.
    assert len(re.findall("pmovmskb|kmov[dq]", code)) > 8
    assert "pinsr" not in code

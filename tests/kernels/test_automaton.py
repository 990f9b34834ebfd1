"""Running an automaton over bytes: compiled, plain and the reference agree."""

import random
from typing import Any

import numpy as np
import pytest

from numbpe.arrays import TextArray, copy_text
from numbpe.named_patterns import NAMED_PATTERNS
from numbpe.patterns import compile_pattern
from numbpe.reference import split_pieces
from numbpe_kernels import automaton as kernel

ALPHABET = [
    *"abtsl 1\n\r'./!<|\0",
    "\xe9",
    "\u017f",
    "\u3000",
    "\u4e2d",
    "\u0301",
    "\U0001f600",
    "  ",
]

# Which between them use several levels, gaps, matches that fall back, and runs in which they may.
PATTERNS = ("gpt2", "cl100k", "o200k", "deepseek_v3", "falcon", "bloom", "clip")


@pytest.fixture(params=["compiled", "plain"])
def mode(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run a test with compiled kernels, and with all of this module as plain Python."""
    if request.param == "plain":
        for name, value in list(vars(kernel).items()):
            if hasattr(value, "py_func"):
                monkeypatch.setattr(kernel, name, value.py_func)
    mode: str = request.param
    return mode


def find_ends(name: str, text: TextArray, start: int, stop: int, capacity: int) -> list[int]:
    """Return all ends, found in calls of ``capacity`` ends at most."""
    pattern = compile_pattern(name)
    level_stops = pattern.new_level_stops()
    found: list[int] = []
    position = start
    while position < stop:
        ends = np.full(capacity, -5, dtype=np.int64)
        n_ends = kernel.automaton_split(pattern.automaton, level_stops, text, position, stop, ends)
        assert 0 < n_ends <= capacity
        found += ends[:n_ends].tolist()
        position = found[-1]
    assert (level_stops == -1).all()
    return found


def find_reference_ends(name: str, text: str) -> list[int]:
    lengths = [len(piece.encode()) for piece in split_pieces(text, NAMED_PATTERNS[name])]
    return np.cumsum(lengths, dtype=np.int64).tolist()


def make_text(random_source: random.Random, length: int) -> str:
    alphabet = random_source.sample(ALPHABET, random_source.choice([2, 5, len(ALPHABET)]))
    return "".join(random_source.choices(alphabet, k=length))


@pytest.mark.parametrize("name", PATTERNS)
@pytest.mark.usefixtures("mode")
def test_automaton_split__finds_the_pieces(name: str) -> None:
    """Truth: reference.split_pieces on 150 seeded texts, for calls of 1 to 100 ends."""
    random_source = random.Random(f"kernel {name}")
    for _ in range(150):
        text = make_text(random_source, random_source.randrange(1, 30))
        data = text.encode()
        expected = find_reference_ends(name, text)
        for capacity in (1, 2, 100):
            actual = find_ends(name, copy_text(data), 0, len(data), capacity)
            assert actual == expected, (text, capacity)


@pytest.mark.parametrize("name", PATTERNS)
@pytest.mark.usefixtures("mode")
def test_automaton_split__looks_at_nothing_outside(name: str) -> None:
    """Truth: the pieces of the part alone; what lies around it must not matter."""
    random_source = random.Random(f"outside {name}")
    for _ in range(60):
        before, inside, after = (make_text(random_source, 6).encode() for _ in range(3))
        text = copy_text(before + inside + after)
        start, stop = len(before), len(before) + len(inside)
        alone = find_ends(name, copy_text(inside), 0, len(inside), 50)
        actual = find_ends(name, text, start, stop, 50)
        assert actual == [start + end for end in alone]


@pytest.mark.parametrize("name", PATTERNS)
@pytest.mark.usefixtures("mode")
def test_automaton_split__takes_stray_bytes_for_characters(name: str) -> None:
    """Truth: the same text with U+FFFD for each byte that begins no valid character."""
    random_source = random.Random(f"stray {name}")
    strays = [b"\xff", b"\x80", b"\xc0\xaf", b"\xe4\xb8", b"\xed\xa0\x80", b"\xf4\x90\x80\x80"]
    strays += [b"\xf0\x9f\x98", b"\xe0\x80\x80", b"\xc2", b"\xf8\x88\x80\x80\x80"]
    for _ in range(60):
        parts = [
            random_source.choice(strays) if random_source.random() < 0.3 else letter.encode()
            for letter in make_text(random_source, 10)
        ]
        data = b"".join(parts)
        text = data.decode("utf-8", "surrogateescape")
        sizes = np.cumsum([len(letter.encode("utf-8", "surrogateescape")) for letter in text])
        replaced = "".join(
            "\ufffd" if "\udc80" <= letter <= "\udcff" else letter for letter in text
        )
        pieces = split_pieces(replaced, NAMED_PATTERNS[name])
        expected = [int(sizes[end - 1]) for end in np.cumsum([len(piece) for piece in pieces])]
        assert find_ends(name, copy_text(data), 0, len(data), 50) == expected


@pytest.mark.usefixtures("mode")
def test_automaton_split__of_nothing_is_nothing() -> None:
    """Truth: hand-computed."""
    for name in PATTERNS:
        pattern = compile_pattern(name)
        ends = np.full(3, -5, dtype=np.int64)
        level_stops = pattern.new_level_stops()
        assert (
            kernel.automaton_split(pattern.automaton, level_stops, copy_text(b""), 0, 0, ends) == 0
        )


@pytest.mark.parametrize("name", NAMED_PATTERNS)
@pytest.mark.parametrize(
    "unit",
    [
        " ",
        "a",
        "A",
        "1",
        "'",
        "'l",
        "\n   ",
        "\n",
        "!/\n",
        "\u4e2d",
        "\u0301",
        "<|start",
        ". ",
        "\xff",
    ],
)
def test_automaton_split__is_linear_in_long_runs(name: str, unit: str) -> None:
    """Truth: the text itself; quadratic time would take hours. Case 30."""
    data = unit.encode("latin-1" if unit == "\xff" else "utf-8") * (300_000 // len(unit))
    for text in (data, b"\n" + data + b"x"):
        ends = compile_pattern(name).find_ends(copy_text(text), 0, len(text))
        assert ends[-1] == len(text)
        assert (np.diff(ends, prepend=0) > 0).all()


@pytest.mark.parametrize("name", PATTERNS)
def test_automaton_find_cut__agrees_with_the_table_of_pairs(name: str, mode: str) -> None:
    """Truth: the pairs of classes, looked up at every place of the text from the end."""
    automaton: Any = compile_pattern(name).automaton
    random_source = random.Random(f"cut {name}")
    for _ in range(60):
        letters = list(make_text(random_source, 12))
        data = "".join(letters).encode()
        text = copy_text(data)
        places = np.cumsum([0] + [len(letter.encode()) for letter in letters]).tolist()
        classes = [
            kernel.automaton_classify_any(automaton, text, place, len(data)) >> 3
            for place in places[:-1]
        ]
        start = random_source.randrange(len(data))
        stop = random_source.randrange(start, len(data) + 1)
        inside = [
            places[i]
            for i in range(1, len(letters))
            if places[i - 1] >= start
            and places[i + 1] <= stop
            and automaton.safe_pairs[classes[i - 1], classes[i]]
        ]
        expected = max(inside, default=-1)
        assert kernel.automaton_find_cut(automaton, text, start, stop) == expected


@pytest.mark.usefixtures("mode")
def test_automaton_classify__reads_utf8() -> None:
    """Truth: str.encode for lengths, and the same class as by the tables of pages."""
    automaton: Any = compile_pattern("o200k").automaton
    random_source = random.Random(5)
    code_points = [0, 0x7F, 0x80, 0x7FF, 0x800, 0xD7FF, 0xE000, 0xFFFF, 0x10000, 0x10FFFF]
    code_points += [random_source.randrange(0xD800) for _ in range(200)]
    for code_point in code_points:
        data = chr(code_point).encode()
        actual = kernel.automaton_classify_any(automaton, copy_text(data), 0, len(data))
        page = int(automaton.page_numbers[code_point >> kernel.PAGE_BITS])
        place = page * kernel.PAGE_SIZE + code_point % kernel.PAGE_SIZE
        assert actual == int(automaton.pages[place]) << 3 | len(data)

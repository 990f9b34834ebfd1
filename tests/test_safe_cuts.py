"""Where text may be cut: proven places are right, and there are enough of them."""

import random
import warnings
from itertools import pairwise

import pytest

from numbpe import safe_cuts
from numbpe.arrays import copy_text
from numbpe.named_patterns import NAMED_PATTERNS
from numbpe.patterns import Pattern, SlowPatternWarning, compile_pattern
from numbpe_kernels.automaton import automaton_classify_any, automaton_find_cut

CHARACTERS = [
    *"abszSZTLDdtmrevlVE019 \n\r\t'!.,/-_<|>()$+=^`\0\x1c\x85\xa0",
    *"\u017f\u212a\xdf\xe9\u01c5\u02b0\u2028\u3000\u200b\ufeff\u0301\u0660\xbd\u2167\u4e2d\u3042\u30a2",
    *"\u0915\u093f\u0e4c\u20ac\u060c\u3002\ufffd\U0001f600\U000e0001",
    *("'s", "'ll", "'re", "'VE", "'l", "'r", "\r\n", "  ", "\n\n", "<|endoftext|>", "<|end"),
]

ENGLISH = (
    "It's a truth universally acknowledged, that a man in possession of $12,000 (or more!) must be\n"
    "in want of a wife.  However little known the feelings or views of such a man may be...\n\n"
)
CODE = (
    'def f(x):\n    """Return x."""\n    if x != 10:\n        return [a[i] for i in range(x)]\n\n'
)
CHINESE = "\u5929\u5730\u7384\u9ec4\uff0c\u5b87\u5b99\u6d2a\u8352\u3002\u65e5\u6708\u76c8\u6603\uff0c\u8fb0\u5bbf\u5217\u5f20\u3002\n"


def find_cuts(pattern: Pattern, data: bytes) -> list[int]:
    """Return all places where ``pattern`` says that ``data`` may be cut, the last first."""
    assert pattern.automaton is not None
    text = copy_text(data)
    cuts: list[int] = []
    stop = len(data)
    while (stop := automaton_find_cut(pattern.automaton, text, 0, stop)) >= 0:
        cuts.append(int(stop))
    return cuts


def is_safe(name: str, left: str, right: str) -> bool:
    """Return what is known of cutting between two characters."""
    automaton = compile_pattern(name).automaton
    assert automaton is not None
    classes = [
        automaton_classify_any(automaton, copy_text(letter.encode()), 0, len(letter.encode())) >> 3
        for letter in (left, right)
    ]
    return bool(automaton.safe_pairs[classes[0], classes[1]])


@pytest.mark.parametrize("name", NAMED_PATTERNS)
def test_safe_cuts__change_no_piece(name: str) -> None:
    """Truth: the pieces of the uncut text, for every cut of 1,000 seeded texts (case 37)."""
    pattern = compile_pattern(name)
    random_source = random.Random(f"cuts {name}")
    n_cuts = 0
    for _ in range(1000):
        alphabet = random_source.sample(CHARACTERS, random_source.choice([2, 4, 8, 30]))
        text = "".join(random_source.choices(alphabet, k=random_source.choice([3, 6, 12, 30])))
        data = text.encode()
        expected = pattern.split(data)
        for cut in find_cuts(pattern, data):
            n_cuts += 1
            assert pattern.split(data[:cut]) + pattern.split(data[cut:]) == expected, (text, cut)
    assert n_cuts > 1000


def test_safe_cuts__of_any_pattern_change_no_piece() -> None:
    """Truth: the pieces of the uncut text, for 400 seeded patterns and sequences of them."""
    random_source = random.Random(23)
    parts = [
        "a",
        "b+",
        "[ab]",
        "ab",
        "(?:ab)*",
        "c?",
        r"\s+(?!\S)",
        r"\s+",
        "[^a]",
        "a*?b",
        "(?:ba|c)+",
    ]
    parts += ["$", "(?=b)", "aab", "[^c]{2,3}", "b{2}", r"\s*\n", "(?:a|ab)", "c++", "aaaab"]
    n_cuts = 0
    for _ in range(400):
        sources = [
            "|".join(
                "".join(random_source.choices(parts, k=random_source.choice([1, 2, 3])))
                for _ in range(random_source.choice([1, 2, 4]))
            )
            for _ in range(random_source.choice([1, 1, 2, 3]))
        ]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SlowPatternWarning)
            pattern = compile_pattern([f"(?:{source})" for source in sources])
        if pattern.automaton is None:
            continue
        for _ in range(20):
            data = "".join(
                random_source.choices("aaabbc \n", k=random_source.randrange(2, 16))
            ).encode()
            expected = pattern.split(data)
            for cut in find_cuts(pattern, data):
                n_cuts += 1
                actual = pattern.split(data[:cut]) + pattern.split(data[cut:])
                assert actual == expected, (sources, data, cut)
    assert n_cuts > 5000


@pytest.mark.parametrize("name", NAMED_PATTERNS)
@pytest.mark.parametrize("text", [ENGLISH, CODE, CHINESE], ids=["english", "code", "chinese"])
def test_safe_cuts__are_frequent(name: str, text: str) -> None:
    """Truth: the need of a reader that cuts chunks, which is one in some hundred bytes."""
    data = (text * 20).encode()
    cuts = [len(data), *find_cuts(compile_pattern(name), data), 0]
    assert max(before - after for before, after in pairwise(cuts)) <= 200


@pytest.mark.parametrize(
    ("name", "left", "right", "expected"),
    [
        ("gpt2", "a", " ", True),
        ("gpt2", " ", "a", False),
        ("gpt2", "a", ".", True),
        ("gpt2", ".", "\n", True),
        ("gpt2", "'", "l", False),
        ("gpt2", "a", "'", True),
        # A piece always ends there, but two spaces and a newline are one piece at the end of a text.
        ("gpt2", "\n", "a", False),
        ("gpt2", "\n", "\n", False),
        ("o200k", "a", " ", True),
        ("o200k", ".", "\n", False),
        ("o200k", "\n", "/", False),
        ("o200k", "\n", "a", True),
        ("o200k", "a", "'", False),
        ("o200k", "1", "1", False),
        ("llama3", ".", "a", False),
        ("llama3", "a", "'", True),
        ("qwen2", "1", "1", True),
        ("starcoder", "a", "1", True),
        ("deepseek_v3", "1", "\u4e2d", True),
        ("kimi_k2", "\u4e2d", "a", True),
        ("bloom", ".", ".", False),
        ("bloom", ".", "a", True),
    ],
)
def test_safe_pairs__are_as_expected(name: str, left: str, right: str, expected: bool) -> None:
    """Truth: hand-computed from the patterns."""
    assert is_safe(name, left, right) == expected


def test_safe_cuts__are_none_where_nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Truth: a pattern that takes all, texts too short to cut, and a proof that is given up."""
    assert find_cuts(compile_pattern("(?s:.)+"), b"a b\nc. d") == []
    assert find_cuts(compile_pattern("gpt2"), b"a") == []
    assert find_cuts(compile_pattern("gpt2"), b"") == []
    assert find_cuts(compile_pattern(r"\w+|\W+|a"), b"ab, cd") == [4, 2]
    monkeypatch.setattr(safe_cuts, "MAX_CONFIGURATIONS", 2)
    assert find_cuts(compile_pattern(r"\w+|\W+|b"), b"ab, cd") == []

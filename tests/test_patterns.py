"""The named patterns against the regex module, tokenizers and tiktoken."""

import itertools
import random

import pytest
import tiktoken
import tokenizers
from tokenizers import pre_tokenizers

from numbpe.named_patterns import NAMED_PATTERNS
from numbpe.patterns import compile_pattern
from numbpe.reference import split_pieces

# Assigned long ago, so that all versions of Unicode agree on them.
NASTY = [
    *"abszSZTLDdtmrevlVE019 \n\r\t'!.,/-_<|>()$+=~^`\0\x1c\x1f\x7f\x85\xa0",
    *("'s", "'ll", "'re", "'VE", "'\u017f", "\u2019s", "\r\n", "\n\n", "  ", "   ", "//\n"),
    *"\u017f\u212a\u0130\u0131\xdf\xe9\xc9\u01c5\u02b0\xaa\u1680\u2028\u2029\u202f\u3000\u200b\ufeff",
    *"\u0301\u0308\u0660\u0967\xbd\u2167\u4e2d\u6587\u3005\u3042\u30a2\ud55c\u0915\u093f\u0e4c\u0e44",
    *"\u20ac\xa9\xb4\u060c\u0964\u06d4\u2026\u3002\u3001\ufffd\ufb01\U0001f600\U000e0001\U0010ffff",
    "\U0001f469\u200d\U0001f469\u200d\U0001f467",
    "<|startoftext|>",
    "<|endoftext|>",
]


def make_nasty_text(random_source: random.Random) -> str:
    """Return a short text of few different characters, so that they meet in many orders."""
    alphabet = random_source.sample(NASTY, random_source.choice([2, 4, 8, 30]))
    return "".join(random_source.choices(alphabet, k=random_source.choice([2, 5, 12, 40])))


def split_as_text(pattern: str, text: str, unicode_version: str = "16") -> list[str]:
    pieces = compile_pattern(pattern, unicode_version).split(text.encode())
    return [piece.decode() for piece in pieces]


def split_with_tokenizers(name: str, text: str) -> list[str]:
    """Return the pieces that tokenizers cuts with the splits of a named pattern."""
    splitter = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(tokenizers.Regex(source), "isolated")
            for source in NAMED_PATTERNS[name]
        ]
    )
    return [piece for piece, _ in splitter.pre_tokenize_str(text)]


# Named patterns


@pytest.mark.parametrize("name", NAMED_PATTERNS)
def test_named_patterns__cut_nasty_text_as_regex_does(name: str) -> None:
    """Truth: the regex module on 1,500 seeded texts of characters that all versions know."""
    random_source = random.Random(f"nasty {name}")
    for _ in range(1500):
        text = make_nasty_text(random_source)
        assert split_as_text(name, text) == split_pieces(text, NAMED_PATTERNS[name]), repr(text)


# Oniguruma reads ``{1,3}+`` as a nested repeat, so that cl100k is compared with tiktoken instead.
@pytest.mark.parametrize("name", sorted(set(NAMED_PATTERNS) - {"cl100k", "rustbpe", "p50k"}))
def test_named_patterns__cut_nasty_text_as_tokenizers_does(name: str) -> None:
    """Truth: tokenizers 0.23.3 on 20,000 seeded characters, newlines, apostrophes and all."""
    random_source = random.Random(f"tokenizers {name}")
    text = "".join(make_nasty_text(random_source) for _ in range(1000))
    assert split_as_text(name, text) == split_with_tokenizers(name, text)


@pytest.mark.parametrize("name", ["gpt2", "llama3", "o200k"])
def test_named_patterns__classify_every_code_point_as_tokenizers_does(name: str) -> None:
    """Truth: tokenizers 0.23.3, case 40: each code point before a letter, a digit and a mark.

    Every code point of planes 0, 1 and 14 that may be assigned, and every 97th of the others.
    """
    code_points = [
        *range(0xD800),
        *range(0xE000, 0xE100),
        *range(0xF8F0, 0x20000),
        *range(0x20000, 0x110000, 97),
        *range(0xE0000, 0xE0200),
    ]
    text = "".join(f"{chr(code)}b{chr(code)}1{chr(code)}!\n" for code in code_points)
    assert split_as_text(name, text) == split_with_tokenizers(name, text)


def encode_with_pairs(pieces: list[bytes]) -> list[int]:
    """Return ids over all single bytes, then all pairs of bytes, lowest pair first."""
    ids: list[int] = []
    for piece in pieces:
        parts = [piece[i : i + 1] for i in range(len(piece))]
        while True:
            pairs = [
                (left + right, place)
                for place, (left, right) in enumerate(itertools.pairwise(parts))
                if len(left + right) == 2
            ]
            if not pairs:
                break
            joined, place = min(pairs)
            parts[place : place + 2] = [joined]
        ids += [p[0] if len(p) == 1 else 256 + p[0] * 256 + p[1] for p in parts]
    return ids


@pytest.mark.parametrize("name", ["r50k", "cl100k", "o200k", "gpt4_rustbpe"])
def test_named_patterns__cut_as_tiktoken_does(name: str) -> None:
    """Truth: tiktoken, with a vocabulary of all pairs of bytes, whose ids show where pieces end."""
    ranks = {bytes([byte]): byte for byte in range(256)}
    ranks |= {
        bytes(pair): 256 + pair[0] * 256 + pair[1]
        for pair in itertools.product(range(256), repeat=2)
    }
    (source,) = NAMED_PATTERNS[name]
    engine = tiktoken.Encoding(name, pat_str=source, mergeable_ranks=ranks, special_tokens={})
    random_source = random.Random(f"tiktoken {name}")
    for _ in range(400):
        text = make_nasty_text(random_source)
        actual = encode_with_pairs(compile_pattern(name).split(text.encode()))
        assert actual == engine.encode_ordinary(text), repr(text)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        # Case 30: the white space before a word gives back one space.
        ("o200k", "    x", ["   ", " x"]),
        ("gpt2", "    x", ["   ", " x"]),
        # Case 37: a piece that runs over a newline.
        ("o200k", "x.\n/y ", ["x", ".\n/", "y", " "]),
        # Case 43: U+200B and U+FEFF are no white space, U+0085 is.
        ("llama3", "a\x85b\u200bc\u3000d", ["a", "\x85b", "\u200bc", "\u3000d"]),
        ("gpt2", "a\x85b\u200bc", ["a", "\x85", "b", "\u200b", "c"]),
        ("gpt2", "\u2029 \ua3e4", ["\u2029", " \ua3e4"]),
        # Case 45: the long s is an s when case does not matter.
        ("cl100k", "it'\u017f x", ["it", "'\u017f", " x"]),
        ("o200k", "it'\u017f x", ["it'\u017f", " x"]),
        ("gpt2", "it'\u017f x", ["it", "'", "\u017f", " x"]),
        # Case 46: a space before a newline.
        ("llama3", "This is an \nexample", ["This", " is", " an", " \n", "example"]),
        # Case 54: mixed line ends.
        (
            "llama3",
            "a\r\nb\r\n\r\n  c \r d\n\r",
            ["a", "\r\n", "b", "\r\n\r\n", " ", " c", " \r", " d", "\n\r"],
        ),
        ("gpt2", "I'll o'clock", ["I", "'ll", " o", "'", "clock"]),
        ("cl100k", "1234567", ["123", "456", "7"]),
        ("qwen2", "123", ["1", "2", "3"]),
        ("starcoder", "a 12", ["a", " ", "1", "2"]),
        ("deepseek_v3", "12345\u4e2d\u6587abc", ["123", "45", "\u4e2d\u6587", "abc"]),
        ("kimi_k2", "\u4e2d\u6587abc", ["\u4e2d\u6587", "abc"]),
        ("falcon", "a!?1234", ["a", "!?", "123", "4"]),
        ("bloom", "a b, c", ["a", " b", ",", " c"]),
        ("clip", "<|endoftext|> a1", ["<|endoftext|>", " ", "a", "1"]),
        ("gpt2", "", []),
        ("gpt2", "a\0b", ["a", "\0", "b"]),
    ],
)
def test_named_patterns__cut_known_texts(name: str, text: str, expected: list[str]) -> None:
    """Truth: hand-computed, and reported for the tokenizers named."""
    assert split_as_text(name, text) == expected


@pytest.mark.parametrize("name", NAMED_PATTERNS)
def test_named_patterns__compile_for_the_kernel(name: str) -> None:
    """Truth: the promise that no named pattern needs the regex module."""
    for unicode_version in ("16", "17"):
        assert compile_pattern(name, unicode_version).automaton is not None


def test_unicode_version__decides_what_is_a_letter() -> None:
    """Truth: DerivedAge.txt; U+A7CE and U+16EA0 are new in Unicode 17."""
    text = "x\ua7ce \U00016ea0"
    assert split_as_text("gpt2", text) == ["x", "\ua7ce", " \U00016ea0"]
    assert split_as_text("gpt2", text, "17") == ["x\ua7ce", " \U00016ea0"]
    assert split_as_text("o200k", text, "17") == ["x", "\ua7ce", " \U00016ea0"]

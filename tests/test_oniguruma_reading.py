"""Expressions of a tokenizer.json mean to us what they mean to the library, or are refused."""

import random
from pathlib import Path

import pytest
from tokenizers import Regex
from tokenizers.pre_tokenizers import Split

from numbpe.errors import FormatError, NumbpeError
from numbpe.formats.json_documents import JsonValue
from numbpe.formats.library_classes import NUMBER, PUNCTUATION
from numbpe.formats.oniguruma import translate_pattern
from numbpe.formats.oniguruma_reading import read_pattern
from numbpe.named_patterns import NAMED_PATTERNS
from numbpe.patterns import SlowPatternWarning, compile_pattern

PLACE = JsonValue(Path("x.json"), "pre_tokenizer", None)
ATOMS = [
    *("a", "b", "s", "1", r"\d", r"\s", r"\S", r"\w", r"\W", r"\p{L}", r"\P{N}", "[a-c]", "[^a]"),
    *(r"[^\s\p{L}]", r"[\w-]", r"[\p{L}&&[^a]]", ".", r"\n", " ", "(?:ab|a)", "(?>a|ab)", "(?i:s)"),
    *("(?i:'s|'t)", "(?m:.)", r"\x{e9}", "\u00e9", "$", r"\z", "(?=a)", r"(?!\S)", r"\.", "-", "{"),
]
REPEATS = ["", "", "", "+", "*", "?", "+?", "??", "++", "{2}", "{1,2}", "{2}?", "{1,2}?", "{1,2}+"]
REPEATS += ["{2}+", "+*", "{1,2}{2}", "{,2}", "{1,}+"]
LETTERS = "aabbsS1 29\n\r\t'.-{}\u00e9\u00b2\u017f\u200d\u0301_\u00df,"


def split_as_library(source: str, text: str) -> list[str]:
    return [piece for piece, _ in Split(Regex(source), "isolated").pre_tokenize_str(text)]


def test_read_pattern__means_the_same_or_refuses() -> None:
    """Truth: tokenizers 0.23.3: its pieces of random text by random expressions, there and back."""
    generator = random.Random(5)
    texts = ["".join(generator.choices(LETTERS, k=20)) for _ in range(25)]
    n_read = 0
    for _ in range(400):
        parts = [generator.choice(ATOMS) + generator.choice(REPEATS) for _ in range(4)]
        source = generator.choice(["|", ""]).join(parts)
        try:
            ours = read_pattern(source, PLACE)
            pattern = compile_pattern((ours,))
        except (NumbpeError, SlowPatternWarning):  # pytest raises warnings
            continue
        n_read += 1
        written = translate_pattern(ours)
        for text in texts:
            pieces = split_as_library(source, text)
            assert [piece.decode() for piece in pattern.split(text.encode())] == pieces, source
            assert split_as_library(written, text) == pieces, (source, written)
    assert n_read > 50


@pytest.mark.parametrize(
    "source, expected",
    [
        (r"\p{N}{1,3}+", r"(?:\p{N}{1,3})+"),
        (r"ba{3}?", r"b(?:a{3})?"),
        (r"\s+$", r"\s+(?=\n|\z)"),
        (r"(?m:.)", r"(?s:.)"),
        (r"(?>\p{N}{1,3})|\s++\z", r"(?>\p{N}{1,3})|\s++\z"),
    ],
)
def test_read_pattern__rewrites_what_reads_otherwise(source: str, expected: str) -> None:
    """Truth: the dialect of Oniguruma, as its documentation (doc/RE) has it for Ruby."""
    assert read_pattern(source, PLACE) == expected


@pytest.mark.parametrize("name", ["gpt2", "llama3", "o200k", "qwen2", "deepseek_v3", "tekken"])
def test_read_pattern__leaves_published_patterns_as_they_are(name: str) -> None:
    """Truth: the published expressions, which mean the same in both."""
    for source in NAMED_PATTERNS[name]:
        assert read_pattern(source, PLACE) == source


@pytest.mark.parametrize(
    "source",
    [r"(?<=a)b", r"\ba", "^a", r"\Aa", r"\h", "[[:alpha:]]", "(a)\\1", "(?i:ss)", "(?i:\\p{L})"]
    + ["(?#c){2}", "a*", "(?i:\\w)", "[a", "(a", "(?s:.)", r"\R", r"\p{Word}"],
)
def test_read_pattern__refuses_what_it_does_not_know(source: str) -> None:
    """Truth: the message, which names the file, the place and the pattern."""
    with pytest.raises(FormatError, match=r"x.json' at pre_tokenizer: "):
        read_pattern(source, PLACE)


@pytest.mark.parametrize("source, step", [(PUNCTUATION, "Punctuation"), (NUMBER, "Digits")])
def test_library_classes__are_those_of_the_library(source: str, step: str) -> None:
    """Truth: tokenizers 0.23.3, every code point."""
    from tokenizers import pre_tokenizers

    splitter = (
        pre_tokenizers.Punctuation() if step == "Punctuation" else pre_tokenizers.Digits(True)
    )
    letters = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    pieces = compile_pattern((source,)).split("a".join(letters).encode())
    assert [piece.decode() for piece in pieces] == [
        piece for piece, _ in splitter.pre_tokenize_str("a".join(letters))
    ]

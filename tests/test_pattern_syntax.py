"""Patterns given as regular expressions: against the regex module, its errors and its limits."""

import random
import warnings

import pytest
import regex

from numbpe.arrays import copy_text
from numbpe.errors import ArgumentError, PatternError
from numbpe.patterns import SlowPatternWarning, compile_pattern


def split_as_text(source: str, text: str) -> list[str]:
    return [piece.decode() for piece in compile_pattern(source).split(text.encode())]


def make_pattern(random_source: random.Random, depth: int) -> str:
    """Return a random regular expression over a few characters."""
    pick = random_source.choice
    kind = random_source.random()
    if depth == 0 or kind < 0.3:
        return pick(
            [
                "a",
                "b",
                "c",
                "[ab]",
                "[^a]",
                ".",
                r"\s",
                r"\S",
                r"\w",
                "[a-c&&[^b]]",
                "(?i:a)",
                r"\n",
            ]
        )

    def part() -> str:
        return make_pattern(random_source, depth - 1)

    if kind < 0.5:
        return part() + part()
    if kind < 0.65:
        return f"(?:{'|'.join(part() for _ in range(pick([2, 3])))})"
    if kind < 0.9:
        repeat = pick(["*", "+", "?", "{1,3}", "{2}", "{2,}", "{0,2}"]) + pick(
            ["", "", "", "?", "+"]
        )
        return f"(?:{part()}){repeat}"
    if kind < 0.95:
        return part() + pick([r"(?!\S)", "(?=a)", "(?!a)", r"(?=\s|$)", "(?![ab])", "$", "(?!$)"])
    return f"(?>{part()})"


def test_patterns__cut_as_regex_does() -> None:
    r"""Truth: the regex module on 600 seeded patterns and sequences of them.

    There, ``$`` holds before a final newline too, so that it is given ``\Z``.
    """
    random_source = random.Random(17)
    n_fast = 0
    for _ in range(600):
        sources = [
            "|".join(make_pattern(random_source, 3) for _ in range(random_source.choice([1, 2])))
            for _ in range(random_source.choice([1, 1, 2]))
        ]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SlowPatternWarning)
            pattern = compile_pattern(sources)
        n_fast += pattern.automaton is not None
        for _ in range(12):
            text = "".join(random_source.choices("aabbcA \n", k=random_source.randrange(1, 12)))
            expected = [text]
            for source in sources:
                expected = [
                    piece
                    for part in expected
                    for piece in cut_at_each_place(source.replace("$", r"\Z"), part)
                ]
            actual = [piece.decode() for piece in pattern.split(text.encode())]
            assert actual == expected, (sources, text)
    assert n_fast > 400


def cut_at_each_place(source: str, text: str) -> list[str]:
    """Return the pieces of ``text``, trying a match at one place after the other."""
    compiled = regex.compile(source, flags=regex.V1)
    pieces: list[str] = []
    gap = ""
    position = 0
    while position < len(text):
        match = compiled.match(text, position)
        if match is None or match.end() == position:
            gap += text[position]
            position += 1
            continue
        pieces += [gap, match.group()] if gap else [match.group()]
        gap = ""
        position = match.end()
    return pieces + [gap] if gap else pieces


@pytest.mark.parametrize(
    ("source", "text", "expected"),
    [
        (r"\d+|[^\d]", "12a3", ["12", "a", "3"]),
        (r"(?i)k+", "Kk\u212ax", ["Kk\u212a", "x"]),
        (r"[\x41-\x43\u{44}]+", "ABCDE", ["ABCD", "E"]),
        (r"[^\W\d_]+", "ab_1", ["ab", "_1"]),
        (r"\p{Script=Greek}+", "a\u03b1\u03b2", ["a", "\u03b1\u03b2"]),
        (r"\P{L}+|\pL", "a12b", ["a", "12", "b"]),
        (r"(?<name>a)b|(?P<other>c)", "abc", ["ab", "c"]),
        (r"(?s:.)", "a\n", ["a", "\n"]),
        (r"x{,2}", "xxx", ["xx", "x"]),
        (r"a(?#comment)b", "ab", ["ab"]),
        (r"[]a]+", "]a", ["]a"]),
        (r"[a\-z]+|[b-]", "a-b", ["a-", "b"]),
        (r"a{x", "a{x", ["a{x"]),
        (r"a\z|a", "aa", ["a", "a"]),
        ("\u4e2d+|\U0001f600", "\u4e2d\u4e2d\U0001f600", ["\u4e2d\u4e2d", "\U0001f600"]),
    ],
)
def test_patterns__read_the_usual_syntax(source: str, text: str, expected: list[str]) -> None:
    """Truth: hand-computed."""
    assert split_as_text(source, text) == expected


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (r"(?<=a)b|.", "look-behind"),
        (r"(a)\1|.", r"'\\1'"),
        (r"\bx|.", r"'\\b'"),
        (r"x(?=ab)|.", "a look-ahead at more than one character"),
        (r"^a|.", "start of text"),
        (r"(?:ab)++|.", "a possessive repeat of more than one character"),
        (r"(?:a?)*|.", "a repeat of what may be empty"),
        (r"\p{Emoji}|.", "the property"),
    ],
)
def test_patterns__fall_back_to_regex_with_one_warning(source: str, reason: str) -> None:
    """Truth: the regex module."""
    with pytest.warns(SlowPatternWarning, match=reason) as caught:
        pattern = compile_pattern(source)
    assert len(caught) == 1
    assert pattern.automaton is None
    assert compile_pattern(source) is pattern  # and says nothing
    for text in ("aab", "x xab aa", "\u4e2daab\n", "abab"):
        actual = [piece.decode() for piece in pattern.split(text.encode())]
        assert actual == cut_at_each_place(source, text)


def test_slow_patterns__keep_bytes_that_are_no_utf8() -> None:
    """Truth: hand-computed; each stray byte is a character."""
    with pytest.warns(SlowPatternWarning):
        pattern = compile_pattern(r"(?<!z)a|b+")
    assert pattern.split(b"\xffab\xe4\xb8") == [b"\xff", b"a", b"b", b"\xe4\xb8"]
    ends = pattern.find_ends(copy_text(b"..\xffab.."), 2, 5)
    assert ends.tolist() == [3, 4, 5]


@pytest.mark.parametrize(
    ("source", "problem", "place"),
    [
        ("ab(cd", "this '(' is never closed", 3),
        ("ab)", "this ')' closes no group", 3),
        ("a[bc", "this '[' is never closed", 2),
        ("*a", "there is nothing to repeat before this", 1),
        ("a|+", "there is nothing to repeat before this", 3),
        ("a{3,2}", "at least 3 but at most 2", 1),
        ("[z-a]", "this range runs backwards", 2),
        (r"[\s-a]", "a range must go from one character", 2),
        ("a\\", "a backslash must be followed", 2),
        (r"\xZZ", "names no code point", 1),
        (r"\p{L", "there is no '}'", 1),
    ],
)
def test_errors__show_where(source: str, problem: str, place: int) -> None:
    """Truth: the message, its position and the mark below the pattern."""
    with pytest.raises(PatternError) as caught:
        compile_pattern(source)
    message, shown, mark = str(caught.value).split("\n")
    assert problem in message
    assert f"at character {place} of {len(source)}" in message
    assert shown.strip() == source
    assert mark.index("^") == 4 + place - 1


@pytest.mark.parametrize("source", [r"\p{Nonsense}+", "a(?<=b+)", r"\k<x>"])
def test_errors__of_the_regex_module_name_the_pattern(source: str) -> None:
    """Truth: the regex module refuses them, except a look-behind of any length."""
    if source.startswith("a"):
        with pytest.warns(SlowPatternWarning):
            compile_pattern(source)
        return
    with pytest.raises(PatternError, match="cannot understand pattern"):
        compile_pattern(source)


@pytest.mark.parametrize("pattern", ["gpt5", "o200k_base", "qwen3.6", "abc"])
def test_compile_pattern__lists_the_names_it_knows(pattern: str) -> None:
    """Truth: the message."""
    with pytest.raises(PatternError, match=r"no pattern of this name .* gpt2, .*o200k"):
        compile_pattern(pattern)


@pytest.mark.parametrize("pattern", [[], [1], ("a", b"b")])
def test_compile_pattern__wants_strings(pattern: list[str]) -> None:
    """Truth: the message."""
    with pytest.raises(ArgumentError, match="one regular expression or more, each a str"):
        compile_pattern(pattern)


def test_compile_pattern__refuses_an_empty_pattern() -> None:
    """Truth: the message."""
    with pytest.raises(PatternError, match="an empty pattern"):
        compile_pattern("")


def test_compile_pattern__is_remembered() -> None:
    """Truth: its docstring."""
    assert compile_pattern("gpt2") is compile_pattern("gpt2")
    assert compile_pattern("gpt2") is not compile_pattern("gpt2", "17")
    assert compile_pattern(["(?:ab)"]).sources == ("(?:ab)",)
    assert compile_pattern("gpt2").name == "gpt2"
    assert compile_pattern("(?:ab)").name is None


def test_patterns__refuse_to_grow_without_bound() -> None:
    """Truth: the limits of the compiler; the regex module takes over."""
    with pytest.warns(SlowPatternWarning, match="more than .* states"):
        compile_pattern("(?:a|b)*a(?:a|b){14}")

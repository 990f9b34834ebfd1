"""What the rows of a vocabulary are made of: script, digits, white space, parts of characters."""

from collections import Counter
from collections.abc import Iterable
from functools import cache
from typing import Final

import regex

SCRIPTS: Final = (
    "Latin",
    "Cyrillic",
    "Greek",
    "Han",
    "Hiragana",
    "Katakana",
    "Hangul",
    "Arabic",
    "Hebrew",
    "Devanagari",
    "Bengali",
    "Tamil",
    "Telugu",
    "Thai",
    "Georgian",
    "Armenian",
)
"""Scripts that are counted by name; the rest is :data:`OTHER`."""

DIGITS: Final = "digits"
WHITE_SPACE: Final = "white space"
SIGNS: Final = "signs"
PART: Final = "parts of characters"
MIXED: Final = "several scripts"
OTHER: Final = "other scripts"


@cache
def _compile() -> "list[tuple[str, regex.Pattern[str]]]":
    # Marks, signs and digits that several scripts share belong to none of them. Each pattern is one
    # class, repeated, so that it takes time in proportion; those before it have taken what is left.
    shared = r"\p{M}\p{P}\p{S}\p{Cf}\s\p{Z}"
    named = "".join(rf"\p{{Script={name}}}" for name in SCRIPTS)
    patterns = [
        (WHITE_SPACE, r"[\s\p{Z}]+"),
        (SIGNS, r"[^\p{L}\p{N}]+"),
        (DIGITS, rf"[\p{{N}}{shared}]+"),
        *((name, rf"[\p{{Script={name}}}\p{{N}}{shared}]+") for name in SCRIPTS),
        (OTHER, rf"[[\p{{L}}--[{named}]]\p{{N}}{shared}]+"),
    ]
    return [(name, regex.compile(source, regex.V1)) for name, source in patterns]


def find_token_kind(content: bytes) -> str:
    """Return the script of a row, or what else it is made of.

    Signs, digits and white space beside letters do not count.

    >>> [find_token_kind(content) for content in (b" the", b"123", b"...", b"\\xe4")]
    ['Latin', 'digits', 'signs', 'parts of characters']
    """
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        return PART
    if text.isascii() and text.lstrip(" ").isalpha():
        return "Latin"
    return next((name for name, pattern in _compile() if pattern.fullmatch(text)), MIXED)


def count_token_kinds(contents: Iterable[bytes]) -> Counter[str]:
    """Return how many rows there are of each kind."""
    return Counter(map(find_token_kind, contents))

"""A small vocabulary and odd texts for the tests of Combinatorial BPE, made by hand."""

import random
from typing import Any

import pytest

from numbpe.combinatorial.definition import CombinatorialVocabulary

ALPHABET = tuple(
    "\n !\"'()*,-.0123456789=_abcdefghijklmnopqrstuvwxyzßéάλόςσω\u0301\u0939\u093f三台大学湾简\U0001d400"
)

MERGES = (
    ("t", "h"), ("i", "n"), ("e", "r"), ("a", "n"), ("th", "e"), ("an", "d"), ("in", "g"),
    ("h", "e"), ("t", "he"), ("s", "t"), ("o", "n"), ("u", "s"), ("us", "er"), ("n", "a"),
    ("na", "m"), ("nam", "e"), ("a", "a"), ("aa", "aa"), ("1", "2"), ("\n", "\n"), (" ", " "),
    ("  ", "  "), (".", "."), ("λ", "ό"), ("ς", "σ"), ("e", "\u0301"), ("台", "湾"), ("大", "学"),
    ("简", "台"), ("=", "="), ("t", "h"),
)  # fmt: skip
"""One pair is listed twice, and one string is made twice."""

PREFIXES = ("", " ", "\n", " (", "\n\n", ' "', "  ", "é!")
SUFFIXES = ("", ",", ".", ")", "()", "()\u2026", "!!!", "_")

FLAGS: tuple[dict[str, Any], ...] = (
    {},
    {"fold_case": False},
    {"split_camel": True},
    {"fold_han": True},
    {"fold_han": True, "split_camel": True, "punct_to_next": True},
    {"fold_case": False, "split_camel": True},
)

_PARTS = (
    *"aAbBthEerINgzZ129 \n\t.,!()_='\"-",
    "the", "The", "THE", "thE", "and", "userName", "HTTPServer", "parseXML2", "aaaa", "nAmE", "  ",
    "\u0130", "\u01c5", "\u01c4", "ß", "\u1e9e", "ς", "σ", "Σ", "Λό", "\ufb01", "\u0301", "e\u0301",
    "E\u0301", "\u0939\u093f", "\u093f", "\0", "\x85", "\xa0", "\u3000", "\u200b", "\u2160", "\u24b6",
    "½", "²", "\U0001d400", "\U0001f600", "三台大", "臺灣", "台湾", "台灣", "學", "大學", "简台",
    "\u212a", "\ufffd", "\U0010ffff", "\x1c", "…", "()…",
)  # fmt: skip


class Samples:
    """What the tests share."""

    flags = FLAGS

    def make_vocabulary(
        self, special_tokens: tuple[str, ...] = (), **flags: Any
    ) -> CombinatorialVocabulary:
        """Return a vocabulary over ``ALPHABET``."""
        return CombinatorialVocabulary(
            prefixes=PREFIXES,
            suffixes=SUFFIXES,
            alphabet=tuple(sorted(ALPHABET)),
            merges=MERGES,
            special_tokens=special_tokens,
            **flags,
        )

    def make_texts(self, n_texts: int, seed: int, longest: int = 60) -> list[str]:
        """Return random texts of all that is odd; the first is empty."""
        generator = random.Random(seed)
        lengths = [0, *(generator.randrange(1, longest) for _ in range(n_texts - 1))]
        return ["".join(generator.choices(_PARTS, k=length)) for length in lengths]


@pytest.fixture(scope="session")
def samples() -> Samples:
    """The vocabulary and the texts."""
    return Samples()

r"""Patterns that cut text into pieces: the named ones of known tokenizers, and any other.

A pattern is a regular expression, or a sequence of them, called splits, each of which cuts the
pieces of the one before as if every piece were a text of its own. Matches are pieces, and so is the
text between matches, so that nothing is lost ("Isolated" in tokenizers). An empty match counts as
no match. Patterns compile to automata (``automaton_builder``); what an automaton cannot express runs
through the regex module, with one warning.
"""

import functools
import re
import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from numbpe.arrays import TextArray, copy_text
from numbpe.automaton_builder import build_automaton
from numbpe.errors import ArgumentError, PatternError, shorten_value
from numbpe.named_patterns import NAMED_PATTERNS
from numbpe.regex_nodes import UnsupportedPatternError
from numbpe.regex_parser import parse_pattern
from numbpe.unicode_tables import load_unicode_tables
from numbpe_kernels.automaton import Automaton, automaton_split

if TYPE_CHECKING:
    import regex  # needed for a slow pattern only

_NAME_FORM = re.compile(r"[A-Za-z][A-Za-z0-9_]*(?:[.-][A-Za-z0-9]+)*")
_ENDS_PER_CALL = 4096


class SlowPatternWarning(UserWarning):
    """A pattern does not compile to an automaton and runs through the regex module."""


class Pattern:
    """A compiled pattern; made by ``compile_pattern``.

    name : name of a named pattern, else None
    sources : the regular expressions of its splits
    unicode_version : version of the character classes; those of the regex module in the slow case
    automaton : what the kernels run, or None in the slow case
    """

    def __init__(self, name: str | None, sources: tuple[str, ...], unicode_version: str) -> None:
        self.name = name
        self.sources = sources
        self.unicode_version = unicode_version
        self.automaton: Automaton | None = None
        self._slow_splits: list[regex.Pattern[str]] = []
        tables = load_unicode_tables(unicode_version)
        try:
            self.automaton = build_automaton([parse_pattern(s, tables) for s in sources])
        except UnsupportedPatternError as error:
            self._slow_splits = [_compile_slowly(source) for source in sources]
            warnings.warn(
                f"pattern {shorten_value(sources[0] if len(sources) == 1 else sources)} does not "
                f"compile to an automaton, because it holds {error}; it runs through the regex "
                "module, some 30 times slower and with the Unicode version of that module",
                SlowPatternWarning,
                stacklevel=4,
            )

    def __repr__(self) -> str:
        return f"Pattern({self.name or self.sources!r}, unicode_version={self.unicode_version!r})"

    def new_level_stops(self) -> NDArray[np.int64]:
        """Return the state between calls of ``automaton_split``; each thread needs its own."""
        return np.full(len(self.sources), -1, dtype=np.int64)

    def find_ends(self, text: TextArray, start: int, stop: int) -> NDArray[np.int64]:
        """Return the ends of the pieces of text[start:stop], as positions in ``text``.

        text : as ``copy_text`` makes it. Bytes that are not UTF-8 count as one character each.

        >>> compile_pattern("gpt2").find_ends(copy_text(b"one two"), 0, 7).tolist()
        [3, 7]
        """
        if self.automaton is None:
            return self._find_ends_slowly(bytes(text[start:stop])) + start
        level_stops = self.new_level_stops()
        parts: list[NDArray[np.int64]] = []
        position = start
        while position < stop:
            ends = np.empty(_ENDS_PER_CALL, dtype=np.int64)
            n_ends = automaton_split(self.automaton, level_stops, text, position, stop, ends)
            parts.append(ends[:n_ends])
            position = int(ends[n_ends - 1])
        return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)

    def split(self, text: bytes) -> list[bytes]:
        """Return the pieces of ``text``; joined they are ``text`` again.

        >>> compile_pattern("gpt2").split(b"It's 10  o'clock")
        [b'It', b"'s", b' 10', b' ', b' o', b"'", b'clock']
        """
        ends = self.find_ends(copy_text(text), 0, len(text)).tolist()
        return [text[a:b] for a, b in zip([0, *ends[:-1]], ends, strict=True)] if ends else []

    def cut_parts(
        self, text: TextArray, parts: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return each piece of each part of ``text`` as a part, and the first piece of each part.

        parts : (p, 3) int64, start, stop, and the id of the added token behind it, -1 for none
        Returns (q, 3) int64, of which those with an id behind them are empty, and (p + 1,) int64.
        """
        found = [np.empty((0, 3), dtype=np.int64)]
        first_pieces = np.zeros(len(parts) + 1, dtype=np.int64)
        for i, (start, stop, token_id) in enumerate(parts.tolist()):
            ends = self.find_ends(text, start, stop)
            pieces = np.full((len(ends) + 1, 3), -1, dtype=np.int64)
            pieces[:-1, 1] = ends
            pieces[1:, 0] = ends
            pieces[0, 0] = start
            pieces[-1] = stop, stop, token_id
            found.append(pieces)
            first_pieces[i + 1] = first_pieces[i] + len(pieces)
        return np.concatenate(found), first_pieces

    def _find_ends_slowly(self, data: bytes) -> NDArray[np.int64]:
        """Return the ends of the pieces of ``data`` by the regex module."""
        if not data:
            return np.empty(0, dtype=np.int64)
        text = data.decode("utf-8", "surrogateescape")
        ends = [len(text)]
        for split in self._slow_splits:
            cut = set(ends)
            for start, stop in zip([0, *ends[:-1]], ends, strict=True):
                cut.update(start + end for end in _find_match_bounds(split, text[start:stop]))
            ends = sorted(cut - {0})
        lengths = [
            len(text[a:b].encode("utf-8", "surrogateescape"))
            for a, b in zip([0, *ends[:-1]], ends, strict=True)
        ]
        return np.cumsum(lengths, dtype=np.int64)


def _find_match_bounds(split: "regex.Pattern[str]", text: str) -> Iterator[int]:
    """Yield the starts and the ends of the matches that are not empty."""
    position = 0
    while position < len(text):
        match = split.search(text, position)
        if match is None:
            return
        if match.end() > match.start():
            yield from match.span()
        position = max(match.end(), match.start() + 1)


def _compile_slowly(source: str) -> "regex.Pattern[str]":
    r"""Compile ``source`` with the regex module, where ``$`` and ``\z`` are the end of the text too.

    VERSION1 reads nested classes and ``&&``; its full case folding is switched off.
    """
    import regex

    parts: list[str] = []
    in_class = False
    for part in re.findall(r"\\.|.", source, flags=re.DOTALL):
        if part == "\\z" or (part == "$" and not in_class):
            parts.append("\\Z")
            continue
        in_class = part == "[" or (in_class and part != "]")
        parts.append(part)
    try:
        return regex.compile("".join(parts), flags=regex.VERSION1)
    except regex.error as error:
        raise PatternError(
            f"cannot understand pattern {shorten_value(source)}: {error}; write a regular "
            "expression of the regex module, or the name of a pattern: " + ", ".join(NAMED_PATTERNS)
        ) from error


def compile_pattern(pattern: str | Sequence[str], unicode_version: str = "16") -> Pattern:
    r"""Return a compiled pattern; the same one for the same arguments.

    pattern : a name ("gpt2", "o200k", ...; see ``NAMED_PATTERNS``), a regular expression, or a
        sequence of regular expressions, each of which cuts the pieces of the one before
    unicode_version : "16" (as tokenizers and tiktoken) or "17"

    Raises PatternError, which shows where, for an expression that cannot be understood, and for a
    name that is not known: what looks like a name is one, so write ``(?:abc)`` to match "abc".
    Warns with SlowPatternWarning, once for each pattern, if the regex module has to be used.

    >>> compile_pattern(r"\p{L}+|\s").split("a été".encode())
    [b'a', b' ', b'\xc3\xa9t\xc3\xa9']
    """
    if isinstance(pattern, str):
        if pattern in NAMED_PATTERNS:
            return _compile(pattern, NAMED_PATTERNS[pattern], unicode_version)
        if _NAME_FORM.fullmatch(pattern):
            raise PatternError(
                f"cannot use pattern {shorten_value(pattern)}: no pattern of this name is known; "
                f"pass one of {', '.join(NAMED_PATTERNS)}, or a regular expression "
                f"(to match the word itself, write '(?:{pattern})')"
            )
        return _compile(None, (pattern,), unicode_version)
    sources = tuple(pattern)
    if not sources or not all(isinstance(source, str) for source in sources):
        raise ArgumentError(
            f"cannot use pattern {shorten_value(pattern)}: a sequence of splits must hold one "
            "regular expression or more, each a str"
        )
    return _compile(None, sources, unicode_version)


@functools.lru_cache(maxsize=256)
def _compile(name: str | None, sources: tuple[str, ...], unicode_version: str) -> Pattern:
    if "" in sources:
        raise PatternError(
            "cannot use an empty pattern: it matches nothing; pass the name of a pattern "
            f"({', '.join(NAMED_PATTERNS)}) or a regular expression"
        )
    return Pattern(name, sources, unicode_version)

r"""Patterns of a tokenizer.json, which Oniguruma reads there, in our own dialect.

The way back from ``oniguruma``: what reads otherwise is rewritten, and what is not known to mean the
same is refused, never copied.

* ``\p{N}{1,3}+`` repeats a repeat there: ``(?:\p{N}{1,3})+``.
* ``a{3}?`` is an optional ``a{3}`` there: ``(?:a{3})?``.
* ``$`` is the end of every line there: ``(?=\n|\z)``.
* ``(?m:.)`` is ``(?s:.)`` here.
* ``\w`` has no joiners there, and outside of a class it has the Latin-1 numbers such as U+00B2.
"""

import re
from functools import lru_cache
from typing import Final

from numbpe.errors import ArgumentError, FormatError
from numbpe.formats.json_documents import JsonValue
from numbpe.formats.oniguruma import PatternTranslator
from numbpe.regex_nodes import Node, UnsupportedPatternError, can_be_empty
from numbpe.regex_parser import parse_pattern
from numbpe.unicode_tables import load_unicode_tables

_ESCAPE_OR_DOT_FLAG: Final = re.compile(r"\\.|\(\?m:", re.DOTALL)
_WORD_CHARACTERS: Final = r"\p{Alphabetic}\p{M}\p{Nd}\p{Pc}"
_LATIN_1_NUMBERS: Final = r"\u00B2\u00B3\u00B9\u00BC-\u00BE"
_META_CHARACTERS: Final = re.compile(r"[\\^$.|?*+()\[\]{}]")


def read_pattern(source: str, place: JsonValue) -> str:
    """Return a regular expression that means to us what ``source`` means to Oniguruma.

    Raises FormatError, naming the ``place``, for what has no known equal form.
    """
    try:
        return _rewrite(source)
    except ArgumentError as error:
        raise place.fail(str(error)) from None


def escape_literal(text: str) -> str:
    """Return a regular expression that matches ``text`` and nothing else."""
    return _META_CHARACTERS.sub(lambda match: "\\" + match[0], text)


def write_split_before(letter: str) -> str:
    """Return an expression that cuts before every ``letter``, as the library's MergedWithNext."""
    return write_merged(escape_literal(letter), "MergedWithNext")


def write_merged(source: str, behavior: str) -> str:
    """Return an expression whose matches are pieces that a character of ``source`` ends or begins.

    source: reads exactly one character. behavior: MergedWithPrevious or MergedWithNext.
    """
    others = f"[^{source}]" if len(source) == 1 else f"(?:(?!{source})(?s:.))"
    one = source if len(source) == 1 else f"(?:{source})"
    if behavior == "MergedWithPrevious":
        return f"{others}*{one}|{others}+"
    return f"{one}{others}*|{others}+"


def parse_or_refuse(source: str, place: JsonValue) -> Node:
    """Return an expression of ours as nodes; FormatError if the parser does not know it all."""
    try:
        return parse_pattern(source, load_unicode_tables())
    except UnsupportedPatternError as error:
        raise describe_unknown(source, str(error), place) from None


def describe_unknown(source: str, what: str, place: JsonValue) -> FormatError:
    """Return the error that says what in a pattern is not understood."""
    return place.fail(_word_refusal(source, what))


def _word_refusal(source: str, what: str) -> str:
    return f"the pattern {source!r} cannot be used: {what} has no known equal form here"


@lru_cache(maxsize=64)
def _rewrite(source: str) -> str:
    # Validated before the walk, which takes for granted that brackets close.
    as_ours = _ESCAPE_OR_DOT_FLAG.sub(
        lambda match: "(?s:" if match[0] == "(?m:" else match[0], source
    )
    reader = _PatternReader(source)
    try:
        parse_pattern(as_ours, load_unicode_tables())
        rewritten = reader.translate()
        node = parse_pattern(rewritten, load_unicode_tables())
    except UnsupportedPatternError as error:
        raise reader.refusal(str(error)) from None
    if can_be_empty(node):
        raise reader.refusal("a match of the empty string")
    return rewritten


class _PatternReader(PatternTranslator):
    """The same walk in the other direction."""

    end_of_text = r"(?=\n|\z)"

    def refusal(self, what: str) -> ArgumentError:
        return ArgumentError(_word_refusal(self.source, what))

    def separate(self, previous: str, letter: str) -> str:
        if super().separate(previous, letter):
            raise self.refusal(f"{previous + letter!r} without regard to case")
        return ""

    def translate_escape(self, *, in_class: bool) -> str:
        if self.peek(2) not in ("\\w", "\\W"):
            return super().translate_escape(in_class=in_class)
        if self.ignore_case:
            raise self.refusal(f"{self.peek(2)!r} without regard to case")
        negation = "^" if self.peek(2) == "\\W" else ""
        self.position += 2
        return f"[{negation}{_WORD_CHARACTERS}{'' if in_class else _LATIN_1_NUMBERS}]"

    def translate_bounds(self, item: str, bounds: re.Match[str]) -> str:
        low, comma, high = bounds.groups()
        item += f"{{{low or '0'}{comma}{high}}}"
        if comma and self.take("?"):
            return item + "?"
        # A sign behind bounds repeats what they repeat; the loop of repeats reads it next.
        return item

    def translate_group(self) -> str:
        if self.peek(3) == "(?#":
            raise self.refusal("a comment")  # A repeat behind it repeats what is before it.
        return super().translate_group()

    def translate_opening(self) -> str:
        if self.take("(?m:"):
            return "(?s:"
        if self.peek(4) == "(?s:":
            raise self.refusal("'(?s:'")
        return super().translate_opening()

r"""Patterns in the dialect of Oniguruma, the engine inside the ``tokenizers`` library.

It reads some expressions otherwise than we and tiktoken do, without any error:

* ``\p{N}{1,3}+`` is a repeat of a repeat there, not a possessive one: written ``(?>\p{N}{1,3})``.
* ``a{3}?`` is an optional ``a{3}`` there: written ``a{3}``, which is what it means.
* ``$`` is the end of every line there: written ``\z``.
* ``(?i:ss)`` also matches U+00DF there, and the like: written ``(?i:s(?:)s)``.
* ``\pL`` and ``\p{Script=Han}`` are unknown there: written ``\p{L}`` and ``\p{Han}``.

A pattern that is not in need of it comes out letter for letter as it went in, so that readers that
know a pattern by its text find it. What is not understood here is refused, never copied.
"""

import functools
import re
from typing import Final

from numbpe.errors import ArgumentError, shorten_value
from numbpe.regex_nodes import UnsupportedPatternError, can_be_empty
from numbpe.regex_parser import parse_pattern
from numbpe.unicode_tables import load_unicode_tables

_BOUNDS: Final = re.compile(r"\{(\d*)(,?)(\d*)\}")
_PROPERTY: Final = re.compile(r"\{(\^?)(?:(?:gc|sc|Script|General_Category)=)?(?:Is)?(\w+)\}")
_HEXADECIMAL: Final = re.compile(
    r"x\{([0-9A-Fa-f]+)\}|x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})"
)
_GROUP_NAME: Final = re.compile(r"P?<(?![=!])\w+>")
_SHARED_ESCAPES: Final = frozenset("rntfaesSdD")
"""Letters whose escapes mean the same in both dialects."""

_CASELESS_PROPERTIES: Final = frozenset(["N", "Nd", "P", "S", "Z"])
"""Properties that no character gains or loses with its case. Oniguruma does not fold any."""

_WORD_CHARACTERS: Final = r"\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}"


def translate_pattern(source: str) -> str:
    r"""Return a regular expression that Oniguruma reads as ``source`` is meant.

    Raises ArgumentError for what has no known equal form there, and for a pattern that matches the
    empty string: the library cuts there, we do not.

    Example: ``translate_pattern(r"\d{1,3}+|\s++$")`` is ``r"(?>\d{1,3})|\s++\z"``.
    """
    translator = PatternTranslator(source)
    try:
        node = parse_pattern(source, load_unicode_tables())
    except UnsupportedPatternError as error:
        raise translator.refusal(str(error)) from None
    if can_be_empty(node):
        raise translator.refusal("a match of the empty string")
    return translator.translate()


@functools.cache
def _list_fold_beginnings() -> frozenset[str]:
    """Return how expansions of one character under full case folding begin: "ss", "ff", ..."""
    # No character above U+FB17 expands.
    expansions = (chr(code_point).casefold() for code_point in range(0x80, 0xFB18))
    return frozenset(
        text[start : start + 2]
        for text in expansions
        if len(text) > 1
        for start in range(len(text) - 1)
    )


class PatternTranslator:
    """One walk over a valid pattern, which copies it and rewrites what reads otherwise."""

    end_of_text = r"\z"

    def __init__(self, source: str) -> None:
        self.source = source
        self.position = 0
        self.ignore_case = False
        self.last_letter = ""  # the literal just before, if one was

    def translate(self) -> str:
        """Return the whole pattern, translated."""
        if self.take("(?i)"):  # Flags at the very start hold for the whole pattern.
            self.ignore_case = True
            return f"(?i:{self.translate_choice()})"
        return self.translate_choice()

    def refusal(self, what: str) -> ArgumentError:
        """Return the error about ``what`` has no equal form."""
        return ArgumentError(
            f"cannot write the pattern {shorten_value(self.source)} to a tokenizer.json: {what} "
            "has no known equal form there; save as .pkl, .tiktoken or a folder, or use a pattern "
            "without it"
        )

    def peek(self, length: int = 1) -> str:
        """Return what comes next; nothing is read."""
        return self.source[self.position : self.position + length]

    def take(self, expected: str) -> bool:
        """Read ``expected`` if it comes next, and return whether it did."""
        found = self.source.startswith(expected, self.position)
        if found:
            self.position += len(expected)
        return found

    def translate_choice(self) -> str:
        """Translate up to the end of the group."""
        parts: list[str] = []
        self.last_letter = ""
        while self.peek() not in ("", ")"):
            if self.take("|"):
                parts.append("|")
                self.last_letter = ""
            else:
                parts.append(self.translate_repeats(self.translate_item()))
        self.last_letter = ""
        return "".join(parts)

    def translate_item(self) -> str:
        """Translate what a repeat may follow."""
        letter = self.peek()
        if letter == "(":
            return self.translate_group()
        previous, self.last_letter = self.last_letter, ""
        if letter == "[":
            return self.translate_class()
        if letter == "\\":
            return self.translate_escape(in_class=False)
        self.position += 1
        if letter == "$":
            return self.end_of_text
        if letter == ".":
            return letter
        if letter == "{":
            return r"\{"
        return self.separate(previous, letter) + letter

    def separate(self, previous: str, letter: str) -> str:
        """Return what must stand between two letters so that no character folds to both."""
        self.refuse_folded(letter)
        self.last_letter = letter
        pair = (previous + letter).casefold()
        is_folded = self.ignore_case and previous and pair in _list_fold_beginnings()
        return "(?:)" if is_folded else ""

    def refuse_folded(self, letter: str) -> None:
        """Refuse a letter that is several without regard to case."""
        if self.ignore_case and len(letter.casefold()) > 1:
            raise self.refusal(f"the letter {letter!r} without regard to case")

    # Repeats

    def translate_repeats(self, item: str) -> str:
        """Return ``item``, translated already, with the repeats behind it."""
        while True:
            bounds = _BOUNDS.match(self.source, self.position)
            if self.peek() in ("*", "+", "?"):
                item += self.peek()
                self.position += 1
                item += self.take_suffix()
            elif bounds and (bounds[1] or bounds[3]):
                self.position = bounds.end()
                item = self.translate_bounds(item, bounds)
            else:
                return item
            self.last_letter = ""
            if self.peek() in ("*", "+", "?") or _BOUNDS.match(self.source, self.position):
                item = f"(?:{item})"

    def take_suffix(self) -> str:
        """Read the sign that makes a repeat lazy or possessive, if there is one."""
        for suffix in ("?", "+"):
            if self.take(suffix):
                return suffix
        return ""

    def translate_bounds(self, item: str, bounds: re.Match[str]) -> str:
        """Return ``item`` with bounds that have been read, and the sign behind them."""
        low, comma, high = bounds.groups()
        item += f"{{{low or '0'}{comma}{high}}}"
        suffix = self.take_suffix()
        if suffix == "+":
            return f"(?>{item})"
        return item + suffix if comma else item

    # Groups

    def translate_group(self) -> str:
        """Translate a group; a comment becomes nothing."""
        if self.take("(?#"):
            self.position = self.source.find(")", self.position) + 1
            return ""
        outer_ignore_case = self.ignore_case
        opening = self.translate_opening()
        inner = self.translate_choice()
        self.take(")")
        self.ignore_case = outer_ignore_case
        return f"{opening}{inner})"

    def translate_opening(self) -> str:
        """Translate what opens a group."""
        for opening in ("(?:", "(?=", "(?!", "(?>"):
            if self.take(opening):
                return opening
        if not self.take("(?"):
            self.take("(")
            return "("
        if self.take("i:"):
            self.ignore_case = True
            return "(?i:"
        if self.take("-i:"):
            self.ignore_case = False
            return "(?-i:"
        if self.take("s:"):
            return "(?m:"  # The dot matches a line feed too.
        name = _GROUP_NAME.match(self.source, self.position)
        if name:
            self.position = name.end()
            return "(?:"
        raise self.refusal(f"'(?{self.peek()}'")

    # Escapes and classes

    def translate_escape(self, *, in_class: bool) -> str:
        """Translate an escape."""
        self.position += 1
        kind = self.peek()
        hexadecimal = _HEXADECIMAL.match(self.source, self.position)
        if hexadecimal:
            self.position = hexadecimal.end()
            digits = next(group for group in hexadecimal.groups() if group)
            self.refuse_folded(chr(int(digits, 16)))
            return f"\\x{{{digits}}}"
        self.position += 1
        if kind in ("p", "P"):
            return self.translate_property(kind)
        if kind in ("w", "W"):
            negation = "^" if kind == "W" else ""
            inner = f"{negation}{_WORD_CHARACTERS}"
            return inner if in_class and not negation else f"[{inner}]"
        if kind == "v":
            return r"\x{0B}"
        if kind == "0" and not self.peek().isdigit():
            return r"\x{00}"
        if kind == "z" and not in_class:
            return r"\z"
        if kind in _SHARED_ESCAPES or (kind and not kind.isalnum()):
            return f"\\{kind}"
        raise self.refusal(f"'\\{kind}'")

    def translate_property(self, kind: str) -> str:
        """Translate what follows a backslash and the letter ``kind``."""
        found = _PROPERTY.match(self.source, self.position)
        if self.ignore_case and not (found and found[2] in _CASELESS_PROPERTIES):
            raise self.refusal("a property without regard to case")
        if found:
            self.position = found.end()
            return f"\\{kind}{{{found[1]}{found[2]}}}"
        letter = self.peek()
        if not letter.isalpha():
            raise self.refusal(f"a property after '\\{kind}'")
        self.position += 1
        return f"\\{kind}{{{letter}}}"

    def translate_class(self) -> str:
        """Translate a class and those inside it."""
        self.position += 1
        parts = ["[^" if self.take("^") else "["]
        if self.take("]"):
            parts.append(r"\]")
        while not self.take("]"):
            if self.peek(2) in ("--", "~~", "||"):
                raise self.refusal(f"{self.peek(2)!r} in a class")
            if self.take("&&"):
                parts.append("&&")
            elif self.peek() == "[":
                parts.append(self.translate_class())
            elif self.peek() == "\\":
                parts.append(self.translate_escape(in_class=True))
            else:
                self.refuse_folded(self.peek())
                parts.append(self.peek())
                self.position += 1
        return "".join(parts) + "]"

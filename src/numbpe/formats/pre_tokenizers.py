"""The pre-tokenizer of a tokenizer.json: the alphabet, what is done to a text, and the pattern."""

from dataclasses import dataclass
from typing import Final, Literal

from numbpe.definition import METASPACE, Prepend, Replace, TextStep
from numbpe.formats.json_documents import JsonValue
from numbpe.formats.library_classes import NUMBER, PUNCTUATION
from numbpe.formats.oniguruma_reading import escape_literal, parse_or_refuse, write_merged
from numbpe.formats.pattern_coverage import covers_every_text, is_printable_ascii
from numbpe.formats.post_processors import read_prepend_scheme
from numbpe.formats.reading import KnownPattern, name_pattern
from numbpe.formats.text_steps import read_string_or_regex
from numbpe.named_patterns import NAMED_PATTERNS
from numbpe.regex_nodes import as_characters

_KNOWN: Final = (
    "ByteLevel, Split, Digits, Punctuation, Metaspace, FixedLength and sequences of these"
)
_BEHAVIORS: Final = ("Isolated", "Removed", "MergedWithPrevious", "MergedWithNext", "Contiguous")


@dataclass(frozen=True)
class PreTokenization:
    """What a pre-tokenizer does.

    numeric_cuts: None, or how pieces are cut besides, between the letters that stand for bytes: at
        letters that are numbers, ``"each"`` alone or ``"runs"`` of them.
    """

    alphabet: Literal["bytes", "characters"]
    preparation: tuple[TextStep, ...]
    pattern: KnownPattern
    numeric_cuts: Literal["each", "runs"] | None


def read_pre_tokenizer(
    pre_tokenizer: JsonValue | None, normalizer: tuple[TextStep, ...]
) -> PreTokenization:
    """Return what a pre-tokenizer does; FormatError for what cannot be done here.

    normalizer: what was done to the text before.
    """
    reader = _PreTokenizerReader(normalizer)
    if pre_tokenizer is not None:
        reader.read(pre_tokenizer)
    return PreTokenization(
        "bytes" if reader.is_byte_level else "characters",
        tuple(reader.preparation),
        name_pattern(tuple(reader.sources)),
        reader.numeric_cuts,
    )


class _PreTokenizerReader:
    """Steps of a pre-tokenizer, one after another."""

    def __init__(self, normalizer: tuple[TextStep, ...]) -> None:
        self.is_byte_level = False
        self.preparation: list[TextStep] = []
        self.sources: list[str] = []
        self.numeric_cuts: Literal["each", "runs"] | None = None
        self._replaced = _list_replaced(normalizer)

    def read(self, step: JsonValue) -> None:
        match kind := step.require("type", str):
            case "Sequence":
                for part in step.iterate("pretokenizers"):
                    self.read(part)
            case "ByteLevel":
                self.read_byte_level(step)
            case "Metaspace":
                self.read_metaspace(step)
            case "Split":
                self.read_split(step)
            case "Digits":
                self.read_digits(step)
            case "Punctuation":
                behavior = step.take("behavior", str, "Isolated")
                self.add_split(step, PUNCTUATION, behavior, is_inverted=False)
            case "FixedLength":
                length = step.take("length", int, 5)
                self.add_split(step, f"(?s:.){{1,{length}}}", "Isolated", is_inverted=False)
            case "Whitespace" | "WhitespaceSplit" | "CharDelimiterSplit" | "BertPreTokenizer":
                raise step.fail(
                    f"the pre-tokenizer {kind!r} drops white space or delimiters, so that decoding "
                    f"could not give the text back; numbpe has {_KNOWN}"
                )
            case _:
                raise step.fail(f"numbpe has no pre-tokenizer {kind!r}; it has {_KNOWN}")

    def read_byte_level(self, step: JsonValue) -> None:
        if self.is_byte_level:
            raise step.fail("a second ByteLevel would spell letters of the first as bytes")
        self.is_byte_level = True
        if step.take("add_prefix_space", bool, True):
            self.check_is_first(step, "add_prefix_space")
            self.preparation.append(Prepend(" ", unless=" "))
        if step.take("use_regex", bool, True):
            self.sources += NAMED_PATTERNS["gpt2"]

    def read_metaspace(self, step: JsonValue) -> None:
        self.check_is_first(step, "Metaspace")
        letter = step.take("replacement", str, METASPACE)
        scheme = read_prepend_scheme(step)
        self.preparation.append(Replace(" ", letter))
        if scheme != "never":
            self.preparation.append(Prepend(letter, letter, first_only=scheme == "first"))
        if step.take("split", bool, True):
            self.add_split(step, escape_literal(letter), "MergedWithNext", is_inverted=False)

    def check_is_first(self, step: JsonValue, what: str) -> None:
        """Refuse a step that would change each piece, not the text."""
        if self.sources or self.preparation:
            raise step.fail(f"{what} behind another step would change every piece alone")

    def read_digits(self, step: JsonValue) -> None:
        is_individual = step.take("individual_digits", bool, False)
        if not self.is_byte_level:
            self.sources.append(NUMBER if is_individual else f"{NUMBER}+")
        elif is_individual or self.numeric_cuts != "each":
            self.numeric_cuts = "each" if is_individual else "runs"

    def read_split(self, step: JsonValue) -> None:
        pattern, is_regex = read_string_or_regex(step)
        if not is_regex and any(_never_occurs(old, new, pattern) for old, new in self._replaced):
            return  # The normalizer has replaced all of them, so that nothing is ever found.
        source = pattern if is_regex else escape_literal(pattern)
        if not pattern:
            raise step.fail("an empty pattern cuts nowhere or everywhere; take the step out")
        if self.is_byte_level:
            self.check_is_ascii(step, source)
        behavior = step.require("behavior", str)
        self.add_split(step, source, behavior, is_inverted=step.take("invert", bool, False))

    def check_is_ascii(self, step: JsonValue, source: str) -> None:
        """Refuse an expression that reads letters for bytes otherwise than characters.

        Printable ASCII characters are the letters of their own bytes, and letters of no others.
        """
        if not is_printable_ascii(parse_or_refuse(source, step)):
            raise step.fail(
                "behind ByteLevel an expression reads letters that stand for bytes; numbpe knows "
                f"that for printable ASCII characters, not for {source!r}; put it before ByteLevel"
            )

    def add_split(self, step: JsonValue, source: str, behavior: str, *, is_inverted: bool) -> None:
        """Add the expression whose matches, and what lies between them, are the pieces."""
        node = parse_or_refuse(source, step)
        if behavior == "Isolated":
            pass
        elif behavior == "Removed":
            if not is_inverted:
                raise step.fail("Removed drops what it finds; decoding could not give it back")
            if not covers_every_text(node):
                raise step.fail(
                    f"Removed would drop all that {source!r} does not match, and it cannot be "
                    "proved that it matches everything; write Isolated if that is meant"
                )
        elif behavior == "Contiguous" and not is_inverted:
            source = f"(?:{source})+"
        elif behavior in ("MergedWithPrevious", "MergedWithNext") and not is_inverted:
            if as_characters(node) is None:
                raise step.fail(f"{behavior} is known for single characters, not for {source!r}")
            source = write_merged(source, behavior)
        else:
            inverted = " with invert" if is_inverted else ""
            raise step.fail(
                f"the behavior {behavior!r}{inverted} is not known; known are {', '.join(_BEHAVIORS)}"
            )
        self.sources.append(source)


def _list_replaced(normalizer: tuple[TextStep, ...]) -> list[tuple[str, str]]:
    """Return the replacements of literals at the end of a normalizer, none of which is undone."""
    found: list[tuple[str, str]] = []
    for step in reversed(normalizer):
        if not isinstance(step, Replace) or step.is_regex:
            break
        if not any(step.pattern in new for _, new in found):
            found.append((step.pattern, step.content))
    return found


def _never_occurs(old: str, new: str, pattern: str) -> bool:
    """Return whether ``pattern`` cannot occur where every ``old`` has become ``new``."""
    return old in pattern and len(old) == 1 and old not in new

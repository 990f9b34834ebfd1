"""The normalizer of a tokenizer.json, as steps of a definition."""

from numbpe.definition import (
    Lowercase,
    Normalization,
    Prepend,
    Replace,
    Strip,
    StripAccents,
    TextStep,
)
from numbpe.formats.json_documents import JsonValue
from numbpe.formats.oniguruma_reading import read_pattern

KNOWN = (
    "NFC, NFD, NFKC, NFKD, Lowercase, Strip, StripAccents, Replace, Prepend and sequences of these"
)


def read_normalizer(normalizer: JsonValue | None) -> tuple[TextStep, ...]:
    """Return the steps of a normalizer; FormatError for a kind that is not known here."""
    if normalizer is None:
        return ()
    kind = normalizer.require("type", str)
    match kind:
        case "Sequence":
            steps = map(read_normalizer, normalizer.iterate("normalizers"))
            return tuple(step for part in steps for step in part)
        case "NFC" | "NFD" | "NFKC" | "NFKD":
            return (Normalization(kind),)
        case "Lowercase":
            return (Lowercase(),)
        case "StripAccents":
            return (StripAccents(),)
        case "Strip":
            left = normalizer.take("strip_left", bool, True)
            return (Strip(left, normalizer.take("strip_right", bool, True)),)
        case "Prepend":
            content = normalizer.require("prepend", str)
            return (Prepend(content),) if content else ()
        case "Replace":
            pattern, is_regex = read_string_or_regex(normalizer)
            return (Replace(pattern, normalizer.require("content", str), is_regex),)
    raise normalizer.fail(f"numbpe has no normalizer {kind!r}; it has {KNOWN}")


def read_string_or_regex(step: JsonValue) -> tuple[str, bool]:
    """Return the pattern of a step in our dialect, and whether it is a regular expression.

    ``{"String": ...}`` is a literal, whatever it holds; only ``{"Regex": ...}`` is an expression.
    """
    pattern = step.get("pattern")
    if pattern is None:
        raise step.fail("'pattern' is missing")
    if isinstance(pattern.value, str):
        return pattern.value, False
    if pattern.get("String") is not None:
        return pattern.require("String", str), False
    return read_pattern(pattern.require("Regex", str), pattern), True

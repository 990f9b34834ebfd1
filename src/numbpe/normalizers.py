r"""Normalizers: changing text before it is cut into pieces, as ``tokenizers`` does, to the letter.

The result does not depend on the Unicode version of the running Python (``normalizer_tables``).

Text may hold surrogate escapes (U+DC80 to U+DCFF), which stand for bytes that are not UTF-8; they
are characters that nothing changes.

The regular expressions of :class:`Replace` are run by the ``regex`` module. ``tokenizers`` has
Oniguruma, which differs in what it calls a letter (Unicode 16.0), in ``\h`` (a hexadecimal digit
there, white space here), and in nested repeats such as ``a{2}+`` (possessive here).
"""

import functools
import unicodedata
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from numbpe.definition import (
    Lowercase,
    Normalization,
    Prepend,
    Replace,
    Strip,
    StripAccents,
    TextStep,
)
from numbpe.errors import PatternError, shorten_value
from numbpe.normalizer_tables import (
    find_inert,
    find_members,
    find_odd_lowercase,
    join_code_points,
    list_code_points,
    load_accents,
    load_inert,
)

if TYPE_CHECKING:
    import regex

NormalizationForm: TypeAlias = Literal["NFC", "NFD", "NFKC", "NFKD"]

WHITE_SPACE: Final = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
"""The characters with the property White_Space, which no version of Unicode since 6.3 has changed."""

_FEW_CHARACTERS: Final = 64
"""So many are quicker looked up one by one than all by NumPy."""


def apply_steps(steps: Sequence[TextStep], text: str, *, is_first: bool = True) -> str:
    """Return ``text`` changed by ``steps``, one after another.

    is_first: whether it stands at the start of the whole text.

    Raises PatternError for a :class:`Replace` whose regular expression cannot be understood.

    >>> apply_steps([Prepend("_"), Replace(" ", "_")], "to be")
    '_to_be'
    """
    for step in steps:
        if not text:
            return text  # No step makes something of nothing.
        text = _apply_step(step, text, is_first)
    return text


def may_change(steps: Sequence[TextStep], text: str) -> bool:
    """Return False if it is cheap to see that ``steps`` leave ``text`` as it is."""
    return bool(text) and any(_may_step_change(step, text) for step in steps)


def _may_step_change(step: TextStep, text: str) -> bool:
    match step:
        case Normalization() | StripAccents():
            return not text.isascii()
        case Lowercase():
            return not text.isascii() or text != text.lower()
        case Strip(left, right):
            return (left and text[0] in WHITE_SPACE) or (right and text[-1] in WHITE_SPACE)
        case Replace(pattern, _, is_regex):
            return is_regex or pattern in text
        case Prepend(content, unless, _):
            return bool(content) and not (unless and text.startswith(unless))


def _apply_step(step: TextStep, text: str, is_first: bool) -> str:
    match step:
        case Normalization(form):
            return text if text.isascii() else normalize_text(form, text)
        case Lowercase():
            return text.lower() if text.isascii() else _lower(text)
        case StripAccents():
            return text if text.isascii() else _strip_accents(text)
        case Strip(left, right):
            text = text.lstrip(WHITE_SPACE) if left else text
            return text.rstrip(WHITE_SPACE) if right else text
        case Replace(pattern, content, False):
            return text.replace(pattern, content)
        case Replace(pattern, content):
            return "".join(_replace_matches(pattern, content, text))
        case Prepend():
            return find_prefix(step, text, is_first) + text


def find_prefix(step: Prepend, text: str, is_first: bool) -> str:
    """Return what ``step`` puts before ``text``."""
    if not text or (step.first_only and not is_first):
        return ""
    if step.unless and text.startswith(step.unless):
        return ""
    return step.content


def normalize_text(form: NormalizationForm, text: str) -> str:
    """Return ``text`` in a normalization form, the same object if it is; inert characters part it."""
    normalized = unicodedata.normalize(form, text)
    if normalized == text:
        # Every part of normalized text is normalized, so parting it would change nothing.
        return text
    if len(text) < _FEW_CHARACTERS and find_inert().isdisjoint(text):
        return normalized
    parts: list[str] = []
    start = 0
    for position in find_members(text, load_inert()).tolist():
        parts += (unicodedata.normalize(form, text[start:position]), text[position])
        start = position + 1
    if not parts:
        return normalized
    return "".join([*parts, unicodedata.normalize(form, text[start:])])


def _lower(text: str) -> str:
    """Return ``text`` in lower case, each character for itself: no final sigma."""
    is_odd, mapping = find_odd_lowercase()
    text = text.replace("\u03a3", "\u03c3")
    parts: list[str] = []
    start = 0
    for position in find_members(text, is_odd).tolist():
        parts += (text[start:position].lower(), mapping[text[position]])
        start = position + 1
    return "".join([*parts, text[start:].lower()]) if parts else text.lower()


def _strip_accents(text: str) -> str:
    code_points = list_code_points(text)
    is_accent = load_accents()[code_points]
    return join_code_points(code_points[~is_accent]) if is_accent.any() else text


def _replace_matches(pattern: str, content: str, text: str) -> Iterator[str]:
    start = 0
    for first, last in find_matches(pattern, text):
        yield text[start:first]
        yield content
        start = last
    yield text[start:]


def find_matches(pattern: str, text: str) -> Iterator[tuple[int, int]]:
    """Yield starts and ends of the matches of a regular expression in ``text``.

    An empty match where the one before ends is none, unlike in ``regex.sub``.
    """
    compiled = compile_replacement(pattern)
    last_end = -1
    position = 0
    while position <= len(text):
        match = compiled.search(text, position)
        if match is None:
            return
        start, end = match.span()
        if start == end == last_end:
            position = end + 1
            continue
        yield start, end
        position = last_end = end


@functools.lru_cache(maxsize=64)
def compile_replacement(pattern: str) -> "regex.Pattern[str]":
    """Return the compiled regular expression of a :class:`Replace`; PatternError if it is none."""
    import regex

    try:
        return regex.compile(pattern, flags=regex.VERSION1)
    except regex.error as error:
        raise PatternError(
            f"cannot replace what {shorten_value(pattern)} matches: {error}; write a regular "
            "expression of the regex module, or a Replace with is_regex=False"
        ) from error

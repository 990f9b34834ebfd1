"""Normalizers that say where each character of the result comes from, as ``tokenizers`` does.

A step is told as the position, in the text before it, of the character that each character of the
result takes its place from; -1 for none. Spans are passed on by these. ``tokenizers`` has it that

- of characters that compose, the first alone is the place of the result;
- what a replacement puts in comes from the last character of what it replaces;
- what is put before a text comes from its first character.
"""

import functools
import unicodedata
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from numbpe.definition import Normalization, Prepend, Replace, Strip, StripAccents, TextStep
from numbpe.normalizer_tables import find_inert, list_code_points, load_accents
from numbpe.normalizers import (
    WHITE_SPACE,
    NormalizationForm,
    apply_steps,
    find_matches,
    find_prefix,
)

_CAPITAL_I_WITH_DOT = 0x130


def apply_steps_aligned(
    steps: Sequence[TextStep], text: str, *, is_first: bool = True
) -> tuple[str, NDArray[np.int64]]:
    """Return ``text`` changed by ``steps``, and the characters of ``text`` that the result is from.

    The second is (n, 2) int64: start and stop for each of the n characters of the result; (0, 0) for
    those that come from none. For the rest see :func:`numbpe.normalizers.apply_steps`.

    >>> apply_steps_aligned([Replace("ab", "x"), Prepend("__")], "cab")[1].tolist()
    [[0, 1], [0, 1], [0, 1], [2, 3]]
    """
    origins = np.arange(len(text), dtype=np.int64)
    for step in steps:
        if not text:
            break
        changed = apply_steps([step], text, is_first=is_first)
        sources = _find_sources(step, text, changed, is_first)
        if sources is not None:
            origins = np.where(sources < 0, -1, origins[sources])
        text = changed
    spans = np.stack([origins, origins + 1], axis=1)
    spans[origins < 0] = 0
    return text, spans


def _find_sources(
    step: TextStep, text: str, changed: str, is_first: bool
) -> NDArray[np.int64] | None:
    """Return the position in ``text`` of the source of each character of ``changed``, -1 for none;
    None if each comes from the one in its place."""
    match step:
        case Replace():
            return _find_sources_of_replace(step, text)
        case _ if changed == text:
            return None
        case Normalization(form):
            return _find_sources_of_normalization(form, text)
        case StripAccents():
            return np.flatnonzero(~load_accents()[list_code_points(text)])
        case Strip(left, _):
            start = len(text) - len(text.lstrip(WHITE_SPACE)) if left else 0
            return np.arange(start, start + len(changed))
        case Prepend():
            n_more = len(find_prefix(step, text, is_first))
            return np.maximum(np.arange(-n_more, len(text)), 0)
        case _:
            n_characters = 1 + (list_code_points(text) == _CAPITAL_I_WITH_DOT)
            return np.repeat(np.arange(len(text)), n_characters)


def _find_sources_of_replace(step: Replace, text: str) -> NDArray[np.int64]:
    found = find_matches(step.pattern, text) if step.is_regex else _find_literal(step.pattern, text)
    matches = np.array(list(found), dtype=np.int64).reshape(-1, 2)
    # How many characters of the result stand for each character, and behind it (with one before
    # the first for what is put in at the very start).
    n_copies = np.ones(len(text) + 1, dtype=np.int64)
    n_copies[0] = 0
    covered = np.zeros(len(text) + 2, dtype=np.int64)
    np.add.at(covered, matches[:, 0] + 1, 1)
    np.add.at(covered, matches[:, 1] + 1, -1)
    n_copies[np.cumsum(covered)[:-1] > 0] = 0
    np.add.at(n_copies, matches[:, 1], len(step.content))
    return np.repeat(np.arange(-1, len(text)), n_copies)


def _find_literal(pattern: str, text: str) -> Iterator[tuple[int, int]]:
    """Yield starts and ends of the occurrences that ``str.replace`` replaces."""
    if not pattern:
        yield from ((i, i) for i in range(len(text) + 1))
        return
    start = text.find(pattern)
    while start >= 0:
        yield start, start + len(pattern)
        start = text.find(pattern, start + len(pattern))


def find_segment_starts(text: str) -> NDArray[np.bool_]:
    """Return, (n,) bool, before which characters of ``text`` normalizing can be parted.

    What comes before such a character and what begins with it, normalized for themselves, make
    what both make together, in every normalization form.
    """
    code_points = list_code_points(text)
    distinct, numbers = np.unique(code_points, return_inverse=True)
    is_start = [starts_segment(code_point) for code_point in distinct.tolist()]
    return np.array(is_start, dtype=np.bool_)[numbers]


@functools.lru_cache(maxsize=1 << 14)
def starts_segment(code_point: int) -> bool:
    """Return whether a code point neither composes with those before it nor is ordered among them.

    Those that do are marks, or vowels and final consonants of Hangul, or begin with one of these
    when they are taken apart. Marks that are found wanting without need do no harm.
    """
    if code_point < 0x300:
        return True
    character = chr(code_point)
    if character in find_inert():
        return True
    first = unicodedata.normalize("NFKD", character)[0]
    return unicodedata.category(first)[0] != "M" and not 0x1160 <= ord(first) <= 0x11FF


def _find_sources_of_normalization(form: NormalizationForm, text: str) -> NDArray[np.int64]:
    """Return the source of each character of ``text`` in a normalization form.

    All but the segments that may change is done by arrays.
    """
    starts = np.flatnonzero(find_segment_starts(text))
    if len(starts) == 0 or starts[0] != 0:
        starts = np.concatenate([[0], starts])
    may_change = _find_changing(form, text)
    lengths = np.diff(starts, append=len(text))
    changing = (lengths > 1) | np.logical_or.reduceat(may_change, starts)
    sources: list[NDArray[np.int64]] = []
    first_kept = 0
    for i in np.flatnonzero(changing).tolist():
        start = int(starts[i])
        stop = start + int(lengths[i])
        found = np.array(_align_segment(form, text[start:stop]), dtype=np.int64)
        sources += (np.arange(first_kept, start), np.where(found < 0, start - 1, found + start))
        first_kept = stop
    return np.concatenate([*sources, np.arange(first_kept, len(text))])


def _find_changing(form: NormalizationForm, text: str) -> NDArray[np.bool_]:
    """Return, (n,) bool, which characters of ``text`` a normalization form changes on their own."""
    distinct, numbers = np.unique(list_code_points(text), return_inverse=True)
    characters = map(chr, distinct.tolist())
    changes = [apply_steps([Normalization(form)], c) != c for c in characters]
    return np.array(changes, dtype=np.bool_)[numbers]


def _align_segment(form: NormalizationForm, segment: str) -> list[int]:
    """Return the source of each character that ``segment`` becomes, relative to it.

    The way of the crate ``unicode-normalization-alignments``: a character that is taken apart gives
    one with the change 0, a replacement, and others with the change 1, an insertion; the changes are
    ordered with the characters; two that compose add theirs and subtract 1. A change of 0 or less
    takes the next source and skips as many more.
    """
    pieces = _decompose(form, segment)
    if form in ("NFC", "NFKC"):
        pieces = _compose(pieces)
    sources: list[int] = []
    position = 0
    for _, _, change in pieces:
        if change > 0:
            sources.append(position - 1)
        else:
            sources.append(position)
            position += 1 - change
    return sources


_Piece = tuple[str, int, int]
"""A character, its combining class, and its change."""


def _decompose(form: NormalizationForm, segment: str) -> list[_Piece]:
    inert = find_inert()
    full_form: NormalizationForm = "NFD" if form in ("NFC", "NFD") else "NFKD"
    pieces: list[_Piece] = []
    run: list[_Piece] = []
    for character in segment:
        is_inert = character in inert
        parts = character if is_inert else unicodedata.normalize(full_form, character)
        for i, part in enumerate(parts):
            combining_class = 0 if is_inert else unicodedata.combining(part)
            if combining_class == 0:
                pieces += sorted(run, key=lambda piece: piece[1])
                run = []
                pieces.append((part, 0, int(i > 0)))
            else:
                run.append((part, combining_class, int(i > 0)))
    return pieces + sorted(run, key=lambda piece: piece[1])


def _compose(pieces: list[_Piece]) -> list[_Piece]:
    composed: list[_Piece] = []
    starter = -1  # Where the last starter is in ``composed``.
    for character, combining_class, change in pieces:
        blocking = composed[-1][1] if starter < len(composed) - 1 else -1
        if starter >= 0 and blocking < combining_class:
            first, _, first_change = composed[starter]
            pair = unicodedata.normalize("NFC", first + character)
            if len(pair) == 1 and pair not in find_inert():
                composed[starter] = (pair, 0, first_change + change - 1)
                continue
        if combining_class == 0:
            starter = len(composed)
        composed.append((character, combining_class, change))
    return composed

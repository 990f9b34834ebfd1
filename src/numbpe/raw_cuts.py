"""Where raw text may be cut before it is normalized, so that no token id changes."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from numbpe.arrays import TextArray, copy_text
from numbpe.corpus import FindCut
from numbpe.definition import (
    Normalization,
    Prepend,
    Replace,
    TextStep,
    TokenizerDefinition,
)
from numbpe.normalizers import apply_steps

if TYPE_CHECKING:
    from numbpe.encoder import Encoder
    from numbpe.tokenizer import Tokenizer

_PLACES_TRIED: Final = 32
_ASCII_WINDOW_NBYTES: Final = 1 << 16
_FIRST_WINDOW_NBYTES: Final = 1 << 10


def choose_find_cut(tokenizer: "Tokenizer") -> FindCut | None:
    """Return how to find where raw text of one part may be cut; None if nowhere.

    What stands behind a cut is to be changed by the steps of :func:`drop_prefixes`. The text may be
    cut if all other steps change each character alone (a replaced character), or are normalization
    forms.
    """
    steps = list_steps(tokenizer.definition)
    encoder = tokenizer._encoder
    if not steps:
        return encoder.find_cut
    if all(isinstance(step, Normalization) for step in steps):
        return _make_ascii_find_cut(encoder)
    if all(isinstance(step, Replace) and _takes_one_character(step) for step in steps):
        return _make_replacing_find_cut(encoder, steps)
    return None


def list_steps(definition: TokenizerDefinition) -> tuple[TextStep, ...]:
    """Return all steps that change a part, but what they put before it."""
    steps = (*definition.normalizer, *definition.preparation)
    return tuple(step for step in steps if not isinstance(step, Prepend))


def drop_prefixes(definition: TokenizerDefinition) -> TokenizerDefinition:
    """Return a definition that puts nothing before a part."""

    def drop(steps: Sequence[TextStep]) -> tuple[TextStep, ...]:
        return tuple(step for step in steps if not isinstance(step, Prepend))

    return replace(
        definition,
        normalizer=drop(definition.normalizer),
        preparation=drop(definition.preparation),
    )


def _takes_one_character(step: Replace) -> bool:
    return not step.is_regex and len(step.pattern) == 1


def _make_ascii_find_cut(encoder: "Encoder") -> FindCut:
    """Cut between two ASCII characters: no normalization form changes them, or joins anything with
    one that stands behind it."""

    def find_cut(text: TextArray, start: int, stop: int) -> int:
        first = max(start, stop - _ASCII_WINDOW_NBYTES)
        is_ascii = text[first:stop] < 0x80
        places = np.flatnonzero(is_ascii[:-1] & is_ascii[1:])[-_PLACES_TRIED:] + (first + 1)
        for place in places[::-1].tolist():
            if encoder.find_cut(text, place - 1, place + 1) == place:
                return int(place)
        return -1

    return find_cut


def _make_replacing_find_cut(encoder: "Encoder", steps: Sequence[TextStep]) -> FindCut:
    """Cut where the changed text may be cut, if that is between two characters of the raw text."""

    def find_cut(text: TextArray, start: int, stop: int) -> int:
        n_bytes = _FIRST_WINDOW_NBYTES
        while True:
            first = max(start, stop - n_bytes)
            cut = find_in_window(text, first, stop)
            if cut >= 0 or first == start:
                return cut
            n_bytes *= 8

    def find_in_window(text: TextArray, first: int, stop: int) -> int:
        characters = [*_decode_whole_characters(text, first, stop)]
        if len(characters) < 2:
            return -1
        changed = [apply_steps(steps, character).encode() for character in characters]
        raw_start = first + _skip_continuation(text, first, stop)
        raw_ends = raw_start + np.cumsum([len(character.encode()) for character in characters])
        changed_ends = np.cumsum(list(map(len, changed)))
        changed_text = copy_text(b"".join(changed))
        limit = int(changed_ends[-1])
        for _ in range(_PLACES_TRIED):
            limit = encoder.find_cut(changed_text, 0, limit)
            if limit < 0:
                return -1
            i = int(np.searchsorted(changed_ends, limit))
            if changed_ends[i] == limit:
                return int(raw_ends[i])
        return -1

    return find_cut


def _skip_continuation(text: TextArray, first: int, stop: int) -> int:
    """Return how many bytes at ``first`` belong to a character that began before."""
    n_bytes = 0
    while first + n_bytes < stop and text[first + n_bytes] & 0xC0 == 0x80:
        n_bytes += 1
    return n_bytes


def _decode_whole_characters(text: TextArray, first: int, stop: int) -> str:
    """Return the characters that lie inside text[first:stop], which is a part of UTF-8."""
    start = first + _skip_continuation(text, first, stop)
    # Only the last character can be cut off.
    return text[start:stop].tobytes().decode("utf-8", "ignore")

"""Texts to parts that the encoder takes: cut at added tokens, normalized in between."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from numbpe.added_tokens import AddedTokenMatcher, SpecialPolicy
from numbpe.arrays import Offsets, TextArray, copy_text
from numbpe.definition import TokenizerDefinition
from numbpe.errors import ArgumentError, shorten_value
from numbpe.normalizers import apply_steps, may_change


@dataclass(frozen=True, slots=True)
class PreparedText:
    """Parts of texts, ready to be encoded.

    text: readable ``TEXT_PADDING`` bytes past the last stop.
    parts: (p, 3) int64: start, stop, and the id of the added token behind it, -1 for none.
    first_parts: (n + 1,) int64: the parts of text i are ``parts[first_parts[i]:first_parts[i + 1]]``.
    """

    text: TextArray
    parts: NDArray[np.int64]
    first_parts: Offsets


class Segmenter:
    """Prepares texts for one tokenizer; any number of threads may use one object."""

    def __init__(self, definition: TokenizerDefinition) -> None:
        self.matcher = AddedTokenMatcher(definition)
        self._normalizer = definition.normalizer
        self._preparation = definition.preparation

    def prepare(self, texts: Sequence[str | bytes], special: SpecialPolicy) -> PreparedText:
        """Return the parts of ``texts``.

        Raises ArgumentError for what is neither str nor bytes, and under the policy ``"error"`` for
        a special token.
        """
        contents = [encode_utf8(text) for text in texts]
        bounds = np.zeros(len(contents) + 1, dtype=np.int64)
        np.cumsum([len(content) for content in contents], out=bounds[1:])
        text = copy_text(b"".join(contents))
        rows = np.stack([bounds[:-1], bounds[1:]], axis=1)
        return self.prepare_array(text, rows, special)

    def prepare_array(
        self, text: TextArray, rows: NDArray[np.int64], special: SpecialPolicy
    ) -> PreparedText:
        """Return the parts of texts that lie in one array.

        rows: (n, 2) int64, start and stop of each text.
        """
        parts: list[NDArray[np.int64]] = []
        first_parts = np.zeros(len(rows) + 1, dtype=np.int64)
        for i, (start, stop) in enumerate(rows.tolist()):
            matches = self.matcher.find(text, start, stop, special)
            found = cut_at_matches(start, stop, matches)
            parts.append(found)
            first_parts[i + 1] = first_parts[i] + len(found)
        joined = np.concatenate([np.empty((0, 3), dtype=np.int64), *parts])
        prepared = PreparedText(text, joined, first_parts)
        if self._normalizer or self._preparation or self.matcher.has_normalized:
            return self.normalize_parts(prepared, special)
        return prepared

    def normalize_parts(self, prepared: PreparedText, special: SpecialPolicy) -> PreparedText:
        """Return parts that lie between added tokens of the raw text, changed by all steps."""
        texts: list[bytes] = []
        rows: list[tuple[int, int, int]] = []
        first_parts = np.zeros(len(prepared.first_parts), dtype=np.int64)
        position = 0
        n_parts = 0
        for i, (first, last) in enumerate(pairwise(prepared.first_parts.tolist())):
            for j, (start, stop, token_id) in enumerate(prepared.parts[first:last].tolist()):
                content = prepared.text[start:stop].tobytes()
                pieces = self._normalize(content, j == 0, special)
                pieces[-1] = (pieces[-1][0], token_id)
                for changed, behind in pieces:
                    texts.append(changed)
                    rows.append((position, position + len(changed), behind))
                    position += len(changed)
                n_parts += len(pieces)
            first_parts[i + 1] = n_parts
        parts = np.array(rows, dtype=np.int64).reshape(-1, 3)
        return PreparedText(copy_text(b"".join(texts)), parts, first_parts)

    def _normalize(
        self, content: bytes, is_first: bool, special: SpecialPolicy
    ) -> list[tuple[bytes, int]]:
        """Return what one part of raw text becomes: texts and the ids of added tokens behind them,
        -1 behind the last."""
        text = content.decode("utf-8", "surrogateescape")
        if self._normalizer and may_change(self._normalizer, text):
            text = apply_steps(self._normalizer, text, is_first=is_first)
            content = text.encode("utf-8", "surrogateescape")
        found = [(content, -1)]
        if self.matcher.has_normalized:
            array = copy_text(content)
            matches = self.matcher.find_normalized(array, 0, len(content), special)
            cut = cut_at_matches(0, len(content), matches).tolist()
            found = [(content[start:stop], token_id) for start, stop, token_id in cut]
        if not self._preparation:
            return found
        prepared: list[tuple[bytes, int]] = []
        for k, (part, behind) in enumerate(found):
            text = part.decode("utf-8", "surrogateescape")
            text = apply_steps(self._preparation, text, is_first=is_first and k == 0)
            prepared.append((text.encode("utf-8", "surrogateescape"), behind))
        return prepared


def cut_at_matches(start: int, stop: int, matches: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return text[start:stop] as parts: one before each match, and one behind the last."""
    parts = np.empty((len(matches) + 1, 3), dtype=np.int64)
    parts[0, 0] = start
    parts[1:, 0] = matches[:, 1]
    parts[:-1, 1] = matches[:, 0]
    parts[-1, 1] = stop
    parts[:-1, 2] = matches[:, 2]
    parts[-1, 2] = -1
    return parts


def encode_utf8(text: object) -> bytes:
    """Return the bytes of a text, surrogates repaired; ArgumentError if it is no text."""
    if isinstance(text, bytes):
        return text
    if not isinstance(text, str):
        raise ArgumentError(
            f"text must be a str or bytes, not {type(text).__name__} ({shorten_value(text)})"
        )
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        return repair_surrogates(text).encode("utf-8")


def repair_surrogates(text: str) -> str:
    """Return ``text`` with pairs of surrogates joined, and U+FFFD for each that has no partner."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")

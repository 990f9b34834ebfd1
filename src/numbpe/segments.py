"""Texts to parts that the encoder takes: cut at added tokens, normalized in between."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from numbpe.added_tokens import AddedTokenMatcher, SpecialPolicy
from numbpe.alignments import apply_steps_aligned
from numbpe.arrays import Offsets, TextArray, copy_text, join_texts
from numbpe.definition import Prepend, TextStep, TokenizerDefinition
from numbpe.normalizers import may_change
from numbpe.quick_ways import AS_IS, QuickWay
from numbpe.short_changes import find_short_change
from numbpe.text_changes import TextChanger, leave_ascii
from numbpe.utf8 import encode_utf8

_LONG_NBYTES: Final = 1 << 12
"""From this length on a text that may be cut at added tokens is cut by a kernel at once, which takes a
microsecond, and not searched for their beginnings before: that takes 0.4 ns a byte."""


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
        self._normalizer_changer = TextChanger(self._normalizer)
        self._preparation_changer = TextChanger(self._preparation)
        self._moves_starts = bool(self._normalizer) and any(
            isinstance(step, Prepend) and step.first_only for step in self._preparation
        )
        self._changes_text = bool(
            self._normalizer or self._preparation or self.matcher.has_normalized
        )
        steps = (*self._normalizer, *self._preparation)
        self._first_character = self.matcher.find_first_character()
        self._leaves_ascii = not self.matcher.has_normalized and leave_ascii(steps)
        change = None if self.matcher.has_normalized else find_short_change(steps)
        cut = self.matcher.cut_into
        self._ways_as_is = AS_IS, QuickWay(cut, None)
        self._ways_changed = change and (QuickWay(None, change), QuickWay(cut, change))

    def find_quick_way(self, text: str) -> QuickWay | None:
        """Return how a text is encoded quickly, None if there is no such way."""
        if not self._changes_text or (self._leaves_ascii and text.isascii()):
            ways = self._ways_as_is
        elif self._ways_changed is not None:
            ways = self._ways_changed
        else:
            return None
        first = self._first_character
        return ways[first is None or (first != "" and first in text)]

    def change_whole(self, content: bytes, special: SpecialPolicy, is_ascii: bool) -> bytes | None:
        """Return what a text becomes if it is one part, without an added token; None otherwise.

        content, is_ascii: the text, and whether all of it is ASCII, which a str knows of itself.

        It may say None of a text that is one part, where seeing that would take long.
        """
        is_left = not self._changes_text or (self._leaves_ascii and is_ascii)
        if is_left and len(content) >= _LONG_NBYTES:
            return None if self.matcher.may_begin(content, special) else content
        if self.matcher.may_find(content, special):
            return None
        if is_left:
            return content
        changed = self._normalizer_changer.change_text(content)
        is_moved = self._moves_starts and changed != content
        if is_moved or self.matcher.may_find_normalized(changed, special):
            return None
        return self._preparation_changer.change_text(changed) if self._preparation else changed

    def leaves_text(self, content: bytes) -> bool:
        """Return whether text between added tokens stays as it is, as far as it is quick to see."""
        return not self._changes_text or (self._leaves_ascii and content.isascii())

    def prepare(self, texts: Sequence[str | bytes], special: SpecialPolicy) -> PreparedText:
        """Return the parts of ``texts``.

        Raises ArgumentError for what is neither str nor bytes, and under the policy ``"error"`` for
        a special token.
        """
        contents = [encode_utf8(text) for text in texts]
        if len(contents) == 1:
            rows = np.array([[0, len(contents[0])]], dtype=np.int64)
            return self.prepare_array(copy_text(contents[0]), rows, special)
        bounds = np.zeros(len(contents) + 1, dtype=np.int64)
        np.cumsum([len(content) for content in contents], out=bounds[1:])
        rows = np.stack([bounds[:-1], bounds[1:]], axis=1)
        return self.prepare_array(join_texts(contents), rows, special)

    def prepare_array(
        self, text: TextArray, rows: NDArray[np.int64], special: SpecialPolicy
    ) -> PreparedText:
        """Return the parts of texts that lie in one array.

        rows: (n, 2) int64, start and stop of each text.
        """
        prepared = PreparedText(text, *self.matcher.find_in_rows(text, rows, special))
        return self.normalize_parts(prepared, special) if self._changes_text else prepared

    def normalize_parts(self, prepared: PreparedText, special: SpecialPolicy) -> PreparedText:
        """Return parts that lie between added tokens of the raw text, changed by all steps.

        The first part of a text is taken for its start.
        """
        raw = prepared
        prepared = _change_parts(raw, self._normalizer_changer, raw.first_parts[:-1].tolist())
        if self.matcher.has_normalized:
            parts, first_parts = self.matcher.find_normalized_in_rows(
                prepared.text, prepared.parts[:, :2], special
            )
            parts[first_parts[1:] - 1, 2] = prepared.parts[:, 2]
            prepared = PreparedText(prepared.text, parts, first_parts[prepared.first_parts])
        if not self._preparation:
            return prepared
        heads = prepared.first_parts[:-1].tolist()
        if self._moves_starts:
            heads = _find_heads(raw, prepared, self._normalizer)
        return _change_parts(prepared, self._preparation_changer, heads)


def _change_parts(prepared: PreparedText, changer: TextChanger, heads: list[int]) -> PreparedText:
    changed = changer.change(prepared.text, prepared.parts, heads)
    return PreparedText(*changed, prepared.first_parts) if changed else prepared


def _find_heads(
    raw: PreparedText, prepared: PreparedText, normalizer: Sequence[TextStep]
) -> list[int]:
    """Return the parts of ``prepared`` whose first character is from the first one of its text.

    That is how ``tokenizers`` finds the start of a text: what is left of one whose first characters
    the normalizer has deleted does not stand there, but what follows a token that is made of what
    the normalizer has put before the first character does.
    """
    heads: list[int] = []
    starts = prepared.parts[:, 0].tolist()
    n_parts = len(starts)
    for raw_part, part in zip(
        raw.first_parts[:-1], prepared.first_parts[:-1].tolist(), strict=True
    ):
        start, stop, _ = raw.parts[raw_part].tolist()
        text = raw.text[start:stop].tobytes().decode("utf-8", "surrogateescape")
        if not may_change(normalizer, text):
            heads.append(part)
            continue
        changed, spans = apply_steps_aligned(normalizer, text)
        is_behind = np.append(spans[:, 0] > 0, True)
        head = changed[: int(is_behind.argmax())].encode("utf-8", "surrogateescape")
        head_stop = starts[part] + len(head)
        while part < n_parts and starts[part] < head_stop:
            heads.append(part)
            part += 1
    return heads

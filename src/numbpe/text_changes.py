"""Changing many texts at once: most steps run over all of them joined, not text after text."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from numbpe.arrays import TextArray, join_texts
from numbpe.definition import Lowercase, Normalization, Prepend, Replace, StripAccents, TextStep
from numbpe.nfc_changes import MIN_NBYTES, Composer
from numbpe.normalizers import apply_steps, find_prefix

_SEPARATORS: Final = tuple(map(chr, (*range(9), *range(14, 32))))
"""ASCII characters that are no white space. No Unicode normalization joins one with another
character, makes one, or moves a mark over one, and none has an upper case."""

_ASCII_NEUTRAL: Final = (Normalization, StripAccents)


def leave_ascii(steps: Sequence[TextStep]) -> bool:
    """Return whether ``steps`` change nothing but characters beyond ASCII."""
    return all(isinstance(step, _ASCII_NEUTRAL) for step in steps)


class TextChanger:
    """Runs the same steps over many texts; never changes.

    Texts need not be UTF-8: bytes that are not stay as they are.
    """

    def __init__(self, steps: Sequence[TextStep]) -> None:
        self._steps = tuple(steps)
        self._leaves_ascii = leave_ascii(steps)
        self._composer = Composer() if self._steps == (Normalization("NFC"),) else None
        known = "".join(
            step.pattern + step.content if isinstance(step, Replace) else step.content
            for step in steps
            if isinstance(step, (Replace, Prepend))
        )
        self._separators = [separator for separator in _SEPARATORS if separator not in known]

    def change_text(self, content: bytes) -> bytes:
        """Return one whole text changed by the steps."""
        if self._composer is not None:
            return self._composer.change_text(content)
        changed = apply_steps(self._steps, content.decode("utf-8", "surrogateescape"))
        return changed.encode("utf-8", "surrogateescape")

    def change(
        self, text: TextArray, parts: NDArray[np.int64], heads: Sequence[int]
    ) -> tuple[TextArray, NDArray[np.int64]] | None:
        """Return parts of a text changed by the steps: another text, and where they lie in it.

        parts: (p, 3) int64, start and stop of each, ascending, and what is to be kept.
        heads: the numbers of those that stand at the start of a text, ascending.

        Returns None if it is certain that all stay as they are.
        """
        if not len(parts) or not self._steps:
            return None
        start, stop = int(parts[0, 0]), int(parts[-1, 1])
        if self._composer is not None and stop - start >= MIN_NBYTES:
            return self._composer.change_parts(text, parts)
        data = text[start:stop].tobytes()
        if self._leaves_ascii and data.isascii():
            return None
        contents = [data]
        if len(parts) > 1:
            contents = [data[a - start : b - start] for a, b, _ in parts.tolist()]
        separator = next((one for one in self._separators if one.encode() not in data), None)
        if separator is None:
            return self._change_each(contents, parts, heads)
        joined = separator.encode().join(contents).decode("utf-8", "surrogateescape")
        changed = _change_joined(self._steps, joined, separator, heads)
        if changed == joined:
            return None
        data = changed.encode("utf-8", "surrogateescape")
        array = join_texts([data])
        changed_parts = parts.copy()
        changed_parts[0, 0] = 0
        changed_parts[-1, 1] = len(data)
        if len(parts) > 1:
            borders = (array[: len(data)] == ord(separator)).nonzero()[0]
            changed_parts[:-1, 1] = borders
            changed_parts[1:, 0] = borders + 1
        return array, changed_parts

    def _change_each(
        self, contents: list[bytes], parts: NDArray[np.int64], heads: Sequence[int]
    ) -> tuple[TextArray, NDArray[np.int64]]:
        """Do the same where no separator can be put between the texts."""
        starts = set(heads)
        changed: list[bytes] = []
        for k, content in enumerate(contents):
            text = content.decode("utf-8", "surrogateescape")
            text = apply_steps(self._steps, text, is_first=k in starts)
            changed.append(text.encode("utf-8", "surrogateescape"))
        changed_parts = parts.copy()
        np.cumsum([len(content) for content in changed], out=changed_parts[:, 1])
        changed_parts[0, 0] = 0
        changed_parts[1:, 0] = changed_parts[:-1, 1]
        return join_texts(changed), changed_parts


def _change_joined(
    steps: Sequence[TextStep], joined: str, separator: str, heads: Sequence[int]
) -> str:
    """Return texts with a separator between them, each changed by ``steps``."""
    for step in steps:
        match step:
            case Normalization() | Lowercase() | StripAccents():
                joined = apply_steps([step], joined)
            case Replace(pattern, content, False) if pattern:
                joined = joined.replace(pattern, content)
            case Prepend():
                parts = joined.split(separator)
                starts = set(heads)
                joined = separator.join(
                    [find_prefix(step, part, k in starts) + part for k, part in enumerate(parts)]
                )
            case _:
                parts = joined.split(separator)
                joined = separator.join([apply_steps([step], part) for part in parts])
    return joined

"""Steps of a normalizer on text that comes in portions: what later text may change is held back.

Normalization forms hold back from the last character on with which later ones may compose; Strip
holds white space; Replace the start of an occurrence; Prepend what tells whether it is due. A
Replace by a regular expression, and one of "", hold back all until the end of the text.
"""

import codecs
from collections.abc import Sequence

from numbpe.alignments import starts_segment
from numbpe.definition import (
    Lowercase,
    Normalization,
    Prepend,
    Replace,
    Strip,
    StripAccents,
    TextStep,
)
from numbpe.normalizers import WHITE_SPACE, apply_steps, find_prefix


class StepChain:
    """Changes one text after another, each in portions of bytes, by steps."""

    def __init__(self, steps: Sequence[TextStep]) -> None:
        self._steps = steps
        self.restart(is_first=True)

    def restart(self, *, is_first: bool) -> None:
        """Begin another text; ``is_first`` as in ``apply_steps``."""
        self._stages = [_make_stage(step, is_first) for step in self._steps]
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")

    def push(self, content: bytes, *, is_last: bool) -> bytes:
        """Return what is certain of the changed text, now that ``content`` has come."""
        if not self._steps:
            return content
        text = self._decoder.decode(content, is_last)
        for stage in self._stages:
            text = stage.push(text, is_last)
        return text.encode("utf-8", "surrogateescape")


class _Stage:
    """One step; this one changes each character for itself."""

    def __init__(self, step: TextStep) -> None:
        self._step = step
        self._held: list[str] = []

    def push(self, text: str, is_last: bool) -> str:
        return apply_steps([self._step], text)

    def _take(self, *more: str) -> str:
        """Return all that is held back, with what comes behind, and hold nothing."""
        text = "".join([*self._held, *more])
        self._held.clear()
        return text


class _WholeStage(_Stage):
    """Holds back everything."""

    def push(self, text: str, is_last: bool) -> str:
        self._held.append(text)
        return apply_steps([self._step], self._take()) if is_last else ""


class _NormalizationStage(_Stage):
    def push(self, text: str, is_last: bool) -> str:
        start = len(text)
        while not is_last:
            start -= 1
            if start < 0:
                self._held.append(text)
                return ""
            if starts_segment(ord(text[start])):
                break
        changed = apply_steps([self._step], self._take(text[:start]))
        self._held.append(text[start:])
        return changed


class _StripStage(_Stage):
    def __init__(self, step: Strip) -> None:
        super().__init__(step)
        self._strips_left = step.left
        self._strips_right = step.right

    def push(self, text: str, is_last: bool) -> str:
        if self._strips_left:
            text = text.lstrip(WHITE_SPACE)
            self._strips_left = not text
        if not self._strips_right:
            return text
        kept = text.rstrip(WHITE_SPACE)
        changed = self._take(kept) if kept else ""
        self._held.append(text[len(kept) :])
        return changed


class _ReplaceStage(_Stage):
    def __init__(self, step: Replace) -> None:
        super().__init__(step)
        self._pattern = step.pattern
        self._content = step.content

    def push(self, text: str, is_last: bool) -> str:
        parts = self._take(text).split(self._pattern)
        if not is_last:
            rest = parts[-1]
            first = max(0, len(rest) - len(self._pattern) + 1)
            starts = (i for i in range(first, len(rest)) if self._pattern.startswith(rest[i:]))
            cut = next(starts, len(rest))
            parts[-1] = rest[:cut]
            self._held.append(rest[cut:])
        return self._content.join(parts)


class _PrependStage(_Stage):
    def __init__(self, step: Prepend, is_first: bool) -> None:
        super().__init__(step)
        self._due: Prepend | None = step
        self._is_first = is_first

    def push(self, text: str, is_last: bool) -> str:
        if self._due is None:
            return text
        text = self._take(text)
        if not is_last and len(text) < max(1, len(self._due.unless)):
            self._held.append(text)
            return ""
        text = find_prefix(self._due, text, self._is_first) + text
        self._due = None
        return text


def _make_stage(step: TextStep, is_first: bool) -> _Stage:
    match step:
        case Normalization():
            return _NormalizationStage(step)
        case Strip():
            return _StripStage(step)
        case Prepend():
            return _PrependStage(step, is_first)
        case Replace(pattern, _, is_regex):
            return _WholeStage(step) if is_regex or not pattern else _ReplaceStage(step)
        case Lowercase() | StripAccents():
            return _Stage(step)

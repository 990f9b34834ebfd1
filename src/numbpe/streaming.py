"""Encoding one text that comes in portions: what later portions may still change is held back.

The ids are those of the whole text. A portion goes the way of a text (``definition``), and each stage
holds back what is undecided there: a character or a pair of surrogates that is not complete, the
start of an added token, what the normalizer has to wait for, and the last pieces of the pattern.
Without a pattern it is the last word that the encoder cannot cut; a pattern that is no automaton,
and a vocabulary that cannot be cut anywhere, hold back all to the end of the part. So does a
tokenizer with a normalizer that also puts something before the very first part of a text.
"""

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Final
from weakref import WeakKeyDictionary

import numpy as np

from numbpe.added_tokens import SpecialPolicy
from numbpe.arrays import TokenIds, allocate_text
from numbpe.definition import Prepend, TokenizerDefinition
from numbpe.encoder import Encoder
from numbpe.errors import ArgumentError, shorten_value
from numbpe.patterns import Pattern
from numbpe.segments import Segmenter
from numbpe.stream_cutter import AT_END, OPEN, TokenMatchers
from numbpe.stream_steps import StepChain
from numbpe.utf8 import encode_utf8
from numbpe_kernels.automaton import Automaton
from numbpe_kernels.constants import TEXT_PADDING
from numbpe_kernels.decided import (
    MARK,
    PIECE_START,
    POSITION,
    RETRY,
    ROW,
    STATE_SIZE,
    automaton_count_separable,
    automaton_find_decided,
)
from numbpe_kernels.utf8 import utf8_find_truncated

_PORTION_SIZE: Final = 1 << 18
"""Longer items are taken in portions of so many characters or bytes, so that memory is bounded."""

_ENDS_A_CALL: Final = 1024

_FIRST_NON_ASCII: Final = 0x80

_LONGEST_PAIR: Final = 8
"""Bytes of the two characters between which text may be cut."""

# One encoder belongs to one definition; of a definition there is nothing to hash.
_matchers: "WeakKeyDictionary[Encoder, TokenMatchers]" = WeakKeyDictionary()


def encode_stream(
    definition: TokenizerDefinition,
    pattern: Pattern | None,
    encoder: Encoder,
    texts: Iterable[str | bytes],
    special: SpecialPolicy,
) -> Iterator[TokenIds]:
    """Yield arrays of ids, none of them empty, that joined are those of all ``texts`` joined.

    texts: an iterable of str, or one of bytes, of which each item is taken when it is needed; a
        single str or bytes is one item. Characters and pairs of surrogates may lie across items.

    Raises ArgumentError for items of another type, or of both types; and what encoding raises.
    """
    if isinstance(texts, (str, bytes)):
        texts = [texts]
    try:
        items = iter(texts)
    except TypeError:
        raise ArgumentError(
            "cannot encode a stream: texts must be an iterable of str or bytes, such as an open "
            f"file, not {type(texts).__name__} ({shorten_value(texts)}); write [text] for one text"
        ) from None
    stream: TextStream | WholeStream
    if _needs_whole(definition):
        stream = WholeStream(definition, encoder, special)
    else:
        stream = TextStream(definition, pattern, encoder, special)
    return _generate(stream, items)


def _needs_whole(definition: TokenizerDefinition) -> bool:
    """Return whether it is known at the end only which part stands at the start of the text.

    That depends on which of its first characters the normalizer leaves; see ``segments``.
    """
    return bool(definition.normalizer) and any(
        isinstance(step, Prepend) and step.first_only for step in definition.preparation
    )


def _generate(stream: "TextStream | WholeStream", items: Iterator[object]) -> Iterator[TokenIds]:
    for content in _iterate_contents(items):
        yield from stream.push(content)
    yield from stream.finish()


def _iterate_contents(items: Iterator[object]) -> Iterator[bytes]:
    """Yield the bytes of items in portions; those of surrogates when both halves have come."""
    expected: type[str | bytes] | None = None
    held = ""
    for number, item in enumerate(items):
        if not isinstance(item, (str, bytes)):
            raise ArgumentError(
                f"cannot encode item {number} of the stream: it must be a str or bytes, not "
                f"{type(item).__name__} ({shorten_value(item)})"
            )
        kind: type[str | bytes] = str if isinstance(item, str) else bytes
        expected = expected or kind
        if kind is not expected:
            raise ArgumentError(
                f"cannot encode item {number} of the stream: it is {kind.__name__}, but those before "
                f"are {expected.__name__}; give items of one type, such as item.encode()"
            )
        for start in range(0, len(item), _PORTION_SIZE):
            portion = item[start : start + _PORTION_SIZE]
            if isinstance(portion, bytes):
                yield portion
                continue
            portion = held + portion
            held = portion[-1] if "\ud800" <= portion[-1] < "\udc00" else ""
            yield encode_utf8(portion[:-1] if held else portion)
    if held:
        yield encode_utf8(held)


class WholeStream:
    """Takes one text in portions of bytes, and gives all ids at its end."""

    def __init__(
        self, definition: TokenizerDefinition, encoder: Encoder, special: SpecialPolicy
    ) -> None:
        self._segmenter = Segmenter(definition)
        self._encoder = encoder
        self._special: SpecialPolicy = special
        self._contents: list[bytes] = []

    def push(self, content: bytes) -> list[TokenIds]:
        """Take ``content``; nothing is certain yet."""
        self._contents.append(content)
        return []

    def finish(self) -> list[TokenIds]:
        """Return the ids of all that has come."""
        prepared = self._segmenter.prepare([b"".join(self._contents)], self._special)
        ids, _ = self._encoder.encode_parts(prepared.text, prepared.parts, is_lean=True)
        return [ids] if len(ids) else []


class TextStream:
    """Takes one text in portions of bytes, and gives ids as soon as they are certain."""

    def __init__(
        self,
        definition: TokenizerDefinition,
        pattern: Pattern | None,
        encoder: Encoder,
        special: SpecialPolicy,
    ) -> None:
        matchers = _matchers.get(encoder)
        if matchers is None:
            matchers = _matchers[encoder] = TokenMatchers(definition)
        self._raw_cutter = matchers.make_cutter(special, normalized=False)
        self._normalizer = StepChain(definition.normalizer)
        self._normalized_cutter = matchers.make_cutter(special, normalized=True)
        self._preparation = StepChain(definition.preparation)
        self._pieces = PieceStream(pattern, encoder)

    def push(self, content: bytes) -> list[TokenIds]:
        """Return the ids that are certain now that ``content`` has come."""
        return self._push_raw(content, is_last=False)

    def finish(self) -> list[TokenIds]:
        """Return the rest of the ids: the text has come to its end."""
        return self._push_raw(b"", is_last=True)

    def _push_raw(self, content: bytes, *, is_last: bool) -> list[TokenIds]:
        for portion, token_id in self._raw_cutter.push(content, is_last=is_last):
            ends_part = token_id != OPEN
            changed = self._normalizer.push(portion, is_last=ends_part)
            for inner, inner_id in self._normalized_cutter.push(changed, is_last=ends_part):
                self._push_normalized(inner, token_id if inner_id == AT_END else inner_id)
            if ends_part:
                self._normalizer.restart(is_first=False)
        return self._pieces.take()

    def _push_normalized(self, portion: bytes, token_id: int) -> None:
        prepared = self._preparation.push(portion, is_last=token_id != OPEN)
        self._pieces.push(prepared, token_id)
        if token_id != OPEN:
            self._preparation.restart(is_first=False)


class PieceStream:
    """Takes the parts of a text in portions; encodes the pieces that nothing later can change."""

    def __init__(self, pattern: Pattern | None, encoder: Encoder) -> None:
        self._encoder = encoder
        self._automaton = None if pattern is None else pattern.automaton
        self._text = allocate_text(1 << 12)
        self._start = 0
        self._stop = 0
        # Before this position no place to cut was found.
        self._searched = 0
        self._state = np.zeros(STATE_SIZE, dtype=np.int64)
        self._ends = np.empty(_ENDS_A_CALL, dtype=np.int64)
        self._found: list[TokenIds] = []
        # Whether a piece was found that would be cut otherwise as a text of its own.
        self._is_stuck: bool = False
        self._begin_scan()

    def take(self) -> list[TokenIds]:
        """Return the ids found since the last call."""
        found = [ids for ids in self._found if len(ids)]
        self._found = []
        return found

    def push(self, content: bytes, token_id: int) -> None:
        """Take a portion of a part; ``token_id`` as in :data:`numbpe.stream_cutter.Portion`."""
        if content:
            self._append(content)
        if token_id == OPEN:
            if content:
                self._encode_decided()
            return
        if token_id != AT_END or self._start < self._stop:
            self._encode([(self._start, self._stop, token_id)])
        self._start = self._stop = self._searched = 0
        self._begin_scan()

    def _append(self, content: bytes) -> None:
        if self._stop + len(content) > len(self._text) - TEXT_PADDING:
            self._make_room(len(content))
        stop = self._stop + len(content)
        self._text[self._stop : stop] = np.frombuffer(content, dtype=np.uint8)
        self._stop = stop

    def _make_room(self, n_bytes: int) -> None:
        """Move what is held to the front, of a larger array unless half of this one is free then."""
        held = self._text[self._start : self._stop].copy()
        n_needed = len(held) + n_bytes
        if 2 * n_needed > len(self._text):
            self._text = allocate_text(4 * n_needed)
        self._text[: len(held)] = held
        self._state[[POSITION, MARK, PIECE_START, RETRY]] -= self._start
        self._searched = max(0, self._searched - self._start)
        self._start, self._stop = 0, len(held)

    def _encode_decided(self) -> None:
        first = max(self._start, self._searched - _LONGEST_PAIR)
        cut = self._encoder.find_cut(self._text, first, self._stop)
        self._searched = self._stop
        if cut > self._start:
            self._encode([(self._start, cut, OPEN)])
            self._start = cut
            self._begin_scan()
        if self._automaton is not None and self._start < self._stop:
            self._encode_pieces(self._automaton)

    def _encode_pieces(self, automaton: Automaton) -> None:
        """Encode pieces, each as a text of its own, up to the first that is not decided."""
        text, stop = self._text, self._stop
        if text[stop - 1] >= _FIRST_NON_ASCII:
            stop = utf8_find_truncated(text, self._start, stop)
        n_ends = len(self._ends)
        while n_ends == len(self._ends) and not self._is_stuck:
            n_ends = automaton_find_decided(automaton, text, stop, self._state, self._ends)
            if n_ends == 0:
                return
            n_apart = automaton_count_separable(automaton, text, self._start, self._ends, n_ends)
            self._is_stuck = n_apart < n_ends
            bounds = [self._start, *self._ends[:n_apart].tolist()]
            self._encode([(start, end, OPEN) for start, end in pairwise(bounds)])
            self._start = bounds[-1]

    def _begin_scan(self) -> None:
        """Look for pieces from the start of what is held: a text of its own begins there."""
        self._is_stuck = False
        self._state[:] = self._start
        self._state[ROW] = 0 if self._automaton is None else self._automaton.start_rows[0]

    def _encode(self, parts: list[tuple[int, int, int]]) -> None:
        if not parts:
            return
        start, stop, token_id = parts[0]
        if len(parts) == 1 and token_id < 0:
            content = self._text[start:stop].tobytes()
            self._found.append(self._encoder.encode_text(content, is_lean=True))
            return
        rows = np.array(parts, dtype=np.int64)
        np.maximum(rows[:, 2], AT_END, out=rows[:, 2])
        self._found.append(self._encoder.encode_parts(self._text, rows, is_lean=True)[0])

"""What ``tokenizers`` returns for a text: ids, and for each of them where it comes from."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Final, Literal, NamedTuple, Protocol

from numbpe.errors import ArgumentError, shorten_value

TEXT: Final = 0
SPECIAL: Final = 1
PADDING: Final = 2
"""Kinds of spans: ids of a text, of a template, and of padding."""


class Speller(Protocol):
    """What an encoding needs of its tokenizer."""

    def id_to_token(self, id: int) -> str | None:
        """Return how a token is spelled."""

    def find_offsets(self, text: str, special: Any) -> list[tuple[int, int]]:
        """Return the characters that each token of a text stands for."""

    def find_words(self, text: str, special: Any) -> list[int]:
        """Return the number of the piece that each token of a text comes from."""


class Source:
    """One text, whose offsets and pieces are found when they are first asked for.

    word: the number of the piece that all tokens come from, None to look for pieces.
    """

    def __init__(self, speller: Speller, text: str, special: Any, word: int | None) -> None:
        self._speller = speller
        self._text = text
        self._special = special
        self._word = word

    @cached_property
    def offsets(self) -> list[tuple[int, int]]:
        """The characters that each token stands for."""
        return self._speller.find_offsets(self._text, self._special)

    def find_words(self, n_ids: int) -> list[int]:
        """Return the number of the piece of each of ``n_ids`` tokens, which are all there are."""
        return [self._word] * n_ids if self._word is not None else self._words

    @cached_property
    def _words(self) -> list[int]:
        return self._speller.find_words(self._text, self._special)


class Span(NamedTuple):
    """Successive ids that come from one place.

    source, start: the text that they are part of, and the number there of the first of them.
    token: how padding is spelled.
    """

    ids: list[int]
    kind: int
    type_id: int
    source: Source | None = None
    start: int = 0
    token: str = ""


class HfEncoding:
    """The ids of a text or of a pair of texts, with the properties of ``tokenizers.Encoding``.

    What is costly, ``offsets`` and ``words``, is worked out when it is first asked for.
    """

    def __init__(
        self,
        speller: Speller,
        spans: Sequence[Span],
        ranges: dict[int, tuple[int, int]] | None = None,
        overflowing: "Sequence[HfEncoding]" = (),
    ) -> None:
        self._speller = speller
        self._spans = list(spans)
        self._ranges = ranges or {}
        self._overflowing = list(overflowing)

    def __len__(self) -> int:
        return sum(len(span.ids) for span in self._spans)

    def __repr__(self) -> str:
        return (
            f"Encoding(num_tokens={len(self)}, attributes=[ids, type_ids, tokens, offsets, "
            "attention_mask, special_tokens_mask, overflowing])"
        )

    # One value for each token

    @property
    def ids(self) -> list[int]:
        """The token ids."""
        return [id for span in self._spans for id in span.ids]

    @property
    def type_ids(self) -> list[int]:
        """The type of each token: which text of a pair it comes from, in models that ask."""
        return self._spread(lambda span: [span.type_id] * len(span.ids))

    @property
    def tokens(self) -> list[str]:
        """How each token is spelled in the file of the tokenizer."""
        spell = self._speller.id_to_token
        return self._spread(
            lambda span: (
                [span.token] * len(span.ids)
                if span.kind == PADDING
                else [spell(id) or "" for id in span.ids]
            )
        )

    @property
    def offsets(self) -> list[tuple[int, int]]:
        """The characters of its text that each token stands for; (0, 0) for none."""
        return self._spread(
            lambda span: (
                span.source.offsets[span.start : span.start + len(span.ids)]
                if span.source
                else [(0, 0)] * len(span.ids)
            )
        )

    @property
    def word_ids(self) -> list[int | None]:
        """The piece of its text that each token comes from; None for none."""
        return self._spread(_list_words)

    @property
    def words(self) -> list[int | None]:
        """The same as :attr:`word_ids`."""
        return self.word_ids

    @property
    def attention_mask(self) -> list[int]:
        """1 for tokens, 0 for padding."""
        return self._spread(lambda span: [int(span.kind != PADDING)] * len(span.ids))

    @property
    def special_tokens_mask(self) -> list[int]:
        """1 for what a template or padding has added, 0 for tokens of text."""
        return self._spread(lambda span: [int(span.kind != TEXT)] * len(span.ids))

    @property
    def sequence_ids(self) -> list[int | None]:
        """Which text of a pair each token comes from; None for none."""
        found: list[int | None] = [None] * len(self)
        for sequence in range(self.n_sequences):
            start, stop = self._get_range(sequence)
            found[start:stop] = [sequence] * (stop - start)
        return found

    @property
    def n_sequences(self) -> int:
        """The number of texts."""
        return len(self._ranges) or 1

    @property
    def overflowing(self) -> "list[HfEncoding]":
        """What truncation has cut off."""
        return list(self._overflowing)

    def _spread(self, list_values: Callable[[Span], Sequence[Any]]) -> list[Any]:
        return [value for span in self._spans for value in list_values(span)]

    def _get_range(self, sequence: int) -> tuple[int, int]:
        return self._ranges.get(sequence, (0, len(self)))

    # From tokens to text and back

    def token_to_sequence(self, token_index: int) -> int | None:
        """Return which text a token comes from."""
        if not 0 <= token_index < len(self):
            return None
        return self.sequence_ids[token_index]

    def token_to_chars(self, token_index: int) -> tuple[int, int] | None:
        """Return the characters that a token stands for."""
        return None if self.token_to_sequence(token_index) is None else self.offsets[token_index]

    def token_to_word(self, token_index: int) -> int | None:
        """Return the piece that a token comes from."""
        return None if self.token_to_sequence(token_index) is None else self.word_ids[token_index]

    def char_to_token(self, char_pos: int, sequence_index: int = 0) -> int | None:
        """Return the token that stands for a character of a text."""
        first, last = self._get_range(sequence_index)
        for i, (start, stop) in enumerate(self.offsets[first:last]):
            if start <= char_pos < stop:
                return first + i
        return None

    def char_to_word(self, char_pos: int, sequence_index: int = 0) -> int | None:
        """Return the piece that a character of a text belongs to."""
        token = self.char_to_token(char_pos, sequence_index)
        return None if token is None else self.token_to_word(token)

    def word_to_tokens(self, word_index: int, sequence_index: int = 0) -> tuple[int, int] | None:
        """Return the first token of a piece, and the one behind its last."""
        first, last = self._get_range(sequence_index)
        words = self.word_ids[first:last]
        if word_index not in words:
            return None
        n_tokens = words.count(word_index)
        start = first + words.index(word_index)
        return start, start + n_tokens

    def word_to_chars(self, word_index: int, sequence_index: int = 0) -> tuple[int, int] | None:
        """Return the characters of a piece."""
        tokens = self.word_to_tokens(word_index, sequence_index)
        if tokens is None:
            return None
        return self.offsets[tokens[0]][0], self.offsets[tokens[1] - 1][1]

    # Changing it

    def set_sequence_id(self, sequence_id: int) -> None:
        """Say which text of a pair this is."""
        self._ranges[sequence_id] = (0, len(self))

    def set_type_ids(self, type_id: int) -> None:
        """Give all tokens one type."""
        self._spans = [span._replace(type_id=type_id) for span in self._spans]

    def truncate(
        self, max_length: int, stride: int = 0, direction: Literal["right", "left"] = "right"
    ) -> None:
        """Cut the encoding to ``max_length`` tokens; the rest becomes ``overflowing``.

        stride: how many tokens of each part the next one has too.
        direction: the side at which tokens are cut off.
        """
        n_tokens = len(self)
        if max_length >= n_tokens:
            return
        if max_length == 0:
            everything = HfEncoding(self._speller, self._spans, self._ranges, self._overflowing)
            self._overflowing = [everything]
            self._spans, self._ranges = [], {}
            return
        if not 0 <= stride < max_length:
            raise ArgumentError(
                f"stride must be below the {max_length} tokens that a text may have beside those "
                f"that are added to it, not {shorten_value(stride)}"
            )
        check_direction(direction)
        bounds = _find_windows(n_tokens, max_length, stride, is_left=direction == "left")
        first, *others = [self._slice(start, stop) for start, stop in bounds]
        self._spans, self._ranges = first, {}
        self._overflowing = [HfEncoding(self._speller, spans) for spans in others]

    def pad(
        self,
        length: int,
        direction: Literal["right", "left"] = "right",
        pad_id: int = 0,
        pad_type_id: int = 0,
        pad_token: str = "[PAD]",
    ) -> None:
        """Fill the encoding, and what overflows from it, up with padding to ``length`` tokens."""
        check_direction(direction)
        for part in self._overflowing:
            part.pad(length, direction, pad_id, pad_type_id, pad_token)
        n_missing = length - len(self)
        if n_missing <= 0:
            return
        span = Span([pad_id] * n_missing, PADDING, pad_type_id, token=pad_token)
        if direction == "right":
            self._spans.append(span)
            return
        self._spans.insert(0, span)
        moved = {
            key: (start + n_missing, stop + n_missing)
            for key, (start, stop) in self._ranges.items()
        }
        self._ranges = moved

    def _slice(self, start: int, stop: int) -> list[Span]:
        found = []
        position = 0
        for span in self._spans:
            first = max(start - position, 0)
            last = min(stop - position, len(span.ids))
            if first < last:
                found.append(span._replace(ids=span.ids[first:last], start=span.start + first))
            position += len(span.ids)
        return found

    def append(self, other: "HfEncoding") -> "HfEncoding":
        """Return this and another one behind it, with all combinations of what overflows.

        As in tokenizers, these have combinations that overflow from them in turn.
        """
        overflowing = []
        for part in self._overflowing:
            overflowing.append(part.append(other))
            overflowing += [part.append(other_part) for other_part in other._overflowing]
        overflowing += [self.append(other_part) for other_part in other._overflowing]
        n_tokens = len(self)
        moved = {
            key: (start + n_tokens, stop + n_tokens) for key, (start, stop) in other._ranges.items()
        }
        spans = [*self._spans, *other._spans]
        return HfEncoding(self._speller, spans, {**self._ranges, **moved}, overflowing)

    @staticmethod
    def merge(encodings: "Sequence[HfEncoding]", growing_offsets: bool = True) -> "HfEncoding":
        """Return encodings joined; their offsets stay as they are."""
        if growing_offsets or not encodings:
            raise NotImplementedError(
                "merge joins one or more encodings with growing_offsets=False; "
                "encode the joined text for offsets in it"
            )
        first, *others = encodings
        for other in others:
            first = first.append(other)
        return first


def check_direction(direction: str) -> None:
    """Raise ArgumentError if there is no such side."""
    if direction not in ("right", "left"):
        raise ArgumentError(f"Unknown `direction`: `{direction}`. Use one of `left` or `right`")


def _list_words(span: Span) -> Sequence[int | None]:
    if span.source is None:
        return [None] * len(span.ids)
    stop = span.start + len(span.ids)
    return span.source.find_words(stop)[span.start : stop]


def _find_windows(
    n_tokens: int, max_length: int, stride: int, *, is_left: bool
) -> list[tuple[int, int]]:
    """Return the bounds of windows, the one that stays first."""
    found = []
    for moved in range(0, n_tokens, max_length - stride):
        start, stop = moved, min(moved + max_length, n_tokens)
        if is_left:
            start, stop = n_tokens - stop, n_tokens - start
        found.append((start, stop))
        if moved + max_length >= n_tokens:
            break
    return found

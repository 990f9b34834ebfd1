"""Token ids to bytes and text."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from numbpe.arrays import Offsets, TextArray, copy_text, join_byte_strings
from numbpe.definition import METASPACE, DecodingRules, TokenizerDefinition
from numbpe.errors import ArgumentError
from numbpe.id_arrays import as_id_array
from numbpe.vocabulary import Vocabulary
from numbpe_kernels.constants import TEXT_PADDING

if TYPE_CHECKING:
    from numbpe.batches import TokenBatch

_SHORT: Final = 64
"""Up to so many ids a join of Python's bytes is faster than a kernel with all that leads to it."""

_NEVER_UTF8: Final = b"\xff"
"""A byte that no UTF-8 holds."""

_METASPACE: Final = METASPACE.encode()
_BYTE_TOKEN_START: Final = b"<0x"
_BYTE_TOKEN: Final = re.compile(rb"<0x([0-9A-Fa-f]{2})>")


class _Tables(NamedTuple):
    """What decoding kernels read; see :mod:`numbpe_kernels.decoding`."""

    contents: TextArray
    offsets: Offsets
    is_token: NDArray[np.uint8]
    is_special: NDArray[np.uint8]
    is_never: NDArray[np.uint8]


class _Contents(dict[int, bytes]):
    """The bytes of tokens by id, each made when it is first asked for; KeyError for no token.

    A large vocabulary would otherwise become as many objects before the first id is decoded.
    """

    def __init__(self, tables: _Tables) -> None:
        self._contents = tables.contents.data
        self._offsets = tables.offsets.data
        self._is_token = tables.is_token.data

    def __missing__(self, token_id: int) -> bytes:
        if not 0 <= token_id < len(self._is_token) or not self._is_token[token_id]:
            raise KeyError(token_id)
        content = bytes(self._contents[self._offsets[token_id] : self._offsets[token_id + 1]])
        self[token_id] = content
        return content


class Decoder:
    """Decodes with one definition; any number of threads may use one object.

    Tables are made when they are first needed.
    """

    def __init__(self, definition: TokenizerDefinition) -> None:
        self.definition = definition
        self.rules = definition.decoding
        self._vocabulary = definition.vocabulary
        self._is_plain = not (
            self.rules.strip_left or self.rules.strip_right or self.rules.drops_first_metaspace
        )

    # What tokens stand for

    @cached_property
    def contents(self) -> Mapping[int, bytes]:
        """The bytes that a token stands for, by id; made on demand, see :meth:`to_dict`."""
        return _Contents(self._tables)

    def to_dict(self) -> dict[int, bytes]:
        """Return the bytes that every token stands for, by id, ids ascending."""
        tables = self._tables
        contents, stops = tables.contents.tobytes(), tables.offsets.tolist()
        return {
            id: contents[stops[id] : stops[id + 1]]
            for id in np.flatnonzero(tables.is_token).tolist()
        }

    @cached_property
    def special_ids(self) -> frozenset[int]:
        """The ids that ``skip_special_tokens`` leaves out."""
        return frozenset(token.id for token in self.definition.added_tokens if token.special)

    @cached_property
    def byte_token_ids(self) -> frozenset[int]:
        """The ids of tokens spelled ``<0x00>`` and the like that stand for a byte."""
        if not self.rules.byte_fallback:
            return frozenset()
        rules = replace(self.rules, byte_fallback=False)
        spelled = _spell_out_all(self._vocabulary, rules)
        return frozenset(_find_byte_tokens(*spelled))

    def token_bytes(self, token_id: int) -> bytes:
        """Return the bytes that a token stands for; ArgumentError if no token has the id."""
        return self.decode_tokens([token_id])[0]

    # Whole texts

    def decode_bytes(self, ids: ArrayLike, skip_special_tokens: bool = False) -> bytes:
        """Return the bytes of token ids; ArgumentError for an id that no token has.

        ids: as for :func:`numbpe.id_arrays.as_id_array`.
        """
        if self._is_plain:
            return self.join_tokens(ids, skip_special_tokens)
        values = as_id_array(ids)
        return self.finish(
            self.join_tokens(values, skip_special_tokens), values, skip_special_tokens
        )

    def decode_batch(
        self,
        batch: "TokenBatch | Sequence[ArrayLike]",
        errors: str,
        skip_special_tokens: bool,
    ) -> list[str]:
        """Return the texts of many sequences of ids.

        batch: a TokenBatch, a pyarrow array of lists, or an iterable of what :meth:`decode_bytes`
            takes.

        Raises ArgumentError for an id that no token has; it names text and position.
        """
        contents = self.decode_batch_bytes(batch, skip_special_tokens)
        return [content.decode("utf-8", errors) for content in contents]

    def decode_batch_bytes(
        self, batch: "TokenBatch | Sequence[ArrayLike]", skip_special_tokens: bool
    ) -> list[bytes]:
        """Return the bytes of many sequences of ids; see :meth:`decode_batch`."""
        from numbpe.batches import as_token_batch

        values, rows = as_token_batch(batch, "decode")
        text, ends = self._run_kernels(values, rows, skip_special_tokens)
        # One copy of the text at a time: a slice of bytes is a copy, one of a view is none.
        view = text.data
        joined = [bytes(view[start:stop]) for start, stop in pairwise(ends.tolist())]
        if self._is_plain:
            return joined
        starts = pairwise(rows.tolist())
        return [
            self.finish(content, values[start:stop], skip_special_tokens)
            for content, (start, stop) in zip(joined, starts, strict=True)
        ]

    # Tokens, for those who put texts together on their own

    def decode_tokens(self, ids: ArrayLike, skip_special_tokens: bool = False) -> list[bytes]:
        """Return the bytes that each token stands for, before anything is stripped off the whole.

        Raises ArgumentError for an id that no token has.
        """
        values = as_id_array(ids)
        left_out = self.special_ids if skip_special_tokens else ()
        try:
            return [self.contents[id] for id in values.tolist() if id not in left_out]
        except KeyError:
            raise self._find_bad_id(values) from None

    def join_tokens(self, ids: ArrayLike, skip_special_tokens: bool) -> bytes:
        """Return the bytes of token ids one after another, before anything is stripped off."""
        if isinstance(ids, list) and len(ids) <= _SHORT and set(map(type, ids)) <= {int}:
            listed = ids
        else:
            values = as_id_array(ids)
            if len(values) > _SHORT:
                rows = np.array([0, len(values)], dtype=np.int64)
                return self._run_kernels(values, rows, skip_special_tokens)[0].tobytes()
            listed = values.tolist()
        try:
            if skip_special_tokens:
                special = self.special_ids
                return b"".join([self.contents[id] for id in listed if id not in special])
            return b"".join(map(self.contents.__getitem__, listed))
        except KeyError:
            raise self._find_bad_id(as_id_array(listed)) from None

    def find_first_id(self, ids: ArrayLike, skip_special_tokens: bool) -> int:
        """Return the first id that is not left out; -1 if there is none."""
        left_out = self.special_ids if skip_special_tokens else ()
        return next((id for id in as_id_array(ids).tolist() if id not in left_out), -1)

    def spell_first_token(self, token_id: int) -> bytes:
        """Return what a token stands for at the start of a text, where U+2581 stands for nothing."""
        start, stop = self._vocabulary.offsets[token_id : token_id + 2].tolist()
        spelling = self._vocabulary.contents[start:stop].tobytes()
        if _METASPACE not in spelling:
            return self.contents[token_id]
        spelling = spelling.replace(_METASPACE, b"")
        for old, new in self.rules.replacements:
            spelling = spelling.replace(old, new)
        return spelling

    def finish(self, joined: bytes, ids: ArrayLike, skip_special_tokens: bool) -> bytes:
        """Return the bytes of a text, those of all its ``ids``, without what its ends lose."""
        if self.rules.drops_first_metaspace:
            first = self.find_first_id(ids, skip_special_tokens)
            if first >= 0:
                joined = self.spell_first_token(first) + joined[len(self.contents[first]) :]
        n_left = count_first_spaces(joined, self.rules.strip_left)
        joined = joined[n_left:]
        n_right = count_last_spaces(joined, self.rules.strip_right)
        return joined[: len(joined) - n_right]

    # Kernels

    @cached_property
    def _tables(self) -> _Tables:
        n_ids = self._vocabulary.n_ids
        is_token = (np.diff(self._vocabulary.offsets) > 0).astype(np.uint8)
        is_special = np.zeros(n_ids, dtype=np.uint8)
        is_special[list(self.special_ids)] = 1
        contents, offsets = _spell_out_all(self._vocabulary, self.rules)
        return _Tables(contents, offsets, is_token, is_special, np.zeros(n_ids, dtype=np.uint8))

    def _run_kernels(
        self, values: NDArray[np.int64], rows: Offsets, skip_special_tokens: bool
    ) -> tuple[NDArray[np.uint8], Offsets]:
        """Return the bytes of rows of ids, and where those of each row begin."""
        from numbpe_kernels.decoding import decoding_copy, decoding_measure

        tables = self._tables
        is_left_out = tables.is_special if skip_special_tokens else tables.is_never
        ends = np.zeros(len(rows), dtype=np.int64)
        bad = decoding_measure(values, rows, tables.offsets, tables.is_token, is_left_out, ends)
        if bad >= 0:
            raise self._describe_bad_id(int(values[bad]), bad, rows)
        n_bytes = int(ends[-1])
        text = np.empty(n_bytes + TEXT_PADDING, dtype=np.uint8)
        decoding_copy(values, tables.contents, tables.offsets, is_left_out, text)
        return text[:n_bytes], ends

    def _find_bad_id(self, values: NDArray[np.int64]) -> ArgumentError:
        listed = values.tolist()
        position = next(i for i, token_id in enumerate(listed) if not self._has(token_id))
        return self._describe_bad_id(listed[position], position, np.zeros(2, dtype=np.int64))

    def _has(self, token_id: int) -> bool:
        is_token = self._tables.is_token
        return 0 <= token_id < len(is_token) and bool(is_token[token_id])

    def _describe_bad_id(self, token_id: int, position: int, rows: Offsets) -> ArgumentError:
        place = f"position {position}"
        if len(rows) != 2:
            row = int(np.searchsorted(rows, position, side="right")) - 1
            place = f"position {position - int(rows[row])} of text {row}"
        return ArgumentError(
            f"cannot decode id {token_id} at {place}: no token has it; "
            f"ids are from 0 to {self._vocabulary.n_ids - 1}"
        )


def _spell_out_all(vocabulary: Vocabulary, rules: DecodingRules) -> tuple[TextArray, Offsets]:
    """Return the bytes that all tokens stand for, as writeable arrays; holes have none."""
    contents, offsets = vocabulary.contents.copy(), vocabulary.offsets.copy()
    for old, new in rules.replacements:
        contents, offsets = _replace_in_all(contents, offsets, old, new)
    if rules.byte_fallback:
        lengths = np.diff(offsets)
        is_kept = np.ones(offsets[-1], dtype=np.bool_)
        for token_id, byte in _find_byte_tokens(contents, offsets).items():
            start = offsets[token_id]
            contents[start] = byte
            is_kept[start + 1 : start + lengths[token_id]] = False
            lengths[token_id] = 1
        contents = copy_text(contents[: offsets[-1]][is_kept].data)
        np.cumsum(lengths, out=offsets[1:])
    return contents, offsets


def _replace_in_all(
    contents: TextArray, offsets: Offsets, old: bytes, new: bytes
) -> tuple[TextArray, Offsets]:
    data = contents[: offsets[-1]]
    if _NEVER_UTF8 in data.tobytes() or _NEVER_UTF8 in old + new:
        ends = offsets.tolist()
        tokens = [data[start:stop].tobytes().replace(old, new) for start, stop in pairwise(ends)]
        return join_byte_strings(tokens)
    # All tokens at once, with a byte between them that keeps matches from spanning two.
    separated = np.insert(data, offsets[1:], _NEVER_UTF8[0])
    replaced = np.frombuffer(separated.tobytes().replace(old, new), dtype=np.uint8)
    is_separator = replaced == _NEVER_UTF8[0]
    new_offsets = np.zeros_like(offsets)
    new_offsets[1:] = np.flatnonzero(is_separator) - np.arange(len(offsets) - 1)
    return copy_text(replaced[~is_separator].data), new_offsets


def _find_byte_tokens(contents: TextArray, offsets: Offsets) -> dict[int, int]:
    """Return the bytes that tokens spelled ``<0x00>`` and the like stand for, by token id."""
    lengths = np.diff(offsets)
    rows = np.flatnonzero(lengths == len(_BYTE_TOKEN_START) + 3)
    starts = offsets[:-1][rows]
    for i, byte in enumerate(_BYTE_TOKEN_START):
        is_alike = contents[starts + i] == byte
        rows, starts = rows[is_alike], starts[is_alike]
    found = {}
    for token_id, start in zip(rows.tolist(), starts.tolist(), strict=True):
        match = _BYTE_TOKEN.fullmatch(contents[start : start + 6].tobytes())
        if match:
            found[token_id] = int(match[1], 16)
    return found


def count_first_spaces(data: bytes, limit: int) -> int:
    """Return how many spaces ``data`` begins with, ``limit`` at most."""
    head = data[:limit]
    return len(head) - len(head.lstrip(b" "))


def count_last_spaces(data: bytes, limit: int) -> int:
    """Return how many spaces ``data`` ends with, ``limit`` at most."""
    tail = data[max(len(data) - limit, 0) :]
    return len(tail) - len(tail.rstrip(b" "))

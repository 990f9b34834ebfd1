"""Documents of a corpus, chunk by chunk: where they end, in which shard they go, and their ids."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from numbpe.arrays import TextArray
from numbpe.chunks import CUT, END_OF_DOCUMENT, Chunk
from numbpe.corpus import FindCut
from numbpe.definition import Prepend, TokenizerDefinition
from numbpe.errors import ArgumentError, shorten_value
from numbpe.raw_cuts import choose_find_cut, drop_prefixes
from numbpe.segments import PreparedText, Segmenter
from numbpe.shard_settings import ShardSettings

if TYPE_CHECKING:
    from numbpe.tokenizer import Tokenizer

_NO_TOKEN: Final = -1
_NO_PLACE: Final = -99
"""A mark that no part has: that of a separator where there is none."""


@dataclass(frozen=True, slots=True)
class ReadingPlan:
    """How text is cut before it is encoded.

    literals, literal_ids: byte strings at which the reader cuts, and their token ids.
    separator_place: the place of the separator among them.
    forbidden: places of special tokens that text must not spell.
    finds_all: whether the reader finds all added tokens; if not, documents come whole, and the
        segmenter finds them.
    find_cut: where else text may be cut.
    """

    literals: list[bytes]
    literal_ids: NDArray[np.int64]
    separator_place: int
    forbidden: frozenset[int]
    finds_all: bool
    find_cut: FindCut | None


def plan_reading(tokenizer: "Tokenizer", settings: ShardSettings) -> ReadingPlan:
    """Return how to cut text for a tokenizer so that no id changes."""
    definition = tokenizer.definition
    finds_all = _are_plain(definition, settings)
    if finds_all:
        tokens = [t for t in definition.added_tokens if settings.special != "text" or not t.special]
    else:
        tokens = [
            token
            for token in definition.added_tokens
            if token.id == settings.separator_id
            and (settings.special == "allow" or not token.special)
        ]
    places = {token.id: place for place, token in enumerate(tokens)}
    must_not_be = settings.special == "error"
    return ReadingPlan(
        literals=[token.content.encode() for token in tokens],
        literal_ids=np.array([token.id for token in tokens], dtype=np.int64),
        separator_place=places.get(settings.separator_id, _NO_PLACE)
        if settings.separator_id is not None
        else _NO_PLACE,
        forbidden=frozenset(p for p, t in enumerate(tokens) if t.special and must_not_be),
        finds_all=finds_all,
        find_cut=choose_find_cut(tokenizer) if finds_all else None,
    )


def _are_plain(definition: TokenizerDefinition, settings: ShardSettings) -> bool:
    """Return whether a search for the added tokens as literal text finds what the segmenter finds."""
    tokens = definition.added_tokens
    if any(token.lstrip or token.rstrip or token.single_word for token in tokens):
        return False
    if definition.normalizer and any(token.normalized for token in tokens):
        return False
    if definition.normalizer and any(
        isinstance(step, Prepend) and step.first_only for step in definition.preparation
    ):
        return False  # Where a text starts depends on what the normalizer leaves of it.
    # What is looked for first decides where two tokens overlap.
    normalized = [token.content for token in tokens if token.normalized]
    raw = [token.content for token in tokens if not token.normalized]
    if normalized and raw and _any_overlap(normalized, raw):
        return False
    if settings.special != "text":
        return True
    # So do special tokens that are not taken for such.
    special = [token.content for token in tokens if token.special]
    others = [token.content for token in tokens if not token.special]
    return not _any_overlap(special, others)


def _any_overlap(first: list[str], second: list[str]) -> bool:
    return any(_overlap(a, b) for a in first for b in second)


def _overlap(a: str, b: str) -> bool:
    """Return whether two strings may stand in a text so that they share a character."""
    if a in b or b in a:
        return True
    ends = range(1, min(len(a), len(b)))
    return any(a[-n:] == b[:n] or b[-n:] == a[:n] for n in ends)


@dataclass(slots=True)
class DocumentTask:
    """Documents of one chunk that go into one shard, to be encoded.

    parts: (p, 3) int64 start, stop, mark, as in :class:`~numbpe.chunks.Chunk`.
    first_parts: (d + 1,) int64: document i has ``parts[first_parts[i]:first_parts[i + 1]]``.
    is_continued: whether the first document began in an earlier task.
    is_cut: whether its first part did, too.
    is_open: whether the last one goes on in the next.
    starts: (d,) int64: where each document begins, or goes on, in the text of the whole source.
    chunk: what the text belongs to, if it may be recycled when this task is done.
    """

    text: TextArray
    parts: NDArray[np.int64]
    first_parts: NDArray[np.int64]
    is_continued: bool
    is_cut: bool
    is_open: bool
    shard: int
    starts: NDArray[np.int64]
    chunk: Chunk | None = None


@dataclass(slots=True)
class EncodedDocuments:
    """The ids of a task; documents end before the positions ``ends``."""

    shard: int
    ids: NDArray[Any]
    ends: NDArray[np.int64]


def choose_shards(starts: NDArray[np.int64], n_shards: int, n_text_bytes: int) -> NDArray[np.int64]:
    """Return the (d,) shards of documents that begin at ``starts`` in the text of a source.

    The n-th of equal stretches of ``n_text_bytes`` is shard n. So shards hold successive documents
    and are about equally large.
    """
    shards: NDArray[np.int64] = starts * n_shards // max(1, n_text_bytes)
    return np.minimum(shards, n_shards - 1)


class DocumentDealer:
    """Finds the documents of successive chunks and says in which shard each goes."""

    def __init__(self, plan: ReadingPlan, n_shards: int, n_text_bytes: int) -> None:
        self._plan = plan
        self._n_shards = n_shards
        self._n_text_bytes = n_text_bytes
        self._literal_lengths = np.array([*map(len, plan.literals), 0, 0], dtype=np.int64)
        self._n_done = 0
        self._last_mark = END_OF_DOCUMENT
        self._last_shard = 0

    @property
    def n_text_bytes_done(self) -> int:
        """Bytes of the text so far, repaired, with its special tokens."""
        return self._n_done

    def deal(self, chunk: Chunk) -> Iterator[DocumentTask]:
        """Yield the tasks of the next chunk, one for each shard that it reaches into.

        Raises ArgumentError for a special token that text must not spell.
        """
        parts = chunk.parts
        if not len(parts):
            return
        self._refuse_special_tokens(chunk)
        n_before = self._n_done
        # Marks below zero find the zeros at the end.
        self._n_done += int(parts[-1, 1] + self._literal_lengths[parts[-1, 2]])
        mark_before = self._last_mark
        is_dropped = self._find_empty_rests(parts)
        self._last_mark = int(parts[-1, 2])
        parts = parts[~is_dropped] if is_dropped.any() else parts
        if not len(parts):
            return
        stops = np.flatnonzero(self._are_ends(parts[:, 2])) + 1
        is_open = not len(stops) or int(stops[-1]) < len(parts)
        bounds = np.array([0, *stops.tolist(), *([len(parts)] if is_open else [])], dtype=np.int64)
        starts = n_before + parts[bounds[:-1], 0]
        shards = choose_shards(starts, self._n_shards, self._n_text_bytes)
        if not self._is_end(mark_before):
            shards[0] = self._last_shard
        np.maximum.accumulate(shards, out=shards)
        self._last_shard = int(shards[-1])
        yield from self._split(chunk, parts, bounds, shards, starts, mark_before)

    def _split(
        self,
        chunk: Chunk,
        parts: NDArray[np.int64],
        bounds: NDArray[np.int64],
        shards: NDArray[np.int64],
        starts: NDArray[np.int64],
        mark_before: int,
    ) -> Iterator[DocumentTask]:
        borders = [0, *(np.flatnonzero(np.diff(shards)) + 1).tolist(), len(shards)]
        for first, last in pairwise(borders):
            begin, end = int(bounds[first]), int(bounds[last])
            yield DocumentTask(
                text=chunk.text,
                parts=np.ascontiguousarray(parts[begin:end]),
                first_parts=bounds[first : last + 1] - begin,
                is_continued=first == 0 and not self._is_end(mark_before),
                is_cut=first == 0 and mark_before == CUT,
                is_open=not self._is_end(int(parts[end - 1, 2])),
                shard=int(shards[first]),
                starts=starts[first:last],
                chunk=chunk if len(borders) == 2 else None,
            )

    def _is_end(self, mark: int) -> bool:
        return mark in (END_OF_DOCUMENT, self._plan.separator_place)

    def _are_ends(self, marks: NDArray[np.int64]) -> NDArray[np.bool_]:
        are_ends: NDArray[np.bool_] = marks == END_OF_DOCUMENT
        are_ends |= marks == self._plan.separator_place
        return are_ends

    def _find_empty_rests(self, parts: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which parts are nothing but the end of a file behind a separator: no document."""
        marks = parts[:, 2]
        previous = np.empty_like(marks)
        previous[0] = self._last_mark
        previous[1:] = marks[:-1]
        is_empty = parts[:, 0] == parts[:, 1]
        is_rest: NDArray[np.bool_] = is_empty & (marks == END_OF_DOCUMENT)
        is_rest &= previous == self._plan.separator_place
        return is_rest

    def _refuse_special_tokens(self, chunk: Chunk) -> None:
        if not self._plan.forbidden:
            return
        for _, stop, mark in chunk.parts[chunk.parts[:, 2] >= 0].tolist():
            if mark in self._plan.forbidden:
                name = self._plan.literals[mark].decode()
                raise ArgumentError(
                    f"the text spells the special token {shorten_value(name)} at byte "
                    f'{self._n_done + stop:,}; pass special="allow" to take it as one, or '
                    'special="text" to take it as text'
                )


class DocumentEncoder:
    """Encodes tasks; any number of threads may use one object."""

    def __init__(self, tokenizer: "Tokenizer", settings: ShardSettings, plan: ReadingPlan) -> None:
        definition = tokenizer.definition
        self._encoder = tokenizer._encoder
        self._segmenter = tokenizer._segmenter
        steps = (*definition.normalizer, *definition.preparation)
        self._changes_text = bool(steps)
        self._rest_segmenter = None
        if any(isinstance(step, Prepend) for step in steps):
            self._rest_segmenter = Segmenter(drop_prefixes(definition))
        self._settings = settings
        self._plan = plan
        before, behind = settings.template_prefix, settings.ids_behind
        # A single id behind each document comes from the encoder for nothing.
        self._inserts = bool(before) or len(behind) > 1
        self._id_behind = _NO_TOKEN if self._inserts or not behind else behind[0]

    def encode(self, task: DocumentTask) -> EncodedDocuments:
        """Return the ids of a task, as they are to be written."""
        prepared = self._prepare(task)
        ids, offsets = self._encoder.encode_parts(prepared.text, prepared.parts)
        bounds = offsets[prepared.first_parts]
        if self._inserts:
            ids, bounds = self._insert_template(ids, bounds, task)
        ends = bounds[1:-1] if task.is_open else bounds[1:]
        return EncodedDocuments(task.shard, ids.astype(self._settings.numpy_type, copy=False), ends)

    def _prepare(self, task: DocumentTask) -> PreparedText:
        last_parts = task.first_parts[1:] - 1
        if task.is_open:
            last_parts = last_parts[:-1]
        if not self._plan.finds_all:
            # Each document is one part, since nothing else was looked for.
            prepared = self._segmenter.prepare_array(
                task.text, task.parts[:, :2], self._settings.special
            )
            prepared.parts[prepared.first_parts[1:] - 1, 2] = self._id_behind
            return prepared
        marks = task.parts[:, 2]
        parts = task.parts.copy()
        is_token = marks >= 0
        parts[:, 2] = _NO_TOKEN
        parts[is_token, 2] = self._plan.literal_ids[marks[is_token]]
        parts[last_parts, 2] = self._id_behind
        first_parts = task.first_parts
        if not self._changes_text:
            return PreparedText(task.text, parts, first_parts)
        return self._change(PreparedText(task.text, parts, first_parts), task)

    def _change(self, raw: PreparedText, task: DocumentTask) -> PreparedText:
        """Return parts changed by the steps of the tokenizer."""
        special = self._settings.special
        if not task.is_continued:
            return self._segmenter.normalize_parts(raw, special)
        # An empty part before what follows, so that this is not taken for the start of a text.
        start = int(raw.parts[0, 0])
        empty = np.array([[start, start, _NO_TOKEN]], dtype=np.int64)
        if not task.is_cut or self._rest_segmenter is None:
            parts = np.concatenate([empty, raw.parts])
            first_parts = raw.first_parts + 1
            first_parts[0] = 0
            return self._segmenter.normalize_parts(
                PreparedText(raw.text, parts, first_parts), special
            )
        # The rest of a part that was cut; then the others, as they are.
        rest = PreparedText(raw.text, raw.parts[:1].copy(), np.array([0, 1], dtype=np.int64))
        others = PreparedText(raw.text, np.concatenate([empty, raw.parts[1:]]), raw.first_parts)
        return _join_prepared(
            self._rest_segmenter.normalize_parts(rest, special),
            self._segmenter.normalize_parts(others, special),
        )

    def _insert_template(
        self, ids: NDArray[np.uint32], bounds: NDArray[np.int64], task: DocumentTask
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Return ids with those before and behind each document, and where documents then begin."""
        before, behind = self._settings.template_prefix, self._settings.ids_behind
        n_documents = len(bounds) - 1
        n_before = np.full(n_documents, len(before))
        n_behind = np.full(n_documents, len(behind))
        n_before[0] = 0 if task.is_continued else n_before[0]
        n_behind[-1] = 0 if task.is_open else n_behind[-1]
        # In the order of the result: before document 0, behind it, before document 1, and so on.
        places = np.stack([bounds[:-1], bounds[1:]], axis=1).ravel()
        counts = np.stack([n_before, n_behind], axis=1).ravel()
        values = np.tile(np.array([*before, *behind], dtype=np.uint32), n_documents)
        first = len(before) if task.is_continued else 0
        last = len(values) - (len(behind) if task.is_open else 0)
        inserted = np.insert(ids, np.repeat(places, counts), values[first:last])
        grown = np.zeros(n_documents + 1, dtype=np.int64)
        np.cumsum(n_before + n_behind, out=grown[1:])
        return inserted, bounds + grown


def _join_prepared(first: PreparedText, second: PreparedText) -> PreparedText:
    """Return the parts of one text, and behind them those of others, the first of which goes on."""
    n_bytes = int(first.parts[-1, 1])
    parts = np.concatenate([first.parts, second.parts + np.array([n_bytes, n_bytes, 0])])
    first_parts = second.first_parts + len(first.parts)
    first_parts[0] = 0
    return PreparedText(np.concatenate([first.text[:n_bytes], second.text]), parts, first_parts)

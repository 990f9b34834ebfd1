"""Which characters fold to one token: the table that the encoding kernels read; see its module."""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from numbpe.definition import TokenizerDefinition
from numbpe.encoder_model import rank_merges
from numbpe.recipes import N_BYTES
from numbpe.vocabulary import Vocabulary
from numbpe_kernels.folding import (
    BEHIND,
    KIND_WIDTH,
    MAX_KINDS,
    N_FOLDED,
    TOKEN_BITS,
    FoldTable,
)
from numbpe_kernels.model import USES_LANES, EncoderModel
from numbpe_kernels.ranks import NO_RANK, MergeTable, merge_table_rank_pairs

_FEW: Final = 256
"""Units that are compared at a time: what they need stays in a near cache."""

_SPACE: Final = 0x20


class _Units(NamedTuple):
    """Characters, or spaces with a character behind, whose bytes merge to one token; one a row.

    code_points, tokens : (n,) int64
    heads, tails : (n, k) int64, tokens that it begins and ends with before it is whole, -1 for none, and
    head_ranks, tail_ranks : (n, k) int64, for each the greatest rank of the merges up to the one that
        makes it a part of more, -1 for none
    """

    code_points: NDArray[np.int64]
    tokens: NDArray[np.int64]
    heads: NDArray[np.int64]
    head_ranks: NDArray[np.int64]
    tails: NDArray[np.int64]
    tail_ranks: NDArray[np.int64]

    def keep(self, is_kept: NDArray[np.bool_]) -> "_Units":
        """Return some of the rows."""
        return _Units(*(column[is_kept] for column in self))


def build_fold_table(definition: TokenizerDefinition, model: EncoderModel) -> FoldTable | None:
    """Return which characters fold; None where none does."""
    vocabulary = definition.vocabulary
    if not model.rules[USES_LANES] or not vocabulary.n_merges:
        return None
    by_result = definition.rules.merge_order == "result"
    ranks, _ = rank_merges(vocabulary, by_result=by_result)
    characters = _list_characters(vocabulary)
    first_ranks = np.full(vocabulary.n_ids, NO_RANK, dtype=np.int32)
    for side in vocabulary.merge_pairs.T:
        np.minimum.at(first_ranks, side, ranks)
    alone = _find_units(characters, first_ranks, model, is_spaced=False)
    spaced = _find_units(characters, first_ranks, model, is_spaced=True)
    if not len(alone.tokens) + len(spaced.tokens):
        return None
    return _make_table(alone, spaced, *_find_neighbours(alone, spaced, vocabulary, ranks))


def _list_characters(vocabulary: Vocabulary) -> NDArray[np.int64]:
    """Return the code points of two and three bytes that stand in some token, which may be one alone."""
    offsets, contents = vocabulary.offsets, vocabulary.contents
    lengths = np.diff(offsets)
    found = []
    for length, first in ((2, 0), (3, 0), (3, 1), (4, 1)):
        starts = offsets[:-1][lengths == length] + first
        if first:
            starts = starts[contents[starts - 1] == _SPACE]
        found.append(_decode(contents, starts, length - first))
    return np.unique(np.concatenate(found))


def _decode(
    contents: NDArray[np.uint8], starts: NDArray[np.int64], n_bytes: int
) -> NDArray[np.int64]:
    """Return the code points of the characters of ``n_bytes`` bytes, 2 or 3, that stand at ``starts``."""
    lead, *rest = (contents[starts + i].astype(np.int64) for i in range(n_bytes))
    code_points = lead & (0x1F if n_bytes == 2 else 0x0F)
    is_whole = lead & (0xE0 if n_bytes == 2 else 0xF0) == (0xC0 if n_bytes == 2 else 0xE0)
    for byte in rest:
        code_points = code_points << 6 | byte & 0x3F
        is_whole &= byte & 0xC0 == 0x80
    is_shortest = code_points >= (0x80 if n_bytes == 2 else 0x800)
    found: NDArray[np.int64] = code_points[is_whole & is_shortest]
    return found


def _find_units(
    characters: NDArray[np.int64],
    first_ranks: NDArray[np.int32],
    model: EncoderModel,
    *,
    is_spaced: bool,
) -> _Units:
    """Return the characters, alone or with a space before, that are one token before they are joined.

    first_ranks: of each token the least rank of a merge that joins it to another.
    """
    byte_ids = model.merges.byte_ids.astype(np.int64)
    is_long = characters >= 0x800
    ids = np.full((len(characters), 4), -1, dtype=np.int64)
    ids[:, 0] = byte_ids[_SPACE]
    start = int(is_spaced)
    ids[:, start] = byte_ids[np.where(is_long, 0xE0 | characters >> 12, 0xC0 | characters >> 6)]
    middle = np.where(is_long, characters >> 6, characters) & 0x3F
    ids[:, start + 1] = byte_ids[0x80 | middle]
    ids[is_long, start + 2] = byte_ids[0x80 | characters[is_long] & 0x3F]
    units = _merge_units(characters, ids, model.merges)
    return units.keep(units.head_ranks.max(axis=1, initial=-1) < first_ranks[units.tokens])


def _merge_units(
    code_points: NDArray[np.int64], ids: NDArray[np.int64], table: MergeTable
) -> _Units:
    """Merge each row of ``ids``, (n, k) with -1 behind the last; return those that become one token."""
    rows = np.arange(len(ids))
    lengths = (ids >= 0).sum(axis=1)
    greatest = np.full(len(ids), -1, dtype=np.int64)
    parts: list[list[NDArray[np.int64]]] = [[], [], [], []]
    for _ in range(ids.shape[1] - 1):
        pair_ranks = np.full((len(ids), ids.shape[1] - 1), NO_RANK, dtype=np.int64)
        merge_table_rank_pairs(table, ids, pair_ranks)
        place = pair_ranks.argmin(axis=1)  # of equal ranks the left one
        rank = pair_ranks[rows, place]
        merges = rank != NO_RANK
        greatest = np.maximum(greatest, np.where(merges, rank, -1))
        takes_head = merges & (place == 0)
        takes_tail = merges & (place == lengths - 2)
        for column, takes, end in ((0, takes_head, 0 * rows), (2, takes_tail, lengths - 1)):
            parts[column].append(np.where(takes, ids[rows, end], -1))
            parts[column + 1].append(np.where(takes, greatest, -1))
        result = table.results[np.minimum(rank, len(table.results) - 1)]
        ids[rows[merges], place[merges]] = result[merges]
        is_behind = merges[:, None] & (np.arange(ids.shape[1] - 1) > place[:, None])
        shifted = np.concatenate([ids[:, 1:], np.full((len(ids), 1), -1)], axis=1)
        ids[:, :-1] = np.where(is_behind, shifted[:, :-1], ids[:, :-1])
        ids[merges, -1] = -1
        lengths = lengths - merges
    units = _Units(code_points, ids[:, 0].copy(), *(np.stack(part, axis=1) for part in parts))
    return units.keep(lengths == 1)


def _find_neighbours(
    alone: _Units, spaced: _Units, vocabulary: Vocabulary, ranks: NDArray[np.int32]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return the bytes, (n, 256), beside which units do not fold: before them, and behind them."""
    first_bytes, last_bytes = _list_end_bytes(vocabulary)
    left, right = vocabulary.merge_pairs.astype(np.int64).T
    before = _find_joined(alone.heads, alone.head_ranks, right, last_bytes[left], ranks)
    # A space with a character begins a word.
    before = np.concatenate([before, np.zeros((len(spaced.tokens), N_BYTES), dtype=np.bool_)])
    tails = np.concatenate([alone.tails, spaced.tails])
    tail_ranks = np.concatenate([alone.tail_ranks, spaced.tail_ranks])
    # Of two merges of one rank the left one comes first: that inside the unit, if it ends it.
    behind = _find_joined(tails, tail_ranks - 1, left, first_bytes[right], ranks)
    behind[:, 0x80:0xC0] = True  # No character begins so.
    return before, behind


def _list_end_bytes(vocabulary: Vocabulary) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first and the last byte of each token; of one without bytes, anything."""
    contents = np.append(vocabulary.contents, np.uint8(0)).astype(np.int64)
    return contents[vocabulary.offsets[:-1]], contents[np.maximum(vocabulary.offsets[1:] - 1, 0)]


def _find_joined(
    parts: NDArray[np.int64],
    part_ranks: NDArray[np.int64],
    merged: NDArray[np.int64],
    beside: NDArray[np.int64],
    ranks: NDArray[np.int32],
) -> NDArray[np.bool_]:
    """Tell for each unit and each byte whether a merge may join a part of the one to the other.

    parts, part_ranks : (n, k), tokens of a unit, and the last rank that is early enough for each
    merged, beside, ranks : (m,), of each merge the token that may be a part, the byte of the other token
        that stands beside it, and the rank
    Returns (n, 256).
    """
    joined = np.zeros((len(parts), N_BYTES), dtype=np.bool_)
    names = np.unique(parts[parts >= 0])
    if not len(names):
        return joined
    numbers = np.full(max(int(names[-1]), int(merged.max(initial=0))) + 1, -1)
    numbers[names] = np.arange(len(names))
    place = numbers[merged]
    is_part = place >= 0
    least = np.full((len(names), N_BYTES), NO_RANK, dtype=np.int32)
    np.minimum.at(least, (place[is_part], beside[is_part]), ranks[is_part])
    for column in range(parts.shape[1]):
        units = np.flatnonzero(parts[:, column] >= 0)
        of_part = numbers[parts[units, column]]
        last_ranks = part_ranks[units, column].astype(np.int32)
        for i in range(0, len(units), _FEW):
            few = slice(i, i + _FEW)
            joined[units[few]] |= least[of_part[few]] <= last_ranks[few, None]
    return joined


def _make_table(
    alone: _Units, spaced: _Units, before: NDArray[np.bool_], behind: NDArray[np.bool_]
) -> FoldTable:
    """Return the table: units with the same neighbours are of one kind, the most common ones first."""
    bits = np.packbits(np.concatenate([before, behind], axis=1), axis=1)
    rows = np.ascontiguousarray(bits).view(np.dtype((np.void, bits.shape[1]))).ravel()
    _, examples, kinds, counts = np.unique(
        rows, return_index=True, return_inverse=True, return_counts=True
    )
    order = np.argsort(-counts, kind="stable")[:MAX_KINDS]
    numbers = np.zeros(len(counts), dtype=np.int64)
    numbers[order] = np.arange(1, len(order) + 1)
    neighbours = np.zeros((len(order) + 1, KIND_WIDTH), dtype=np.uint64)
    for place, bytes_ in ((0, before), (BEHIND, behind)):
        packed = np.packbits(bytes_[examples[order]], axis=1, bitorder="little")
        neighbours[1:, place : place + N_BYTES // 64] = packed.view(np.uint64)
    kind = numbers[kinds.ravel()]
    n_alone = len(alone.tokens)
    return FoldTable(
        alone=_enter(alone, kind[:n_alone]),
        spaced=_enter(spaced, kind[n_alone:]),
        neighbours=neighbours.ravel(),
    )


def _enter(units: _Units, kind: NDArray[np.int64]) -> NDArray[np.uint32]:
    """Return the entries of all code points: of a unit of kind 0, which has no number, none."""
    entries = np.zeros(N_FOLDED, dtype=np.uint32)
    is_kept = kind > 0
    entries[units.code_points[is_kept]] = (kind << TOKEN_BITS | units.tokens)[is_kept]
    return entries

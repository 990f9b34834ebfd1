"""Making an encoder quicker once it is used for much text, by what the vocabulary says of its own tokens.

It changes no ids. Much of a new word's time goes to waiting for memory, so a smaller table of merges is
quicker: tokenizer.json lists for Llama 3 and gpt-oss two merges a token, of which one is used. And two new
words in five are one token, which one look tells.
"""

import numpy as np
from numpy.typing import NDArray

from numbpe.arrays import copy_text
from numbpe.definition import TokenizerDefinition
from numbpe.encoder_model import (
    fill_merge_table,
    find_unmade,
    list_ordinary_ids,
    look_up_tokens,
    rank_merges,
)
from numbpe.vocabulary import Vocabulary
from numbpe_kernels.model import NO_TOKENS, SHORTEST_TOKEN, USES_LANES, EncoderModel
from numbpe_kernels.ranks import MergeTable, count_merge_slots
from numbpe_kernels.token_splits import (
    IS_BYTE,
    NOT_KNOWN,
    RANK,
    RIGHT,
    ROW_WIDTH,
    token_splits_find,
)
from numbpe_kernels.whole_words import (
    BUCKET_WIDTH,
    MAX_WHOLE_ID,
    MAX_WHOLE_NBYTES,
    ROWS_A_BUCKET,
    WholeWords,
    whole_words_fill,
)

_LINE_NBYTES = 64


def may_improve(model: EncoderModel) -> bool:
    """Return whether :func:`improve_model` may do anything."""
    return bool(model.rules[USES_LANES] == 1 or model.rules[SHORTEST_TOKEN] < NO_TOKENS)


def improve_model(definition: TokenizerDefinition, model: EncoderModel) -> EncoderModel:
    """Return a model that gives the same ids sooner.

    Where each byte has a token, it leaves out merges that are never used, and looks short new words up
    among the tokens first of all; see ``token_splits`` and ``whole_words``. Where words become tokens
    which merging does not make, it looks longer ones up among those alone.
    """
    vocabulary, looks_up = definition.vocabulary, definition.rules.ignore_merges
    ids = list_ordinary_ids(vocabulary)
    if not model.rules[USES_LANES]:
        return look_up_tokens(vocabulary, model, ids[find_unmade(vocabulary, model, ids)])
    ranks, _ = rank_merges(vocabulary, by_result=definition.rules.merge_order == "result")
    splits = find_splits(vocabulary, model, ranks)
    is_made = splits[ids, RANK] != NOT_KNOWN
    unmade = ids[~is_made] if looks_up else ids[:0]
    # Those that may not be made come first, since they must have room in one table or the other.
    whole, has_room = _build_whole_words(vocabulary, np.concatenate([unmade, ids[is_made]]))
    merges = _leave_out_unused(vocabulary, model.merges, ranks, splits)
    model = model._replace(merges=merges, whole=whole)
    if looks_up:
        return look_up_tokens(vocabulary, model, unmade[~has_room[: len(unmade)]])
    return model


def find_splits(
    vocabulary: Vocabulary, model: EncoderModel, ranks: NDArray[np.int32]
) -> NDArray[np.int32]:
    """Return a row for each token of a vocabulary over bytes, see ``token_splits``. ranks: of its merges."""
    splits = np.zeros((vocabulary.n_ids, ROW_WIDTH), dtype=np.int32)
    splits[:, RANK] = NOT_KNOWN
    splits[model.merges.byte_ids, RANK] = IS_BYTE
    order = np.argsort(ranks, kind="stable")
    token_splits_find(splits.ravel(), model.merges, vocabulary.merge_pairs.copy(), ranks, order)
    return splits


def _leave_out_unused(
    vocabulary: Vocabulary,
    table: MergeTable,
    ranks: NDArray[np.int32],
    splits: NDArray[np.int32],
) -> MergeTable:
    """Return a smaller table without the merges that are never used, or ``table`` where it is as small."""
    pairs, results = vocabulary.merge_pairs, vocabulary.merge_results
    is_known = splits[results, RANK] != NOT_KNOWN
    is_used = ~(is_known & (splits[results, RIGHT] != pairs[:, 1]))
    if count_merge_slots(int(is_used.sum())) == len(table.slots):
        return table
    return fill_merge_table(table, pairs[is_used], ranks[is_used])


def _build_whole_words(
    vocabulary: Vocabulary, ids: NDArray[np.int64]
) -> tuple[WholeWords, NDArray[np.bool_]]:
    """Return the table of short tokens among ``ids``, and for each of these whether it stands there."""
    lengths = np.diff(vocabulary.offsets)[ids]
    has_room = (lengths <= MAX_WHOLE_NBYTES) & (ids <= MAX_WHOLE_ID)
    short = ids[has_room]
    n_buckets = 1 << max(1, (len(short) // ROWS_A_BUCKET).bit_length())
    # Of rows that begin with a cache line each bucket is one.
    size = n_buckets * BUCKET_WIDTH
    memory = np.zeros(size + _LINE_NBYTES // 8, dtype=np.uint64)
    first = -memory.ctypes.data % _LINE_NBYTES // 8
    words = WholeWords(
        rows=memory[first : first + size], shift=np.uint64(64 - (n_buckets.bit_length() - 1))
    )
    left_out = np.zeros(len(short), dtype=np.uint8)
    contents = copy_text(vocabulary.contents.tobytes())
    whole_words_fill(words, contents, vocabulary.offsets.copy(), short, left_out)
    has_room[has_room] = left_out == 0
    return words, has_room

"""Rows that encoding never gives, whatever the text."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from numbpe.arrays import copy_text
from numbpe.combinatorial.definition import N_BYTES
from numbpe.combinatorial.reference import make_ranks, split_core
from numbpe.combinatorial.tokenizer import CombinatorialTokenizer
from numbpe.encoder_model import build_encoder_model, find_unmade, list_ordinary_ids
from numbpe.tokenizer import Tokenizer


@dataclass(frozen=True)
class UnreachableRows:
    """Ids, ascending, of ordinary rows that no text becomes.

    by_merging: the bytes of the row merge to something else.
    by_pattern: they merge to the row, but are cut apart before, or their capitals are taken away.
    """

    by_merging: tuple[int, ...]
    by_pattern: tuple[int, ...]


def find_unreachable(tokenizer: Tokenizer) -> UnreachableRows:
    """Return the rows that encoding never gives.

    A row that encoding gives somewhere is given for its own bytes alone too, since merges that lie
    within it meet no others. So each row is encoded by itself. A row that is a part of a character
    is no text; of it only the merging is looked at. Added tokens, and tokens for single bytes of
    unknown characters, are not merged but looked up, and are left out.
    """
    definition = tokenizer.definition
    vocabulary, rules = definition.vocabulary, definition.rules
    ids = list_ordinary_ids(vocabulary)
    looked_up = {token.id for token in definition.added_tokens} | {rules.unk_id}
    if rules.byte_fallback:
        names = (b"<0x%02X>" % byte for byte in range(256))
        looked_up |= {vocabulary.ordinary_ids.get(name) for name in names}
    ids = ids[~np.isin(ids, [i for i in looked_up if i is not None])]
    is_unmade = find_unmade(vocabulary, build_encoder_model(definition), ids)
    is_text = np.array([_is_text(vocabulary.tokens[i]) for i in ids.tolist()], dtype=np.bool_)
    is_given = ~is_unmade
    is_given[is_text] = _encode_alone(tokenizer, ids[is_text])
    by_merging, by_pattern = ids[~is_given & is_unmade], ids[~is_given & ~is_unmade]
    return UnreachableRows(tuple(by_merging.tolist()), tuple(by_pattern.tolist()))


def find_unreachable_cores(tokenizer: CombinatorialTokenizer) -> UnreachableRows:
    """Return the cores that encoding never gives under any variation; single bytes are left out."""
    vocabulary = tokenizer.vocabulary
    is_legal = tokenizer.legal_variations[: vocabulary.first_special_id]
    ranks = make_ranks(vocabulary.merges)
    by_merging: list[int] = []
    by_pattern: list[int] = []
    for core in np.flatnonzero(~is_legal.any(axis=1)).tolist():
        if core < N_BYTES:
            continue
        content = vocabulary.core_strings[core]
        is_made = vocabulary.core_ids[content] == core and len(split_core(content, ranks)) == 1
        (by_pattern if is_made else by_merging).append(core)
    return UnreachableRows(tuple(by_merging), tuple(by_pattern))


def _is_text(content: bytes) -> bool:
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _encode_alone(tokenizer: Tokenizer, ids: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Tell for each of ``ids`` whether its spelling as a text of its own becomes that one id."""
    vocabulary = tokenizer.vocabulary
    parts = np.full((len(ids), 3), -1, dtype=np.int64)
    parts[:, 0], parts[:, 1] = vocabulary.offsets[ids], vocabulary.offsets[ids + 1]
    text = copy_text(vocabulary.contents.tobytes())
    values, offsets = tokenizer._encoder.encode_parts(text, parts)
    is_one: NDArray[np.bool_] = np.diff(offsets) == 1
    is_one[is_one] = values[offsets[:-1][is_one]] == ids[is_one]
    return is_one

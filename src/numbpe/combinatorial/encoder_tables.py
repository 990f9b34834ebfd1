"""A combinatorial vocabulary in the form in which kernels encode with it."""

import functools
from typing import Final

import numpy as np
from numpy.typing import NDArray

from numbpe.arrays import join_byte_strings
from numbpe.code_point_sets import END_OF_CODE_POINTS
from numbpe.combinatorial.definition import N_BYTES, CharacterTable, CombinatorialVocabulary
from numbpe.combinatorial.folding import CASE_VERSION, load_folding, load_traditional_forms
from numbpe.errors import DataError
from numbpe.scanner_tables import build_class_table
from numbpe.unicode_tables import load_unicode_tables
from numbpe_kernels import tuple_model as kernel
from numbpe_kernels.characters import CHARACTER_PAGE_BITS
from numbpe_kernels.class_masks import FLAG_LETTER, FLAG_LOWER, FLAG_UPPER, ClassTable
from numbpe_kernels.ranks import (
    MAX_MERGED_ID,
    MAX_RANK,
    MergeTable,
    make_merge_slots,
    merge_table_fill,
)
from numbpe_kernels.token_table import TokenTable, token_table_fill

_PAGE_SIZE: Final = 1 << CHARACTER_PAGE_BITS


def build_tuple_model(vocabulary: CombinatorialVocabulary) -> kernel.TupleModel:
    """Return the tables that the encoding kernels read.

    Raises DataError for more merges or cores than they have room for.
    """
    page_numbers, plain, folded = _build_pages(vocabulary)
    rules = np.zeros(kernel.TUPLE_RULES_SIZE, dtype=np.int64)
    rules[kernel.SPLITS_CASE] = vocabulary.split_camel
    rules[kernel.PUNCTUATION_TO_NEXT] = vocabulary.punct_to_next
    rules[kernel.LONGEST_PREFIX] = max(len(affix.encode()) for affix in vocabulary.prefixes)
    rules[kernel.LONGEST_SUFFIX] = max(len(affix.encode()) for affix in vocabulary.suffixes)
    return kernel.TupleModel(
        merges=_build_merge_table(vocabulary),
        page_numbers=page_numbers,
        plain=plain,
        folded=folded,
        core_lengths=np.array([len(text) for text in vocabulary.core_strings], dtype=np.int32),
        prefixes=_build_affix_table(vocabulary.prefixes),
        suffixes=_build_affix_table(vocabulary.suffixes),
        classes=load_word_classes(),
        rules=rules,
    )


@functools.cache
def load_word_classes() -> ClassTable:
    """Return the classes of characters that tell where words are; see ``tuple_words``."""
    tables = load_unicode_tables(CASE_VERSION)
    flags = np.zeros(END_OF_CODE_POINTS, dtype=np.uint8)
    for name, flag in (
        ("L", FLAG_LETTER | FLAG_UPPER | FLAG_LOWER),
        ("M", FLAG_LETTER | FLAG_UPPER | FLAG_LOWER),
        ("Lu", FLAG_LETTER | FLAG_UPPER),
        ("Ll", FLAG_LETTER | FLAG_LOWER),
        ("N", FLAG_UPPER),
        ("White_Space", FLAG_LOWER),
    ):
        members = tables.find_property(name)
        assert members is not None
        for start, stop in members.bounds.reshape(-1, 2).tolist():
            flags[start:stop] = flag
    return build_class_table(flags)


def _build_merge_table(table: CharacterTable) -> MergeTable:
    """Return the merges as pairs of cores: strings that are made twice have their first one."""
    ids, merges = table.core_ids, table.merges
    if table.n_cores > MAX_MERGED_ID or len(merges) > MAX_RANK:
        raise DataError(
            f"cannot encode with {table.n_cores:,} cores and {len(merges):,} merges: at most "
            f"{MAX_MERGED_ID:,} cores are supported; train a smaller vocabulary"
        )
    pairs = np.array([(ids[left], ids[right]) for left, right in merges], dtype=np.int32)
    results = [ids[left + right] for left, right in merges]
    slots, shift = make_merge_slots(len(merges))
    found = MergeTable(
        slots=slots,
        shift=shift,
        results=np.array([*results, 0], dtype=np.int32),
        byte_ids=np.full(N_BYTES, -1, dtype=np.int32),
        byte_ranks=np.empty(N_BYTES * N_BYTES, dtype=np.int32),
    )
    ranks = np.arange(len(merges), dtype=np.int32)
    merge_table_fill(found, pairs.reshape(-1, 2), ranks)
    return found


def _build_pages(
    vocabulary: CombinatorialVocabulary,
) -> tuple[NDArray[np.uint16], NDArray[np.int32], NDArray[np.int32]]:
    """Return page_numbers, plain and folded; see ``tuple_model.TupleModel``."""
    # One page more, for what is no character.
    n_pages = END_OF_CODE_POINTS // _PAGE_SIZE + 1
    plain = np.full(n_pages * _PAGE_SIZE, kernel.UNKNOWN, dtype=np.int32)
    points = np.array([ord(character) for character in vocabulary.alphabet], dtype=np.int64)
    plain[points] = N_BYTES + np.arange(len(points), dtype=np.int32)
    plain <<= kernel.FOLD_BITS
    folded = plain.copy()
    folding = load_folding(vocabulary.fold_case, vocabulary.fold_han)
    marks = folding.marks.astype(np.int32)
    folded[folding.sources] = plain[folding.targets] | marks
    if vocabulary.fold_han:
        has_traditional = np.zeros(len(plain), dtype=bool)
        has_traditional[load_traditional_forms()[:, 0]] = True
        flags = has_traditional.astype(np.int32)
        flags[folding.sources] = has_traditional[folding.targets]
        folded |= flags * np.int32(kernel.HAS_TRADITIONAL)
    empty = kernel.UNKNOWN << kernel.FOLD_BITS
    is_known = (folded >> kernel.FOLD_BITS != kernel.UNKNOWN) | (plain != empty)
    is_used = is_known.reshape(n_pages, -1).any(axis=1)
    page_numbers = (np.cumsum(is_used) * is_used).astype(np.uint16)
    used = np.flatnonzero(is_used)
    blank = np.full((1, _PAGE_SIZE), empty, dtype=np.int32)
    return (
        page_numbers,
        np.concatenate([blank, plain.reshape(n_pages, -1)[used]]).ravel(),
        np.concatenate([blank, folded.reshape(n_pages, -1)[used]]).ravel(),
    )


def _build_affix_table(affixes: tuple[str, ...]) -> TokenTable:
    """Return the table of all affixes but the empty one."""
    contents, offsets = join_byte_strings([affix.encode() for affix in affixes])
    table = TokenTable(
        slots=np.zeros(1 << (2 * len(affixes) + 1).bit_length(), dtype=np.uint64),
        contents=contents,
        offsets=offsets,
    )
    token_table_fill(table, np.arange(1, len(affixes), dtype=np.int64))
    return table

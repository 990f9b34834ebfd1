"""The kernels from text to rows, compiled and as plain Python."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from numbpe import word_tables
from numbpe.arrays import join_texts
from numbpe.combinatorial import encoder_state, encoder_tables
from numbpe.combinatorial.definition import CombinatorialVocabulary
from numbpe.combinatorial.reference import ReferenceTokenizer
from numbpe_kernels import (
    characters,
    class_masks,
    masks,
    ranks,
    structure_views,
    token_table,
    tuple_cache,
    tuple_encoding,
    tuple_model,
    tuple_views,
    tuple_words,
    utf8,
    word_table,
)

MODULES = (
    characters, class_masks, masks, ranks, token_table, tuple_cache, tuple_encoding, tuple_model,
    structure_views, tuple_views, tuple_words, utf8, word_table, encoder_state, encoder_tables, word_tables,
)  # fmt: skip

TEXTS = [
    "the theThe,\u2026 (then) 12 \u00c9\u0301 \u4e2d\u6587the",
    "",
    "  \n",
    "x" * 300 + "," * 300 + "THE\u00e9",
    "hethe" * 4,
]


def make_vocabulary(**flags: Any) -> CombinatorialVocabulary:
    return CombinatorialVocabulary(
        prefixes=("", " ", " ("),
        suffixes=("", ",", ",\u2026"),
        alphabet=tuple(sorted(" ,12ehtnx\u00e9\u0301\u4e2d")),
        merges=(("t", "h"), ("th", "e"), ("1", "2"), ("x", "x"), (",", ",")),
        **flags,
    )


@pytest.mark.parametrize("mode", ["compiled", "plain Python"])
@pytest.mark.parametrize("flags", [{}, {"split_camel": True, "punct_to_next": True}])
def test_tuple_encode__equals_the_specification(
    monkeypatch: pytest.MonkeyPatch, mode: str, flags: dict[str, Any]
) -> None:
    """Truth: combinatorial/reference.py; several parts in one call, special cores behind them."""
    if mode == "plain Python":
        for module in MODULES:
            for name, value in list(vars(module).items()):
                if hasattr(value, "py_func"):
                    monkeypatch.setattr(module, name, value.py_func)
    vocabulary = make_vocabulary(**flags)
    reference = ReferenceTokenizer(vocabulary)
    expected = [[list(row) for row in reference.encode(text)] + [[0, 0, 7, 0]] for text in TEXTS]
    contents = [text.encode() for text in TEXTS]
    stops = np.cumsum([0, *map(len, contents)])
    parts = np.stack([stops[:-1], stops[1:], np.full(len(TEXTS), 7)], axis=1)
    with np.errstate(over="ignore"):  # hashes wrap around, as they are meant to
        state = encoder_state.RowState(encoder_tables.build_tuple_model(vocabulary))
        rows, offsets = state.encode(join_texts(contents), np.ascontiguousarray(parts))
    actual = [rows[a:b].tolist() for a, b in pairwise(offsets.tolist())]
    assert actual == expected

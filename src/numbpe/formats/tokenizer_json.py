"""tokenizer.json, as the ``tokenizers`` library (0.20 and later) reads it.

Written is all of a definition: the model, the normalizer, the pattern as one Split for each of its
regular expressions, the added tokens, the template and the decoder. The library then makes exactly
our ids.

The format numbers tokens by their spelling, so it cannot hold a special token that is spelled like
an ordinary one: that is refused rather than renumbered.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from numbpe.definition import AddedToken, TokenizerDefinition
from numbpe.errors import ArgumentError, shorten_value
from numbpe.files import write_atomically
from numbpe.formats.byte_alphabet import LETTERS, read_letters, spell_bytes
from numbpe.formats.oniguruma import translate_pattern
from numbpe.formats.quoted_tokens import QuotedTokens
from numbpe.formats.step_documents import (
    build_decoder,
    build_normalizer,
    build_post_processor,
    build_pre_tokenizer,
)
from numbpe.vocabulary import Vocabulary

TRAINING_NOTES: Final = "numbpe"
"""The member of ``model`` that holds the recipe and, for each merge, how often its pair stood in the
corpus when it was merged."""


def save(definition: TokenizerDefinition, path: Path) -> None:
    """Write a tokenizer.json; ArgumentError if the format cannot hold the tokenizer."""
    data = encode_document(definition)
    with write_atomically(path) as file:
        file.write(data)


def check_can_hold(special_tokens: Iterable[str], pattern_sources: Iterable[str]) -> None:
    """Raise ArgumentError for what no tokenizer.json can hold, known before any training."""
    for name in special_tokens:
        if len(name) == 1 and name in LETTERS:
            raise _describe_clash(name, LETTERS.index(name))
    for source in pattern_sources:
        translate_pattern(source)


def build_document(definition: TokenizerDefinition) -> dict[str, Any]:
    """Return the content of a tokenizer.json as JSON values."""
    document: dict[str, Any] = json.loads(encode_document(definition))
    return document


def encode_document(definition: TokenizerDefinition) -> bytes:
    """Return the content of a tokenizer.json.

    Nearly all of it are the ids of tokens and the merges, which kernels write.
    """
    vocabulary = definition.vocabulary
    names = vocabulary.special_tokens
    if definition.rules.alphabet == "bytes":
        quoted = QuotedTokens.from_bytes(vocabulary.contents, vocabulary.offsets, names)
    else:
        name_of_id = {id: name for name, id in names.items()}
        quoted = QuotedTokens.from_spellings(
            [name_of_id.get(id) or token.decode() for id, token in enumerate(vocabulary.tokens)]
        )
    _check_names(definition)
    is_inside = quoted.lengths > 0
    is_inside[list(_list_outside(definition))] = False
    merges = quoted.write_pairs(vocabulary.merge_pairs[_order_merges(definition)])
    ids = quoted.write_ids(np.flatnonzero(is_inside))
    # No string of the document reads like this: quotes in strings are escaped.
    document = json.dumps(_build_rest(definition), ensure_ascii=False)
    head, tail = document.split('"vocab": null, "merges": null')
    return b"".join([head.encode(), b'"vocab": ', ids, b', "merges": ', merges, tail.encode()])


def _build_rest(definition: TokenizerDefinition) -> dict[str, Any]:
    """Return the document, but for the ids of tokens and the merges."""
    rules = definition.rules
    names = {id: name for name, id in definition.vocabulary.special_tokens.items()}

    def spell(token_id: int) -> str:
        content = definition.vocabulary.token_bytes(token_id)
        ordinary = spell_bytes(content) if rules.alphabet == "bytes" else content.decode()
        return names.get(token_id, ordinary)

    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [*map(_build_added_token, definition.added_tokens)],
        "normalizer": build_normalizer(definition.normalizer),
        "pre_tokenizer": build_pre_tokenizer(definition),
        "post_processor": build_post_processor(definition, spell),
        "decoder": build_decoder(definition),
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None if rules.unk_id is None else spell(rules.unk_id),
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": rules.fuse_unk,
            "byte_fallback": rules.byte_fallback,
            "ignore_merges": rules.ignore_merges,
            "vocab": None,
            "merges": None,
            **_build_training_notes(definition),
        },
    }


def _check_names(definition: TokenizerDefinition) -> None:
    """Raise ArgumentError for a special token that is spelled like an ordinary one."""
    vocabulary = definition.vocabulary
    lengths = np.diff(vocabulary.offsets)
    lengths[list(vocabulary.special_tokens.values())] = 0
    for name in vocabulary.special_tokens:
        is_bytes = definition.rules.alphabet == "bytes"
        content = read_letters(name) if is_bytes else name.encode()
        if content is None:
            continue
        ids = np.flatnonzero(lengths == len(content))
        for i, byte in enumerate(content):
            ids = ids[vocabulary.contents[vocabulary.offsets[ids] + i] == byte]
        if len(ids):
            raise _describe_clash(name, int(ids[0]))


def _list_outside(definition: TokenizerDefinition) -> set[int]:
    """Return the ids of the added tokens that the model need not have.

    The library numbers those after the model's tokens, in their order. Where that gives other ids,
    all of them must be among the model's tokens, too.
    """
    vocabulary: Vocabulary = definition.vocabulary
    added = {token.id for token in definition.added_tokens}
    outside = sorted(id for id in vocabulary.special_tokens.values() if id in added)
    if definition.rules.unk_id in outside:
        return set()
    first_id = len(vocabulary) - len(outside)
    return set(outside) if outside == [*range(first_id, len(vocabulary))] else set()


def _describe_clash(name: str, ordinary_id: int) -> ArgumentError:
    return ArgumentError(
        f"a tokenizer.json cannot hold the special token {shorten_value(name)}: it is written like "
        f"the ordinary token {ordinary_id}; choose another special token, or save as .pkl, "
        ".tiktoken or a folder"
    )


def _build_added_token(token: AddedToken) -> dict[str, Any]:
    return {
        "id": token.id,
        "content": token.content,
        "single_word": token.single_word,
        "lstrip": token.lstrip,
        "rstrip": token.rstrip,
        "normalized": token.normalized,
        "special": token.special,
    }


def _build_training_notes(definition: TokenizerDefinition) -> dict[str, Any]:
    """Return what is known of the training, as a member of the model.

    The library passes over members of a model that it does not know, but over no others.
    """
    vocabulary = definition.vocabulary
    if vocabulary.merge_counts is None:
        return {}
    counts = vocabulary.merge_counts[_order_merges(definition)].tolist()
    return {TRAINING_NOTES: {"recipe": vocabulary.recipe_name, "merge_counts": counts}}


def _order_merges(definition: TokenizerDefinition) -> NDArray[np.int64]:
    """Return the places of the merges in the order in which the library applies them."""
    vocabulary = definition.vocabulary
    if definition.rules.merge_order == "result":
        return np.argsort(vocabulary.merge_results, kind="stable")
    return np.arange(vocabulary.n_merges)

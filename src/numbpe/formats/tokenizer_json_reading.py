"""tokenizer.json, as the ``tokenizers`` library writes it, to a definition.

Ids in the file are law: they may have holes, and none is given anew. What cannot be done here is
refused by name, so that a file either gives the library's ids or does not load.
"""

from dataclasses import replace
from pathlib import Path
from typing import Final, Literal

import numpy as np

from numbpe.definition import AddedToken, ModelRules, Template, TokenizerDefinition
from numbpe.errors import shorten_value
from numbpe.formats.added_token_reading import read_added_tokens
from numbpe.formats.json_documents import JsonValue, read_json
from numbpe.formats.post_processors import read_decoder, read_post_processor
from numbpe.formats.pre_tokenizers import PreTokenization, read_pre_tokenizer
from numbpe.formats.side_files import SideFiles
from numbpe.formats.text_steps import read_normalizer
from numbpe.formats.token_tables import SpelledModel
from numbpe.formats.tokenizer_json import TRAINING_NOTES
from numbpe.vocabulary import Vocabulary

_NO_EFFECT: Final = ("continuing_subword_prefix", "end_of_word_suffix")


def read(path: Path) -> TokenizerDefinition:
    """Return what a tokenizer.json holds; FormatError for what is wrong or not known here."""
    return read_document(read_json(path), SideFiles())


def read_document(document: JsonValue, side_files: SideFiles) -> TokenizerDefinition:
    """Return the definition of a tokenizer.json that has been read, and of what lies beside it."""
    model = document.get("model")
    if model is None:
        raise document.fail(
            "this is no tokenizer.json: 'model' is missing; for a vocab.json give its folder, "
            "which must hold merges.txt too"
        )
    check_model(model)
    added_tokens = read_added_tokens(document, side_files.added_tokens)
    normalizer = read_normalizer(document.get("normalizer"))
    steps = read_pre_tokenizer(document.get("pre_tokenizer"), normalizer)
    vocabulary = read_vocabulary(model, added_tokens, steps)
    processing = read_post_processor(document.get("post_processor"))
    check_template(processing.template, vocabulary, document)
    rules = read_rules(model, steps.alphabet)
    roles = {} if rules.unk_id is None else {"unk_token": rules.unk_id}
    roles |= side_files.find_roles(added_tokens)
    return TokenizerDefinition(
        vocabulary,
        rules,
        added_tokens,
        normalizer,
        steps.preparation,
        side_files.adapt_template(processing.template, roles),
        read_decoder(document.get("decoder"), steps.alphabet),
        processing.trim_offsets,
        roles,
    )


def check_model(model: JsonValue) -> None:
    """Raise FormatError for a model that is no BPE model, or works in a way not known here."""
    kind = model.take("type", str, "BPE")
    if kind != "BPE":
        raise model.fail(f"numbpe reads BPE models; this is a {kind} model")
    dropout = model.get("dropout")
    if dropout is not None and dropout.value != 0:
        raise dropout.fail(
            f"dropout {shorten_value(dropout.value)} gives other ids every time; numbpe merges "
            "without: set it to null in the file"
        )
    for key in _NO_EFFECT:
        value = model.take(key, str, "")
        if value:
            raise model.fail(f"numbpe has no {key}; the file has {value!r}, and it must be null")


def read_rules(model: JsonValue, alphabet: Literal["bytes", "characters"]) -> ModelRules:
    """Return how pieces become ids.

    With letters for all bytes nothing is unknown, so that the fallback is not looked at; an unknown
    token that does not exist counts as none.
    """
    unk_token = model.get("unk_token")
    unk_id = None
    if unk_token is not None:
        unk_id = model.value["vocab"].get(unk_token.expect(str))
    has_fallback = model.take("byte_fallback", bool, False)
    if alphabet == "bytes" and has_fallback:
        raise model.fail("byte_fallback falls back on letters behind ByteLevel; set it to false")
    return ModelRules(
        alphabet=alphabet,
        ignore_merges=model.take("ignore_merges", bool, False),
        byte_fallback=has_fallback,
        unk_id=unk_id,
        fuse_unk=model.take("fuse_unk", bool, False),
    )


def read_vocabulary(
    model: JsonValue, added_tokens: tuple[AddedToken, ...], steps: PreTokenization
) -> Vocabulary:
    """Return tokens, merges and pattern."""
    spelled = SpelledModel(
        model.require("vocab", dict),
        model.require("merges", list),
        JsonValue(model.path, model.locate("vocab"), None),
        JsonValue(model.path, model.locate("merges"), None),
    )
    vocabulary = spelled.build_vocabulary(
        steps.alphabet, added_tokens, steps.pattern, numeric_cuts=steps.numeric_cuts
    )
    notes = model.get(TRAINING_NOTES)
    return vocabulary if notes is None else _add_training_notes(vocabulary, notes, spelled)


def _add_training_notes(
    vocabulary: Vocabulary, notes: JsonValue, spelled: SpelledModel
) -> Vocabulary:
    """Return the vocabulary with its recipe and with the counts of its merges."""
    counts = notes.require("merge_counts", list)
    is_counts = set(map(type, counts)) <= {int} and min(counts, default=0) >= 0
    if not is_counts or max(counts, default=0) >= 1 << 63 or len(counts) != len(spelled.merges):
        raise notes.fail(
            f"merge_counts must be {len(spelled.merges):,} numbers, one for each merge, not "
            f"{len(counts):,}, from 0 to 2**63 - 1: {shorten_value(counts)}; if the merges were "
            f"changed, take {TRAINING_NOTES!r} out"
        )
    if len(counts) != vocabulary.n_merges:  # some merges have no effect and were left out
        return vocabulary
    recipe_name = notes.take("recipe", str, "") or None
    numbers = np.array(counts, dtype=np.int64)
    return replace(vocabulary, recipe_name=recipe_name, merge_counts=numbers)


def check_template(template: Template, vocabulary: Vocabulary, document: JsonValue) -> None:
    """Raise FormatError for a template that adds an id no token has."""
    lengths = vocabulary.offsets[1:] - vocabulary.offsets[:-1]
    for piece, _ in (*template.single, *template.pair):
        if isinstance(piece, int) and not (0 <= piece < len(lengths) and lengths[piece]):
            raise document.fail(f"the post_processor adds the id {piece}, which no token has")

"""tokenizer.json, as the ``tokenizers`` library writes it, to a definition.

Ids in the file are law: they may have holes, and none is given anew. What cannot be done here is
refused by name, so that a file either gives the library's ids or does not load.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from numbpe.definition import AddedToken, ModelRules, Template, TokenizerDefinition
from numbpe.errors import shorten_value
from numbpe.formats.json_documents import JsonValue, read_json
from numbpe.formats.post_processors import read_decoder, read_post_processor
from numbpe.formats.pre_tokenizers import PreTokenization, read_pre_tokenizer
from numbpe.formats.text_steps import read_normalizer
from numbpe.formats.token_tables import SpelledModel
from numbpe.vocabulary import Vocabulary
from numbpe.vocabulary_checks import MAX_TOKEN_ID

_NO_EFFECT: Final = ("continuing_subword_prefix", "end_of_word_suffix")


def read(path: Path) -> TokenizerDefinition:
    """Return what a tokenizer.json holds; FormatError for what is wrong or not known here."""
    return read_document(read_json(path))


def read_document(document: JsonValue) -> TokenizerDefinition:
    """Return the definition of a tokenizer.json that has been read."""
    model = document.get("model")
    if model is None:
        raise document.fail(
            "this is no tokenizer.json: 'model' is missing; for a vocab.json give its folder, "
            "which must hold merges.txt too"
        )
    check_model(model)
    added_tokens = read_added_tokens(document)
    normalizer = read_normalizer(document.get("normalizer"))
    steps = read_pre_tokenizer(document.get("pre_tokenizer"), normalizer)
    vocabulary = read_vocabulary(model, added_tokens, steps)
    processing = read_post_processor(document.get("post_processor"))
    check_template(processing.template, vocabulary, document)
    rules = read_rules(model, steps.alphabet)
    roles = {} if rules.unk_id is None else {"unk_token": rules.unk_id}
    return TokenizerDefinition(
        vocabulary,
        rules,
        added_tokens,
        normalizer,
        steps.preparation,
        processing.template,
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
    return spelled.build_vocabulary(
        steps.alphabet, added_tokens, steps.pattern, numeric_cuts=steps.numeric_cuts
    )


@dataclass
class _AddedTokens:
    """Added tokens so far, by id and by content; two may share neither."""

    by_id: dict[int, AddedToken]
    by_content: dict[str, AddedToken]

    def add(self, token: AddedToken, place: JsonValue) -> None:
        other = self.by_id.get(token.id) or self.by_content.get(token.content)
        if other is not None and (other.id, other.content) != (token.id, token.content):
            raise place.fail(
                f"the added tokens {shorten_value(other.content)}, id {other.id}, and "
                f"{shorten_value(token.content)}, id {token.id}, cannot be told apart; "
                "give each its own id"
            )
        self.by_id[token.id] = self.by_content[token.content] = token


def read_added_tokens(document: JsonValue) -> tuple[AddedToken, ...]:
    """Return the added tokens by id; FormatError if two have one id, or one has two."""
    tokens = _AddedTokens({}, {})
    for item in document.iterate("added_tokens"):
        tokens.add(read_added_token(item, item.require("id", int)), item)
    return tuple(token for _, token in sorted(tokens.by_id.items()))


def read_added_token(item: JsonValue, token_id: int) -> AddedToken:
    """Return one added token; ``normalized`` is what is not special, if the file does not say."""
    if not 0 <= token_id <= MAX_TOKEN_ID:
        raise item.fail(f"the id {token_id} is out of range; ids are from 0 to {MAX_TOKEN_ID:,}")
    content = item.require("content", str)
    if not content:
        raise item.fail("the content of an added token is empty; take the token out")
    try:
        content.encode()
    except UnicodeEncodeError:
        raise item.fail(f"{content!r} holds an unpaired surrogate, which no text holds") from None
    special = item.take("special", bool, False)
    flags = {key: item.take(key, bool, False) for key in ("single_word", "lstrip", "rstrip")}
    normalized = item.take("normalized", bool, not special)
    return AddedToken(content, token_id, special, normalized, **flags)


def check_template(template: Template, vocabulary: Vocabulary, document: JsonValue) -> None:
    """Raise FormatError for a template that adds an id no token has."""
    lengths = vocabulary.offsets[1:] - vocabulary.offsets[:-1]
    for piece, _ in (*template.single, *template.pair):
        if isinstance(piece, int) and not (0 <= piece < len(lengths) and lengths[piece]):
            raise document.fail(f"the post_processor adds the id {piece}, which no token has")

"""The steps of a tokenizer.json around its model, from a definition."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from numbpe.definition import (
    METASPACE,
    Lowercase,
    Normalization,
    Prepend,
    Replace,
    Strip,
    StripAccents,
    Template,
    TemplatePiece,
    TextStep,
    TokenizerDefinition,
)
from numbpe.errors import ArgumentError, shorten_value
from numbpe.formats.oniguruma import translate_pattern
from numbpe.formats.oniguruma_reading import write_split_before
from numbpe.named_patterns import NAMED_PATTERNS

(GPT2_SOURCE,) = NAMED_PATTERNS["gpt2"]
"""The expression that the library's ByteLevel step has built in."""

_PREFIX_SPACE: Final = Prepend(" ", unless=" ")

Document = dict[str, Any]


def build_normalizer(normalizer: Sequence[TextStep]) -> Document | None:
    """Return the normalizer; None if there is none."""
    return _join([*map(_build_text_step, normalizer)], "normalizers")


def _join(steps: list[Document], key: str) -> Document | None:
    if len(steps) <= 1:
        return steps[0] if steps else None
    return {"type": "Sequence", key: steps}


def _build_text_step(step: TextStep) -> Document:
    match step:
        case Normalization(form):
            return {"type": form}
        case Lowercase() | StripAccents():
            return {"type": type(step).__name__}
        case Strip(left, right):
            return {"type": "Strip", "strip_left": left, "strip_right": right}
        case Prepend(content, "", False):
            return {"type": "Prepend", "prepend": content}
        case Replace(pattern, content, is_regex):
            written = {"Regex": translate_pattern(pattern)} if is_regex else {"String": pattern}
            return {"type": "Replace", "pattern": written, "content": content}
    raise _refuse(f"the normalizer {shorten_value(step)}")


def _refuse(what: str) -> ArgumentError:
    return ArgumentError(f"a tokenizer.json cannot hold {what}")


def build_pre_tokenizer(definition: TokenizerDefinition) -> Document | None:
    """Return the steps that cut text into pieces; over bytes they write these as letters, too."""
    sources = definition.vocabulary.pattern_sources
    if definition.rules.alphabet == "bytes":
        return _build_byte_pre_tokenizer(definition.preparation, sources)
    steps: list[Document] = []
    if definition.preparation:
        letter, scheme = _read_metaspace(definition.preparation)
        is_split = sources[:1] == (write_split_before(letter),)
        sources = sources[1:] if is_split else sources
        steps.append(_build_metaspace(letter, scheme, is_split=is_split))
    return _join([*steps, *map(_build_split, sources)], "pretokenizers")


def _build_byte_pre_tokenizer(
    preparation: tuple[TextStep, ...], sources: tuple[str, ...]
) -> Document | None:
    """The GPT-2 expression, if it comes last, is left to ByteLevel: other readers know it there."""
    is_built_in = sources[-1:] == (GPT2_SOURCE,)
    steps = [*map(_build_split, sources[:-1] if is_built_in else sources)]
    if preparation not in ((), (_PREFIX_SPACE,)) or (preparation and steps):
        raise _refuse(f"what is done to a text before the pattern: {shorten_value(preparation)}")
    steps.append(_build_byte_level(use_regex=is_built_in, add_prefix_space=bool(preparation)))
    return _join(steps, "pretokenizers")


def _build_split(source: str) -> Document:
    return {
        "type": "Split",
        "pattern": {"Regex": translate_pattern(source)},
        "behavior": "Isolated",
        "invert": False,
    }


def _build_byte_level(
    *, use_regex: bool, add_prefix_space: bool = False, trim_offsets: bool = True
) -> Document:
    return {
        "type": "ByteLevel",
        "add_prefix_space": add_prefix_space,
        "trim_offsets": trim_offsets,
        "use_regex": use_regex,
    }


def _read_metaspace(preparation: tuple[TextStep, ...]) -> tuple[str, str]:
    """Return the letter for spaces and the scheme by which it is put before a text."""
    match preparation:
        case (Replace(" ", letter, False),):
            return letter, "never"
        case (Replace(" ", letter, False), Prepend(content, unless, first_only)) if (
            content == unless == letter
        ):
            return letter, "first" if first_only else "always"
    raise _refuse(f"what is done to a text before the pattern: {shorten_value(preparation)}")


def _build_metaspace(letter: str, scheme: str, *, is_split: bool) -> Document:
    return {
        "type": "Metaspace",
        "replacement": letter,
        "prepend_scheme": scheme,
        "split": is_split,
    }


def build_post_processor(
    definition: TokenizerDefinition, spell: Callable[[int], str]
) -> Document | None:
    """Return the template, and whether offsets leave out white space; None for neither.

    spell : returns the spelling of a token by its id
    """
    steps: list[Document] = []
    if definition.trim_offsets:
        has_prefix = bool(definition.preparation)
        steps.append(_build_byte_level(use_regex=True, add_prefix_space=has_prefix))
    if definition.template != Template():
        steps.append(_build_template(definition.template, spell))
    return _join(steps, "processors")


def _build_template(template: Template, spell: Callable[[int], str]) -> Document:
    ids = {piece for piece, _ in (*template.single, *template.pair) if not isinstance(piece, str)}
    return {
        "type": "TemplateProcessing",
        "single": [_build_piece(piece, spell) for piece in template.single],
        "pair": [_build_piece(piece, spell) for piece in template.pair],
        "special_tokens": {
            spell(id): {"id": spell(id), "ids": [id], "tokens": [spell(id)]} for id in sorted(ids)
        },
    }


def _build_piece(piece: TemplatePiece, spell: Callable[[int], str]) -> Document:
    content, type_id = piece
    if isinstance(content, str):
        return {"Sequence": {"id": content, "type_id": type_id}}
    return {"SpecialToken": {"id": spell(content), "type_id": type_id}}


def build_decoder(definition: TokenizerDefinition) -> Document:
    """Return the steps that make text of spellings."""
    if definition.rules.alphabet == "bytes":
        return _build_byte_level(use_regex=True)
    rules = definition.decoding
    steps: list[Document] = []
    for old, new in rules.replacements:
        if rules.drops_first_metaspace and old == METASPACE.encode():
            steps.append(_build_metaspace(METASPACE, "always", is_split=True))
        else:
            pattern = {"String": old.decode()}
            steps.append({"type": "Replace", "pattern": pattern, "content": new.decode()})
    if rules.byte_fallback:
        steps.append({"type": "ByteFallback"})
    steps.append({"type": "Fuse"})
    if rules.strip_left or rules.strip_right:
        edges = {"start": rules.strip_left, "stop": rules.strip_right}
        steps.append({"type": "Strip", "content": " ", **edges})
    return _join(steps, "decoders") or {"type": "Fuse"}

"""The post-processor and the decoder of a tokenizer.json: templates, and how spellings are text."""

from dataclasses import dataclass, field
from typing import Literal

from numbpe.definition import METASPACE, DecodingRules, Template, TemplatePiece
from numbpe.formats.json_documents import JsonValue


@dataclass
class PostProcessing:
    """What a post-processor says: ids to add, and whether offsets leave out white space."""

    template: Template = field(default_factory=Template)
    trim_offsets: bool = False
    has_template: bool = False


def read_post_processor(processor: JsonValue | None) -> PostProcessing:
    """Return what a post-processor says; FormatError for a kind that is not known here."""
    result = PostProcessing()
    if processor is not None:
        _read_processor(processor, result)
    return result


def _read_processor(processor: JsonValue, result: PostProcessing) -> None:
    kind = processor.require("type", str)
    if kind == "Sequence":
        for part in processor.iterate("processors"):
            _read_processor(part, result)
        return
    if kind == "ByteLevel":
        result.trim_offsets = processor.take("trim_offsets", bool, True)
        return
    if kind not in ("TemplateProcessing", "RobertaProcessing", "BertProcessing"):
        raise processor.fail(
            f"numbpe has no post-processor {kind!r}; it has ByteLevel, TemplateProcessing, "
            "RobertaProcessing, BertProcessing and sequences of these"
        )
    if result.has_template:
        raise processor.fail("this adds ids a second time; one template is allowed")
    result.has_template = True
    if kind == "TemplateProcessing":
        result.template = Template(
            _read_pieces(processor, "single"), _read_pieces(processor, "pair")
        )
        return
    if kind == "RobertaProcessing":
        result.trim_offsets = processor.take("trim_offsets", bool, True)
    result.template = _build_bert_template(processor, is_roberta=kind == "RobertaProcessing")


def _build_bert_template(processor: JsonValue, *, is_roberta: bool) -> Template:
    """Return ``[CLS] A [SEP] B [SEP]``; Roberta has two separators, and type 0 everywhere."""
    start, separator = _read_token_id(processor, "cls"), _read_token_id(processor, "sep")
    single: tuple[TemplatePiece, ...] = ((start, 0), ("A", 0), (separator, 0))
    if is_roberta:
        return Template(single, (*single, (separator, 0), ("B", 0), (separator, 0)))
    return Template(single, (*single, ("B", 1), (separator, 1)))


def _read_token_id(processor: JsonValue, key: str) -> int:
    match processor.require(key, list):
        case [str(), int(token_id)]:
            return token_id
    raise processor.fail(f'{key!r} must be a token and its id, as ["</s>", 2]')


def _read_pieces(processor: JsonValue, key: str) -> tuple[TemplatePiece, ...]:
    special = processor.get("special_tokens")
    pieces: list[TemplatePiece] = []
    for item in processor.iterate(key):
        sequence, token = item.get("Sequence"), item.get("SpecialToken")
        if sequence is not None:
            name = sequence.require("id", str)
            if name not in ("A", "B"):
                raise sequence.fail(f"'id' is {name!r}; a template knows the texts 'A' and 'B'")
            text: Literal["A", "B"] = "A" if name == "A" else "B"
            pieces.append((text, sequence.take("type_id", int, 0)))
        elif token is not None:
            entry = special.get(token.require("id", str)) if special is not None else None
            if entry is None:
                raise token.fail(f"{token.value['id']!r} is not among the special_tokens")
            type_id = token.take("type_id", int, 0)
            pieces.extend((one.expect(int), type_id) for one in entry.iterate("ids"))
        else:
            raise item.fail('a piece of a template is {"Sequence": ...} or {"SpecialToken": ...}')
    texts = [piece for piece, _ in pieces if isinstance(piece, str)]
    if sorted(texts) != (["A"] if key == "single" else ["A", "B"]):
        raise processor.fail(f"the template {key!r} must hold every text once; it holds {texts}")
    return tuple(pieces)


def read_decoder(
    decoder: JsonValue | None, alphabet: Literal["bytes", "characters"]
) -> DecodingRules:
    """Return how spellings become text; FormatError for a decoder that is not known here."""
    steps = [] if decoder is None else _list_decoders(decoder)
    if alphabet == "bytes":
        for step in steps:
            if step.value["type"] not in ("ByteLevel", "Fuse"):
                raise _refuse_decoder(step)
        return DecodingRules()
    return _DecoderReader().read(steps)


def _list_decoders(decoder: JsonValue) -> list[JsonValue]:
    if decoder.require("type", str) == "Sequence":
        parts = map(_list_decoders, decoder.iterate("decoders"))
        return [step for part in parts for step in part]
    return [decoder]


def _refuse_decoder(step: JsonValue) -> Exception:
    return step.fail(
        f"numbpe has no decoder {step.value['type']!r} for such a model; it has ByteLevel behind a "
        "ByteLevel pre-tokenizer, else Metaspace, or Replace, ByteFallback, Fuse and Strip in this "
        "order"
    )


class _DecoderReader:
    """Steps of a decoder, one after another, to rules."""

    def __init__(self) -> None:
        self.replacements: list[tuple[bytes, bytes]] = []
        self.has_fallback = False
        self.is_fused = False
        self.drops_first_metaspace = False
        self.stripped = (0, 0)

    def read(self, steps: list[JsonValue]) -> DecodingRules:
        for step in steps:
            self.read_step(step)
        return DecodingRules(
            replacements=tuple(self.replacements),
            byte_fallback=self.has_fallback,
            strip_left=self.stripped[0],
            strip_right=self.stripped[1],
            drops_first_metaspace=self.drops_first_metaspace,
        )

    def read_step(self, step: JsonValue) -> None:
        kind = step.value["type"]
        if kind == "Fuse":
            self.is_fused = True
        elif kind == "ByteFallback" and not self.is_fused:
            self.has_fallback = True
        elif kind == "Replace" and not self.is_fused and not self.has_fallback:
            self.read_replacement(step)
        elif kind == "Metaspace" and not self.is_fused and not self.has_fallback:
            self.read_metaspace(step)
        elif kind == "Strip" and self.is_fused and self.stripped == (0, 0):
            self.read_strip(step)
        else:
            raise _refuse_decoder(step)

    def read_replacement(self, step: JsonValue) -> None:
        pattern = step.get("pattern")
        if pattern is None or pattern.get("String") is None:
            raise step.fail('the pattern of a decoder must be {"String": ...}, a literal')
        old, new = pattern.require("String", str), step.require("content", str)
        self.replacements.append((old.encode(), new.encode()))

    def read_metaspace(self, step: JsonValue) -> None:
        replacement = step.take("replacement", str, METASPACE)
        self.replacements.append((replacement.encode(), b" "))
        is_prefixed = read_prepend_scheme(step) != "never"
        if is_prefixed and replacement != METASPACE:
            raise step.fail(f"'replacement' must be {METASPACE!r}, not {replacement!r}")
        self.drops_first_metaspace = is_prefixed

    def read_strip(self, step: JsonValue) -> None:
        if step.require("content", str) != " ":
            raise step.fail(f"'content' must be a space, not {step.value['content']!r}")
        self.stripped = (step.take("start", int, 0), step.take("stop", int, 0))


def read_prepend_scheme(step: JsonValue) -> str:
    """Return the scheme of a Metaspace step; older files say add_prefix_space instead."""
    scheme: str = step.take("prepend_scheme", str, "always")
    if not step.take("add_prefix_space", bool, True):
        if scheme == "first":
            raise step.fail("add_prefix_space is false, but prepend_scheme is 'first'")
        scheme = "never"
    if scheme not in ("always", "first", "never"):
        raise step.fail(f"'prepend_scheme' is {scheme!r}; it must be 'always', 'first' or 'never'")
    return scheme

"""tokenizer.json of every kind that is read: the library's ids, from small models made here."""

import json
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from tokenizers import AddedToken, Regex, decoders, normalizers, pre_tokenizers, processors

import numbpe
from numbpe.definition import DecodingRules, Prepend, Replace, Template
from numbpe.sample_texts import SAMPLE_TEXTS

Split = pre_tokenizers.Split
ByteLevel = pre_tokenizers.ByteLevel
GPT4O = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+"
    r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)

TEXTS = (*SAMPLE_TEXTS[:60], *SAMPLE_TEXTS[60::10])

PRE_TOKENIZERS: dict[str, Any] = {
    "gpt2": lambda: ByteLevel(add_prefix_space=False),
    "roberta": lambda: ByteLevel(add_prefix_space=True),
    "no pattern": lambda: ByteLevel(add_prefix_space=False, use_regex=False),
    "starcoder": lambda: [pre_tokenizers.Digits(True), ByteLevel(add_prefix_space=False)],
    "digits in runs": lambda: [pre_tokenizers.Digits(False), ByteLevel(add_prefix_space=False)],
    "falcon": lambda: [
        pre_tokenizers.Punctuation("contiguous"),
        ByteLevel(add_prefix_space=False),
        pre_tokenizers.Digits(False),
        Split(Regex("[0-9][0-9][0-9]"), "isolated"),
    ],
    "digits behind bytes": lambda: [
        ByteLevel(add_prefix_space=False, use_regex=False),
        pre_tokenizers.Digits(True),
    ],
    "punctuation": lambda: [
        pre_tokenizers.Punctuation(),
        ByteLevel(add_prefix_space=False, use_regex=False),
    ],
    "gpt4o": lambda: [Split(Regex(GPT4O), "removed", invert=True), byte_letters()],
    "literal with signs": lambda: [Split("\\d", "isolated"), byte_letters()],
    "regex digit": lambda: [Split(Regex("\\d"), "isolated"), byte_letters()],
    "merged with previous": lambda: [Split(" ", "merged_with_previous"), byte_letters()],
    "merged with next": lambda: [Split(Regex(r"[\s,.]"), "merged_with_next"), byte_letters()],
    "contiguous": lambda: [Split(Regex(r"\d\d|[,;a]"), "contiguous"), byte_letters()],
    "nested repeats": lambda: [
        Split(Regex(r"\p{N}{1,3}+|a{2}?b|\p{L}+?"), "isolated"),
        byte_letters(),
    ],
    "line ends": lambda: [Split(Regex(r"\s+$|[^\s]+|(?m:.)"), "isolated"), byte_letters()],
    "word characters": lambda: [Split(Regex(r"\w+|\W|[\w]|[\W]"), "isolated"), byte_letters()],
    "fixed length": lambda: [pre_tokenizers.FixedLength(3), byte_letters()],
}


def byte_letters() -> Any:
    return ByteLevel(add_prefix_space=False, use_regex=False)


def train(
    pre_tokenizer: Any,
    normalizer: Any = None,
    specials: tuple[str, ...] = ("<s>", "</s>", "<unk>"),
    **model_options: Any,
) -> tokenizers.Tokenizer:
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(**model_options))
    if isinstance(pre_tokenizer, list):
        pre_tokenizer = pre_tokenizers.Sequence(pre_tokenizer)
    if pre_tokenizer is not None:
        tokenizer.pre_tokenizer = pre_tokenizer
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    is_byte_level = pre_tokenizer is not None and "ByteLevel" in str(pre_tokenizer)
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=900,
        special_tokens=list(specials),
        show_progress=False,
        initial_alphabet=ByteLevel.alphabet() if is_byte_level else [],
        max_token_length=8,
    )
    tokenizer.train_from_iterator(SAMPLE_TEXTS[1:600], trainer)
    if is_byte_level:
        tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def save(tokenizer: tokenizers.Tokenizer, folder: Path) -> Path:
    path = folder / "model.json"
    tokenizer.save(str(path))
    return path


def assert_equal(path: Path, texts: tuple[str, ...] = TEXTS) -> numbpe.Tokenizer:
    """Compare with the library, the file as it is and as it is after we have written it anew."""
    other = tokenizers.Tokenizer.from_file(str(path))
    ours = numbpe.load(path)
    written = path.with_name("written.json")
    ours.save(written)
    rewritten = tokenizers.Tokenizer.from_file(str(written))
    for text in texts:
        expected = other.encode(text).ids
        assert ours.encode(text, add_special_tokens=True).tolist() == expected, repr(text)
        assert rewritten.encode(text).ids == expected, repr(text)
    return ours


@pytest.mark.parametrize("name", list(PRE_TOKENIZERS))
def test_load__gives_the_ids_of_the_library_for_every_pre_tokenizer(
    name: str, tmp_path: Path
) -> None:
    """Truth: tokenizers 0.23.3 with the same file, and with the file that we write of it."""
    texts = (
        *TEXTS,
        "\u00b2\u00b3 x\u00b2y \u16ff4 \U00016ff4 \u166d $a$ 1\u00bc2 \u0e33\u0672",
    )
    assert_equal(save(train(PRE_TOKENIZERS[name]()), tmp_path), texts)


@pytest.mark.parametrize("scheme", ["always", "never", "first"])
@pytest.mark.parametrize("split", [True, False])
def test_load__reads_metaspace(scheme: str, split: bool, tmp_path: Path) -> None:
    """Truth: tokenizers 0.23.3, ids and decoded text, also behind added tokens."""
    step = pre_tokenizers.Metaspace(prepend_scheme=scheme, split=split)
    tokenizer = train(step, unk_token="<unk>", fuse_unk=True)
    tokenizer.decoder = decoders.Metaspace(prepend_scheme=scheme, split=split)
    texts = (*TEXTS[:200], "<s>the fox<s> the fox", " <s>", "\u2581a", "<s>")
    ours = assert_equal(save(tokenizer, tmp_path), texts)
    assert isinstance(ours.definition.preparation[0], Replace)
    prepends = [step for step in ours.definition.preparation if isinstance(step, Prepend)]
    assert [step.first_only for step in prepends] == {
        "always": [False],
        "never": [],
        "first": [True],
    }[scheme]
    for text in ("the quick fox", " the fox", "a  b"):
        ids = tokenizer.encode(text).ids
        assert ours.decode(ids) == tokenizer.decode(ids, skip_special_tokens=False)


def test_load__reads_the_older_form_of_metaspace(tmp_path: Path) -> None:
    """Truth: tokenizers 0.23.3, which still reads add_prefix_space."""
    tokenizer = train(pre_tokenizers.Metaspace(prepend_scheme="never"), unk_token="<unk>")
    document = json.loads(tokenizer.to_str())
    step = {"type": "Metaspace", "replacement": "\u2581", "add_prefix_space": True}
    document["pre_tokenizer"] = document["decoder"] = step
    path = tmp_path / "model.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    ours = assert_equal(path)
    assert ours.definition.preparation[1] == Prepend("\u2581", unless="\u2581")
    assert ours.definition.decoding.drops_first_metaspace


@pytest.mark.parametrize("byte_fallback", [True, False])
@pytest.mark.parametrize("fuse_unk", [True, False])
def test_load__reads_the_form_of_sentencepiece(
    byte_fallback: bool, fuse_unk: bool, tmp_path: Path
) -> None:
    """Truth: tokenizers 0.23.3 with the steps of Llama 2, unknown characters included."""
    normalizer = normalizers.Sequence(
        [normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")]
    )
    specials = ("<unk>", "<s>", *(f"<0x{byte:02X}>" for byte in range(256) if byte_fallback))
    tokenizer = train(
        None,
        normalizer,
        specials,
        unk_token="<unk>",
        fuse_unk=fuse_unk,
        byte_fallback=byte_fallback,
    )
    document = json.loads(tokenizer.to_str())
    # The bytes are tokens of the model alone, as in Llama 2.
    document["added_tokens"] = document["added_tokens"][:2]
    document["decoder"] = {
        "type": "Sequence",
        "decoders": [
            {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "},
            {"type": "ByteFallback"},
            {"type": "Fuse"},
            {"type": "Strip", "content": " ", "start": 1, "stop": 0},
        ],
    }
    document["post_processor"] = {
        "type": "TemplateProcessing",
        "single": [
            {"SpecialToken": {"id": "<s>", "type_id": 0}},
            {"Sequence": {"id": "A", "type_id": 0}},
        ],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]}},
    }
    path = tmp_path / "model.json"
    path.write_text(json.dumps(document, ensure_ascii=False), encoding="utf-8")
    ours = assert_equal(path, (*TEXTS, "\U0001f680\U0001f681 \u5f41", "<s> a<s>b"))
    assert ours.definition.decoding == DecodingRules(((b"\xe2\x96\x81", b" "),), True, strip_left=1)
    assert ours.definition.template.prefix == (1,)
    assert ours.definition.roles == {"unk_token": 0}
    shown = "\u4e00" if byte_fallback else "<unk>"
    assert ours.decode(ours.encode("the fox \u4e00")) == f"the fox {shown}"


@pytest.mark.parametrize(
    "normalizer",
    [
        normalizers.NFC(),
        normalizers.Sequence([]),
        normalizers.Sequence(
            [normalizers.NFKD(), normalizers.StripAccents(), normalizers.Lowercase()]
        ),
        normalizers.Sequence(
            [normalizers.Strip(left=True, right=False), normalizers.Replace("a", "")]
        ),
        normalizers.Replace(Regex(r"\s+"), " "),
        normalizers.Prepend("x"),
    ],
    ids=repr,
)
def test_load__reads_normalizers(normalizer: Any, tmp_path: Path) -> None:
    """Truth: tokenizers 0.23.3."""
    assert_equal(save(train(ByteLevel(add_prefix_space=False), normalizer), tmp_path))


@pytest.mark.parametrize(
    "processor, template, trims",
    [
        (processors.ByteLevel(trim_offsets=True), Template(), True),
        (
            processors.RobertaProcessing(("</s>", 1), ("<s>", 0)),
            Template(
                ((0, 0), ("A", 0), (1, 0)),
                ((0, 0), ("A", 0), (1, 0), (1, 0), ("B", 0), (1, 0)),
            ),
            True,
        ),
        (
            processors.BertProcessing(("</s>", 1), ("<s>", 0)),
            Template(((0, 0), ("A", 0), (1, 0)), ((0, 0), ("A", 0), (1, 0), ("B", 1), (1, 1))),
            False,
        ),
        (
            processors.Sequence(
                [
                    processors.ByteLevel(trim_offsets=False),
                    processors.TemplateProcessing(
                        "<s> $A", "<s> $A $B:1 </s>:1", [("<s>", 0), ("</s>", 1)]
                    ),
                ]
            ),
            Template(((0, 0), ("A", 0)), ((0, 0), ("A", 0), ("B", 1), (1, 1))),
            False,
        ),
    ],
    ids=["ByteLevel", "Roberta", "Bert", "Sequence"],
)
def test_load__reads_post_processors(
    processor: Any, template: Template, trims: bool, tmp_path: Path
) -> None:
    """Truth: ids of tokenizers 0.23.3, and its documented templates."""
    tokenizer = train(ByteLevel(add_prefix_space=False))
    tokenizer.post_processor = processor
    ours = assert_equal(save(tokenizer, tmp_path), TEXTS[:100])
    assert (ours.definition.template, ours.definition.trim_offsets) == (template, trims)
    pair = tokenizer.encode("ab", "c")
    expected = []
    for piece, _ in ours.definition.template.pair:
        text = {"A": "ab", "B": "c"}.get(str(piece))
        expected += [piece] if text is None else ours.encode(text).tolist()
    assert pair.ids == expected


def test_load__reads_added_tokens_with_their_flags(tmp_path: Path) -> None:
    """Truth: tokenizers 0.23.3; tokens inside and outside of the model, normalized ones too."""
    tokenizer = train(ByteLevel(add_prefix_space=False), normalizers.NFC())
    tokenizer.add_tokens(
        [
            AddedToken("<tool>", normalized=False, lstrip=True),
            AddedToken("the", normalized=True, single_word=True),
            AddedToken("  ", normalized=True),
            AddedToken("\u00e9t\u00e9", normalized=True, rstrip=True),
        ]
    )
    tokenizer.add_special_tokens(["<end of text>"])
    texts = (
        *TEXTS[:200],
        "a <tool> the other the\n\n  e\u0301te\u0301  x <end of text><s>",
    )
    ours = assert_equal(save(tokenizer, tmp_path), texts)
    by_name = {token.content: token for token in ours.definition.added_tokens}
    assert (by_name["the"].single_word, by_name["the"].special) == (True, False)
    assert (by_name["<tool>"].lstrip, by_name["\u00e9t\u00e9"].rstrip) == (True, True)
    assert set(ours.special_tokens) == {"<s>", "</s>", "<unk>", "<end of text>"}
    assert ours.vocab_size == tokenizer.get_vocab_size()

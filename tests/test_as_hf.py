"""The methods of tokenizers.Tokenizer, beside the original with the same file."""

import inspect
import json
import lzma
import pickle
import random
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from tokenizers import AddedToken, decoders, models, pre_tokenizers, processors, trainers

import numbpe
from numbpe.adapters.hf_tokenizer import HfTokenizer
from numbpe.errors import ArgumentError

TEXT = "hello world, isn't it fantastic? the cat sat on the mat 123 \u4e2d\u6587 \u00e9t\u00e9\n\n"
PARTS = ["hello", "world", " ", "  ", "\n", "\u00e9", "\u4e2d\u6587", "\U0001f600", "isn't", "1x."]
PROPERTIES = [
    "ids",
    "tokens",
    "type_ids",
    "attention_mask",
    "special_tokens_mask",
    "word_ids",
    "offsets",
    "sequence_ids",
    "n_sequences",
]


def make_original() -> tokenizers.Tokenizer:
    """A byte-level tokenizer with a template, special tokens and an added one that is not."""
    original: Any = tokenizers.Tokenizer(models.BPE())
    original.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    original.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=330,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=["<bos>", "<eos>"],
        show_progress=False,
    )
    original.train_from_iterator([TEXT * 3], trainer)
    original.add_tokens([AddedToken("<think>", normalized=False, special=False)])
    original.post_processor = processors.TemplateProcessing(
        single="<bos> $A:0 <eos>",
        pair="<bos> $A:0 <eos> $B:1 <eos>:1",
        special_tokens=[("<bos>", 0), ("<eos>", 1)],
    )
    return original  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[HfTokenizer, Any]:
    path = tmp_path_factory.mktemp("small") / "tokenizer.json"
    make_original().save(str(path))
    return HfTokenizer.from_file(path), tokenizers.Tokenizer.from_file(str(path))


@pytest.fixture
def both(small: tuple[HfTokenizer, Any]) -> tuple[HfTokenizer, Any]:
    for target in small:
        target.no_truncation()
        target.no_padding()
        target.encode_special_tokens = False
    return small


def make_text(generator: random.Random, specials: list[str]) -> str:
    parts = generator.choices([*PARTS, *specials], k=generator.randrange(8))
    return "".join(part + generator.choice(["", " "]) for part in parts)


def assert_equal(ours: Any, theirs: Any, context: Any) -> None:
    """Assert that two encodings are equal, and all that overflows from them."""
    for name in PROPERTIES:
        assert getattr(ours, name) == getattr(theirs, name), (name, context)
    assert len(ours) == len(theirs)
    assert len(ours.overflowing) == len(theirs.overflowing), context
    for our_part, their_part in zip(ours.overflowing, theirs.overflowing, strict=True):
        assert_equal(our_part, their_part, context)


def set_up(generator: random.Random, ours: Any, theirs: Any) -> dict[str, Any]:
    """Give both the same settings at random, and return them."""
    truncation = {
        "max_length": generator.randrange(5, 12),
        "stride": generator.choice((0, 1)),
        "direction": generator.choice(("left", "right")),
        "strategy": "longest_first",
    }
    padding = {
        "direction": generator.choice(("left", "right")),
        "pad_id": generator.randrange(3),
        "pad_type_id": generator.randrange(2),
        "pad_token": "<pad>",
        "length": generator.choice((None, 15)),
        "pad_to_multiple_of": generator.choice((None, 4)),
    }
    cuts, pads, encodes = (generator.random() < 0.4 for _ in range(3))
    for target in (ours, theirs):
        target.no_truncation()
        target.no_padding()
        target.encode_special_tokens = encodes
        if cuts:
            target.enable_truncation(**truncation)
        if pads:
            target.enable_padding(**padding)
        assert target.truncation == (truncation if cuts else None)
        assert target.padding == (padding if pads else None)
    return {"truncation": cuts and truncation, "padding": pads and padding, "encodes": encodes}


def compare_at_random(ours: HfTokenizer, theirs: Any, specials: list[str], n_times: int) -> None:
    generator = random.Random(9)
    n_compared = 0
    for _ in range(n_times):
        settings = set_up(generator, ours, theirs)
        sequence: Any = make_text(generator, specials)
        pair: Any = generator.choice((None, make_text(generator, specials)))
        is_split = generator.random() < 0.2
        if is_split:
            sequence, pair = [sequence, "a b"], None if pair is None else [pair]
        options = {
            "is_pretokenized": is_split,
            "add_special_tokens": generator.random() < 0.7,
        }
        # A limit that leaves a text of a pair no more than the stride aborts the original.
        if pair is not None and settings["truncation"] and settings["truncation"]["stride"]:
            continue
        encoding = ours.encode(sequence, pair, **options)
        context = (sequence, pair, options, settings)
        assert_equal(encoding, theirs.encode(sequence, pair, **options), context)
        batch = [sequence if pair is None else (sequence, pair)] * 2
        batch.append(["x y"] if is_split else "x y")
        for name in ("encode_batch", "encode_batch_fast"):
            found = getattr(ours, name)(batch, **options)
            expected = theirs.encode_batch(batch, **options)
            for our_item, their_item in zip(found, expected, strict=True):
                assert_equal(our_item, their_item, context)
        for skips in (True, False):
            assert ours.decode(encoding.ids, skips) == theirs.decode(encoding.ids, skips)
        n_compared += 1
    assert n_compared > n_times // 2


# The surface


def test_surface__equals_the_original() -> None:
    """Truth: tokenizers 0.23.3: the same names, parameters and defaults, or an error with a remedy;
    two settings are keyword-only there, which ours need not be."""
    ours = numbpe.Tokenizer({0: b"a"}, []).as_hf()
    for name in dir(tokenizers.Tokenizer):
        if name.startswith("_"):
            continue
        if not hasattr(HfTokenizer, name):
            if not hasattr(ours, name):
                with pytest.raises(AttributeError, match=f"have no {name}, .*; use "):
                    getattr(ours, name)
            continue
        theirs = getattr(tokenizers.Tokenizer, name)
        if not callable(theirs) or name in ("from_file",):
            continue
        found = inspect.signature(getattr(HfTokenizer, name)).parameters.values()
        expected = inspect.signature(theirs).parameters.values()
        assert [(p.name, p.default) for p in found] == [(p.name, p.default) for p in expected]
    with pytest.raises(AttributeError, match="has no attribute frobnicate"):
        ours.frobnicate  # noqa: B018


def test_encoding_surface__equals_the_original() -> None:
    """Truth: tokenizers 0.23.3: the same names."""
    encoding = numbpe.Tokenizer({0: b"a"}, []).as_hf().encode("a")
    for name in dir(tokenizers.Encoding):
        assert name.startswith("_") or hasattr(encoding, name), name
    assert repr(encoding) == repr(make_original().encode("")).replace("=2", "=1")


# Encoding


def test_encode__equals_the_original(both: tuple[HfTokenizer, Any]) -> None:
    """Truth: tokenizers 0.23.3, for texts and pairs, words, truncation and padding at random."""
    compare_at_random(*both, ["<bos>", "<eos>", "<think>"], 300)


@pytest.mark.parametrize("name", ["llama3_1", "llama2"])
def test_encode__equals_published_tokenizers(name: str, shared_data: Path, tmp_path: Path) -> None:
    """Truth: tokenizers 0.23.3 with the published file."""
    path = tmp_path / "tokenizer.json"
    path.write_bytes(lzma.decompress((shared_data / "tokenizers" / f"{name}.json.xz").read_bytes()))
    ours, theirs = HfTokenizer.from_file(path), tokenizers.Tokenizer.from_file(str(path))
    specials = [token.content for token in ours.get_added_tokens_decoder().values()][:2]
    compare_at_random(ours, theirs, specials, 100)
    assert ours.get_vocab() == theirs.get_vocab()
    generator = random.Random(2)
    for _ in range(300):
        # Among the first ids of Llama 2 are the byte tokens, so that many runs are not UTF-8.
        ids = generator.choices(range(400), k=9)
        for skips in (True, False):
            assert ours.decode(ids, skips) == theirs.decode(ids, skips), ids
    assert ours.decode_batch([[300, 301], []]) == theirs.decode_batch([[300, 301], []])


def test_encoding__maps_tokens_words_and_characters(both: tuple[HfTokenizer, Any]) -> None:
    """Truth: tokenizers 0.23.3, for every index of a pair and one beyond."""
    ours, theirs = (target.encode("hello  world\u4e2d", "isn't it") for target in both)
    for i in range(len(theirs) + 1):
        for name in ("token_to_sequence", "token_to_chars", "token_to_word"):
            assert getattr(ours, name)(i) == getattr(theirs, name)(i), (name, i)
    names = ("char_to_token", "char_to_word", "word_to_tokens", "word_to_chars")
    for sequence in (0, 1):
        for i in range(16):
            for name in names:
                assert getattr(ours, name)(i, sequence) == getattr(theirs, name)(i, sequence)


@pytest.mark.parametrize("direction", ["right", "left"])
def test_encoding__truncates_and_pads(both: tuple[HfTokenizer, Any], direction: Any) -> None:
    """Truth: tokenizers 0.23.3, also for what overflows."""
    encodings = [target.encode("hello fantastic world", "isn't it") for target in both]
    for encoding in encodings:
        encoding.truncate(4, stride=1, direction=direction)
        encoding.pad(6, direction=direction, pad_id=2, pad_type_id=1, pad_token="*")
    assert_equal(*encodings, "truncated")
    for encoding in encodings:
        encoding.truncate(0)
    assert_equal(*encodings, "nothing left")
    with pytest.raises(ArgumentError, match="stride must be below"):
        both[0].encode("hello world").truncate(2, stride=2)
    joined = [
        type(parts[0]).merge(parts, growing_offsets=False)
        for parts in ([target.encode("a b"), target.encode("c")] for target in both)
    ]
    assert_equal(*joined, "merged")


# Errors


def test_encode__refuses_other_types(both: tuple[HfTokenizer, Any]) -> None:
    """Truth: tokenizers 0.23.3 raises TypeError for each of these."""
    for target in both:
        for sequence in (5, None, b"a", ["a", "b"]):
            with pytest.raises(TypeError, match="TextInputSequence"):
                target.encode(sequence)
        with pytest.raises(TypeError, match="PreTokenizedInputSequence"):
            target.encode("ab", is_pretokenized=True)
        for batch in ("ab", 5, [5], [["a"]], [("a", "b", "c")]):
            with pytest.raises(TypeError):
                target.encode_batch(batch)


def test_settings__are_checked(both: tuple[HfTokenizer, Any]) -> None:
    """Truth: tokenizers 0.23.3 raises here too, or aborts; the message says what is allowed."""
    ours, _ = both
    for target in both:
        with pytest.raises(ValueError, match="Unknown `strategy`: `x`"):
            target.enable_truncation(4, strategy="x")
        with pytest.raises(ValueError, match="Unknown `direction`: `up`"):
            target.enable_padding(direction="up")
    with pytest.raises(ArgumentError, match="max_length must be a whole number of 0 or more"):
        ours.enable_truncation(-1)
    ours.enable_truncation(1)
    with pytest.raises(ArgumentError, match="2 special tokens are added to each"):
        ours.encode("hello")
    ours.enable_truncation(4, stride=2)
    with pytest.raises(ArgumentError, match="stride must be below the 2 tokens"):
        ours.encode("hello fantastic world")
    for target in both:
        target.enable_truncation(4, strategy="only_second")
        with pytest.raises(Exception, match="Second sequence not provided"):
            target.encode("hello fantastic world")
        target.enable_truncation(4, strategy="only_first")
        with pytest.raises(Exception, match="Sequence to truncate too short"):
            target.encode("a", "hello fantastic world")
    with pytest.raises(ArgumentError, match="id 9999 at position 1"):
        ours.decode([5, 9999])


# Tokens and files


def test_tokens__equal_the_original(both: tuple[HfTokenizer, Any]) -> None:
    """Truth: tokenizers 0.23.3."""
    ours, theirs = both
    assert ours.get_vocab() == theirs.get_vocab()
    assert ours.get_vocab_size() == theirs.get_vocab_size()
    assert ours.id_to_token(10**7) is ours.token_to_id("no such token") is None
    assert ours.token_to_id("not spelled in \u4e2d letters") is None
    for spelling, token_id in theirs.get_vocab().items():
        assert ours.id_to_token(token_id) == spelling
        assert ours.token_to_id(spelling) == token_id
    for is_pair in (True, False):
        found = ours.num_special_tokens_to_add(is_pair)
        assert found == theirs.num_special_tokens_to_add(is_pair)
    added, expected = ours.get_added_tokens_decoder(), theirs.get_added_tokens_decoder()
    assert list(added) == list(expected)
    for token_id, token in expected.items():
        for name in ("content", "special", "normalized", "lstrip", "rstrip", "single_word"):
            assert getattr(added[token_id], name) == getattr(token, name)


def test_pickle__keeps_settings(both: tuple[HfTokenizer, Any]) -> None:
    """Truth: property: a copy does the same."""
    ours, _ = both
    ours.enable_truncation(6, stride=1)
    ours.enable_padding(length=8)
    expected = ours.encode("hello fantastic world and more")
    ours.id_to_token(5)
    copied = pickle.loads(pickle.dumps(ours))
    assert copied.truncation == ours.truncation
    assert_equal(copied.encode("hello fantastic world and more"), expected, "copied")


def test_save__writes_settings(tmp_path: Path) -> None:
    """Truth: tokenizers 0.23.3 reads what was saved, with truncation and padding."""
    ours = numbpe.train(
        [TEXT], 300, recipe="tiktoken", special_tokens=["<s>"], progress=False
    ).as_hf()
    ours.enable_truncation(5, stride=2, strategy="only_first", direction="left")
    ours.enable_padding(pad_id=1, length=7, pad_to_multiple_of=2)
    path = tmp_path / "saved.json"
    ours.save(path)
    theirs = tokenizers.Tokenizer.from_file(str(path))
    assert theirs.truncation == ours.truncation
    assert theirs.padding == ours.padding
    assert theirs.encode(TEXT).ids == ours.encode(TEXT).ids
    assert json.loads(ours.to_str()) == json.loads(path.read_text(encoding="utf-8"))
    assert "\n" in ours.to_str(pretty=True)
    assert "\n" not in ours.to_str()

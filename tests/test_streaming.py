"""Encoding a text that comes in portions: the ids are those of the whole, and come when certain."""

import lzma
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from numbpe import Tokenizer, load
from numbpe.added_tokens import SpecialPolicy
from numbpe.definition import (
    AddedToken,
    Lowercase,
    ModelRules,
    Normalization,
    Prepend,
    Replace,
    Strip,
    StripAccents,
    TextStep,
    TokenizerDefinition,
)
from numbpe.errors import ArgumentError
from numbpe.normalizers import apply_steps
from numbpe.patterns import compile_pattern
from numbpe.stream_steps import StepChain
from numbpe.streaming import TextStream, encode_stream
from numbpe.vocabulary import Vocabulary

PIECES = [
    *("a", "b", "ab", "abc", "ABC", "x", "12", "123456", "'s", "'re", "'", "!", "...", "\x00"),
    *("\u00e9", "e\u0301", "\u0301", "\u0323", "\u65e5\u672c", "\ud55c", "\u1100\u1161\u11a8"),
    *("\U0001f600", "\ufb01", "\u2581", "\u0378", "\udcff", "\ud83d", "\ude00", "\u3000"),
    *("<s>", "<s", "<s>>", "<mask>", "mask", " ", "  ", "\n", "\r\n", " \n\n", "\t"),
]


def draw_text(generator: random.Random, n_pieces: int = 25) -> str:
    return "".join(generator.choice(PIECES) for _ in range(generator.randrange(1, n_pieces)))


def split_at_random(generator: random.Random, text: Any) -> list[Any]:
    """Return slices of a str or bytes, some of them empty."""
    parts: list[Any] = []
    while text:
        size = generator.choice([0, 1, 1, 1, 2, 3, 7, 20])
        parts.append(text[:size])
        text = text[size:]
    return parts


def join_ids(arrays: Iterable[Any]) -> list[int]:
    """Return all ids; none of the arrays may be empty."""
    ids: list[int] = []
    for array in arrays:
        assert len(array) > 0
        ids += array.tolist()
    return ids


def make_definition(pattern: str | Sequence[str] | None, **parts: Any) -> TokenizerDefinition:
    """Return a vocabulary of all bytes and some merges, with other parts of a definition."""
    vocab = {i: bytes([i]) for i in range(256)}
    merges = [(b"a", b"b"), (b"ab", b"c"), (b" ", b" "), (b"1", b"2"), (b"\n", b"\n"), (b" ", b"a")]
    merges += [(b"s", b">"), (b"3", b"4"), (b"\xe2", b"\x96"), (b"  ", b"\n")]
    for left, right in merges:
        vocab[len(vocab)] = left + right
    names = {"<s>": 300, "<s>>": 301, "<mask>": 302, "mask": 303}
    vocabulary = Vocabulary.from_tokens(
        vocab, merges, special_tokens=names, pattern=compile_pattern(pattern or "gpt2")
    )
    if pattern is None:
        vocabulary = replace(vocabulary, pattern_sources=(), pattern_name=None)
    parts.setdefault("added_tokens", tuple(AddedToken(name, i) for name, i in names.items()))
    return TokenizerDefinition(vocabulary, **parts)


def make_tokenizer(pattern: str | Sequence[str] | None, **parts: Any) -> Tokenizer:
    return Tokenizer.from_definition(make_definition(pattern, **parts))


def make_character_tokenizer() -> Tokenizer:
    """Return one like Llama 2: characters, bytes for those that are unknown, no pattern."""
    spelled = ["<unk>", "<s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    spelled += ["\u2581", "a", "b", "c", "1", "2", "ab", "abc", "\u2581a", "12", "\u2581\u2581"]
    merges = [("a", "b"), ("ab", "c"), ("\u2581", "a"), ("1", "2"), ("\u2581", "\u2581")]
    vocabulary = Vocabulary.from_tokens(
        {i: token.encode() for i, token in enumerate(spelled)},
        [(left.encode(), right.encode()) for left, right in merges],
        special_tokens={"<s>": 1},
    )
    definition = TokenizerDefinition(
        replace(vocabulary, pattern_sources=(), pattern_name=None),
        rules=ModelRules(alphabet="characters", byte_fallback=True, unk_id=0, fuse_unk=True),
        added_tokens=(AddedToken("<s>", 1),),
        normalizer=(Prepend("\u2581"), Replace(" ", "\u2581")),
    )
    return Tokenizer.from_definition(definition)


FANCY_TOKENS = (
    AddedToken("<s>", 300, rstrip=True),
    AddedToken("<s>>", 301),
    AddedToken("<mask>", 302, lstrip=True, special=False),
    AddedToken("mask", 303, single_word=True),
)
NORMALIZED_TOKENS = (
    AddedToken("<s>", 300),
    AddedToken("<S>>", 301, normalized=True),
    AddedToken("<mask>", 302, special=False, normalized=True),
)
ALL_STEPS = (Normalization("NFKC"), Strip(), Lowercase(), Replace("ab", "ba"), Prepend("_"))

TOKENIZERS = {
    "gpt2": lambda: make_tokenizer("gpt2"),
    "llama3": lambda: make_tokenizer("llama3"),
    "o200k": lambda: make_tokenizer("o200k"),
    "cl100k": lambda: make_tokenizer("cl100k"),
    "deepseek": lambda: make_tokenizer("deepseek_v3"),
    "gaps": lambda: make_tokenizer("[ab]+c|12(?=3)|\\s"),
    "needs what follows": lambda: make_tokenizer("ab(?= )|[ab]|\\d+|\\s+(?!\\S)"),
    "regex module": lambda: make_tokenizer("(?<=a)b|\\w+", added_tokens=()),
    "no pattern": lambda: make_tokenizer(None),
    "characters": make_character_tokenizer,
    "neighbours": lambda: make_tokenizer("gpt2", added_tokens=FANCY_TOKENS),
    "normalized": lambda: make_tokenizer(
        "gpt2", added_tokens=NORMALIZED_TOKENS, normalizer=(Normalization("NFC"), Lowercase())
    ),
    "all steps": lambda: make_tokenizer(
        "llama3",
        added_tokens=NORMALIZED_TOKENS,
        normalizer=ALL_STEPS,
        preparation=(Replace(" ", "\u2581"), Prepend("\u2581", "\u2581")),
    ),
    "first only": lambda: make_tokenizer(
        "llama3",
        normalizer=(Strip(), Prepend("_")),
        preparation=(Replace(" ", "\u2581"), Prepend("\u2581", "\u2581", first_only=True)),
    ),
    "metaspace": lambda: make_tokenizer(
        None,
        added_tokens=NORMALIZED_TOKENS,
        preparation=(Replace(" ", "\u2581"), Prepend("\u2581", "\u2581", first_only=True)),
    ),
}


def stream(
    tokenizer: Tokenizer, items: Iterable[str | bytes], special: SpecialPolicy = "allow"
) -> Iterator[Any]:
    return encode_stream(
        tokenizer.definition, tokenizer.pattern, tokenizer._encoder, items, special
    )


@pytest.mark.filterwarnings("ignore::numbpe.patterns.SlowPatternWarning")
@pytest.mark.parametrize("name", TOKENIZERS)
def test_encode_stream__equals_encode_for_any_split(name: str) -> None:
    """Truth: the definition, encode of the whole text; str and bytes, two policies."""
    generator = random.Random(name)
    tokenizer = TOKENIZERS[name]()
    for _ in range(400):
        text: Any = draw_text(generator)
        if generator.random() < 0.4:
            text = text.encode("utf-8", "surrogatepass")
        special: SpecialPolicy = generator.choice(["allow", "text"])
        items = split_at_random(generator, text)
        expected = tokenizer.encode(text, special).tolist()
        assert join_ids(stream(tokenizer, items, special)) == expected, (text, items, special)


@pytest.mark.parametrize("name", ["gpt2", "llama3_1", "qwen3", "deepseek_v3", "llama2"])
def test_encode_stream__known_tokenizers(name: str, shared_data: Path, tmp_path: Path) -> None:
    """Truth: the definition, encode of the whole text, for the files that people use."""
    path = tmp_path / f"{name}.json"
    with lzma.open(shared_data / "tokenizers" / f"{name}.json.xz") as file:
        path.write_bytes(file.read())
    tokenizer = load(path)
    generator = random.Random(name)
    for _ in range(150):
        text = draw_text(generator, 60)
        expected = tokenizer.encode(text).tolist()
        assert join_ids(stream(tokenizer, split_at_random(generator, text))) == expected


@pytest.mark.parametrize(
    ("pattern", "items", "expected"),
    [
        ("gpt2", ["ab", " ab", "c"], [[], ["ab"], []]),
        ("gpt2", ["a   b"], [["a", "  "]]),
        ("gpt2", ["a  ", " ", "b"], [["a"], [], ["   "[:2]]]),
        ("llama3", ["ab 12", "34", "5"], [["ab", " "], ["12", "3"], []]),
        ("llama3", ["12<", "s", ">1"], [[], [], ["12", "<s>"]]),
        ("llama3", ["a<", "b"], [[], ["a"]]),
        ("gpt2", [b"a \xe6\x97", b"\xa5 "], [["a"], [" \u65e5"]]),
        ("deepseek_v3", ["ab ab ab "], [["ab", " ab", " ab"]]),
    ],
)
def test_stream__gives_what_is_certain_and_no_less(
    pattern: str, items: list[str | bytes], expected: list[list[str]]
) -> None:
    """Truth: worked out by hand from the patterns; digits come in threes, the last space goes with
    the word, a piece is certain when the next character cannot join it."""
    tokenizer = make_tokenizer(pattern)
    text_stream = TextStream(tokenizer.definition, tokenizer.pattern, tokenizer._encoder, "allow")
    for item, pieces in zip(items, expected, strict=True):
        content = item if isinstance(item, bytes) else item.encode()
        given = join_ids(text_stream.push(content))
        assert tokenizer.decode(given) == "".join(pieces)


def test_encode_stream__is_lazy() -> None:
    """Truth: the contract; an item is taken when the one before is used up."""
    taken: list[int] = []

    def generate() -> Iterator[str]:
        for number in range(3):
            taken.append(number)
            yield "ab ab"

    arrays = stream(make_tokenizer("gpt2"), generate())
    assert taken == []
    assert len(next(arrays)) == 1
    assert taken == [0]


@pytest.mark.parametrize("unit", ["a", " ", "1", "\u0301", "\u65e5", "<", "<s>"])
def test_encode_stream__long_pieces_in_small_items_take_linear_time(unit: str) -> None:
    """Truth: encode; anything quadratic in 10,000 items takes minutes."""
    tokenizer = make_tokenizer("llama3", normalizer=(Normalization("NFC"),))
    items = [unit * 20] * (200_000 // (20 * len(unit.encode())))
    assert join_ids(stream(tokenizer, items)) == tokenizer.encode("".join(items)).tolist()


@pytest.mark.parametrize("step", [*ALL_STEPS, StripAccents(), Replace("a+", "b", is_regex=True)])
def test_step_chain__equals_apply_steps_for_any_split(step: TextStep) -> None:
    """Truth: apply_steps of the whole text, raw bytes in it too."""
    generator = random.Random(3)
    chain = StepChain([step, Replace("ba", "x")])
    for number in range(300):
        content = draw_text(generator).encode("utf-8", "surrogatepass") + b"\xe6\x97"
        chain.restart(is_first=True)
        items = split_at_random(generator, content)
        changed = b"".join(chain.push(item, is_last=False) for item in items)
        changed += chain.push(b"", is_last=True)
        text = content.decode("utf-8", "surrogateescape")
        expected = apply_steps([step, Replace("ba", "x")], text)
        assert changed == expected.encode("utf-8", "surrogateescape"), number


def test_encode_stream__one_text_is_one_item() -> None:
    """Truth: encode; a str and bytes are iterable themselves."""
    tokenizer = make_tokenizer("gpt2")
    expected = tokenizer.encode("abc <s>").tolist()
    assert join_ids(stream(tokenizer, "abc <s>")) == expected
    assert join_ids(stream(tokenizer, b"abc <s>")) == expected
    assert join_ids(stream(tokenizer, [])) == []


@pytest.mark.parametrize(
    ("items", "message"),
    [
        (None, "texts must be an iterable of str or bytes"),
        (5, "texts must be an iterable"),
        (
            ["a", None],
            "cannot encode item 1 of the stream: it must be a str or bytes, not NoneType",
        ),
        (["a", ["b"]], "item 1 of the stream: it must be a str or bytes, not list"),
        ([1], "item 0 of the stream"),
        (["a", b"b"], "item 1 of the stream: it is bytes, but those before are str"),
        ([b"", "b"], "item 1 of the stream: it is str, but those before are bytes"),
    ],
)
def test_encode_stream__bad_input(items: Any, message: str) -> None:
    """Truth: the contract; errors name the item."""
    with pytest.raises(ArgumentError, match=message):
        list(stream(make_tokenizer("gpt2"), items))


@pytest.mark.parametrize("tokens", [None, FANCY_TOKENS])
def test_encode_stream__policy_error_names_the_byte(tokens: Any) -> None:
    """Truth: counted by hand; the token begins at byte 5 of the whole."""
    parts = {} if tokens is None else {"added_tokens": tokens}
    arrays = stream(make_tokenizer("gpt2", **parts), ["\u00e9ab", " <", "s> ab"], "error")
    with pytest.raises(ArgumentError, match="the special token '<s>' at byte 5"):
        list(arrays)

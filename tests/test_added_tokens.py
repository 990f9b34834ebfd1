"""Finding added tokens: their rules, against the tokenizers library and by hand."""

import json
import lzma
import re
from pathlib import Path

import numpy as np
import pytest
from tokenizers import AddedToken as PeerToken
from tokenizers import Tokenizer as PeerTokenizer
from tokenizers import models, pre_tokenizers

from numbpe.added_tokens import AddedTokenMatcher, SpecialPolicy
from numbpe.arrays import copy_text
from numbpe.definition import (
    AddedToken,
    Lowercase,
    Prepend,
    Strip,
    TextStep,
    TokenizerDefinition,
)
from numbpe.errors import ArgumentError
from numbpe.tokenizer import Tokenizer
from numbpe.unicode_tables import load_unicode_tables
from numbpe.vocabulary import Vocabulary

FILES = ["gpt2", "llama3_1", "qwen3", "deepseek_v3", "gptoss", "gpt4o", "llama2", "gemma3"]

BYTES = Vocabulary.from_tokens({i: bytes([i]) for i in range(256)}, [])


def make_matcher(*tokens: AddedToken, normalizer: tuple[TextStep, ...] = ()) -> AddedTokenMatcher:
    return AddedTokenMatcher(TokenizerDefinition(BYTES, added_tokens=tokens, normalizer=normalizer))


def find(
    matcher: AddedTokenMatcher, text: str | bytes, special: SpecialPolicy = "allow"
) -> list[tuple[str, int]]:
    """Return the spans, as text, and the ids of all that is found in raw text."""
    data = text.encode() if isinstance(text, str) else text
    matches = matcher.find(copy_text(b"<a>" + data), 3, 3 + len(data), special)
    return [
        (data[start - 3 : stop - 3].decode("utf-8", "backslashreplace"), token_id)
        for start, stop, token_id in matches.tolist()
    ]


def list_tokens(contents: str, **rules: bool) -> list[AddedToken]:
    return [AddedToken(content, i, **rules) for i, content in enumerate(contents.split())]


@pytest.mark.parametrize("contents", ["<a <a>", "<a> <a"])
def test_find__leftmost_then_longest_in_any_order(contents: str) -> None:
    """Truth: case D 56 (tokenizers and gigatoken; tiktoken goes by order)."""
    found = find(make_matcher(*list_tokens(contents)), "<a> <ab")
    assert [text for text, _ in found] == ["<a>", "<a"]


def test_find__takes_nothing_for_a_regular_expression() -> None:
    """Truth: case D 58, verified with tokenizers."""
    matcher = make_matcher(*list_tokens("a.c (x|y)+ [INST] $ ^ \\d ] - [a-z]"))
    assert find(matcher, "abc a.c x (x|y)+ y") == [("a.c", 0), ("(x|y)+", 1)]
    assert find(matcher, "b$5^]-") == [("$", 3), ("^", 4), ("]", 6), ("-", 7)]
    assert find(matcher, "[INST][a-z]\\d1") == [("[INST]", 2), ("[a-z]", 8), ("\\d", 5)]


def test_find__strips_white_space_of_all_scripts() -> None:
    """Truth: case D 66, verified with tokenizers."""
    matcher = make_matcher(AddedToken("<m>", 5, lstrip=True, rstrip=True))
    assert find(matcher, "a \n\u3000<m>\u00a0 b") == [(" \n\u3000<m>\u00a0 ", 5)]
    assert find(matcher, " <m> <m> <m>") == [(" <m> ", 5), ("<m> ", 5), ("<m>", 5)]
    assert find(matcher, "\u200b<m>\u200b") == [("<m>", 5)]


def test_find__takes_single_words_only_where_asked_to() -> None:
    """Truth: case D 66, verified with tokenizers."""
    matcher = make_matcher(AddedToken("cat", 5, single_word=True))
    text = "cat concat cat_ cat\u00df (cat) cat1 cat- cat\u0301 cat\u200d cat"
    starts = [match.start() for match in re.finditer("cat", text)]
    found = matcher.find(copy_text(text.encode()), 0, len(text.encode()), "allow")
    kept = [starts[i] for i in (0, 4, 6)] + [len(text.encode()) - 3]
    shift = len("\u00df".encode()) - 1
    assert found[:, 0].tolist() == [kept[0], kept[1] + shift, kept[2] + shift, kept[3]]


def test_find__leaves_nothing_of_a_match_that_is_passed_over() -> None:
    """Truth: tokenizers' find_matches, which goes on behind a match that it discards."""
    word = make_matcher(AddedToken("ab", 1, single_word=True), AddedToken("b", 2))
    assert find(word, "xab ab b") == [("ab", 1), ("b", 2)]
    special = make_matcher(AddedToken("<ab>", 1), AddedToken("b", 2, special=False))
    assert find(special, "b<ab>b", "text") == [("b", 2), ("b", 2)]
    assert find(special, "b<ab>b", "allow") == [("b", 2), ("<ab>", 1), ("b", 2)]


def test_find__gives_white_space_to_the_token_that_begins_in_it() -> None:
    """Truth: tokenizers: "A" takes all three spaces, and yet two of them are found."""
    tokens = AddedToken("A", 1, rstrip=True), AddedToken("  ", 2)
    assert find(make_matcher(*tokens), "A   x") == [("A", 1), ("  ", 2)]
    # All of the second token is taken already, so that nothing of it is left.
    tokens = AddedToken("A", 1, rstrip=True), AddedToken("  ", 2, lstrip=True)
    assert find(make_matcher(*tokens), "A  x") == [("A  ", 1)]


def test_find__walks_long_white_space_once() -> None:
    """Truth: tokenizers for a short text; a million spaces would take hours if walked each time."""
    matcher = make_matcher(AddedToken(" ", 1, rstrip=True))
    for n, text in ((5, " " * 4 + "x "), (1_000_000, " " * 1_000_000)):
        found = matcher.find(copy_text(text.encode()), 0, len(text), "allow")
        assert found[:, 2].tolist() == [1] * n
        assert (found[1:, 0] >= found[:-1, 1]).all()


def test_find__is_calm_where_tokenizers_is_not() -> None:
    """Truth: the docstring of AddedTokenMatcher: there a panic, all memory, a random id."""
    tokens = AddedToken("A", 1, rstrip=True), AddedToken("  ", 2, lstrip=True)
    assert find(make_matcher(*tokens), "A   x") == [("A   ", 1)]
    deleted = make_matcher(AddedToken(" ", 1, normalized=True), normalizer=(Strip(),))
    assert not deleted.has_normalized
    equal = [AddedToken(content, i, normalized=True) for i, content in enumerate(["AB", "ab"])]
    matcher = make_matcher(*equal, normalizer=(Lowercase(),))
    assert matcher.find_normalized(copy_text(b"xab"), 0, 3, "allow").tolist() == [[1, 3, 0]]


def test_find_normalized__looks_for_normalized_contents() -> None:
    """Truth: tokenizers, which normalizes the content too: Prepend leaves one match."""
    token = AddedToken("Tok", 1, normalized=True)
    matcher = make_matcher(token, normalizer=(Lowercase(), Prepend("_")))
    assert matcher.has_normalized
    assert find(matcher, "Tok _tok") == []
    text = copy_text(b"_tok tok _tok")
    assert matcher.find_normalized(text, 0, 13, "allow").tolist() == [[0, 4, 1], [9, 13, 1]]


def test_find__of_equal_contents_the_last_counts() -> None:
    """Truth: tokenizers with two entries of a file that have one content."""
    plain, strips = AddedToken("<a>", 1), AddedToken("<a>", 1, lstrip=True)
    assert find(make_matcher(plain, strips, AddedToken("", 2)), "x <a>") == [(" <a>", 1)]
    assert find(make_matcher(strips, plain), "x <a>") == [("<a>", 1)]
    once_special = make_matcher(plain, AddedToken("<a>", 1, special=False))
    assert find(once_special, "<a>", "text") == []


def test_find__refuses_special_tokens_only() -> None:
    """Truth: case D 59; the message names the token, the place and what to do."""
    matcher = make_matcher(AddedToken("<s>", 1), AddedToken("tool", 2, special=False))
    assert find(matcher, "a tool", "error") == [("tool", 2)]
    with pytest.raises(ArgumentError, match=r"special token '<s>' at byte 8; pass special="):
        find(matcher, "é tool <s>", "error")
    alone = make_matcher(AddedToken("<s>", 1, single_word=True))
    assert find(alone, "x<s>", "error") == []


def test_find__takes_bytes_that_are_not_utf8() -> None:
    """Truth: hand-computed: what is no character is neither white space nor part of a word."""
    matcher = make_matcher(
        AddedToken("<s>", 1, single_word=True), AddedToken("<t>", 2, lstrip=True, rstrip=True)
    )
    assert find(matcher, b"\xe3\x80<s>\xa9") == [("<s>", 1)]
    assert find(matcher, b"\x80\x80\x80\x80\x80<s>\xc3") == [("<s>", 1)]
    assert find(matcher, b"\x80\x80 <t>\xc2\xa0\xe3\x80") == [(" <t>\u00a0", 2)]


def test_rules__know_the_characters_that_tokenizers_knows() -> None:
    """Truth: tokenizers 0.23.3, on both sides of every border of the two sets."""
    tables = load_unicode_tables("16")
    borders = np.concatenate([tables.word_characters.bounds, tables.white_space.bounds])
    points = sorted({int(p) + d for p in borders for d in (-1, 0)} - set(range(0xD800, 0xE000)))
    rules = [{"single_word": True}, {"lstrip": True}, {"rstrip": True}]
    for k, rule in enumerate(rules):
        matcher = make_matcher(AddedToken("<m>", 256, **rule))
        peer = make_peer([PeerToken("<m>", normalized=False, **rule)])
        characters = [chr(p) for p in points if 0 <= p < 0x110000]
        texts = ["<m>" + c for c in characters] if k != 1 else [c + "<m>" for c in characters]
        encoded = peer.encode_batch_fast(texts)
        for text, encoding in zip(texts, encoded, strict=True):
            found = find(matcher, text)
            if "single_word" in rule:
                assert bool(found) == (256 in encoding.ids), ascii(text)
            else:
                assert (found == [(text, 256)]) == (len(encoding.ids) == 1), ascii(text)


def make_peer(tokens: list[PeerToken]) -> PeerTokenizer:
    vocab = {letter: i for i, letter in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    peer = PeerTokenizer(models.BPE(vocab, []))
    peer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    peer.add_tokens(tokens)
    return peer


@pytest.mark.parametrize("name", FILES)
def test_find__every_added_token_of_real_files(name: str, shared_data: Path) -> None:
    """Truth: case D 61: each is found, alone and amid text, and nothing is found in its half."""
    with lzma.open(shared_data / "tokenizers" / f"{name}.json.xz") as stream:
        file = json.load(stream)
    tokens = [
        AddedToken(t["content"], t["id"], t["special"], t["normalized"])
        for t in file["added_tokens"]
    ]
    matcher = make_matcher(*tokens)
    data = "Aé".join(["", *(token.content for token in tokens), ""]).encode()
    text, rows = copy_text(data), np.array([[0, len(data)]])
    in_raw = [token.id for token in tokens if not token.normalized]
    assert matcher.find(text, 0, len(data), "allow")[:, 2].tolist() == in_raw
    parts, first_parts = matcher.find_normalized_in_rows(text, rows, "allow")
    in_normalized = [token.id for token in tokens if token.normalized]
    assert parts[:, 2].tolist() == [*in_normalized, -1]
    assert first_parts.tolist() == [0, len(in_normalized) + 1]


@pytest.mark.parametrize("special", ["allow", "text"])
def test_find_in_rows__equals_find_text_for_text(
    special: SpecialPolicy, rng: np.random.Generator
) -> None:
    """Truth: find, for each text on its own; rows of all kinds, and more parts than expected."""
    matcher = make_matcher(
        AddedToken("<a>", 1, rstrip=True), AddedToken("<", 2, special=False), AddedToken(" x", 3)
    )
    pieces = [b"<a>", b"<", b" ", b" x", b"text without", b"\xc3\xa9"]
    texts = [
        b"".join(pieces[i] for i in rng.integers(len(pieces), size=rng.integers(0, n)))
        for n in rng.integers(1, 200, size=80)
    ]
    offsets = np.cumsum([0, *map(len, texts)])
    text = copy_text(b"".join(texts))
    rows = np.stack([offsets[:-1], offsets[1:]], axis=1)
    parts, first_parts = matcher.find_in_rows(text, rows, special)
    for strange in (np.asfortranarray(rows), rows.astype(np.int32)):
        assert np.array_equal(matcher.find_in_rows(text, strange, special)[0], parts)
    for i, (start, stop) in enumerate(rows.tolist()):
        found = matcher.find(text, start, stop, special)
        of_text = parts[first_parts[i] : first_parts[i + 1]]
        assert of_text[:-1, 2].tolist() == found[:, 2].tolist()
        assert of_text[:, 0].tolist() == [start, *found[:, 1].tolist()]
        assert of_text[:, 1].tolist() == [*found[:, 0].tolist(), stop]
        assert of_text[-1, 2] == -1


def test_encode__added_tokens_end_merging() -> None:
    """Truth: case D 63: tokenizers 0.23.3 gives [a, b] with the letters added, [ab] without."""
    vocabulary = Vocabulary.from_tokens({0: b"a", 1: b"b", 2: b"ab"}, [(b"a", b"b")])
    letters = AddedToken("a", 0, special=False), AddedToken("b", 1, special=False)
    assert Tokenizer.from_vocabulary(vocabulary).encode("ab").tolist() == [2]
    definition = TokenizerDefinition(vocabulary, added_tokens=letters)
    assert Tokenizer.from_definition(definition).encode("ab").tolist() == [0, 1]


def test_count__never_refuses_what_spells_a_special_token() -> None:
    """Truth: case D 71, and the length of what encode gives under the same policy."""
    definition = TokenizerDefinition(BYTES, added_tokens=(AddedToken("<|end|>", 256),))
    tokenizer = Tokenizer.from_definition(definition)
    assert tokenizer.count("x<|end|>y", special="text") == 9
    assert tokenizer.count("x<|end|>y") == 3
    assert tokenizer.encode("x<|end|>y", special="text").tolist() == list(b"x<|end|>y")

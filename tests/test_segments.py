"""Texts to parts, against the tokenizers library."""

import random
from typing import Any

import numpy as np
import pytest
from tokenizers import AddedToken as PeerToken
from tokenizers import Tokenizer as PeerTokenizer
from tokenizers import models, normalizers, pre_tokenizers

from numbpe.added_tokens import SpecialPolicy
from numbpe.arrays import copy_text
from numbpe.definition import (
    METASPACE,
    AddedToken,
    Lowercase,
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
from numbpe.segments import PreparedText, Segmenter
from numbpe.utf8 import encode_utf8
from numbpe.vocabulary import Vocabulary

LETTERS = [*"abcA_  \t\n<>1", "\u00a0", "\u3000", "\u0301", "\u00e9", "\u200d", "\u00c9", METASPACE]
MERGES = "a b,b a,c a,\u2581 a,\u2581 \u2581,ab c,A b,_ a,< a,b b,\u2581 _"

NORMALIZERS: list[tuple[Any, tuple[TextStep, ...]]] = [
    (None, ()),
    (None, ()),
    (normalizers.Lowercase(), (Lowercase(),)),
    (normalizers.NFC(), (Normalization("NFC"),)),
    (normalizers.NFD(), (Normalization("NFD"),)),
    (normalizers.Strip(), (Strip(),)),
    (normalizers.Prepend("_"), (Prepend("_"),)),
    (normalizers.Replace("a", "b"), (Replace("a", "b"),)),
    (normalizers.StripAccents(), (StripAccents(),)),
    (
        normalizers.Sequence([normalizers.Prepend(METASPACE), normalizers.Replace(" ", METASPACE)]),
        (Prepend(METASPACE), Replace(" ", METASPACE)),
    ),
]

PREPARATIONS: list[tuple[str | None, tuple[TextStep, ...]]] = [
    (None, ()),
    ("never", (Replace(" ", METASPACE),)),
    ("always", (Replace(" ", METASPACE), Prepend(METASPACE, METASPACE))),
    ("first", (Replace(" ", METASPACE), Prepend(METASPACE, METASPACE, first_only=True))),
]

BYTES = Vocabulary.from_tokens({i: bytes([i]) for i in range(256)}, [])


def make_peer(scheme: str | None, normalizer: Any = None) -> PeerTokenizer:
    """Return a tokenizer whose merges show where a text is cut."""
    letters = sorted({*LETTERS, "E", "e"})
    pairs = [tuple(merge.split(" ")) for merge in MERGES.split(",")]
    names = dict.fromkeys([*letters, *("".join(pair) for pair in pairs)])
    peer = PeerTokenizer(models.BPE({name: i for i, name in enumerate(names)}, pairs))
    if scheme:
        peer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=scheme, split=False)
    if normalizer is not None:
        peer.normalizer = normalizer
    return peer


def make_segmenter(
    tokens: list[AddedToken],
    normalizer: tuple[TextStep, ...] = (),
    preparation: tuple[TextStep, ...] = (),
) -> Segmenter:
    return Segmenter(
        TokenizerDefinition(
            BYTES, added_tokens=tuple(tokens), normalizer=normalizer, preparation=preparation
        )
    )


def list_parts(prepared: PreparedText, number: int = 0) -> list[tuple[str, int]]:
    """Return the parts of a text and the ids behind them, empty parts of no use left out."""
    first, last = prepared.first_parts[number : number + 2]
    return [
        (prepared.text[start:stop].tobytes().decode(), token_id)
        for start, stop, token_id in prepared.parts[first:last].tolist()
    ]


def encode_by_peer(peer: PeerTokenizer, parts: list[tuple[str, int]]) -> list[int]:
    ids: list[int] = []
    for text, token_id in parts:
        ids += [*peer.encode(text).ids, *([token_id] if token_id >= 0 else [])]
    return ids


def draw_text(generator: random.Random, n: int, contents: list[str]) -> str:
    pool = [*LETTERS, *("  ", "\u3000") * 3, *contents * 4]
    return "".join(generator.choice(pool) for _ in range(generator.randrange(n)))


def draw_tokens(generator: random.Random, contents: list[str]) -> list[dict[str, Any]]:
    tokens = []
    names = ("special", "normalized", "single_word", "lstrip", "rstrip")
    for content in contents:
        weights = (0.4, 0.35, *((0.4,) * 3 if generator.random() < 0.5 else (0.0,) * 3))
        flags = [generator.random() < weight for weight in weights]
        # There tokenizers panics: see AddedTokenMatcher.
        flags[3] = flags[3] and bool(content.strip())
        tokens.append({"content": content, **dict(zip(names, flags, strict=True))})
    return tokens


@pytest.mark.parametrize("seed", range(40))
def test_prepare__random_tokens_and_texts(seed: int) -> None:
    """Truth: tokenizers 0.23.3, ten sets of tokens a seed; its ids of the parts, joined, are its
    ids of the whole. Left out is what its result for is no rule, see AddedTokenMatcher."""
    for case in range(10):
        generator = random.Random(1000 * seed + case)
        peer_normalizer, normalizer = generator.choice(NORMALIZERS)
        scheme, preparation = generator.choice(PREPARATIONS)
        contents: list[str] = []
        for _ in range(generator.randrange(1, 6)):
            contents.append(draw_text(generator, 5, [content for content in contents if content]))
        tokens = draw_tokens(generator, contents)
        in_normalized = {
            token["content"]: apply_steps(normalizer, token["content"])
            for token in tokens
            if token["normalized"] and token["content"]
        }
        if len({*in_normalized.values()} - {""}) < len(in_normalized):
            continue
        peer = make_peer(scheme, peer_normalizer)
        peer.add_tokens([PeerToken(**token) for token in tokens])
        policy: SpecialPolicy = generator.choice(("allow", "text"))
        peer.encode_special_tokens = policy == "text"
        added = [AddedToken(id=peer.token_to_id(t["content"]) or 0, **t) for t in tokens]
        segmenter = make_segmenter(added, normalizer, preparation)
        texts = [draw_text(generator, 14, [c for c in contents if c]) for _ in range(4)]
        together = segmenter.prepare(texts, policy)
        plain = make_peer(None)
        for number, text in enumerate(texts):
            expected = peer.encode(text).ids
            assert encode_by_peer(plain, list_parts(together, number)) == expected, ascii(text)
            alone = segmenter.prepare([text], policy)
            assert encode_by_peer(plain, list_parts(alone)) == expected, ascii(text)


@pytest.mark.parametrize(
    "text, expected",
    [
        ("b a", [(METASPACE + "b" + METASPACE + "a", -1)]),
        (" b", [(METASPACE + "b", -1)]),
        ("<m>b", [("", 5), ("b", -1)]),
        ("b<m>b", [(METASPACE + "b", 5), ("b", -1)]),
        (" <m>b", [("", 5), ("b", -1)]),
        ("", [("", -1)]),
    ],
    ids=ascii,
)
def test_prepare__metaspace_before_the_first_part(
    text: str, expected: list[tuple[str, int]]
) -> None:
    """Truth: hand-computed, and tokenizers: what stands behind an added token is not the first."""
    token = AddedToken("<m>", 5, lstrip=True)
    preparation = PREPARATIONS[-1][1]
    parts = list_parts(make_segmenter([token], (), preparation).prepare([text], "allow"))
    assert parts == expected
    peer = make_peer("first")
    peer.add_special_tokens([PeerToken("<m>", lstrip=True, normalized=False)])
    ids = encode_by_peer(make_peer(None), [(part, -1) for part, _ in expected])
    assert [i for i in peer.encode(text).ids if i != peer.token_to_id("<m>")] == ids


@pytest.mark.parametrize("text", ["  b", "\u3000b a", " ", "b ", "a", "\u0301b"], ids=ascii)
def test_prepare__nothing_is_first_where_the_first_character_is_deleted(text: str) -> None:
    """Truth: tokenizers, which asks where the first character that is left was."""
    steps = Strip(), StripAccents()
    peer = make_peer(
        "first", normalizers.Sequence([normalizers.Strip(), normalizers.StripAccents()])
    )
    segmenter = make_segmenter([], steps, PREPARATIONS[-1][1])
    for texts in ([text], [text, "a", text]):
        parts = list_parts(segmenter.prepare(texts, "allow"))
        assert encode_by_peer(make_peer(None), parts) == peer.encode(text).ids


def test_prepare_array__copies_nothing_that_stays_as_it_is() -> None:
    """Truth: the contract: the same array, where NFC has nothing to do."""
    segmenter = make_segmenter([AddedToken("<s>", 256)], (Normalization("NFC"),))
    text = copy_text(b"plain<s>ASCII")
    prepared = segmenter.prepare_array(text, np.array([[0, 5], [5, 13]]), "allow")
    assert prepared.text is text
    assert prepared.parts.tolist() == [[0, 5, -1], [5, 5, 256], [8, 13, -1]]
    assert prepared.first_parts.tolist() == [0, 1, 3]


def test_prepare__keeps_bytes_and_repairs_surrogates() -> None:
    """Truth: case D 55: bytes go in raw; Python joins pairs of surrogates and replaces others."""
    assert encode_utf8("a\ud83d\ude00\ud800") == "a\U0001f600\ufffd".encode()
    segmenter = make_segmenter([], (Normalization("NFC"), Prepend("_")))
    for raw in (b"\xff\xc3", b"e\xcc\x81\xff\xed\xa0\x80"):
        prepared = segmenter.prepare([raw], "allow")
        found = prepared.text[: prepared.parts[0, 1]].tobytes()
        assert found == b"_" + raw.replace(b"e\xcc\x81", b"\xc3\xa9")


@pytest.mark.parametrize("text", [None, 3, ["a"]], ids=repr)
def test_prepare__refuses_what_is_no_text(text: Any) -> None:
    """Truth: the contract; the message names the argument and the type."""
    with pytest.raises(ArgumentError, match="text must be a str or bytes, not"):
        make_segmenter([]).prepare([text], "allow")


def test_prepare__of_no_text_and_of_empty_texts() -> None:
    """Truth: hand-computed."""
    for segmenter in (make_segmenter([]), make_segmenter([], (Prepend("_"),))):
        assert segmenter.prepare([], "allow").first_parts.tolist() == [0]
        prepared = segmenter.prepare(["", b""], "allow")
        assert (prepared.parts[:, 1] - prepared.parts[:, 0]).tolist() == [0, 0]
        assert prepared.first_parts.tolist() == [0, 1, 2]

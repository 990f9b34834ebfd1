"""Token ids with the characters that they stand for: equal to those of tokenizers."""

import lzma
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tokenizers import AddedToken, Regex, models, normalizers, pre_tokenizers, processors
from tokenizers import Tokenizer as PeerTokenizer

from numbpe import Tokenizer, load
from numbpe.errors import ArgumentError

PIECES = [
    *("a", "b", "ab", "abc", "A\u0301B", "x", "12", "12345", "'s", "'re", "!", "..."),
    *("\u00e9", "e\u0301", "\u0301", "\u0323", "\u65e5\u672c", "\ud55c", "\u1100\u1161\u11a8"),
    *("\U0001f600", "\ufb01", "\u2581", "\u0130", "\u3000", "\u0344", "\u01d6", "\u0f73"),
    *("<s>", "<s", "<S>", "<mask>", "mask", " ", "  ", "\n", "\r\n", " \n\n", "\t"),
]


def draw_text(generator: random.Random) -> str:
    return "".join(generator.choice(PIECES) for _ in range(generator.randrange(25)))


def make_byte_level(**parts: Any) -> PeerTokenizer:
    """Return a tokenizer of all bytes and some merges, with these parts."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    merges = [("a", "b"), ("ab", "c"), ("\u0120", "\u0120"), ("\u0120", "a"), ("\u00e2", "\u0138")]
    merges += [("\u0120\u0120", "a"), ("\u010a", "\u010a"), ("\u00c3", "\u00a9")]
    vocab = {token: i for i, token in enumerate([*alphabet, *("".join(m) for m in merges)])}
    peer = PeerTokenizer(models.BPE(vocab, [m for m in merges if "".join(m) in vocab]))
    peer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    for name, part in parts.items():
        if name == "tokens":
            peer.add_tokens(part)
        else:
            setattr(peer, name, part)
    return peer


def make_characters(*, byte_fallback: bool, fuse_unk: bool, **parts: Any) -> PeerTokenizer:
    """Return a tokenizer of few characters, of the kind of Llama 2."""
    spelled = ["<unk>", *(f"<0x{byte:02X}>" for byte in range(256) if byte_fallback)]
    spelled += ["\u2581", "a", "b", "c", "1", "2", "ab", "abc", "\u2581a", "12", "\u2581\u2581"]
    merges = [("a", "b"), ("ab", "c"), ("\u2581", "a"), ("1", "2"), ("\u2581", "\u2581")]
    peer = PeerTokenizer(
        models.BPE(
            {token: i for i, token in enumerate(spelled)},
            merges,
            unk_token="<unk>",
            byte_fallback=byte_fallback,
            fuse_unk=fuse_unk,
        )
    )
    for name, part in parts.items():
        setattr(peer, name, part)
    return peer


def make_metaspace(scheme: str) -> PeerTokenizer:
    return make_characters(
        byte_fallback=True,
        fuse_unk=True,
        pre_tokenizer=pre_tokenizers.Metaspace(prepend_scheme=scheme, split=False),
    )


TOKENS = [
    AddedToken("<s>", normalized=False, special=True),
    AddedToken("<mask>", lstrip=True, rstrip=True, normalized=False, special=True),
    AddedToken("mask", single_word=True, normalized=False),
]

MAKERS: dict[str, Callable[[], PeerTokenizer]] = {
    "plain": make_byte_level,
    "added tokens": lambda: make_byte_level(tokens=TOKENS),
    "NFC": lambda: make_byte_level(tokens=TOKENS, normalizer=normalizers.NFC()),
    "NFKD": lambda: make_byte_level(normalizer=normalizers.NFKD()),
    "many steps": lambda: make_byte_level(
        tokens=[AddedToken("<S>", normalized=True)],
        normalizer=normalizers.Sequence(
            [
                normalizers.NFKC(),
                normalizers.Lowercase(),
                normalizers.StripAccents(),
                normalizers.Replace(Regex("[12]+"), "\u00e9a"),
                normalizers.Strip(),
            ]
        ),
    ),
    "prefix space": lambda: make_byte_level(
        tokens=TOKENS, pre_tokenizer=pre_tokenizers.ByteLevel(add_prefix_space=True)
    ),
    "trimmed": lambda: make_byte_level(
        tokens=TOKENS,
        post_processor=processors.ByteLevel(trim_offsets=True, add_prefix_space=False),
    ),
    "trimmed prefix space": lambda: make_byte_level(
        pre_tokenizer=pre_tokenizers.ByteLevel(add_prefix_space=True),
        post_processor=processors.ByteLevel(trim_offsets=True, add_prefix_space=True),
    ),
    "byte fallback": lambda: make_characters(
        byte_fallback=True,
        fuse_unk=True,
        normalizer=normalizers.Sequence(
            [normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")]
        ),
    ),
    "unknown": lambda: make_characters(byte_fallback=False, fuse_unk=False),
    "fused unknown": lambda: make_characters(byte_fallback=False, fuse_unk=True),
    "metaspace first": lambda: make_metaspace("first"),
    "metaspace always": lambda: make_metaspace("always"),
    "metaspace never": lambda: make_metaspace("never"),
}


def check_texts(peer: PeerTokenizer, tokenizer: Tokenizer, seed: str, n_texts: int) -> None:
    """Assert that ids and offsets of random texts are equal."""
    generator = random.Random(seed)
    for _ in range(n_texts):
        text = draw_text(generator)
        adds = generator.random() < 0.3
        expected = peer.encode(text, add_special_tokens=adds)
        ids, offsets = tokenizer.encode_with_offsets(text, add_special_tokens=adds)
        assert ids.dtype == np.uint32
        assert offsets.dtype == np.int64
        assert ids.tolist() == expected.ids, text
        assert list(map(tuple, offsets.tolist())) == expected.offsets, text


@pytest.mark.parametrize("name", MAKERS)
def test_encode_with_offsets__equals_tokenizers(name: str, tmp_path: Path) -> None:
    """Truth: tokenizers, which wrote the file that is loaded here."""
    peer = MAKERS[name]()
    path = tmp_path / "tokenizer.json"
    peer.save(str(path))
    check_texts(peer, load(path), name, 300)


@pytest.mark.parametrize(
    "name",
    ["gpt2", "llama3_1", "qwen3", "deepseek_v3", "gptoss", "gpt4o", "llama2", "gemma3"],
)
def test_encode_with_offsets__known_tokenizers(
    name: str, shared_data: Path, tmp_path: Path
) -> None:
    """Truth: tokenizers, with the files that people use."""
    path = tmp_path / f"{name}.json"
    with lzma.open(shared_data / "tokenizers" / f"{name}.json.xz") as file:
        path.write_bytes(file.read())
    check_texts(PeerTokenizer.from_file(str(path)), load(path), name, 150)


def make_bytes() -> Tokenizer:
    return Tokenizer({i: bytes([i]) for i in range(256)}, [], special_tokens=["<s>"])


def test_encode_with_offsets__surrogates() -> None:
    """Truth: the contract; a pair is two characters that stand together, a lone one U+FFFD."""
    ids, offsets = make_bytes().encode_with_offsets("a\ud83d\ude00\ud83db\udc80")
    assert bytes(ids.tolist()).decode() == "a\U0001f600\ufffdb\ufffd"
    expected = [(0, 1), *[(1, 3)] * 4, *[(3, 4)] * 3, (4, 5), *[(5, 6)] * 3]
    assert list(map(tuple, offsets.tolist())) == expected


def test_encode_with_offsets__policies() -> None:
    """Truth: the policies of encode."""
    tokenizer = make_bytes()
    assert tokenizer.encode_with_offsets("a<s>")[1].tolist() == [[0, 1], [1, 4]]
    assert len(tokenizer.encode_with_offsets("a<s>", special="text")[0]) == 4
    with pytest.raises(ArgumentError, match="spells the special token '<s>'"):
        tokenizer.encode_with_offsets("a<s>", special="error")


@pytest.mark.parametrize("text", ["", "<s>"])
def test_encode_with_offsets__empty_parts(text: str) -> None:
    """Truth: the contract; one span for each id."""
    ids, offsets = make_bytes().encode_with_offsets(text)
    assert offsets.tolist() == [[0, 3]] * len(ids)
    assert offsets.shape == (len(ids), 2)


@pytest.mark.parametrize("text", [None, b"a", 5, ["a"]])
def test_encode_with_offsets__takes_str_only(text: Any) -> None:
    """Truth: the contract; bytes have no characters to count."""
    with pytest.raises(ArgumentError, match="cannot count characters: text must be a str"):
        make_bytes().encode_with_offsets(text)

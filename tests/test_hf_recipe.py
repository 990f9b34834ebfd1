"""The recipe "hf" against BpeTrainer of the tokenizers library, token for token and merge for merge."""

import json
import lzma
import random
from pathlib import Path

import pytest
from tokenizers import Tokenizer as PeerTokenizer
from tokenizers import models, pre_tokenizers, trainers

import numbpe
from numbpe import training
from numbpe.errors import ArgumentError, DataError
from numbpe.recipes import get_recipe

# Special tokens of which some are spelled like bytes, or like what merges make.
SPECIALS = (
    "<|endoftext|>", "<pad>", "a", "b", "\u00e9", "ab", "the", "\u0120the", "aa", "aaaa", "ed", "eded",
    "\u010a\u010a", "\u0120\u0120", "\u00c3\u00a9", "\u00c3",
)  # fmt: skip


def make_corpus(rng: random.Random) -> str:
    letters = rng.sample("abcde \u00e9\n'1\u0120", rng.randint(2, 6))
    parts = [*letters, *letters, "aaaa", "eded", " the", "<|endoftext|>", "\n\n", "  \n ", "\r\n"]
    return "".join(rng.choice(parts) for _ in range(rng.randint(1, 160)))


def train_peer(source, vocab_size, special_tokens, **options):
    """Return vocabulary and merges as tokenizers writes them; a Path is a file."""
    peer = PeerTokenizer(models.BPE())
    peer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=list(special_tokens),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
        **options,
    )
    if isinstance(source, Path):
        peer.train([str(source)], trainer)
    else:
        peer.train_from_iterator(source, trainer)
    model = json.loads(peer.to_str())["model"]
    return model["vocab"], model["merges"]


def read_model(path):
    model = json.loads(path.read_text(encoding="utf-8"))["model"]
    return model["vocab"], model["merges"]


def test_train__equals_tokenizers_on_random_corpora(tmp_path: Path) -> None:
    """Truth: tokenizers 0.23.3 on 200 seeded corpora: files and iterators, ties, limits, shared ids."""
    path, saved = tmp_path / "text.txt", tmp_path / "tokenizer.json"
    n_shared = 0
    for seed in range(200):
        rng = random.Random(seed)
        text = make_corpus(rng)
        path.write_bytes(text.encode())
        source = path if seed % 2 else [text, text[::-1]]
        special_tokens = rng.sample(SPECIALS, rng.choice([0, 1, 1, 2, 3, 6]))
        limit, least = rng.choice([None, None, 1, 2, 3, 4, 8]), rng.choice([0, 0, 1, 2, 4])
        size = 256 + len(special_tokens) + rng.randint(0, 60)
        expected = train_peer(
            source, size, special_tokens, min_frequency=least, max_token_length=limit
        )
        tokenizer, _ = training.train_with_report(
            source,
            size,
            recipe="hf",
            special_tokens=special_tokens,
            min_frequency=least,
            max_token_bytes=limit,
            threads=1 + seed % 3,
            chunk_nbytes=(1, 5, 17, 1 << 16)[seed % 4],
            progress=False,
        )
        tokenizer.save(saved)
        assert read_model(saved) == expected, f"seed {seed}"
        again = numbpe.load(saved)
        assert (again.vocab, again.merges) == (tokenizer.vocab, tokenizer.merges)
        assert again.special_tokens == tokenizer.special_tokens
        assert again.merge_counts.tolist() == tokenizer.merge_counts.tolist()
        n_shared += len(tokenizer.special_tokens) - len(tokenizer.vocabulary.special_tokens)
    assert n_shared > 50


@pytest.mark.parametrize("name", ["english", "code", "zh"])
def test_train__equals_tokenizers_on_real_text(shared_data, tmp_path: Path, name: str) -> None:
    """Truth: tokenizers 0.23.3 on 400 kB of English, program code and Chinese, as a file."""
    with lzma.open(shared_data / "corpora" / f"{name}.txt.xz") as file:
        data = file.read(400_000).decode("utf-8", "ignore").encode()
    path = tmp_path / "text.txt"
    path.write_bytes(data)
    expected = train_peer(path, 1500, ["<|endoftext|>"])
    numbpe.train(path, 1500, recipe="hf", progress=False).save(tmp_path / "tokenizer.json")
    assert read_model(tmp_path / "tokenizer.json") == expected


def test_train__files_are_cut_into_lines_and_items_are_not(tmp_path: Path) -> None:
    """Truth: hand-computed; two line feeds are one piece of an item, and two lines of a file."""
    text = "x\n\n\ny\n\n\n" * 20
    path = tmp_path / "text.txt"
    path.write_bytes(text.encode())
    options = {"recipe": "hf", "special_tokens": [], "progress": False}
    assert (b"\n", b"\n") in numbpe.train([text], 258, **options).merges
    tokenizer, report = training.train_with_report(path, 258, **options)
    assert (tokenizer.merges, report.stopped_early) == ([], True)
    with path.open("rb") as file:
        assert training.train_with_report(file, 258, **options)[0].merges == []


def test_train__special_tokens_are_text(tmp_path: Path) -> None:
    """Truth: the documentation of the recipe; tokenizers counts the letters of <|endoftext|>, too."""
    tokenizer = numbpe.train(["<|endoftext|>" * 9], 268, recipe="hf", progress=False)
    assert tokenizer.special_tokens == {"<|endoftext|>": 0}
    assert b"endoftext" in {left + right for left, right in tokenizer.merges}


def test_train__counts_past_32_bits() -> None:
    """Truth: by arithmetic; tokenizers counts in 32 bits and would never merge this pair."""
    words = numbpe.WordCounts.from_dict({b"aa": 3_000_000_000, b"bc": 5})
    tokenizer = numbpe.train(words, 259, recipe="hf", progress=False)
    assert tokenizer.merges == [(b"a", b"a"), (b"b", b"c")]
    assert tokenizer.merge_counts.tolist() == [3_000_000_000, 5]


def test_counts__keep_how_they_were_made(tmp_path: Path) -> None:
    """Truth: training from the file itself; counts of lines are refused where files are whole."""
    path, saved = tmp_path / "text.txt", tmp_path / "counts.parquet"
    path.write_bytes(b"a b\n\nab b\n" * 9)
    counts = numbpe.count_words(path, special_tokens=[], cuts_lines=True)
    counts.save(saved)
    loaded = numbpe.WordCounts.load(saved)
    assert loaded == counts
    assert loaded.cuts_lines
    options = {"recipe": "hf", "progress": False}
    direct = numbpe.train(path, 259, **options)
    assert numbpe.train(loaded, 259, **options).merges == direct.merges
    with pytest.raises(DataError, match="of single lines, and the recipe 'cs336'"):
        numbpe.train(loaded, 259, special_tokens=[], progress=False)
    cut = numbpe.count_words(path)
    with pytest.raises(DataError, match=r"counts special tokens as text; .*special_tokens=\[\]"):
        numbpe.train(cut, 259, **options)
    with pytest.raises(ArgumentError, match="cuts_lines"):
        _ = loaded + numbpe.count_words(path, special_tokens=[])


def test_sizes__a_shared_id_needs_no_room() -> None:
    """Truth: tokenizers: the special token "a" is the byte's token, so 256 tokens are enough."""
    options = {"recipe": "hf", "special_tokens": ["a"], "progress": False}
    tokenizer = numbpe.train(["a"], 256, **options)
    assert tokenizer.vocab_size == 256
    assert tokenizer.special_tokens == {"a": 0}
    assert tokenizer.token_id(b"a") == 0
    with pytest.raises(ArgumentError, match="must be at least 256"):
        numbpe.train(["a"], 255, **options)
    assert get_recipe("hf").list_bytes()[0] == ord("!")

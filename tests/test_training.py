"""Training from text to a tokenizer, against the plain trainer and the peers."""

import json
import os
import random
import subprocess
import sys
import time

import numpy as np
import pytest

import numbpe
from numbpe import counting, reference, training, vocabulary_training, word_counter
from numbpe.errors import ArgumentError, BudgetError, DataError

SPECIAL = "<|endoftext|>"
TIES = {"cs336": "greatest_bytes", "tiktoken": "smallest_ids"}


def make_corpus(seed):
    """A text over few letters, so that ties and overlaps abound, with special tokens in it."""
    rng = random.Random(seed)
    letters = rng.sample("abcde é\n'1", rng.randint(2, 6))
    parts = [*letters, *letters, "aaaa", "eded", " the", SPECIAL]
    return "".join(rng.choice(parts) for _ in range(rng.randint(1, 160)))


def expect_merges(text, n_merges, recipe, **limits):
    words = reference.count_words([text], special_tokens=[SPECIAL])
    return reference.train_bpe(words, n_merges, tie=TIES[recipe], **limits)


@pytest.fixture
def small_tables(monkeypatch):
    """Make counting spill after some ten words."""
    monkeypatch.setattr(word_counter, "FIRST_SLOTS", 64)
    monkeypatch.setattr(word_counter, "FIRST_ARENA_NBYTES", 1 << 14)
    limit = 64 * word_counter.ROW_NBYTES + (1 << 14)
    monkeypatch.setattr(counting.CountingRun, "_limit_tables", lambda run, chunk_nbytes: limit)


@pytest.mark.parametrize("recipe", TIES)
def test_train__random_corpora(recipe):
    """Truth: reference.train_bpe on 500 corpora a recipe, over threads 1-4 and chunks from 1 byte."""
    for seed in range(500):
        text = make_corpus(seed)
        expected = expect_merges(text, 25, recipe)
        tokenizer, report = training.train_with_report(
            [text],
            256 + 1 + 25,
            recipe=recipe,
            threads=1 + seed % 4,
            chunk_nbytes=(1, 2, 5, 17, 100, 1 << 16)[seed % 6],
            progress=False,
        )
        assert tokenizer.merges == expected, f"seed {seed}"
        assert report.stopped_early == (len(expected) < 25)
        assert report.vocab_size == 257 + len(expected) == tokenizer.vocab_size


@pytest.mark.usefixtures("small_tables")
def test_train__spilled():
    """Truth: reference.train_bpe; word counts that went through the disk give the same merges."""
    for seed in range(40):
        text = "".join(make_corpus(1000 * seed + i) for i in range(30))
        for recipe in TIES:
            expected = expect_merges(text, 15, recipe)
            tokenizer, _ = training.train_with_report(
                [text], 272, recipe=recipe, threads=1 + seed % 3, chunk_nbytes=64, progress=False
            )
            assert tokenizer.merges == expected, f"seed {seed}"


def test_train__limits():
    """Truth: reference.train_bpe with min_frequency and max_token_bytes."""
    for seed in range(40):
        text = make_corpus(seed)
        limits = {"min_frequency": seed % 4, "max_token_bytes": 1 + seed % 5}
        expected = expect_merges(text, 20, "cs336", **limits)
        tokenizer, _ = training.train_with_report([text], 277, progress=False, threads=1, **limits)
        assert tokenizer.merges == expected, f"seed {seed}"


def test_train_bpe__cs336_reference(shared_data):
    """Truth: the 243 merges and the vocabulary of the CS336 course's reference."""
    folder = shared_data / "cs336"
    to_byte = {character: byte for byte, character in make_byte_alphabet().items()}

    def read_token(token):
        return bytes(to_byte[character] for character in token)

    lines = (folder / "train-bpe-reference-merges.txt").read_text(encoding="utf-8").splitlines()
    expected = [tuple(map(read_token, line.split(" "))) for line in lines]
    train = {"special_tokens": [SPECIAL], "threads": 1}
    numbpe.train_bpe(folder / "corpus.en", 500, **train)
    started = time.perf_counter()
    vocab, merges = numbpe.train_bpe(folder / "corpus.en", 500, **train)
    assert time.perf_counter() - started < 1.5  # the course's own limit
    assert len(expected) == 243
    assert merges == expected
    reference_vocab = json.loads((folder / "train-bpe-reference-vocab.json").read_text("utf-8"))
    values = {
        SPECIAL.encode() if token == SPECIAL else read_token(token) for token in reference_vocab
    }
    assert set(vocab) == set(reference_vocab.values())
    assert set(vocab.values()) == values


def make_byte_alphabet():
    """GPT-2's mapping from bytes to printable characters."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = [byte for byte in range(256) if byte not in printable]
    return {b: chr(b) for b in printable} | {b: chr(256 + i) for i, b in enumerate(rest)}


def read_corpus(shared_data, name, n_bytes):
    import lzma

    with lzma.open(shared_data / "corpora" / f"{name}.txt.xz") as file:
        data = file.read(n_bytes)
    return data.decode("utf-8", "ignore")


@pytest.mark.slow
def test_train__equals_rustbpe_and_bpeasy(shared_data):
    """Truth: rustbpe 0.1.0 and bpeasy 0.1.6 on 10 MB of English, recipe tiktoken."""
    rustbpe = pytest.importorskip("rustbpe", reason="rustbpe is not installed")
    bpeasy = pytest.importorskip("bpeasy", reason="bpeasy is not installed")
    documents = read_corpus(shared_data, "english", 10_000_000).split(SPECIAL)
    pattern = r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s+(?!\S)|\s+"
    tokenizer = numbpe.train(
        documents, 3000, pattern=pattern, recipe="tiktoken", special_tokens=[], progress=False
    )
    ours = {content: token_id for token_id, content in tokenizer.vocab.items()}
    peer = rustbpe.Tokenizer()
    peer.train_from_iterator(iter(documents), 3000, pattern=pattern)
    assert {bytes(token): rank for token, rank in peer.get_mergeable_ranks()} == ours
    theirs = bpeasy.train_bpe(iter(documents), pattern, 1 << 20, 3000)
    assert {bytes(token): rank for token, rank in theirs.items()} == ours


def test_train__more_than_32_bits():
    """Truth: by arithmetic; counts past 2**31 and 2**32 are exact (cases 1 and 2)."""
    words = numbpe.WordCounts.from_dict({b"aa": 3_000_000_000, b"bc": 5})
    vocab, merges = numbpe.train_bpe(words, 258)
    assert merges == [(b"a", b"a"), (b"b", b"c")]
    assert vocab[256] == b"aa"
    words = numbpe.WordCounts.from_dict({b"the": 6_000_000_000, b"cat": 10})
    tokenizer, report = training.train_with_report(words, 258, special_tokens=[], progress=False)
    assert tokenizer.encode("the").tolist() == [257]
    assert report.merge_counts.tolist() == [6_000_000_000, 6_000_000_000]


@pytest.mark.parametrize(
    "text, pattern, special_tokens, n_merges, expected",
    [
        # 6: ties are decided by bytes, not by the order in which pairs appear.
        ("bbbaaaddddcccc", "gpt2", [], 4, [b"dd", b"cc", b"bb", b"aa"]),
        ("aaabbbccccdddd", "gpt2", [], 4, [b"dd", b"cc", b"bb", b"aa"]),
        # 11: a file is not cut into lines.
        ("x\n\n\ny\n\n\n" * 50, r"[\s\S]+", [], 2, [b"\n\n", b"\n\n\n"]),
        # 12: special tokens are cut out before counting.
        ("<|e|> a <|e|> a <|e|>" * 5, "gpt2", ["<|e|>"], 4, [b" a"]),
        # 15: stops when the text gives no more.
        ("abc abc", "gpt2", [], 9744, [b"bc", b"abc", b" abc"]),
        # 26: NUL is a byte like any other.
        ("a\0b a\0b", r"\S+|\s+", [], 1, [b"a\0"]),
    ],
)
def test_train__known_answers(tmp_path, text, pattern, special_tokens, n_merges, expected):
    """Truth: hand-computed, from reports of other trainers' faults; the numbers are their cases."""
    path = tmp_path / "text.txt"
    path.write_bytes(text.encode())
    size = 256 + len(special_tokens) + n_merges
    for source in (path, [text]):
        tokenizer, report = training.train_with_report(
            source, size, pattern=pattern, special_tokens=special_tokens, progress=False
        )
        actual = [left + right for left, right in tokenizer.merges]
        if text.startswith("abc"):  # here all pairs tie, and only the set is known beforehand
            assert set(actual) <= {b"ab", b"bc", b"abc", b" abc", b" a", b" ab"}
            assert (len(actual), report.stopped_early) == (3, True)
            assert sorted(tokenizer.vocab) == list(range(259))
        else:
            assert actual == expected


def test_train__stops_early_with_a_warning():
    """Truth: hand-computed (case 15); the result is usable, and ids have no holes."""
    with pytest.warns(
        training.StoppedEarlyWarning, match="asked for 10,000 tokens, the text gives 260"
    ):
        tokenizer = numbpe.train(["abc abc"], 10_000, progress=False)
    assert sorted(tokenizer.vocab) == list(range(260))
    assert tokenizer.decode(tokenizer.encode("abc abc")) == "abc abc"


def test_train__number_of_merges(shared_data):
    """Truth: by definition; vocab_size = 256 + special tokens + merges (case 18)."""
    tokenizer = numbpe.train(shared_data / "cs336" / "corpus.en", 1000, progress=False)
    assert (len(tokenizer.merges), tokenizer.vocab_size) == (743, 1000)


def test_train__max_token_bytes_of_one():
    """Truth: by definition (case 17); no token is longer than a byte, so there are no merges."""
    tokenizer, report = training.train_with_report(
        ["hello world hello"], 300, max_token_bytes=1, progress=False
    )
    assert (tokenizer.merges, report.stopped_early) == ([], True)


def test_train__long_words():
    """Truth: by arithmetic and reference.train_bpe (cases 22 and 23): no limit at 65,535 symbols."""
    word = "ab" * 40_000
    tokenizer = numbpe.train([word], 257, special_tokens=[], progress=False)
    assert tokenizer.merges == [(b"a", b"b")]
    rng = random.Random(1)
    genome = "".join(rng.choice("ACGT") for _ in range(20_000))
    options = {"pattern": r"[\s\S]+", "special_tokens": [], "progress": False}
    expected = reference.train_bpe({genome.encode(): 1}, 10)
    assert numbpe.train([genome], 266, **options).merges == expected


@pytest.mark.slow
def test_train__ten_megabytes_without_a_space():
    """Truth: by definition (case 22): one word of 10,000,000 letters is trained on in seconds."""
    genome = np.frombuffer(b"ACGT", np.uint8)[np.random.default_rng(1).integers(0, 4, 10_000_000)]
    tokenizer = numbpe.train(
        [genome.tobytes()], 306, pattern=r"[\s\S]+", special_tokens=[], progress=False
    )
    assert len(tokenizer.merges) == 50


def test_train__specials_never_merge():
    """Truth: by definition (case 28); a special token is one id, and doubled it is two."""
    octopus = "\U0001f419"
    text = octopus * 4 + "ab abab abc"
    tokenizer = numbpe.train([text], 260, special_tokens=[octopus], progress=False)
    special_id = tokenizer.special_tokens[octopus]
    assert tokenizer.encode(octopus * 2).tolist() == [special_id, special_id]
    assert not any(octopus.encode() in left + right for left, right in tokenizer.merges)


def test_train__special_equal_to_a_byte_or_merge():
    """Truth: by definition; ids stay a bijection and ordinary text never becomes a special id."""
    text = ["xabx xabx", "b", "bxx bx"]
    tokenizer = numbpe.train(text, 260, special_tokens=["a", "xx"], progress=False)
    special_ids = set(tokenizer.special_tokens.values())
    assert sorted(tokenizer.vocab) == list(range(tokenizer.vocab_size))
    assert special_ids == {256, 257}
    plain = tokenizer.encode("a xx xabx", special="text")
    assert not special_ids & set(plain.tolist())
    assert tokenizer.decode(plain) == "a xx xabx"
    assert tokenizer.encode("a").tolist() == [tokenizer.special_tokens["a"]]


def test_train__counts_of_another_pattern(tmp_path):
    """Truth: by definition; counts say how they were cut, and another way is refused."""
    counts = numbpe.count_words(["it's a test"], pattern="o200k")
    counts.save(tmp_path / "counts.parquet")
    loaded = numbpe.WordCounts.load(tmp_path / "counts.parquet")
    with pytest.raises(DataError, match="pass pattern=counts.pattern"):
        numbpe.train(loaded, 260, progress=False)
    with pytest.raises(DataError, match="pass special_tokens=counts.special_tokens"):
        numbpe.train(loaded, 260, pattern="o200k", special_tokens=[], progress=False)
    tokenizer = numbpe.train(loaded, 260, pattern=loaded.pattern, progress=False)
    direct = numbpe.train(["it's a test"], 260, pattern="o200k", progress=False)
    assert tokenizer.merges == direct.merges
    assert tokenizer.vocab == direct.vocab


@pytest.mark.parametrize(
    "arguments, options, error, message",
    [
        ((["a"], 100), {}, ArgumentError, "vocab_size is 100; it must be at least 257"),
        ((["a"], 256), {}, ArgumentError, "at least 257, for 256 bytes and 1 special tokens"),
        ((["a"], 1 << 40), {}, ArgumentError, "at most"),
        ((["a"], "300"), {}, ArgumentError, "vocab_size must be a whole number"),
        ((["a"], 300), {"min_frequency": -1}, ArgumentError, "min_frequency"),
        ((["a"], 300), {"max_token_bytes": 0}, ArgumentError, "max_token_bytes"),
        ((["a"], 300), {"recipe": "bpe"}, ArgumentError, "cs336"),
        ((["a"], 300), {"pattern": "(a"}, ArgumentError, "pattern"),
        ((["a"], 300), {"pattern": "gpt9"}, ArgumentError, "gpt2"),
        ((["a"], 300), {"special_tokens": [""]}, ArgumentError, "empty"),
        ((["a"], 300), {"special_tokens": ["x", "x"]}, ArgumentError, "x"),
        ((["a"], 300), {"special_tokens": "<s>"}, ArgumentError, r"\["),
        ((["a"], 300), {"threads": -1}, ArgumentError, "threads"),
        ((["a"], 300), {"memory": "1MiB"}, BudgetError, "needs about"),
        (([], 300), {}, DataError, "nothing to read"),
        (([""], 300), {}, DataError, "nothing to read"),
        (([1], 300), {}, DataError, "int"),
    ],
)
def test_train__bad_input(arguments, options, error, message):
    """Truth: by definition; one clear error each, that names what is allowed."""
    with pytest.raises(error, match=message):
        numbpe.train(*arguments, progress=False, **options)


def test_train__one_character():
    """Truth: by definition; a text of one character gives the 256 bytes and no merge."""
    tokenizer, report = training.train_with_report(["a"], 300, progress=False)
    assert (tokenizer.merges, report.vocab_size, report.stopped_early) == ([], 257, True)


def test_train__budget_for_merging(monkeypatch):
    """Truth: by definition; what merging will need is checked before it starts."""
    words = numbpe.WordCounts.from_dict({b"ab": 1})
    monkeypatch.setattr(vocabulary_training, "estimate_merging_nbytes", lambda *sizes: 1 << 50)
    with pytest.raises(BudgetError, match=r"merging 1 distinct words needs about .*--memory"):
        numbpe.train(words, 258, progress=False, memory="4GiB")


@pytest.mark.slow
def test_train__same_in_fresh_processes(tmp_path):
    """Truth: by definition (case 8); hash seeds and threads leave no trace in the files."""
    path = tmp_path / "text.txt"
    path.write_text("".join(make_corpus(seed) for seed in range(200)), encoding="utf-8")
    script = (
        "import sys, numbpe\n"
        "tok = numbpe.train(sys.argv[1], 400, threads=int(sys.argv[2]), progress=False)\n"
        "tok.save(sys.argv[3])\n"
    )
    contents = set()
    for seed in range(6):
        out = tmp_path / f"{seed}.json"
        subprocess.run(
            [sys.executable, "-c", script, str(path), str(1 + seed % 3), str(out)],
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            check=True,
        )
        contents.add(out.read_bytes())
    assert len(contents) == 1

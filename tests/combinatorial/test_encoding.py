"""Text to rows: equal to the specification, whatever the text, its length and how it comes."""

import hashlib
import json
import lzma
import pickle
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import numbpe
from numbpe.combinatorial.definition import CombinatorialVocabulary
from numbpe.combinatorial.encoder_state import RowState
from numbpe.combinatorial.encoder_tables import build_tuple_model
from numbpe.combinatorial.formats import read_vocabulary
from numbpe.combinatorial.reference import ReferenceTokenizer
from numbpe.combinatorial.standard import load_standard, make_standard_tokenizer
from numbpe.combinatorial.tokenizer import CombinatorialTokenizer
from numbpe.errors import ArgumentError

NAMES = ("default", "camel", "han", "noaffix", "nofold")


def encode_by_reference(vocabulary: CombinatorialVocabulary, text: str) -> list[list[int]]:
    return [list(row) for row in ReferenceTokenizer(vocabulary).encode(text)]


@pytest.mark.parametrize("number", range(6))
def test_encode__equals_the_specification(samples: Any, number: int) -> None:
    """Truth: combinatorial/reference.py on seeded random text of all that is odd."""
    vocabulary = samples.make_vocabulary(**samples.flags[number])
    tokenizer, reference = CombinatorialTokenizer(vocabulary), ReferenceTokenizer(vocabulary)
    for text in samples.make_texts(150, seed=number):
        actual = tokenizer.encode(text)
        assert actual.tolist() == [list(row) for row in reference.encode(text)], repr(text)
        assert tokenizer.decode(actual) == text
        assert tokenizer.decode_bytes(actual) == reference.decode_bytes(actual.tolist())


@pytest.mark.parametrize("name", NAMES)
def test_encode__equals_the_reference_implementation(shared_data: Path, name: str) -> None:
    """Truth: rows that the reference implementation gave."""
    folder = shared_data / "combinatorial"
    tokenizer = numbpe.CombinatorialTokenizer.load(folder / f"{name}.json")
    encodings = json.loads((folder / f"{name}.enc.json").read_text(encoding="utf-8"))
    batch = tokenizer.encode_batch([text for text, _ in encodings])
    assert batch.to_list() == [rows for _, rows in encodings]
    assert tokenizer.decode_batch(batch) == [text for text, _ in encodings]


@pytest.mark.parametrize("name, corpus", [("english_8k", "english"), ("code_8k_camel", "code")])
def test_encode__equals_the_reference_implementation_on_real_text(
    shared_data: Path, name: str, corpus: str
) -> None:
    """Truth: the SHA-256 of the rows that the reference implementation gave, in NAME.meta.json."""
    folder = shared_data / "combinatorial"
    meta = json.loads((folder / f"{name}.meta.json").read_text(encoding="utf-8"))
    text = b""
    with lzma.open(shared_data / "corpora" / f"{corpus}.txt.xz") as file:
        while len(text) < meta["train_bytes"] + meta["test_bytes"]:
            text += file.read(1 << 23).replace(b"<|endoftext|>\n", b"")
    test = text[meta["train_bytes"] :][: meta["test_bytes"]]
    assert hashlib.sha256(test).hexdigest() == meta["test_sha256"]
    tokenizer = CombinatorialTokenizer.load(folder / f"{name}.json")
    assert tokenizer.sizes == meta["sizes"]
    rows = tokenizer.encode(test)
    assert len(rows) == meta["tokens"]
    assert hashlib.sha256(rows.tobytes()).hexdigest() == meta["ids_sha256"]
    assert tokenizer.decode_bytes(rows) == test
    assert tokenizer.is_canonical(rows)


def test_load__takes_a_file_of_real_size_without_counts(shared_data: Path) -> None:
    """Truth: the sizes in the notes of the reference, and combinatorial/reference.py."""
    path = shared_data / "combinatorial" / "wiki_en_16384.json"
    tokenizer = CombinatorialTokenizer.load(path)
    assert tokenizer.sizes == {"variation": 3, "prefix": 108, "core": 16193, "suffix": 80}
    text = "Amazing! The NASA budget (1969) was 4.6% of the U.S. total; \u0391\u03b8\u03ae\u03bd\u03b1."
    expected = encode_by_reference(tokenizer.vocabulary, text)
    assert tokenizer.encode(text).tolist() == expected


def test_encode__takes_small_caches_and_little_room(samples: Any) -> None:
    """Truth: combinatorial/reference.py; a state that must empty its caches and its rows often."""
    vocabulary = samples.make_vocabulary()
    state = RowState(build_tuple_model(vocabulary), max_cache_nbytes=1)
    tokenizer = CombinatorialTokenizer(vocabulary)
    generator = np.random.default_rng(3)
    words = ["".join(generator.choice(list("abcdeXY_.\u03bb"), 5)) for _ in range(60_000)]
    texts = [" ".join(words).encode(), b"a" * 300 + b" " * 300 + "\U0001f600".encode() * 300]
    from numbpe.arrays import join_texts

    stops = np.cumsum([0, *map(len, texts)])
    parts = np.stack([stops[:-1], stops[1:], np.full(2, -1)], axis=1)
    rows, offsets = state.encode(join_texts(texts), np.ascontiguousarray(parts))
    n_sample = 2_000
    sample = " ".join(words[:n_sample])
    expected = encode_by_reference(vocabulary, sample)
    assert rows[: len(expected) - 5].tolist() == expected[:-5]
    assert rows[offsets[1] :].tolist() == encode_by_reference(vocabulary, texts[1].decode())
    assert tokenizer.decode_bytes(rows) == b"".join(texts)


@pytest.mark.parametrize("character", ["a", "\u03bb", "A", "aB", " ", ".", "\U0001f600", "\u4e00"])
def test_encode__is_near_linear_in_long_words_and_gaps(samples: Any, character: str) -> None:
    """Truth: a word of eight times the letters takes about eight times the time, and comes back."""
    tokenizer = CombinatorialTokenizer(samples.make_vocabulary(split_camel=True))
    seconds = []
    for n in (125_000, 1_000_000):
        text = "x" + character * (n // len(character))
        turns = []
        for _ in range(2):  # In the first, kernels may be compiled.
            started = time.perf_counter()
            rows = tokenizer.encode(text)
            turns.append(time.perf_counter() - started)
        seconds.append(min(turns))
        assert tokenizer.decode(rows) == text
    assert seconds[1] < 40 * seconds[0] + 1
    short = "x" + character * 301 + "y"
    expected = encode_by_reference(tokenizer.vocabulary, short)
    assert tokenizer.encode(short).tolist() == expected


def test_encode__takes_bytes_as_they_are_and_repairs_surrogates(samples: Any) -> None:
    """Truth: what is not UTF-8 is a row for each byte; surrogates as in Tokenizer.encode."""
    tokenizer = CombinatorialTokenizer(samples.make_vocabulary())
    rows = tokenizer.encode(b"the\xff\xe4\xb8 the")
    the = tokenizer.encode("the")[0, 2]
    assert rows.tolist() == [
        [0, 0, the, 0], [0, 0, 0xFF, 0], [0, 0, 0xE4, 0], [0, 0, 0xB8, 0], [0, 1, the, 0]
    ]  # fmt: skip
    generator = np.random.default_rng(5)
    for _ in range(50):
        data = generator.choice(np.frombuffer(b"aB1 .\n\xc3\xa9\xe4\xb8\x80\xff\xf0", np.uint8), 90)
        assert tokenizer.decode_bytes(tokenizer.encode(data.tobytes())) == data.tobytes()
    expected = tokenizer.encode("a\U0001f600\ufffd")
    assert np.array_equal(tokenizer.encode("a\ud83d\ude00\ud83d"), expected)
    with pytest.raises(ArgumentError, match="text must be a str or bytes, not int"):
        tokenizer.encode(7)  # type: ignore[arg-type]


def test_encode_batch__equals_encode_for_any_threads(samples: Any) -> None:
    """Truth: encode, text for text; also from several threads at once, and unpickled."""
    tokenizer = CombinatorialTokenizer(samples.make_vocabulary(split_camel=True))
    texts = [text * 40 for text in samples.make_texts(200, seed=8)]
    expected = [tokenizer.encode(text).tolist() for text in texts]
    assert tokenizer.encode_batch(texts, threads=3).to_list() == expected
    assert tokenizer.encode_batch([]).to_list() == []
    assert tokenizer.encode_batch([""]).to_list() == [[]]
    other = pickle.loads(pickle.dumps(tokenizer))
    found: dict[int, list[Any]] = {}

    def work(number: int) -> None:
        found[number] = [other.encode(text).tolist() for text in texts]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert list(found.values()) == [expected] * 3


@pytest.mark.parametrize("number", range(5))
def test_encode_iterable__equals_encode_wherever_text_is_cut(samples: Any, number: int) -> None:
    """Truth: encode of all portions joined; portions cut characters and surrogates too."""
    vocabulary = samples.make_vocabulary(("<|end|>",), **samples.flags[number])
    tokenizer = CombinatorialTokenizer(vocabulary)
    generator = np.random.default_rng(number)
    text = "<|end|>".join(samples.make_texts(60, seed=20 + number)) + "...   "
    expected = tokenizer.encode(text)
    for size in (1, 3, 50, 100_000):
        data: Any = text if size != 3 else text.encode()
        cuts = np.cumsum(generator.integers(1, 2 * size, len(data) // size + 2)).tolist()
        portions = [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)]
        arrays = list(tokenizer.encode_iterable(portions))
        assert np.array_equal(np.concatenate(arrays), expected)
        assert size == 100_000 or len(arrays) > 3


def test_special_tokens__are_rows_of_their_own(samples: Any) -> None:
    """Truth: hand-computed; cores of special tokens come last and ordinary rows stay as they were."""
    plain = CombinatorialTokenizer(samples.make_vocabulary())
    tokenizer = CombinatorialTokenizer(samples.make_vocabulary(("<|end|>", "<|pad|>")))
    n_cores = plain.sizes["core"]
    assert plain.special_tokens == {}
    assert tokenizer.special_tokens == {"<|end|>": n_cores, "<|pad|>": n_cores + 1}
    text = "the user, <|end|>The<|end|>"
    rows = tokenizer.encode(text)
    parts = [plain.encode("the user, "), [[0, 0, n_cores, 0]], plain.encode("The")]
    assert rows.tolist() == np.concatenate([*parts, [[0, 0, n_cores, 0]]]).tolist()
    assert tokenizer.decode(rows) == text
    assert np.array_equal(tokenizer.encode(text, special="text"), plain.encode(text))
    assert tokenizer.encode_batch([text, ""]).to_list() == [rows.tolist(), []]
    with pytest.raises(ArgumentError, match=r"spells the special token '<\|end\|>' at byte 10"):
        tokenizer.encode(text, special="error")
    for text in samples.make_texts(40, seed=31):
        assert np.array_equal(tokenizer.encode(text), plain.encode(text))


@pytest.mark.parametrize("name", ["std_gpt2", "std_cl100k"])
def test_standard__equals_the_reference_implementation(shared_data: Path, name: str) -> None:
    """Truth: ids that the reference implementation gave."""
    folder = shared_data / "combinatorial"
    tokenizer = load_standard(folder / f"{name}.json")
    for text, ids in json.loads((folder / f"{name}.enc.json").read_text(encoding="utf-8")):
        assert tokenizer.encode(text).tolist() == ids
        assert tokenizer.decode(ids) == text
    vocabulary = read_vocabulary(folder / f"{name}.json")
    assert not isinstance(vocabulary, CombinatorialVocabulary)
    assert make_standard_tokenizer(vocabulary).vocab_size == vocabulary.vocab_size


def test_load__tells_the_kinds_of_files_apart(shared_data: Path, tmp_path: Path) -> None:
    """Truth: the two kinds of files of the reference; a saved tokenizer encodes as before."""
    folder = shared_data / "combinatorial"
    with pytest.raises(ArgumentError, match="plain vocabulary over characters; read it by"):
        CombinatorialTokenizer.load(folder / "std_gpt2.json")
    with pytest.raises(ArgumentError, match=r"combinatorial one; read it by numbpe\."):
        load_standard(folder / "default.json")
    tokenizer = CombinatorialTokenizer.load(folder / "default.json")
    tokenizer.save(tmp_path / "saved.json")
    again = CombinatorialTokenizer.load(tmp_path / "saved.json")
    assert np.array_equal(again.encode("Hello, WORLD"), tokenizer.encode("Hello, WORLD"))
    with pytest.raises(
        ArgumentError, match="vocabulary must be a CombinatorialVocabulary, not str"
    ):
        CombinatorialTokenizer("default.json")  # type: ignore[arg-type]

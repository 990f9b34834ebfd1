"""Training Combinatorial BPE: the tables of the reference, whatever the threads, chunks and budget."""

import hashlib
import json
import lzma
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from numbpe.bad_input import SkippedWarning
from numbpe.combinatorial import reference_training
from numbpe.combinatorial.definition import CombinatorialVocabulary
from numbpe.combinatorial.formats import read_vocabulary
from numbpe.combinatorial.standard_training import train_standard
from numbpe.combinatorial.training import train_combinatorial, train_combinatorial_with_report
from numbpe.combinatorial.training_options import TrainingOptions
from numbpe.combinatorial.unit_counting import UNIT_PATTERN, UnitCounts, count_units
from numbpe.errors import ArgumentError, BudgetError, DataError
from numbpe.memory_budget import open_budget
from numbpe.training import StoppedEarlyWarning
from numbpe.word_counts import WordCounts

SMALL: dict[str, Any] = {"min_char_freq": 5, "min_affix_freq": 5}
QUIET: dict[str, Any] = {"progress": False, "threads": 1}

FIXTURES: dict[str, tuple[str, dict[str, Any]]] = {
    "default": ("TRAIN", {"vocab_size": 400}),
    "noaffix": ("TRAIN", {"vocab_size": 400, "n_prefix": 0, "n_suffix": 0}),
    "nofold": ("TRAIN", {"vocab_size": 400, "fold_case": False}),
    "camel": ("TRAIN", {"vocab_size": 400, "split_camel": True}),
    "han": ("HAN_TRAIN", {"vocab_size": 600, "fold_han": True}),
}

ALPHABET = (
    *"abcABC", "the", "The", " ", " ", "  ", "\n", ", ", ". ", "_", "'", '"', " (", ")", "1", "23",
    "\u0301", "\u00e9", "\u00c9", "\u0130", "\u4e2d", "\u53f0", "\u81fa", "\u7063", "\u3002",
    "\u0915\u093f", "\x1c", "\U0001f600", "\u2160",
)  # fmt: skip


def make_text(rng: np.random.Generator, n_parts: int) -> str:
    """Return random text in which many things occur equally often."""
    weights = rng.dirichlet(np.ones(len(ALPHABET)) * 0.5)
    return "".join(ALPHABET[i] for i in rng.choice(len(ALPHABET), n_parts, p=weights))


def train_quietly(source: Any, options: dict[str, Any], **how: Any) -> CombinatorialVocabulary:
    return train_combinatorial_with_report(source, TrainingOptions(**options), **(QUIET | how))[0]


@pytest.mark.filterwarnings("ignore::numbpe.training.StoppedEarlyWarning")
@pytest.mark.parametrize("name", FIXTURES)
def test_train_combinatorial__equals_the_reference(name: str, shared_data: Path) -> None:
    """Truth: tables that the reference implementation trained on the same text."""
    folder = shared_data / "combinatorial"
    text_name, options = FIXTURES[name]
    text = json.loads((folder / "train_texts.json").read_text(encoding="utf-8"))[text_name]
    trained = train_combinatorial([text], **SMALL, **options, **QUIET)
    assert trained == read_vocabulary(folder / f"{name}.json")


@pytest.mark.parametrize("pattern", ["gpt2", "cl100k"])
def test_train_standard__equals_the_reference(pattern: Any, shared_data: Path) -> None:
    """Truth: tables that the reference implementation trained on the same text."""
    folder = shared_data / "combinatorial"
    text = json.loads((folder / "train_texts.json").read_text(encoding="utf-8"))["TRAIN"]
    trained = train_standard([text], 400, pattern, min_char_freq=5, **QUIET)
    assert trained == read_vocabulary(folder / f"std_{pattern}.json")


def read_training_slice(corpus: Path, n_bytes: int) -> bytes:
    """Return the first bytes of a corpus without the lines that separate documents."""
    with lzma.open(corpus) as file:
        data = file.read(n_bytes + n_bytes // 4)
    return data.replace(b"<|endoftext|>\n", b"")[:n_bytes]


@pytest.mark.parametrize("name", ["english_8k", "code_8k_camel"])
def test_train_combinatorial__equals_the_reference_on_real_text(
    name: str, shared_data: Path, tmp_path: Path
) -> None:
    """Truth: tables that the reference implementation trained on 5 MB and more of real text."""
    folder = shared_data / "combinatorial"
    meta = json.loads((folder / f"{name}.meta.json").read_text(encoding="utf-8"))
    corpora = sorted((shared_data / "corpora").glob(f"{meta['corpus']}*.xz"))
    if not corpora:
        pytest.skip(f"the corpus {meta['corpus']} is not here")
    text = read_training_slice(corpora[0], meta["train_bytes"])
    assert hashlib.sha256(text).hexdigest() == meta["train_sha256"]
    path = tmp_path / "text.txt"
    path.write_bytes(text)
    trained = train_quietly(str(path), meta["options"], threads=2)
    assert trained == read_vocabulary(folder / f"{name}.json")


@pytest.mark.parametrize("seed", range(12))
def test_train_combinatorial__equals_plain_python(seed: int) -> None:
    """Truth: numbpe.combinatorial.reference_training, on random text full of ties."""
    rng = np.random.default_rng(seed)
    documents = [make_text(rng, int(rng.integers(0, 1500))) + "x" for _ in range(3)]
    options: dict[str, Any] = {
        "vocab_size": int(rng.integers(270, 340)),
        "min_char_freq": int(rng.integers(0, 6)),
        "min_affix_freq": int(rng.integers(1, 4)),
        "max_affix_len": int(rng.integers(1, 6)),
        "max_affix_candidates": int(rng.integers(1, 30)),
        "fold_case": bool(rng.integers(2)),
        "fold_han": bool(rng.integers(2)),
        "split_camel": bool(rng.integers(2)),
        "punct_to_next": bool(rng.integers(4) == 0),
    }
    if rng.integers(3) == 0:
        options |= {"n_prefix": int(rng.integers(4)), "n_suffix": int(rng.integers(3))}
    expected = reference_training.train_combinatorial(documents, **options)
    assert train_quietly(documents, options) == expected


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.filterwarnings("ignore::numbpe.training.StoppedEarlyWarning")
def test_train_standard__equals_plain_python(seed: int) -> None:
    """Truth: numbpe.combinatorial.reference_training, with an alphabet cut among equals."""
    rng = np.random.default_rng(seed)
    text = make_text(rng, 1500)
    for pattern in ("gpt2", "cl100k"):
        expected = reference_training.train_standard([text], 270, pattern, min_char_freq=1)
        assert train_standard([text], 270, pattern, min_char_freq=1, **QUIET) == expected


def test_choose_alphabet__takes_what_came_first_among_equals() -> None:
    """Truth: worked out by hand. All characters occur once; words come before what affixes leave
    over, that before what is behind words, and that before the end of a document."""
    options = {"vocab_size": 256 + 5 + 8, "min_char_freq": 1, "min_affix_freq": 9}
    trained = train_quietly(["!+a?-b #"], options)
    assert trained.alphabet == ("!", "+", "a", "b")
    more = train_quietly(["!+a?-b #"], options | {"vocab_size": 256 + 5 + 14})
    assert more.alphabet == (" ", "!", "+", "-", "?", "a", "b")


def flatten(counts: UnitCounts) -> list[dict[bytes, tuple[int, int]]]:
    """Return each part as a dictionary from strings to counts and ranks of first places."""
    result = []
    for strings in counts[:4]:
        ranks = np.argsort(np.argsort(strings.positions)).tolist()
        text = strings.contents.tobytes()
        words = [text[i:j] for i, j in strings.bounds.tolist()]
        result.append(
            dict(zip(words, zip(strings.counts.tolist(), ranks, strict=True), strict=True))
        )
    return result


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("chunk_nbytes", [64, 1000, 1 << 20])
def test_count_units__does_not_depend_on_threads_chunks_and_flushes(
    threads: int, chunk_nbytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Truth: the plain counts of split_units, and Python's dictionaries for what came first."""
    rng = np.random.default_rng(7)
    documents = [make_text(rng, 4000) for _ in range(3)]
    monkeypatch.setattr("numbpe.combinatorial.unit_counting.MAX_TABLE_NBYTES", 1 << 16)
    counts = count_units(
        documents,
        UNIT_PATTERN,
        threads=threads,
        budget=open_budget(None),
        chunk_nbytes=chunk_nbytes,
    )
    plain = reference_training.count_parts(documents, punct_to_next=False, split_camel=False)
    expected = [
        {key.encode(): (count, rank) for rank, (key, count) in enumerate(part.items())}
        for part in ({k: v for k, v in part.items() if k} for part in plain)
    ]
    assert flatten(counts) == expected
    assert counts.n_source_bytes == sum(len(document.encode()) for document in documents)
    assert counts.n_units == plain.before.total() + plain.alone.total()


def test_train_combinatorial__reads_any_source(tmp_path: Path) -> None:
    """Truth: one text is one text, however it comes in."""
    text = make_text(np.random.default_rng(3), 3000)
    path = tmp_path / "text.txt"
    path.write_bytes(text.encode())
    options = {"vocab_size": 300} | SMALL
    expected = train_quietly([text], options)
    (tmp_path / "rows.jsonl").write_text(json.dumps({"body": text}) + '\n{"body": 3}\n')
    for source in (str(path), [path], iter([text]), [text.encode()]):
        assert train_quietly(source, options) == expected
    with pytest.warns(SkippedWarning, match="1 row"):
        assert expected == train_combinatorial(
            tmp_path / "rows.jsonl", column="body", on_bad="skip", **options, **QUIET
        )
    with pytest.raises(ArgumentError, match="word counts"):
        train_quietly(WordCounts.from_dict({b"a": 1}), options)
    with pytest.raises(DataError, match="nothing to read"):
        train_quietly([], options)
    with pytest.raises(DataError, match="UTF-8"):
        train_quietly([b"a\xff"], options, errors="strict")


def test_train_combinatorial__takes_closed_lists_as_they_are() -> None:
    """Truth: the lists; what is not in them is encoded by cores, and nothing else changes places."""
    text = "The cat, the hat. " * 30
    closed = {"vocab_size": 290, "prefixes": ["", " "], "suffixes": [""], "min_char_freq": 1}
    trained = train_quietly([text], closed)
    assert (trained.prefixes, trained.suffixes) == (("", " "), ("",))
    assert "," in trained.alphabet
    assert " " in trained.alphabet  # the end of the text
    one_side = train_quietly([text], {"vocab_size": 300, "prefixes": ["", " "]})
    assert (one_side.prefixes, one_side.suffixes) == (("", " "), ("", ",", "."))
    assert one_side.vocab_size <= 300


def test_train_combinatorial__parts_documents_at_special_tokens() -> None:
    """Truth: the parts as documents of their own; the tokens add rows and change nothing else."""
    text = "The cat<|end|>, the hat. <|end|>end " * 20
    trained = train_quietly([text], {"vocab_size": 301, "special_tokens": ["<|end|>"]} | SMALL)
    plain = train_quietly(text.split("<|end|>"), {"vocab_size": 300} | SMALL)
    assert trained.special_tokens == ("<|end|>",)
    assert trained.core_strings == (*plain.core_strings, "<|end|>")
    assert (trained.prefixes, trained.suffixes) == (plain.prefixes, plain.suffixes)


@pytest.mark.parametrize(
    "options, words",
    [
        ({"vocab_size": 260}, ["260", "at least 261", "3 variations", "256 bytes"]),
        ({"vocab_size": 261, "special_tokens": ["x"]}, ["at least 262", "1 special tokens"]),
        ({"vocab_size": 262, "prefixes": ["", " ", "x"]}, ["at least 263", "3 prefixes"]),
        ({"vocab_size": 3.5}, ["vocab_size", "whole number", "3.5"]),
        ({"vocab_size": 300, "min_char_freq": -1}, ["min_char_freq", "-1"]),
        ({"vocab_size": 300, "n_prefix": True}, ["n_prefix", "True"]),
        ({"vocab_size": 300, "n_prefix": 3, "prefixes": [""]}, ["prefixes", "n_prefix"]),
        ({"vocab_size": 300, "prefixes": [" "]}, ["prefixes", "row 0"]),
        ({"vocab_size": 300, "special_tokens": "x"}, ["special_tokens", "list"]),
        ({"vocab_size": 300, "punct_to_next": True, "suffixes": ["", ","]}, ["punct_to_next"]),
    ],
)
def test_options__refuse_what_cannot_be(options: dict[str, Any], words: list[str]) -> None:
    """Truth: the rules of TrainingOptions; the error says what was found and what is allowed."""
    with pytest.raises(ArgumentError) as caught:
        TrainingOptions(**options)
    assert [word for word in words if word not in str(caught.value)] == []


def test_train_combinatorial__says_when_affixes_leave_no_room_for_bytes() -> None:
    """Truth: 3 variations, 4 prefixes, 1 suffix and 256 bytes are 264 rows."""
    text = 'a "b (c d ' * 20
    options = {"n_prefix": 3, "n_suffix": 0, "min_char_freq": 1}
    assert train_quietly([text], options | {"vocab_size": 264}).n_cores == 256
    with pytest.raises(ArgumentError, match="263.*4 prefixes.*leave 255"):
        train_quietly([text], options | {"vocab_size": 263})


def test_train_combinatorial__warns_of_a_small_text_and_stays_in_its_budget() -> None:
    """Truth: the text has few pairs; and no process fits into a megabyte."""
    with pytest.warns(StoppedEarlyWarning, match="400 rows"):
        trained = train_combinatorial(["ab ab ab"], 400, min_char_freq=1, **QUIET)
    assert trained.merges == (("a", "b"),)
    with pytest.raises(BudgetError, match="memory="):
        train_combinatorial(["ab ab ab"], 400, memory=1 << 20, **QUIET)

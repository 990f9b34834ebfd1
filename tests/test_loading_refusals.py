"""tokenizer.json: merges and ids as files have them, and what is refused by name."""

import json
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from tokenizers import pre_tokenizers

import numbpe
from numbpe.errors import FormatError
from numbpe.sample_texts import SAMPLE_TEXTS


def train_gpt2_like() -> dict[str, Any]:
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=600,
        show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    tokenizer.train_from_iterator(SAMPLE_TEXTS[1:60], trainer)
    return json.loads(tokenizer.to_str())  # type: ignore[no-any-return]


@pytest.mark.parametrize("form", ["string", "list", "mixed"])
def test_load__reads_merges_in_both_forms(form: str, tmp_path: Path) -> None:
    """Truth: the same model; case 81; the mixed form, which tokenizers 0.23.3 refuses, too."""
    document = train_gpt2_like()
    other = tokenizers.Tokenizer.from_str(json.dumps(document))
    merges = document["model"]["merges"]
    document["model"]["merges"] = [
        " ".join(merge) if form == "string" or (form == "mixed" and rank % 3 == 0) else merge
        for rank, merge in enumerate(merges)
    ]
    path = tmp_path / "model.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    ours = numbpe.load(path)
    assert ours.vocabulary.n_merges == len(merges)
    for text in SAMPLE_TEXTS[:200]:
        assert ours.encode(text).tolist() == other.encode(text).ids


def write_model(folder: Path, **model: Any) -> Path:
    document = {"model": {"type": "BPE", **model}, "added_tokens": [], "pre_tokenizer": None}
    path = folder / "model.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


@pytest.mark.parametrize("ignore_merges, expected", [(True, [3]), (False, [4, 2])])
def test_load__reads_ignore_merges(
    ignore_merges: bool, expected: list[int], tmp_path: Path
) -> None:
    """Truth: case 32, checked with tokenizers 0.23.3."""
    vocab = {"a": 0, "b": 1, "c": 2, "abc": 3, "ab": 4}
    path = write_model(tmp_path, vocab=vocab, merges=["a b"], ignore_merges=ignore_merges)
    assert tokenizers.Tokenizer.from_file(str(path)).encode("abc").ids == expected
    assert numbpe.load(path).encode("abc").tolist() == expected


def test_load__lets_the_last_of_equal_merges_win(tmp_path: Path) -> None:
    """Truth: tokenizers 0.23.3; the list keeps all, as the file has them."""
    vocab = {"a": 0, "b": 1, "c": 2, "ab": 3, "bc": 4}
    path = write_model(tmp_path, vocab=vocab, merges=["a b", "b c", "a b"])
    assert tokenizers.Tokenizer.from_file(str(path)).encode("abc").ids == [0, 4]
    ours = numbpe.load(path)
    assert ours.encode("abc").tolist() == [0, 4]
    assert ours.vocabulary.n_merges == 3


def test_load__keeps_ids_with_holes(tmp_path: Path) -> None:
    """Truth: the file; tokenizers gives the added token another id, and we do not."""
    path = write_model(tmp_path, vocab={"a": 5, "b": 9, "ab": 7}, merges=[["a", "b"]])
    document = json.loads(path.read_text(encoding="utf-8"))
    document["added_tokens"] = [{"id": 1000, "content": "<s>", "special": True}]
    path.write_text(json.dumps(document), encoding="utf-8")
    ours = numbpe.load(path)
    assert ours.encode("ab<s>a").tolist() == [7, 1000, 5]
    assert ours.vocab == {5: b"a", 7: b"ab", 9: b"b", 1000: b"<s>"}


def test_load__counts_a_token_once_that_stands_twice(tmp_path: Path) -> None:
    """Truth: case 69: one id, one token."""
    path = write_model(tmp_path, vocab={"a": 0, "<s>": 1}, merges=[])
    document = json.loads(path.read_text(encoding="utf-8"))
    document["added_tokens"] = [{"id": 1, "content": "<s>", "special": True}]
    path.write_text(json.dumps(document), encoding="utf-8")
    assert numbpe.load(path).vocab_size == 2


REFUSED_STEPS = [
    ("pre_tokenizer", {"type": "Whitespace"}, "'Whitespace' drops white space"),
    ("pre_tokenizer", {"type": "CharDelimiterSplit", "delimiter": "x"}, "CharDelimiterSplit"),
    ("pre_tokenizer", {"type": "UnicodeScripts"}, "no pre-tokenizer 'UnicodeScripts'"),
    (
        "pre_tokenizer",
        {"type": "Split", "pattern": {"String": " "}, "behavior": "Removed", "invert": False},
        "Removed drops what it finds",
    ),
    (
        "pre_tokenizer",
        {"type": "Split", "pattern": {"Regex": r"\w+"}, "behavior": "Removed", "invert": True},
        "cannot be proved",
    ),
    (
        "pre_tokenizer",
        {"type": "Split", "pattern": {"Regex": r"(?<=a)b"}, "behavior": "Isolated"},
        "look-behind",
    ),
    (
        "pre_tokenizer",
        {"type": "Split", "pattern": {"Regex": r"(?i:ss)"}, "behavior": "Isolated"},
        "without regard to case",
    ),
    (
        "pre_tokenizer",
        {"type": "Split", "pattern": {"Regex": r"a*"}, "behavior": "Isolated"},
        "a match of the empty string",
    ),
    (
        "pre_tokenizer",
        {
            "type": "Sequence",
            "pretokenizers": [
                {"type": "ByteLevel", "add_prefix_space": False},
                {"type": "Split", "pattern": {"Regex": r"\p{L}"}, "behavior": "Isolated"},
            ],
        },
        r"pretokenizers\[1\].*behind ByteLevel",
    ),
    ("normalizer", {"type": "BertNormalizer"}, "no normalizer 'BertNormalizer'"),
    ("normalizer", {"type": "Precompiled", "precompiled_charsmap": ""}, "Precompiled"),
    ("post_processor", {"type": "Other"}, "no post-processor 'Other'"),
    ("decoder", {"type": "WordPiece", "prefix": "##"}, "no decoder 'WordPiece'"),
    ("model", {"type": "Unigram", "vocab": []}, "numbpe reads BPE models; this is a Unigram model"),
    ("model", {"type": "WordPiece", "vocab": {}}, "this is a WordPiece model"),
    (
        "model",
        {"vocab": {"a": 0}, "merges": [], "dropout": 0.1},
        "dropout 0.1 gives other ids.*set it to null",
    ),
    (
        "model",
        {"vocab": {"a": 0}, "merges": [], "end_of_word_suffix": "</w>"},
        "no end_of_word_suffix; the file has '</w>'",
    ),
]


@pytest.mark.parametrize("key, step, message", REFUSED_STEPS)
def test_load__refuses_by_name_what_it_cannot_do(
    key: str, step: dict[str, Any], message: str, tmp_path: Path
) -> None:
    """Truth: the message, which names the file, the place and the kind."""
    path = write_model(tmp_path, vocab={"a": 0}, merges=[])
    document = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(document | {key: step}), encoding="utf-8")
    with pytest.raises(FormatError, match=f"model.json.* at {key}.*{message}"):
        numbpe.load(path)

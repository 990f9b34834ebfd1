"""The tables of Combinatorial BPE: what they may hold, and their files."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from numbpe.combinatorial.definition import (
    CharacterTable,
    CharacterVocabulary,
    CombinatorialVocabulary,
)
from numbpe.combinatorial.formats import (
    read_vocabulary,
    write_reference_file,
    write_vocabulary,
)
from numbpe.errors import ArgumentError, FormatError

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data" / "combinatorial"
NAMES = ("default", "camel", "han", "noaffix", "nofold", "std_gpt2", "std_cl100k")

SMALL: dict[str, Any] = {
    "prefixes": ("", " "),
    "suffixes": ("", ",", "."),
    "alphabet": ("a", "b", "\u00df"),
    "merges": (("a", "b"), ("b", "a"), ("ab", "a"), ("a", "ba")),
}


def make_small(**changes: Any) -> CombinatorialVocabulary:
    return CombinatorialVocabulary(**(SMALL | changes))


def test_sizes__count_the_rows_of_each_table() -> None:
    """Truth: variations + prefixes + (256 + alphabet + merges + special tokens) + suffixes."""
    vocabulary = make_small(special_tokens=("<|end|>",))
    assert vocabulary.sizes == {"variation": 3, "prefix": 2, "core": 256 + 3 + 4 + 1, "suffix": 3}
    assert vocabulary.vocab_size == 3 + 2 + 264 + 3
    assert make_small(fold_case=False).n_var == 1
    assert make_small(fold_case=False, fold_han=True).n_var == 4
    assert vocabulary.special_token_ids == {"<|end|>": 263}


def test_core_ids__are_those_of_the_first_merge_that_makes_a_string() -> None:
    """Truth: 256 bytes, the alphabet, then merges; "aba" is made by two, and the first counts."""
    vocabulary = make_small(special_tokens=("a",))
    assert vocabulary.core_strings[256:] == ("a", "b", "\u00df", "ab", "ba", "aba", "aba", "a")
    assert vocabulary.core_ids == {
        "a": 256,
        "b": 257,
        "\u00df": 258,
        "ab": 259,
        "ba": 260,
        "aba": 261,
    }


@pytest.mark.parametrize(
    "changes, words",
    [
        ({"prefixes": (" ", "")}, ["prefixes", "row 0", "' '"]),
        ({"suffixes": ()}, ["suffixes", "row 0", "nothing"]),
        ({"suffixes": ("", ",", ",")}, ["suffixes", "row 2", "row 1"]),
        ({"prefixes": " "}, ["prefixes", "list"]),
        ({"prefixes": ("", "\ud800")}, ["prefixes[1]", "surrogate"]),
        ({"alphabet": ("a", "bc")}, ["alphabet[1]", "'bc'", "one character"]),
        ({"alphabet": ("a", "b", "a")}, ["alphabet[2]", "already"]),
        ({"alphabet": ("a", "b", "\udfff")}, ["alphabet[2]", "surrogate"]),
        ({"merges": (("a", "b"), ("ab", "c"))}, ["merges[1]", "'c'", "earlier merge"]),
        ({"merges": (("ab", "a"), ("a", "b"))}, ["merges[0]", "'ab'"]),
        ({"merges": (("a",),)}, ["merges[0]", "two strings"]),
        ({"merge_counts": (3, 2)}, ["2 merge_counts", "4 merges"]),
        ({"special_tokens": ("x", "x")}, ["special", "twice"]),
    ],
)
def test_vocabulary__refuses_what_cannot_be_used(changes: dict[str, Any], words: list[str]) -> None:
    """Truth: the rules of CombinatorialVocabulary; the error names the place and what is there."""
    with pytest.raises(ArgumentError) as caught:
        make_small(**changes)
    assert [word for word in words if word not in str(caught.value)] == []


def test_character_vocabulary__refuses_other_patterns() -> None:
    """Truth: the baselines have two patterns."""
    with pytest.raises(ArgumentError, match="'o200k'.*'gpt2', 'cl100k'"):
        CharacterVocabulary(alphabet=("a",), pattern="o200k")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "vocabulary",
    [
        make_small(),
        make_small(merge_counts=(4, 3, 2, 1), special_tokens=("<|end|>", "\u4e2d"), fold_han=True),
        make_small(fold_case=False, punct_to_next=True, split_camel=True),
        CharacterVocabulary(alphabet=("a", "\u2028"), merges=(("a", "a"),), pattern="cl100k"),
    ],
)
def test_files__give_back_what_was_written(
    vocabulary: CombinatorialVocabulary | CharacterVocabulary, tmp_path: Path
) -> None:
    """Truth: the vocabulary itself."""
    write_vocabulary(vocabulary, tmp_path / "own.json")
    assert read_vocabulary(tmp_path / "own.json") == vocabulary
    without = dataclasses.replace(vocabulary, special_tokens=())
    write_reference_file(without, tmp_path / "reference.json")
    assert read_vocabulary(tmp_path / "reference.json") == without


def test_write_reference_file__refuses_special_tokens(tmp_path: Path) -> None:
    """Truth: the format of the reference has no place for them."""
    with pytest.raises(ArgumentError, match="special tokens"):
        write_reference_file(make_small(special_tokens=("<|end|>",)), tmp_path / "x.json")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "changes, words",
    [
        ({"version": 2}, ["version 2", "version 1"]),
        ({"format": "other"}, ["format", "'other'"]),
        ({"unicode_version": "19"}, ["Unicode '19'"]),
        ({"type": "unrestricted"}, ["unrestricted", "another algorithm"]),
        ({"type": None}, ["'type' is missing"]),
        ({"prefixes": None}, ["'prefixes' is missing"]),
        ({"prefixes": ["x"]}, ["row 0"]),
        ({"prefixes": ["", 3]}, ["prefixes[1]", "a string"]),
        ({"merges": [["a", "b"], ["a"]]}, ["merges[1]", "two strings"]),
        ({"merges": None}, ["'merges' is missing"]),
        ({"merge_counts": [1]}, ["1 merge_counts"]),
        ({"fold_case": 1}, ["true or false"]),
        ({"letter_suffixes": ["ing"]}, ["letter_suffixes"]),
        ({"type": "standard"}, ["'pattern' is missing"]),
        ({"type": "standard", "pattern": "o200k"}, ["'o200k'", "'gpt2'"]),
    ],
)
def test_read_vocabulary__names_file_and_place(
    changes: dict[str, Any], words: list[str], tmp_path: Path
) -> None:
    """Truth: the formats; each file differs from a good one in one member."""
    write_vocabulary(make_small(), tmp_path / "good.json")
    members = json.loads((tmp_path / "good.json").read_text(encoding="utf-8")) | changes
    path = tmp_path / "bad.json"
    path.write_text(json.dumps({k: v for k, v in members.items() if v is not None}))
    with pytest.raises(FormatError) as caught:
        read_vocabulary(path)
    assert [word for word in ["bad.json", *words] if word not in str(caught.value)] == []


def test_read_vocabulary__fills_in_what_older_files_leave_out(tmp_path: Path) -> None:
    """Truth: the reference's loader; an early file has prefixes, suffixes, alphabet and merges."""
    path = tmp_path / "old.json"
    members = {"type": "combinatorial"} | SMALL
    path.write_text(json.dumps(members))
    assert read_vocabulary(path) == make_small()


@pytest.mark.skipif(not SHARED.is_dir(), reason="the files of the reference are not here")
@pytest.mark.parametrize("name", NAMES)
def test_write_reference_file__writes_what_the_reference_wrote(name: str, tmp_path: Path) -> None:
    """Truth: a file that the reference implementation wrote, byte for byte."""
    path = SHARED / f"{name}.json"
    write_reference_file(read_vocabulary(path), tmp_path / "out.json")
    assert (tmp_path / "out.json").read_bytes() == path.read_bytes()


def test_character_table__never_changes() -> None:
    """Truth: the promise of the class, which lets tokenizers share it."""
    with pytest.raises(dataclasses.FrozenInstanceError):
        make_small().alphabet = ()  # type: ignore[misc]
    assert hash(CharacterTable(("a",))) == hash(CharacterTable(("a",)))

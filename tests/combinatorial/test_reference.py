"""The specification of Combinatorial BPE, held to what the reference implementation gave."""

import json
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from numbpe.combinatorial.definition import CharacterVocabulary, CombinatorialVocabulary
from numbpe.combinatorial.folding import (
    TRADITIONAL,
    UPPER_CASE,
    load_case_mappings,
    load_folding,
    load_traditional_forms,
)
from numbpe.combinatorial.formats import read_vocabulary
from numbpe.combinatorial.reference import (
    Folder,
    ReferenceTokenizer,
    encode_standard,
    merge_everywhere,
    split_camel_case,
    split_units,
)
from numbpe.unicode_tables import load_unicode_tables

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data" / "combinatorial"
NAMES = ("default", "camel", "han", "noaffix", "nofold")


def load_shared(name: str) -> tuple[Any, list[tuple[str, Any]]]:
    if not SHARED.is_dir():
        pytest.skip("the files of the reference are not here")
    encodings = json.loads((SHARED / f"{name}.enc.json").read_text(encoding="utf-8"))
    return read_vocabulary(SHARED / f"{name}.json"), encodings


@pytest.mark.parametrize("name", NAMES)
def test_encode__equals_the_reference(name: str) -> None:
    """Truth: rows that the reference implementation gave."""
    vocabulary, encodings = load_shared(name)
    assert isinstance(vocabulary, CombinatorialVocabulary)
    tokenizer = ReferenceTokenizer(vocabulary)
    for text, rows in encodings:
        assert [list(row) for row in tokenizer.encode(text)] == rows, text
        assert tokenizer.decode_bytes(rows).decode() == text


@pytest.mark.parametrize("name", ["std_gpt2", "std_cl100k"])
def test_encode_standard__equals_the_reference(name: str) -> None:
    """Truth: ids that the reference implementation gave."""
    vocabulary, encodings = load_shared(name)
    assert isinstance(vocabulary, CharacterVocabulary)
    for text, ids in encodings:
        assert encode_standard(vocabulary, text) == ids, text


def test_folding__has_the_documented_size_and_is_exact() -> None:
    """Truth: Unicode 16.0 (1,460 letters with a lower case, 37 of which do not come back), and the
    3,883 and 3,836 characters of the reference's table."""
    lower, upper = load_case_mappings()
    cases, both = load_folding(True, False), load_folding(True, True)
    assert len(lower.sources) == 1460
    assert len(cases.sources) == 1460 - 37
    assert len(load_traditional_forms()) == 3883
    assert sum(load_folding(False, True).marks == TRADITIONAL) == 3836
    assert set(both.marks.tolist()) == {UPPER_CASE, TRADITIONAL}
    assert len(set(cases.targets.tolist())) == len(cases.targets)
    back = upper.to_dict()
    assert all(
        back[chr(target)] == chr(source)
        for source, target in zip(cases.sources.tolist(), cases.targets.tolist(), strict=True)
    )


def test_folding__agrees_with_python_where_it_knows_the_characters() -> None:
    """Truth: ``str.lower`` and ``str.upper`` of single characters that both know of."""
    unassigned = load_unicode_tables("16").find_property("Cn")
    assert unassigned is not None

    def is_known(text: str) -> bool:
        return all(unicodedata.category(c) != "Cn" and ord(c) not in unassigned for c in text)

    for mapping, change in zip(load_case_mappings(), (str.lower, str.upper), strict=True):
        ours = mapping.to_dict()
        changes = {c: change(c) for c in map(chr, range(0x20000)) if change(c) != c}
        assert len(ours) >= 1400
        for character in {**ours, **changes}:
            mapped, expected = ours.get(character, character), change(character)
            if is_known(character + mapped + expected):
                assert mapped == expected


@pytest.mark.parametrize(
    "character", ["\u0130", "\u01c5", "\u1e9e", "\u212a", "\u2126", "\u03f4", "\u1f88"]
)
def test_folding__leaves_alone_what_would_not_come_back(character: str) -> None:
    """Truth: the rule; each of these has a lower case, whose upper case is another character."""
    assert Folder(True, True).fold(character) == (character, [0])


@pytest.mark.parametrize(
    "piece, variation",
    [
        ("a", 0), ("A", 1), ("Ab", 1), ("AB", 2), ("aB", None), ("ABc", None),
        ("\u0395\u03a3", 2), ("E\u0301", 1), ("E\u0301A", None), ("\u81fa\u7063", 3),
        ("\u53f0\u7063", None), ("A\u7063", None), ("\u2160", 1), ("\u2160\u2161", 2),
    ],
)  # fmt: skip
def test_find_variation__follows_the_rules_in_order(piece: str, variation: int | None) -> None:
    """Truth: the rules of variations, worked out by hand."""
    folder = Folder(True, True)
    folded, marks = folder.fold(piece)
    assert folder.find_variation(folded, marks) == variation
    if variation is not None:
        assert folder.apply(variation, folded) == piece


def test_units__hold_each_character_once() -> None:
    """Truth: cut by hand; numbers and letters part, and white space goes to what follows."""
    text = '\t"It\'s 3rd," x_y...\n\n'
    units = [tuple(unit) for unit in split_units(text)]
    assert units == [
        ('\t"', "It", "'"), ("", "s", ""), (" ", "3", ""), ("", "rd", ',"'), (" ", "x", "_"),
        ("", "y", "..."), ("\n\n", "", ""),
    ]  # fmt: skip
    assert "".join("".join(unit) for unit in split_units(text, punct_to_next=True)) == text


def test_split_camel_case__cuts_between_small_and_capital() -> None:
    """Truth: examples of the reference."""
    assert split_camel_case("getHTTPServerID") == ["get", "HTTP", "Server", "ID"]
    assert split_camel_case("userIDs") == ["user", "I", "Ds"]


def test_merge_everywhere__does_not_overlap() -> None:
    """Truth: from the left, and what was just made is not merged again in the same pass."""
    assert merge_everywhere(list("aaaaa"), ("a", "a")) == ["aa", "aa", "a"]
    assert merge_everywhere(["aa", "aa", "a", "a"], ("aa", "aa")) == ["aaaa", "a", "a"]
    assert merge_everywhere(["b", "ab", "b"], ("b", "ab")) == ["bab", "b"]

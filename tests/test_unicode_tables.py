"""The shipped tables of Unicode, and sets of code points."""

import itertools
import random
import unicodedata

import numpy as np
import pytest
import tokenizers
from tokenizers import pre_tokenizers

from numbpe.code_point_sets import (
    END_OF_CODE_POINTS,
    EVERY_CODE_POINT,
    NO_CODE_POINT,
    CodePointSet,
    partition_code_points,
)
from numbpe.errors import ArgumentError
from numbpe.patterns import compile_pattern
from numbpe.unicode_tables import UNICODE_VERSIONS, UnicodeTables, load_unicode_tables

GROUPS = ("Lu", "Ll", "Lt", "Lm", "Lo", "M", "N", "P", "S", "Z", "C")

# Characters whose category was corrected after they had been assigned.
CORRECTED = {0x0295, 0x1171E}


@pytest.fixture(params=UNICODE_VERSIONS)
def tables(request: pytest.FixtureRequest) -> UnicodeTables:
    return load_unicode_tables(request.param)


@pytest.mark.parametrize(
    ("version", "n_letters", "n_numbers"), [("16", 141_028, 1_911), ("17", 145_672, 1_924)]
)
def test_tables__have_the_sizes_of_their_version(
    version: str, n_letters: int, n_numbers: int
) -> None:
    """Truth: the Unicode Character Database, counted for tokenizers, tiktoken and gigatoken."""
    tables = load_unicode_tables(version)
    letters, numbers = tables.find_property("L"), tables.find_property("N")
    assert letters is not None
    assert numbers is not None
    assert (len(letters), len(numbers), len(tables.white_space)) == (n_letters, n_numbers, 25)


def test_white_space__is_the_property_not_isspace(tables: UnicodeTables) -> None:
    """Truth: PropList.txt; str.isspace has four control characters more."""
    spaces = {ord(letter) for letter in map(chr, range(0x3001)) if letter.isspace()}
    expected = CodePointSet.from_code_points(spaces - {0x1C, 0x1D, 0x1E, 0x1F})
    assert tables.white_space.key == expected.key


def test_categories__agree_with_python_where_it_knows_the_character(tables: UnicodeTables) -> None:
    """Truth: unicodedata of the running Python, whatever its version, on characters it has."""
    if int(unicodedata.unidata_version.partition(".")[0]) > int(tables.version):
        pytest.skip("the running Python has a newer Unicode")
    code_points = range(END_OF_CODE_POINTS)
    expected = np.array([unicodedata.category(chr(code_point)) for code_point in code_points])
    for category in np.unique(expected[expected != "Cn"]):
        members = tables.find_property(str(category))
        assert members is not None
        actual = members.contains_each(np.arange(END_OF_CODE_POINTS))
        differing = np.flatnonzero((actual != (expected == category)) & (expected != "Cn"))
        assert set(differing.tolist()) <= CORRECTED


def test_categories__cover_every_code_point_once(tables: UnicodeTables) -> None:
    """Truth: the definition of General_Category."""
    sets = [tables.find_property(group) for group in GROUPS]
    assert sum(len(members) for members in sets if members is not None) == END_OF_CODE_POINTS


def test_folding__agrees_with_casefold(tables: UnicodeTables) -> None:
    """Truth: str.casefold of the running Python, on all characters of plane 0 where it is one."""
    by_folding: dict[str, set[int]] = {}
    for letter in map(chr, range(0xD800)):
        if len(letter.casefold()) == 1 and unicodedata.category(letter) != "Cn":
            by_folding.setdefault(letter.casefold(), set()).add(ord(letter))
    several = [members for members in by_folding.values() if len(members) > 1]
    assert len(several) > 1000
    for members in several:
        closed = tables.close_under_case(CodePointSet.from_code_points([min(members)]))
        assert all(code_point in closed for code_point in members)
        assert len(closed) - len(members) <= 1  # U+1E9E folds to more than one character in full.


@pytest.mark.parametrize(
    ("letter", "expected"),
    [
        ("s", "Ss\u017f"),
        ("k", "Kk\u212a"),
        ("\u017f", "Ss\u017f"),
        ("t", "Tt"),
        ("i", "Ii"),
        ("1", "1"),
    ],
)
def test_close_under_case__is_the_simple_folding(
    tables: UnicodeTables, letter: str, expected: str
) -> None:
    """Truth: CaseFolding.txt, statuses C and S."""
    closed = tables.close_under_case(CodePointSet.from_code_points([ord(letter)]))
    assert closed.key == CodePointSet.from_code_points(map(ord, expected)).key


@pytest.mark.parametrize(
    ("name", "same_as"),
    [
        ("Letter", "L"),
        ("gc=L", "L"),
        ("General_Category=Uppercase Letter", "Lu"),
        ("lowercase-letter", "Ll"),
        ("L&", "LC"),
        ("Script=Han", "Han"),
        ("sc=han", "Han"),
        ("punct", "P"),
        ("White_Space", "space"),
    ],
)
def test_find_property__knows_other_names(tables: UnicodeTables, name: str, same_as: str) -> None:
    """Truth: PropertyValueAliases.txt and the loose matching of Unicode Annex 44."""
    actual, expected = tables.find_property(name), tables.find_property(same_as)
    assert actual is not None
    assert expected is not None
    assert actual.key == expected.key


@pytest.mark.parametrize("name", ["Nonsense", "sc=L", "gc=Han", "Script_Extensions=Han", ""])
def test_find_property__is_none_for_what_it_does_not_know(tables: UnicodeTables, name: str) -> None:
    """Truth: its docstring."""
    assert tables.find_property(name) is None


def test_load_unicode_tables__says_which_versions_there_are() -> None:
    """Truth: the message."""
    with pytest.raises(ArgumentError, match="'15' is not shipped; pass unicode_version=\"16\" or"):
        load_unicode_tables("15")


def test_classes__are_those_of_tokenizers() -> None:
    """Truth: tokenizers 0.23.3 on all code points at once, in runs of one class."""
    pattern = "|".join(rf"\p{{{group}}}+" for group in ("Lu", "Ll", "Lt", "Lm", "Lo", "M", "N"))
    pattern = rf"\s+|{pattern}|\p{{P}}+|\p{{S}}+"
    text = "".join(chr(code) for code in range(END_OF_CODE_POINTS) if not 0xD800 <= code < 0xE000)
    splitter = pre_tokenizers.Split(tokenizers.Regex(pattern), "isolated")
    expected = [piece for piece, _ in splitter.pre_tokenize_str(text)]
    actual = [piece.decode() for piece in compile_pattern(pattern).split(text.encode())]
    assert actual == expected


# Sets of code points


def test_code_point_sets__are_sets() -> None:
    """Truth: Python's own sets, on 200 seeded pairs."""
    random_source = random.Random(2)
    for _ in range(200):
        members = [
            {random_source.randrange(12) for _ in range(random_source.randrange(8))} for _ in "ab"
        ]
        left, right = (CodePointSet.from_code_points(part) for part in members)
        for actual, expected in [
            (left | right, members[0] | members[1]),
            (left & right, members[0] & members[1]),
            (left - right, members[0] - members[1]),
        ]:
            assert actual.key == CodePointSet.from_code_points(expected).key
            assert len(actual) == len(expected)
            assert all((code in actual) == (code in expected) for code in range(13))
        assert (~~left).key == left.key
        assert len(~left) == END_OF_CODE_POINTS - len(left)


def test_code_point_sets__bounds_are_in_order_and_apart() -> None:
    """Truth: the invariant that its docstring states."""
    joined = CodePointSet.from_intervals([(5, 9), (1, 2), (3, 3), (8, 12), (20, 20)])
    assert joined.bounds.tolist() == [1, 4, 5, 13, 20, 21]
    assert (~NO_CODE_POINT).key == EVERY_CODE_POINT.key
    assert (~EVERY_CODE_POINT).key == NO_CODE_POINT.key


def test_partition__tells_apart_what_the_sets_tell_apart() -> None:
    """Truth: membership of each code point in each set, one by one."""
    random_source = random.Random(3)
    sets = [
        CodePointSet.from_code_points(random_source.sample(range(40), random_source.randrange(30)))
        for _ in range(5)
    ]
    starts, classes, membership = partition_code_points(sets)
    class_of = np.repeat(classes, np.diff(starts, append=np.int32(END_OF_CODE_POINTS)))
    assert len(set(map(bytes, membership))) == len(membership)
    for code_point, (number, members) in itertools.product(range(41), enumerate(sets)):
        assert membership[class_of[code_point], number] == (code_point in members)

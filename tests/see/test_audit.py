"""``numbpe audit``: rows that spell a word again, rows that are never given, and bad input."""

import json
import lzma
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

import numbpe
from numbpe.combinatorial.definition import CombinatorialVocabulary
from numbpe.combinatorial.tokenizer import CombinatorialTokenizer
from numbpe.see.audit import audit
from numbpe.see.reachability import find_unreachable
from numbpe.see.spellings import KINDS, Spelling, audit_spellings, find_kind
from numbpe.see.subjects import as_subject
from numbpe.see.usage import count_text, count_tokens
from numbpe.tokenizer import Tokenizer

Run = Callable[..., int]

BYTES = {byte: bytes([byte]) for byte in range(256)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the", ("the", "bare")),
        (" the", ("the", "space")),
        ("The", ("the", "Capitalised")),
        (" The", ("the", "space Capitalised")),
        ("THE", ("the", "UPPER")),
        (" THE", ("the", "space UPPER")),
        (" I", ("i", "space Capitalised")),  # one capital letter
        ("\u4e2d\u6587", ("\u4e2d\u6587", "bare")),  # no case
        ("\u0416", ("\u0436", "Capitalised")),
        ("  the", None),
        ("McC", None),
        ("it's", None),
        ("a1", None),
        ("", None),
        (" ", None),
        ("\u0130", None),  # capital dotted i: two characters in lower case
        ("\u01c5", None),  # title case of a digraph: upper case of its lower case is another
        ("\u212a", None),  # the sign of Kelvin is a k in lower case, and K again in upper case
        ("\u1e9e", None),  # capital sharp s: becomes SS
        ("\ufb01", ("\ufb01", "bare")),  # a ligature is lower case as it stands
    ],
)
def test_find_kind__takes_what_case_makes_again(text: str, expected: object) -> None:
    """Truth: the rule in the module's docstring, by hand."""
    assert find_kind(text) == expected


def test_find_kind__can_be_undone(tokenizer: Tokenizer) -> None:
    """Truth: property: the word and the kind spell the row again."""
    spelled = {
        "": lambda word: word,
        "bare": lambda word: word,
        "Capitalised": lambda word: word[0].upper() + word[1:],
        "UPPER": str.upper,
    }
    n_found = 0
    for content in tokenizer.vocab.values():
        text = content.decode("utf-8", "replace")
        found = find_kind(text)
        if found is not None:
            word, kind = found
            case = kind.removeprefix("space").strip()
            n_found += 1
            assert " " * kind.startswith("space") + spelled[case](word) == text
    assert n_found > 400


def test_audit_spellings__counts_rows_and_words() -> None:
    """Truth: counted by hand."""
    rows = [b"the", b" the", b" The", b"THE", b"a", b" a", b"McC", b" McC", b"iOS", b"1", b"\xc3"]
    found = audit_spellings(enumerate(rows))
    assert (found.n_rows, len(found.families), found.rows_saved) == (6, 2, 4)
    assert (found.n_mixed_case, found.n_mixed_case_saved) == (3, 1)
    assert [family.word for family in found.repeated] == ["the", "a"]
    assert found.families[0].spellings[2] == Spelling("space Capitalised", 2)
    counted = found.count_kinds()
    assert counted["space"] == (2, 2)
    assert counted["bare"] == (2, 0)
    assert sum(saved for _, saved in counted.values()) == found.rows_saved


@pytest.mark.parametrize(
    ("name", "rows_saved", "share", "with_mixed_case"),
    [
        ("gpt2", 16_302, 0.3244, None),
        ("llama3_1", 31_285, 0.2439, 31_977),
        ("qwen3", 29_401, 0.1938, None),
    ],
)
def test_audit__gives_the_reported_figures(
    shared_data: Path,
    name: str,
    rows_saved: int,
    share: float,
    with_mixed_case: int | None,
    tmp_path: Path,
) -> None:
    """Truth: 31,285 rows of Llama 3, and 19 to 32 % of the three, as reported elsewhere; the other
    numbers by a script of its own over the files."""
    path = tmp_path / "tokenizer.json"
    packed = shared_data / "tokenizers" / f"{name}.json.xz"
    path.write_bytes(lzma.decompress(packed.read_bytes()))
    contents = numbpe.load(path).vocab
    found = audit_spellings(contents)
    assert found.rows_saved == rows_saved
    assert round(found.rows_saved / len(contents), 4) == share
    if with_mixed_case is not None:
        assert found.rows_saved + found.n_mixed_case_saved == with_mixed_case


def test_unreachable__is_what_merging_or_the_pattern_never_gives() -> None:
    """Truth: by hand. "abc" needs "bc", which loses to "ab"; "a b" is two pieces."""
    merges = [(b"a", b"b"), (b"b", b"c"), (b"a", b"bc"), (b"a", b" "), (b"a ", b"b")]
    vocab = BYTES | {256 + i: left + right for i, (left, right) in enumerate(merges)}
    found = find_unreachable(Tokenizer(vocab, merges, ["<s>"]))
    assert found.by_merging == (258,)
    assert found.by_pattern == (259, 260)


def test_unreachable__agrees_with_encoding(tokenizer: Tokenizer) -> None:
    """Truth: Tokenizer.encode of each row that is text."""
    found = find_unreachable(tokenizer)
    for token_id, content in tokenizer.vocab.items():
        if token_id in tokenizer.special_tokens.values() or not _is_text(content):
            continue
        is_given = tokenizer.encode(content).tolist() == [token_id]
        assert is_given == (token_id not in (*found.by_merging, *found.by_pattern))


def _is_text(content: bytes) -> bool:
    return content.decode("utf-8", "ignore").encode() == content


def test_usage__is_counted_from_the_text(tokenizer: Tokenizer, tmp_path: Path) -> None:
    """Truth: Counter of Tokenizer.encode; a family's figures by hand from it."""
    path = tmp_path / "text.txt"
    text = "The cat and the dog. " * 30 + "and The"
    path.write_text(text, encoding="utf-8")
    subject = as_subject(tokenizer)
    usage = count_tokens(subject, [path])
    expected = Counter(tokenizer.encode(text).tolist())
    assert {i: n for i, n in enumerate(usage.counts.tolist()) if n} == dict(expected)
    assert (usage.n_characters, usage.n_bytes) == (len(text), len(text))
    found = audit(subject, usage=usage)
    special = set(tokenizer.special_tokens.values())
    assert set(found.never_used) == tokenizer.vocab.keys() - expected.keys() - special
    n_rare = 0
    for family in found.spellings.repeated:
        counts = sorted(expected[row.id] for row in family.spellings)
        n_rare += sum(count < 10 for count in counts[:-1])
    assert found.n_rare == n_rare > 0
    most = [sum(found.count_spellings(family)) for family in found.most_used]
    assert most == sorted(most, reverse=True)


def test_command__prints_the_figures(
    tokenizer_path: Path,
    tokenizer: Tokenizer,
    run: Run,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Truth: the audit of the library; parameters by multiplication."""
    text = tmp_path / "text.txt"
    text.write_bytes(b"The end, the END.\r\n")
    command = ["audit", tokenizer_path, "--text", text, "--width", 100]
    assert run(*command, "--json") == 0
    figures = json.loads(capsys.readouterr().out)
    found = audit_spellings(tokenizer.vocab)
    assert figures["rows_saved"] == found.rows_saved
    assert figures["parameters_saved"] == {
        "tied": 100 * found.rows_saved,
        "untied": 200 * found.rows_saved,
    }
    assert list(figures["kinds"]) == list(KINDS)
    assert figures["text"]["n_tokens"] == tokenizer.count("The end, the END.\r\n")
    assert run(*command, "--families", 1) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    for part in (f"{found.rows_saved:,} rows", "most used", "rare", "unused", "at width 100"):
        assert part in printed.out


@pytest.mark.parametrize(
    ("content", "arguments", "code", "part"),
    [
        (b"text", ["--width", "0"], 2, "--width must be 1 or more, not 0"),
        (b"text", ["--width", "-3"], 2, "--width must be 1 or more, not -3"),
        (b"", [], 1, "it is empty"),
        ("caf\u00e9".encode("latin-1"), [], 1, "at byte 3 is not UTF-8"),
        ("text".encode("utf-16"), [], 1, "begins like UTF-16"),
        (b"a" * (1 << 20) + b"\xe4\xb8", [], 1, "at byte 1048576 is not UTF-8"),
        (None, [], 1, "no such file"),
    ],
)
def test_bad_input__is_one_line(
    content: bytes | None,
    arguments: list[str],
    code: int,
    part: str,
    tokenizer_path: Path,
    run: Run,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Truth: the habit that an error says what was found and what is allowed."""
    text = tmp_path / "text.txt"
    if content is not None:
        text.write_bytes(content)
    assert run("audit", tokenizer_path, "--text", text, *arguments) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    (line,) = captured.err.splitlines()
    assert part in line


def test_what_is_no_tokenizer__is_refused(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Truth: the habit that an error names the file."""
    path = tmp_path / "notes.json"
    path.write_text('{"a": 1}')
    assert run("audit", path) == 1
    assert "notes.json" in capsys.readouterr().err


def test_cores__of_space_and_case_apart_spell_hardly_a_word_again(shared_data: Path) -> None:
    """Truth: the rule; tables of the reference implementation, and their encoding by the specification."""
    from numbpe.combinatorial.reference import ReferenceTokenizer

    tokenizer = CombinatorialTokenizer.load(shared_data / "combinatorial" / "english_8k.json")
    subject = as_subject(tokenizer)
    text = "The cat and THE hat, the end. " * 3
    found = audit(subject, usage=count_text(subject, text))
    assert found.n_rows == 8192
    assert found.spellings.n_rows > 6000
    assert found.share_saved < 0.001
    cores = Counter(core for _, _, core, _ in ReferenceTokenizer(tokenizer.vocabulary).encode(text))
    assert found.usage is not None
    assert {i: n for i, n in enumerate(found.usage.counts.tolist()) if n} == dict(cores)
    assert found.usage.n_tokens == tokenizer.count(text)


def test_cores__that_no_text_becomes_are_listed() -> None:
    """Truth: by hand: "The" and " the" are cores here; the second "the" is made anew, and what holds a
    capital is stored as small letters."""
    merges = (("t", "h"), ("th", "e"), ("T", "h"), ("Th", "e"), ("h", "e"), ("t", "he"))
    tables = CombinatorialVocabulary(
        prefixes=("", " "), suffixes=("",), alphabet=("T", "e", "h", "t"), merges=merges
    )
    found = audit(as_subject(CombinatorialTokenizer(tables)), width=10)
    again = [family.word for family in found.spellings.repeated]
    assert again == ["the", "t", "th"]
    assert found.spellings.rows_saved == 4
    assert found.parameters == {"tied": 40, "untied": 80}
    capital, first_merge, made_anew = 256, 256 + 4, 256 + 4 + 5
    assert found.unreachable.by_merging == (made_anew,)
    assert found.unreachable.by_pattern == (capital, first_merge + 2, first_merge + 3)

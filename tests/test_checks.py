"""The sanity checks find what they are there for."""

import numpy as np
import pytest

from numbpe.checks import check_round_trips, compare_runs, generate_documents, run_checks
from numbpe.tokenizer import Tokenizer
from numbpe.vocabulary import Vocabulary

MERGES = [(97, 98), (257 - 1, 99)]


def make_tokenizer(merges: list[tuple[int, int]] = MERGES, special: str = "<s>") -> Tokenizer:
    return Tokenizer.from_vocabulary(
        Vocabulary.from_training(
            merges, recipe="tiktoken", special_tokens=[special], pattern="gpt2"
        )
    )


def test_run_checks__passes_a_good_tokenizer() -> None:
    """Truth: hand-computed: "abc abc" is abc, a space, abc; "<s>" is one more."""
    for held_out in ("abc abc<s>", ["abc abc", "<s>"]):
        report = run_checks(make_tokenizer(), make_tokenizer, held_out)
        assert report.passed
        assert report.round_trip.failures == ()
        assert report.round_trip.n_documents >= 300
        assert (report.n_bytes, report.n_tokens) == (10, 4)
        assert report.bytes_per_token == 2.5
        assert report.second_run.n_merges == 2


def test_run_checks__without_held_out_text() -> None:
    """Truth: by definition, there is no ratio then."""
    report = run_checks(make_tokenizer(), make_tokenizer, [])
    assert report.passed
    assert report.bytes_per_token is None


def test_check_round_trips__finds_what_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """Truth: a tokenizer that drops the last id, by hand."""
    tokenizer = make_tokenizer()
    encode = tokenizer.encode
    monkeypatch.setattr(tokenizer, "encode", lambda text, special: encode(text, special)[:-1])
    report = check_round_trips(tokenizer, ["", "a", "b", *"cdefgh"])
    assert not report.passed
    assert (report.n_documents, report.n_failed) == (9, 8)
    assert report.failures == ("a", "b", "c", "d", "e")


@pytest.mark.parametrize(
    "merges, special, first_difference, same_vocabulary",
    [
        (MERGES, "<s>", None, True),
        ([(97, 98), (98, 99)], "<s>", 1, False),
        (MERGES[:1], "<s>", 1, False),
        ([*MERGES, (120, 121)], "<s>", 2, False),
        (MERGES, "<t>", None, False),
    ],
)
def test_compare_runs__finds_the_first_difference(
    merges: list[tuple[int, int]],
    special: str,
    first_difference: int | None,
    same_vocabulary: bool,
) -> None:
    """Truth: hand-computed."""
    report = compare_runs(make_tokenizer(), make_tokenizer(merges, special))
    assert report.first_difference == first_difference
    assert report.same_vocabulary is same_vocabulary
    assert report.passed is (first_difference is None and same_vocabulary)


def test_generate_documents__is_seeded_and_varied() -> None:
    """Truth: by definition: emoji, other scripts, special tokens, the same in every run."""
    documents = list(generate_documents(["<s>"]))
    assert documents == list(generate_documents(["<s>"]))
    assert documents[0] == ""
    joined = "".join(documents)
    assert all(part in joined for part in ("\U0001f600", "\u200d", "<s>", "\0", "\r\n"))
    points = np.array([ord(letter) for letter in joined])
    for first, last in [(0x400, 0x4FF), (0x600, 0x6FF), (0x900, 0x97F), (0x4E00, 0x9FFF)]:
        assert ((points >= first) & (points <= last)).any()
    joined.encode()

"""The sanity checks of a freshly trained tokenizer, as data; how they read is up to the caller."""

import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from numbpe.tokenizer import Tokenizer

N_RANDOM_DOCUMENTS: Final = 300
_SEED: Final = 20_240_229
_MAX_FAILURES: Final = 5

# Letters of many scripts with their marks, as (first, last) code points.
_SCRIPTS: Final = (
    (0x20, 0x7E),  # ASCII
    (0xC0, 0x17F),  # Latin with accents
    (0x370, 0x3FF),  # Greek
    (0x400, 0x4FF),  # Cyrillic
    (0x531, 0x58F),  # Armenian
    (0x591, 0x5F4),  # Hebrew
    (0x600, 0x6FF),  # Arabic
    (0x900, 0x97F),  # Devanagari
    (0x980, 0x9FF),  # Bengali
    (0xB80, 0xBFF),  # Tamil
    (0xE01, 0xE5B),  # Thai
    (0x10A0, 0x10FF),  # Georgian
    (0x1200, 0x137F),  # Ethiopic
    (0x3041, 0x30FF),  # Hiragana and Katakana
    (0x4E00, 0x9FFF),  # Han
    (0xAC00, 0xD7A3),  # Hangul
    (0x1D400, 0x1D7FF),  # mathematical letters, outside the basic plane
    (0x20000, 0x2A6DF),  # rare Han
)
_EMOJI: Final = (
    "\U0001f600",
    "\U0001f44d\U0001f3fd",  # with a skin tone
    "\U0001f469\u200d\U0001f469\u200d\U0001f467",  # a family, joined
    "\U0001f1fa\U0001f1f3",  # a flag, of two letters
    "\u2764\ufe0f",
    "1\ufe0f\u20e3",
)
_SPACES: Final = (" ", "  ", "\n", "\n\n", "\r\n", "\t", "\u00a0", "\u2028", "\u3000", " \n ")
_ODDITIES: Final = ("\0", "\ufeff", "\ufffd", "'s", "'LL", "e\u0301", "\u200b", "12345", "...//")


@dataclass(frozen=True)
class RoundTripReport:
    """Whether ``decode(encode(text))`` gave the text back.

    failures: the first few texts that did not come back.
    """

    n_documents: int
    n_failed: int
    failures: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether every text came back."""
        return self.n_failed == 0


@dataclass(frozen=True)
class SecondRunReport:
    """Whether a second training run made the same vocabulary.

    first_difference: rank of the first merge that differs, None if none does.
    same_vocabulary: whether all ids stand for the same bytes too.
    """

    n_merges: int
    first_difference: int | None
    same_vocabulary: bool

    @property
    def passed(self) -> bool:
        """Whether both runs made the same."""
        return self.first_difference is None and self.same_vocabulary


@dataclass(frozen=True)
class CheckReport:
    """The results of all checks.

    n_bytes, n_tokens: of the held-out text.
    """

    round_trip: RoundTripReport
    second_run: SecondRunReport
    n_bytes: int
    n_tokens: int

    @property
    def passed(self) -> bool:
        """Whether every check passed."""
        return self.round_trip.passed and self.second_run.passed

    @property
    def bytes_per_token(self) -> float | None:
        """Bytes of held-out text that one token stands for; None if there is no such text."""
        return self.n_bytes / self.n_tokens if self.n_tokens else None


def run_checks(
    tokenizer: Tokenizer,
    train_again: Callable[[], Tokenizer],
    held_out: Iterable[str] | str,
) -> CheckReport:
    """Check a tokenizer and return what was found; what fails is reported, not raised.

    train_again: trains on the same corpus with other threads and chunk sizes.
    held_out: text that was not trained on, whole or in documents.

    1. Random documents with emoji, many scripts and special tokens, and the held-out text, come
       back from their ids, with special tokens allowed and taken as text.
    2. ``train_again`` makes the same merges and ids.
    3. The held-out text takes so many bytes a token.
    """
    documents = [held_out] if isinstance(held_out, str) else list(held_out)
    made_up = generate_documents(tokenizer.special_tokens)
    round_trip = check_round_trips(tokenizer, [*made_up, *documents])
    return CheckReport(
        round_trip=round_trip,
        second_run=compare_runs(tokenizer, train_again()),
        n_bytes=sum(len(text.encode("utf-8", "replace")) for text in documents),
        n_tokens=sum(tokenizer.count(text) for text in documents),
    )


def check_round_trips(tokenizer: Tokenizer, documents: Iterable[str]) -> RoundTripReport:
    """Return how many documents do not come back from their ids."""
    failures: list[str] = []
    n_documents = 0
    for text in documents:
        n_documents += 1
        as_special = tokenizer.decode(tokenizer.encode(text, special="allow"))
        as_text = tokenizer.decode(tokenizer.encode(text, special="text"))
        if not as_special == as_text == text:
            failures.append(text)
    return RoundTripReport(n_documents, len(failures), tuple(failures[:_MAX_FAILURES]))


def compare_runs(first: Tokenizer, second: Tokenizer) -> SecondRunReport:
    """Return where the vocabularies of two training runs differ."""
    merges, other_merges = first.merges, second.merges
    shared = min(len(merges), len(other_merges))
    differing = (rank for rank in range(shared) if merges[rank] != other_merges[rank])
    at_end = shared if len(merges) != len(other_merges) else None
    return SecondRunReport(
        n_merges=len(merges),
        first_difference=next(differing, at_end),
        same_vocabulary=first.vocab == second.vocab,
    )


def generate_documents(
    special_tokens: Iterable[str], n_documents: int = N_RANDOM_DOCUMENTS, seed: int = _SEED
) -> Iterator[str]:
    """Yield random documents of words in many scripts, emoji, odd spaces and special tokens.

    The same arguments give the same documents; the first one is empty.
    """
    generator = random.Random(seed)
    oddities = (*_EMOJI, *_ODDITIES, *special_tokens)
    yield ""
    for _ in range(n_documents - 1):
        parts: list[str] = []
        for _ in range(generator.randrange(1, 40)):
            parts.append(
                generator.choice(oddities)
                if generator.random() < 0.3
                else _make_word(generator, *generator.choice(_SCRIPTS))
            )
            parts.append(generator.choice(_SPACES) if generator.random() < 0.7 else "")
        yield "".join(parts)


def _make_word(generator: random.Random, first: int, last: int) -> str:
    return "".join(chr(generator.randint(first, last)) for _ in range(generator.randrange(1, 9)))

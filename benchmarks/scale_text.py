"""Text of any size: the documents of a corpus again and again, with new words as real text has them.

Real text never stops bringing new words: n bytes of it have about K n**beta distinct ones (Heaps'
law). A copy of a corpus brings none, so counting copies says little about counting more text. Here
each *round* gives all documents in a new order, and before it as many rare words get a new spelling
as the law, fitted to the corpus itself, asks for. A word that was respelled keeps its spelling until
its turn comes again, so that new words recur as rare words do.

Only letters change: the last six of a lower-case word, to three of the commonest pairs of letters of
the corpus. So text keeps its length, its pieces and its documents, and 4 GB take half a minute.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from corpora import SEPARATOR
from numpy.typing import NDArray
from scale_fits import PowerLaw

N_RESPELLED: Final = 6
"""Letters of a word that change; one more before them stays."""

KEY_NBYTES: Final = 8
"""Words are told apart by so many of their last bytes, the space before them included."""

PAIR_BITS: Final = 9
"""Spellings are numbers of three digits, each one of 2**PAIR_BITS pairs of letters."""

N_SPELLINGS: Final = 1 << 3 * PAIR_BITS
SCRAMBLE: Final = 0x5DEECE66D % N_SPELLINGS
"""An odd number, by which numbers of words are multiplied so that neighbours look different."""

BLOCK_NBYTES: Final = 1 << 24
MOST_RARE: Final = 64
"""Words that occur more often are never respelled."""


@dataclass(frozen=True)
class Slots:
    """Where words may be respelled.

    places : (n,) int64, the first of the N_RESPELLED letters, rarest words first
    """

    places: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.places)


class GrowingText:
    """Rounds of one corpus; ``seed`` decides the order of documents and which words change."""

    def __init__(self, content: bytes, seed: int) -> None:
        self._text = np.frombuffer(bytearray(content), dtype=np.uint8)
        self._documents = cut_documents(content)
        self._numbers = np.random.default_rng(seed)
        self._slots = find_slots(self._text)
        self._pairs = list_letter_pairs(self._text)
        self._n_respelled = 0

    @property
    def n_bytes(self) -> int:
        """Bytes of a round."""
        return len(self._text)

    def shuffle(self) -> Iterator[memoryview]:
        """Yield the documents as they are now, in a new order."""
        view = memoryview(self._text)
        for number in self._numbers.permutation(len(self._documents)).tolist():
            start, stop = self._documents[number]
            yield view[start:stop]

    def add_words(self, n_words: int) -> None:
        """Respell so many rare words, each to one that was never there.

        Raises ValueError where there are not so many rare words or spellings.
        """
        n_rare = min(len(self._slots), max(2 * n_words, len(self._slots) // 2))
        if n_words > n_rare or self._n_respelled + n_words > N_SPELLINGS:
            raise ValueError(
                f"cannot put {n_words:,} new words into the text: it has {len(self._slots):,} rare "
                f"words to respell, and {N_SPELLINGS - self._n_respelled:,} spellings are left; "
                "take a longer corpus"
            )
        chosen = self._numbers.permutation(n_rare)[:n_words]
        places = self._slots.places[chosen]
        numbers = np.arange(self._n_respelled, self._n_respelled + n_words, dtype=np.int64)
        numbers = numbers * SCRAMBLE % N_SPELLINGS
        for digit in range(3):
            pairs = self._pairs[numbers >> digit * PAIR_BITS & (1 << PAIR_BITS) - 1]
            self._text[places + 2 * digit] = pairs[:, 0]
            self._text[places + 2 * digit + 1] = pairs[:, 1]
        self._n_respelled += n_words


def iterate_rounds(
    text: GrowingText, law: PowerLaw, n_rounds: int
) -> Iterator[Iterator[memoryview]]:
    """Yield the documents of each round but the first, whose words are those of the corpus."""
    for round_number in range(1, n_rounds):
        n_before = law.predict(round_number * text.n_bytes)
        n_after = law.predict((round_number + 1) * text.n_bytes)
        text.add_words(round(n_after) - round(n_before))
        yield text.shuffle()


def cut_documents(content: bytes) -> list[tuple[int, int]]:
    """Return where the documents begin and end, separators included."""
    ends = [match.end() for match in re.finditer(re.escape(SEPARATOR), content)]
    if not ends or ends[-1] < len(content):
        ends.append(len(content))
    return list(zip([0, *ends[:-1]], ends, strict=True))


def find_slots(text: NDArray[np.uint8]) -> Slots:
    """Return the words that may be respelled: lower-case ones of at least seven letters, rare ones."""
    found = [np.empty(0, dtype=np.int64)]
    for start in range(0, len(text), BLOCK_NBYTES):
        # A word that lies over the edge is passed over.
        found.append(start + find_long_words(text[start : start + BLOCK_NBYTES]))
    stops = np.concatenate(found)
    keys = np.zeros(len(stops), dtype=np.uint64)
    for back in range(1, KEY_NBYTES + 1):
        keys = keys << np.uint64(8) | text[stops - back].astype(np.uint64)
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    firsts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)])
    frequencies = np.diff(np.append(firsts, len(ordered)))
    by_word = np.repeat(frequencies, frequencies)
    is_rare = by_word <= MOST_RARE
    rarest_first = np.argsort(by_word[is_rare], kind="stable")
    return Slots(stops[order[is_rare][rarest_first]] - N_RESPELLED)


def find_long_words(text: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return the ends of lower-case words of at least seven letters between ASCII that is no letter."""
    is_lower = (text >= ord("a")) & (text <= ord("z"))
    edges = np.flatnonzero(is_lower[1:] != is_lower[:-1]) + 1
    if len(text) and is_lower[0]:
        edges = edges[1:]
    starts, stops = edges[: len(edges) // 2 * 2].reshape(-1, 2).T
    is_long = stops - starts > N_RESPELLED
    starts, stops = starts[is_long], stops[is_long]
    after = text[stops]
    is_alone = (text[starts - 1] == ord(" ")) & (after < 0x80) & ~_is_capital(after)
    return stops[is_alone]


def _is_capital(text: NDArray[np.uint8]) -> NDArray[np.bool_]:
    return (text >= ord("A")) & (text <= ord("Z"))


def list_letter_pairs(text: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return the (2**PAIR_BITS, 2) commonest pairs of lower-case letters in the first megabytes."""
    head = text[:BLOCK_NBYTES].astype(np.int64)
    letters = head - ord("a")
    both = (letters[:-1] >= 0) & (letters[:-1] < 26) & (letters[1:] >= 0) & (letters[1:] < 26)
    codes = (letters[:-1] * 26 + letters[1:])[both]
    order = np.argsort(-np.bincount(codes, minlength=26 * 26), kind="stable")
    commonest = np.sort(order[: 1 << PAIR_BITS])
    return np.stack([commonest // 26, commonest % 26], axis=1).astype(np.uint8) + np.uint8(ord("a"))


def cut_shares(documents: Sequence[memoryview], n_halvings: int) -> list[list[memoryview]]:
    """Return the first documents up to 1 / 2**n_halvings of the text, ..., up to a half, and all."""
    ends = np.cumsum([len(document) for document in documents])
    shares = [ends[-1] / 2**halving for halving in range(n_halvings, -1, -1)]
    return [list(documents[: int(np.searchsorted(ends, share)) + 1]) for share in shares]

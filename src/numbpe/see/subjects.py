"""What audits, reports and the stepper look at: a tokenizer of either kind, as numbered rows.

The rows are those of a plain vocabulary by their ids, and the cores of a combinatorial one. Its
variations, prefixes and suffixes are rows of embedding too, and only counted.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from numbpe.combinatorial.definition import N_BYTES
from numbpe.combinatorial.row_batches import RowBatch
from numbpe.combinatorial.tokenizer import CombinatorialTokenizer
from numbpe.see.reachability import UnreachableRows, find_unreachable, find_unreachable_cores
from numbpe.see.stepping import Model, describe_combinatorial, describe_standard
from numbpe.tokenizer import Tokenizer


class LabelledToken(NamedTuple):
    """A token of a text: the bytes that it stands for, and its id or its four indices."""

    content: bytes
    label: str


class Subject(Protocol):
    """A tokenizer as audits, reports and the stepper look at it."""

    name: str
    row_name: str
    """What the number of a row is called: ``id`` or ``core``."""
    token_name: str
    """What a token is called: ``id`` or ``row``."""

    @property
    def n_rows(self) -> int:
        """Rows of embedding that a model needs, whatever they are for."""
        ...

    @property
    def n_merges(self) -> int:
        """How many merges there are."""
        ...

    @property
    def n_special_tokens(self) -> int:
        """How many special tokens there are."""
        ...

    @property
    def makeup(self) -> str:
        """What cuts text, and what a token consists of, in a few words."""
        ...

    @property
    def contents(self) -> Mapping[int, bytes]:
        """The bytes that each row stands for, by its number."""
        ...

    @property
    def byte_numbers(self) -> frozenset[int]:
        """Rows that stand for one byte of a character that the vocabulary does not have."""
        ...

    @property
    def ordinary_numbers(self) -> tuple[int, ...]:
        """Rows that text is merged to: no special tokens and none of :attr:`byte_numbers`."""
        ...

    def find_unreachable(self) -> UnreachableRows:
        """Return the ordinary rows that no text becomes."""
        ...

    def number_tokens(self, parts: Iterable[str]) -> Iterator[NDArray[np.integer]]:
        """Yield the row of each token of one text, which comes in parts, some thousands at a time."""
        ...

    def list_tokens(self, text: str) -> list[LabelledToken]:
        """Return the tokens of a text."""
        ...

    def describe(self) -> Model:
        """Return the tokenizer as the stepper holds it; ArgumentError if the stepper cannot."""
        ...


class StandardSubject:
    """A vocabulary whose tokens are ids; satisfies :class:`Subject`."""

    row_name = token_name = "id"

    def __init__(self, tokenizer: Tokenizer, name: str) -> None:
        self.name = name
        self._tokenizer = tokenizer
        self.n_rows = tokenizer.vocab_size
        self.n_merges = tokenizer.vocabulary.n_merges
        self.n_special_tokens = len(tokenizer.special_tokens)

    @property
    def makeup(self) -> str:
        """The pattern, by its name if it has one."""
        vocabulary = self._tokenizer.vocabulary
        return vocabulary.pattern_name or " then ".join(vocabulary.pattern_sources) or "not cut"

    @cached_property
    def contents(self) -> Mapping[int, bytes]:
        """The bytes of every token, by its id."""
        return self._tokenizer.vocab

    @property
    def byte_numbers(self) -> frozenset[int]:
        """The ids of tokens such as ``<0x0A>``."""
        return self._tokenizer._decoder.byte_token_ids

    @cached_property
    def ordinary_numbers(self) -> tuple[int, ...]:
        """The ids of tokens that merging gives."""
        definition = self._tokenizer.definition
        left_out = {token.id for token in definition.added_tokens} | self.byte_numbers
        if definition.rules.unk_id is not None:
            left_out |= {definition.rules.unk_id}
        return tuple(i for i in self.contents if i not in left_out)

    def find_unreachable(self) -> UnreachableRows:
        """Return the ordinary ids that no text becomes."""
        return find_unreachable(self._tokenizer)

    def number_tokens(self, parts: Iterable[str]) -> Iterator[NDArray[np.integer]]:
        """Yield the ids of one text."""
        return self._tokenizer.encode_iterable(parts)

    def list_tokens(self, text: str) -> list[LabelledToken]:
        """Return the tokens of a text with their ids."""
        ids = self._tokenizer.encode(text).tolist()
        return [LabelledToken(self.contents[i], str(i)) for i in ids]

    def describe(self) -> Model:
        """Return the vocabulary as the stepper holds it."""
        return describe_standard(self._tokenizer, self.name)


class CombinatorialSubject:
    """Tables of Combinatorial BPE, of which the cores are looked at; satisfies :class:`Subject`."""

    row_name = "core"
    token_name = "row"

    def __init__(self, tokenizer: CombinatorialTokenizer, name: str) -> None:
        self.name = name
        self._tokenizer = tokenizer
        self._vocabulary = tokenizer.vocabulary
        self.n_rows = tokenizer.vocab_size
        self.n_merges = len(self._vocabulary.merges)
        self.n_special_tokens = len(self._vocabulary.special_tokens)
        self.byte_numbers = frozenset(range(N_BYTES))
        self.ordinary_numbers = tuple(range(N_BYTES, self._vocabulary.first_special_id))

    @property
    def makeup(self) -> str:
        """How many rows each of the four tables has."""
        return ", ".join(_count(n, name) for name, n in self._tokenizer.sizes.items())

    @cached_property
    def contents(self) -> Mapping[int, bytes]:
        """The bytes of every core as it stands."""
        strings = self._vocabulary.core_strings
        made = {i: strings[i].encode() for i in range(N_BYTES, len(strings))}
        return {byte: bytes([byte]) for byte in range(N_BYTES)} | made

    def find_unreachable(self) -> UnreachableRows:
        """Return the cores that no text becomes."""
        return find_unreachable_cores(self._tokenizer)

    def number_tokens(self, parts: Iterable[str]) -> Iterator[NDArray[np.integer]]:
        """Yield the cores of one text."""
        return (rows[:, 2] for rows in self._tokenizer.encode_iterable(parts))

    def list_tokens(self, text: str) -> list[LabelledToken]:
        """Return the tokens of a text with their four indices."""
        rows = self._tokenizer.encode(text)
        each = RowBatch(rows, np.arange(len(rows) + 1))
        contents = self._tokenizer._decoder.decode_batch(each)
        labels = (f"({', '.join(map(str, row))})" for row in rows.tolist())
        return list(map(LabelledToken, contents, labels))

    def describe(self) -> Model:
        """Return the tables as the stepper holds them."""
        return describe_combinatorial(self._vocabulary, self.name)


def _count(n: int, noun: str) -> str:
    """Return a number of things in words: ``1 core``, ``2 prefixes``."""
    ending = "" if n == 1 else "es" if noun.endswith("x") else "s"
    return f"{n:,} {noun}{ending}"


AnyTokenizer = Tokenizer | CombinatorialTokenizer


def as_subject(tokenizer: AnyTokenizer, name: str = "") -> Subject:
    """Return a tokenizer of either kind as what is looked at."""
    if isinstance(tokenizer, CombinatorialTokenizer):
        return CombinatorialSubject(tokenizer, name)
    return StandardSubject(tokenizer, name)

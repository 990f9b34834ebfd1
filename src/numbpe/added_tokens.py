"""Finding added tokens in text: leftmost, then longest, with their rules for what stands beside.

Positions are bytes of UTF-8. UTF-8 synchronises itself, so a match of whole characters in bytes is
one in the text.
"""

import os
import re
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Final, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from numbpe.arrays import Offsets, TextArray
from numbpe.definition import AddedToken, TokenizerDefinition
from numbpe.errors import ArgumentError, shorten_value
from numbpe.literals import build_literals
from numbpe.normalizers import apply_steps
from numbpe.special_tokens import encode_special_token
from numbpe.unicode_tables import load_unicode_tables
from numbpe_kernels._jit import prepare_kernel
from numbpe_kernels.added_tokens import (
    IGNORED,
    REFUSED,
    SINGLE_WORD,
    TAKES_LEFT,
    TAKES_RIGHT,
    AddedTokens,
    added_tokens_run,
)
from numbpe_kernels.constants import TEXT_PADDING

SpecialPolicy: TypeAlias = Literal["allow", "text", "error"]
"""What becomes of text that spells a special token: the special token's id, the ids of its letters
like any text, or an error. Added tokens that are not special are found in any case."""

_POLICIES: Final = get_args(SpecialPolicy)

# Up to so many bytes a search by the re module is quicker than the call of a kernel.
_HEAD_NBYTES: Final = 8
_MAX_HEADS: Final = 256
"""Of no more contents than these, these many bytes are searched for before the search in earnest."""

_MAX_SCANNED: Final = 256

_NO_POINTS: Final = np.zeros(0, dtype=np.int32)


def check_policy(special: object) -> None:
    """Raise ArgumentError if ``special`` is no :data:`SpecialPolicy`."""
    if special not in _POLICIES:
        raise ArgumentError(
            f"special must be one of {', '.join(map(repr, _POLICIES))}, "
            f"not {shorten_value(special)}"
        )


class AddedTokenMatcher:
    """Finds the added tokens of a tokenizer; never changes, and any number of threads may use it.

    It finds what ``tokenizers`` finds: at each place the longest token, whatever their order, of
    those that the last match left. A token that may only be a single word, and stands in one, is
    passed over, and so is a special one under the policy ``"text"``: shorter tokens in it are not
    found. White space that a token takes on its right may begin the next token, and then belongs to
    that; a token of white space that takes more on its left is nothing where all of it is taken.

    Where the result of ``tokenizers`` is no rule, there is one here. A token of white space that
    takes more on its left, within white space that was taken, is passed over (there: a panic). A
    token whose content the normalizer deletes stands nowhere (there: in each place, until memory is
    full). Of several that the normalizer makes equal the first one counts (there: a random one).
    """

    def __init__(self, definition: TokenizerDefinition) -> None:
        tokens = _select_tokens(definition.added_tokens)
        self._raw = _Search([(token.content, token) for token in tokens if not token.normalized])
        self._normalized = _Search(
            [
                (apply_steps(definition.normalizer, token.content), token)
                for token in tokens
                if token.normalized
            ]
        )
        self.has_normalized = self._normalized.n_tokens > 0
        """Whether :meth:`find_normalized` may find something."""
        self.cut_into = self._raw.cut_into
        """What cuts a short raw text at the tokens in it; see there."""
        self.load_kernels = self._raw.load_kernels
        """What makes that as quick the first time as it is later; see there."""

    def may_find(self, data: bytes, special: SpecialPolicy) -> bool:
        """Return False if it is quick to see that :meth:`find` finds nothing in a text."""
        return self._raw.may_find(data, 0, len(data), special)

    def find_first_character(self) -> str | None:
        """Return the ASCII character that all tokens in raw text begin with, "" if there are none at all.

        None where they begin with several, or with another one.
        """
        return self._raw.find_first_character()

    def may_begin(self, data: bytes, special: SpecialPolicy) -> bool:
        """Return False if no token begins in a text, as far as looking for one byte tells."""
        return self._raw.find_first_byte(data, 0, len(data), special) >= 0

    def may_find_normalized(self, data: bytes, special: SpecialPolicy) -> bool:
        """Return False if it is quick to see that :meth:`find_normalized` finds nothing."""
        return self._normalized.may_find(data, 0, len(data), special)

    def find(
        self, text: TextArray, start: int, stop: int, special: SpecialPolicy
    ) -> NDArray[np.int64]:
        """Return the (m, 3) starts, stops and ids of the tokens in the raw text[start:stop].

        They do not overlap; white space that a token takes away is part of it.

        Raises ArgumentError under the policy ``"error"`` if one of them is special.
        """
        return self._raw.find(text, start, stop, special)

    def find_normalized(
        self, text: TextArray, start: int, stop: int, special: SpecialPolicy
    ) -> NDArray[np.int64]:
        """Return the same for those that are looked for in normalized text."""
        return self._normalized.find(text, start, stop, special)

    def find_in_rows(
        self, text: TextArray, rows: NDArray[np.int64], special: SpecialPolicy
    ) -> tuple[NDArray[np.int64], Offsets]:
        """Cut many raw texts at the tokens in them.

        rows: (n, 2) int64, start and stop of each text.

        Returns (p, 3) int64, start and stop of each part and the id of the token behind it, -1
        behind the last of a text; and (n + 1,) int64: those of text i are
        ``parts[first_parts[i]:first_parts[i + 1]]``.
        """
        return self._raw.cut_rows(text, rows, special)

    def find_normalized_in_rows(
        self, text: TextArray, rows: NDArray[np.int64], special: SpecialPolicy
    ) -> tuple[NDArray[np.int64], Offsets]:
        """Cut many normalized texts at the tokens that are looked for in normalized text."""
        return self._normalized.cut_rows(text, rows, special)


def _select_tokens(tokens: Sequence[AddedToken]) -> list[AddedToken]:
    """Return the tokens to look for: of those with one content the last, as in ``tokenizers``.

    It is special if one of them is.
    """
    special = {token.content for token in tokens if token.special}
    last = {token.content: token for token in tokens}
    return [replace(token, special=token.content in special) for token in last.values()]


class _Described:
    """Arrays of added tokens, and their descriptor for kernels; see ``numbpe_kernels.views``."""

    def __init__(self, tokens: AddedTokens) -> None:
        self._tokens = tokens  # keeps the arrays alive
        arrays = (*tokens.literals, *tokens[1:])
        numbers = [number for array in arrays for number in (array.ctypes.data, *array.shape)]
        self.descriptor = np.array(numbers, dtype=np.int64)


class _Search:
    """The added tokens that are looked for in one pass.

    contents: what to look for, and the token that it stands for; of equal contents the first counts.
    """

    def __init__(self, contents: Iterable[tuple[str, AddedToken]]) -> None:
        found: dict[bytes, AddedToken] = {}
        for content, token in contents:
            if content:
                found.setdefault(encode_special_token(content), token)
        self.n_tokens = len(found)
        literals = build_literals(list(found))
        tokens = list(found.values())
        self._tokens = [tokens[place] for place in literals.positions]
        self._by_policy: dict[str, _Described | None] = {}
        ids = np.array([token.id for token in self._tokens], dtype=np.int64)
        bounds = _load_bounds(self._tokens)
        for policy, rule in zip(_POLICIES, (0, IGNORED, REFUSED), strict=True):
            rules = [_sum_rules(token) | (rule if token.special else 0) for token in self._tokens]
            self._by_policy[policy] = None
            if not all(rule & IGNORED for rule in rules):
                array = np.array(rules, dtype=np.uint8)
                self._by_policy[policy] = _Described(AddedTokens(literals, ids, array, *bounds))
        self._idle: deque[tuple[memoryview, tuple[NDArray[np.int64], ...]]] = deque()
        self._run_into: Callable[..., int] | None = None
        self._search_start = _compile_starts(list(found)).search
        self._first_byte = _find_common_prefix(list(found))[:1]
        self._search_head = _compile_heads(list(found)).search

    def find_first_character(self) -> str | None:
        """See :meth:`AddedTokenMatcher.find_first_character`."""
        if self.n_tokens == 0:
            return ""
        return (
            self._first_byte.decode() if self._first_byte.isascii() and self._first_byte else None
        )

    def find_first_byte(self, data: bytes, start: int, stop: int, special: str) -> int:
        """Return where the first token in data[start:stop] may begin, -1 if none can."""
        if self._by_policy[special] is None:
            return -1
        # One byte is found many times faster than two, and is seldom there.
        return data.find(self._first_byte, start, stop)

    def may_find(self, data: bytes | TextArray, start: int, stop: int, special: str) -> bool:
        """Return False if nothing is found in data[start:stop], as far as it is quick to see."""
        if self._by_policy[special] is None:
            return False
        if self._first_byte and type(data) is bytes:
            place = self.find_first_byte(data, start, stop, special)
            return place >= 0 and self._search_head(data, place, stop) is not None
        if stop - start <= _MAX_SCANNED:
            # The re module takes whatever holds bytes.
            return self._search_start(data, start, stop) is not None  # type: ignore[arg-type]
        return True

    def find(
        self, text: TextArray, start: int, stop: int, special: SpecialPolicy
    ) -> NDArray[np.int64]:
        """See :meth:`AddedTokenMatcher.find`."""
        if not self.may_find(text, start, stop, special):
            return np.empty((0, 3), dtype=np.int64)
        parts, _ = self.cut_rows(text, np.array([[start, stop]]), special)
        found = np.empty((len(parts) - 1, 3), dtype=np.int64)
        found[:, 0] = parts[:-1, 1]
        found[:, 1] = parts[1:, 0]
        found[:, 2] = parts[:-1, 2]
        return found

    def cut_into(self, text: TextArray, parts: NDArray[np.int64], stop: int, special: str) -> int:
        """Cut text[:stop] at the tokens in it, into the first rows of ``parts``.

        Returns how many there are, 0 if there may be more than ``parts`` has.
        """
        tokens = self._by_policy[special]
        if tokens is None:
            parts[0] = 0, stop, -1
            return 1
        try:
            # Making these arrays takes as long as finding the tokens of a page.
            numbers, arrays = self._idle.pop()
        except IndexError:
            array = np.zeros(8, dtype=np.int64)
            numbers = memoryview(array.data)
            arrays = array[:2].reshape(1, 2), array[2:6], array[6:]
        # The same memory twice, since views of it are read and written sooner: the row, its progress
        # from the third number on, first_parts.
        rows, progress, first_parts = arrays
        numbers[1] = stop
        numbers[2] = numbers[3] = numbers[4] = numbers[5] = 0
        arguments = (tokens.descriptor, text, rows, progress, parts, first_parts)
        if self._run_into is None:
            self._run_into = prepare_kernel(added_tokens_run, *arguments)
        status = self._run_into(*arguments)
        n_parts, place = numbers[5], numbers[3]
        self._idle.append((numbers, arrays))
        if status >= 0:
            raise _word_refusal(self._tokens[status], place)
        return n_parts if status == -1 else 0

    def load_kernels(self) -> None:
        """Load what :meth:`cut_into` calls, a millisecond that the first text with a token would take else."""
        no_text = np.zeros(TEXT_PADDING, dtype=np.uint8)
        for policy in self._by_policy:
            self.cut_into(no_text, np.empty((1, 3), dtype=np.int64), 0, policy)

    def cut_rows(
        self, text: TextArray, rows: NDArray[np.int64], special: SpecialPolicy
    ) -> tuple[NDArray[np.int64], Offsets]:
        """See :meth:`AddedTokenMatcher.find_in_rows`."""
        tokens = self._by_policy[special]
        if tokens is None:
            parts = np.full((len(rows), 3), -1, dtype=np.int64)
            parts[:, :2] = rows
            return parts, np.arange(len(rows) + 1, dtype=np.int64)
        # Kernels are compiled for arrays of one kind.
        if rows.dtype != np.int64 or not (rows.flags.c_contiguous and rows.flags.writeable):
            rows = rows.astype(np.int64, order="C")
        first_parts = np.zeros(len(rows) + 1, dtype=np.int64)
        progress = np.zeros(4, dtype=np.int64)
        parts = np.empty((len(rows) + len(rows) // 2 + 16, 3), dtype=np.int64)
        while True:
            status = added_tokens_run(tokens.descriptor, text, rows, progress, parts, first_parts)
            n_parts = int(progress[3])
            if status == -1:
                return parts[:n_parts], first_parts
            if status >= 0:
                raise _word_refusal(self._tokens[status], int(progress[1]))
            longer = np.empty((2 * len(parts), 3), dtype=np.int64)
            longer[:n_parts] = parts[:n_parts]
            parts = longer


def _sum_rules(token: AddedToken) -> int:
    rules = SINGLE_WORD if token.single_word else 0
    rules |= TAKES_LEFT if token.lstrip else 0
    rules |= TAKES_RIGHT if token.rstrip else 0
    return rules


def _load_bounds(tokens: list[AddedToken]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the bounds of word characters and of white space, empty if no token needs them."""
    if not any(token.single_word or token.lstrip or token.rstrip for token in tokens):
        return _NO_POINTS, _NO_POINTS
    tables = load_unicode_tables("16")
    # Kernels are compiled for arrays that can be written to.
    return tables.word_characters.bounds.copy(), tables.white_space.bounds.copy()


def _compile_starts(contents: list[bytes]) -> re.Pattern[bytes]:
    """Return an expression that is found in every text that holds one of ``contents``.

    It looks for their first two bytes, so that it is small, and yet found in few other texts.
    """
    if len(contents) == 1:
        return re.compile(re.escape(contents[0]))
    second_bytes: dict[bytes, set[bytes]] = {}
    for content in contents:
        second_bytes.setdefault(content[:1], set()).add(content[1:2])
    starts = [
        re.escape(first) + (b"" if b"" in seconds else _join_class(seconds))
        for first, seconds in second_bytes.items()
    ]
    return re.compile(b"|".join(starts) if starts else b"(?!)")


def _compile_heads(contents: list[bytes]) -> re.Pattern[bytes]:
    """Return an expression that is found in every text that holds one of ``contents``.

    It begins with the bytes that all of them begin with, for which the re module looks first, and is
    found in few other texts.
    """
    prefix = _find_common_prefix(contents)
    heads = {content[len(prefix) : len(prefix) + _HEAD_NBYTES] for content in contents}
    if not prefix or b"" in heads or len(heads) > _MAX_HEADS:
        return re.compile(re.escape(prefix))
    return re.compile(re.escape(prefix) + b"(?:" + b"|".join(map(re.escape, sorted(heads))) + b")")


def _find_common_prefix(contents: list[bytes]) -> bytes:
    return os.path.commonprefix(contents) if contents else b""  # type: ignore[return-value]


def _join_class(characters: set[bytes]) -> bytes:
    return b"[" + b"".join(map(re.escape, sorted(characters))) + b"]"


def _word_refusal(token: AddedToken, position: int) -> ArgumentError:
    return ArgumentError(
        f"the text spells the special token {shorten_value(token.content)} "
        f'at byte {position}; pass special="allow" to take it as one, '
        'or special="text" to take it as text'
    )

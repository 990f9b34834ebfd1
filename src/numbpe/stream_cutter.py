"""Cutting text that comes in portions at added tokens: what may be the start of one is held back.

Where no token has a rule for what stands beside it, exactly this is held back. Tokens with
``lstrip``, ``rstrip`` or ``single_word`` depend on their neighbours: then text is held back up to
the last place between two characters that are no white space, away from every token; at worst,
where there is no such place, until the end.
"""

import re
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import replace
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from numbpe.added_tokens import AddedTokenMatcher, SpecialPolicy
from numbpe.arrays import TextArray, copy_text
from numbpe.definition import AddedToken, TokenizerDefinition
from numbpe.errors import ArgumentError, shorten_value
from numbpe.normalizers import apply_steps

OPEN: Final = -2
"""In place of a token's id: more of the part follows."""
AT_END: Final = -1
"""In place of a token's id: the text ends here."""

Portion: TypeAlias = tuple[bytes, int]
"""A portion of a part, and the id of the added token behind it, or OPEN, or AT_END."""

_Find: TypeAlias = Callable[[TextArray, int, int, SpecialPolicy], NDArray[np.int64]]


class TokenMatchers:
    """What cutters of one tokenizer share; never changes."""

    def __init__(self, definition: TokenizerDefinition) -> None:
        self.normalizer = definition.normalizer
        self.tokens = definition.added_tokens
        self.exact = AddedTokenMatcher(definition)
        self.bare = self.exact
        if any(map(_depends_on_neighbours, self.tokens)):
            bare = [
                replace(token, single_word=False, lstrip=False, rstrip=False)
                for token in self.tokens
            ]
            self.bare = AddedTokenMatcher(replace(definition, added_tokens=tuple(bare)))

    def make_cutter(self, special: SpecialPolicy, *, normalized: bool) -> "TokenCutter":
        """Return a cutter for the tokens that are looked for in raw or in normalized text."""
        tokens = [token for token in self.tokens if token.normalized == normalized]
        if normalized:
            contents = [apply_steps(self.normalizer, token.content) for token in tokens]
            finds = self.exact.find_normalized, self.bare.find_normalized
        else:
            contents = [token.content for token in tokens]
            finds = self.exact.find, self.bare.find
        return TokenCutter(tokens, contents, finds, special)


def _depends_on_neighbours(token: AddedToken) -> bool:
    return token.single_word or token.lstrip or token.rstrip


class TokenCutter:
    """Cuts one text after another, each in portions.

    finds: how to find the tokens; and how to find all places where one is spelled.
    """

    def __init__(
        self,
        tokens: list[AddedToken],
        contents: list[str],
        finds: tuple[_Find, _Find],
        special: SpecialPolicy,
    ) -> None:
        self._special: SpecialPolicy = special
        self._by_id = {token.id: token for token in tokens}
        self._find, self._find_bare = finds
        self._is_bare = not any(map(_depends_on_neighbours, tokens))
        self._contents = sorted({content.encode() for content in contents if content})
        self._longest = max(map(len, self._contents), default=0)
        if special == "text" and all(token.special for token in tokens):
            self._longest = 0  # Nothing is found.
        first_bytes = sorted({content[:1] for content in self._contents})
        self._find_firsts = re.compile(b"[%s]" % b"".join(map(re.escape, first_bytes or [b"x"])))
        self._held = bytearray()
        self._n_bytes_before = 0
        self._retry_nbytes = 0

    def push(self, content: bytes, *, is_last: bool) -> list[Portion]:
        """Return what is certain now that ``content`` has come; ends with AT_END if ``is_last``.

        Raises ArgumentError for a special token under the policy ``"error"``.
        """
        if self._longest == 0:
            return [(content, AT_END if is_last else OPEN)]
        if self._is_bare and not self._held and not self._find_firsts.search(content):
            # No token begins here, so that the rest of the work can be spared.
            self._n_bytes_before += len(content)
            return [(content, AT_END if is_last else OPEN)]
        self._held += content
        data = bytes(self._held)
        cut = len(data)
        if not is_last:
            if cut < self._retry_nbytes:
                return []
            found = _search(self._find_bare, data, cut, "allow")
            cut = self._find_started(data, found)
            if not self._is_bare:
                cut = _find_lonely_place(data, found, cut)
                # Text that cannot be cut is searched a few times only, not with every portion.
                self._retry_nbytes = 0 if cut else 2 * len(data)
        if is_last or not self._is_bare:
            # Which tokens are refused is known only when it is certain that they are there.
            policy: SpecialPolicy = "allow" if self._special == "error" else self._special
            found = _search(self._find, data, cut, policy)
        portions = self._cut(data[:cut], found, is_last=is_last)
        del self._held[:cut]
        self._n_bytes_before += cut
        return portions

    def _cut(self, data: bytes, found: list[list[int]], *, is_last: bool) -> list[Portion]:
        portions: list[Portion] = []
        position = 0
        for start, stop, token_id in found:
            if start >= len(data):
                break
            if self._special != "allow" and self._by_id[token_id].special:
                if self._special == "text":
                    continue
                raise _word_refusal(self._by_id[token_id], self._n_bytes_before + start)
            portions.append((data[position:start], token_id))
            position = stop
        portions.append((data[position:], AT_END if is_last else OPEN))
        return portions

    def _find_started(self, data: bytes, spelled: list[list[int]]) -> int:
        """Return the first position from where on ``data`` may be the start of a longer token."""
        first = max(0, len(data) - self._longest + 1)
        late = [(start, stop) for start, stop, _ in spelled if stop > first]
        for match in self._find_firsts.finditer(data, first):
            position = match.start()
            if any(start < position < stop for start, stop in late):
                continue  # No search begins inside a token.
            rest = data[position:]
            i = bisect_right(self._contents, rest)
            if i < len(self._contents) and self._contents[i].startswith(rest):
                return position
        return len(data)


def _search(find: _Find, data: bytes, stop: int, special: SpecialPolicy) -> list[list[int]]:
    rows: list[list[int]] = find(copy_text(data), 0, stop, special).tolist()
    return rows


def _find_lonely_place(data: bytes, spelled: list[list[int]], stop: int) -> int:
    """Return the last position before ``stop`` with no token at it, and no white space; 0 if none."""
    for position in range(stop - 1, 0, -1):
        while spelled and spelled[-1][0] > position:
            spelled.pop()
        if spelled and spelled[-1][1] >= position:
            continue
        if data[position] & 0xC0 == 0x80:
            continue
        before = data[max(0, position - 4) : position].decode("utf-8", "replace")[-1]
        behind = data[position : position + 4].decode("utf-8", "replace")[0]
        if not before.isspace() and not behind.isspace():
            return position
    return 0


def _word_refusal(token: AddedToken, position: int) -> ArgumentError:
    return ArgumentError(
        f"the text spells the special token {shorten_value(token.content)} at byte {position}; "
        'pass special="allow" to take it as one, or special="text" to take it as text'
    )

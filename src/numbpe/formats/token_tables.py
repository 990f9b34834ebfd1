"""Spelled tokens and merges, as JSON files hold them, to a vocabulary; all in bulk.

A model of half a million merges is read in a second because nothing here looks at one token or one
merge at a time, unless to say which is wrong.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, compress, repeat
from operator import add
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from numbpe.arrays import Offsets, TextArray, Tokens, allocate_text
from numbpe.definition import AddedToken
from numbpe.errors import shorten_value
from numbpe.formats.byte_alphabet import LETTERS
from numbpe.formats.json_documents import JsonValue
from numbpe.formats.library_classes import NUMERIC_LETTERS
from numbpe.pattern_sources import PatternSource
from numbpe.vocabulary import Vocabulary
from numbpe.vocabulary_checks import MAX_TOKEN_ID

_NO_BYTE: Final = 256


def _invert_letters() -> NDArray[np.uint16]:
    table = np.full(max(map(ord, LETTERS)) + 2, _NO_BYTE, dtype=np.uint16)
    for byte, letter in enumerate(LETTERS):
        table[ord(letter)] = byte
    return table


_BYTES_OF_LETTERS: Final = _invert_letters()
"""The byte of every letter of the byte alphabet, ``_NO_BYTE`` for other characters; the last
entry stands for all that follow."""


@dataclass(frozen=True)
class SpelledModel:
    """The tokens and the merges of a model, as they are spelled in a file.

    ids: the id of every spelling.
    merges: "left right" or ["left", "right"], each.
    place_of_ids, place_of_merges: where they stand, for errors.
    allows_homonyms: whether an added token may be spelled like a token of another id.
    """

    ids: dict[str, Any]
    merges: Sequence[Any]
    place_of_ids: JsonValue
    place_of_merges: JsonValue
    allows_homonyms: bool = False

    def build_vocabulary(
        self,
        alphabet: Literal["bytes", "characters"],
        added_tokens: Sequence[AddedToken],
        pattern: PatternSource,
        *,
        numeric_cuts: Literal["each", "runs"] | None = None,
    ) -> Vocabulary:
        """Return the vocabulary; FormatError for ids, merges and added tokens that contradict.

        alphabet: ``"bytes"`` if spellings are letters that stand for bytes.
        numeric_cuts: how pieces are cut at letters that are numbers; see ``PreTokenization``. Where
            a piece is always cut between two letters nothing is merged over them, so that it is
            the same to leave such merges out.
        """
        spellings, ids = self._check_ids()
        pairs, results = self._find_merges(numeric_cuts)
        self._check_added_tokens(added_tokens)
        apart_names = self._list_apart(alphabet, added_tokens, pairs, results)
        try:
            lengths, contents = _spell(spellings, alphabet)
        except UnicodeEncodeError:
            raise self._describe_surrogate() from None
        is_apart = lengths < 0
        if apart_names:
            is_apart |= np.fromiter(
                map(apart_names.__contains__, spellings), np.bool_, len(spellings)
            )
        special = {name: self.ids[name] for name in compress(spellings, is_apart.tolist())}
        special |= {t.content: t.id for t in added_tokens if self.ids.get(t.content) != t.id}
        contents = contents[np.repeat(~is_apart, np.abs(lengths))] if is_apart.any() else contents
        return Vocabulary.from_arrays(
            *_arrange_tokens(ids[~is_apart], lengths[~is_apart], contents, special),
            pairs,
            results,
            special_tokens=special,
            pattern=pattern,
        )

    def _describe_surrogate(self) -> Exception:
        for spelling in self.ids:
            if any("\ud800" <= letter <= "\udfff" for letter in spelling):
                return self.place_of_ids.fail(
                    f"the token {shorten_value(spelling)} holds an unpaired surrogate, which no "
                    "text holds; take it out"
                )
        raise AssertionError("no token holds a surrogate")

    def _check_ids(self) -> tuple[list[str], NDArray[np.int64]]:
        """Return spellings and ids; FormatError for an id out of range, or that stands twice."""
        values = self.ids.values()
        if not set(map(type, values)) <= {int} or not self._are_in_range():
            for spelling, token_id in self.ids.items():
                if type(token_id) is not int or not 0 <= token_id <= MAX_TOKEN_ID:
                    raise self.place_of_ids.fail(
                        f"the token {shorten_value(spelling)} has the id {token_id!r}; "
                        f"ids are integers from 0 to {MAX_TOKEN_ID:,}"
                    )
        if "" in self.ids:
            raise self.place_of_ids.fail(f"the token {self.ids['']} has no letters; take it out")
        ids = np.fromiter(values, np.int64, len(self.ids))
        ordered = np.sort(ids)
        twice = ordered[1:][ordered[1:] == ordered[:-1]]
        if len(twice):
            token_id = int(twice[0])
            names = [spelling for spelling, other in self.ids.items() if other == token_id]
            raise self.place_of_ids.fail(
                f"the tokens {shorten_value(names)} have one id, {token_id}; give each its own"
            )
        return list(self.ids), ids

    def _are_in_range(self) -> bool:
        values = self.ids.values()
        return min(values, default=0) >= 0 and max(values, default=0) <= MAX_TOKEN_ID

    def _find_merges(self, numeric_cuts: Literal["each", "runs"] | None) -> tuple[Tokens, Tokens]:
        """Return the ids of the two parts of every merge, and of what it makes."""
        flat = self._list_parts()
        lefts, rights = flat[0::2], flat[1::2]
        if numeric_cuts is not None:
            keeps = [*map(partial(_joins, numeric_cuts), lefts, rights)]
            lefts, rights = [*compress(lefts, keeps)], [*compress(rights, keeps)]
        find = self.ids.__getitem__
        n_merges = len(lefts)
        pairs = np.empty((n_merges, 2), dtype=np.int32)
        try:
            pairs[:, 0] = np.fromiter(map(find, lefts), np.int32, n_merges)
            pairs[:, 1] = np.fromiter(map(find, rights), np.int32, n_merges)
            results = np.fromiter(map(find, map(add, lefts, rights)), np.int32, n_merges)
        except KeyError:
            raise self._describe_lost_merge(lefts, rights) from None
        return pairs, results

    def _list_parts(self) -> list[str]:
        """Return the parts of all merges, two a merge, one after another."""
        kinds = set(map(type, self.merges))
        if kinds <= {str}:
            if set(map(str.count, self.merges, repeat(" "))) <= {1}:
                return " ".join(self.merges).split(" ") if self.merges else []
        elif kinds == {list} and set(map(len, self.merges)) == {2}:
            flat = list(chain.from_iterable(self.merges))
            if set(map(type, flat)) == {str}:
                return flat
        return list(chain.from_iterable(map(self._split_merge, range(len(self.merges)))))

    def _split_merge(self, rank: int) -> Sequence[str]:
        merge = self.merges[rank]
        parts = merge.split(" ") if isinstance(merge, str) else merge
        if isinstance(parts, list) and [*map(type, parts)] == [str, str]:
            return parts
        raise self.place_of_merges.fail(
            f"merge {rank} is {shorten_value(merge)}; "
            'a merge is two tokens: "left right" or ["left", "right"]'
        )

    def _describe_lost_merge(self, lefts: list[str], rights: list[str]) -> Exception:
        for rank, (left, right) in enumerate(zip(lefts, rights, strict=True)):
            for spelling in (left, right, left + right):
                if spelling not in self.ids:
                    return self.place_of_merges.fail(
                        f"merge {rank}, {shorten_value([left, right])}, cannot be used: "
                        f"{shorten_value(spelling)} is not in the vocabulary; add the token or "
                        "take the merge out"
                    )
        raise AssertionError("all merges are in the vocabulary")

    def _check_added_tokens(self, added_tokens: Iterable[AddedToken]) -> None:
        """Raise FormatError for an added token whose id or spelling is another token's."""
        added = {token.id: token for token in added_tokens}
        for token in added.values():
            is_homonym = self.ids.get(token.content, token.id) != token.id
            if is_homonym and not self.allows_homonyms:
                raise self.place_of_ids.fail(
                    f"the added token {shorten_value(token.content)} has the id {token.id}, but in "
                    f"the vocabulary it has the id {self.ids[token.content]}; make them equal"
                )
        outside = {id for id, token in added.items() if self.ids.get(token.content) != id}
        if outside.isdisjoint(self.ids.values()):
            return
        for spelling, token_id in self.ids.items():
            if token_id in outside:
                raise self.place_of_ids.fail(
                    f"the added token {shorten_value(added[token_id].content)} has the id "
                    f"{token_id}, which is that of the token {shorten_value(spelling)}; "
                    "give each its own"
                )

    def _list_apart(
        self,
        alphabet: Literal["bytes", "characters"],
        added_tokens: Iterable[AddedToken],
        pairs: Tokens,
        results: Tokens,
    ) -> set[str]:
        """Return the added tokens of the model that merging neither makes nor reads.

        They are spelled as they are, not in letters that stand for bytes.
        """
        candidates = [
            token
            for token in added_tokens
            if self.ids.get(token.content) == token.id
            and len(token.content) > 1
            and (token.special or (alphabet == "bytes" and not token.content.isascii()))
        ]
        if not candidates:
            return set()
        ids = np.array([token.id for token in candidates], dtype=np.int32)
        is_merged = np.isin(ids, pairs) | np.isin(ids, results)
        return {t.content for t, merged in zip(candidates, is_merged, strict=True) if not merged}


def _joins(numeric_cuts: Literal["each", "runs"], left: str, right: str) -> bool:
    """Return whether a piece may go on from ``left`` to ``right``."""
    is_numeric = left[-1:] in NUMERIC_LETTERS, right[:1] in NUMERIC_LETTERS
    return is_numeric == (False, False) or (numeric_cuts == "runs" and is_numeric == (True, True))


def _spell(
    spellings: list[str], alphabet: Literal["bytes", "characters"]
) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Return the numbers of bytes of all tokens, and their bytes one after another.

    A token that is not spelled in letters that stand for bytes has the number of its letters,
    negative, and as many bytes that mean nothing.
    """
    if alphabet == "characters":
        encoded = [*map(str.encode, spellings)]
        lengths = np.fromiter(map(len, encoded), np.int64, len(encoded))
        return lengths, np.frombuffer(b"".join(encoded), dtype=np.uint8)
    lengths = np.fromiter(map(len, spellings), np.int64, len(spellings))
    letters = np.frombuffer("".join(spellings).encode("utf-32-le"), dtype=np.uint32)
    found = _BYTES_OF_LETTERS[np.minimum(letters, np.uint32(len(_BYTES_OF_LETTERS) - 1))]
    is_other = found == _NO_BYTE
    if is_other.any():
        owners = np.repeat(np.arange(len(lengths)), lengths)
        others = np.unique(owners[is_other])
        lengths[others] = -lengths[others]
    return lengths, found.astype(np.uint8)


def _arrange_tokens(
    ids: NDArray[np.int64],
    lengths: NDArray[np.int64],
    contents: NDArray[np.uint8],
    special_tokens: Mapping[str, int],
) -> tuple[TextArray, Offsets]:
    """Return contents and offsets by id: of the tokens given, and of the special tokens."""
    names = [*map(str.encode, special_tokens)]
    ids = np.concatenate([ids, np.fromiter(special_tokens.values(), np.int64, len(names))])
    lengths = np.concatenate([lengths, np.fromiter(map(len, names), np.int64, len(names))])
    contents = np.concatenate([contents, np.frombuffer(b"".join(names), dtype=np.uint8)])
    offsets = np.zeros(int(ids.max(initial=-1)) + 2, dtype=np.int64)
    offsets[ids + 1] = lengths
    np.cumsum(offsets, out=offsets)
    text = allocate_text(len(contents))
    if (np.diff(ids) > 0).all():
        text[: len(contents)] = contents
    else:
        starts = np.cumsum(lengths) - lengths
        shifts = np.repeat(offsets[ids] - starts, lengths)
        text[np.arange(len(contents)) + shifts] = contents
    return text, offsets

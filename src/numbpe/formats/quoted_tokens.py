"""The tokens of a vocabulary in quotes, and what JSON files make of them: ids by token, and merges."""

from collections.abc import Mapping
from json.encoder import encode_basestring
from typing import Final

import numpy as np
from numpy.typing import NDArray

from numbpe.arrays import Offsets
from numbpe.formats.byte_alphabet import LETTERS
from numbpe_kernels.copying import COPY_NBYTES
from numbpe_kernels.json_tokens import (
    MEMBER_NBYTES,
    PAIR_NBYTES,
    json_quote_tokens,
    json_write_ids,
    json_write_pairs,
)


def quote(text: str) -> bytes:
    """Return ``text`` as a JSON string in UTF-8, in which only what must be is escaped."""
    return encode_basestring(text).encode()


_LETTERS: Final = np.array(
    [int.from_bytes(quote(letter)[1:-1], "little") for letter in LETTERS], dtype=np.uint16
)
"""Of each byte, the bytes of its letter in a JSON string; none has more than two."""


class QuotedTokens:
    """Tokens by id, each in quotes, in one array.

    text : uint8, and behind it COPY_NBYTES of no use; bounds : (n, 2) int64, where each begins and ends
    """

    def __init__(self, text: NDArray[np.uint8], bounds: NDArray[np.int64]) -> None:
        self._text = text
        self._bounds = bounds

    @classmethod
    def from_bytes(
        cls, contents: NDArray[np.uint8], offsets: Offsets, names: Mapping[str, int]
    ) -> "QuotedTokens":
        """Return tokens spelled in the letters of bytes, but for ``names``, ids by spelling."""
        bounds = np.zeros((len(offsets) - 1, 2), dtype=np.int64)
        quoted_names = [quote(name) for name in names]
        n_most = 2 * int(offsets[-1]) + 2 * len(bounds)
        n_names = sum(map(len, quoted_names))
        text = np.empty(n_most + n_names + COPY_NBYTES, dtype=np.uint8)
        json_quote_tokens(contents, offsets, _LETTERS, bounds, text)
        end = int(bounds[-1, 1]) if len(bounds) else 0
        for id, name in zip(names.values(), quoted_names, strict=True):
            text[end : end + len(name)] = np.frombuffer(name, dtype=np.uint8)
            bounds[id] = end, end + len(name)
            end += len(name)
        return cls(text, bounds)

    @classmethod
    def from_spellings(cls, spellings: list[str]) -> "QuotedTokens":
        """Return tokens by their spellings; one that is empty is not in use."""
        quoted = [quote(spelling) if spelling else b"" for spelling in spellings]
        ends = np.cumsum([0, *map(len, quoted)], dtype=np.int64)
        text = np.frombuffer(bytearray(b"".join(quoted)) + bytearray(COPY_NBYTES), dtype=np.uint8)
        return cls(text, np.stack([ends[:-1], ends[1:]], axis=1))

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The bytes of each token, 0 for one that is not in use."""
        lengths: NDArray[np.int64] = self._bounds[:, 1] - self._bounds[:, 0]
        return lengths

    def write_ids(self, ids: NDArray[np.int64]) -> bytes:
        """Return the JSON object of the ids of some tokens, in this order."""
        n_most = int(self.lengths[ids].sum()) + MEMBER_NBYTES * len(ids)
        text = np.empty(n_most + COPY_NBYTES, dtype=np.uint8)
        n_bytes = json_write_ids(self._text, self._bounds, ids, text)
        return b"{" + text[: max(0, n_bytes - 2)].tobytes() + b"}"

    def write_pairs(self, pairs: NDArray[np.int32]) -> bytes:
        """Return the JSON list of pairs of tokens, each a list of two strings."""
        wide = pairs.astype(np.int64)
        n_most = int(self.lengths[wide].sum()) + PAIR_NBYTES * len(pairs)
        text = np.empty(n_most + COPY_NBYTES, dtype=np.uint8)
        n_bytes = json_write_pairs(self._text, self._bounds, wide, text)
        return b"[" + text[: max(0, n_bytes - 2)].tobytes() + b"]"

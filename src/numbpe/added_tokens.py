"""Finding added tokens in text: leftmost, then longest, with their rules for what stands beside.

Positions are bytes of UTF-8. UTF-8 synchronises itself, so a match of whole characters in bytes is
one in the text.
"""

from typing import Final, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from numbpe.arrays import TextArray
from numbpe.definition import TokenizerDefinition
from numbpe.errors import ArgumentError, shorten_value
from numbpe.special_tokens import SpecialTokenFinder

SpecialPolicy: TypeAlias = Literal["allow", "text", "error"]
"""What becomes of text that spells a special token: the special token's id, the ids of its letters
like any text, or an error."""

_POLICIES: Final = get_args(SpecialPolicy)


def check_policy(special: object) -> None:
    """Raise ArgumentError if ``special`` is no :data:`SpecialPolicy`."""
    if special not in _POLICIES:
        raise ArgumentError(
            f"special must be one of {', '.join(map(repr, _POLICIES))}, "
            f"not {shorten_value(special)}"
        )


class AddedTokenMatcher:
    """Finds the added tokens of a tokenizer; never changes."""

    def __init__(self, definition: TokenizerDefinition) -> None:
        self.has_normalized = False
        """Whether :meth:`find_normalized` may find something."""
        self._finder = SpecialTokenFinder({t.content: t.id for t in definition.added_tokens})

    def find(
        self, text: TextArray, start: int, stop: int, special: SpecialPolicy
    ) -> NDArray[np.int64]:
        """Return the (m, 3) starts, stops and ids of the tokens in the raw text[start:stop].

        Raises ArgumentError under the policy ``"error"`` if one of them is special.
        """
        if special == "text":
            return np.empty((0, 3), dtype=np.int64)
        data = text[start:stop].tobytes()
        matches = list(self._finder.find(data))
        if matches and special == "error":
            first, last, _ = matches[0]
            raise ArgumentError(
                f"the text spells the special token {shorten_value(data[first:last].decode())} "
                f'at byte {first}; pass special="allow" to take it as one, '
                'or special="text" to take it as text'
            )
        found = np.array(matches, dtype=np.int64).reshape(-1, 3)
        found[:, :2] += start
        return found

    def find_normalized(
        self, text: TextArray, start: int, stop: int, special: SpecialPolicy
    ) -> NDArray[np.int64]:
        """Return the same for those that are looked for in normalized text."""
        return np.empty((0, 3), dtype=np.int64)

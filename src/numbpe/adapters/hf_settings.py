"""Truncation and padding as ``tokenizers`` keeps them in a tokenizer."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

from numbpe.adapters.hf_encoding import HfEncoding, check_direction
from numbpe.errors import ArgumentError, shorten_value

Direction = Literal["right", "left"]
Strategy = Literal["longest_first", "only_first", "only_second"]


@dataclass(frozen=True)
class Truncation:
    """To how many tokens texts are cut, those of a template counted in."""

    max_length: int
    stride: int = 0
    strategy: Strategy = "longest_first"
    direction: Direction = "right"

    def __post_init__(self) -> None:
        _check_count("max_length", self.max_length)
        _check_count("stride", self.stride)
        check_direction(self.direction)
        if self.strategy not in ("longest_first", "only_first", "only_second"):
            raise ArgumentError(
                f"Unknown `strategy`: `{self.strategy}`. Use one of `longest_first`, "
                "`only_first`, or `only_second`"
            )

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as ``Tokenizer.truncation`` shows them."""
        return asdict(self)

    def to_document(self) -> dict[str, Any]:
        """Return the settings as a tokenizer.json holds them."""
        return {
            "direction": self.direction.capitalize(),
            "max_length": self.max_length,
            "strategy": "".join(word.capitalize() for word in self.strategy.split("_")),
            "stride": self.stride,
        }

    def apply(self, first: HfEncoding, second: HfEncoding | None, n_added: int) -> None:
        """Cut a text or a pair of texts, to which ``n_added`` ids will be added.

        Raises ArgumentError where the limit leaves no room for that, or the strategy cannot be
        followed.
        """
        limit = self.max_length - n_added
        if limit < 0:
            raise ArgumentError(
                f"cannot cut texts to max_length={self.max_length}: {n_added} special tokens are "
                "added to each; call enable_truncation with more, or encode with "
                "add_special_tokens=False"
            )
        n_first, n_second = len(first), len(second) if second is not None else 0
        excess = n_first + n_second - limit
        if excess <= 0 and limit > 0:
            return
        if limit == 0:
            n_first = n_second = 0
        elif self.strategy == "longest_first":
            if second is None:
                n_first = limit
            else:
                n_first, n_second = _share(n_first, n_second, limit)
        elif self.strategy == "only_first":
            n_first = self._shorten(n_first, excess)
        elif second is None:
            raise ArgumentError("Truncation error: Second sequence not provided")
        else:
            n_second = self._shorten(n_second, excess)
        first.truncate(n_first, self.stride, self.direction)
        if second is not None:
            second.truncate(n_second, self.stride, self.direction)

    def _shorten(self, n_tokens: int, excess: int) -> int:
        if n_tokens <= excess:
            raise ArgumentError(
                "Truncation error: Sequence to truncate too short to respect the provided "
                f"max_length: it has {n_tokens} tokens, {excess} too many"
            )
        return n_tokens - excess


@dataclass(frozen=True)
class Padding:
    """To how many tokens texts are filled up: ``length``, or as many as the longest one has."""

    direction: Direction = "right"
    pad_id: int = 0
    pad_type_id: int = 0
    pad_token: str = "[PAD]"
    length: int | None = None
    pad_to_multiple_of: int | None = None

    def __post_init__(self) -> None:
        check_direction(self.direction)
        _check_count("pad_id", self.pad_id)
        _check_count("pad_type_id", self.pad_type_id)
        for name in ("length", "pad_to_multiple_of"):
            if getattr(self, name) is not None:
                _check_count(name, getattr(self, name))

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as ``Tokenizer.padding`` shows them."""
        return asdict(self)

    def to_document(self) -> dict[str, Any]:
        """Return the settings as a tokenizer.json holds them."""
        return {
            "strategy": "BatchLongest" if self.length is None else {"Fixed": self.length},
            "direction": self.direction.capitalize(),
            "pad_to_multiple_of": self.pad_to_multiple_of,
            "pad_id": self.pad_id,
            "pad_type_id": self.pad_type_id,
            "pad_token": self.pad_token,
        }

    def apply(self, encodings: list[HfEncoding]) -> None:
        """Fill encodings up, all to the same length."""
        length = self.length
        if length is None:
            length = max(map(len, encodings), default=0)
        if self.pad_to_multiple_of:
            length = -(-length // self.pad_to_multiple_of) * self.pad_to_multiple_of
        for encoding in encodings:
            encoding.pad(length, self.direction, self.pad_id, self.pad_type_id, self.pad_token)


def _share(n_first: int, n_second: int, limit: int) -> tuple[int, int]:
    """Return how many tokens of each text of a pair stay: the longer one loses first."""
    shorter, longer = min(n_first, n_second), max(n_first, n_second)
    longer = shorter if shorter > limit else max(shorter, limit - shorter)
    if shorter + longer > limit:
        shorter = limit // 2
        longer = shorter + limit % 2
    return (longer, shorter) if n_first > n_second else (shorter, longer)


def _check_count(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ArgumentError(
            f"{name} must be a whole number of 0 or more, not {shorten_value(value)}"
        )

"""What makes two vocabularies comparable: bits for each byte of text, and work for each token."""

import math
from dataclasses import dataclass

from numbpe.errors import ArgumentError
from numbpe.torch.language_model import ModelSettings


def convert_to_bits_per_byte(nats: float, n_targets: int, n_tokens: int, n_bytes: int) -> float:
    """Return the cost of a text for each of its bytes that predicted tokens stand for.

    The first token of a text is given, and not every other one may have been predicted; the bytes
    are taken to be spread evenly over tokens.

    Args:
        nats: cost of all predicted tokens.
        n_targets: how many those are.
        n_tokens: how many tokens the text has.
        n_bytes: its length in UTF-8.

    Raises ArgumentError if there is nothing to divide by.

    Example:
        >>> convert_to_bits_per_byte(nats=10 * math.log(2), n_targets=10, n_tokens=11, n_bytes=40)
        0.25
    """
    if n_targets < 1 or n_tokens < 2 or n_bytes < 1:
        raise ArgumentError(
            f"cannot measure bits per byte of {n_targets} predicted tokens out of {n_tokens} and "
            f"{n_bytes} bytes; give a longer text"
        )
    covered = n_bytes * n_targets / (n_tokens - 1)
    return nats / math.log(2) / covered


def count_macs(settings: ModelSettings, n_rows: int, *, is_chained: bool) -> int:
    """Return the multiplications of one token on its way forward.

    12 width^2 for each block, attention over half the context on average, the scores of all rows,
    and the three links of a chain. Tables are looked up, which multiplies nothing.
    """
    width, n_layers = settings.width, settings.n_layers
    body = 12 * width**2 * n_layers + 2 * n_layers * settings.context * width
    return body + n_rows * width + (9 * width**2 if is_chained else 0)


@dataclass(frozen=True)
class Evaluation:
    """What a text costs a model.

    nats: of each factor of a token (one, for ids), all predicted tokens together.
    """

    nats: tuple[float, ...]
    n_targets: int
    n_tokens: int
    n_bytes: int

    @property
    def nats_per_token(self) -> float:
        """The mean cost of a token."""
        return sum(self.nats) / self.n_targets

    @property
    def bits_per_byte(self) -> float:
        """The cost of the text for each byte."""
        return sum(self.factor_bits_per_byte)

    @property
    def factor_bits_per_byte(self) -> tuple[float, ...]:
        """The same, for each factor."""
        counts = (self.n_targets, self.n_tokens, self.n_bytes)
        return tuple(convert_to_bits_per_byte(nats, *counts) for nats in self.nats)

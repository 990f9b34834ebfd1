"""Random choice by scores."""

from __future__ import annotations  # documentation is built without PyTorch

import torch
from torch import Tensor

from numbpe.errors import ArgumentError


def draw(scores: Tensor, temperature: float, generator: torch.Generator | None) -> Tensor:
    """Return a choice for each row of logits: (..., n) -> (...) int64.

    temperature: what scores are divided by; 0 takes the greatest. Raises ArgumentError if it is
    negative.
    """
    if not temperature >= 0:
        raise ArgumentError(
            f"cannot sample at temperature {temperature}; give a positive number, or 0 for the "
            "likeliest choice"
        )
    if temperature == 0:
        return scores.argmax(-1)
    probabilities = torch.softmax(scores.float() / temperature, dim=-1)
    chosen = torch.multinomial(probabilities.flatten(0, -2), 1, generator=generator)
    return chosen.view(scores.shape[:-1])

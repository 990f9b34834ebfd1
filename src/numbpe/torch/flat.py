"""The head of an ordinary vocabulary: one softmax, tied to the embedding."""

from __future__ import annotations  # documentation is built without PyTorch

import torch
from torch import Tensor, nn
from torch.nn import functional

from numbpe.torch.sampling import draw


class FlatHead(nn.Module):
    """Predicts a token id with the table of an embedding.

    Args:
        embedding: whose table scores.

    Example:
        >>> head = FlatHead(embedding)
        >>> loss = head(states, ids).sum(-1).mean()
    """

    def __init__(self, embedding: nn.Embedding) -> None:
        super().__init__()
        self.embedding = embedding

    def forward(self, states: Tensor, ids: Tensor) -> Tensor:
        """Return minus the logarithm of the probability of each id, in nats.

        states (..., width) and ids (...) integers -> (..., 1): as the head of tuples, with a
        single factor.
        """
        scores = functional.linear(states, self.embedding.weight)
        costs = functional.cross_entropy(
            scores.flatten(0, -2), ids.flatten().long(), reduction="none"
        )
        return costs.view(*ids.shape, 1)

    @torch.no_grad()
    def sample(
        self,
        states: Tensor,
        *,
        temperature: float = 1.0,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Return a random id for each state: (..., width) -> (...) int64.

        temperature, generator: as of :meth:`numbpe.torch.ChainedHead.sample`.
        """
        scores = functional.linear(states, self.embedding.weight)
        return draw(scores, temperature, generator)

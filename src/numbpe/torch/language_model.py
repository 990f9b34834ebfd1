"""A small GPT that takes either kind of vocabulary.

Pre-norm blocks with rotary positions, RMSNorm, normalized queries and keys, SwiGLU and no biases.
"""

from __future__ import annotations  # documentation is built without PyTorch

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from numbpe.errors import ArgumentError
from numbpe.torch.factors import ChainedHead, FactoredEmbedding, LegalVariations, Sizes
from numbpe.torch.flat import FlatHead

ROTARY_BASE = 10_000.0


@dataclass(frozen=True)
class ModelSettings:
    """The shape of a model: width of its states, blocks, heads, and the longest text in tokens."""

    width: int = 256
    n_layers: int = 4
    n_heads: int = 4
    context: int = 256

    def __post_init__(self) -> None:
        if min(self.width, self.n_layers, self.n_heads, self.context) < 1:
            raise ArgumentError(f"cannot make a model with {self}; give positive numbers")
        if self.width % (2 * self.n_heads):
            raise ArgumentError(
                f"cannot split width {self.width} into {self.n_heads} heads of an even width; give "
                f"a multiple of {2 * self.n_heads}"
            )


class Attention(nn.Module):
    """Causal self-attention with rotary positions and normalized queries and keys."""

    def __init__(self, settings: ModelSettings) -> None:
        super().__init__()
        width, self.n_heads = settings.width, settings.n_heads
        self.query = nn.Linear(width, width, bias=False)
        self.key = nn.Linear(width, width, bias=False)
        self.value = nn.Linear(width, width, bias=False)
        self.output = nn.Linear(width, width, bias=False)
        self.query_norm = nn.RMSNorm(width // self.n_heads)
        self.key_norm = nn.RMSNorm(width // self.n_heads)

    def forward(self, states: Tensor, rotations: Tensor) -> Tensor:
        """Return what each place takes from those up to it: (batch, time, width) -> the same.

        rotations: (2, time, head width / 2), cosines and sines.
        """
        shape = (*states.shape[:-1], self.n_heads, -1)
        query = _rotate(self.query_norm(self.query(states).view(shape)).transpose(1, 2), rotations)
        key = _rotate(self.key_norm(self.key(states).view(shape)).transpose(1, 2), rotations)
        value = self.value(states).view(shape).transpose(1, 2)
        mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.output(mixed.transpose(1, 2).flatten(-2))


class GatedNetwork(nn.Module):
    """SwiGLU with the parameters of a network four times as wide."""

    def __init__(self, settings: ModelSettings) -> None:
        super().__init__()
        hidden = max(32, 32 * round(8 * settings.width / 96))
        self.gate = nn.Linear(settings.width, hidden, bias=False)
        self.up = nn.Linear(settings.width, hidden, bias=False)
        self.output = nn.Linear(hidden, settings.width, bias=False)

    def forward(self, states: Tensor) -> Tensor:
        """Return the network's answer to each state: (..., width) -> the same."""
        return self.output(functional.silu(self.gate(states)) * self.up(states))


class Block(nn.Module):
    """Attention, then a network, each added to the state it reads a norm of."""

    def __init__(self, settings: ModelSettings) -> None:
        super().__init__()
        self.attention_norm = nn.RMSNorm(settings.width)
        self.attention = Attention(settings)
        self.network_norm = nn.RMSNorm(settings.width)
        self.network = GatedNetwork(settings)

    def forward(self, states: Tensor, rotations: Tensor) -> Tensor:
        """Return the states after the block: (batch, time, width) -> the same."""
        states = states + self.attention(self.attention_norm(states), rotations)
        return states + self.network(self.network_norm(states))


class LanguageModel(nn.Module):
    """A GPT between an embedding and the head that is tied to it.

    Args:
        vocabulary: a number of token ids, for an ordinary vocabulary; or ``tokenizer.sizes`` of a
            combinatorial one, for a :class:`FactoredEmbedding` and a :class:`ChainedHead`.
        settings: the shape of the model.

    Example:
        >>> model = LanguageModel((3, 108, 16_193, 80), ModelSettings())
        >>> loss = model.loss(torch.tensor(rows[None, :257]))  # nats for each token
        >>> loss.backward()
    """

    def __init__(self, vocabulary: int | Sizes, settings: ModelSettings) -> None:
        super().__init__()
        self.settings = settings
        if isinstance(vocabulary, int):
            self.embedding = nn.Embedding(vocabulary, settings.width)
            self.head = FlatHead(self.embedding)
        else:
            self.embedding = FactoredEmbedding(vocabulary, settings.width)
            self.head = ChainedHead(self.embedding)
        self.blocks = nn.ModuleList(Block(settings) for _ in range(settings.n_layers))
        self.norm = nn.RMSNorm(settings.width)
        rotations = _make_rotations(settings.context, settings.width // settings.n_heads)
        self.register_buffer("rotations", rotations, persistent=False)
        self._initialize()

    def _initialize(self) -> None:
        residual = 0.02 / math.sqrt(2 * self.settings.n_layers)
        for name, layer in self.named_modules():
            if isinstance(layer, (nn.Linear, nn.Embedding)):
                is_output = name.endswith("output")
                nn.init.normal_(layer.weight, std=residual if is_output else 0.02)

    @property
    def is_factored(self) -> bool:
        """Whether tokens are tuples."""
        return isinstance(self.head, ChainedHead)

    def forward(self, tokens: Tensor) -> Tensor:
        """Return the state after each token: (batch, time[, 4]) -> (batch, time, width).

        Raises ArgumentError if there are more tokens than the context has places.
        """
        n_tokens = tokens.shape[1]
        if n_tokens > self.settings.context:
            raise ArgumentError(
                f"cannot read {n_tokens} tokens at once: the context of this model is "
                f"{self.settings.context}; cut the text, or make a model with a longer one"
            )
        states = self.embedding(tokens)
        rotations = self.rotations[:, :n_tokens]
        for block in self.blocks:
            states = block(states, rotations)
        return self.norm(states)

    def measure(self, tokens: Tensor) -> Tensor:
        """Return what the tokens after the first cost, in nats, factor by factor.

        (batch, time[, 4]) -> (batch, time - 1, 4 or 1)
        """
        return self.head(self(tokens[:, :-1]), tokens[:, 1:])

    def loss(self, tokens: Tensor) -> Tensor:
        """Return the mean cost of the tokens after the first, in nats for each token."""
        return self.measure(tokens).sum(-1).mean()

    @torch.no_grad()
    def generate(
        self,
        tokens: Tensor,
        n_tokens: int,
        legal_variations: LegalVariations | None = None,
        *,
        temperature: float = 1.0,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Return tokens and ``n_tokens`` random ones after them, each drawn after those before.

        Args:
            tokens: (batch, time[, 4]), at least one of time; the last ``context`` are read.
            n_tokens: how many to add.
            legal_variations, temperature, generator: as of :meth:`ChainedHead.sample`; ids have no
                variations.
        """
        options: dict[str, object] = {"temperature": temperature, "generator": generator}
        if self.is_factored:
            options["legal_variations"] = legal_variations
        for _ in range(n_tokens):
            state = self(tokens[:, -self.settings.context :])[:, -1]
            drawn = self.head.sample(state, **options)
            tokens = torch.cat([tokens, drawn[:, None].to(tokens.dtype)], dim=1)
        return tokens


def _make_rotations(context: int, head_width: int) -> Tensor:
    """Return cosines and sines of the angles of all places: (2, context, head_width / 2)."""
    half = head_width // 2
    speeds = ROTARY_BASE ** (-torch.arange(half, dtype=torch.float64) / half)
    angles = torch.arange(context, dtype=torch.float64)[:, None] * speeds
    return torch.stack([angles.cos(), angles.sin()]).float()


def _rotate(vectors: Tensor, rotations: Tensor) -> Tensor:
    """Return vectors turned by the angles of their places: (..., time, head_width)."""
    cosines, sines = rotations
    first, second = vectors.chunk(2, dim=-1)
    return torch.cat([first * cosines - second * sines, first * sines + second * cosines], dim=-1)

"""Tuples into a model and out of it: four tables that are added up, four softmaxes in a chain.

A token is a row (variation, prefix, core, suffix). The embedding is the sum of one vector for each
factor. The head predicts the factors one after another, each from the state and from what was
predicted before, so that their probabilities multiply to a distribution over tuples; its
matrices are the tables of the embedding. After the model of Combinatorial BPE
(github.com/SwayStar123/CombinatorialBPE, ``experiments/lm.py``).
"""

from __future__ import annotations  # documentation is built without PyTorch

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from numbpe.errors import ArgumentError, DataError, shorten_value
from numbpe.torch.sampling import draw

FACTORS: Final = ("variation", "prefix", "core", "suffix")
"""The columns of a row."""

VARIATION, PREFIX, CORE, SUFFIX = range(4)

PREFIX_FIRST: Final = (PREFIX, CORE, VARIATION, SUFFIX)
"""The order in which a chain predicts factors: the one that its authors found best."""

Sizes: TypeAlias = Mapping[str, int] | Sequence[int]
LegalVariations: TypeAlias = "NDArray[np.bool_] | Tensor"


class FactoredEmbedding(nn.Module):
    """The sum of the vectors of a tuple's four factors.

    Args:
        sizes: how many rows the tables have: ``tokenizer.sizes``, or four numbers in the order
            variation, prefix, core, suffix.
        width: length of a vector.

    Raises ArgumentError if sizes are not four positive numbers.

    Example:
        >>> embedding = FactoredEmbedding((3, 108, 16_193, 80), width=512)
        >>> embedding(torch.tensor([[1, 1, 300, 2]])).shape
        torch.Size([1, 512])
    """

    def __init__(self, sizes: Sizes, width: int) -> None:
        super().__init__()
        self.sizes = read_sizes(sizes)
        self.width = width
        self.tables = nn.ModuleList(nn.Embedding(size, width) for size in self.sizes)
        for table in self.tables:
            nn.init.normal_(table.weight, std=0.02)

    def forward(self, rows: Tensor) -> Tensor:
        """Return the vectors of rows: (..., 4) integers -> (..., width).

        Raises DataError if rows have another shape or type, or an id that no table has; ids are
        looked at on the CPU only, where that does not stop the device.
        """
        check_rows(rows, self.sizes)
        vectors = self.tables[0](rows[..., 0])
        for factor in range(1, len(FACTORS)):
            vectors = vectors + self.tables[factor](rows[..., factor])
        return vectors


class ChainedHead(nn.Module):
    """Predicts prefix, core, variation and suffix in a chain, with the tables of an embedding.

    The first factor is scored from the model's state g. Then, for every further one, g grows by a
    small network of g and of the vector of the factor before, and a normalized g is scored.

    Args:
        embedding: whose tables score, so that they are trained from both sides.
        order: the columns in the order of their prediction.

    Raises ArgumentError if the order is not one of all four columns.

    Example:
        >>> head = ChainedHead(embedding)
        >>> loss = head(states, rows).sum(-1).mean()  # nats for each token
        >>> rows = head.sample(states, legal_variations)
    """

    def __init__(self, embedding: FactoredEmbedding, order: Sequence[int] = PREFIX_FIRST) -> None:
        super().__init__()
        if sorted(order) != list(range(len(FACTORS))):
            raise ArgumentError(
                f"cannot predict the factors of a tuple in the order {shorten_value(order)}; give "
                f"the four columns 0 to 3 ({', '.join(FACTORS)}), each once"
            )
        self.embedding = embedding
        self.order = tuple(order)
        width, n_links = embedding.width, len(FACTORS) - 1
        self.links = nn.ModuleList(_make_link(width) for _ in range(n_links))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(n_links))

    def forward(
        self, states: Tensor, rows: Tensor, legal_variations: LegalVariations | None = None
    ) -> Tensor:
        """Return minus the logarithm of the probability of each factor, in nats.

        Args:
            states: (..., width), what the model knows before each token.
            rows: (..., 4) integers, the tokens; later factors are scored as after these ones.
            legal_variations: see :meth:`sample`; probabilities are those among legal tuples.

        Returns:
            (..., 4) in the order of columns; a tuple's cost is the sum of the last axis. It is
            infinite for a tuple that is not legal.
        """
        check_rows(rows, self.embedding.sizes)
        legal = self._read_legal(legal_variations, states.device)
        costs: dict[int, Tensor] = {}
        known: dict[int, Tensor] = {}
        state = states
        for place, factor in enumerate(self.order):
            state = self._advance(state, place, known)
            allowed = _find_allowed(factor, known, legal)
            known[factor] = rows[..., factor].long()
            costs[factor] = _measure(self._score(state, place), known[factor], allowed)
        return torch.stack([costs[factor] for factor in range(len(FACTORS))], dim=-1)

    @torch.no_grad()
    def sample(
        self,
        states: Tensor,
        legal_variations: LegalVariations | None = None,
        *,
        temperature: float = 1.0,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Return a random tuple for each state: (..., width) -> (..., 4) int64.

        Args:
            states: what the model knows before each token.
            legal_variations: (n_core, n_var) bool, which variations of which core mean something;
                no other is drawn, whatever the order of the chain. None: all of them.
            temperature: what scores are divided by; 0 takes the likeliest value of each factor.
            generator: where randomness comes from.

        Raises ArgumentError if the table has another shape or type, or allows nothing; also if
        the temperature is negative.
        """
        legal = self._read_legal(legal_variations, states.device)
        known: dict[int, Tensor] = {}
        state = states
        for place, factor in enumerate(self.order):
            state = self._advance(state, place, known)
            scores = self._score(state, place)
            allowed = _find_allowed(factor, known, legal)
            if allowed is not None:
                scores = scores.masked_fill(~allowed, -torch.inf)
            known[factor] = draw(scores, temperature, generator)
        return torch.stack([known[factor] for factor in range(len(FACTORS))], dim=-1)

    def _advance(self, state: Tensor, place: int, known: dict[int, Tensor]) -> Tensor:
        """Return the state that also knows of the factor before this place."""
        if place == 0:
            return state
        before = self.order[place - 1]
        vector = self.embedding.tables[before](known[before])
        return state + self.links[place - 1](torch.cat([state, vector], dim=-1))

    def _score(self, state: Tensor, place: int) -> Tensor:
        """Return logits (..., size) of the factor at a place of the chain."""
        normalized = state if place == 0 else self.norms[place - 1](state)
        return functional.linear(normalized, self.embedding.tables[self.order[place]].weight)

    def _read_legal(
        self, legal_variations: LegalVariations | None, device: torch.device
    ) -> Tensor | None:
        if legal_variations is None:
            return None
        is_array = isinstance(legal_variations, np.ndarray)
        # A tokenizer's table must not be written to, which PyTorch warns of unless it is copied.
        legal = torch.as_tensor(
            legal_variations.copy() if is_array else legal_variations, device=device
        )
        shape = (self.embedding.sizes[CORE], self.embedding.sizes[VARIATION])
        if legal.dtype != torch.bool or tuple(legal.shape) != shape:
            raise ArgumentError(
                f"cannot use legal_variations of shape {tuple(legal.shape)} and type {legal.dtype}: "
                f"these tables need {shape}, (n_core, n_var), of bool"
            )
        if not legal.any():
            raise ArgumentError("cannot use legal_variations: no core has any")
        return legal


def read_sizes(sizes: Sizes) -> tuple[int, int, int, int]:
    """Return the sizes of the four tables in the order of columns; ArgumentError if they are not."""
    wanted = isinstance(sizes, Mapping) and set(sizes) == set(FACTORS)
    values = [sizes[factor] for factor in FACTORS] if wanted else sizes  # type: ignore[call-overload]
    if not isinstance(values, Sequence) or len(values) != len(FACTORS) or min(values) < 1:
        raise ArgumentError(
            f"cannot make tables of the sizes {shorten_value(sizes)}; give tokenizer.sizes, or "
            f"four positive numbers: {', '.join(FACTORS)}"
        )
    variation, prefix, core, suffix = (int(value) for value in values)
    return variation, prefix, core, suffix


def check_rows(rows: Tensor, sizes: Sequence[int]) -> None:
    """Raise DataError if a tensor does not hold rows of tables of these sizes."""
    if rows.dtype not in (torch.int32, torch.int64) or rows.dim() < 1 or rows.shape[-1] != 4:
        raise DataError(
            f"cannot use rows of shape {tuple(rows.shape)} and type {rows.dtype}; a row is "
            f"{', '.join(FACTORS)}: (..., 4) of int32 or int64"
        )
    if rows.device.type != "cpu" or rows.numel() == 0:
        return
    flat = rows.reshape(-1, len(FACTORS))
    bad = (flat < 0) | (flat >= torch.tensor(sizes))
    if bad.any():
        row, factor = bad.nonzero()[0].tolist()
        raise DataError(
            f"cannot use row {row}: its {FACTORS[factor]} is {int(flat[row, factor])}, and there "
            f"are {sizes[factor]}, from 0"
        )


def _make_link(width: int) -> nn.Sequential:
    """Return the network that tells a state of the factor that was predicted before."""
    link = nn.Sequential(
        nn.LayerNorm(2 * width),
        nn.Linear(2 * width, width, bias=False),
        nn.GELU(),
        nn.Linear(width, width, bias=False),
    )
    for layer in (link[1], link[3]):
        nn.init.normal_(layer.weight, std=0.02)
    return link


def _find_allowed(factor: int, known: dict[int, Tensor], legal: Tensor | None) -> Tensor | None:
    """Return which values of a factor some legal tuple has, after those known; None for all."""
    if legal is None:
        return None
    if factor == VARIATION:
        return legal[known[CORE]] if CORE in known else legal.any(0)
    if factor == CORE:
        return legal.T[known[VARIATION]] if VARIATION in known else legal.any(1)
    return None


def _measure(scores: Tensor, chosen: Tensor, allowed: Tensor | None) -> Tensor:
    """Return minus the logarithm of the probability of what was chosen; infinite if not allowed.

    scores (..., size), chosen (...), allowed (..., size) or (size,) -> (...)
    """
    if allowed is not None:
        # Where nothing is allowed, what was known before is not either, and its cost is infinite.
        usable = allowed | ~allowed.any(-1, keepdim=True)
        scores = scores.masked_fill(~usable, -torch.inf)
    costs = functional.cross_entropy(scores.flatten(0, -2), chosen.flatten(), reduction="none")
    costs = costs.view(chosen.shape)
    if allowed is None:
        return costs
    is_allowed = allowed.expand(scores.shape).gather(-1, chosen[..., None])[..., 0]
    return costs.masked_fill(~is_allowed, torch.inf)

"""Training a language model on the tokens of a text, and measuring it on those of another."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from numbpe.errors import ArgumentError
from numbpe.torch.language_model import LanguageModel
from numbpe.torch.measures import Evaluation
from numbpe.torch.optimizers import make_optimizers

Tokens = NDArray[np.signedinteger] | NDArray[np.unsignedinteger]
Report = Callable[[int, float], None]


@dataclass(frozen=True)
class TrainingSettings:
    """How to train: steps, texts of a step, greatest learning rate, seed of all randomness.

    The learning rate rises over the first twentieth of the steps, at most 200 of them, and falls
    to a tenth along a cosine. Gradients are cut to length one.
    """

    n_steps: int
    batch: int = 16
    lr: float = 4e-3
    seed: int = 0


def train_model(
    model: LanguageModel,
    tokens: Tokens,
    settings: TrainingSettings,
    report: Report | None = None,
) -> int:
    """Train a model on a text; return how many tokens it learned to predict.

    Args:
        model: changed in place.
        tokens: (n,) ids or (n, 4) rows; windows of ``context + 1`` that overlap by one, in random
            order, and again from the start if there are not enough.
        settings: how to train.
        report: called after every step with its number and its loss in nats for each token.

    Raises ArgumentError if the text does not fill a window.
    """
    context = model.settings.context
    starts = _find_windows(tokens, context)
    device = next(model.parameters()).device
    optimizers = make_optimizers(model, settings.lr)
    order = _shuffle_forever(len(starts), settings)
    model.train()
    for step in range(settings.n_steps):
        chosen = [starts[next(order)] for _ in range(settings.batch)]
        loss = model.loss(_gather(tokens, chosen, context).to(device))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimizer in optimizers:
            for group in optimizer.param_groups:
                group["lr"] = find_lr(step, settings)
            optimizer.step()
            optimizer.zero_grad()
        if report is not None:
            report(step, loss.item())
    return settings.n_steps * settings.batch * context


@torch.no_grad()
def evaluate_model(
    model: LanguageModel, tokens: Tokens, n_bytes: int, *, batch: int = 16
) -> Evaluation:
    """Return what a text costs a model, in windows that know nothing of each other.

    Args:
        model: a trained one.
        tokens: (n,) ids or (n, 4) rows of the whole text; the rest behind the last whole window is
            left out, and its bytes too.
        n_bytes: length of the text in UTF-8.
        batch: how many windows are looked at together.

    Raises ArgumentError if the text does not fill a window.
    """
    context = model.settings.context
    starts = _find_windows(tokens, context)
    device = next(model.parameters()).device
    model.eval()
    nats = torch.zeros(4 if model.is_factored else 1, dtype=torch.float64)
    for first in range(0, len(starts), batch):
        windows = _gather(tokens, starts[first : first + batch], context).to(device)
        nats += model.measure(windows).double().sum((0, 1)).cpu()
    n_targets = len(starts) * context
    return Evaluation(tuple(nats.tolist()), n_targets, len(tokens), n_bytes)


def find_lr(step: int, settings: TrainingSettings) -> float:
    """Return the learning rate of a step."""
    n_warm = min(200, max(1, settings.n_steps // 20))
    if step < n_warm:
        return settings.lr * (step + 1) / n_warm
    done = (step - n_warm) / max(1, settings.n_steps - n_warm)
    return settings.lr * (0.1 + 0.9 * 0.5 * (1 + math.cos(math.pi * done)))


def _find_windows(tokens: Tokens, context: int) -> list[int]:
    """Return where windows of ``context + 1`` tokens begin."""
    starts = list(range(0, len(tokens) - context, context))
    if not starts:
        raise ArgumentError(
            f"cannot cut {len(tokens)} tokens into windows of {context + 1}; give a longer text, or "
            "a model with a shorter context"
        )
    return starts


def _gather(tokens: Tokens, starts: list[int], context: int) -> Tensor:
    """Return windows as one tensor (batch, context + 1[, 4]) of int64."""
    windows = np.stack([tokens[start : start + context + 1] for start in starts])
    return torch.from_numpy(windows.astype(np.int64))


def _shuffle_forever(n_windows: int, settings: TrainingSettings) -> Iterator[int]:
    """Yield the numbers of windows, all of them in random order, then all in another one."""
    random = np.random.default_rng(settings.seed)
    while True:
        yield from random.permutation(n_windows).tolist()

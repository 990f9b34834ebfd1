"""Muon for the matrices inside a model, AdamW for the rest."""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn

COEFFICIENTS = (3.4445, -4.7750, 2.0315)
"""Of the polynomial that pushes singular values towards one, after Keller Jordan's Muon."""


class Muon(torch.optim.Optimizer):
    """Steps along the orthogonal matrix that is nearest to the momentum of a gradient.

    Args:
        parameters: matrices.
        lr: length of a step, for a matrix whose longer side is 25: the update is scaled by
            0.2 sqrt(longer side), so that its size is like that of AdamW.
        momentum: of the gradients, in Nesterov's form.
        weight_decay: how much of a matrix is taken off, times lr.
        n_iterations: of Newton's and Schulz's method.
    """

    def __init__(
        self,
        parameters: Iterable[Tensor],
        lr: float = 1e-3,
        momentum: float = 0.95,
        weight_decay: float = 0.1,
        n_iterations: int = 5,
    ) -> None:
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "weight_decay": weight_decay,
            "n_iterations": n_iterations,
        }
        super().__init__(parameters, defaults)

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:
        """Make one step; return what ``closure`` returns."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for matrix in group["params"]:
                if matrix.grad is not None:
                    self._step_matrix(matrix, group)
        return loss

    def _step_matrix(self, matrix: Tensor, group: dict[str, Any]) -> None:
        state = self.state[matrix]
        if "momentum" not in state:
            state["momentum"] = torch.zeros_like(matrix)
        momentum = state["momentum"]
        momentum.lerp_(matrix.grad, 1 - group["momentum"])
        update = orthogonalize(matrix.grad.lerp(momentum, group["momentum"]), group["n_iterations"])
        matrix.mul_(1 - group["lr"] * group["weight_decay"])
        matrix.add_(update, alpha=-group["lr"] * 0.2 * max(matrix.shape) ** 0.5)


def orthogonalize(matrix: Tensor, n_iterations: int = 5) -> Tensor:
    """Return a matrix with the same singular vectors and singular values near one."""
    is_tall = matrix.shape[0] > matrix.shape[1]
    flat = matrix.T if is_tall else matrix
    flat = flat / (flat.norm() + 1e-7)
    a, b, c = COEFFICIENTS
    for _ in range(n_iterations):
        square = flat @ flat.T
        flat = a * flat + (b * square + c * square @ square) @ flat
    return flat.T if is_tall else flat


def make_optimizers(model: nn.Module, lr: float) -> list[torch.optim.Optimizer]:
    """Return Muon for matrices that are no tables, AdamW for tables and norms."""
    tables = {id(layer.weight) for layer in model.modules() if isinstance(layer, nn.Embedding)}
    parameters = list(model.parameters())
    hidden = [each for each in parameters if each.dim() == 2 and id(each) not in tables]
    chosen = {id(each) for each in hidden}
    rest = [each for each in parameters if id(each) not in chosen]
    return [
        Muon(hidden, lr=lr),
        torch.optim.AdamW(rest, lr=lr, betas=(0.9, 0.95), weight_decay=0.0),
    ]

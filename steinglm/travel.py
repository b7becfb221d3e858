"""What happens to the layers along training: how far their weights have moved from the start, and their gradients."""

from collections.abc import Sequence

import pandas as pd
from torch import Tensor

from steinglm.diagnostics import Measured, Name, across_units, over_rows, tidy
from steinglm.mlp import Stack
from steinglm.signals import gradients
from steinglm.train import Losses, Rows

__all__ = ["TRAVELLED", "Travel", "travel_rows"]

TRAVELLED = ("weight_movement", "gradient_norm", "gradient_variance")


def travel_rows(
    networks: Stack, start: Stack, training: Rows, names: Sequence[Name], task: str
) -> pd.DataFrame:
    """How far K networks have moved from their start, and their gradients now, in the columns of `signals.signal_rows`.

    weight_movement is |W - W_start| / |W_start| (Frobenius) of each layer, the output layer too; gradient_norm and
    gradient_variance are those of `signal_rows`.
    """
    each = len(names) // len(training.X)
    x, y = training.X.repeat(each, 1, 1), training.y.repeat(each, 1, 1)
    found: list[Measured] = []
    for number, (W, origin) in enumerate(zip(networks.weights, start.weights, strict=True), start=1):
        found.append((number, "weight_movement", (_size(W - origin) / _size(origin))[:, None], False))
    for number, (backward, by_weight) in enumerate(gradients(networks, x, y, task), start=1):
        scalars = across_units("gradient_variance", over_rows(backward)[1])
        scalars["gradient_norm"] = _size(by_weight)
        found += [(number, quantity, values[:, None], False) for quantity, values in scalars.items()]
    return tidy(names, found)


def _size(W: Tensor) -> Tensor:
    """Frobenius norms (K,)."""
    return W.flatten(1).norm(dim=1)


class Travel:
    """Networks in training, looked at after epochs 0, 1, 2, 5, 10, 20, 50, ... and the last.

    networks : a stack that is trained in place
    training : float64 rows of each repeat, at which the gradients are taken
    """

    def __init__(self, networks: Stack, names: Sequence[Name], training: Rows, task: str) -> None:
        self.networks, self.names, self.training, self.task = networks, names, training, task
        self.start = self._current()
        self.found: list[pd.DataFrame] = []
        self.last: Losses | None = None

    def _current(self) -> Stack:
        return self.networks.like(self.networks.flat.double())

    def look(self, losses: Losses) -> None:
        """After an epoch."""
        self.last = losses
        if _due(losses.epoch):
            self._add(losses)

    def _add(self, losses: Losses) -> None:
        """Networks that had stopped before are left out: they go on with the others, and nobody asks where."""
        rows = travel_rows(self._current(), self.start, self.training, self.names, self.task)
        losses_by_name = zip(self.names, losses.training.tolist(), strict=True)
        running = {name for name, loss in losses_by_name if loss == loss}
        kept = [name in running for name in zip(rows["method"], rows["repeat"], strict=True)]
        self.found.append(rows[kept].assign(epoch=losses.epoch))

    def seen(self) -> list[pd.DataFrame]:
        """The rows of `travel_rows`, with their epoch, one table each time."""
        if self.last is not None and not _due(self.last.epoch):
            self._add(self.last)
        return self.found


def _due(epoch: int) -> bool:
    return str(epoch).rstrip("0") in ("", "1", "2", "5")

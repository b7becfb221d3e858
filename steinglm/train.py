"""The lock-step trainer: K networks of one shape trained together by Adam, a mini-batch at a time.

The networks stand on the leading axis of a `Stack`; a step runs through the buffers of `workspace` and allocates next
to nothing. Networks of the same repeat see the same rows in the same order, so that comparisons between them are
paired. Nothing here knows how they were initialized.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from steinglm.mlp import Stack
from steinglm.workspace import Workspaces

__all__ = ["LOSSES", "Losses", "Rows", "StopRules", "Trained", "evaluate", "fit", "predict"]


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of R repeats: X (R, n, d) and their responses y (R, n, C), one column an output unit."""

    X: Tensor
    y: Tensor


@dataclass(frozen=True)
class StopRules:
    """When a network stops before its last epoch: each network by itself, the run when all have stopped.

    target : a validation loss that is low enough
    patience : epochs without a new best validation loss
    seconds : of training, for the run as a whole
    """

    target: float | None = None
    patience: int | None = None
    seconds: float | None = None


@dataclass(frozen=True, eq=False)
class Losses:
    """After an epoch (0: before training): losses (K,); nan for a network that had stopped before it.

    The training loss is the mean over the epoch's mini-batches, each before its step; at epoch 0, over all rows.
    """

    epoch: int
    training: Tensor
    validation: Tensor


@dataclass(frozen=True, eq=False)
class Trained:
    """What is left after training: each network at its best validation loss, and the rule that stopped it."""

    best: Stack
    best_epoch: Tensor  # (K,)
    best_loss: Tensor  # (K,)
    stopped: tuple[str, ...]
    seconds: float


@dataclass(frozen=True)
class Loss:
    """A loss of the linear predictors z (K, C, b) of responses y: its mean over rows, and the gradient of that.

    The gradient d(mean)/dz is written into `out`.
    """

    mean: Callable[[Tensor, Tensor], Tensor]
    gradient: Callable[[Tensor, Tensor, Tensor], Tensor]


def _mse(z: Tensor, y: Tensor) -> Tensor:
    """The mean over rows and responses."""
    return (z - y).square_().flatten(1).mean(1)


def _mse_gradient(z: Tensor, y: Tensor, out: Tensor) -> Tensor:
    return torch.sub(z, y, out=out).mul_(2 / y[0].numel())


def _logistic(z: Tensor, y: Tensor) -> Tensor:
    return (torch.nn.functional.softplus(z) - y * z).flatten(1).mean(1)


def _logistic_gradient(z: Tensor, y: Tensor, out: Tensor) -> Tensor:
    return torch.sigmoid(z, out=out).sub_(y).div_(y.shape[2])


def _multinomial(z: Tensor, y: Tensor) -> Tensor:
    """y holds the indicators of the classes."""
    return (z.logsumexp(1) - (z * y).sum(1)).mean(1)


def _multinomial_gradient(z: Tensor, y: Tensor, out: Tensor) -> Tensor:
    return torch.softmax(z, 1, out=out).sub_(y).div_(y.shape[2])


LOSSES = {
    "regression": Loss(_mse, _mse_gradient),
    "binary": Loss(_logistic, _logistic_gradient),
    "multiclass": Loss(_multinomial, _multinomial_gradient),
}


@torch.no_grad()  # as a decorator it does not reach whoever reads the epochs
def fit(
    networks: Stack,
    training: Rows,
    validation: Rows,
    *,
    task: str,
    epochs: int,
    batch_size: int,
    learning_rate: float | Sequence[float],
    generators: Sequence[torch.Generator],
    stop: StopRules = StopRules(),
    checkpoint: Callable[[], None] | None = None,
    memory: dict[str, Tensor] | None = None,
) -> Iterator[Losses | Trained]:
    """Train a stack in place; yield the losses after each epoch (0 first), then what is left.

    Parameters
    ----------
    networks : K = methods x R networks, network k = method * R + repeat
    training, validation : rows of the R repeats
    learning_rate : of Adam; or a sequence of K, one a network
    generators : one a repeat; each draws the order of its repeat's mini-batches
    checkpoint : called after every mini-batch; whatever it raises ends the training
    memory : Adam's running averages, filled if empty and kept up to date, so that another call goes on from them
    """
    (X, y), held = (_units_first(rows) for rows in (training, validation))
    shuffled = torch.empty_like(X), torch.empty_like(y)
    gradients = networks.like(torch.zeros_like(networks.flat))
    spaces, loss = Workspaces(networks, len(training.X), gradients), LOSSES[task]
    parameter = torch.nn.Parameter(networks.flat, requires_grad=True)
    parameter.grad = gradients.flat
    rates = [learning_rate] if isinstance(learning_rate, float | int) else list(learning_rate)
    adam = torch.optim.Adam([parameter], lr=max(rates), fused=True)
    adam.state[parameter] = {} if memory is None else memory
    shares = None if len(set(rates)) == 1 else _shares(networks, rates)
    kept = torch.empty_like(networks.flat)
    progress = _Progress(networks, stop)
    yield progress.record(
        0,
        _mean_loss(spaces, X, y, loss, batch_size),
        _mean_loss(spaces, *held, loss, batch_size),
    )
    for epoch in range(1, epochs + 1):
        if progress.over:
            break
        start, waited = time.perf_counter(), 0.0
        total = networks.flat.new_zeros(len(networks.layers[0]))
        _shuffle(X, y, generators, shuffled)
        for batch in _batches(*shuffled, batch_size):
            for group in spaces.take(*batch):
                z = group.forward()
                total[group.networks] += loss.mean(z, group.y) * z.shape[2]
                loss.gradient(z, group.y, group.gz)
                group.backward()
            if shares is None:
                adam.step()
            else:  # Adam's step is proportional to its rate
                kept.copy_(networks.flat)
                adam.step()
                torch.lerp(kept, networks.flat, shares, out=networks.flat)
            if checkpoint is not None:
                before = time.perf_counter()
                checkpoint()
                waited += time.perf_counter() - before
        losses = total / y.shape[2], _mean_loss(spaces, *held, loss, batch_size)
        progress.seconds += time.perf_counter() - start - waited
        yield progress.record(epoch, *losses)
    yield progress.trained()


def _shares(networks: Stack, rates: Sequence[float]) -> Tensor:
    """For each parameter of the flat tensor, its network's rate as a share of the highest."""
    own = networks.like(torch.empty_like(networks.flat))
    share = own.flat.new_tensor(rates)[:, None, None] / max(rates)
    for part in own.layers:
        part.copy_(share.expand_as(part))
    return own.flat


def _units_first(rows: Rows) -> tuple[Tensor, Tensor]:
    """X (R, d, n) and y (R, C, n)."""
    return rows.X.transpose(1, 2).contiguous(), rows.y.transpose(1, 2).contiguous()


def _shuffle(X: Tensor, y: Tensor, generators: Sequence[torch.Generator], out: tuple[Tensor, Tensor]) -> None:
    """Write the rows of X (R, d, n) and y (R, C, n) into `out`, in an order of each repeat's own."""
    n = y.shape[2]
    for r, generator in enumerate(generators):
        order = torch.randperm(n, generator=generator)
        torch.index_select(X[r], 1, order, out=out[0][r])
        torch.index_select(y[r], 1, order, out=out[1][r])


def _batches(X: Tensor, y: Tensor, size: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Mini-batches (R, d, b) and (R, C, b), the last one possibly smaller."""
    return zip(X.split(size, dim=2), y.split(size, dim=2), strict=True)


class _Progress:
    """The best state of every network so far, and which of them still train."""

    def __init__(self, networks: Stack, stop: StopRules) -> None:
        K = len(networks.layers[0])
        self.networks, self.stop, self.seconds = networks, stop, 0.0
        self.best = networks.like(networks.flat.clone())
        self.best_loss = networks.flat.new_full((K,), torch.inf)
        self.best_epoch = torch.zeros(K, dtype=torch.long)
        self.stopped = [""] * K

    @property
    def over(self) -> bool:
        return all(self.stopped)

    def record(self, epoch: int, training: Tensor, validation: Tensor) -> Losses:
        active = torch.tensor([not rule for rule in self.stopped])
        improved = active & (validation < self.best_loss)
        self.best_loss[improved] = validation[improved]
        self.best_epoch[improved] = epoch
        for best, current in zip(self.best.layers, self.networks.layers, strict=True):
            best[improved] = current[improved]
        self._apply_rules(epoch)
        return Losses(epoch, training.where(active, torch.nan), validation.where(active, torch.nan))

    def _apply_rules(self, epoch: int) -> None:
        rules = self.stop
        for k, already in enumerate(self.stopped):
            if already:
                continue
            if rules.target is not None and self.best_loss[k] <= rules.target:
                self.stopped[k] = "target"
            elif rules.patience is not None and epoch - int(self.best_epoch[k]) >= rules.patience:
                self.stopped[k] = "patience"
            elif rules.seconds is not None and self.seconds >= rules.seconds:
                self.stopped[k] = "time"

    def trained(self) -> Trained:
        return Trained(self.best, self.best_epoch, self.best_loss, tuple(self.stopped), self.seconds)


def _mean_loss(spaces: Workspaces, X: Tensor, y: Tensor, loss: Loss, size: int) -> Tensor:
    """The mean loss (K,) over all rows X (R, d, n), y (R, C, n) of each network's repeat."""
    total = spaces.networks.flat.new_zeros(len(spaces.networks.layers[0]))
    for batch in _batches(X, y, size):
        for group in spaces.take(*batch):
            z = group.forward()
            total[group.networks] += loss.mean(z, group.y) * z.shape[2]
    return total / y.shape[2]


@torch.no_grad()
def evaluate(networks: Stack, rows: Rows, task: str, batch_size: int = 512) -> Tensor:
    """The mean loss (K,) of each network on the rows of its repeat."""
    return _mean_loss(Workspaces(networks, len(rows.X)), *_units_first(rows), LOSSES[task], batch_size)


@torch.no_grad()
def predict(networks: Stack, X: Tensor, batch_size: int = 512) -> Tensor:
    """The linear predictors (K, n, C) of each network on the inputs X (R, n, d) of its repeat."""
    spaces, inputs = Workspaces(networks, len(X)), X.transpose(1, 2)
    (R, n, _), (K, _, C) = X.shape, networks.layers[-1].shape
    none, found = X.new_zeros(R, C, n), X.new_empty(K, C, n)  # no responses: they are not looked at
    for batch, out in zip(_batches(inputs, none, batch_size), found.split(batch_size, dim=2), strict=True):
        for group in spaces.take(*batch):
            out[group.networks] = group.forward()
    return found.mT

"""A trainer that the engine's tests can set: what `steinglm.experiment.train` yields, in the time that they want.

It reads an Experiment in its own way: `epochs` as always, `batch_size` mini-batches an epoch (1 by default) of
`learning_rate` seconds each, values that follow from `seed`; depth 13 fails, depth 14 kills its process, depth 15 reads
its data set, whose rows are the test metric.
"""

import os
import signal
import time
from collections.abc import Callable, Iterator

import pandas as pd
import torch

from steinglm import datasets
from steinglm.exceptions import DataUnavailableError
from steinglm.experiment import Epoch, Experiment, Result

__all__ = ["FAILS", "KILLS", "READS", "expected", "rows", "train"]

FAILS, KILLS, READS = 13, 14, 15


def rows(experiment: Experiment, epoch: int) -> tuple[tuple[str, int, str, float], ...]:
    """The rows of an epoch; the second repeat "stops early" after epoch 5 and has nan."""
    return tuple(
        (
            method,
            repeat,
            quantity,
            float("nan") if repeat == 1 and epoch > 5 else experiment.seed + 1 / (epoch + 1),
        )
        for method in experiment.methods
        for repeat in range(experiment.repeats)
        for quantity in ("training_loss", "validation_loss")
    )


def expected(experiment: Experiment) -> list[tuple[str, int, int, str, float]]:
    """All rows that a watcher should see, in order."""
    return [
        (method, repeat, epoch, quantity, value)
        for epoch in range(experiment.epochs + 1)
        for method, repeat, quantity, value in rows(experiment, epoch)
        if value == value
    ]


def result(experiment: Experiment) -> Result:
    columns = ["method", "repeat", "epoch", "quantity", "value"]
    history = pd.DataFrame(expected(experiment), columns=columns)
    names = [(method, repeat) for method in experiment.methods for repeat in range(experiment.repeats)]
    summary = pd.DataFrame(names, columns=["method", "repeat"]).assign(
        test_metric=0.5, best_epoch=1, best_validation_loss=0.25, stopped="", training_seconds=1.0
    )
    summary["initialization_seconds"] = time.perf_counter()  # as in life, not the same twice
    both = torch.arange(6.0)
    state = {"steinglm.0.hidden1.weight": both[:4].view(2, 2), "steinglm.0.hidden1.bias": both[4:]}
    return Result(experiment, history, summary, state)


def train(
    experiment: Experiment, *, checkpoint: Callable[[], None] | None = None
) -> Iterator[Epoch | Result]:
    assert checkpoint is not None
    if experiment.depth == KILLS:
        os.kill(os.getpid(), signal.SIGKILL)
    for epoch in range(experiment.epochs + 1):
        for _ in range(experiment.batch_size or 1):
            _work(experiment.learning_rate if epoch else 0.0)
            checkpoint()
        if experiment.depth == FAILS and epoch == 3:
            raise DataUnavailableError("the fake data is not there")
        yield Epoch(epoch, rows(experiment, epoch))
    last = result(experiment)
    if experiment.depth == READS:
        last.summary["test_metric"] = float(len(datasets.load(experiment.dataset).y))
    yield last


def _work(seconds: float) -> None:
    """Use the processor, as training does."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass

"""An experiment: which networks, on which data, trained how; and the two things that one can do with it.

`Experiment` is a frozen record of plain values that determines a result completely. `initialize` builds its networks
and measures what each initialization does to the signal; `train` trains all of them in lock-step and yields rows as
they come. Every method of a repeat sees the same split and the same mini-batches, so that comparisons are paired.
"""

import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache

import numpy as np
import pandas as pd
import torch
from torch import nn

from steinglm import datasets, diagnostics, mlp
from steinglm.datasets import own
from steinglm.init import INITIALIZERS, options_of
from steinglm.responses import responses
from steinglm.results import Epoch, Result, collect, epoch_of, metric_name, summarize
from steinglm.settings import Experiment
from steinglm.styles import style
from steinglm.train import Losses, Rows, StopRules, Trained, evaluate, fit, predict
from steinglm.travel import Travel

__all__ = [
    "TITLES",
    "Epoch",
    "Experiment",
    "Result",
    "fit_stack",
    "initialize",
    "metric_name",
    "network_of",
    "networks_of",
    "rows_of",
    "split",
    "summarize",
    "train",
]

TITLES = {method: style(method).title for method in INITIALIZERS}
TRAVEL_ROWS = 256  # training rows at which the gradients along training are taken


def split(dataset: str, seed: int, repeat: int, rows: int | None = None) -> datasets.Split:
    """The split of a repeat: training (so many rows at most), validation and test rows, prepared."""
    own_seed = int(_seeds(seed, repeat)[0])
    if own.is_own(dataset):
        return own.find(dataset).split(own_seed, rows)
    return _split(dataset, own_seed, rows)


@lru_cache(maxsize=20)  # an experiment's repeats, but bounded: one of Adult takes 25 MB
def _split(dataset: str, seed: int, rows: int | None) -> datasets.Split:
    return datasets.prepare(datasets.load(dataset), seed, rows)


def _seeds(*entropy: int) -> np.ndarray:
    return np.random.SeedSequence(entropy).generate_state(2)


def networks_of(
    experiment: Experiment, checkpoint: Callable[[], None] | None = None
) -> tuple[list[nn.Sequential], list[tuple[str, int]], list[float]]:
    """The initialized networks, method by method and repeat by repeat, with their names and the seconds it took."""
    _warm_up()
    models, names, seconds = [], [], []
    for method in experiment.methods:
        for repeat in range(experiment.repeats):
            if checkpoint is not None:
                checkpoint()
            data = split(experiment.dataset, experiment.seed, repeat, experiment.rows)
            start = time.perf_counter()
            models.append(network_of(experiment, method, repeat, data))
            seconds.append(time.perf_counter() - start)
            names.append((method, repeat))
    return models, names, seconds


@cache
def _warm_up() -> None:
    """Load, once a process, what the first call of everything would otherwise be charged with."""
    X = torch.linspace(-1, 1, 40, dtype=torch.float64).reshape(20, 2)
    for task, y in (("regression", X[:, 0]), ("binary", (X[:, 0] > 0).double())):
        for initialize_ in INITIALIZERS.values():
            initialize_(mlp.build(2, 2, 1, "tanh", torch.float64), X, y, task=task, output="glm")


def network_of(experiment: Experiment, method: str, repeat: int, data: datasets.Split) -> nn.Sequential:
    """One initialized network; `data` is the split of its repeat."""
    features, units = data.X_train.shape[1], experiment.units(data.X_train.shape[1])
    # float64, so that what is measured deep in a vanishing signal is the method and not its rounding
    model = mlp.build(features, units, experiment.depth, experiment.activation, torch.float64, data.outputs)
    INITIALIZERS[method](
        model,
        data.X_train,
        data.y_train,
        task=data.task,
        validation=(data.X_validation, data.y_validation),
        generator=torch.Generator().manual_seed(
            int(_seeds(experiment.seed, repeat, zlib.crc32(method.encode()))[0])
        ),
        **options_of(
            method,
            experiment.output,
            alpha=experiment.alpha,
            score=experiment.score,
            calibrate=experiment.calibrate,
        ),
    )
    return model


def rows_of(experiment: Experiment, part: str, dtype: torch.dtype, most: int | None = None) -> Rows:
    """The rows (the first `most`) of one part ("train", "validation", "test") of every repeat."""
    splits = [
        split(experiment.dataset, experiment.seed, repeat, experiment.rows)
        for repeat in range(experiment.repeats)
    ]
    X = torch.stack([getattr(data, f"X_{part}")[:most] for data in splits])
    y = torch.stack(
        [responses(getattr(data, f"y_{part}")[:most], data.task, data.outputs) for data in splits]
    )
    return Rows(X.to(dtype), y.to(dtype))


def _indices(experiment: Experiment, training: Rows) -> torch.Tensor | None:
    """B^T x (R, n, m) of every repeat's rows, where the true directions B are known."""
    known = [
        split(experiment.dataset, experiment.seed, repeat, experiment.rows).directions
        for repeat in range(len(training.X))
    ]
    directions = [each for each in known if each is not None]
    return training.X @ torch.stack(directions) if directions else None


def initialize(experiment: Experiment, *, max_rows: int | None = None) -> pd.DataFrame:
    """Initialize every network of the experiment and measure its layers over the training rows.

    Parameters
    ----------
    max_rows : measure over so many rows at most, drawn with the split; SteinGLM itself always sees all of them

    Returns
    -------
    Tidy rows (method, repeat, layer, quantity, rank, value): the quantities of `diagnostics.layer_rows` for each
    layer, and for layer 0, the network as a whole, initialization_seconds, training_loss and validation_loss.
    """
    models, names, seconds = networks_of(experiment)
    networks = mlp.stack(models, torch.float64)
    training, validation = (
        rows_of(experiment, part, torch.float64, max_rows) for part in ("train", "validation")
    )
    task = split(experiment.dataset, experiment.seed, 0, experiment.rows).task
    whole = {
        "initialization_seconds": seconds,
        "training_loss": evaluate(networks, training, task).tolist(),
        "validation_loss": evaluate(networks, validation, task).tolist(),
    }
    network_rows = [
        (method, repeat, 0, quantity, 0, value)
        for quantity, values in whole.items()
        for (method, repeat), value in zip(names, values, strict=True)
    ]
    return pd.concat(
        [
            diagnostics.layer_rows(
                networks, training, names, experiment.score, _indices(experiment, training)
            ),
            pd.DataFrame(network_rows, columns=list(diagnostics.COLUMNS)),
        ],
        ignore_index=True,
    )


def fit_stack(
    experiment: Experiment,
    networks: mlp.Stack,
    learning_rate: float | Sequence[float],
    checkpoint: Callable[[], None] | None = None,
) -> Iterator[Losses | Trained]:
    """`train.fit` on the experiment's rows: network k of the stack belongs to repeat k mod R, and has its own rate."""
    training, validation = (rows_of(experiment, part, torch.float32) for part in ("train", "validation"))
    return fit(
        networks,
        training,
        validation,
        task=split(experiment.dataset, experiment.seed, 0, experiment.rows).task,
        epochs=experiment.epochs,
        batch_size=experiment.batch_rows(training.y.shape[1]),
        learning_rate=learning_rate,
        generators=[
            torch.Generator().manual_seed(int(_seeds(experiment.seed, repeat)[1]))
            for repeat in range(experiment.repeats)
        ],
        stop=StopRules(experiment.target_loss, experiment.patience, experiment.time_budget),
        checkpoint=checkpoint,
    )


def train(
    experiment: Experiment, *, checkpoint: Callable[[], None] | None = None
) -> Iterator[Epoch | Result]:
    """Train all networks of the experiment in lock-step; yield an `Epoch` after each epoch, then the `Result`.

    `checkpoint` is called before each network is initialized and after every mini-batch; what it raises ends the run.
    """
    models, names, seconds = networks_of(experiment, checkpoint)
    networks = mlp.stack(models)
    test = rows_of(experiment, "test", torch.float32)
    task = split(experiment.dataset, experiment.seed, 0, experiment.rows).task
    travel = Travel(networks, names, rows_of(experiment, "train", torch.float64, TRAVEL_ROWS), task)
    epochs: list[Epoch] = []
    for step in fit_stack(experiment, networks, experiment.learning_rate, checkpoint):
        if isinstance(step, Losses):
            epochs.append(epoch_of(step, names))
            yield epochs[-1]
            travel.look(step)
        else:
            states = [model.state_dict() for model in mlp.unstack(step.best)]
            yield collect(
                experiment,
                epochs,
                names,
                task=task,
                predicted=predict(step.best, test.X),
                truth=[test.y[repeat] for _, repeat in names],
                state={
                    f"{method}.{repeat}.{name}": value
                    for (method, repeat), own in zip(names, states, strict=True)
                    for name, value in own.items()
                },
                travel=travel.seen(),
                best_epoch=step.best_epoch.tolist(),
                best_validation_loss=step.best_loss.tolist(),
                initialization_seconds=seconds,
                training_seconds=step.seconds,
                stopped=list(step.stopped),
            )

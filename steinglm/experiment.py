"""An experiment: which networks, on which data, trained how; and the two things that one can do with it.

`Experiment` is a frozen record of plain values that determines a result completely. `initialize` builds its networks
and measures what each initialization does to the signal; `train` trains all of them in lock-step and yields rows as
they come. Every method of a repeat sees the same split and the same mini-batches, so that comparisons are paired.
"""

import math
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np
import pandas as pd
import torch
from sklearn.metrics import roc_auc_score
from torch import Tensor, nn

from steinglm import datasets, diagnostics, mlp
from steinglm.init import INITIALIZERS
from steinglm.responses import responses
from steinglm.settings import Experiment
from steinglm.styles import style
from steinglm.train import Losses, Rows, StopRules, Trained, evaluate, fit, predict

__all__ = [
    "TITLES",
    "Epoch",
    "Experiment",
    "Result",
    "initialize",
    "metric_name",
    "split",
    "summarize",
    "train",
]

TITLES = {method: style(method).title for method in INITIALIZERS}
OWN_OUTPUT = {"steinglm": "stein"}  # the baselines draw theirs: "random"


@dataclass(frozen=True)
class Epoch:
    """The losses after an epoch: rows (method, repeat, quantity, value). Epoch 0 is before training."""

    epoch: int
    rows: tuple[tuple[str, int, str, float], ...]

    def records(self) -> list[dict[str, Any]]:
        """The rows as dicts with the keys method, repeat, epoch, quantity, value."""
        return [
            {"method": method, "repeat": repeat, "epoch": self.epoch, "quantity": quantity, "value": value}
            for method, repeat, quantity, value in self.rows
        ]


@dataclass(frozen=True, eq=False)
class Result:
    """A finished run.

    history : method, repeat, epoch, quantity (training_loss, validation_loss), value
    summary : one row a method and repeat: test_metric (see `metric_name`), test_accuracy (of a classification; nan
        for a regression), best_epoch, best_validation_loss,
        initialization_seconds, training_seconds (of the whole lock-step run), epochs_to_best_baseline (until the
        training loss reaches the best baseline's final one; nan: never), stopped ("", "target", "patience", "time")
    state : the parameters at the best validation loss, by name: "steinglm.0.hidden1.weight", ...
    """

    experiment: Experiment
    history: pd.DataFrame
    summary: pd.DataFrame
    state: dict[str, Tensor]


@lru_cache(maxsize=20)  # an experiment's repeats, but bounded: one of Adult takes 25 MB
def split(dataset: str, seed: int, repeat: int) -> datasets.Split:
    """The split of a repeat: training, validation and test rows, prepared."""
    return datasets.prepare(datasets.load(dataset), int(_seeds(seed, repeat)[0]))


def _seeds(*entropy: int) -> np.ndarray:
    return np.random.SeedSequence(entropy).generate_state(2)


def metric_name(task: str) -> str:
    """The test metric of a task: RMSE (lower is better, of responses scaled to [0, 1]) or AUC (higher is better).

    With more than two classes it is the mean over classes of the AUC of each against the rest.
    """
    return {"regression": "RMSE", "binary": "AUC", "multiclass": "macro AUC"}[task]


def _networks(
    experiment: Experiment, checkpoint: Callable[[], None] | None = None
) -> tuple[list[nn.Sequential], list[tuple[str, int]], list[float]]:
    """The initialized networks, method by method and repeat by repeat, with their names and the seconds it took."""
    _warm_up()
    models, names, seconds = [], [], []
    for method in experiment.methods:
        for repeat in range(experiment.repeats):
            if checkpoint is not None:
                checkpoint()
            data = split(experiment.dataset, experiment.seed, repeat)
            start = time.perf_counter()
            models.append(_network(experiment, method, repeat, data))
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


def _network(experiment: Experiment, method: str, repeat: int, data: datasets.Split) -> nn.Sequential:
    features, units = data.X_train.shape[1], experiment.units(data.X_train.shape[1])
    # float64, so that what is measured deep in a vanishing signal is the method and not its rounding
    model = mlp.build(features, units, experiment.depth, experiment.activation, torch.float64, data.outputs)
    glm = experiment.output == "glm" or (experiment.output == "paper" and method == "steinglm")
    options: dict[str, Any] = (
        {"alpha": experiment.alpha, "score": experiment.score} if method == "steinglm" else {}
    )
    INITIALIZERS[method](
        model,
        data.X_train,
        data.y_train,
        task=data.task,
        output="glm" if glm else OWN_OUTPUT.get(method, "random"),
        validation=(data.X_validation, data.y_validation),
        generator=torch.Generator().manual_seed(
            int(_seeds(experiment.seed, repeat, zlib.crc32(method.encode()))[0])
        ),
        **options,
    )
    return model


def _rows(experiment: Experiment, part: str, dtype: torch.dtype, most: int | None = None) -> Rows:
    """The rows (the first `most`) of one part ("train", "validation", "test") of every repeat."""
    splits = [split(experiment.dataset, experiment.seed, repeat) for repeat in range(experiment.repeats)]
    X = torch.stack([getattr(data, f"X_{part}")[:most] for data in splits])
    y = torch.stack(
        [responses(getattr(data, f"y_{part}")[:most], data.task, data.outputs) for data in splits]
    )
    return Rows(X.to(dtype), y.to(dtype))


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
    models, names, seconds = _networks(experiment)
    networks = mlp.stack(models, torch.float64)
    training, validation = (
        _rows(experiment, part, torch.float64, max_rows) for part in ("train", "validation")
    )
    task = split(experiment.dataset, experiment.seed, 0).task
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
            diagnostics.layer_rows(networks, training, names, experiment.score),
            pd.DataFrame(network_rows, columns=list(diagnostics.COLUMNS)),
        ],
        ignore_index=True,
    )


def train(
    experiment: Experiment, *, checkpoint: Callable[[], None] | None = None
) -> Iterator[Epoch | Result]:
    """Train all networks of the experiment in lock-step; yield an `Epoch` after each epoch, then the `Result`.

    `checkpoint` is called before each network is initialized and after every mini-batch; what it raises ends the run.
    """
    models, names, seconds = _networks(experiment, checkpoint)
    networks = mlp.stack(models)
    training, validation, test = (
        _rows(experiment, part, torch.float32) for part in ("train", "validation", "test")
    )
    task = split(experiment.dataset, experiment.seed, 0).task
    epochs: list[Epoch] = []
    for step in fit(
        networks,
        training,
        validation,
        task=task,
        epochs=experiment.epochs,
        batch_size=experiment.batch_rows(training.y.shape[1]),
        learning_rate=experiment.learning_rate,
        generators=[
            torch.Generator().manual_seed(int(_seeds(experiment.seed, repeat)[1]))
            for repeat in range(experiment.repeats)
        ],
        stop=StopRules(experiment.target_loss, experiment.patience, experiment.time_budget),
        checkpoint=checkpoint,
    ):
        if isinstance(step, Losses):
            epochs.append(_epoch(step, names))
            yield epochs[-1]
        else:
            yield _result(experiment, step, names, seconds, epochs, test, task)


def _epoch(losses: Losses, names: list[tuple[str, int]]) -> Epoch:
    """A network that has stopped has no rows any more."""
    rows = [
        (method, repeat, quantity, value)
        for (method, repeat), *values in zip(
            names, losses.training.tolist(), losses.validation.tolist(), strict=True
        )
        for quantity, value in zip(("training_loss", "validation_loss"), values, strict=True)
    ]
    return Epoch(losses.epoch, tuple(rows))


def _result(
    experiment: Experiment,
    trained: Trained,
    names: list[tuple[str, int]],
    seconds: list[float],
    epochs: list[Epoch],
    test: Rows,
    task: str,
) -> Result:
    history = pd.DataFrame([record for epoch in epochs for record in epoch.records()]).dropna(
        ignore_index=True
    )
    summary = pd.DataFrame(names, columns=["method", "repeat"])
    predicted = predict(trained.best, test.X)
    truth = [test.y[k % len(test.y)] for k in range(len(predicted))]
    for name, measure in (("test_metric", _test_metric), ("test_accuracy", _test_accuracy)):
        summary[name] = [measure(z, y, task) for z, y in zip(predicted, truth, strict=True)]
    summary["best_epoch"] = trained.best_epoch.tolist()
    summary["best_validation_loss"] = trained.best_loss.tolist()
    summary["initialization_seconds"] = seconds
    summary["training_seconds"] = trained.seconds
    summary["epochs_to_best_baseline"] = _epochs_to_best_baseline(history, names)
    summary["stopped"] = list(trained.stopped)
    state = {
        f"{method}.{repeat}.{name}": value
        for (method, repeat), model in zip(names, mlp.unstack(trained.best), strict=True)
        for name, value in model.state_dict().items()
    }
    return Result(experiment, history, summary, state)


def _test_metric(z: Tensor, y: Tensor, task: str) -> float:
    """RMSE or AUC of linear predictors z (n, C) against responses y (n, C); nan where it is not defined."""
    if task == "regression":
        return float((z - y).double().square().mean().sqrt())
    if not torch.isfinite(z).all():
        return math.nan
    # an AUC is of ranks: of the logits for two classes, of each class's probability for more
    scores = z if task == "binary" else z.double().softmax(1)
    columns = zip(y.T.numpy(), scores.T.numpy(), strict=True)
    areas = [roc_auc_score(own, score) if own.min() < own.max() else math.nan for own, score in columns]
    return float(np.mean(areas))


def _test_accuracy(z: Tensor, y: Tensor, task: str) -> float:
    if task == "regression" or not torch.isfinite(z).all():
        return math.nan
    hits = (z > 0) == (y > 0.5) if task == "binary" else z.argmax(1) == y.argmax(1)
    return float(hits.double().mean())


def _epochs_to_best_baseline(history: pd.DataFrame, names: list[tuple[str, int]]) -> list[float]:
    """The first epoch at which a network's training loss is down to the lowest final one of its repeat's baselines."""
    losses = history[history["quantity"] == "training_loss"].set_index(["method", "repeat"]).sort_index()
    final = losses.groupby(level=["method", "repeat"])["value"].last()
    found = []
    for method, repeat in names:
        # a network whose loss was never a number has no rows
        others = [name for name in names if name[1] == repeat and name[0] != "steinglm"]
        baselines = [final[name] for name in others if name in final.index]
        own = losses[losses.index.isin([(method, repeat)])]
        reached = own.loc[own["value"] <= min(baselines), "epoch"] if baselines else own.loc[:, "epoch"][:0]
        found.append(float(reached.min()) if len(reached) else float("nan"))
    return found


def summarize(summary: pd.DataFrame) -> pd.DataFrame:
    """One row a method: mean and sd over repeats of each number, in the order in which the methods came."""
    numbers = [
        "test_metric",
        "test_accuracy",
        "best_validation_loss",
        "best_epoch",
        "initialization_seconds",
        "epochs_to_best_baseline",
    ]
    table = summary.groupby("method", sort=False)[numbers].agg(["mean", "std"])
    table.columns = pd.Index([f"{name}_{kind}" for name in numbers for kind in ("mean", "sd")])
    table["training_seconds"] = summary.groupby("method", sort=False)["training_seconds"].first()
    return table.reset_index()

"""What a run gives: the losses of each epoch as they come, then a result; and how well its networks do on test rows."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from steinglm.init import STEIN_OUTPUT
from steinglm.train import Losses

__all__ = ["Epoch", "Result", "collect", "epoch_of", "metric_name", "summarize"]

TRAVEL_COLUMNS = ["method", "repeat", "epoch", "layer", "quantity", "value"]
Names = Sequence[tuple[str, int]]  # method and repeat of each network


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
        for a regression), best_epoch, best_validation_loss, initialization_seconds, training_seconds (of the whole
        run), epochs_to_best_baseline (until the training loss reaches the best baseline's final one; nan: never),
        stopped ("", "target", "patience", "time")
    travel : the layers at some epochs: method, repeat, epoch, layer, quantity (`travel.TRAVELLED` and quantiles across
        units), value; empty for images
    state : the parameters at the best validation loss, by name: "steinglm.0.hidden1.weight", ...
    """

    experiment: Any
    history: pd.DataFrame
    summary: pd.DataFrame
    state: dict[str, Tensor]
    travel: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=TRAVEL_COLUMNS))


def metric_name(task: str) -> str:
    """The test metric of a task: RMSE (lower is better, of responses scaled to [0, 1]) or AUC (higher is better).

    With more than two classes it is the mean over classes of the AUC of each against the rest.
    """
    return {"regression": "RMSE", "binary": "AUC", "multiclass": "macro AUC"}[task]


def epoch_of(losses: Losses, names: Names) -> Epoch:
    """The losses of K networks after an epoch; a network that has stopped has nan."""
    rows = [
        (method, repeat, quantity, value)
        for (method, repeat), *values in zip(
            names, losses.training.tolist(), losses.validation.tolist(), strict=True
        )
        for quantity, value in zip(("training_loss", "validation_loss"), values, strict=True)
    ]
    return Epoch(losses.epoch, tuple(rows))


def collect(
    experiment: Any,
    epochs: Iterable[Epoch],
    names: Names,
    *,
    task: str,
    predicted: Iterable[Tensor],
    truth: Iterable[Tensor],
    state: Mapping[str, Tensor],
    travel: Sequence[pd.DataFrame] = (),
    **columns: Any,
) -> Result:
    """A result from its parts: the linear predictors (n, C) of each network on its test responses (n, C).

    `travel` are parts of the result's; `columns` are of the summary, one value a network or one for all: see `Result`.
    """
    history = pd.DataFrame([record for epoch in epochs for record in epoch.records()])
    history = history.dropna(ignore_index=True)
    summary = pd.DataFrame(names, columns=["method", "repeat"])
    pairs = list(zip(predicted, truth, strict=True))
    summary["test_metric"] = [metric_of(z, y, task) for z, y in pairs]
    summary["test_accuracy"] = [accuracy_of(z, y, task) for z, y in pairs]
    for name, values in columns.items():
        summary[name] = values
    summary["epochs_to_best_baseline"] = _epochs_to_best_baseline(history, names)
    result = Result(experiment, history, summary, dict(state))
    if not travel:
        return result
    rows = pd.concat(travel)[TRAVEL_COLUMNS].replace([np.inf, -np.inf], np.nan)
    return replace(result, travel=rows.dropna(ignore_index=True))


def metric_of(z: Tensor, y: Tensor, task: str) -> float:
    """RMSE or AUC of linear predictors z (n, C) against responses y (n, C); nan where it is not defined."""
    if task == "regression":
        return float((z - y).double().square().mean().sqrt())
    if not torch.isfinite(z).all():
        return math.nan
    from sklearn.metrics import roc_auc_score  # to import it takes a second, which a regression saves

    # an AUC is of ranks: of the logits for two classes, of each class's probability for more
    scores = z if task == "binary" else z.double().softmax(1)
    columns = zip(y.T.numpy(), scores.T.numpy(), strict=True)
    areas = [roc_auc_score(own, score) if own.min() < own.max() else math.nan for own, score in columns]
    return float(np.mean(areas))


def accuracy_of(z: Tensor, y: Tensor, task: str) -> float:
    """The share of the rows whose class is right; nan for a regression."""
    if task == "regression" or not torch.isfinite(z).all():
        return math.nan
    hits = (z > 0) == (y > 0.5) if task == "binary" else z.argmax(1) == y.argmax(1)
    return float(hits.double().mean())


def _epochs_to_best_baseline(history: pd.DataFrame, names: Names) -> list[float]:
    """The first epoch at which a network's training loss is down to the lowest final one of its repeat's baselines."""
    losses = history[history["quantity"] == "training_loss"].set_index(["method", "repeat"]).sort_index()
    final = losses.groupby(level=["method", "repeat"])["value"].last()
    found = []
    for method, repeat in names:
        # a network whose loss was never a number has no rows
        others = [name for name in names if name[1] == repeat and name[0] not in STEIN_OUTPUT]
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

"""Training of an experiment with images: its networks in turns, by autograd, and the test images they get wrong."""

import copy
import time
from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd
import torch
from torch import nn

from steinglm.images import cnn
from steinglm.images.settings import ImageExperiment
from steinglm.images.start import channels_last, logits, loss, networks, own_parts, seed_of, states
from steinglm.results import Epoch, Result, collect

__all__ = ["train", "wrong"]


def train(
    experiment: ImageExperiment, *, checkpoint: Callable[[], None] | None = None
) -> Iterator[Epoch | Result]:
    """Train every network of the experiment; yield an `Epoch` after each epoch, then the `Result`.

    `checkpoint` is called before each network is initialized and after every mini-batch; what it raises ends the run.
    The losses are cross-entropies without the penalty; the kept parameters are those of the best validation loss.
    """
    models, names, seconds = networks(experiment, checkpoint)
    learners = [_Learner(experiment, model, repeat) for model, (_, repeat) in zip(models, names, strict=True)]
    epochs: list[Epoch] = []
    took = 0.0
    for number in range(experiment.epochs + 1):
        start = time.perf_counter()
        losses = [learner.epoch(number, checkpoint or (lambda: None)) for learner in learners]
        took += time.perf_counter() - start
        rows = [
            (method, repeat, quantity, value)
            for (method, repeat), own in zip(names, losses, strict=True)
            for quantity, value in zip(("training_loss", "validation_loss"), own, strict=True)
        ]
        epochs.append(Epoch(number, tuple(rows)))
        yield epochs[-1]
    for learner in learners:
        learner.restore()
    tests = [own_parts(experiment, repeat) for _, repeat in names]
    yield collect(
        experiment,
        epochs,
        names,
        task="binary",
        predicted=[logits(model, own.X_test)[:, None] for model, own in zip(models, tests, strict=True)],
        truth=[own.y_test[:, None] for own in tests],
        state=states(names, [model.state_dict() for model in models]),
        best_epoch=[learner.best_epoch for learner in learners],
        best_validation_loss=[learner.best_loss for learner in learners],
        initialization_seconds=seconds,
        training_seconds=took,
        stopped="",
    )


class _Learner:
    """One network in training, its optimizer and its best state so far."""

    def __init__(self, experiment: ImageExperiment, model: nn.Sequential, repeat: int) -> None:
        self.model, self.data, self.batch_size = model, own_parts(experiment, repeat), experiment.batch_size
        weights = [p for name, p in model.named_parameters() if name.endswith("weight")]
        others = [p for name, p in model.named_parameters() if not name.endswith("weight")]
        # the gradient of l2 |W|^2 is 2 l2 W, which Adam takes as its (not decoupled) weight decay
        groups: list[dict[str, Any]] = [
            {"params": weights, "weight_decay": 2 * experiment.l2},
            {"params": others},
        ]
        self.adam = torch.optim.Adam(groups, lr=experiment.learning_rate, fused=True)
        self.generator = torch.Generator().manual_seed(seed_of(experiment.seed, repeat, 1))
        self.best_loss, self.best_epoch = float("inf"), 0
        self.best = copy.deepcopy(model.state_dict())

    def epoch(self, number: int, checkpoint: Callable[[], None]) -> tuple[float, float]:
        """The training and the validation loss; epoch 0 only measures."""
        data = self.data
        training = self._pass(checkpoint) if number else loss(self.model, data.X_train, data.y_train)
        validation = loss(self.model, data.X_validation, data.y_validation)
        if validation < self.best_loss:
            self.best_loss, self.best_epoch = validation, number
            self.best = copy.deepcopy(self.model.state_dict())
        return training, validation

    def _pass(self, checkpoint: Callable[[], None]) -> float:
        """The mean over the epoch's mini-batches of the loss, each before its step."""
        X, y = self.data.X_train, self.data.y_train.float()
        total = 0.0
        for batch in torch.randperm(len(y), generator=self.generator).split(self.batch_size):
            with torch.enable_grad():
                z = self.model(channels_last(X[batch]))[:, 0]
                batch_loss = nn.functional.binary_cross_entropy_with_logits(z, y[batch])
                self.adam.zero_grad()
                batch_loss.backward()
            self.adam.step()
            total += batch_loss.item() * len(batch)
            checkpoint()
        return total / len(y)

    def restore(self) -> None:
        """Back to the parameters of the best validation loss."""
        self.model.load_state_dict(self.best)


def wrong(result: Result) -> pd.DataFrame:
    """The test images that each network gets wrong, the surest errors first.

    Returns
    -------
    Rows (method, repeat, image, digit, taken_for, probability): the image's number among the pair's test images, the
    digit that it is, the one that it was taken for, and the probability of that.
    """
    experiment: ImageExperiment = result.experiment
    found = []
    for method, repeat in result.summary[["method", "repeat"]].itertuples(index=False):
        model, data = cnn.build(), own_parts(experiment, repeat)
        start = f"{method}.{repeat}."
        own = {name.removeprefix(start): v for name, v in result.state.items() if name.startswith(start)}
        model.load_state_dict(own)
        p = logits(model, data.X_test).double().sigmoid()
        taken = (p > 0.5).long()
        for i in (taken != data.y_test).nonzero()[:, 0].tolist():
            sure = float(p[i] if taken[i] else 1 - p[i])
            digits = experiment.pair[int(data.y_test[i])], experiment.pair[int(taken[i])]
            found.append((method, repeat, i, *digits, sure))
    columns = ["method", "repeat", "image", "digit", "taken_for", "probability"]
    rows = pd.DataFrame(found, columns=columns)
    return rows.sort_values(
        ["method", "repeat", "probability"], ascending=[True, True, False], ignore_index=True
    )

"""The work of a batch: its networks are started, measured and, where wanted, trained in one stack.

A start that cannot be made is a cell that says why; the others go on.
"""

import math
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import pandas as pd
import torch

from steinglm import mlp
from steinglm.exceptions import SteinGLMError
from steinglm.experiment import Experiment, fit_stack, rows_of, split
from steinglm.results import Epoch, Result, epoch_of, metric_of
from steinglm.sweep.settings import INITIAL, TRAINED, Batch
from steinglm.sweep.starts import Start, starts
from steinglm.train import Losses, Trained, predict

__all__ = ["train"]

Checkpoint = Callable[[], None] | None
Outcome = list[Start] | str  # a start a repeat, or why there is none
COLUMNS = ["method", "repeat", "epoch", "quantity", "value"]


def train(batch: Batch, *, checkpoint: Checkpoint = None) -> Iterator[Epoch | Result]:
    """Compute a batch; yield an `Epoch` after each epoch, or each cell where nothing is trained, then the `Result`.

    The method of a row is the number of its cell. The summary has a row a cell: cell, error, and each quantity of
    `settings.INITIAL` and, of a trained batch, `settings.TRAINED`, the median over the repeats; never is inf.
    """
    found: dict[int, Outcome] = {}
    epochs: list[Epoch] = []
    for cell, outcome in _starts(batch, checkpoint):
        found[cell] = outcome
        if not batch.trained:
            epochs.append(_at_start(len(found), cell, outcome))
            yield epochs[-1]
    values = {cell: _initial(outcome) for cell, outcome in found.items() if not isinstance(outcome, str)}
    if batch.trained and values:
        cells = {cell: [start.network for start in found[cell]] for cell in sorted(values)}  # type: ignore[union-attr]
        names = [(str(cell), repeat) for cell, own in cells.items() for repeat in range(len(own))]
        networks = mlp.stack([network for own in cells.values() for network in own])
        first = batch.cells[0]
        rates = [batch.cells[cell].learning_rate for cell in cells for _ in range(first.repeats)]
        for step in fit_stack(first, networks, rates, checkpoint):
            if isinstance(step, Losses):
                epochs.append(epoch_of(step, names))
                yield epochs[-1]
            else:
                for cell, own in zip(cells, _final(first, epochs, step), strict=True):
                    values[cell] |= own
    columns = (*INITIAL, *(TRAINED if batch.trained else ()))
    summary = pd.DataFrame(
        [
            {"cell": cell, "error": outcome if isinstance(outcome, str) else ""}
            | {name: values.get(cell, {}).get(name, math.nan) for name in columns}
            for cell, outcome in sorted(found.items())
        ]
    )
    rows = [record for epoch in epochs for record in epoch.records()] or _nothing(batch).records()
    yield Result(batch, pd.DataFrame(rows, columns=COLUMNS), summary, {})


def _starts(batch: Batch, checkpoint: Checkpoint) -> Iterator[tuple[int, Outcome]]:
    """Each cell's number and its starts; cells of one start share it."""
    families: dict[Experiment, dict[int, list[int]]] = {}  # -> depth -> cells
    for number, cell in enumerate(batch.cells):
        family = families.setdefault(replace(cell.before_training(), depth=1), {})
        family.setdefault(cell.depth, []).append(number)
    for experiment, numbers in families.items():
        outcomes = _outcomes(experiment, list(numbers), checkpoint)
        for depth, own in numbers.items():
            yield from ((number, outcomes[depth]) for number in own)


def _outcomes(experiment: Experiment, depths: Sequence[int], checkpoint: Checkpoint) -> dict[int, Outcome]:
    """By depth; if a deep network cannot be made, those that are less deep are made alone."""
    repeats = []
    try:
        for repeat in range(experiment.repeats):
            if checkpoint is not None:
                checkpoint()
            repeats.append(starts(experiment, depths, repeat))
    except SteinGLMError as err:
        if len(depths) == 1:
            return {depths[0]: str(err)}
        alone = [_outcomes(experiment, [depth], checkpoint) for depth in depths]
        return {depth: outcome for each in alone for depth, outcome in each.items()}
    return {depth: [own[depth] for own in repeats] for depth in depths}


def _initial(outcome: list[Start]) -> dict[str, float]:
    return {name: _median([getattr(start, name) for start in outcome]) for name in INITIAL}


def _final(experiment: Experiment, epochs: Sequence[Epoch], trained: Trained) -> list[dict[str, float]]:
    """`TRAINED` for each cell; a network has no losses after it has stopped."""
    task = split(experiment.dataset, experiment.seed, 0, experiment.rows).task
    test = rows_of(experiment, "test", torch.float32)
    R = experiment.repeats
    predicted = predict(trained.best, test.X)
    metrics = [metric_of(z, test.y[k % R], task) for k, z in enumerate(predicted)]
    # an epoch has a training and a validation loss of each network in turn
    losses = torch.tensor([[row[-1] for row in epoch.rows] for epoch in epochs], dtype=torch.float64)
    training, validation = losses[:, 0::2].T.tolist(), losses[:, 1::2].T.tolist()  # (K, epochs)
    last = [[loss for loss in own if not math.isnan(loss)] or [math.nan] for own in training]
    target = -math.inf if experiment.target_loss is None else experiment.target_loss
    reached = [next((e for e, loss in enumerate(own) if loss <= target), math.inf) for own in validation]
    each = zip([own[-1] for own in last], metrics, map(float, reached), strict=True)
    rows = [dict(zip(TRAINED, values, strict=True)) for values in each]
    return [
        {name: _median([row[name] for row in rows[start : start + R]]) for name in TRAINED}
        for start in range(0, len(rows), R)
    ]


def _median(values: Sequence[float]) -> float:
    return math.nan if any(map(math.isnan, values)) else statistics.median(values)


def _at_start(epoch: int, cell: int, outcome: Outcome) -> Epoch:
    starts_ = [] if isinstance(outcome, str) else outcome
    rows = [(str(cell), repeat, "training_loss", start.initial_loss) for repeat, start in enumerate(starts_)]
    return Epoch(epoch, tuple(rows))


def _nothing(batch: Batch) -> Epoch:
    """What stands for the history of a batch of which no cell could be started."""
    return Epoch(batch.epochs, (("", 0, "training_loss", math.nan),))

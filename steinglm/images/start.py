"""The networks of an experiment with images before training: their data, their initialization, what it does."""

import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import cast

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn

from steinglm import samples
from steinglm.datasets import mnist
from steinglm.diagnostics import COLUMNS, SATURATED, across_units
from steinglm.images import cnn
from steinglm.images.settings import ImageExperiment
from steinglm.init import INITIALIZERS, options_of
from steinglm.stein import directions, moments
from steinglm.tracing import watching

__all__ = [
    "LAYERS",
    "Parts",
    "channels_last",
    "filters",
    "initialize",
    "logits",
    "loss",
    "measure",
    "networks",
    "own_parts",
    "seed_of",
    "starts",
    "states",
]

HELD_OUT = 0.2  # of the training images, for validation
MEASURED = 128  # training images over which the layers are measured
PATCHES = 49  # of each of these, for the moments
EVALUATED = 500  # images in one piece
LAYERS = (*(f"conv{b}_{i}" for b in (1, 2, 3) for i in (1, 2, 3)), "dense", "output")
Names = list[tuple[str, int]]  # method and repeat of each network


@dataclass(frozen=True, eq=False)
class Parts:
    """The images of a repeat: X (n, 1, 28, 28) float32 in channels-last format, y (n,) 0 or 1."""

    X_train: Tensor
    y_train: Tensor
    X_validation: Tensor
    y_validation: Tensor
    X_test: Tensor
    y_test: Tensor


@lru_cache(maxsize=4)
def parts(pair: tuple[int, int], complete: bool, seed: int, repeat: int) -> Parts:
    """A fifth of the training images, by a seeded permutation, is for validation; the test images are MNIST's own."""
    images = mnist.load_pair(pair, complete=complete)
    generator = torch.Generator().manual_seed(seed_of(seed, repeat))
    order = torch.randperm(len(images.y_train), generator=generator)
    held, kept = order.tensor_split([round(HELD_OUT * len(order))])
    return Parts(
        channels_last(images.X_train[kept]), images.y_train[kept],
        channels_last(images.X_train[held]), images.y_train[held],
        channels_last(images.X_test), images.y_test,
    )  # fmt: skip


def channels_last(X: Tensor) -> Tensor:
    """The same images with the strides of channels last, which torch does not give to images of one channel."""
    _, C, H, W = X.shape
    return torch.empty_strided(X.shape, (H * W * C, 1, W * C, C), dtype=X.dtype).copy_(X)


def seed_of(*entropy: int) -> int:
    """A seed from several numbers."""
    return int(np.random.SeedSequence(entropy).generate_state(1)[0])


def own_parts(experiment: ImageExperiment, repeat: int) -> Parts:
    """The images of one of the experiment's repeats."""
    return parts(experiment.pair, experiment.complete, experiment.seed, repeat)


def networks(
    experiment: ImageExperiment, checkpoint: Callable[[], None] | None = None
) -> tuple[list[nn.Sequential], Names, list[float]]:
    """The initialized networks, method by method and repeat by repeat, their names, and the seconds each took."""
    names = [(method, repeat) for method in experiment.methods for repeat in range(experiment.repeats)]
    models, seconds = [], []
    for method, repeat in names:
        if checkpoint is not None:
            checkpoint()
        data, model = own_parts(experiment, repeat), cnn.build()
        start = time.perf_counter()
        _initialize_(model, experiment, method, repeat, data)
        seconds.append(time.perf_counter() - start)
        models.append(model)
    return models, names, seconds


def _initialize_(
    model: nn.Sequential, experiment: ImageExperiment, method: str, repeat: int, data: Parts
) -> None:
    INITIALIZERS[method](
        model,
        data.X_train,
        data.y_train,
        task="binary",
        validation=(data.X_validation, data.y_validation),
        generator=torch.Generator().manual_seed(
            seed_of(experiment.seed, repeat, zlib.crc32(method.encode()))
        ),
        **options_of(
            method,
            experiment.output,
            alpha=experiment.alpha,
            score=experiment.score,
            calibrate=experiment.calibrate,
            max_patches=experiment.max_patches,
        ),
    )


def initialize(experiment: ImageExperiment) -> pd.DataFrame:
    """Initialize every network of the experiment and measure its layers over some of the training images.

    Returns
    -------
    Tidy rows (method, repeat, layer, quantity, rank, value) as `experiment.initialize` gives them; a unit is a filter,
    over all positions of its map, and a moment is of `PATCHES` patches an image.
    """
    return measure(experiment, *networks(experiment))


def measure(
    experiment: ImageExperiment, models: Sequence[nn.Sequential], names: Names, seconds: Sequence[float]
) -> pd.DataFrame:
    """The rows of `initialize`, of networks that `networks` gave."""
    found: list[tuple[str, int, int, str, int, float]] = []
    for (method, repeat), model, took in zip(names, models, seconds, strict=True):
        data = own_parts(experiment, repeat)
        whole = {
            "initialization_seconds": took,
            "training_loss": loss(model, data.X_train, data.y_train),
            "validation_loss": loss(model, data.X_validation, data.y_validation),
        }
        found += [(method, repeat, 0, quantity, 0, value) for quantity, value in whole.items()]
        found += [(method, repeat, *row) for row in _layers(model, data, experiment)]
    return pd.DataFrame(found, columns=list(COLUMNS))


@torch.no_grad()
def _layers(
    model: nn.Sequential, data: Parts, experiment: ImageExperiment
) -> list[tuple[int, str, int, float]]:
    """Rows (layer, quantity, rank, value) of one network."""
    x, y = data.X_train[:MEASURED], data.y_train[:MEASURED, None]
    found: list[tuple[int, str, int, float]] = []

    def enter(number: int, layer: samples.Layer, h: Tensor) -> None:
        generator = torch.Generator().manual_seed(seed_of(experiment.seed, number))
        rows = samples.rows(layer, h, y, PATCHES, generator)
        cross = moments(rows, experiment.score, y_mean=y.mean(0)).cross
        _, eigenvalues = directions(cross, 1)
        singular = torch.linalg.svdvals(layer.weight.flatten(1))
        for quantity, values in (("moment_eigenvalue", eigenvalues), ("weight_singular_value", singular)):
            found.extend((number, quantity, rank, v) for rank, v in enumerate(values.tolist(), start=1))

    def leave(number: int, layer: samples.Layer, a: Tensor) -> None:
        units = a.movedim(samples.unit_axis(layer), -1).flatten(0, -2).double()  # (m, k)
        after = units.tanh()
        slope = (1 - after**2).mean(0)
        found.append((number, "saturated_share", 0, float((slope < SATURATED).double().mean())))
        for place, values in (("preactivation", units), ("activation", after)):
            for quantity, each in (("mean", values.mean(0)), ("variance", values.var(0, correction=0))):
                summaries = across_units(f"{place}_{quantity}", each[None])
                found.extend((number, name, 0, float(value)) for name, value in summaries.items())

    layers = cast(list[samples.Layer], [model.get_submodule(name) for name in LAYERS])
    numbered = list(enumerate(layers, start=1))
    inputs = {layer: partial(enter, number, layer) for number, layer in numbered}
    outputs = {layer: partial(leave, number, layer) for number, layer in numbered[:-1]}
    with watching(inputs, outputs):
        model(x)
    return found


def filters(state: Mapping[str, Tensor], method: str, repeat: int = 0) -> np.ndarray:
    """The first layer's filters (9, 3, 3) of a network, from a result's or a start's state by name."""
    return state[f"{method}.{repeat}.conv1_1.weight"][:, 0].float().numpy()


def starts(experiment: ImageExperiment) -> dict[str, Tensor]:
    """The parameters of every network before training, by name: "steinglm.0.conv1_1.weight", ..."""
    models, names, _ = networks(experiment)
    return states(names, [model.state_dict() for model in models])


def states(names: Names, each: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """Each network's parameters under one name: "method.repeat.parameter"."""
    return {
        f"{method}.{repeat}.{name}": value
        for (method, repeat), own in zip(names, each, strict=True)
        for name, value in own.items()
    }


@torch.no_grad()
def logits(model: nn.Sequential, X: Tensor) -> Tensor:
    """The logits (n,) of class 1."""
    return torch.cat([model(part)[:, 0] for part in X.split(EVALUATED)])


def loss(model: nn.Sequential, X: Tensor, y: Tensor) -> float:
    """The mean cross-entropy."""
    return float(nn.functional.binary_cross_entropy_with_logits(logits(model, X).double(), y))

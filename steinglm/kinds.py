"""What the engine runs, told apart by its settings: experiments on tables, on images, and batches of sweeps."""

from collections.abc import Callable, Iterator
from typing import Any

from steinglm import experiment, images, sweep
from steinglm.images import ImageExperiment
from steinglm.results import Epoch, Result
from steinglm.settings import Experiment
from steinglm.sweep import Batch

__all__ = ["AnyExperiment", "Runnable", "from_dict", "train"]

AnyExperiment = Experiment | ImageExperiment
Runnable = AnyExperiment | Batch


def from_dict(settings: dict[str, Any]) -> Runnable:
    """The experiment with these settings, as `as_dict` gave them.

    >>> from_dict(ImageExperiment(pair=(4, 9)).as_dict()).pair
    (4, 9)
    """
    kinds = {"pair": ImageExperiment, "cells": Batch}
    names = kinds.keys() & settings if isinstance(settings, dict) else ()
    kind: Any = next((kinds[name] for name in names), Experiment)
    return kind.from_dict(settings)


def train(chosen: Runnable, *, checkpoint: Callable[[], None] | None = None) -> Iterator[Epoch | Result]:
    """Train an experiment of any kind; see `experiment.train`, `images.train` and `sweep.train`."""
    if isinstance(chosen, Batch):
        return sweep.train(chosen, checkpoint=checkpoint)
    if isinstance(chosen, ImageExperiment):
        return images.train(chosen, checkpoint=checkpoint)
    return experiment.train(chosen, checkpoint=checkpoint)

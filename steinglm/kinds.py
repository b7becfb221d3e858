"""The kinds of experiments that the engine runs: on tables and on images, told apart by their settings."""

from collections.abc import Callable, Iterator
from typing import Any

from steinglm import experiment, images
from steinglm.images import ImageExperiment
from steinglm.results import Epoch, Result
from steinglm.settings import Experiment

__all__ = ["AnyExperiment", "from_dict", "train"]

AnyExperiment = Experiment | ImageExperiment


def from_dict(settings: dict[str, Any]) -> AnyExperiment:
    """The experiment with these settings, as `as_dict` gave them.

    >>> from_dict(ImageExperiment(pair=(4, 9)).as_dict()).pair
    (4, 9)
    """
    images_ = isinstance(settings, dict) and "pair" in settings
    return ImageExperiment.from_dict(settings) if images_ else Experiment.from_dict(settings)


def train(chosen: AnyExperiment, *, checkpoint: Callable[[], None] | None = None) -> Iterator[Epoch | Result]:
    """Train an experiment of either kind; see `experiment.train` and `images.train`."""
    if isinstance(chosen, ImageExperiment):
        return images.train(chosen, checkpoint=checkpoint)
    return experiment.train(chosen, checkpoint=checkpoint)

"""The settings of an experiment with images: what is refused, and that they come back from plain values."""

import json
from typing import Any

import pytest

from steinglm.exceptions import InvalidInputError
from steinglm.images import ImageExperiment
from steinglm.kinds import from_dict
from steinglm.settings import Experiment


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"pair": (3, 3)},
            r"pair must be two different digits, got \(3, 3\); the paper takes \(3, 5\), \(4, 9\)",
        ),
        ({"pair": (3, 10)}, "pair must be two different digits"),
        ({"pair": (True, 2)}, "pair must be two different digits"),
        ({"pair": "35"}, "pair must be two different digits, got 35"),
        ({"complete": "yes"}, "complete must be True or False, got yes"),
        (
            {"score": "third"},
            "score must be one of identity, centered, standardized, gaussian, .*, got third",
        ),
        ({"calibrate": 1}, "calibrate must be True or False, got 1"),
        ({"methods": ()}, "methods must be one or more of steinglm"),
        ({"output": "none"}, "output must be one of paper, glm, own"),
        ({"max_patches": 0}, r"max_patches must be 1\.\.784, got 0; None takes every patch"),
        ({"epochs": 0}, r"epochs must be 1\.\.1000, got 0; the paper takes 20"),
        ({"batch_size": 0}, r"batch_size must be 1\.\.10000"),
        ({"learning_rate": 0.0}, "learning_rate must be a positive number up to 10, got 0.0"),
        ({"l2": -1.0}, "l2 must be a positive number up to 10, got -1.0; 0 leaves the penalty out"),
        ({"alpha": "large"}, "alpha must be a positive number up to 1e\\+06, got large"),
        ({"repeats": 21}, r"repeats must be 1\.\.20, got 21"),
        ({"seed": -1}, "seed must be 0.."),
    ],
)
def test_what_cannot_be_used_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        ImageExperiment(**change)


def test_plain_values_and_back() -> None:
    experiment = ImageExperiment(
        pair=(7, 9), alpha=2, methods=("steinglm", "orthogonal"), l2=0, max_patches=9
    )
    plain = json.loads(json.dumps(experiment.as_dict()))
    assert from_dict(plain) == ImageExperiment.from_dict(plain) == experiment
    assert ImageExperiment.from_dict(plain).key == experiment.key
    assert isinstance(from_dict(Experiment(depth=3).as_dict()), Experiment)
    assert len({ImageExperiment(seed=seed).key for seed in range(5)} | {Experiment().key}) == 6
    with pytest.raises(InvalidInputError, match=r"setting must be one of pair, .*, got dataset"):
        ImageExperiment.from_dict({"pair": [3, 5], "dataset": "abalone"})

"""The settings of an experiment: a frozen record of plain values, checked at birth, that determines a result."""

import hashlib
import json
import math
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Self

from steinglm import __version__, datasets
from steinglm.checks import check_choice, check_flag, check_methods, check_positive, check_whole
from steinglm.exceptions import InvalidInputError
from steinglm.init import INITIALIZERS
from steinglm.mlp import ACTIVATIONS
from steinglm.stein import SCORES

__all__ = ["FEWEST_ROWS", "MAX_SEED", "OUTPUTS", "Experiment", "Plain"]

OUTPUTS = ("paper", "glm", "own")
MAX_SEED = 2**32 - 1
MAX_NETWORKS = 200
FEWEST_ROWS = 10
TRAINING = ("epochs", "batch_size", "learning_rate", "target_loss", "patience", "time_budget")


class Plain:
    """What frozen settings have in common: a key, and their way to plain values and back."""

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    @property
    def key(self) -> str:
        """A digest of the settings and the library's version: equal experiments have equal keys."""
        plain = json.dumps([__version__, self.as_dict()], sort_keys=True)
        return hashlib.sha256(plain.encode()).hexdigest()[:16]

    def as_dict(self) -> dict[str, Any]:
        """The settings as plain values that JSON can hold."""
        own: dict[str, Any] = asdict(self)  # type: ignore[call-overload]
        return {name: list(value) if isinstance(value, tuple) else value for name, value in own.items()}

    @classmethod
    def from_dict(cls, settings: dict[str, Any]) -> Self:
        """The experiment with these settings; what is not named has its default."""
        if not isinstance(settings, dict):
            raise InvalidInputError("settings", "names with values", settings, "see Experiment.as_dict")
        known = tuple(field.name for field in fields(cls))  # type: ignore[arg-type]
        for name in settings:
            check_choice("setting", name, known)
        return cls(**settings)


@dataclass(frozen=True)
class Experiment(Plain):
    """Which networks, on which data, initialized and trained how.

    dataset : a name of `datasets.names()`, or of a `datasets.Recipe`
    depth : hidden layers, 1..200
    width : units of each hidden layer; None for min(features, 20), as in the paper
    activation : a name of `mlp.ACTIVATIONS`
    alpha : the scaling of SteinGLM and PCA: a positive number, None for 1 / f'(0), "auto" for a layer's unit variance
    score : SteinGLM's score function; see `stein.cross_moment`
    calibrate : whether SteinGLM's biases center the pre-activations; zero if not
    methods : names of `init.INITIALIZERS`, in the order of display
    output : "paper": a GLM output layer for those of `init.FITTED`; "glm": for every method; "own": for none
    epochs, batch_size, learning_rate : of Adam; batch_size None for min(500, a fifth of the training rows)
    repeats, seed : each repeat has its own split, draws and order of mini-batches
    rows : the most training rows that are used, the first of each split; None for all
    target_loss, patience, time_budget : stop rules, off by default; see `train.StopRules`

    >>> Experiment(depth=0)
    Traceback (most recent call last):
    ...
    steinglm.exceptions.InvalidInputError: depth must be 1..200, got 0; one hidden layer is the smallest network
    """

    dataset: str = "abalone"
    depth: int = 10
    width: int | None = None
    activation: str = "tanh"
    alpha: float | str | None = None
    score: str = "standardized"
    calibrate: bool = True
    methods: tuple[str, ...] = ("steinglm", "glorot_normal", "he_normal", "orthogonal")
    output: str = "paper"
    epochs: int = 200
    batch_size: int | None = None
    learning_rate: float = 1e-3
    repeats: int = 1
    seed: int = 0
    target_loss: float | None = None
    patience: int | None = None
    time_budget: float | None = None
    rows: int | None = None

    def __post_init__(self) -> None:
        self._set("dataset", datasets.canonical(self.dataset))
        check_choice("activation", self.activation, tuple(ACTIVATIONS))
        check_choice("score", self.score, tuple(SCORES))
        check_flag("calibrate", self.calibrate, "False leaves SteinGLM's biases at zero")
        check_choice("output", self.output, OUTPUTS)
        check_whole("depth", self.depth, 1, 200, "one hidden layer is the smallest network")
        check_whole("width", self.width, 1, 1000, "None takes min(features, 20)", optional=True)
        check_whole("epochs", self.epochs, 1, 10_000, "the paper takes 200")
        check_whole("batch_size", self.batch_size, 1, 100_000, "None takes the paper's choice", optional=True)
        check_whole("repeats", self.repeats, 1, 50, "the paper takes 10")
        check_whole("seed", self.seed, 0, MAX_SEED, "any whole number in this range will do")
        check_whole("rows", self.rows, FEWEST_ROWS, 10**9, "None takes all of them", optional=True)
        check_whole("patience", self.patience, 1, 10_000, "None never stops early", optional=True)
        self._set(
            "learning_rate",
            check_positive("learning_rate", self.learning_rate, 10.0, "the paper takes 0.001"),
        )
        if self.target_loss is not None:
            self._set(
                "target_loss",
                check_positive("target_loss", self.target_loss, math.inf, "None sets no target"),
            )
        if self.time_budget is not None:
            self._set(
                "time_budget", check_positive("time_budget", self.time_budget, math.inf, "None sets no limit")
            )
        if self.alpha is not None and self.alpha != "auto":
            cure = "1 suits tanh, 4 sigmoid; None is 1 / f'(0), 'auto' holds the variance at 1"
            self._set("alpha", check_positive("alpha", self.alpha, 1e6, cure))
        self._set("methods", check_methods(self.methods, tuple(INITIALIZERS)))
        if len(self.methods) * self.repeats > MAX_NETWORKS:
            got = f"{len(self.methods)} methods x {self.repeats} repeats"
            raise InvalidInputError(
                "methods x repeats", f"{MAX_NETWORKS} or fewer", got, "ask for fewer repeats"
            )

    def before_training(self) -> "Experiment":
        """The experiment with the defaults of what follows the start: equal ones have the same networks at first."""
        plain = {field.name: field.default for field in fields(self) if field.name in TRAINING}
        return replace(self, **plain)  # type: ignore[arg-type]

    def units(self, features: int) -> int:
        """The width of the hidden layers on data with so many features."""
        return min(features, 20) if self.width is None else self.width

    def batch_rows(self, rows: int) -> int:
        """The rows of a mini-batch, given the number of training rows."""
        return max(1, min(500, rows // 5)) if self.batch_size is None else self.batch_size

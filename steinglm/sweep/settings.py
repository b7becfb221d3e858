"""A sweep: two settings of an experiment along two axes, one method, and the quantity that colours the cells.

Every cell is an `Experiment` of its own. A `Batch` is what the engine runs of a sweep: experiments that share work,
networks that are not trained and differ in their depth, or trained ones of one shape, which go through one stack.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from steinglm.checks import check_choice
from steinglm.exceptions import InvalidInputError
from steinglm.init import INITIALIZERS, OPTIONS
from steinglm.settings import Experiment, Plain

__all__ = ["AXES", "INITIAL", "QUANTITIES", "TRAINED", "Axis", "Batch", "Cell", "Sweep", "batches"]

INITIAL = ("last_variance", "chi_1", "initial_loss")
TRAINED = ("final_loss", "test_metric", "epochs_to_target")
QUANTITIES = (*INITIAL, *TRAINED)
# How the text of a value is read; "default" is None where a setting may be None.
AXES: dict[str, Callable[[str], Any]] = {
    "depth": int,
    "width": int,
    "alpha": float,
    "activation": str,
    "score": str,
    "learning_rate": float,
    "rows": int,
}
WORDS = {"default": None, "auto": "auto"}
OWN = ("alpha", "score")  # settings that some methods take and others do not
MOST_VALUES = 40  # of an axis
TOGETHER = 30  # experiments of a batch that are not trained
STACKED = 16  # networks of a batch that are trained


@dataclass(frozen=True)
class Axis:
    """A setting and its values, each of them once, in their order.

    Raises
    ------
    InvalidInputError : a setting that is none of `AXES`, no values, or more than 40
    """

    name: str
    values: tuple[Any, ...]

    def __post_init__(self) -> None:
        check_choice("axis", self.name, tuple(AXES))
        object.__setattr__(self, "values", tuple(dict.fromkeys(self.values)))
        if not 1 <= len(self.values) <= MOST_VALUES:
            cure = "name them with commas, or as from:to:steps"
            raise InvalidInputError(f"{self.name} axis", f"1..{MOST_VALUES} values", len(self.values), cure)

    @classmethod
    def parse(cls, text: str) -> Self:
        """The axis of a text: values with commas, or from:to:steps, even or, with :log at the end, by a factor.

        Steps between the ends are rounded to three digits, or to whole numbers.

        >>> Axis.parse("alpha=0.5:8:4").values, Axis.parse("depth=1:100:3:log").values
        ((0.5, 3.0, 5.5, 8.0), (1, 10, 100))
        >>> Axis.parse("activation=tanh,relu").values
        ('tanh', 'relu')
        """
        name, _, values = text.partition("=")
        check_choice("axis", name, tuple(AXES))
        try:
            if ":" in values:
                return cls(name, _spread(AXES[name], *values.split(":")))
            parts = [part.strip() for part in values.split(",") if part.strip()]
            return cls(name, tuple(_value(name, part) for part in parts))
        except (TypeError, ValueError, OverflowError) as err:
            cure = "write name=value,value or name=from:to:steps, with :log for steps by a factor"
            raise InvalidInputError("axis", "a setting with values", text, cure) from err

    @property
    def labels(self) -> list[str]:
        """The values as text, which `parse` reads."""
        return [f"{v:g}" if isinstance(v, float) else "default" if v is None else str(v) for v in self.values]


def _value(name: str, text: str) -> Any:
    words = WORDS if name == "alpha" else {"default": None} if name in ("width", "rows") else {}
    return words[text] if text in words else AXES[name](text)


def _spread(
    kind: Callable[[str], Any], low: str, high: str, steps: str, scale: str = "linear"
) -> tuple[Any, ...]:
    ends, count = (kind(low), kind(high)), min(int(steps), MOST_VALUES + 1)
    possible = np.isfinite(ends).all() and (scale == "linear" or min(ends) > 0)
    if scale not in ("linear", "log") or count < 2 or not possible:
        raise ValueError(scale)
    between = np.geomspace(*ends, count) if scale == "log" else np.linspace(*ends, count)
    inner = [float(f"{value:.3g}") for value in between[1:-1]]
    return ends[0], *(round(value) if kind is int else value for value in inner), ends[1]


@dataclass(frozen=True)
class Cell:
    """A cell: its values, and its experiment, or why there is none."""

    x: Any
    y: Any
    experiment: Experiment | None
    error: str = ""


@dataclass(frozen=True)
class Sweep:
    """A grid of experiments.

    base : what is not on an axis; its repeats are shown by their median, and it knows no time budget here, because
        networks that are trained together share their time
    x, y : the axes
    method : the one whose networks are looked at, a name of `init.INITIALIZERS`
    colour : a name of `QUANTITIES`: the variance of the last hidden layer's pre-activations, its chi_1, the training
        loss before and after training, the test metric, the first epoch whose validation loss is the base's target

    Raises
    ------
    InvalidInputError : one setting on both axes, one that the method does not have, or a colour without its target

    >>> sweep = Sweep(Experiment(), Axis("alpha", (0.5, -1.0)), Axis("depth", (2, 5)))
    >>> [(cell.x, cell.y) for cell in sweep.cells]
    [(0.5, 2), (-1.0, 2), (0.5, 5), (-1.0, 5)]
    >>> sweep.cells[1].error.split(",")[0]
    'alpha must be a positive number up to 1e+06'
    """

    base: Experiment
    x: Axis
    y: Axis
    method: str = "steinglm"
    colour: str = "last_variance"

    def __post_init__(self) -> None:
        check_choice("method", self.method, tuple(INITIALIZERS))
        check_choice("colour", self.colour, QUANTITIES)
        if self.x.name == self.y.name:
            raise InvalidInputError("y", "another setting than x", self.y.name, "choose two settings")
        for axis in (self.x, self.y):
            if axis.name in OWN and axis.name not in OPTIONS.get(self.method, ()):
                cure = "choose another axis, or SteinGLM"
                raise InvalidInputError("axis", "a setting of the method", axis.name, cure)
        if self.colour == "epochs_to_target" and self.base.target_loss is None:
            cure = "set a validation loss at which a network stops"
            raise InvalidInputError("target_loss", "given for epochs_to_target", None, cure)

    @property
    def trained(self) -> bool:
        """Whether the colour needs training."""
        return self.colour in TRAINED

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """Row by row of y."""
        return tuple(self._cell(x, y) for y in self.y.values for x in self.x.values)

    def _cell(self, x: Any, y: Any) -> Cell:
        values = {self.x.name: x, self.y.name: y, "methods": (self.method,), "time_budget": None}
        try:
            experiment = replace(self.base, **values)
        except InvalidInputError as err:
            return Cell(x, y, None, str(err))
        return Cell(x, y, experiment if self.trained else experiment.before_training())


@dataclass(frozen=True)
class Batch(Plain):
    """Experiments of one method each that are computed together; equal batches have equal keys."""

    cells: tuple[Experiment, ...]
    trained: bool = False

    @property
    def dataset(self) -> str:
        """The data set, which all of them have."""
        return self.cells[0].dataset

    @property
    def epochs(self) -> int:
        """The last epoch that a run of it gives; without training one a cell."""
        return self.cells[0].epochs if self.trained else len(self.cells)

    def as_dict(self) -> dict[str, Any]:
        """Plain values, see `Plain.as_dict`."""
        return {"cells": [cell.as_dict() for cell in self.cells], "trained": self.trained}

    @classmethod
    def from_dict(cls, settings: dict[str, Any]) -> Self:
        """The batch with these settings."""
        cells = tuple(Experiment.from_dict(cell) for cell in settings["cells"])
        return cls(cells, bool(settings["trained"]))


def batches(sweep: Sweep) -> tuple[Batch, ...]:
    """The work of a sweep, every experiment once: none of it depends on what else is in its batch.

    Not trained, experiments that differ in depth alone stay together. Trained, a batch holds experiments that differ
    in alpha, score and learning rate alone.
    """
    experiments = list(dict.fromkeys(cell.experiment for cell in sweep.cells if cell.experiment is not None))
    if not sweep.trained:
        families = _grouped(experiments, lambda cell: replace(cell, depth=1))
        return tuple(Batch(tuple(own)) for own in _packed(families, TOGETHER))
    same = Experiment()
    shapes = _grouped(
        experiments,
        lambda cell: replace(cell, alpha=same.alpha, score=same.score, learning_rate=same.learning_rate),
    )
    most = max(1, STACKED // sweep.base.repeats)
    return tuple(
        Batch(tuple(shape[start : start + most]), True)
        for shape in shapes
        for start in range(0, len(shape), most)
    )


def _grouped(cells: Iterable[Experiment], kind: Callable[[Experiment], Hashable]) -> list[list[Experiment]]:
    groups: dict[Hashable, list[Experiment]] = {}
    for cell in cells:
        groups.setdefault(kind(cell), []).append(cell)
    return list(groups.values())


def _packed(families: Sequence[list[Experiment]], most: int) -> list[list[Experiment]]:
    """Whole families together, up to `most` experiments, or one family that has more."""
    packs: list[list[Experiment]] = []
    for family in families:
        if packs and len(packs[-1]) + len(family) <= most:
            packs[-1] = packs[-1] + family
        else:
            packs.append(family)
    return packs

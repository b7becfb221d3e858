"""The league's experiments, and the tidy rows that they give.

The paper's ten data sets, depths 10 and 40, tanh, sigmoid and relu, five repeats with their own splits; about 1,000
steps of Adam in each data set, 100 epochs at most, and the test metric of the best validation epoch. An entry is a
method with an output layer and, of SteinGLM, a score: an experiment has one score, so that a cell (a data set, depth
and activation) takes several experiments, each of one stack of networks. They are split so that none holds more than
30 networks at five repeats.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from steinglm.exceptions import InvalidInputError
from steinglm.init import fits_output
from steinglm.paper.run import Files
from steinglm.paper.study import DATASETS
from steinglm.results import Result
from steinglm.settings import Experiment
from steinglm.stein import SCORES
from steinglm.styles import style

__all__ = [
    "ACTIVATIONS", "COLUMNS", "DATASETS", "DEFAULT", "DEPTHS", "ENTRIES", "EPOCHS", "LEAGUE", "NAMES", "REPEATS",
    "Entry", "entry", "experiments", "opened", "rows",
]  # fmt: skip

DEPTHS = (10, 40)
ACTIVATIONS = ("tanh", "sigmoid", "relu")
REPEATS = 5
NAMES = tuple(name for group in DATASETS.values() for name in group)
# About 1,000 steps, at most 100 epochs: a start tells early, and more rows do not make a longer training.
EPOCHS = dict.fromkeys(NAMES, 100) | {
    "california_housing": 37, "power_plant": 77, "electrical_grid": 77, "adult": 26, "bank_marketing": 17, "magic": 40,
}  # fmt: skip
COLUMNS = ("dataset", "depth", "activation", "entry", "repeat", "seed", "quantity", "value")
ENDS = ["test_metric", "best_epoch", "best_validation_loss"]


@dataclass(frozen=True)
class Entry:
    """What competes: a method, whether its output layer is a GLM, and SteinGLM's score (None: it has none)."""

    method: str
    glm: bool
    score: str | None = None

    @property
    def title(self) -> str:
        """As a person reads it; the baselines and LSUV come with the GLM and without."""
        name = style(self.method).title
        if self.method == "steinglm":
            return f"{name} ({self.score})"
        return f"{name} + GLM" if self.glm and self.method in ("lsuv", "orthogonal") else name


STANDARD = Experiment().score
ENTRIES = {
    **{f"steinglm_{score}": Entry("steinglm", True, score) for score in SCORES},
    "steinglm_lsuv": Entry("steinglm_lsuv", True, STANDARD),
    "pca_glm": Entry("pca", True),
    "swim_glm": Entry("swim", True),
    "lsuv_glm": Entry("lsuv", True),
    "lsuv": Entry("lsuv", False),
    "glorot_normal": Entry("glorot_normal", False),
    "he_normal": Entry("he_normal", False),
    "orthogonal_glm": Entry("orthogonal", True),
    "orthogonal": Entry("orthogonal", False),
}
DEFAULT = f"steinglm_{STANDARD}"  # what the library does unless told otherwise

_FITTED = Experiment(
    methods=("steinglm", "orthogonal", "lsuv", "swim", "pca", "steinglm_lsuv"),
    output="glm", repeats=REPEATS,
)  # fmt: skip
_DRAWN = replace(_FITTED, methods=("glorot_normal", "he_normal", "orthogonal", "lsuv"), output="own")
_KINDS = (
    _FITTED,
    _DRAWN,
    *(replace(_FITTED, methods=("steinglm",), score=score) for score in SCORES if score != STANDARD),
)


def experiments(
    names: Sequence[str] = (),
    depths: Sequence[int] = DEPTHS,
    activations: Sequence[str] = ACTIVATIONS,
    repeats: int = REPEATS,
    epochs: int | None = None,
) -> list[Experiment]:
    """The experiments of a part of the league.

    Parameters
    ----------
    names : data sets of `NAMES`; all if empty
    depths, activations : of `DEPTHS` and `ACTIVATIONS`
    repeats : 5 in the league that comes with the library
    epochs : None for each data set's own, of `EPOCHS`

    Raises
    ------
    InvalidInputError : a data set, depth or activation that the league has not
    """
    _check("datasets", names, NAMES)
    _check("depths", depths, DEPTHS)
    _check("activations", activations, ACTIVATIONS)
    return [
        replace(
            kind,
            dataset=name,
            depth=depth,
            activation=activation,
            repeats=repeats,
            epochs=EPOCHS[name] if epochs is None else epochs,
        )
        for name in NAMES
        if name in names or not names
        for depth in depths
        for activation in activations
        for kind in _KINDS
    ]


def _check(argument: str, values: Iterable[object], known: tuple[object, ...]) -> None:
    for value in values:
        if value not in known:
            raise InvalidInputError(argument, f"of {', '.join(map(str, known))}", value, "choose among these")


def entry(experiment: Experiment, method: str) -> str:
    """The name in `ENTRIES` of an experiment's method.

    >>> entry(Experiment(score="mixed"), "steinglm"), entry(Experiment(output="glm"), "orthogonal")
    ('steinglm_mixed', 'orthogonal_glm')
    """
    if method == "steinglm":
        return f"steinglm_{experiment.score}"
    glm = fits_output(method, experiment.output)
    return next(name for name, own in ENTRIES.items() if (own.method, own.glm) == (method, glm))


def opened(name: str, dataset: str, depth: int, activation: str) -> Experiment:
    """An experiment with the entry's network of the first repeat, beside SteinGLM's and the baselines'."""
    own = ENTRIES[name]
    published = fits_output(own.method, "paper") == own.glm
    return Experiment(
        dataset=dataset, depth=depth, activation=activation, score=own.score or STANDARD,
        methods=tuple(dict.fromkeys((*Experiment().methods, own.method))),
        output="paper" if published else "glm" if own.glm else "own", epochs=EPOCHS[dataset], repeats=1,
    )  # fmt: skip


def rows(result: Result) -> pd.DataFrame:
    """The tidy rows of one finished experiment: `COLUMNS`, values in float32.

    Quantities: test_metric (RMSE of the response scaled to [0, 1], or AUC), best_epoch and best_validation_loss.
    """
    experiment = result.experiment
    assert isinstance(experiment, Experiment)
    table = result.summary.melt(["method", "repeat"], ENDS, "quantity", "value")
    named = {method: entry(experiment, method) for method in experiment.methods}
    return pd.DataFrame(
        {
            "dataset": experiment.dataset,
            "depth": np.int16(experiment.depth),
            "activation": experiment.activation,
            "entry": table["method"].map(named),
            "repeat": table["repeat"].astype(np.int8),
            "seed": np.int64(experiment.seed),
            "quantity": table["quantity"],
            "value": table["value"].astype(np.float32),
        }
    )


LEAGUE = Files("rows.parquet", "environment.json", rows, COLUMNS, "league")

"""The experiments of the paper's section 3, and the tidy rows that they give.

Ten data sets, four depths, ten repeats with their own splits, tanh, 200 epochs. Five methods: SteinGLM with the paper's
formula verbatim (score "identity") and with the "standardized" score, and the three baselines; each with a GLM output
layer and with its own (the paper's ablation). A cell is one data set at one depth; it takes five experiments, the first
two of which are all that Tables 2 and 3 need.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd

from steinglm import datasets
from steinglm.checks import check_choice
from steinglm.exceptions import InvalidInputError
from steinglm.init import fits_output
from steinglm.kinds import AnyExperiment
from steinglm.results import Result
from steinglm.settings import Experiment
from steinglm.styles import style

__all__ = [
    "COLUMNS", "DATASETS", "DEPTHS", "METHODS", "OUTPUTS", "TABLES", "TITLES", "experiments", "label", "rows", "tidy",
    "work",
]  # fmt: skip

DATASETS = {
    "regression": ("abalone", "california_housing", "power_plant", "electrical_grid", "parkinsons"),
    "binary": ("adult", "bank_marketing", "magic", "mammographic", "spambase"),
}
DEPTHS = (10, 20, 30, 40)
BASELINES = ("glorot_normal", "he_normal", "orthogonal")
METHODS = ("steinglm", "steinglm_standardized", *BASELINES)
TITLES = {method: style(method).title for method in METHODS}
OUTPUTS = ("glm", "own")  # the output layer: by the GLM, or as each method draws or takes it itself
TABLES = {2: "regression", 3: "binary", 4: "regression", 5: "binary"}  # the paper's; 4 and 5 are the ablation
COLUMNS = ("dataset", "depth", "method", "output", "repeat", "seed", "quantity", "epoch", "value")
EVERY, STEP = 20, 5  # the epochs of a curve that are kept: the first 20, then each fifth

_PAPER = Experiment(score="identity", repeats=10, epochs=200)
_STANDARDIZED = replace(_PAPER, score="standardized", methods=("steinglm",))
_TABLES_2_3 = (_PAPER, _STANDARDIZED)
_ABLATION = (
    replace(_PAPER, methods=BASELINES, output="glm"),
    replace(_PAPER, methods=("steinglm",), output="own"),
    replace(_STANDARDIZED, output="own"),
)


def experiments(
    tables: Sequence[int] = tuple(TABLES),
    names: Sequence[str] = (),
    depths: Sequence[int] = DEPTHS,
    repeats: int = 10,
) -> list[Experiment]:
    """The experiments of a part of the study, in the order of the tables.

    Parameters
    ----------
    tables : of the paper, 2 to 5; the ablation's (4 and 5) hold what 2 and 3 need, too
    names : data sets; all of the tables' if empty
    depths : of the paper's four
    repeats : 10 in the paper

    Raises
    ------
    InvalidInputError : a table, data set or depth that the paper has not, or data sets of none of the tables
    """
    _check("tables", tables, tuple(TABLES))
    _check("datasets", names, tuple(name for group in DATASETS.values() for name in group))
    _check("depths", depths, DEPTHS)
    chosen = []
    for task, group in DATASETS.items():
        wanted = [table for table in tables if TABLES[table] == task]
        kinds = (_TABLES_2_3 if wanted else ()) + (_ABLATION if any(table >= 4 for table in wanted) else ())
        chosen += [
            replace(kind, dataset=name, depth=depth, repeats=repeats)
            for name in group
            if name in names or not names
            for depth in depths
            for kind in kinds
        ]
    if not chosen:
        raise InvalidInputError(
            "datasets",
            f"of tables {list(tables)}",
            list(names),
            "tables 2 and 4 are regression, 3 and 5 two classes",
        )
    return chosen


def _check(argument: str, values: Iterable[object], known: tuple[object, ...]) -> None:
    for value in values:
        check_choice(argument, str(value), tuple(map(str, known)))


def work(experiment: Experiment) -> float:
    """About how much an epoch costs, in units activated and weights multiplied, to compare experiments by."""
    rows, features = _shape(experiment.dataset)
    width = experiment.units(features)
    networks = len(experiment.methods) * experiment.repeats
    return float(rows * networks * (features * width + experiment.depth * width * (width + 40)))


@cache
def _shape(dataset: str) -> tuple[int, int]:
    X, _ = datasets.design(datasets.load(dataset))
    return X.shape


def label(experiment: AnyExperiment, method: str) -> tuple[str, str]:
    """The study's name of an experiment's method, and its output layer.

    >>> label(Experiment(score="standardized"), "steinglm"), label(Experiment(score="identity"), "orthogonal")
    (('steinglm_standardized', 'glm'), ('orthogonal', 'own'))
    """
    glm = fits_output(method, experiment.output)
    standardized = method == "steinglm" and experiment.score == "standardized"
    return f"{method}_standardized" if standardized else method, "glm" if glm else "own"


def rows(result: Result) -> pd.DataFrame:
    """The tidy rows of one finished experiment: `COLUMNS`, values in float32, curves thinned.

    Quantities: test_metric (RMSE of the response scaled to [0, 1], or AUC), best_epoch and best_validation_loss, with
    epoch -1; training_loss and validation_loss by epoch. No times: they are not the same twice.
    """
    kept = (result.history["epoch"] <= EVERY) | (result.history["epoch"] % STEP == 0)
    ends = ["test_metric", "best_epoch", "best_validation_loss"]
    return tidy(result, result.experiment.dataset, result.experiment.depth, ends, result.history[kept])


def tidy(
    result: Result, dataset: str, depth: int, ends: Sequence[str], history: pd.DataFrame
) -> pd.DataFrame:
    """The columns `ends` of a result's summary, with epoch -1, and a part of its history, as rows of a study."""
    summary = result.summary.melt(["method", "repeat"], list(ends), "quantity", "value").assign(epoch=-1)
    table = pd.concat([summary, history], ignore_index=True)
    experiment = result.experiment
    named = {method: label(experiment, method) for method in experiment.methods}
    return pd.DataFrame(
        {
            "dataset": dataset,
            "depth": np.int16(depth),
            "method": table["method"].map({method: name for method, (name, _) in named.items()}),
            "output": table["method"].map({method: output for method, (_, output) in named.items()}),
            "repeat": table["repeat"].astype(np.int8),
            "seed": np.int64(experiment.seed),
            "quantity": table["quantity"],
            "epoch": table["epoch"].astype(np.int16),
            "value": table["value"].astype(np.float32),
        }
    )

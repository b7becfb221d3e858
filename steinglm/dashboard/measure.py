"""The library's calls as the pages make them: cached, measured on a bounded number of rows, shared between sessions."""

import math

import pandas as pd
import streamlit as st

from steinglm import datasets
from steinglm.analysis import PREDICTED, jacobian, phase_table, signals, theory
from steinglm.datasets import own, workshop
from steinglm.experiment import Experiment, initialize, split
from steinglm.signals import QUANTITIES

__all__ = [
    "directions",
    "every_row",
    "facts",
    "initial_rows",
    "jacobian_and_phases",
    "measured",
    "predicted",
    "rows_of",
    "task",
    "title",
]

# rows x units x layers x networks that are measured: an answer within a moment of any change
BUDGET, FEWEST = 8_000_000, 4000


def title(dataset: str) -> str:
    """The name of a data set as a person reads it."""
    if dataset.startswith(workshop.PREFIX):
        return "Multi-index model"
    if own.is_own(dataset):
        return own.find(dataset).dataset.title
    return dataset.replace("_", " ").capitalize()


@st.cache_resource(max_entries=32, show_spinner=False)
def _shape(dataset: str) -> tuple[int, int, int, str, int, int]:
    data = datasets.load(dataset)
    X, y = datasets.design(data)
    outputs = int(y.max()) + 1 if data.task == "multiclass" else math.prod(y.shape[1:])  # type: ignore[arg-type]
    known = 0 if data.directions is None else data.directions.shape[1]
    return len(X), data.X.shape[1], X.shape[1], data.task, outputs, known


def task(dataset: str) -> str:
    """Its task, of `responses.TASKS`."""
    return _shape(dataset)[3]


def directions(dataset: str) -> int:
    """How many true directions are known; 0 where nobody knows them."""
    return _shape(dataset)[5]


def facts(dataset: str) -> str:
    """One line on a data set: rows, features before and after encoding, task; or what is missing to load it."""
    if not datasets.available(dataset):
        return "Not on this machine yet."
    rows, raw, encoded, kind, outputs, known = _shape(dataset)
    features = f"{raw} features" if raw == encoded else f"{raw} features, {encoded} after encoding"
    several = f"regression of {outputs} responses" if outputs > 1 else "regression"
    aim = {"regression": several, "binary": "two classes", "multiclass": f"{outputs} classes"}[kind]
    truth = f", {known} known direction{'s' if known > 1 else ''}" if known else ""
    return f"{rows:,} rows, {features}, {aim}{truth}"


@st.cache_resource(max_entries=64, show_spinner=False)
def _initial_rows(experiment: Experiment) -> pd.DataFrame:
    return initialize(experiment, max_rows=_most(experiment))


@st.cache_resource(max_entries=32, show_spinner=False)
def _signal_rows(experiment: Experiment) -> pd.DataFrame:
    return signals(experiment, max_rows=_most(experiment))


@st.cache_resource(max_entries=64, show_spinner=False)
def _predicted(experiment: Experiment) -> pd.DataFrame:
    return theory(experiment)


def initial_rows(experiment: Experiment) -> pd.DataFrame:
    """The layers of the experiment's networks before training; other training settings do not compute them again."""
    return _initial_rows(experiment.before_training())


def rows_of(experiment: Experiment, quantity: str) -> pd.DataFrame:
    """`initial_rows`, and with them the other signals where `quantity` is one of these."""
    rows = initial_rows(experiment)
    if quantity not in QUANTITIES:
        return rows
    return pd.concat([rows, _signal_rows(experiment.before_training())], ignore_index=True)


def every_row(experiment: Experiment) -> pd.DataFrame:
    """All that is measured of the layers before training, and theory's values as quantities that begin with theory_."""
    said = _predicted(experiment.before_training())
    said = said.assign(quantity="theory_" + said["quantity"])
    return pd.concat([rows_of(experiment, QUANTITIES[0]), said], ignore_index=True)


@st.cache_resource(max_entries=32, show_spinner=False)
def _jacobian_and_phases(experiment: Experiment) -> tuple[pd.DataFrame, pd.DataFrame]:
    return jacobian(experiment), phase_table(experiment)


def jacobian_and_phases(experiment: Experiment) -> tuple[pd.DataFrame, pd.DataFrame]:
    """What `analysis.jacobian` and `analysis.phase_table` say of the experiment's networks."""
    return _jacobian_and_phases(experiment.before_training())


def predicted(experiment: Experiment, quantity: str) -> pd.DataFrame | None:
    """What theory says of a quantity of the layers; None where it says nothing."""
    return _predicted(experiment.before_training()) if quantity in PREDICTED else None


def _most(experiment: Experiment) -> int:
    """How many rows are measured at most."""
    width = experiment.units(_shape(experiment.dataset)[2])
    return max(FEWEST, BUDGET // (width * experiment.depth * len(experiment.methods) * experiment.repeats))


def measured(experiment: Experiment) -> tuple[int, int]:
    """On how many of the training rows the layers are measured, and how many there are."""
    rows = len(split(experiment.dataset, experiment.seed, 0, experiment.rows).y_train)
    return min(_most(experiment), rows), rows

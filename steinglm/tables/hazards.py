"""Columns to beware of: inputs that give the response away, and heavy tails."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from steinglm.datasets.dataset import Task
from steinglm.tables.choices import named
from steinglm.tables.columns import Column

__all__ = ["heavy", "leaks"]

HEAVY = 30.0  # kurtosis, of a normal distribution 3
COPY = 0.999  # rank correlation, or share of the rows whose class a column tells
ENOUGH = 50  # rows that tell a copy from chance


def heavy(columns: Sequence[Column], target: str) -> list[str]:
    """The inputs whose tails are so heavy that a few rows would have most of a moment's weight."""
    found = []
    for column in columns:
        if column.kind == "number" and column.name != target:
            values = column.values.dropna().to_numpy(dtype=float)
            spread = values - values.mean()
            spread = spread / np.abs(spread).max()
            if (spread**4).mean() > HEAVY * (spread**2).mean() ** 2:
                found.append(column.name)
    return found


def leaks(columns: Sequence[Column], target: str, task: Task) -> list[tuple[str, str]]:
    """The inputs that all but repeat the response, and how: what is learned from them is nothing new."""
    own = named(columns, target)
    found = []
    for column in columns:
        if column.usable and column.name != target:
            both = (column.values.notna() & own.values.notna()).to_numpy()
            share = _likeness(column.values[both], own.values[both], task) if both.sum() >= ENOUGH else 0.0
            if share >= COPY:
                how = (
                    "has nearly the order of the response"
                    if task == "regression"
                    else "tells nearly every class"
                )
                found.append(
                    (column.name, f"{how} ({share:.2%}); leave it out unless it is known beforehand")
                )
    return found


def _likeness(values: pd.Series, response: pd.Series, task: Task) -> float:
    """The rank correlation with a number; with classes the share of rows whose class the value tells, of the rest."""
    codes, _ = pd.factorize(response)
    if task == "regression":
        x = values if values.dtype == float else pd.Series(pd.factorize(values)[0], values.index)
        a, b = rankdata(x), rankdata(response)
        return float(abs(np.corrcoef(a, b)[0, 1])) if np.ptp(a) and np.ptp(b) else 0.0
    shares: np.ndarray = np.bincount(codes) / len(codes)
    if values.dtype == float:
        # sorted by a number that tells them, the classes change as often as there are others
        changes = int(np.count_nonzero(np.diff(codes[values.to_numpy().argsort(kind="stable")])))
        surplus = max(0, changes - (len(shares) - 1))
        by_chance = (len(codes) - 1) * (1 - float(np.sum(shares**2)))
        return 1 - surplus / by_chance if by_chance else 0.0
    table: np.ndarray = pd.crosstab(values.to_numpy(), codes).to_numpy(dtype=float)
    told, commonest = np.sum(table.max(1)) / len(codes), np.max(shares)
    repeats = len(codes) >= 2 * len(table)
    return float((told - commonest) / (1 - commonest)) if commonest < 1 and repeats else 0.0

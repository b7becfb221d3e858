"""Who is best over many data sets: ranks, Friedman's test, Nemenyi's critical difference (Demsar, JMLR 2006).

A cell is a data set at a depth with an activation; in each, entries are ranked by their mean test metric over the
repeats, 1 the best, ties sharing the mean of their ranks. Two entries differ at the level if their mean ranks over N
cells do by more than the critical difference q sqrt(k (k + 1) / (6 N)), q the studentized range over sqrt(2).
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd
from scipy.stats import chi2, rankdata, studentized_range

from steinglm.exceptions import InvalidInputError
from steinglm.league.study import ACTIVATIONS, DATASETS, ENTRIES, NAMES

__all__ = ["CELL", "LEVEL", "Standing", "cells", "critical_difference", "errors", "ranks", "standing"]

LEVEL = 0.05
CELL = ["dataset", "depth", "activation"]


@dataclass(frozen=True, eq=False)
class Standing:
    """The league over some cells.

    mean_ranks : by entry, the best first
    cells, datasets : how many cells, and of how many data sets
    wins : by entry, the cells in which no other is better
    statistic, p : of Friedman's test that all entries are alike
    difference : the critical difference of two mean ranks
    """

    mean_ranks: "pd.Series[float]"
    cells: int
    datasets: int
    wins: "pd.Series[int]"
    statistic: float
    p: float
    difference: float

    def apart(self, one: str, other: str) -> bool:
        """Whether the mean ranks of two entries differ by more than the critical difference."""
        return bool(abs(self.mean_ranks[one] - self.mean_ranks[other]) > self.difference)


def cells(rows: pd.DataFrame) -> pd.DataFrame:
    """The mean test metric over repeats, a line a cell (index `CELL`), a column an entry; nan where one diverged."""
    own = rows[rows["quantity"] == "test_metric"]
    own = own.astype({"dataset": str, "activation": str, "entry": str, "value": float})
    # pandas leaves nan out of a mean; a network that diverged is no better for it
    table = own.groupby([*CELL, "entry"])["value"].agg(["mean", "size", "count"])
    table = table["mean"].where(table["size"] == table["count"]).unstack("entry")
    place = {name: i for i, name in enumerate((*NAMES, *ACTIVATIONS))}
    table = table.dropna(how="all").sort_index(
        key=lambda values: values.map(lambda value: place.get(value, value))
    )
    return table[[name for name in ENTRIES if name in table]]


def errors(table: pd.DataFrame) -> pd.DataFrame:
    """What is better the smaller it is, for each number of `cells`: the RMSE, or 1 - AUC."""
    regression = table.index.get_level_values("dataset").isin(DATASETS["regression"])
    return table.mul(np.where(regression, 1, -1), axis=0).add(np.where(regression, 0, 1), axis=0)


def ranks(table: pd.DataFrame) -> pd.DataFrame:
    """The ranks in each cell of `cells`, 1 the best: the lowest RMSE or the highest AUC; nan is last."""
    own = errors(table).fillna(np.inf).to_numpy()
    return pd.DataFrame(rankdata(own, axis=1), table.index, table.columns)


def critical_difference(entries: int, cells: int, level: float = LEVEL) -> float:
    """Nemenyi's critical difference of mean ranks (Demsar's equation in section 3.2.2).

    >>> round(critical_difference(5, 30), 2), round(critical_difference(4, 14, 0.10), 2)
    (1.11, 1.12)
    """
    return _q(entries, level) * float(np.sqrt(entries * (entries + 1) / (6 * cells)))


@cache
def _q(entries: int, level: float) -> float:
    """Of many degrees of freedom; scipy integrates for a good second."""
    return float(studentized_range.ppf(1 - level, entries, np.inf) / np.sqrt(2))


def standing(table: pd.DataFrame) -> Standing:
    """The league over the cells of a table as `cells` gives it.

    Raises
    ------
    InvalidInputError : no cell, or fewer than two entries
    """
    N, k = table.shape
    if N < 1 or k < 2:
        raise InvalidInputError("cells", "one or more of two entries or more", table.shape, "choose more")
    own = ranks(table)
    mean_ranks = own.mean().sort_values(kind="stable")
    statistic, p = _friedman(own.to_numpy())
    best = own.eq(own.min(axis=1), axis=0).sum()
    datasets = table.index.get_level_values("dataset").nunique()
    return Standing(mean_ranks, N, datasets, best, statistic, p, critical_difference(k, N))


def _friedman(own: np.ndarray) -> tuple[float, float]:
    """Friedman's chi-squared with the correction for ties, and its p; of ranks (N, k)."""
    N, k = own.shape
    spread = np.square(own - (k + 1) / 2).sum()  # of all ranks; N k (k^2 - 1) / 12 without ties
    if spread == 0:
        return 0.0, 1.0
    statistic = (k - 1) * N**2 * np.square(own.mean(0) - (k + 1) / 2).sum() / spread
    return float(statistic), float(chi2.sf(statistic, k - 1))

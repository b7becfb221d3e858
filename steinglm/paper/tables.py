"""The paper's tables, ours beside theirs."""

from functools import cache
from importlib.resources import files

import numpy as np
import pandas as pd

from steinglm.paper.study import DATASETS, METHODS, TABLES, TITLES

__all__ = ["as_text", "published", "table"]

COLUMNS = (
    "dataset",
    "depth",
    "method",
    "output",
    "mean",
    "sd",
    "repeats",
    "paper_mean",
    "paper_sd",
    "difference",
)


@cache
def published() -> pd.DataFrame:
    """The paper's Tables 2 to 5: table, dataset (empty: their average), depth, method, output, mean, sd."""
    text = files("steinglm.paper").joinpath("published.csv").open(encoding="utf-8")
    with text:
        return pd.read_csv(text, keep_default_na=False, na_values={"sd": [""]})


def table(rows: pd.DataFrame, number: int) -> pd.DataFrame:
    """One of the paper's tables from the study's rows, a line a cell and method.

    Parameters
    ----------
    rows : of `study.rows`, of any part of the study
    number : 2 or 3 (a line for each data set), 4 or 5 (averages over the data sets, with and without the GLM)

    Returns
    -------
    columns dataset, depth, method, output, mean, sd, repeats (ours), paper_mean, paper_sd, and difference: ours minus
    the paper's in units of the pooled sd, nan where the paper gives no sd or no such method; the paper's averages of
    Tables 4 and 5 are nan unless the rows are of all its data sets
    """
    own = rows[(rows["quantity"] == "test_metric") & rows["dataset"].isin(_names(number))]
    own = own.astype({"dataset": str, "method": str, "output": str, "value": float})
    if number in (2, 3):
        steins = own["method"].str.startswith("steinglm")
        own = own[(own["output"] == "glm") == steins]
        found = own.groupby(["dataset", "depth", "method", "output"])["value"].agg(["mean", "std", "count"])
    else:
        # first over the repeats, then over the data sets, so that each counts alike
        cells = own.groupby(["dataset", "depth", "method", "output"])["value"].mean()
        found = cells.groupby(["depth", "method", "output"]).agg(["mean", "std", "count"])
        found = pd.concat({"": found}, names=["dataset"])
    found = found.rename(columns={"std": "sd", "count": "repeats"}).reset_index()
    theirs = published()[published()["table"] == number].rename(
        columns={"mean": "paper_mean", "sd": "paper_sd"}
    )
    if number in (4, 5) and own["dataset"].nunique() < len(_names(number)):
        theirs = theirs.assign(paper_mean=np.nan)  # an average over other data sets is not to be compared
    both = found.merge(theirs.drop(columns="table"), how="left", on=["dataset", "depth", "method", "output"])
    pooled = np.sqrt((both["sd"] ** 2 + both["paper_sd"] ** 2) / 2)
    both["difference"] = (both["mean"] - both["paper_mean"]) / pooled.where(pooled > 0)
    order = {name: i for i, name in enumerate((*_names(number), ""))} | {
        name: i for i, name in enumerate(METHODS)
    }
    by = ["dataset", "depth", "output", "method"]
    both = both.sort_values(
        by, key=lambda column: column.map(order) if column.name in ("dataset", "method") else column
    )
    return both[list(COLUMNS)].reset_index(drop=True)


def _names(number: int) -> tuple[str, ...]:
    return DATASETS[TABLES[number]]


def as_text(lines: pd.DataFrame, number: int) -> str:
    """A table for the terminal: "ours (paper's)" in each cell."""
    measure = "RMSE, lower is better" if TABLES[number] == "regression" else "AUC, higher is better"
    cells = [
        f"{line['mean']:.4f}"
        + (f" ({line['paper_mean']:.4f})" if line["paper_mean"] == line["paper_mean"] else "")
        for _, line in lines.iterrows()
    ]
    wide = lines.assign(cell=cells, method=lines["method"].map(TITLES))
    index = ["dataset", "depth"] if number in (2, 3) else ["output", "depth"]
    shown = wide.pivot(index=index, columns="method", values="cell")
    shown = shown.reindex(columns=[title for title in TITLES.values() if title in shown])
    if number in (2, 3):
        shown = shown.reindex(list(dict.fromkeys(zip(wide["dataset"], wide["depth"], strict=True))))
    return (
        f"Table {number}: test {measure}; ours, and the paper's in brackets\n{shown.fillna('').to_string()}"
    )

"""The cells of a sweep as a table, complete or as far as they are known."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from steinglm.experiment import Experiment
from steinglm.results import Result
from steinglm.sweep.batch import train
from steinglm.sweep.settings import INITIAL, QUANTITIES, Batch, Sweep, batches

__all__ = ["compute", "pivot", "table"]


def compute(sweep: Sweep) -> pd.DataFrame:
    """The `table` of a sweep, computed here and now, without an engine."""
    summaries: dict[Batch, pd.DataFrame | str] = {}
    for batch in batches(sweep):
        *_, result = train(batch)
        assert isinstance(result, Result)
        summaries[batch] = result.summary
    return table(sweep, summaries)


def table(sweep: Sweep, summaries: Mapping[Batch, pd.DataFrame | str]) -> pd.DataFrame:
    """One row a cell: its two settings, each quantity, and why there is none, if there is none.

    Parameters
    ----------
    summaries : of the batches that are done (see `batch.train`), or why a batch has none

    Returns
    -------
    Columns x's name, y's name, `settings.QUANTITIES` (without training the first three), error, done. A cell that is
    not computed yet is not done; one that has no value is done, and says why in error where that is known.
    """
    names = QUANTITIES if sweep.trained else INITIAL
    known: dict[Experiment, dict[str, Any]] = {}
    for batch, summary in summaries.items():
        if isinstance(summary, str):
            known |= {cell: {"error": summary} for cell in batch.cells}
        else:
            rows: list[Any] = summary.sort_values("cell").to_dict("records")
            known |= dict(zip(batch.cells, rows, strict=True))
    lines = []
    for cell in sweep.cells:
        own = known.get(cell.experiment, {}) if cell.experiment is not None else {"error": cell.error}
        line = {sweep.x.name: cell.x, sweep.y.name: cell.y}
        line |= {name: own.get(name, float("nan")) for name in names}
        lines.append(line | {"error": own.get("error", ""), "done": bool(own)})
    return pd.DataFrame(lines)


def pivot(sweep: Sweep, rows: pd.DataFrame) -> pd.DataFrame:
    """The colour of a `table`'s cells: a line a value of y, a column a value of x, both as text."""
    values = rows[sweep.colour].to_numpy().reshape(len(sweep.y.values), len(sweep.x.values))
    return pd.DataFrame(values, index=sweep.y.labels, columns=sweep.x.labels)

"""Matrices as heat maps: the hue is the sign, the strength the size, and zero is clear, so that the theme shows."""

from collections.abc import Sequence

import numpy as np

from steinglm.dashboard.charts import Figure
from steinglm.dashboard.look import LIGHT
from steinglm.dashboard.pictures import NEGATIVE, POSITIVE

__all__ = ["heatmap"]


def heatmap(
    values: np.ndarray,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    title: str,
    note: str,
    across: str,
    down: str,
) -> Figure:
    """Draw a matrix (m, n) with the names of its rows and columns; the scale is symmetric about 0.

    Parameters
    ----------
    title, note : above the chart
    across, down : what the columns and the rows are
    """
    most = float(np.abs(values).max()) or 1.0
    names = {"across": list(columns), "down": list(rows)}
    trace = {
        "type": "heatmap", "z": values.tolist(), "zmin": -most, "zmax": most,
        "x": list(range(1, len(columns) + 1)), "y": list(range(1, len(rows) + 1)),
        "text": [[f"{row}, {column}" for column in columns] for row in rows],
        "hovertemplate": "%{text}: %{z:.3g}<extra></extra>",
        "colorscale": [[0, NEGATIVE], [0.5, "rgba(128,128,128,0.06)"], [1, POSITIVE]],
        "colorbar": {"thickness": 12, "outlinewidth": 0, "nticks": 5},
        "xgap": 1, "ygap": 1,
    }  # fmt: skip
    layout = {
        "template": LIGHT,
        "title": {"text": title, "subtitle": {"text": note}},
        "meta": {"positive": False},
        "hovermode": "closest",
        "xaxis": _axis(across, names["across"]) | {"tickangle": -45 if max(map(len, columns)) > 4 else 0},
        "yaxis": _axis(down, names["down"]) | {"range": [len(rows) + 0.5, 0.5]},  # first row on top
    }
    return {"data": [trace], "layout": layout}


def _axis(title: str, names: Sequence[str]) -> Figure:
    places = list(range(1, len(names) + 1))
    return {"title": {"text": title}, "tickvals": places, "ticktext": list(names), "showgrid": False}

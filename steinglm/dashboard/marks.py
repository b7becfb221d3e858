"""What a lesson asks to look at, drawn onto a chart: a band over some layers, or a line at some height."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from steinglm.dashboard.charts import Figure
from steinglm.lessons.lesson import Mark
from steinglm.styles import GREY

__all__ = ["marked"]

Values = NDArray[np.floating[Any]]
MARGIN = 0.25  # beside the first and the last position, so that a single one can be seen


def marked(figure: Figure, mark: Mark) -> Figure:
    """The figure with the mark and its label.

    Both belong to one shape, so that they stay together when the axis changes; the letters have the theme's colour.
    """
    y = np.concatenate([trace["y"] for trace in figure["data"]] or [np.zeros(0)])
    shape = _band(mark, figure) if mark.level is None else _line(mark.level, y)
    shape["label"] |= {"text": mark.label, "font": {"size": 13}, "padding": 4}
    return figure | {"layout": {**figure["layout"], "shapes": [shape]}}


def _line(level: float, y: Values) -> Figure:
    side = "top" if len(y) and level >= y.max() else "bottom"  # under the line where that is the upper end
    return {
        "type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": level, "y1": level,
        "line": {"color": GREY, "width": 1.5, "dash": "dot"}, "label": {"textposition": "end", "yanchor": side},
    }  # fmt: skip


def _band(mark: Mark, figure: Figure) -> Figure:
    assert mark.first is not None and mark.last is not None
    red, green, blue = bytes.fromhex(GREY[1:])
    start, end = _ends(figure)
    side = (
        "right" if mark.first + mark.last > start + end else "left"
    )  # the label has room towards the middle
    return {
        "type": "rect", "yref": "paper", "y0": 0, "y1": 1,
        "x0": max(mark.first - MARGIN, start), "x1": min(mark.last + MARGIN, end),
        "fillcolor": f"rgba({red},{green},{blue},0.16)", "line": {"width": 0},
        "label": {"textposition": f"top {side}"},
    }  # fmt: skip


def _ends(figure: Figure) -> tuple[float, float]:
    """The horizontal axis: its range, or as far as a margin beyond the points."""
    if "range" in figure["layout"].get("xaxis", {}):
        start, end = figure["layout"]["xaxis"]["range"]
        return float(start), float(end)
    x = np.concatenate([trace["x"] for trace in figure["data"]] or [np.zeros(1)])
    return float(x.min()) - MARGIN, float(x.max()) + MARGIN

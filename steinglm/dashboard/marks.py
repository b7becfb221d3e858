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
    shape = _band(mark, _end(figure)) if mark.level is None else _line(mark.level, y)
    shape["label"] |= {"text": mark.label, "font": {"size": 13}, "padding": 4}
    return figure | {"layout": {**figure["layout"], "shapes": [shape]}}


def _line(level: float, y: Values) -> Figure:
    side = "top" if len(y) and level >= y.max() else "bottom"  # under the line where that is the upper end
    return {
        "type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": level, "y1": level,
        "line": {"color": GREY, "width": 1.5, "dash": "dot"}, "label": {"textposition": "end", "yanchor": side},
    }  # fmt: skip


def _band(mark: Mark, end: float) -> Figure:
    assert mark.first is not None and mark.last is not None
    red, green, blue = bytes.fromhex(GREY[1:])
    side = "right" if mark.first + mark.last > end else "left"  # the label has its room towards the middle
    return {
        "type": "rect", "yref": "paper", "x0": mark.first - MARGIN, "x1": mark.last + MARGIN, "y0": 0, "y1": 1,
        "fillcolor": f"rgba({red},{green},{blue},0.16)", "line": {"width": 0},
        "label": {"textposition": f"top {side}"},
    }  # fmt: skip


def _end(figure: Figure) -> float:
    """Where the horizontal axis ends: that of its range, or the last point."""
    if "range" in figure["layout"].get("xaxis", {}):
        return float(figure["layout"]["xaxis"]["range"][1])
    return max((float(max(trace["x"])) for trace in figure["data"] if len(trace["x"])), default=0.0)

"""A sweep's cells in, a Plotly figure out, and the sentence below it. Pure functions, as in `charts`."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from steinglm.dashboard.charts import LIGHT, Figure
from steinglm.dashboard.words import number
from steinglm.sweep import Axis, Sweep

__all__ = ["heatmap", "hover", "sentence"]

RATIO = 10.0  # of the largest to the smallest value, from which on colours follow the logarithm
DECADES = 8  # that the colours tell apart; below them all are of the darkest
BALANCED = "chi_1"  # whose colours part at 1
SEQUENTIAL, DIVERGING = "Viridis", "RdBu"
TICKS = 6  # of the colour bar, at most


@dataclass(frozen=True, eq=False)
class _Scale:
    """What the colours are of (values or their logarithm), from where to where, and the colour bar's ticks."""

    shown: np.ndarray
    low: float
    high: float
    colours: str
    note: str
    ticks: dict[str, Any]


EMPTY: dict[str, Any] = {
    "text": "Cells will fill in here", "x": 0.5, "y": 0.5, "xref": "paper", "yref": "paper", "showarrow": False,
    "font": {"size": 15},
}  # fmt: skip


def heatmap(sweep: Sweep, rows: pd.DataFrame, titles: dict[str, str], colour: str) -> Figure:
    """Draw the cells of a sweep, x across and y upwards, in the order of the axes.

    Parameters
    ----------
    rows : of `sweep.table`
    titles : of the settings, for the axes
    colour : what the sweep's colour is called
    """
    values = rows[sweep.colour].to_numpy(float)
    shape = len(sweep.y.values), len(sweep.x.values)
    texts = np.array(hover(sweep, rows, titles, colour), dtype=object).reshape(shape)
    scale = _scale(sweep.colour, values)
    shown = np.where(np.isfinite(values), scale.shown, np.nan).reshape(shape)
    trace = {
        "type": "heatmap", "x": list(range(shape[1])), "y": list(range(shape[0])),
        "z": [[None if math.isnan(value) else value for value in line] for line in shown.tolist()],
        "text": texts.tolist(), "hovertemplate": "%{text}<extra></extra>", "hoverongaps": True, "xgap": 1, "ygap": 1,
        "zmin": scale.low, "zmax": scale.high, "colorscale": scale.colours, "showscale": bool(np.isfinite(shown).any()),
        "colorbar": {"thickness": 14, "outlinewidth": 0, "ticks": "", **scale.ticks}, "meta": {"role": "cells"},
    }  # fmt: skip
    empty = [] if np.isfinite(shown).any() or rows["done"].all() else [EMPTY]
    layout = {
        "template": LIGHT,
        "title": {"text": colour, "subtitle": {"text": scale.note}},
        "hovermode": "closest",
        "xaxis": _axis(sweep.x, titles[sweep.x.name]),
        "yaxis": _axis(sweep.y, titles[sweep.y.name]),
        "annotations": _marks(sweep, rows) + empty,
    }
    return {"data": [trace], "layout": layout}


def hover(sweep: Sweep, rows: pd.DataFrame, titles: dict[str, str], colour: str) -> list[str]:
    """What is said of each cell: its settings, and its exact value or why it has none."""
    labels = [(x, y) for y in sweep.y.labels for x in sweep.x.labels]
    found = []
    for (x, y), value, error, done in zip(
        labels, rows[sweep.colour], rows["error"], rows["done"], strict=True
    ):
        said = f"{colour}: {value:.6g}" if math.isfinite(value) else _missing(sweep, value, error, done)
        found.append(f"{titles[sweep.x.name]} {x}<br>{titles[sweep.y.name]} {y}<br>{said}")
    return found


def sentence(sweep: Sweep, rows: pd.DataFrame, titles: dict[str, str], better: str) -> str:
    """Where the colour is lowest and highest, or, with `better` "lower" or "higher", where it is best."""
    values = rows[sweep.colour].to_numpy(float)
    finite = np.isfinite(values)
    if not finite.any():
        return ""
    low, high = (
        int(np.where(finite, values, np.inf).argmin()),
        int(np.where(finite, values, -np.inf).argmax()),
    )

    def at(place: int) -> str:
        y, x = divmod(place, len(sweep.x.values))
        names = titles[sweep.x.name].lower(), titles[sweep.y.name].lower()
        return f"{values[place]:.3g}, at {names[0]} {sweep.x.labels[x]} and {names[1]} {sweep.y.labels[y]}"

    if better:
        best, worst = (low, high) if better == "lower" else (high, low)
        said = f"Best is {at(best)}; worst {at(worst)}."
    else:
        said = f"Lowest is {at(low)}; highest {at(high)}."
    failed = int((rows["done"] & ~finite).sum())
    return said + (f" {failed} of {len(rows)} cells have no value." if failed else "")


def _missing(sweep: Sweep, value: float, error: str, done: bool) -> str:
    if error:
        return "<br>".join(error[start : start + 60] for start in range(0, len(error), 60))
    if not done:
        return "not computed yet"
    return (
        "never" if value == math.inf and sweep.colour == "epochs_to_target" else "not a number: it diverged"
    )


def _marks(sweep: Sweep, rows: pd.DataFrame) -> list[dict[str, Any]]:
    """A sign in each cell that is done and has no value."""
    marks = []
    for place, (value, done) in enumerate(zip(rows[sweep.colour], rows["done"], strict=True)):
        if done and not math.isfinite(value):
            y, x = divmod(place, len(sweep.x.values))
            sign = "∞" if value == math.inf else "×"
            marks.append({"x": x, "y": y, "text": sign, "showarrow": False, "captureevents": False})
    return marks


def _scale(colour: str, values: np.ndarray) -> _Scale:
    """Colours over the finite values: over their logarithm where these go over a decade or more."""
    known = values[np.isfinite(values)]
    positive = known[known > 0]
    balanced = colour == BALANCED
    log = len(positive) > 0 and known.min() >= 0 and (balanced or positive.max() / positive.min() >= RATIO)
    if not log:
        low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
        return _Scale(values, low, high, SEQUENTIAL, "", {"nticks": TICKS})
    low, high = math.log10(positive.min()), math.log10(positive.max())
    note = "Colours follow the logarithm"
    if balanced:
        high = min(max(abs(low), abs(high), 0.01), DECADES)
        low, note = -high, f"{note}; in the middle is 1"
    elif low < high - DECADES or len(positive) < len(known):
        low = max(low, high - DECADES)
        note += f"; up to {number(10**low)} all are alike"
    powers = range(math.ceil(low), math.floor(high) + 1, max(1, math.ceil((high - low) / TICKS)))
    places = list(powers) if len(powers) > 1 else [low, (low + high) / 2, high]
    ticks = {"tickvals": places, "ticktext": [number(10**place) for place in places]}
    shown = np.log10(np.maximum(values, 10.0**low))
    return _Scale(shown, low, high, DIVERGING if balanced else SEQUENTIAL, note, ticks)


def _axis(axis: Axis, title: str) -> dict[str, Any]:
    """Every value at its place, named where there is room."""
    n = len(axis.values)
    step = math.ceil(n / 20)
    places = list(range(0, n, step))
    return {
        "title": {"text": title}, "tickvals": places, "ticktext": [axis.labels[place] for place in places],
        "range": [-0.5, n - 0.5], "showgrid": False, "showspikes": False, "fixedrange": True,
    }  # fmt: skip

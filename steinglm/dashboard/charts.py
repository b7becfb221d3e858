"""Tidy rows in, Plotly figures out: the three charts of the comparison, in one hand.

Every function is pure and knows nothing of Streamlit. A method has one colour, dash and marker in all charts
(`METHODS`) and one `legendgroup`, so that a page can hide it everywhere at once. What a trace is stands in its
`meta` (method, quantity, role), by which the browser lets a curve grow.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import ArrayLike, NDArray

from steinglm.dashboard.look import DARK, GREY, LIGHT, METHODS, Style, style

__all__ = [
    "DARK", "FLOOR", "LIGHT", "METHODS", "POINTS", "Style", "curves", "learning", "spectrum", "style", "thin",
    "variance",
]  # fmt: skip

FLOOR = 1e-30  # the smallest value that a log axis shows; float32 holds it
POINTS = 1000  # the most points of one curve
Behind = Mapping[str, pd.DataFrame] | None

_QUANTITIES = {
    "preactivation_variance": ("Signal through the layers", "variance of the pre-activations"),
    "activation_variance": ("Signal through the layers", "variance of the activations"),
    "moment_eigenvalue": ("Eigenvalue spectrum", "eigenvalue of the cross-moment"),
    "weight_singular_value": ("Singular values", "singular value of the weights"),
}
_LOSSES = {"training_loss": 2.8, "validation_loss": 1.3}  # the width of the line


def thin(values: NDArray[np.floating[Any]], points: int = POINTS) -> NDArray[np.intp]:
    """Choose at most `points` positions of a curve: evenly, with both ends and the minimum kept.

    Parameters
    ----------
    values : array (n,)
    points : int, at least 3

    Returns
    -------
    array (min(n, points),) of increasing positions, or one fewer where the minimum is among the others
    """
    n = len(values)
    if n <= points:
        return np.arange(n)
    even = np.linspace(0, n - 1, points - 1).round().astype(np.intp)
    return even if np.isnan(values).all() else np.union1d(even, np.nanargmin(values))


def curves(rows: pd.DataFrame) -> pd.DataFrame:
    """Average a history over its repeats.

    Parameters
    ----------
    rows : columns method, repeat, epoch, quantity, value

    Returns
    -------
    columns method, quantity, epoch, mean, low, high; low and high are the extremes over the repeats
    """
    grouped = rows.astype({"value": float}).groupby(["method", "quantity", "epoch"])["value"]
    return grouped.agg(mean="mean", low="min", high="max").reset_index()  # sorted by the three


def variance(
    rows: pd.DataFrame, *, quantity: str = "preactivation_variance", log: bool = True, behind: Behind = None
) -> go.Figure:
    """Draw a quantity by hidden layer: the mean over units, and a band of their 10 to 90 percent quantiles.

    Repeats are shown by their median, which is the same on a linear and on a log axis. On a log axis a zero is
    drawn one decade below the smallest positive value, never below `FLOOR`, and the chart says so.

    Parameters
    ----------
    rows : the rows of `experiment.initialize`; their last layer is the output layer and is left out
    quantity : "preactivation_variance", "activation_variance", or another with `_q10` and `_q90` beside it
    log : a log axis
    behind : label -> rows drawn thin: theory, or a pinned run
    """
    hidden = rows[(rows["layer"] >= 1) & (rows["layer"] < rows["layer"].max())]
    hidden = hidden[hidden["quantity"].isin([quantity, f"{quantity}_q10", f"{quantity}_q90"])]
    depth, floor = hidden["layer"].max() if len(hidden) else 0, _floor(hidden["value"]) if log else -np.inf
    unknown = "Signal through the layers", quantity.replace("_", " ")
    figure = _figure(*_QUANTITIES.get(quantity, unknown), log)
    for label, others in (behind or {}).items():
        for method, line in _median(others, quantity, "layer"):
            _add_behind(figure, method, label, line, floor)
    low, high = (dict(_median(hidden, quantity + end, "layer")) for end in ("_q10", "_q90"))
    for method, line in _median(hidden, quantity, "layer"):
        if method in low and method in high:
            figure.add_trace(_band(method, line.index, low[method].clip(floor), high[method].clip(floor)))
        figure.add_trace(_line(method, line.index, line.clip(floor), markers=depth <= 20))
    figure.update_layout(title_subtitle_text="mean and 10 to 90 % of units" + _over(hidden, ", median of"))
    title = "hidden layer"
    figure.update_xaxes(title_text=title, unifiedhovertitle_text=title + " %{x}", dtick=_step(depth))
    if (hidden["value"] < floor).any():
        corner = {"xref": "paper", "yref": "paper", "x": 0.01, "y": 0.01, "showarrow": False, "font_size": 12}
        figure.add_annotation(text=f"smaller values are drawn at {floor:.0e}", **corner)
    return figure


def spectrum(
    rows: pd.DataFrame,
    *,
    layer: int,
    quantity: str = "moment_eigenvalue",
    log: bool = False,
    behind: Behind = None,
) -> go.Figure:
    """Draw the spectrum of one layer by rank, eigenvalues with their sign; repeats are shown by their median.

    Parameters
    ----------
    rows : the rows of `experiment.initialize`
    layer : 1.. , the last one is the output layer
    quantity : "moment_eigenvalue" or "weight_singular_value"
    log : a log axis, for singular values only: an eigenvalue may be negative
    behind : label -> rows drawn thin
    """
    own = rows[(rows["layer"] == layer) & (rows["quantity"] == quantity)]
    signed, floor = quantity == "moment_eigenvalue", FLOOR if log else -np.inf
    figure = _figure(*_QUANTITIES[quantity], log)
    for label, others in (behind or {}).items():
        for method, line in _median(others[others["layer"] == layer], quantity, "rank"):
            _add_behind(figure, method, label, line, floor)
    ranks = own["rank"].max() if len(own) else 0
    for method, line in _median(own, quantity, "rank"):
        figure.add_trace(_line(method, line.index, line.clip(floor), markers=ranks <= 40))
    if signed and ranks <= 24:
        _stems(figure)
    note = f"layer {layer}" + (", signed, by magnitude" if signed else "") + _over(own, ", median of")
    figure.update_layout(title_subtitle_text=note, meta={"positive": not signed})
    figure.update_xaxes(title_text="rank", unifiedhovertitle_text="rank %{x}", dtick=_step(ranks))
    figure.update_yaxes(zeroline=signed)
    return figure


def learning(
    rows: pd.DataFrame,
    *,
    log: bool = True,
    methods: Sequence[str] = (),
    epochs: int | None = None,
    behind: Behind = None,
) -> go.Figure:
    """Draw the losses by epoch, training thick and validation thin: the mean over repeats, a band of their range.

    Parameters
    ----------
    rows : a history: columns method, repeat, epoch, quantity, value; may be empty
    log : a log axis
    methods : they get their curves although they have no rows yet: for a run that grows in the browser
    epochs : the length of the epoch axis; by default as long as the rows are
    behind : label -> history, of which the validation loss is drawn thin
    """
    figure = _figure("Learning", "loss", log)
    for label, others in (behind or {}).items():
        for method, part in _curves(others, "validation_loss"):
            _add_behind(figure, method, label, part["mean"].iloc[thin(part["mean"].to_numpy())], FLOOR)
    parts = {quantity: dict(_curves(rows, quantity)) for quantity in _LOSSES}
    empty = pd.DataFrame({"mean": [], "low": [], "high": []}, dtype=float)
    for method in dict.fromkeys([*methods, *_methods(rows)]):
        training, validation = (parts[quantity].get(method, empty) for quantity in _LOSSES)
        for (quantity, width), part in zip(_LOSSES.items(), (training, validation), strict=True):
            part = part.iloc[thin(part["mean"].to_numpy())]
            repeated = part if rows["repeat"].nunique() > 1 else part[:0]
            figure.add_trace(_band(method, repeated.index, repeated["low"], repeated["high"], quantity))
            figure.add_trace(_line(method, part.index, part["mean"], quantity, width))
        # The label of the training loss tells the validation loss too: one row a method, not two.
        *_, thick, _, fine = figure.data
        beside = validation["mean"].reindex(thick.x).to_numpy(np.float32)
        thick.update(customdata=beside, hovertemplate="%{y:.3~g} · %{customdata:.3~g}")
        fine.update(name=f"{fine.name}, validation", hoverinfo="skip", hovertemplate=None, showlegend=False)
    figure.update_layout(title_subtitle_text="thick: training, thin: validation" + _over(rows, ", range of"))
    figure.update_xaxes(title_text="epoch", unifiedhovertitle_text="epoch %{x}: training · validation")
    if epochs is not None:
        figure.update_xaxes(range=[0, epochs])
    return figure


def _figure(title: str, unit: str, log: bool) -> go.Figure:
    """An empty chart that says what is to be seen and in what unit."""
    figure = go.Figure(layout={"template": LIGHT, "title": {"text": title}, "meta": {"positive": True}})
    # With three ticks Plotly labels 1, 2, 5 or the powers of ten of a log axis, never all digits in a heap.
    figure.update_yaxes(title_text=unit, type="log" if log else "linear", nticks=3 if log else 6)
    return figure


def _line(
    method: str, x: ArrayLike, y: ArrayLike, quantity: str = "", width: float = 2.4, markers: bool = False
) -> go.Scatter:
    """The curve of one method."""
    look = style(method)
    return go.Scatter(
        x=np.asarray(x, np.int32), y=np.asarray(y, np.float32), mode="lines+markers" if markers else "lines",
        line={"color": look.color, "dash": look.dash, "width": width}, marker={"symbol": look.symbol, "size": 6},
        name=look.title, legendgroup=method, showlegend=True, hovertemplate="%{y:.3~g}",
        meta={"method": method, "title": look.title, "quantity": quantity, "role": "line"},
    )  # fmt: skip


def _band(method: str, x: ArrayLike, low: ArrayLike, high: ArrayLike, quantity: str = "") -> go.Scatter:
    """A closed band between two curves: one trace, so that it hides with its method."""
    forth, below, above = np.asarray(x, np.int32), np.asarray(low, np.float32), np.asarray(high, np.float32)
    red, green, blue = bytes.fromhex(style(method).color[1:])
    return go.Scatter(
        x=np.concatenate([forth, forth[::-1]]), y=np.concatenate([below, above[::-1]]), mode="lines",
        line={"width": 0}, fill="toself", fillcolor=f"rgba({red},{green},{blue},0.13)", hoverinfo="skip",
        legendgroup=method, showlegend=False, meta={"method": method, "quantity": quantity, "role": "band"},
    )  # fmt: skip


def _add_behind(figure: go.Figure, method: str, label: str, line: pd.Series, floor: float) -> None:
    """Add a thin curve in its method's colour and dash; the first curve of a label carries it in grey."""
    look, x, y = style(method), line.index.to_numpy(np.int32), line.clip(floor).to_numpy(np.float32)
    first = not any((trace.meta or {}).get("label") == label for trace in figure.data)
    shared = {
        "name": f"{look.title}, {label}", "legendgroup": method, "showlegend": False, "hoverinfo": "skip",
        "meta": {"method": method, "role": "behind", "label": label},
    }  # fmt: skip
    figure.add_scatter(
        x=x, y=y, mode="lines", line={"color": look.color, "dash": look.dash, "width": 0.8}, **shared
    )
    if first:
        word = {
            "mode": "text",
            "text": [label],
            "textposition": "top left",
            "textfont": {"color": GREY, "size": 12},
        }
        figure.add_scatter(x=x[-1:], y=y[-1:], **word, **shared)


def _stems(figure: go.Figure) -> None:
    """Turn curves into stems from zero, side by side: a line from one sign to the other would mean nothing."""
    for trace in figure.select_traces({"mode": "lines+markers"}):
        above, below = np.maximum(trace.y, 0), np.maximum(-trace.y, 0)
        stem = {"array": below, "arrayminus": above, "color": trace.line.color, "thickness": 1.6, "width": 0}
        trace.update(mode="markers", error_y=stem, offsetgroup=trace.legendgroup)
    figure.update_layout(scattermode="group", scattergap=0.25)


def _median(rows: pd.DataFrame, quantity: str, along: str) -> list[tuple[str, pd.Series]]:
    """The median over repeats, a series by `along` for each method."""
    own = rows[rows["quantity"] == quantity]
    table = own.groupby(["method", along])["value"].median()
    return [(method, table[method]) for method in _methods(own)]


def _curves(rows: pd.DataFrame, quantity: str) -> list[tuple[str, pd.DataFrame]]:
    """Mean, low and high by epoch for each method, floored for a log axis."""
    own = rows[rows["quantity"] == quantity]
    table = curves(own).set_index(["method", "epoch"])[["mean", "low", "high"]].clip(lower=FLOOR)
    return [(method, pd.DataFrame(table.xs(method))) for method in _methods(own)]


def _methods(rows: pd.DataFrame) -> list[str]:
    """Known methods in their fixed order, then others as they come."""
    present = rows["method"].unique().tolist()
    return [m for m in METHODS if m in present] + [m for m in present if m not in METHODS]


def _over(rows: pd.DataFrame, words: str) -> str:
    """Say what stands for several repeats."""
    repeats = rows["repeat"].nunique()
    return f"{words} {repeats} repeats" if repeats > 1 else ""


def _floor(values: pd.Series) -> float:
    """One decade below the smallest positive value, at least `FLOOR`."""
    positive = values[values > FLOOR]
    return max(FLOOR, 10.0 ** (np.floor(np.log10(positive.min())) - 1)) if len(positive) else FLOOR


def _step(count: int) -> int:
    """A round distance between at most eight integer ticks."""
    return next(step for step in (1, 2, 5, 10, 20, 50, 100, 200, 500, count) if count <= 8 * step)

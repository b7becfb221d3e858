"""Tidy rows in, Plotly figures out: the three charts of the comparison, in one hand.

Every function is pure and knows nothing of Streamlit. A method has one colour, dash and marker in all charts
(`METHODS`), and shares one `legendgroup`, so that a page can hide it everywhere at once. Both templates have a
transparent background: they sit on the theme of the page. Figures never use Plotly's default template, which
`import streamlit` replaces with placeholder colours.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import plotly.io as pio
from numpy.typing import NDArray

__all__ = [
    "DARK", "FLOOR", "LIGHT", "METHODS", "POINTS", "Style", "curves", "learning", "spectrum", "style", "thin", "variance",
]  # fmt: skip

LIGHT, DARK = "steinglm_light", "steinglm_dark"  # names in plotly.io.templates
FLOOR = 1e-30  # the smallest value that a log axis shows; float32 holds it
POINTS = 1000  # the most points of one curve


@dataclass(frozen=True)
class Style:
    """How one method looks in every chart."""

    title: str
    color: str
    dash: str
    symbol: str


METHODS: dict[str, Style] = {
    "steinglm": Style("SteinGLM", "#0072B2", "solid", "circle"),
    "glorot_normal": Style("Glorot normal", "#D55E00", "dash", "square"),
    "he_normal": Style("He normal", "#009E73", "dot", "diamond"),
    "orthogonal": Style("Orthogonal", "#CC79A7", "dashdot", "triangle-up"),
}

_QUANTITIES = {
    "preactivation_variance": ("Signal through the layers", "variance of the pre-activations"),
    "activation_variance": ("Signal through the layers", "variance of the activations"),
    "moment_eigenvalue": ("Eigenvalue spectrum", "eigenvalue of the cross-moment"),
    "weight_singular_value": ("Singular values", "singular value of the weights"),
}
_LOSSES = {"training_loss": ("training", 2.4), "validation_loss": ("validation", 1.1)}


def style(method: str) -> Style:
    """Return the style of a method; one that is not in `METHODS` is neutral grey."""
    return METHODS.get(method, Style(method.replace("_", " "), "#7C828A", "longdash", "x"))


def _template(text: str, muted: str, grid: str, surface: str) -> go.layout.Template:
    axis = {
        "gridcolor": grid, "gridwidth": 1, "zeroline": False, "linecolor": muted, "linewidth": 1, "ticks": "outside",
        "ticklen": 4, "tickcolor": muted, "tickfont": {"color": muted}, "automargin": True, "zerolinecolor": muted,
        "title": {"font": {"color": muted, "size": 13}, "standoff": 8},
    }  # fmt: skip
    return go.layout.Template(
        layout={
            "font": {"family": "Source Sans, Source Sans 3, Helvetica, Arial, sans-serif", "size": 13, "color": text},
            "title": {"x": 0, "xref": "paper", "font": {"size": 17}, "subtitle": {"font": {"size": 13, "color": muted}}},
            "paper_bgcolor": "rgba(0,0,0,0)", "plot_bgcolor": "rgba(0,0,0,0)",
            "colorway": [each.color for each in METHODS.values()],
            "xaxis": axis | {"showgrid": False, "showline": True}, "yaxis": axis | {"showline": False, "ticks": "", "tickformat": "~g"},
            "hovermode": "x unified", "hoverdistance": 40,
            "hoverlabel": {"bgcolor": surface, "bordercolor": grid, "font": {"color": text, "size": 13}},
            "legend": {"orientation": "h", "y": -0.2, "yanchor": "top", "x": 0, "itemsizing": "trace"},
            "margin": {"l": 8, "r": 8, "t": 64, "b": 8},
        }
    )  # fmt: skip


pio.templates[LIGHT] = _template("#1F2328", "#59636E", "#E6E9ED", "#FFFFFF")
pio.templates[DARK] = _template("#E6EAF0", "#9AA4B2", "#262C36", "#171B22")


def thin(values: NDArray[np.floating[Any]], points: int = POINTS) -> NDArray[np.intp]:
    """Choose at most `points` positions of a curve: evenly, with both ends and the minimum kept.

    Parameters
    ----------
    values : array (n,)
    points : int, at least 3

    Returns
    -------
    array (min(n, points),) of increasing positions
    """
    n = len(values)
    if n <= points:
        return np.arange(n)
    even = np.linspace(0, n - 1, points - 1).round().astype(np.intp)
    if np.isnan(values).all():
        return even
    return np.union1d(even, [np.nanargmin(values)]).astype(np.intp)


def curves(rows: pd.DataFrame) -> pd.DataFrame:
    """Average a history over its repeats.

    Parameters
    ----------
    rows : columns method, repeat, epoch, quantity, value

    Returns
    -------
    columns method, quantity, epoch, mean, low, high; low and high are the extremes over the repeats
    """
    grouped = rows.astype({"value": float}).groupby(["method", "quantity", "epoch"], sort=False)["value"]
    return grouped.agg(mean="mean", low="min", high="max").reset_index()


def variance(
    rows: pd.DataFrame,
    *,
    quantity: str = "preactivation_variance",
    log: bool = True,
    behind: Mapping[str, pd.DataFrame] | None = None,
) -> go.Figure:
    """Draw a quantity by hidden layer: the mean over units, and a band of their 10 to 90 percent quantiles.

    Repeats are shown by their median, which a log axis leaves in place. On a log axis a zero is drawn one decade
    below the smallest positive value, never below `FLOOR`, and the chart says so.

    Parameters
    ----------
    rows : the rows of `experiment.initialize`; their last layer is the output layer and is left out
    quantity : "preactivation_variance", "activation_variance", or another with `_q10` and `_q90` beside it
    log : a log axis
    behind : label -> rows drawn thin: theory, or a pinned run
    """
    hidden = rows[(rows["layer"] >= 1) & (rows["layer"] < rows["layer"].max())]
    floor = _floor(hidden.loc[hidden["quantity"].str.startswith(quantity), "value"]) if log else -np.inf
    depth = int(hidden["layer"].max()) if len(hidden) else 0
    figure = _figure(
        *_QUANTITIES.get(quantity, ("Signal through the layers", quantity.replace("_", " "))), log
    )
    for label, others in (behind or {}).items():
        for method, line in _median(others[others["quantity"] == quantity], "layer"):
            figure.add_trace(_behind(method, label, line.index, np.maximum(line, floor)))
    for method in _methods(hidden):
        own = hidden[hidden["method"] == method]
        parts = [
            dict(_median(own[own["quantity"] == quantity + end], "layer")) for end in ("", "_q10", "_q90")
        ]
        mean, low, high = (np.maximum(part.get(method, pd.Series(dtype=float)), floor) for part in parts)
        if len(low) == len(high) == len(mean):
            figure.add_trace(_band(method, mean.index, low, high))
        figure.add_trace(_line(method, mean.index, mean, markers=depth <= 20))
    repeats = hidden["repeat"].nunique() if len(hidden) else 1
    note = "mean and 10–90 % of units" + (f", median of {repeats} repeats" if repeats > 1 else "")
    figure.update_layout(title={"subtitle": {"text": note}})
    figure.update_xaxes(
        title_text="hidden layer", unifiedhovertitle_text="hidden layer %{x}", dtick=_step(depth)
    )
    if log and (hidden.loc[hidden["quantity"] == quantity, "value"] < floor).any():
        figure.add_annotation(_remark(f"values below {floor:.0e} are drawn there"))
    return figure


def spectrum(
    rows: pd.DataFrame,
    *,
    layer: int,
    quantity: str = "moment_eigenvalue",
    log: bool = False,
    behind: Mapping[str, pd.DataFrame] | None = None,
) -> go.Figure:
    """Draw the signed spectrum of one layer by rank, the median over repeats.

    Parameters
    ----------
    rows : the rows of `experiment.initialize`
    layer : 1.. , the last one is the output layer
    quantity : "moment_eigenvalue" or "weight_singular_value"
    log : a log axis; for singular values only, since eigenvalues may be negative
    behind : label -> rows drawn thin
    """
    own = rows[(rows["layer"] == layer) & (rows["quantity"] == quantity)]
    figure = _figure(*_QUANTITIES[quantity], log)
    for label, others in (behind or {}).items():
        for method, line in _median(
            others[(others["layer"] == layer) & (others["quantity"] == quantity)], "rank"
        ):
            figure.add_trace(_behind(method, label, line.index, np.maximum(line, FLOOR) if log else line))
    ranks = int(own["rank"].max()) if len(own) else 0
    for method, line in _median(own, "rank"):
        figure.add_trace(
            _line(method, line.index, np.maximum(line, FLOOR) if log else line, markers=ranks <= 40)
        )
    signed = quantity == "moment_eigenvalue"
    if signed and ranks <= 24:
        _stems(figure)
    figure.update_layout(
        title={"subtitle": {"text": f"layer {layer}" + ("; signed, ordered by magnitude" if signed else "")}},
        meta={"positive": not signed},
    )
    figure.update_xaxes(title_text="rank", unifiedhovertitle_text="rank %{x}", dtick=_step(ranks))
    figure.update_yaxes(zeroline=signed, zerolinewidth=1)
    return figure


def learning(
    rows: pd.DataFrame,
    *,
    log: bool = True,
    methods: Sequence[str] = (),
    epochs: int | None = None,
    behind: Mapping[str, pd.DataFrame] | None = None,
) -> go.Figure:
    """Draw the losses by epoch: training thick, validation thin, the mean over repeats with a band of their extremes.

    Parameters
    ----------
    rows : a history: columns method, repeat, epoch, quantity, value; may be empty
    log : a log axis
    methods : methods that get their curves although they have no rows yet, for a run that grows in the browser
    epochs : the length of the epoch axis; by default as long as the rows are
    behind : label -> history drawn thin, validation loss only
    """
    averaged, repeats = curves(rows.assign(value=rows["value"].clip(lower=FLOOR))), rows["repeat"].nunique()
    figure = _figure("Learning", "loss", log)
    for label, others in (behind or {}).items():
        past = curves(others[others["quantity"] == "validation_loss"])
        for method, part in past.groupby("method", sort=False):
            keep = part.iloc[thin(part["mean"].to_numpy())]
            figure.add_trace(_behind(str(method), label, keep["epoch"], keep["mean"]))
    for method in dict.fromkeys([*methods, *_methods(rows)]):
        for quantity, (word, width) in _LOSSES.items():
            part = averaged[(averaged["method"] == method) & (averaged["quantity"] == quantity)].sort_values(
                "epoch"
            )
            part = part.iloc[thin(part["mean"].to_numpy())]
            if repeats > 1 or method in methods:
                shown = part if repeats > 1 else part[:0]
                figure.add_trace(_band(method, shown["epoch"], shown["low"], shown["high"], quantity))
            figure.add_trace(_line(method, part["epoch"], part["mean"], quantity, word, width))
    note = "thick: training; thin: validation" + (f"; range of {repeats} repeats" if repeats > 1 else "")
    figure.update_layout(title={"subtitle": {"text": note}})
    figure.update_xaxes(
        title_text="epoch", unifiedhovertitle_text="epoch %{x}", range=None if epochs is None else [0, epochs]
    )
    return figure


def _figure(title: str, unit: str, log: bool) -> go.Figure:
    """An empty chart that says what is to be seen and in what unit."""
    figure = go.Figure(layout={"template": LIGHT, "title": {"text": title}, "meta": {"positive": True}})
    # With three ticks Plotly labels 1, 2, 5 or the powers of ten of a log axis, never all digits on top of each other.
    figure.update_yaxes(title_text=unit, type="log" if log else "linear", nticks=3 if log else 6)
    return figure


def _line(
    method: str,
    x: Iterable[float],
    y: Iterable[float],
    quantity: str = "",
    word: str = "",
    width: float = 2.4,
    markers: bool = False,
) -> go.Scatter:
    """The curve of one method; its first quantity is the one that stands in the legend."""
    look = style(method)
    return go.Scatter(
        x=np.asarray(x, np.int32), y=np.asarray(y, np.float32), name=f"{look.title}, {word}" if word else look.title,
        mode="lines+markers" if markers else "lines", line={"color": look.color, "dash": look.dash, "width": width},
        marker={"symbol": look.symbol, "size": 6}, legendgroup=method, showlegend=word != "validation",
        hovertemplate="%{y:.3~g}", meta={"method": method, "title": look.title, "quantity": quantity, "role": "line"},
    )  # fmt: skip


def _band(
    method: str, x: Iterable[float], low: Iterable[float], high: Iterable[float], quantity: str = ""
) -> go.Scatter:
    """A closed band between two curves: one trace, so that it hides with its method."""
    forth, below, above = np.asarray(x, np.int32), np.asarray(low, np.float32), np.asarray(high, np.float32)
    red, green, blue = (int(style(method).color[i : i + 2], 16) for i in (1, 3, 5))
    return go.Scatter(
        x=np.concatenate([forth, forth[::-1]]), y=np.concatenate([below, above[::-1]]), mode="lines", line={"width": 0},
        fill="toself", fillcolor=f"rgba({red},{green},{blue},0.13)", hoverinfo="skip", legendgroup=method, showlegend=False,
        meta={"method": method, "quantity": quantity, "role": "band"},
    )  # fmt: skip


def _behind(method: str, label: str, x: Iterable[float], y: Iterable[float]) -> go.Scatter:
    """A thin curve for comparison: its method's colour and dash, its label in grey."""
    look = style(method)
    return go.Scatter(
        x=np.asarray(x, np.int32), y=np.asarray(y, np.float32), mode="lines", legendgroup=method, showlegend=False,
        name=f'<span style="color:#7C828A">{look.title}, {label}</span>', hovertemplate="%{y:.3~g}",
        line={"color": look.color, "dash": look.dash, "width": 1}, meta={"method": method, "role": "behind"},
    )  # fmt: skip


def _stems(figure: go.Figure) -> None:
    """Turn curves into stems from zero, side by side: a line between values of opposite sign would mean nothing."""
    for trace in figure.select_traces({"mode": "lines+markers"}):
        above, below = np.maximum(trace.y, 0), np.maximum(-trace.y, 0)
        stem = {"array": below, "arrayminus": above, "color": trace.line.color, "thickness": 1.6, "width": 0}
        trace.update(mode="markers", error_y=stem, offsetgroup=trace.legendgroup)
    figure.update_layout(scattermode="group", scattergap=0.25)


def _median(rows: pd.DataFrame, along: str) -> list[tuple[str, pd.Series]]:
    """The median over repeats, one series by `along` for each method, in the order of the rows."""
    table = rows.groupby(["method", along], sort=False)["value"].median()
    return [(method, table[method].sort_index()) for method in _methods(rows)]


def _methods(rows: pd.DataFrame) -> list[str]:
    """Known methods in their fixed order, then others as they come."""
    present = rows["method"].unique().tolist()
    return [m for m in METHODS if m in present] + [m for m in present if m not in METHODS]


def _floor(values: pd.Series) -> float:
    """One decade below the smallest positive value, at least `FLOOR`."""
    positive = values[values > FLOOR]
    return max(FLOOR, 10.0 ** (np.floor(np.log10(positive.min())) - 1)) if len(positive) else FLOOR


def _step(count: int) -> int:
    """A round distance between at most eight integer ticks."""
    return next(step for step in (1, 2, 5, 10, 20, 50, 100, 200, 500, count) if count <= 8 * step)


def _remark(text: str) -> dict[str, Any]:
    """A small remark in the lower left corner."""
    return {
        "text": text, "showarrow": False, "xref": "paper", "yref": "paper", "x": 0.01, "y": 0.01, "font": {"size": 11},
    }  # fmt: skip

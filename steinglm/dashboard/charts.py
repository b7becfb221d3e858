"""Tidy rows in, Plotly figures out: the three charts of the comparison, in one hand.

Every function is pure and knows nothing of Streamlit. A method has one colour, dash and marker in all charts
(`styles.STYLES`) and one `legendgroup`, so that a page can hide it everywhere at once. What a trace is stands in its
`meta` (method, quantity, role), by which the browser lets a curve grow. A figure is a plain mapping, which Plotly
takes as it is (`go.Figure(figure)`); its figure objects check every property and take five times as long.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from steinglm.dashboard.look import DARK, LIGHT
from steinglm.styles import GREY, STYLES, style

__all__ = [
    "DARK", "FLOOR", "LIGHT", "POINTS", "Figure", "curves", "learning", "phases", "spectrum", "thin", "trajectories",
    "variance",
]  # fmt: skip

FLOOR = 1e-26  # the smallest value that a log axis shows: variances below it are made of rounding alone
SIGMA_W2_SHOWN, SIGMA_B2_SHOWN = 4.0, 1.0  # the part of the phase plane where initializations are
ROUNDING = 1e-16  # of the largest singular value
POINTS = 1000  # the most points of one curve
Behind = Mapping[str, pd.DataFrame] | None
Trace = dict[str, Any]
Figure = dict[str, Any]  # data: traces, layout

_QUANTITIES = {
    "preactivation_variance": ("Signal through the layers", "variance of the pre-activations"),
    "activation_variance": ("Signal through the layers", "variance of the activations"),
    "preactivation_length": ("Length through the layers", "mean square of the pre-activations"),
    "gradient_variance": ("Gradients on their way back", "variance of the gradients by pre-activation"),
    "gradient_norm": ("Gradients of the weights", "norm of the gradient by the weights"),
    "weight_movement": ("How far the weights have moved", "distance from the start, as a share of its size"),
    "probe": ("What a layer knows of the response", "linear probe: R², or AUC of classes"),
    "effective_rank": ("Effective rank", "directions that the activations span"),
    "input_correlation": ("How alike two inputs look", "correlation of two inputs' activations"),
    "saturated_share": ("Flat or dead units", "share of units whose slope is nearly 0"),
    "direction_recovery": ("What is left of the true directions", "R² of the true indices"),
    "jacobian_singular_value": ("Singular values of the Jacobian", "singular value of ∂h/∂x"),
    "moment_eigenvalue": ("Eigenvalue spectrum", "eigenvalue of the cross-moment"),
    "weight_singular_value": ("Singular values", "singular value of the weights"),
}
_SHARES = (
    "direction_recovery",
    "probe",
    "input_correlation",
    "saturated_share",
)  # on a linear axis of 0 to 1
_WHOLE = (
    "weight_movement",
    "gradient_norm",
    "probe",
    "effective_rank",
    "input_correlation",
    "preactivation_length",
    "saturated_share",
)  # one a layer
_WIDTHS = {"training_loss": 2.8, "validation_loss": 1.3}  # the width of the line
_NO_CURVE = pd.DataFrame({"mean": [], "low": [], "high": []}, dtype=float)


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
    rows: pd.DataFrame,
    *,
    quantity: str = "preactivation_variance",
    log: bool = True,
    behind: Behind = None,
    names: Sequence[str] = (),
) -> Figure:
    """Draw a quantity by hidden layer: the mean over units, and a band of their 10 to 90 percent quantiles.

    Repeats are shown by their median, which is the same on a linear and on a log axis. On a log axis a zero is
    drawn one decade below the smallest positive value, never below `FLOOR`, and the chart says so.

    Parameters
    ----------
    rows : the rows of `experiment.initialize`; their last layer is the output layer and is left out
    quantity : of the rows; a share, such as "probe", stands on a linear axis of 0 to 1
    log : a log axis, but for shares and ranks
    behind : label -> rows drawn thin: theory, or a pinned run
    names : the layers' names, where numbers would not tell which they are
    """
    share = quantity in _SHARES
    log = log and not share and quantity != "effective_rank"
    hidden = rows[(rows["layer"] >= 1) & (rows["layer"] < rows["layer"].max())]
    hidden = hidden[hidden["quantity"].isin([quantity, f"{quantity}_q10", f"{quantity}_q90"])]
    depth = hidden["layer"].max() if len(hidden) else 0
    # By the means: a unit along a redundant direction has a variance of 1e-30, and would flatten all curves.
    floor = _floor(hidden.loc[hidden["quantity"] == quantity, "value"]) if log else -np.inf
    of = "directions" if quantity == "direction_recovery" else "units"
    spread = "of a layer" if quantity in _WHOLE else f"mean and 10 to 90 % of {of}"
    note = spread + _over(hidden, ", median of") + _thin(behind)
    if (hidden["value"] < floor).any():
        note += f"; smaller values at {floor:.0e}"
    unknown = "Signal through the layers", quantity.replace("_", " ")
    figure = _figure(*_QUANTITIES.get(quantity, unknown), note, "hidden layer", log)
    figure["layout"]["xaxis"] |= _ticks(depth, names)
    figure["layout"]["uirevision"] = quantity  # a zoom belongs to what it was made on
    if share:
        figure["layout"]["yaxis"]["range"] = [0, 1.02]
    for label, others in (behind or {}).items():
        _add_behind(figure, label, dict(_median(others[others["quantity"] == quantity], "layer")), floor)
    lines, low, high = (
        dict(_median(hidden[hidden["quantity"] == quantity + end], "layer")) for end in ("", "_q10", "_q90")
    )
    for method, line in lines.items():
        if method in low and method in high:
            below, above = (end[method].to_numpy().clip(floor) for end in (low, high))
            figure["data"].append(_band(method, line.index, below, above))
        figure["data"].append(_line(method, line.index, line.to_numpy().clip(floor), markers=depth <= 20))
    return figure


def spectrum(
    rows: pd.DataFrame,
    *,
    layer: int,
    quantity: str = "moment_eigenvalue",
    log: bool = False,
    behind: Behind = None,
    names: Sequence[str] = (),
) -> Figure:
    """Draw the spectrum of one layer by rank, eigenvalues with their sign; repeats are shown by their median.

    Parameters
    ----------
    rows : the rows of `experiment.initialize`
    layer : 1.. , the last one is the output layer
    quantity : "moment_eigenvalue", "weight_singular_value" or "jacobian_singular_value"
    log : a log axis, for singular values only: an eigenvalue may be negative
    behind : label -> rows drawn thin
    names : the layers' names, where a number would not tell which it is
    """
    own = rows[(rows["layer"] == layer) & (rows["quantity"] == quantity)]
    signed = quantity == "moment_eigenvalue"
    # What lies below is the rounding of the largest.
    floor = max(FLOOR, ROUNDING * float(own["value"].max())) if log and len(own) else -np.inf
    ranks = own["rank"].max() if len(own) else 0
    stems = signed and ranks <= 24
    note = (
        f"layer {names[layer - 1] if names else layer}"
        + (", signed, by magnitude" if signed else "")
        + _over(own, ", median of")
    )
    note += _thin(behind, "strokes" if stems else "thin")
    figure = _figure(*_QUANTITIES[quantity], note, "rank", log)
    figure["layout"]["meta"] = {"positive": not signed}
    figure["layout"]["xaxis"]["dtick"] = _step(ranks)
    figure["layout"]["yaxis"]["zeroline"] = signed
    for label, others in (behind or {}).items():
        part = others[(others["layer"] == layer) & (others["quantity"] == quantity)]
        _add_behind(figure, label, dict(_median(part, "rank")), floor)
    if stems:
        figure["data"] = [_as_ticks(trace) for trace in figure["data"]]
    for method, line in _median(own, "rank"):
        trace = _line(method, line.index, line.to_numpy().clip(floor), markers=ranks <= 40)
        figure["data"].append(_as_stems(trace) if stems else trace)
    if stems:
        figure["layout"] |= {"scattermode": "group", "scattergap": 0.25}
    return figure


def learning(
    rows: pd.DataFrame,
    *,
    log: bool = True,
    methods: Sequence[str] = (),
    epochs: int | None = None,
    behind: Behind = None,
) -> Figure:
    """Draw the losses by epoch, training thick and validation thin: the mean over repeats, a band of their range.

    Parameters
    ----------
    rows : a history: columns method, repeat, epoch, quantity, value; may be empty
    log : a log axis
    methods : they get their curves although they have no rows yet: for a run that grows in the browser
    epochs : the length of the epoch axis; by default as long as the rows are
    behind : label -> history, of which the validation loss is drawn thin
    """
    note = "thick: training, thin: validation" + _over(rows, ", range of") + _thin(behind, "thinnest")
    figure = _figure("Learning", "loss", note, "epoch", log)
    figure["layout"]["xaxis"]["unifiedhovertitle"]["text"] = "epoch %{x}: training · validation"
    if epochs is not None:
        figure["layout"]["xaxis"]["range"] = [0, epochs]
    for label, others in (behind or {}).items():
        means = {method: part["mean"] for method, part in _curves(others, "validation_loss").items()}
        _add_behind(figure, label, {m: mean.iloc[thin(mean.to_numpy())] for m, mean in means.items()}, FLOOR)
    parts = {quantity: _curves(rows, quantity) for quantity in _WIDTHS}
    repeated = rows["repeat"].nunique() > 1
    for method in dict.fromkeys([*methods, *_methods(rows)]):
        own = [parts[quantity].get(method, _NO_CURVE) for quantity in _WIDTHS]
        figure["data"] += _losses(method, own[0], own[1], repeated)
    return figure


def trajectories(rows: pd.DataFrame, name: str, log: bool) -> Figure:
    """Draw one training loss a method by epoch.

    Parameters
    ----------
    rows : columns method, epoch, value
    name : the title
    log : a log axis
    """
    figure = _figure(name, "training loss", "", "epoch", log)
    for method in _methods(rows):
        own = rows[rows["method"] == method]
        figure["data"].append(_line(method, own["epoch"], own["value"].clip(lower=FLOOR), width=2.0))
    return figure


def phases(points: pd.DataFrame, line: pd.DataFrame, activation: str) -> Figure:
    """Draw the plane of weight and bias variances: the critical line, and where the methods stand.

    Parameters
    ----------
    points : columns method, sigma_w2, sigma_b2
    line : columns sigma_w2, sigma_b2, in order; what lies outside of the plane shown is cut off
    activation : its name
    """
    note = f"{activation}: ordered to the left of the critical line, chaotic to its right"
    figure = _figure(
        "Order and chaos", "variance of the biases, σ_b²", note, "variance of the weights, σ_w²", False
    )
    figure["layout"]["meta"] = {"positive": False}
    figure["layout"]["xaxis"] |= {"range": [0, SIGMA_W2_SHOWN], "unifiedhovertitle": {"text": "σ_w² %{x}"}}
    figure["layout"]["yaxis"]["range"] = [-0.05, SIGMA_B2_SHOWN]
    x, y = (line[name].to_numpy(np.float32) for name in ("sigma_w2", "sigma_b2"))
    if len(line) and np.ptp(x) < 1e-6:  # relu: critical at one weight variance, and there at no bias only
        x, y = np.array([x[0], x[0]]), np.array([0.0, SIGMA_B2_SHOWN], np.float32)
    look = {"color": GREY, "width": 2, "dash": "solid"}
    figure["data"].append(
        {
            "type": "scatter", "x": x, "y": y, "mode": "lines", "line": look, "name": "critical line",
            "hoverinfo": "skip", "legendgroup": "critical", "showlegend": False,
            "meta": {"role": "behind", "label": "critical line"},
        }
    )  # fmt: skip
    for place, row in enumerate(points.to_dict("records")):
        trace = _line(row["method"], [0], [0], markers=True)
        size = 16 - 4 * place  # those in one place stay visible
        marker = trace["marker"] | {"size": size, "color": trace["line"]["color"]}
        own = {"x": [row["sigma_w2"]], "y": [row["sigma_b2"]], "mode": "markers", "marker": marker}
        figure["data"].append(trace | own)
    return figure


def _losses(method: str, training: pd.DataFrame, validation: pd.DataFrame, repeated: bool) -> list[Trace]:
    """The curves of one method, each after its band."""
    traces = []
    for (quantity, width), whole in zip(_WIDTHS.items(), (training, validation), strict=True):
        part = whole.iloc[thin(whole["mean"].to_numpy())]
        ends = part if repeated else part[:0]
        traces += [
            _band(method, ends.index, ends["low"], ends["high"], quantity),
            _line(method, part.index, part["mean"], quantity, width),
        ]
    # The label of the training loss tells the validation loss too: one row a method, not two.
    _, thick, _, fine = traces
    beside = validation["mean"].reindex(thick["x"]).to_numpy(np.float32)
    thick |= {"customdata": beside, "hovertemplate": "%{y:.3~g} · %{customdata:.3~g}"}
    fine |= {"name": f"{fine['name']}, validation", "hoverinfo": "skip", "showlegend": False}
    del fine["hovertemplate"]
    return traces


def _figure(title: str, unit: str, note: str, along: str, log: bool) -> Figure:
    """An empty chart that says what is to be seen and in what unit."""
    layout = {
        "template": LIGHT,
        "title": {"text": title, "subtitle": {"text": note}},
        "meta": {"positive": True},
        "xaxis": {"title": {"text": along}, "unifiedhovertitle": {"text": along + " %{x}"}},
        # With three ticks Plotly labels 1, 2, 5 or the powers of ten of a log axis, never all digits in a heap.
        "yaxis": {"title": {"text": unit}, "type": "log" if log else "linear", "nticks": 4 if log else 6},
    }
    return {"data": [], "layout": layout}


def _line(
    method: str, x: ArrayLike, y: ArrayLike, quantity: str = "", width: float = 2.4, markers: bool = False
) -> Trace:
    """The curve of one method."""
    look = style(method)
    return {
        "type": "scatter", "x": np.asarray(x, np.int32), "y": np.asarray(y, np.float32),
        "mode": "lines+markers" if markers else "lines", "marker": {"symbol": look.symbol, "size": 6},
        "line": {"color": look.color, "dash": look.dash, "width": width},
        "name": look.title, "legendgroup": method, "showlegend": True, "hovertemplate": "%{y:.3~g}",
        "meta": {"method": method, "title": look.title, "quantity": quantity, "role": "line"},
    }  # fmt: skip


def _band(method: str, x: ArrayLike, low: ArrayLike, high: ArrayLike, quantity: str = "") -> Trace:
    """A closed band between two curves: one trace, so that it hides with its method."""
    forth, below, above = np.asarray(x, np.int32), np.asarray(low, np.float32), np.asarray(high, np.float32)
    red, green, blue = bytes.fromhex(style(method).color[1:])
    return {
        "type": "scatter", "x": np.concatenate([forth, forth[::-1]]),
        "y": np.concatenate([below, above[::-1]]), "mode": "lines",
        "line": {"width": 0}, "fill": "toself", "fillcolor": f"rgba({red},{green},{blue},0.13)",
        "hoverinfo": "skip", "legendgroup": method, "showlegend": False,
        "meta": {"method": method, "quantity": quantity, "role": "band"},
    }  # fmt: skip


def _add_behind(figure: Figure, label: str, lines: Mapping[str, pd.Series], floor: float) -> None:
    """Add thin curves in their methods' colours and dashes."""
    for method, line in lines.items():
        look, x, y = style(method), line.index.to_numpy(np.int32), line.to_numpy(np.float32).clip(floor)
        shared: Trace = {
            "type": "scatter", "name": f"{look.title}, {label}", "legendgroup": method, "showlegend": False,
            "hoverinfo": "skip", "meta": {"method": method, "role": "behind", "label": label},
        }  # fmt: skip
        fine = {"color": look.color, "dash": look.dash, "width": 0.8}
        figure["data"].append(shared | {"x": x, "y": y, "mode": "lines", "line": fine})


def _as_stems(trace: Trace) -> Trace:
    """A curve as stems from zero, side by side with others': a line from one sign to the other would mean nothing."""
    above, below = np.maximum(trace["y"], 0), np.maximum(-trace["y"], 0)
    color = trace["line"]["color"]
    stem = {"array": below, "arrayminus": above, "color": color, "thickness": 1.6, "width": 0}
    return trace | {"mode": "markers", "error_y": stem, "offsetgroup": trace["legendgroup"]}


def _as_ticks(trace: Trace) -> Trace:
    """A curve behind as short strokes at the height of its values, in the place of its method's stems."""
    stroke = {"symbol": "line-ew", "size": 9, "line": {"width": 1.2, "color": trace["line"]["color"]}}
    return trace | {"mode": "markers", "marker": stroke, "offsetgroup": trace["legendgroup"]}


def _median(rows: pd.DataFrame, along: str) -> list[tuple[str, pd.Series]]:
    """The median over repeats of rows of one quantity, a series by `along` for each method."""
    table = rows.groupby(["method", along])["value"].median()
    return [(method, table[method]) for method in _methods(rows)]


def _curves(rows: pd.DataFrame, quantity: str) -> dict[str, pd.DataFrame]:
    """Mean, low and high by epoch for each method, floored for a log axis."""
    own = rows[rows["quantity"] == quantity]
    if own.empty:
        return {}
    table = curves(own).set_index(["method", "epoch"])[["mean", "low", "high"]].clip(lower=FLOOR)
    return {method: pd.DataFrame(table.xs(method)) for method in _methods(own)}


def _methods(rows: pd.DataFrame) -> list[str]:
    """Known methods in their fixed order, then others as they come."""
    present = rows["method"].unique().tolist()
    return [m for m in STYLES if m in present] + [m for m in present if m not in STYLES]


def _over(rows: pd.DataFrame, words: str) -> str:
    """Say what stands for several repeats."""
    repeats = rows["repeat"].nunique()
    return f"{words} {repeats} repeats" if repeats > 1 else ""


def _thin(behind: Behind, look: str = "thin") -> str:
    """Name what is drawn behind; over the curves themselves a label would not be readable."""
    return f"; {look}: {' · '.join(behind)}" if behind else ""


def _floor(values: pd.Series) -> float:
    """One decade below the smallest positive value, at least `FLOOR`."""
    positive = values[values > FLOOR]
    return max(FLOOR, 10.0 ** (np.floor(np.log10(positive.min())) - 1)) if len(positive) else FLOOR


def _ticks(depth: int, names: Sequence[str]) -> dict[str, Any]:
    """The ticks of an axis of layers: every name, or round numbers."""
    if names:
        return {"tickvals": list(range(1, depth + 1)), "ticktext": list(names[:depth]), "tickangle": 90}
    return {"dtick": _step(depth)}


def _step(count: int) -> int:
    """A round distance between at most eight integer ticks."""
    return next(step for step in (1, 2, 5, 10, 20, 50, 100, 200, 500, count) if count <= 8 * step)

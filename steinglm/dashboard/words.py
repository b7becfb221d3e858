"""One sentence a chart, computed from the rows that it shows, and the headline above them."""

from collections.abc import Sequence

import pandas as pd

from steinglm.experiment import TITLES, Experiment

__all__ = ["headline", "learning", "number", "signal", "spectrum"]

STEADY = 1.5  # a signal that changes by less than this factor is said to hold


def number(value: float) -> str:
    """Two significant digits, as a person would write them.

    >>> number(0.93), number(0.00071), number(1234.5), number(3e-9)
    ('0.93', '0.00071', '1,200', '3e-09')
    """
    if value != 0 and (abs(value) < 1e-4 or abs(value) >= 1e5):
        return f"{value:.1e}".replace(".0e", "e")
    return f"{float(f'{value:.2g}'):,.0f}" if abs(value) >= 100 else f"{value:.2g}"


def _by_method(rows: pd.DataFrame, quantity: str) -> pd.DataFrame:
    """The median over repeats: a column a method, a row a layer."""
    own = rows[rows["quantity"] == quantity]
    return own.groupby(["layer", "method"], sort=False)["value"].median().unstack("method").sort_index()


def _fate(first: float, last: float) -> str:
    """What a signal does between two layers, in the plural."""
    return "grow" if last > first * STEADY else "fade" if last < first / STEADY else "hold"


def _change(first: float, last: float) -> str:
    fate = _fate(first, last)
    if fate == "hold":
        return f"holds at about {number(last)}"
    return f"{'rises' if fate == 'grow' else 'falls'} from {number(first)} to {number(last)}"


def _listed(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def signal(rows: pd.DataFrame, quantity: str = "preactivation_variance") -> str:
    """How the variance changes from the first hidden layer to the last: the largest change, and SteinGLM's."""
    table = _by_method(rows, quantity)
    depth, place = int(table.index.max()), quantity.split("_")[0].replace("preactivation", "pre-activation")
    first, last = table.iloc[0], table.iloc[-1]
    if depth == 1:
        values = [f"{TITLES.get(m, m)} {number(float(first[m]))}" for m in table]
        return f"Variance of the {place}s in the only hidden layer: {_listed(values)}."
    ratio = (last / first.where(first > 0)).map(lambda r: max(r, 1 / r) if r > 0 else float("inf"))
    order = ratio.drop("steinglm", errors="ignore").sort_values(ascending=False, kind="stable")
    shown = [*order.index[:1], *(["steinglm"] if "steinglm" in table else order.index[1:2])]
    parts = [f"{TITLES.get(m, m)}'s{{}} {_change(float(first[m]), float(last[m]))}" for m in shown]
    lead = parts[0].format(f" {place} variance")
    return f"{lead} by layer {depth}" + "".join(f"; {part.format('')}" for part in parts[1:]) + "."


def spectrum(rows: pd.DataFrame, layer: int, quantity: str = "moment_eigenvalue") -> str:
    """What stands out in a layer's spectrum: the leading eigenvalue, or the spread of the singular values."""
    own = rows[(rows["layer"] == layer) & (rows["quantity"] == quantity)]
    table = own.groupby(["method", "rank"], sort=False)["value"].median().unstack("rank")
    if quantity == "weight_singular_value":
        return _spread(table, layer)
    method = "steinglm" if "steinglm" in table.index else str(table.index[0])
    values = table.loc[method].dropna().sort_index()
    first, total = float(values.iloc[0]), float(values.abs().sum())
    share = 100 * abs(first) / total if total > 0 else 0.0
    return (
        f"In layer {layer}, {TITLES.get(method, method)}'s leading eigenvalue is {number(first)} and holds {share:.0f} % of "
        f"the spectrum's magnitude; {int((values > 0).sum())} of {len(values)} are positive."
    )


def _spread(table: pd.DataFrame, layer: int) -> str:
    first, last = table.max(axis=1), table.min(axis=1)
    parts = [f"{TITLES.get(m, m)} from {number(float(first[m]))} to {number(float(last[m]))}" for m in table.index]
    return f"Singular values of the weights of layer {layer}: {_listed(parts)}."


def learning(history: pd.DataFrame) -> str:
    """Which method is ahead, by the validation loss of the last epoch that it has."""
    own = history[history["quantity"] == "validation_loss"]
    if own.empty:
        return "Press Train to see the networks learn, side by side."
    epoch = int(own["epoch"].max())
    best = (
        own.groupby(["method", "repeat"], sort=False)["value"]
        .min()
        .groupby("method", sort=False)
        .mean()
        .sort_values()
    )
    first = str(best.index[0])
    lead = f"After {epoch} epochs {TITLES.get(first, first)} has the lowest validation loss, {number(float(best.iloc[0]))}"
    if len(best) == 1:
        return f"{lead}."
    last = str(best.index[-1])
    return f"{lead}; {TITLES.get(last, last)} has the highest, {number(float(best.iloc[-1]))}."


def headline(rows: pd.DataFrame, experiment: Experiment, title: str) -> str:
    """What the start does to the signal and to the loss, in one sentence."""
    table = _by_method(rows, "preactivation_variance")
    start = rows[rows["quantity"] == "training_loss"].groupby("method", sort=False)["value"].median()
    fates: dict[str, list[str]] = {}
    for method in table:
        fate = _fate(float(table[method].iloc[0]), float(table[method].iloc[-1]))
        fates.setdefault(fate, []).append(TITLES.get(method, method))
    layers = "one layer" if experiment.depth == 1 else f"{experiment.depth} layers"
    clauses = [f"{_listed(names)} {fate}s" for fate, names in fates.items()]
    best = str(start.idxmin())
    begins = f"{TITLES.get(best, best)} starts at the lowest loss, {number(float(start.min()))}"
    signal = f"the signal of {', of '.join(clauses)}"
    if len(fates) == 1 and len(table.columns) > 1:
        signal = f"every signal {next(iter(fates))}s"
    return f"On {title}, {layers} of {experiment.activation}: {f'{signal}; ' if experiment.depth > 1 else ''}{begins}."

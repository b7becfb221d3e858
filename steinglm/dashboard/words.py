"""One sentence a chart, computed from the rows that it shows, and the headline above them."""

from collections.abc import Sequence

import pandas as pd

from steinglm.dashboard.charts import FLOOR
from steinglm.datasets.workshop import PREFIX
from steinglm.experiment import TITLES, Experiment
from steinglm.init import OPTIONS

__all__ = ["along", "headline", "learning", "listed", "makers", "number", "signal", "spectrum", "start"]

STEADY = 3.0  # a signal that changes by less than this factor, half a decade, is said to hold
CHANGING = {  # what a sentence about the change of a quantity from layer to layer calls it
    "preactivation_variance": "pre-activation variance", "activation_variance": "activation variance",
    "preactivation_length": "mean square pre-activation", "gradient_variance": "gradient variance",
    "gradient_norm": "weight gradient",
}  # fmt: skip
BACKWARD = ("gradient_variance", "gradient_norm")  # from the last layer to the first
LAST = {  # what a sentence says of the quantities that matter in the last layer
    "direction_recovery": "A linear fit on {} still reads the true indices with an R² of",
    "probe": "A linear fit on {} predicts the response of other rows (R², or AUC of classes)",
    "effective_rank": "So many directions, in effect, the activations of {} span",
    "saturated_share": "The share of units of {} that are flat or dead",
    "input_correlation": "Two inputs' activations in {} are correlated by",
}
PHASES = {  # what a phase does, for one method and for more
    "ordered": ("is ordered", "are ordered"),
    "critical": ("stands on the critical line", "stand on the critical line"),
    "chaotic": ("is chaotic", "are chaotic"),
}
SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
LOST = 1e4  # one that changes by more than this factor is said to vanish, or to explode


def number(value: float) -> str:
    """Two significant digits, as a person would write them.

    >>> number(0.93), number(0.00071), number(1234.5)
    ('0.93', '0.00071', '1,200')
    >>> number(3e-9).replace("\u00a0", " ")
    '3 × 10⁻⁹'
    """
    if value < 0:
        return f"−{number(-value)}"
    if value != 0 and (value < 1e-4 or value >= 1e5):
        digits, exponent = f"{value:.1e}".replace(".0e", "e").split("e")
        times = "" if digits == "1" else f"{digits}\u00a0×\u00a0"  # where no line may break
        return f"{times}10{str(int(exponent)).translate(SUPERSCRIPT)}"
    return f"{float(f'{value:.2g}'):,.0f}" if value >= 99.5 else f"{value:.2g}"


def _title(method: object) -> str:
    return TITLES.get(str(method), str(method))


def _ends(rows: pd.DataFrame, quantity: str) -> tuple[int, dict[str, tuple[float, float]]]:
    """The depth, and for each method the median over repeats in the first and in the last hidden layer."""
    own = rows[rows["quantity"] == quantity]
    depth = int(own["layer"].max())
    medians = own.groupby(["method", "layer"], sort=False)["value"].median().to_dict()
    methods = dict.fromkeys(own["method"].tolist())
    return depth, {m: (float(medians[m, 1]), float(medians[m, depth])) for m in methods}


def _fate(first: float, last: float) -> str:
    """What a signal does between two layers."""
    if last > first * STEADY:
        return "explodes" if last > first * LOST else "grows"
    if last < first / STEADY:
        return "vanishes" if last < first / LOST else "fades"
    return "holds"


def _change(first: float, last: float) -> str:
    fate = _fate(first, last)
    if fate == "holds":
        return f"goes from {number(first)} to {number(last)}"
    end = f"less than {number(FLOOR)}" if 0 < last < FLOOR else number(last)
    return f"{'rises' if fate in ('grows', 'explodes') else 'falls'} from {number(first)} to {end}"


def listed(parts: Sequence[str]) -> str:
    """Parts as a person enumerates them.

    >>> listed(["3", "5", "8"])
    '3, 5 and 8'
    """
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def makers(methods: Sequence[str]) -> str:
    """Who computes weights from the data, and who draws them at random.

    >>> makers(["steinglm", "orthogonal"])
    'SteinGLM computes the weights of each layer from the data; Orthogonal draws them at random.'
    """
    sides = [[_title(m) for m in methods if (m in OPTIONS) == learns] for learns in (True, False)]
    verbs = (("computes", "compute"), ("draws", "draw"))
    learn, draw = (
        f"{listed(names)} {verb[len(names) > 1]}" if names else ""
        for names, verb in zip(sides, verbs, strict=True)
    )
    learned = f"{learn} the weights of each layer from the data"
    if not draw:
        return f"{learned}."
    return f"{learned}; {draw} them at random." if learn else f"{draw} the weights of each layer at random."


def _layer(number: int, names: Sequence[str]) -> str:
    return f"layer {names[number - 1] if names else number}"


def signal(rows: pd.DataFrame, quantity: str = "preactivation_variance", names: Sequence[str] = ()) -> str:
    """How the variance changes from the first hidden layer to the last: the largest change, and SteinGLM's.

    Of the recovery of directions, what is left of them in the last.
    """
    depth, ends = _ends(rows, quantity)
    if quantity in LAST:
        parts = [f"{_title(method)} {number(last)}" for method, (_, last) in ends.items()]
        return f"{LAST[quantity].format(_layer(depth, names))}: {listed(parts)}."
    what = CHANGING.get(quantity, quantity.replace("_", " "))
    if depth == 1:
        values = [f"{_title(method)} {number(first)}" for method, (first, _) in ends.items()]
        return f"The {what} in the only hidden layer: {listed(values)}."
    to = depth
    if quantity in BACKWARD:
        ends, to = {method: (last, first) for method, (first, last) in ends.items()}, 1
    order = sorted((m for m in ends if m != "steinglm"), key=lambda m: _factor(*ends[m]), reverse=True)
    shown = [*order[:1], *(["steinglm"] if "steinglm" in ends else order[1:2])]
    lead, *others = [f"{_title(method)}'s{{}} {_change(*ends[method])}" for method in shown]
    lead = lead.format(f" {what}")
    return f"{lead} by {_layer(to, names)}" + "".join(f"; {other.format('')}" for other in others) + "."


def along(rows: pd.DataFrame, quantity: str) -> str:
    """How far the weights have moved by method, or how the gradients change from layer to layer."""
    if quantity != "weight_movement":
        return signal(rows, quantity)
    own = rows[rows["quantity"] == quantity]
    moved = own[own["layer"] < own["layer"].max()].groupby("method", sort=False)["value"].median()
    parts = [f"{number(100 * float(value))} % with {_title(method)}" for method, value in moved.items()]
    return f"The weights of the median hidden layer have moved by so much of their size: {listed(parts)}."


def _factor(first: float, last: float) -> float:
    """By how much a signal changes, up or down; one that dies changes most."""
    return max(last / first, first / last) if first > 0 and last > 0 else float("inf")


def spectrum(
    rows: pd.DataFrame, layer: int, quantity: str = "moment_eigenvalue", names: Sequence[str] = ()
) -> str:
    """What stands out in a layer's spectrum: the leading eigenvalue, or the spread of the singular values."""
    own = rows[(rows["layer"] == layer) & (rows["quantity"] == quantity)]
    table = own.groupby(["method", "rank"], sort=False)["value"].median().unstack("rank")
    if quantity == "weight_singular_value":
        return _spread(table, _layer(layer, names))
    method = "steinglm" if "steinglm" in table.index else str(table.index[0])
    values = table.loc[method].dropna().sort_index().to_numpy(dtype=float)
    first, total = values[0], abs(values).sum()
    share = 100 * abs(first) / total if total > 0 else 0.0
    place = _layer(layer, names)
    return (
        f"In {place}, {_title(method)}'s leading eigenvalue is {number(first)} and holds {share:.0f} % of "
        f"the spectrum's magnitude; {int((values > 0).sum())} of {len(values)} are positive."
    )


def _spread(table: pd.DataFrame, layer: str) -> str:
    ends = {str(method): (float(values.max()), float(values.min())) for method, values in table.iterrows()}
    parts = [f"{_title(m)} from {number(first)} to {number(last)}" for m, (first, last) in ends.items()]
    return f"Singular values of the weights of {layer}: {listed(parts)}."


def learning(history: pd.DataFrame) -> str:
    """Which method is ahead, by its best validation loss so far."""
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
    when = f"In {epoch} epoch{'' if epoch == 1 else 's'}"
    if len(best) == 1:
        return f"{when} the validation loss came down to {number(float(best.iloc[0]))}."
    lead = f"{when} {_title(first)} came to the lowest validation loss, {number(float(best.iloc[0]))}"
    others = [f"{_title(str(method))} {number(float(value))}" for method, value in best.iloc[1:].items()]
    return f"{lead}; behind it {listed(others)}."


def waiting(experiment: Experiment, title: str) -> str:
    """What is computed before there is anything to see."""
    count = len(experiment.methods) * experiment.repeats
    return f"Initializing {count} network{'' if count == 1 else 's'} on {title} ..."


def headline(
    rows: pd.DataFrame, experiment: Experiment, title: str, quantity: str = "preactivation_variance"
) -> str:
    """What the start does to the signal, or to the true directions, and to the loss, in one sentence."""
    layers = "one layer" if experiment.depth == 1 else f"{experiment.depth} layers"
    told = directions(rows) if quantity == "direction_recovery" else start(rows)
    place = "a multi-index model" if experiment.dataset.startswith(PREFIX) else title
    own = experiment.score != Experiment().score and any(m.startswith("steinglm") for m in experiment.methods)
    score = f", SteinGLM by the score {experiment.score}" if own else ""
    return f"On {place}, {layers} of {experiment.activation}{score}: {told}"


def phases(table: pd.DataFrame, activation: str) -> str:
    """Which baselines are in which phase, and what that does to a signal."""
    if table.empty:
        return "Choose Glorot normal, He normal or Orthogonal to see their phases."
    groups: dict[str, list[str]] = {}
    for method, phase in zip(table["method"], table["phase"], strict=True):
        groups.setdefault(str(phase), []).append(_title(method))
    parts = [f"{listed(names)} {PHASES[phase][len(names) > 1]}" for phase, names in groups.items()]
    return f"With {activation}, {'; '.join(parts)}."


def jacobian(rows: pd.DataFrame) -> str:
    """By how much small differences are stretched in the best and in the worst direction."""
    own = rows[rows["quantity"] == "jacobian_singular_value"]
    ends = own.groupby(["method", "rank"], sort=False)["value"].median().unstack("rank")
    parts = [
        f"{_title(method)} {number(float(values.max()))} to {number(float(values.min()))}"
        for method, values in ends.iterrows()
    ]
    return (
        f"A small difference between two inputs is multiplied, best to worst direction, by {listed(parts)}."
    )


def directions(rows: pd.DataFrame) -> str:
    """Whose last layer still tells the true directions best, and worst."""
    depth, ends = _ends(rows, "direction_recovery")
    order = sorted(ends, key=lambda method: -ends[method][1])
    parts = [
        f"{_title(order[0])} keeps the true directions best (R² {number(ends[order[0]][1])} in layer {depth})"
    ]
    if len(order) > 1:
        parts.append(f"{_title(order[-1])} worst ({number(ends[order[-1]][1])})")
    return f"{', '.join(parts)}."


def start(rows: pd.DataFrame) -> str:
    """The signal's fate with each method, where there are two hidden layers or more, and the lowest first loss."""
    depth, ends = _ends(rows, "preactivation_variance")
    losses = rows[rows["quantity"] == "training_loss"].groupby("method", sort=False)["value"].median()
    fates: dict[str, list[str]] = {}
    for method, (first, last) in ends.items():
        fates.setdefault(_fate(first, last), []).append(_title(method))
    signal = "the signal of " + ", that of ".join(f"{listed(names)} {fate}" for fate, names in fates.items())
    if len(fates) == 1 and len(ends) > 1:
        signal = f"every signal {next(iter(fates))}"
    lead = f"{signal}; " if depth > 1 else ""
    if len(losses) == 1:
        return f"{lead}the loss is {number(float(losses.min()))} before training."
    return f"{lead}{_title(losses.idxmin())} starts at the lowest loss, {number(float(losses.min()))}."

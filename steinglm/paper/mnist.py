"""The paper's section 3.4: the convolutional network on four pairs of MNIST's digits, and what it shows.

Training losses of four methods, with SteinGLM's formula verbatim (score "identity") and standardized side by side;
three repeats, each with its own validation images and draws. Rows have the columns of `study`: the data set is
"mnist_3_5" and so on, the depth is 10 (nine convolutions and a dense layer).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import wilcoxon

from steinglm.datasets import mnist
from steinglm.drawing import Line, Panel, image, key, panel
from steinglm.images import ImageExperiment
from steinglm.paper.claims import LEVEL, holm
from steinglm.paper.study import BASELINES, METHODS, TITLES, tidy
from steinglm.results import Result
from steinglm.styles import STYLES

__all__ = [
    "EPOCHS",
    "Faster",
    "about",
    "claims",
    "ends",
    "experiments",
    "faster",
    "figure",
    "losses",
    "markdown",
    "mean_losses",
    "name",
    "rows",
    "title",
    "work",
]

EPOCHS = (1, 2)  # after which SteinGLM should be ahead
DEPTH = 10
_VERBATIM = ImageExperiment(complete=True, score="identity", repeats=3)
_STANDARDIZED = replace(_VERBATIM, score="standardized", methods=("steinglm",))


def experiments(
    pairs: Sequence[tuple[int, int]] = mnist.PAIRS, repeats: int = 3, *, complete: bool = True
) -> list[ImageExperiment]:
    """One a pair and method, SteinGLM's with the formula verbatim and with the standardized score.

    A network does not depend on those that are trained beside it, and what is finished is not computed again.
    """
    return [
        replace(kind, pair=pair, repeats=repeats, complete=complete, methods=(method,))
        for pair in pairs
        for kind in (_VERBATIM, _STANDARDIZED)
        for method in kind.methods
    ]


def work(experiment: ImageExperiment) -> float:
    """About how much an epoch costs: the images that its networks are trained on."""
    return float(len(experiment.methods) * experiment.repeats * (9500 if experiment.complete else 800))


def name(pair: tuple[int, int]) -> str:
    """The data set of a pair in the rows.

    >>> name((3, 5))
    'mnist_3_5'
    """
    return f"mnist_{pair[0]}_{pair[1]}"


def rows(result: Result) -> pd.DataFrame:
    """The tidy rows of one finished experiment, every epoch of it, with the columns of `study.rows`.

    test_accuracy is beside the quantities there.
    """
    ends = ["test_metric", "test_accuracy", "best_epoch", "best_validation_loss"]
    return tidy(result, name(result.experiment.pair), DEPTH, ends, result.history)


def losses(rows: pd.DataFrame) -> pd.DataFrame:
    """The training losses, the curves of the paper's figure: columns dataset, method, repeat, epoch, value."""
    own = rows[rows["quantity"] == "training_loss"]
    own = own.astype({"dataset": str, "method": str, "value": float})
    return own[["dataset", "method", "repeat", "epoch", "value"]].reset_index(drop=True)


@dataclass(frozen=True)
class Faster:
    """Whether SteinGLM's training loss is lower than a baseline's after an epoch, pair by pair and repeat by repeat.

    better, pairs : pairs of digits whose mean loss is lower, of how many
    ratio : the median over pairs and repeats of the baseline's loss over SteinGLM's
    p : one-sided Wilcoxon signed-rank test of the log ratios, Holm-corrected over a method's comparisons
    """

    method: str
    baseline: str
    epoch: int
    better: int
    pairs: int
    ratio: float
    p: float


def faster(rows: pd.DataFrame, method: str) -> list[Faster]:
    """The comparisons of one of SteinGLM's scores with every baseline after the first epochs."""
    curves = losses(rows).set_index(["method", "epoch", "dataset", "repeat"])["value"].sort_index()
    methods = set(curves.index.get_level_values("method"))
    pairs = [(b, epoch) for epoch in EPOCHS for b in BASELINES if {b, method} <= methods]
    logs = [np.log(curves[b, epoch]) - np.log(curves[method, epoch]) for b, epoch in pairs]
    corrected = holm([_p(each.to_numpy()) for each in logs])
    return [
        Faster(
            method,
            b,
            epoch,
            int((each.groupby(level="dataset").mean() > 0).sum()),
            each.index.get_level_values("dataset").nunique(),
            float(np.exp(each.median())),
            p,
        )
        for (b, epoch), each, p in zip(pairs, logs, corrected, strict=True)
    ]


def _p(gains: np.ndarray) -> float:
    return float(wilcoxon(gains, alternative="greater").pvalue) if np.any(gains) else 1.0


def _verdict(found: Sequence[Faster]) -> str:
    """As `claims`: in nine of ten pairs and significantly, everywhere or somewhere."""
    clear = [each.better >= 0.9 * each.pairs and each.p < LEVEL for each in found]
    return "holds" if all(clear) else "holds partly" if any(clear) else "does not hold"


def claims(rows: pd.DataFrame) -> list[tuple[str, str, list[str]]]:
    """What the paper says of images, for each of SteinGLM's scores that was run: sentence, verdict and evidence."""
    found = [(method, faster(rows, method)) for method in METHODS[:2]]
    return [(_claim(method), _verdict(own), [*map(_evidence, own)]) for method, own in found if own]


def mean_losses(rows: pd.DataFrame) -> pd.DataFrame:
    """The curves of the paper's figure, means over the repeats: columns dataset, method, epoch, value."""
    return losses(rows).groupby(["dataset", "method", "epoch"])["value"].mean().reset_index()


def ends(rows: pd.DataFrame) -> pd.DataFrame:
    """A line a pair and method, means over the repeats: training losses at four epochs, then the test images.

    Columns digits, method, before training, epoch 1, epoch 2, epoch 20 (the last), test accuracy, test AUC.
    """
    curves = mean_losses(rows).set_index(["dataset", "method", "epoch"])["value"]
    own = rows.astype({"dataset": str, "method": str, "quantity": str, "value": float})
    means = own.groupby(["dataset", "method", "quantity"])["value"].mean()
    lines = []
    for name, part in own.groupby("dataset"):
        for method in [m for m in METHODS if m in set(part["method"])]:
            line = {"digits": title(str(name)), "method": TITLES[method]}
            for epoch in (0, 1, 2, rows["epoch"].max()):
                line[f"epoch {epoch}" if epoch else "before training"] = curves[name, method, epoch]
            accuracy, auc = (means[name, method, quantity] for quantity in ("test_accuracy", "test_metric"))
            lines.append(line | {"test accuracy": accuracy, "test AUC": auc})
    return pd.DataFrame(lines)


def figure(rows: pd.DataFrame) -> str:
    """The paper's figure as SVG: training losses by epoch on a log scale, one panel a pair, mean over repeats."""
    curves = mean_losses(rows).set_index(["dataset", "method", "epoch"])["value"].clip(lower=1e-7)
    limits = float(curves.min()), float(curves.max())
    parts = []
    names = sorted(curves.index.get_level_values("dataset").unique())
    for i, dataset in enumerate(names):
        at = Panel(46 + 272 * i, 30, 222, 200, "epoch", True, limits)
        own = curves[dataset]
        lines = [
            Line(own[m].index.to_numpy(), own[m].to_numpy(), STYLES[m].color, STYLES[m].dash)
            for m in METHODS
            if m in own.index.get_level_values("method")
        ]
        parts += [f'<text x="{at.left}" y="20" font-weight="600">{title(dataset)}</text>', *panel(lines, at)]
    for i, method in enumerate(METHODS):
        parts += key(STYLES[method], 46 + 210 * i, 292)
    white = '<rect width="1100" height="310" fill="#fff"/>'
    return image([white, *parts], 1100, 310) + "\n"


def title(dataset: str) -> str:
    """A pair as a person reads it.

    >>> title("mnist_3_5")
    '3 and 5'
    """
    _, first, second = dataset.split("_")
    return f"{first} and {second}"


def about(rows: pd.DataFrame, environment: Mapping[str, Any]) -> str:
    """What was run, in sentences."""
    return (
        "The paper's convolutional network on four pairs of digits of MNIST: nine convolutions, a dense layer of 20, "
        f"batch 128, {rows['epoch'].max()} epochs, {rows['repeat'].nunique()} repeats with their own validation "
        "images. The weight of the l2 penalty is not in the paper; here it is "
        f"{environment['experiments'][0]['l2']:g}. SteinGLM learns from every patch of every training image."
    )


def markdown(rows: pd.DataFrame, environment: Mapping[str, Any]) -> str:
    """The report's section on images: the verdict on each score, a table of losses, the figure."""
    lines = [
        "## Figure 5: images",
        "",
        about(rows, environment),
        "",
        "![Training losses by epoch, one panel a pair of digits](figure_mnist.svg)",
        "",
        "Training cross-entropy by epoch, mean over repeats, log scale; epoch 0 is before training.",
    ]
    for sentence, verdict, evidence in claims(rows):
        tests = "One-sided Wilcoxon tests over pairs and repeats, Holm-corrected:"
        lines += ["", f"**{sentence}** It **{verdict}**. {tests}", *(f"- {each}" for each in evidence)]
    return "\n".join([*lines, "", _table(rows)])


def _claim(method: str) -> str:
    return (
        f"{TITLES[method]} converges much faster on images: its training loss is lower after epochs 1 and 2."
    )


def _evidence(each: Faster) -> str:
    sizes = (
        f"the baseline's loss is {each.ratio:.2f} times its own"
        if each.ratio >= 1
        else f"its loss is {1 / each.ratio:.2f} times the baseline's"
    )
    return (
        f"epoch {each.epoch}, against {TITLES[each.baseline]}: lower in {each.better} of {each.pairs} pairs; {sizes} "
        f"(median); p = {each.p:.2g}"
    )


def _table(rows: pd.DataFrame) -> str:
    table = ends(rows)
    body = [f"| {' | '.join(map(str, table))} |", "|---|---|" + "---:|" * (table.shape[1] - 2)]
    for digits, method, *numbers, accuracy, auc in table.itertuples(index=False):
        cells = [digits, method, *(f"{v:.4g}" for v in numbers), f"{accuracy:.4f}", f"{auc:.4f}"]
        body.append(f"| {' | '.join(cells)} |")
    text = (
        "Training losses, and the test images (MNIST's own) at the best validation loss; means over repeats."
    )
    return "\n".join([text, "", *body])

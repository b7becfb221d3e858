"""What the paper claims, tested on the study's rows: paired over repeats and over data sets, Holm-corrected.

Every comparison is of SteinGLM as published (the "identity" score) with one other method, paired: the repeats of a cell
share their split and the order of their mini-batches. Tests are one-sided Wilcoxon signed-rank tests (for "better"),
exact for so few pairs; Holm's correction is over the rows of a comparison, or over the comparisons of a claim.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import wilcoxon

from steinglm.paper.study import BASELINES, DATASETS, TITLES

__all__ = ["VERDICTS", "Claim", "Comparison", "claims", "compare", "holm"]

LEVEL = 0.05
VERDICTS = ("holds", "holds partly", "does not hold", "undecided")


@dataclass(frozen=True)
class Comparison:
    """SteinGLM against another method: over all rows (data set and depth) of the study that have both.

    rows, better : rows, and those in which SteinGLM's mean over repeats is the better one
    significant, worse : rows in which it is so (or the other way) at the level, Holm-corrected over the rows
    effect : the median over rows of (other - SteinGLM) / pooled sd over repeats, positive where SteinGLM is better
    datasets, p : the data sets, and p of their mean differences in these units, one-sided; not corrected
    """

    label: str
    rows: int
    datasets: int
    better: int
    significant: int
    worse: int
    effect: float
    p: float


@dataclass(frozen=True)
class Claim:
    """One sentence of the paper, its verdict (of `VERDICTS`), and the evidence."""

    text: str
    verdict: str
    comparisons: tuple[Comparison, ...]
    p: tuple[float, ...]  # of the comparisons over data sets, Holm-corrected


def holm(p: Sequence[float]) -> list[float]:
    """Holm's step-down correction of p-values (Holm, 1979).

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    corrected, largest = [0.0] * len(p), 0.0
    for i, place in enumerate(np.argsort(p, kind="stable")):
        largest = max(largest, (len(p) - i) * p[place])
        corrected[place] = min(1.0, largest)
    return corrected


def compare(values: pd.DataFrame, one: tuple[str, str], other: tuple[str, str], label: str) -> Comparison:
    """Compare two methods.

    Parameters
    ----------
    values : columns dataset, depth, method, output, repeat, value; smaller is better
    one, other : (method, output)
    """
    index = ["dataset", "depth", "repeat"]
    sides = [
        values[(values["method"] == method) & (values["output"] == output)].set_index(index)["value"]
        for method, output in (one, other)
    ]
    pairs = pd.concat(sides, axis=1, keys=["one", "other"], join="inner")
    cells = list(pairs.groupby(level=["dataset", "depth"]))
    gains = [(pair["other"] - pair["one"]).to_numpy() for _, pair in cells]
    pooled = [float(np.sqrt((pair["one"].var() + pair["other"].var()) / 2)) for _, pair in cells]
    effects = [gain.mean() / sd if sd > 0 else 0.0 for gain, sd in zip(gains, pooled, strict=True)]
    names = [name for (name, _), _ in cells]
    by_dataset = pd.Series(effects, index=names, dtype=float).groupby(level=0).mean().to_numpy()
    return Comparison(
        label,
        rows=len(cells),
        datasets=len(by_dataset),
        better=sum(gain.mean() > 0 for gain in gains),
        significant=sum(p < LEVEL for p in holm([_p(gain) for gain in gains])),
        worse=sum(p < LEVEL for p in holm([_p(-gain) for gain in gains])),
        effect=float(np.median(effects)) if effects else float("nan"),
        p=_p(by_dataset),
    )


def _p(gains: np.ndarray) -> float:
    """One-sided, for gains above zero; 1 where there is nothing to compare."""
    gains = gains[np.isfinite(gains)]
    return float(wilcoxon(gains, alternative="greater").pvalue) if np.any(gains) else 1.0


def claims(rows: pd.DataFrame) -> list[Claim]:
    """The claims of the paper's section 3 that the rows can test, and comparisons that it leaves out of its headline.

    Parameters
    ----------
    rows : of `study.rows`
    """
    rows = rows.astype({"dataset": str, "method": str, "output": str, "quantity": str, "value": float})
    metric = rows[rows["quantity"] == "test_metric"]
    # smaller is better in all that is compared
    metric = metric.assign(
        value=metric["value"].where(metric["dataset"].isin(DATASETS["regression"]), -metric["value"])
    )
    area = _mean_log_loss(rows)
    last = rows[(rows["quantity"] == "training_loss") & (rows["epoch"] == rows["epoch"].max())]
    ours, own = ("steinglm", "glm"), [(method, "own") for method in BASELINES]
    every = [
        _claim("SteinGLM predicts better than every benchmark (Tables 2 and 3).", metric, ours, own),
        _claim("SteinGLM's training loss falls faster than every benchmark's (Figures 2 and 3).", area, ours, own),
        _claim("The benchmarks get stuck in less optimal solutions (Figures 2 and 3, at the end).", last, ours, own),
        _claim(
            "SteinGLM is better than the benchmarks that have a GLM output layer too (Tables 4 and 5).",
            metric, ours, [(method, "glm") for method in BASELINES],
        ),
        _claim(
            "SteinGLM's directions without the GLM are better than the benchmarks without it (Tables 4 and 5).",
            metric, ("steinglm", "own"), own,
        ),
        _claim(
            "Not in the paper's headline: SteinGLM is better than orthogonal weights with a GLM output layer.",
            metric, ours, [("orthogonal", "glm")],
        ),
        _claim(
            "Not in the paper: the standardized score is better than the formula as published.",
            metric, ("steinglm_standardized", "glm"), [ours],
        ),
    ]  # fmt: skip
    return [claim for claim in every if claim.comparisons]


def _mean_log_loss(rows: pd.DataFrame) -> pd.DataFrame:
    """The mean over epochs of the logarithm of the training loss: the lower, the sooner and the farther it fell."""
    curves = rows[rows["quantity"] == "training_loss"]
    logs = curves.assign(value=np.log(curves["value"].clip(lower=1e-30)))
    return logs.groupby(["dataset", "depth", "method", "output", "repeat"])["value"].mean().reset_index()


def _claim(text: str, values: pd.DataFrame, one: tuple[str, str], others: Sequence[tuple[str, str]]) -> Claim:
    compared = (compare(values, one, other, _label(other)) for other in others)
    found = tuple(each for each in compared if each.rows)
    corrected = tuple(holm([each.p for each in found]))
    return Claim(text, _verdict(found, corrected), found, corrected)


def _label(method: tuple[str, str]) -> str:
    name, output = method
    return TITLES[name] + (" with GLM" if output == "glm" and name in BASELINES else "")


def _verdict(found: Sequence[Comparison], corrected: Sequence[float]) -> str:
    """Holds: better in nine of ten rows and over data sets; partly: in more than half, some of them significant.

    Undecided where the data sets are too few for any test over them to reach the level.
    """
    if any(0.5**each.datasets * len(found) >= LEVEL for each in found):
        return "undecided"
    clear = [each.better >= 0.9 * each.rows and p < LEVEL for each, p in zip(found, corrected, strict=True)]
    if all(clear):
        return "holds"
    mostly = [each.better > each.rows / 2 and each.significant > 0 for each in found]
    return "holds partly" if any(mostly) else "does not hold"

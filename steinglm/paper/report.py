"""The report of the study as Markdown with two figures, made from its rows and environment alone."""

from collections.abc import Mapping
from html import escape
from typing import Any

import numpy as np
import pandas as pd

from steinglm.paper.claims import Claim, Comparison, claims
from steinglm.paper.study import DATASETS, DEPTHS, METHODS, TABLES, TITLES
from steinglm.paper.tables import table

__all__ = ["FIGURES", "figure", "figures_of", "markdown", "outside", "trajectories"]

FIGURES = {2: "regression", 3: "binary"}  # the paper's: the trajectories of training losses
LIMIT = 2.0  # of the paper's sd: farther away, a mean is looked into
# One colour and dash a method, as on the page.
LOOKS = {
    "steinglm": ("#0072B2", ""), "steinglm_standardized": ("#56A0D3", "1.5 3"), "glorot_normal": ("#D55E00", "8 4"),
    "he_normal": ("#009E73", "2 3.5"), "orthogonal": ("#CC79A7", "8 3 2 3"),
}  # fmt: skip


def markdown(rows: pd.DataFrame, environment: Mapping[str, Any]) -> str:
    """The whole report; equal rows and environment give equal text."""
    parts = [
        "# The paper, run again",
        _about(rows, environment),
        "## What holds",
        _how(),
        *(_paragraph(claim) for claim in claims(rows)),
        *(f"## Table {number}\n\n{_table(rows, number)}" for number in TABLES if _has(rows, TABLES[number])),
        "## Means far from the paper's",
        _outside(rows),
        *(f"## Figure {number}\n\n{_figure_text(number)}" for number in figures_of(rows)),
        "## Time",
        _time(environment),
    ]
    return "\n\n".join(parts) + "\n"


def figures_of(rows: pd.DataFrame) -> list[int]:
    """The paper's figures that a part of the study can draw."""
    return [number for number, task in FIGURES.items() if _has(rows, task)]


def _has(rows: pd.DataFrame, task: str) -> bool:
    return bool(rows["dataset"].isin(DATASETS[task]).any())


def _about(rows: pd.DataFrame, environment: Mapping[str, Any]) -> str:
    ends = rows[rows["quantity"] == "test_metric"]
    versions = ", ".join(f"{name} {number}" for name, number in environment["versions"].items())
    wall = environment.get("wall_seconds")
    took = f" The run took {wall / 60:.0f} minutes." if wall else ""
    return (
        f"This page is made by `python -m steinglm paper` from {len(ends):,} trained networks: the paper's section 3, "
        f"{ends['dataset'].nunique()} data sets, {ends['depth'].nunique()} depths, {ends['repeat'].nunique()} repeats "
        "with their own splits, each method with a GLM output layer and without. SteinGLM is the paper's formula "
        'verbatim (score "identity"); "standardized" is the score that this library takes by default.\n\n'
        f"Made with {versions}; {environment['processor']}, {environment['cores']} cores.{took}"
    )


def _how() -> str:
    return (
        "Each claim is tested by pairs: in each row (data set and depth) a one-sided Wilcoxon signed-rank test over "
        "the repeats, which share splits and mini-batches, Holm-corrected over the rows; and one over the data sets' "
        "mean differences, in units of the pooled sd, Holm-corrected over a claim's comparisons. A claim *holds* if "
        "SteinGLM is better in nine of ten rows and over the data sets (p < 0.05) in every comparison, and *holds "
        "partly* if it is better in more than half of the rows of one."
    )


def _paragraph(claim: Claim) -> str:
    lines = [f"**{claim.text}** It **{claim.verdict}**."]
    lines += [_evidence(each, p) for each, p in zip(claim.comparisons, claim.p, strict=True)]
    return "\n".join(lines)


def _evidence(each: Comparison, p: float) -> str:
    return (
        f"- against {each.label}: better in {each.better} of {each.rows} rows, significantly in {each.significant}, "
        f"significantly worse in {each.worse}; median difference {each.effect:+.2f} sd; over data sets p = {p:.2g}"
    )


def _table(rows: pd.DataFrame, number: int) -> str:
    lines = table(rows, number)
    measure = "RMSE (lower is better)" if TABLES[number] == "regression" else "AUC (higher is better)"
    averaged = number in (4, 5)
    text = (
        f"Test {measure}, {'averaged over the data sets, ' if averaged else ''}mean over repeats"
        f"{'' if averaged else ' ± sd'}. Second line of a cell: the paper's"
        f"{'' if averaged else ', and the difference in units of the pooled sd'}."
    )
    first = ["output layer", "depth"] if averaged else ["data set", "depth"]
    head = "| " + " | ".join([*first, *(TITLES[method] for method in METHODS)]) + " |"
    rule = "|---|---:|" + "---|" * len(METHODS)
    by = ["output", "depth"] if averaged else ["dataset", "depth"]
    body = []
    for key, group in lines.groupby(by, sort=False):
        cells = {line["method"]: _cell(line, averaged) for _, line in group.iterrows()}
        name = str(key[0]).replace("_", " ").replace("glm", "GLM")
        body.append("| " + " | ".join([name, str(key[1]), *(cells.get(m, "") for m in METHODS)]) + " |")
    return "\n".join([text, "", head, rule, *body])


def _cell(line: "pd.Series[Any]", averaged: bool) -> str:
    ours = f"{line['mean']:.4f}" + ("" if averaged else f" ± {line['sd']:.4f}")
    if np.isnan(line["paper_mean"]):
        return ours
    theirs = f"{line['paper_mean']:.4f}"
    if not averaged:
        theirs += f" ± {line['paper_sd']:.4f}"
        if np.isfinite(line["difference"]):
            theirs += f" ({line['difference']:+.1f})"
    return f"{ours}<br>{theirs}"


def outside(rows: pd.DataFrame) -> pd.DataFrame:
    """The lines of Tables 2 and 3 whose mean is more than `LIMIT` of the paper's sd from the paper's mean."""
    lines = pd.concat([table(rows, number) for number in (2, 3)], ignore_index=True)
    away = (lines["mean"] - lines["paper_mean"]) / lines["paper_sd"]
    return lines.assign(away=away)[away.abs() > LIMIT].reset_index(drop=True)


def _outside(rows: pd.DataFrame) -> str:
    lines = pd.concat([table(rows, number) for number in (2, 3)], ignore_index=True)
    ours = lines[lines["method"] == "steinglm"]
    far = outside(rows)
    count = int((far["method"] == "steinglm").sum())
    near = f"{len(ours) - count} lie within {LIMIT:g} of the paper's sd of the paper's mean."
    text = f"Of the {len(ours)} cells of SteinGLM, {near}"
    listed = [
        f"- {TITLES[line['method']]} on {line['dataset'].replace('_', ' ')}, depth {line['depth']}: "
        f"{line['mean']:.4f}, the paper's {line['paper_mean']:.4f} ± {line['paper_sd']:.4f} "
        f"({line['away']:+.1f} of its sd)"
        for _, line in far.iterrows()
    ]
    return "\n".join([text, *([""] if listed else []), *listed])


def trajectories(rows: pd.DataFrame, number: int) -> pd.DataFrame:
    """The paper's Figure 2 or 3: training losses averaged over data sets, columns depth, method, epoch, value.

    SteinGLM with the GLM output layer, the benchmarks with their own, as in the paper.
    """
    own = rows[(rows["quantity"] == "training_loss") & rows["dataset"].isin(DATASETS[FIGURES[number]])]
    own = own.astype({"dataset": str, "method": str, "output": str, "value": float})
    own = own[(own["output"] == "glm") == own["method"].str.startswith("steinglm")]
    cells = own.groupby(["depth", "method", "epoch", "dataset"])["value"].mean()
    return cells.groupby(level=["depth", "method", "epoch"]).mean().reset_index()


def _figure_text(number: int) -> str:
    task = FIGURES[number]
    axis = ", log scale" if task == "regression" else ""
    loss = "mean squared error" if task == "regression" else "cross-entropy"
    return (
        f"![Training losses by epoch, averaged over the {task} data sets, one panel a depth](figure{number}.svg)\n\n"
        f"Training {loss} by epoch, averaged over the {task} data sets and repeats{axis}; epoch 0 is before training."
    )


def figure(rows: pd.DataFrame, number: int) -> str:
    """The paper's Figure 2 or 3 as SVG: one panel a depth."""
    curves = trajectories(rows, number)
    logarithmic = FIGURES[number] == "regression"
    values = np.log10(curves["value"]) if logarithmic else curves["value"]
    low, high = float(values.min()), float(np.quantile(values, 0.995))
    curves = curves.assign(shown=values.clip(upper=high))
    width, height, gap = 230, 210, 46
    parts = []
    for i, depth in enumerate(DEPTHS):
        left = gap + i * (width + 14)
        parts += [
            f'<text x="{left}" y="20" font-weight="600">{depth} layers</text>',
            *_axes(left, i, width, height, low, high, logarithmic),
        ]
        for method, line in curves[curves["depth"] == depth].groupby("method", sort=False):
            x = left + line["epoch"].to_numpy() / max(1, curves["epoch"].max()) * width
            y = 30 + (high - line["shown"].to_numpy()) / ((high - low) or 1.0) * height
            points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))
            color, dash = LOOKS[str(method)]
            parts.append(
                f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="2" stroke-dasharray="{dash}"/>'
            )
    for i, method in enumerate(METHODS):
        color, dash = LOOKS[method]
        x = gap + i * 190
        parts += [
            f'<path d="M{x} 284h28" stroke="{color}" stroke-width="2.4" stroke-dasharray="{dash}"/>',
            f'<text x="{x + 34}" y="288">{escape(TITLES[method])}</text>',
        ]
    total = gap + 4 * (width + 14)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {total} 300" font-family="sans-serif" font-size="12" '
        f'fill="#59636E"><rect width="{total}" height="300" fill="#fff"/>{"".join(parts)}</svg>\n'
    )


def _axes(
    left: int, i: int, width: int, height: int, low: float, high: float, logarithmic: bool
) -> list[str]:
    parts = []
    for share in (0.0, 0.5, 1.0):
        y = 30 + (1 - share) * height
        value = low + share * (high - low)
        parts.append(f'<path d="M{left} {y:.0f}h{width}" stroke="#E6E9ED"/>')
        if i == 0:
            label = f"{10**value:.2g}" if logarithmic else f"{value:.2g}"
            parts.append(f'<text x="{left - 5}" y="{y + 4:.0f}" text-anchor="end">{label}</text>')
    ends = (("start", 0, "0"), ("middle", width / 2, "epoch"), ("end", width, "200"))
    return parts + [
        f'<text x="{left + x:.0f}" y="258" text-anchor="{anchor}">{text}</text>' for anchor, x, text in ends
    ]


def _time(environment: Mapping[str, Any]) -> str:
    """Seconds of initialization by method against an epoch, as measured in the run."""
    timed = [
        each
        for each in environment["experiments"]
        if "training_seconds" in each and each["output"] == "paper"
    ]
    seconds: dict[str, list[float]] = {}
    epochs: list[float] = []
    for each in timed:
        for method, took in each["initialization_seconds"].items():
            standardized = each["score"] == "standardized" and method == "steinglm"
            seconds.setdefault(f"{method}_standardized" if standardized else method, []).append(took)
        if each["score"] == "identity":
            networks = len(each["methods"]) * each["repeats"]
            epochs.append(each["training_seconds"] / each["epochs"] / networks)
    if not epochs:
        return "No times were measured."
    one = float(np.mean(epochs))
    lines = [
        "Mean seconds of one network's initialization, over data sets and depths, and in epochs of training one "
        "network in lock-step with the others. Times were taken while two workers shared the processor.",
        "",
        "| method | seconds | epochs |",
        "|---|---:|---:|",
    ]
    lines += [
        f"| {TITLES[m]} | {np.mean(seconds[m]):.4f} | {np.mean(seconds[m]) / one:.2f} |"
        for m in METHODS
        if m in seconds
    ]
    return "\n".join(lines)

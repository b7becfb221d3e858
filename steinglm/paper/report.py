"""The report of the study as Markdown with two figures, made from its rows and environment alone."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from steinglm.drawing import Line, Panel, image, key, panel
from steinglm.paper import complexity, mnist
from steinglm.paper.claims import Claim, Comparison, claims
from steinglm.paper.results import Kept
from steinglm.paper.study import DATASETS, DEPTHS, METHODS, TABLES, TITLES
from steinglm.paper.tables import table
from steinglm.styles import STYLES

__all__ = [
    "FIGURES", "LIMIT", "agreement", "count", "distant", "documents", "figure", "figures_of", "growth", "markdown",
    "outside", "times", "trajectories",
]  # fmt: skip

FIGURES = {2: "regression", 3: "binary"}  # the paper's: the trajectories of training losses
EXPLAINED = {"parkinsons": "[The mean of the response](method.md#the-mean-of-the-response) accounts for it."}
LIMIT = 2.0  # of the paper's sd: farther away, a mean is looked into


def markdown(rows: pd.DataFrame, environment: Mapping[str, Any], images: Kept | None = None) -> str:
    """The whole report, with the study of images if there is one; equal rows and environments give equal text."""
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
        *([mnist.markdown(*images)] if images else []),
        "## Time",
        _time(environment),
    ]
    return "\n\n".join(parts) + "\n"


def documents(
    rows: pd.DataFrame, environment: Mapping[str, Any], images: Kept | None = None
) -> dict[str, str]:
    """The report and its figures, by file name."""
    figures = {f"figure{number}.svg": figure(rows, number) for number in figures_of(rows)}
    if images:
        figures["figure_mnist.svg"] = mnist.figure(images[0])
    return {"reproduction.md": markdown(rows, environment, images)} | figures


def figures_of(rows: pd.DataFrame) -> list[int]:
    """The paper's figures that a part of the study can draw."""
    return [number for number, task in FIGURES.items() if _has(rows, task)]


def _has(rows: pd.DataFrame, task: str) -> bool:
    return bool(rows["dataset"].isin(DATASETS[task]).any())


def _about(rows: pd.DataFrame, environment: Mapping[str, Any]) -> str:
    ends = rows[rows["quantity"] == "test_metric"]
    versions = ", ".join(f"{name} {number}" for name, number in environment["versions"].items())
    wall = environment.get("wall_seconds")
    took = f" The run took {wall / 60:.1f} minutes." if wall and not environment.get("resumed") else ""
    worked = sum(each.get("training_seconds", 0.0) for each in environment["experiments"])
    if worked:
        took += f" Training took its workers {worked / 3600:.1f} hours together."
    both = ends.groupby("method", observed=True)["output"].nunique().min() == 2
    missing = sum(map(len, DATASETS.values())) - ends["dataset"].nunique()
    return (
        f"This page is made by `python -m steinglm paper` from {len(ends):,} trained networks: the paper's section 3, "
        f"{count(ends['dataset'], 'data set')}{f' ({missing} of the paper are not run yet)' if missing else ''}, "
        f"{count(ends['depth'], 'depth')}, {count(ends['repeat'], 'repeat')} with splits of their own"
        f"{', each method with a GLM output layer and without' if both else ''}. SteinGLM is the paper's formula "
        'verbatim (score "identity"); "standardized" is the score that this library takes by default.\n\n'
        f"Made with {versions}; {environment['processor']}, {environment['cores']} cores.{took}"
    )


def count(values: "pd.Series[Any]", noun: str) -> str:
    """How many different values there are, with their noun.

    >>> count(pd.Series([10, 10, 20]), "depth"), count(pd.Series([10]), "depth")
    ('2 depths', '1 depth')
    """
    number = values.nunique()
    return f"{number} {noun}{'s' if number != 1 else ''}"


def _how() -> str:
    return (
        "Each claim is tested by pairs: in each row (data set and depth) a one-sided Wilcoxon signed-rank test over "
        "the repeats, which share splits and mini-batches, Holm-corrected over the rows; and one over the data sets' "
        "mean differences, in units of the pooled sd, Holm-corrected over a claim's comparisons. A claim *holds* if "
        "SteinGLM is better in nine of ten rows and over the data sets (p < 0.05) in every comparison, and *holds "
        "partly* if it is better in more than half of the rows of one comparison, in some of them significantly. It is "
        "*undecided* as long as the data sets are too few for a test over them to reach that level."
    )


def _paragraph(claim: Claim) -> str:
    lines = [f"**{claim.text}** It {'is ' if claim.verdict == 'undecided' else ''}**{claim.verdict}**."]
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
    averaged, compared = number in (4, 5), bool(lines["paper_mean"].notna().any())
    text = (
        f"Test {measure}, {'averaged over the data sets, ' if averaged else ''}mean over repeats"
        f"{'' if averaged else ' ± sd'}."
    )
    if compared:
        beside = "" if averaged else ", and the difference in units of the pooled sd"
        text += f" Second line of a cell: the paper's{beside}."
    elif averaged:
        text += " The paper's averages are over more data sets and are not compared."
    first = ["output layer", "depth"] if averaged else ["data set", "depth"]
    head = "| " + " | ".join([*first, *(TITLES[method] for method in METHODS)]) + " |"
    rule = "|---|---:|" + "---|" * len(METHODS)
    by = ["output", "depth"] if averaged else ["dataset", "depth"]
    body = []
    for (first_value, depth), group in lines.groupby(by, sort=False):
        cells = {line["method"]: _cell(line, averaged) for _, line in group.iterrows()}
        name = str(first_value).replace("_", " ").replace("glm", "GLM")
        body.append("| " + " | ".join([name, str(depth), *(cells.get(m, "") for m in METHODS)]) + " |")
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


def agreement(rows: pd.DataFrame) -> str:
    """How many of SteinGLM's means lie near the paper's, in a sentence."""
    lines = pd.concat([table(rows, number) for number in (2, 3)], ignore_index=True)
    lines = lines[lines["paper_mean"].notna()]
    far = outside(rows)
    total, away = (int((part["method"] == "steinglm").sum()) for part in (lines, far))
    return (
        f"Of SteinGLM's {total} cells in Tables 2 and 3, {total - away} lie within {LIMIT:g} of the paper's sd of the "
        f"paper's mean; of all methods' {len(lines)}, {len(lines) - len(far)}."
    )


def distant(rows: pd.DataFrame) -> list[str]:
    """Every mean that is far from the paper's, in a sentence each; the median tells if one network did it."""
    own = rows[rows["quantity"] == "test_metric"]
    own = own.astype({"dataset": str, "method": str, "output": str, "value": float})
    medians = own.groupby(["dataset", "depth", "method", "output"])["value"].median()
    return [
        f"{TITLES[line['method']]} on {line['dataset'].replace('_', ' ')}, depth {line['depth']}: "
        f"{line['mean']:.4f} ± {line['sd']:.4f}, median "
        f"{medians[line['dataset'], line['depth'], line['method'], line['output']]:.4f}; the paper's "
        f"{line['paper_mean']:.4f} ± {line['paper_sd']:.4f} ({line['away']:+.1f} of its sd)"
        for _, line in outside(rows).iterrows()
    ]


def _outside(rows: pd.DataFrame) -> str:
    listed = [f"- {each}" for each in distant(rows)]
    far = outside(rows)
    own = far.loc[far["method"] == "steinglm", "dataset"].unique()
    notes = [f"SteinGLM on {name}: {EXPLAINED[name]}" for name in own if name in EXPLAINED]
    return "\n\n".join([agreement(rows), *(["\n".join(listed)] if listed else []), *notes])


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
    """The paper's Figure 2 or 3 as SVG: one panel a depth, all of one range."""
    curves = trajectories(rows, number)
    # The first epochs of the worst method would flatten all others.
    ends = float(curves["value"].min()), float(curves["value"].quantile(0.995))
    curves = curves.assign(value=curves["value"].clip(upper=ends[1]))
    parts = []
    for i, depth in enumerate(DEPTHS):
        at = Panel(46 + 272 * i, 30, 222, 200, "epoch", FIGURES[number] == "regression", ends)
        own = curves[curves["depth"] == depth]
        lines = [
            Line(line["epoch"].to_numpy(), line["value"].to_numpy(), STYLES[m].color, STYLES[m].dash)
            for m in METHODS
            if len(line := own[own["method"] == m])
        ]
        parts += [f'<text x="{at.left}" y="20" font-weight="600">{depth} layers</text>', *panel(lines, at)]
    for i, method in enumerate(METHODS):
        parts += key(STYLES[method], 46 + 210 * i, 292)
    white = '<rect width="1100" height="310" fill="#fff"/>'
    return image([white, *parts], 1100, 310) + "\n"


def times(environment: Mapping[str, Any]) -> pd.DataFrame:
    """What an initialization takes against training: columns method, seconds, epochs (of one network), as measured."""
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
    one = float(np.mean(epochs)) if epochs else float("nan")
    means = [(method, float(np.mean(seconds[method]))) for method in METHODS if method in seconds]
    found = pd.DataFrame(means, columns=["method", "seconds"])
    return found.assign(epochs=found["seconds"] / one)


def _time(environment: Mapping[str, Any]) -> str:
    found = times(environment)
    if found.empty:
        return "No times were measured."
    lines = [
        "Mean seconds of one network's initialization, over data sets and depths, and in epochs of training one "
        "network in lock-step with the others. Times were taken while two workers shared the processor.",
        "",
        "| method | seconds | epochs |",
        "|---|---:|---:|",
    ]
    lines += [
        f"| {TITLES[method]} | {seconds:.4f} | {epochs:.2f} |"
        for method, seconds, epochs in found.itertuples(index=False)
    ]
    if "layer_seconds" in environment:
        lines += ["", growth(environment["layer_seconds"])]
    return "\n".join(lines)


def growth(measured: Sequence[Mapping[str, float]]) -> str:
    """What the fit of the complexity says, in a sentence."""
    found = complexity.fit(measured)
    rows, units = (sorted({int(each[name]) for each in measured}) for name in ("rows", "units"))
    return (
        f"The paper's complexity of a layer is O(n N²). A fit to {len(measured)} measured layers ({rows[0]:,} to "
        f"{rows[-1]:,} rows, {units[0]} to {units[-1]} units) gives n to the power of {found.rows:.2f} and N to the "
        f"power of {found.units:.2f} (R² {found.r2:.3f}). Exponents below 1 and 2 say that the eigenvectors (N³, "
        "whatever n is) and the passes over n N numbers still count beside the n N² of the matrix product."
    )

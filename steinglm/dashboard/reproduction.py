"""The page "Paper": the rows of the study that come with the library, as tables and figures that can be filtered."""

from dataclasses import dataclass
from functools import cache
from typing import Any

import pandas as pd
import streamlit as st

from steinglm.dashboard import charts, controls
from steinglm.dashboard.explain import TOPICS
from steinglm.dashboard.live import Panel, live
from steinglm.dashboard.measure import title
from steinglm.link import View
from steinglm.paper import mnist, report, results, study, tables
from steinglm.paper.claims import Claim, claims
from steinglm.settings import Experiment

__all__ = [
    "Choice", "ablation", "choices", "images", "introduction", "table", "times", "trajectories", "verdicts",
]  # fmt: skip

TASKS = {"regression": "Regression", "binary": "Two classes"}
MEASURES = {"regression": "RMSE, lower is better", "binary": "AUC, higher is better"}
VERDICTS = {
    "holds": ":material/check_circle: holds",
    "holds partly": ":material/contrast: holds partly",
    "does not hold": ":material/cancel: does not hold",
    "undecided": ":material/help: undecided",
}
BEST = "background-color: rgba(0, 114, 178, 0.18); font-weight: 600"


@dataclass(frozen=True)
class Choice:
    """What a person wants to see: the task, of its data sets some, depths, and methods."""

    task: str
    names: tuple[str, ...]
    depths: tuple[int, ...]
    methods: tuple[str, ...]

    def number(self, *, ablation: bool = False) -> int:
        """The paper's table."""
        return next(n for n, task in study.TABLES.items() if task == self.task and (n >= 4) == ablation)


def introduction() -> None:
    """What was run."""
    rows, _ = results.kept()
    ends = rows[rows["quantity"] == "test_metric"]
    missing = sum(map(len, study.DATASETS.values())) - ends["dataset"].nunique()
    st.markdown(
        f"The paper's section 3, run again with this library: {len(ends):,} networks, "
        f"{report.count(ends['dataset'], 'data set')}{f' ({missing} are not run yet)' if missing else ''}, "
        f"{report.count(ends['depth'], 'depth')}, {report.count(ends['repeat'], 'repeat')} with splits of their own. "
        f"{_far()} *SteinGLM* is the paper's formula verbatim; *standardized* is the score that this library takes by "
        "default."
    )
    if listed := report.distant(rows):
        with st.expander(f"Means more than {report.LIMIT:g} of the paper's sd from the paper's"):
            st.markdown("\n".join(f"- {each}" for each in listed))


def choices() -> Choice:
    """Draw the filters and return what they say; they are in the page's link."""
    st.header("Tables and figures")
    with st.container(horizontal=True, gap="large", vertical_alignment="bottom"):
        task = st.segmented_control(
            "Task", tuple(TASKS), key="task", format_func=TASKS.__getitem__, default="regression", required=True,
            bind="query-params",
        )  # fmt: skip
        depths = st.pills(
            "Depths", study.DEPTHS, key="depths", selection_mode="multi", default=study.DEPTHS, bind="query-params"
        )  # fmt: skip
    methods = st.pills(
        "Methods", study.METHODS, key="compared", selection_mode="multi", default=study.METHODS,
        format_func=study.TITLES.__getitem__, bind="query-params",
    )  # fmt: skip
    present = set(results.kept()[0]["dataset"])
    every = tuple(name for name in study.DATASETS[task] if name in present)
    names = st.pills(
        "Data sets", every, key=f"sets_{task}", selection_mode="multi", default=every, format_func=title,
        bind="query-params",
    )  # fmt: skip
    if not (depths and methods and names):
        st.caption("Where nothing is chosen, all are shown.")
    return Choice(
        task,
        tuple(name for name in every if name in (names or every)),
        tuple(depth for depth in study.DEPTHS if depth in (depths or study.DEPTHS)),
        tuple(method for method in study.METHODS if method in (methods or study.METHODS)),
    )


def verdicts() -> None:
    """Each claim, whether it holds, and the tests behind it."""
    st.header("The claims")
    for claim in _claims():
        with st.expander(f"{VERDICTS[claim.verdict]}: {claim.text}"):
            st.dataframe(_evidence(claim), hide_index=True)
    st.caption(
        "A row is a data set at one depth. Within rows: one-sided Wilcoxon signed-rank tests over the paired repeats, "
        "Holm-corrected, p < 0.05; over data sets: the same of their mean differences in units of the pooled sd. "
        "Holds: better in nine of ten rows and over data sets, against every method; partly: in more than half of the "
        "rows against one, in some of them significantly. Undecided: too few data sets for a test over them."
    )


def table(chosen: Choice) -> None:
    """Table 2 or 3; a click on a cell opens its experiment on the page Compare."""
    number = chosen.number()
    st.subheader(f"Table {number}")
    lines = _table(number)
    lines = lines[
        lines["dataset"].isin(chosen.names)
        & lines["depth"].isin(chosen.depths)
        & lines["method"].isin(chosen.methods)
    ]
    wide, best, keys = _wide(lines, chosen)
    st.caption(
        f"Test {MEASURES[chosen.task]}: our mean over the repeats, the paper's in brackets, the best of ours marked. "
        "Click a cell to open its experiment, the first of the repeats, on the page Compare."
    )
    styled = wide.style.apply(lambda _: best, axis=None)
    event: Any = st.dataframe(
        styled,
        key=f"table_{number}",
        on_select="rerun",
        selection_mode="single-cell",
        hide_index=True,
        height="content",
    )
    for row, column in event.selection.cells:
        _open(keys[row], column)


def trajectories(chosen: Choice) -> None:
    """The paper's Figure 2 or 3 for what is chosen: a chart a depth."""
    number = next(n for n, task in report.FIGURES.items() if task == chosen.task)
    st.subheader(f"Figure {number}", help=TOPICS["learning"].text)
    loss = "mean squared error" if chosen.task == "regression" else "cross-entropy"
    st.caption(
        f"Training {loss} by epoch, averaged over the chosen data sets and the repeats; epoch 0 is before training."
    )
    rows, _ = results.kept()
    curves = report.trajectories(rows[rows["dataset"].isin(chosen.names)], number)
    curves = curves[curves["method"].isin(chosen.methods)]
    panels = []
    for depth in chosen.depths:
        figure = charts.trajectories(
            curves[curves["depth"] == depth], f"{depth} layers", chosen.task == "regression"
        )
        figure["layout"]["uirevision"] = chosen.task
        panels.append(
            Panel(f"depth-{depth}", figure, f"Training losses of networks of {depth} layers by epoch.")
        )
    live(panels, key="trajectories")


def ablation(chosen: Choice) -> None:
    """Table 4 or 5: with and without the GLM output layer, over all data sets of the task."""
    number = chosen.number(ablation=True)
    st.subheader(f"Table {number}: with and without the GLM")
    lines = _table(number)
    lines = lines[lines["depth"].isin(chosen.depths) & lines["method"].isin(chosen.methods)]
    wide, best, _ = _wide(lines, chosen)
    st.caption(
        f"Test {MEASURES[chosen.task]}, averaged over all data sets of the task that were run: ours, and in brackets "
        "the paper's, where they are the same."
    )
    st.dataframe(wide.style.apply(lambda _: best, axis=None), hide_index=True)


def images(chosen: Choice) -> None:
    """Figure 5: what holds of images, a chart a pair of digits, and where the losses and the test images stand."""
    rows, environment = results.kept_images()
    st.header("Figure 5: images")
    st.markdown(mnist.about(rows, environment))
    for sentence, verdict, evidence in _image_claims():
        with st.expander(f"{VERDICTS[verdict]}: {sentence}"):
            st.markdown("\n".join(f"- {each}" for each in evidence))
    st.caption(
        "One-sided Wilcoxon signed-rank tests over pairs and repeats, Holm-corrected. The charts: training "
        "cross-entropy by epoch, mean over the repeats; epoch 0 is before training."
    )
    rows = rows[rows["method"].isin(chosen.methods)]
    curves = mnist.mean_losses(rows)
    panels = [
        Panel(
            name,
            charts.trajectories(curves[curves["dataset"] == name], mnist.title(name), True),
            f"Training losses by epoch of networks that tell {mnist.title(name)} apart.",
        )
        for name in curves["dataset"].unique()
    ]
    live(panels, key="images")
    table = mnist.ends(rows)
    shown = table.rename(columns=lambda name: name[0].upper() + name[1:])
    numbers = {
        name: st.column_config.NumberColumn(format="%.4f" if name.startswith("Test") else "%.4g")
        for name in shown.columns[2:]
    }
    st.dataframe(
        shown, hide_index=True, height="content", column_config=numbers,
        alt="Losses and test metrics by pair of digits and method",
    )  # fmt: skip


def times() -> None:
    """What an initialization takes against an epoch, and the fit of the complexity."""
    _, environment = results.kept()
    found = report.times(environment)
    st.header("Time")
    shown = found.assign(method=found["method"].map(study.TITLES))
    st.dataframe(
        shown, hide_index=True, width="content",
        column_config={
            "method": "Method",
            "seconds": st.column_config.NumberColumn("Seconds to initialize", format="%.4f"),
            "epochs": st.column_config.NumberColumn("In epochs of training one network", format="%.2f"),
        },
    )  # fmt: skip
    st.caption("Means over data sets and depths, while two workers shared the processor.")
    if "layer_seconds" in environment:
        st.markdown(report.growth(environment["layer_seconds"]))


def _open(row: tuple[str, int], column: str) -> None:
    """Go to the page Compare with the experiment of a cell."""
    name, depth = row
    standardized = column == study.TITLES["steinglm_standardized"]
    experiment = Experiment(dataset=name, depth=depth, score="standardized" if standardized else "identity")
    controls.go_to_compare(experiment, View())


def _wide(lines: pd.DataFrame, chosen: Choice) -> tuple[pd.DataFrame, pd.DataFrame, list[tuple[str, int]]]:
    """A line a row of the table, a column a method; the style that marks the best of ours; and each line's row."""
    by = ["output", "depth"] if (lines["dataset"] == "").all() else ["dataset", "depth"]
    keys = list(dict.fromkeys(zip(lines[by[0]], lines["depth"], strict=True)))
    texts: dict[tuple[str, int], dict[str, str]] = {key: {} for key in keys}
    means: dict[tuple[str, int], dict[str, float]] = {key: {} for key in keys}
    for line in lines.to_dict("records"):
        key = line[by[0]], line["depth"]
        theirs = f" ({line['paper_mean']:.4f})" if line["paper_mean"] == line["paper_mean"] else ""
        texts[key][study.TITLES[line["method"]]] = f"{line['mean']:.4f}{theirs}"
        means[key][study.TITLES[line["method"]]] = round(
            line["mean"], 4
        )  # as shown: equal ones are both the best
    columns = [study.TITLES[method] for method in chosen.methods]
    head = "Data set" if by[0] == "dataset" else "Output layer"
    named = title if by[0] == "dataset" else {"glm": "GLM", "own": "own"}.__getitem__
    wide = pd.DataFrame(
        [{head: named(first), "Depth": depth, **texts[first, depth]} for first, depth in keys],
        columns=[head, "Depth", *columns],
    )
    choose = min if chosen.task == "regression" else max
    marks = [
        {column: BEST if own.get(column) == choose(own.values()) else "" for column in wide.columns}
        for own in means.values()
    ]
    return wide, pd.DataFrame(marks, index=wide.index, columns=wide.columns), keys


def _evidence(claim: Claim) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "Against": each.label,
            "Rows better": f"{each.better} of {each.rows}",
            "Significantly better": each.significant,
            "Significantly worse": each.worse,
            "Median difference, sd": f"{each.effect:+.2f}",
            "p over data sets": f"{p:.2g}",
        }
        for each, p in zip(claim.comparisons, claim.p, strict=True)
    )


@cache
def _claims() -> list[Claim]:
    return claims(results.kept()[0])


@cache
def _image_claims() -> list[tuple[str, str, list[str]]]:
    return mnist.claims(results.kept_images()[0])


@cache
def _table(number: int) -> pd.DataFrame:
    return tables.table(results.kept()[0], number)


@cache
def _far() -> str:
    return report.agreement(results.kept()[0])

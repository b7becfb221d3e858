"""The page "League": mean ranks with critical differences, the verdict, and every cell; all of it can be filtered."""

from base64 import b64encode
from dataclasses import dataclass
from functools import cache
from typing import Any

import pandas as pd
import streamlit as st

from steinglm.dashboard import controls
from steinglm.dashboard.explain import TOPICS
from steinglm.dashboard.measure import title
from steinglm.league import ranks, report, study
from steinglm.league.verdict import Verdict, by_part, effects, summary, verdict
from steinglm.link import View

__all__ = ["Choice", "cells", "choices", "introduction", "standing", "why"]

BEST = "background-color: rgba(0, 114, 178, 0.18); font-weight: 600"
MEASURES = {"regression": "RMSE, lower is better", "binary": "AUC, higher is better"}
TASKS = {"regression": "Regression", "binary": "Two classes"}


@dataclass(frozen=True)
class Choice:
    """What a person wants to see."""

    names: tuple[str, ...]
    depths: tuple[int, ...]
    activations: tuple[str, ...]


def introduction() -> None:
    """What was run, and the verdict."""
    st.markdown(summary(_verdict()))
    with st.expander("With each activation, and at each depth"):
        st.markdown(by_part(_verdict()))
    st.caption(
        f"{report.about(*report.kept())} The glossary says what the [methods](glossary?topic=methods) and "
        "[scores](glossary?topic=score) are."
    )


def choices() -> Choice:
    """Draw the filters and return what they say; they are in the page's link."""
    st.header("Ranks")
    table = _cells()
    present = [list(dict.fromkeys(table.index.get_level_values(name))) for name in ranks.CELL]
    names, depths, activations = present
    with st.container(horizontal=True, gap="large", vertical_alignment="bottom"):
        chosen_activations = _pills("Activations", "league_activations", activations)
        chosen_depths = _pills("Depths", "league_depths", depths)
    chosen_names = _pills("Data sets", "league_sets", names, title)
    if not (chosen_names and chosen_depths and chosen_activations):
        st.caption("Where nothing is chosen, all are shown.")
    return Choice(
        tuple(name for name in names if name in (chosen_names or names)),
        tuple(depth for depth in depths if depth in (chosen_depths or depths)),
        tuple(name for name in activations if name in (chosen_activations or activations)),
    )


def _pills(label: str, key: str, every: list[Any], named: Any = str) -> list[Any]:
    return st.pills(
        label, every, key=key, selection_mode="multi", default=every, format_func=named, bind="query-params"
    )  # fmt: skip


def standing(chosen: Choice) -> None:
    """The critical-difference plot, and the table of mean ranks, over the cells that are chosen."""
    table = _chosen(chosen)
    its = ranks.standing(table)
    first = study.ENTRIES[str(its.mean_ranks.index[0])].title
    over = f"{its.cells} cell{'' if its.cells == 1 else 's'}"
    sentence = (
        f"{first} has the best mean rank over {over}, {its.mean_ranks.iloc[0]:.2f}. {report.told(its)} Friedman's "
        f"test that all are alike: p = {its.p:.2g}."
    )
    st.markdown(sentence, help=TOPICS["ranks"].text)
    drawing, numbers = st.columns((4, 5), gap="medium")
    drawn = b64encode(report.figure(its, background="none", width=560).encode()).decode()
    drawing.markdown(f"![Mean ranks with critical differences](data:image/svg+xml;base64,{drawn})")
    drawing.caption(report.how())
    shown = report.overview(table)
    shown["entry"] = [study.ENTRIES[name].title for name in shown["entry"]]
    shown = shown.rename(columns={"entry": "Entry", "mean_rank": "Mean rank", "wins": "Wins"})
    format_ = st.column_config.NumberColumn(format="%.2f")
    columns = {str(name): format_ for name in shown if name not in ("Entry", "Wins")}
    numbers.dataframe(
        shown, hide_index=True, height="content", column_config=columns,
        alt="Mean ranks by entry",
    )  # fmt: skip
    numbers.caption(
        "Mean ranks over the chosen cells, and over those of each activation and depth; lower is better."
    )


def why(chosen: Choice) -> None:
    """What each thing adds, over the cells that are chosen."""
    st.header("What adds what")
    found = effects(_chosen(chosen))
    lines = [
        {"Added": same[0].added, "Compared": report.pair(same[0])}
        | {
            ("All of them" if part == "all" else part): f"{each.gain:+.1%} ({each.better} of {each.cells})"
            for part, each in zip(found, same, strict=True)
        }
        for same in zip(*found.values(), strict=True)
    ]
    st.dataframe(pd.DataFrame(lines), hide_index=True, height="content", alt="What each thing adds")
    st.caption(
        "The median over the chosen cells of the relative gain in error (RMSE, or 1 − AUC), and in how many cells "
        "there is a gain."
    )


def cells(chosen: Choice) -> None:
    """The test metric in every cell; a click opens its experiment on the page Compare."""
    st.header("Every cell")
    st.caption(
        "Test metric, mean over the repeats, the best marked; the entries that rank best come first. Click one to open "
        "its experiment, the first of the repeats, on the page Compare, beside SteinGLM and the baselines."
    )
    if word := report.exploded(_chosen(chosen)):
        st.caption(word)
    ordered = report.by_rank(_chosen(chosen))
    pinned = {name: st.column_config.Column(pinned=True) for name in ("Data set", "Depth", "Activation")}
    for task, group in study.DATASETS.items():
        table = ordered[ordered.index.get_level_values("dataset").isin(group)]
        if table.empty:
            continue
        st.subheader(TASKS[task], help=f"Test {MEASURES[task]}")
        wide = table.rename(columns=lambda name: study.ENTRIES[name].title).reset_index()
        wide["dataset"] = wide["dataset"].map(title)
        wide = wide.rename(columns={"dataset": "Data set", "depth": "Depth", "activation": "Activation"})
        own = wide.iloc[:, len(ranks.CELL) :]
        best = own.eq(own.min(axis=1) if task == "regression" else own.max(axis=1), axis=0)
        marks = best.replace({True: BEST, False: ""}).reindex(columns=wide.columns, fill_value="")
        shown: Any = report.metric
        event: Any = st.dataframe(
            wide.style.apply(lambda _, marks=marks: marks, axis=None).format(shown, subset=list(own)),
            key=f"league_{task}", on_select="rerun", selection_mode="single-cell", hide_index=True, height="content",
            column_config=pinned,
        )  # fmt: skip
        for row, column in event.selection.cells:
            _open(table, row, column)


def _open(table: pd.DataFrame, row: int, column: str) -> None:
    """Go to the page Compare with the experiment of a cell's entry."""
    named = {own.title: name for name, own in study.ENTRIES.items()}
    dataset, depth, activation = table.index[row]
    experiment = study.opened(named.get(column, study.DEFAULT), dataset, int(depth), activation)
    controls.go_to_compare(experiment, View())


def _chosen(chosen: Choice) -> pd.DataFrame:
    table = _cells()
    dataset, depth, activation = (table.index.get_level_values(name) for name in ranks.CELL)
    return table[dataset.isin(chosen.names) & depth.isin(chosen.depths) & activation.isin(chosen.activations)]


@cache
def _cells() -> pd.DataFrame:
    return ranks.cells(report.kept()[0])


@cache
def _verdict() -> Verdict:
    return verdict(report.kept()[0])

"""Pinned runs: finished runs that stay on the charts, thin, behind the present one, and side by side in a table."""

from collections.abc import Mapping

import pandas as pd
import streamlit as st

from steinglm.dashboard.measure import rows_of, title
from steinglm.dashboard.panels import Pinned
from steinglm.dashboard.table import draw, tidy
from steinglm.engine import Engine, Run
from steinglm.experiment import Experiment

__all__ = ["button", "pinned", "table"]

MOST = 4


def pinned(engine: Engine, quantity: str) -> Pinned:
    """This session's pinned runs that the engine still has, by label, with the rows that hold `quantity`."""
    runs = [run for key in _keys() if (run := engine.find(key)) is not None and run.state == "finished"]
    found = [(run.experiment, run) for run in runs if isinstance(run.experiment, Experiment)]
    labels = _labels([experiment for experiment, _ in found])
    return {
        label: (rows_of(experiment, quantity), run.result())
        for label, (experiment, run) in zip(labels, found, strict=True)
    }


def button(run: Run | None) -> None:
    """Pin the present run, or take it off."""
    key, keys = run.key if run is not None and run.state == "finished" else "", _keys()
    if key in keys:
        st.button("Unpin", icon=":material/keep_off:", on_click=keys.remove, args=(key,))
        return
    full = len(keys) >= MOST
    hint = (
        f"{MOST} runs are pinned; unpin one first"
        if full
        else "Keep this run's curves behind those of the next"
    )
    st.button(
        "Pin", icon=":material/keep:", on_click=keys.append, args=(key,), disabled=full or not key, help=hint
    )


def table(pins: Pinned) -> None:
    """The pinned runs side by side."""
    st.subheader("Pinned runs")
    parts = [tidy(result).assign(Run=label) for label, (_, result) in pins.items()]
    together = pd.concat(parts, ignore_index=True)
    draw(together[["Run", *together.columns.drop("Run")]], "Pinned runs by method")
    st.button("Unpin all", on_click=_keys().clear)


def _keys() -> list[str]:
    keys: list[str] = st.session_state.setdefault("pins", [])
    return keys


def _labels(experiments: list[Experiment]) -> list[str]:
    """What tells the runs apart: data set, depth and seed, and what else is not as it comes."""
    settings: list[Mapping[str, object]] = [experiment.as_dict() for experiment in experiments]
    plain = Experiment().as_dict()
    labels = [
        ", ".join(
            [
                title(str(own["dataset"])),
                f"depth {own['depth']}",
                f"seed {own['seed']}",
                *(
                    f"{name} {value}"
                    for name, value in own.items()
                    if name not in ("dataset", "depth", "seed") and value != plain[name]
                ),
            ]
        )
        for own in settings
    ]
    return [label if label not in labels[:i] else f"{label} ({i + 1})" for i, label in enumerate(labels)]

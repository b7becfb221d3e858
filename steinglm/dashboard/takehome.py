"""What a person takes home: the link, the code, the rows, the weights, a report. Made only when asked for."""

from collections.abc import Callable
from functools import partial

import pandas as pd
import streamlit as st

from steinglm import link
from steinglm.dashboard import owntable, panels, table, words
from steinglm.dashboard.measure import every_row, measured, rows_of, title
from steinglm.dashboard.report import report
from steinglm.engine import Run
from steinglm.experiment import Experiment, Result
from steinglm.export import Source, as_csv, as_parquet, code, weights
from steinglm.link import View

__all__ = ["show"]


def show(experiment: Experiment, view: View, run: Run | None) -> None:
    """Three buttons: Link, Code, Save."""
    source = owntable.source(experiment.dataset)
    with st.popover("Link", icon=":material/link:"):
        st.caption(
            "Opens this page with these settings; with the seed, the same run."
            if source is None
            else "Opens this page with these settings on Abalone: a link never holds your table."
        )
        st.code(link.address(str(st.context.url or ""), experiment, view), language=None, wrap_lines=True)
    with st.popover("Code", icon=":material/code:"):
        st.caption(
            "Reproduces this run with the library."
            + (" Save it beside your file." if source else "")
            + " Outside its folder, `pip install -e .` there comes first."
        )
        some, rows = measured(experiment)
        st.code(code(experiment, source, some if some < rows else None), language="python")
    with st.popover("Save", icon=":material/download:"):
        _downloads(experiment, view, run, source)


def _downloads(experiment: Experiment, view: View, run: Run | None, source: Source | None) -> None:
    kind = title(experiment.dataset).replace(" ", "_").lower()
    name = f"steinglm-{kind}-{experiment.key}"
    result = run.result() if run is not None and run.state == "finished" else None
    layers = partial(every_row, experiment)
    _download("Layers, CSV", lambda: as_csv(layers()), f"{name}-layers.csv")
    _download("Layers, Parquet", lambda: as_parquet(layers()), f"{name}-layers.parquet")
    if run is not None and run.epoch >= 0:
        _download("Losses, CSV", lambda: as_csv(_losses(run)), f"{name}-losses.csv")
        _download("Losses, Parquet", lambda: as_parquet(_losses(run)), f"{name}-losses.parquet")
    if result is not None:
        _download("Along training, CSV", lambda: as_csv(result.travel), f"{name}-along.csv")
        _download("Along training, Parquet", lambda: as_parquet(result.travel), f"{name}-along.parquet")
        _download("Weights, safetensors", partial(weights, result), f"{name}.safetensors")
    _download("Report, HTML", partial(_report, experiment, view, result, source), f"{name}.html")
    st.caption("Each chart saves itself as SVG or PNG." if result is not None else "Weights: after training.")


def _download(label: str, make: Callable[[], bytes], name: str) -> None:
    """A file that is made when it is asked for. The script does not run again: that would take the file away."""
    st.download_button(label, make, name, on_click="ignore")


def _losses(run: Run) -> pd.DataFrame:
    """As far as the run has come, also if it was stopped."""
    return pd.DataFrame(run.rows(), columns=["method", "repeat", "epoch", "quantity", "value"])


def _report(experiment: Experiment, view: View, result: Result | None, source: Source | None) -> bytes:
    """Made when it is asked for, outside of the session: what is the session's comes as an argument."""
    rows = rows_of(experiment, view.variance)
    headline = words.headline(rows, experiment, title(experiment.dataset), view.variance)
    results = pd.DataFrame() if result is None else table.tidy(result)
    heading = f"{title(experiment.dataset)}, depth {experiment.depth}, {experiment.activation}"
    return report(
        experiment,
        heading,
        headline,
        panels.figures(rows, view, result),
        results,
        owntable.source(experiment.dataset),
    )

"""The table at the end of a run: one row a method."""

import pandas as pd
import streamlit as st

from steinglm.dashboard.explain import TOPICS
from steinglm.dashboard.measure import task
from steinglm.experiment import TITLES, Result, metric_name, summarize
from steinglm.init import STEIN_OUTPUT

__all__ = ["draw", "show", "tidy"]

REACHED = (
    "The first epoch at which the training loss is down to the final training loss of the best baseline."
)


def tidy(result: Result) -> pd.DataFrame:
    """The summary as a person reads it: titles, the metric's name, sd only where there are repeats."""
    numbers = summarize(result.summary)
    kind = task(result.experiment.dataset)
    metric = f"Test {metric_name(kind)}"
    columns = {
        "Method": numbers["method"].map(TITLES),
        metric: numbers["test_metric_mean"],
        "sd": numbers["test_metric_sd"],
        "Test accuracy": numbers["test_accuracy_mean"],
        "Best validation loss": numbers["best_validation_loss_mean"],
        "Best epoch": numbers["best_epoch_mean"],
        "Initialize (s)": numbers["initialization_seconds_mean"],
        "Train, all (s)": numbers["training_seconds"],
        "Epochs to best baseline": numbers["epochs_to_best_baseline_mean"],
    }
    alone = all(method in STEIN_OUTPUT for method in numbers["method"])
    left_out = (
        (["Epochs to best baseline"] if alone else [])
        + (["sd"] if result.experiment.repeats == 1 else [])
        + (["Test accuracy"] if kind == "regression" else [])
    )
    return pd.DataFrame(columns).drop(columns=left_out)


def draw(table: pd.DataFrame, alt: str) -> None:
    """A table of results with sensible digits; an epoch that never came says so."""
    formats = {
        "Best validation loss": "%.5f",
        "Best epoch": "%.0f",
        "Initialize (s)": "%.3f",
        "Train, all (s)": "%.1f",
        "Epochs to best baseline": "%.0f",
    }
    numbers = table.select_dtypes("number").columns
    config = {
        name: st.column_config.NumberColumn(
            format=formats.get(name, "%.4f"), help=REACHED if name == "Epochs to best baseline" else None
        )
        for name in numbers
    }
    st.dataframe(table, hide_index=True, column_config=config, placeholder="never", alt=alt)


def show(result: Result) -> None:
    """Draw the table of a run."""
    st.subheader("After training", help=TOPICS["table"].text)
    draw(tidy(result), "Test results by method")

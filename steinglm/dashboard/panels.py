"""The three charts of the comparison side by side: signal, spectrum, learning."""

import pandas as pd
import streamlit as st

from steinglm.dashboard import charts, words
from steinglm.dashboard.explain import TOPICS
from steinglm.dashboard.live import Panel, feed_url, live
from steinglm.engine import Run
from steinglm.experiment import Experiment

__all__ = ["show"]

QUANTITIES = {
    "preactivation_variance": "Pre-activations",
    "activation_variance": "Activations",
}
SPECTRA = {"moment_eigenvalue": "Cross-moment", "weight_singular_value": "Weights"}


def show(rows: pd.DataFrame, experiment: Experiment, run: Run | None) -> None:
    """Draw the charts and, below them, what to choose about them."""
    slot = st.container()
    with st.container(horizontal=True, gap="large", vertical_alignment="bottom"):
        quantity = st.segmented_control(
            "Variance of",
            tuple(QUANTITIES),
            format_func=QUANTITIES.get,
            default="preactivation_variance",
            required=True,
        )
        spectrum = st.segmented_control(
            "Spectrum of", tuple(SPECTRA), format_func=SPECTRA.get, default="moment_eigenvalue", required=True
        )
        layer = st.slider("Layer of the spectrum", 1, experiment.depth + 1, 1, width=320)
    with slot:
        events = live(
            [
                _signal(rows, str(quantity)),
                _spectrum(rows, layer, str(spectrum)),
                _learning(experiment, run),
            ],
            key="comparison",
        )
    if events.about:
        _explain(events.about)
    if events.state:
        st.rerun()


def _signal(rows: pd.DataFrame, quantity: str) -> Panel:
    sentence = words.signal(rows, quantity)
    return Panel(
        "signal",
        charts.variance(rows, quantity=quantity),
        f"Variance by layer. {sentence}",
        sentence,
        about=True,
    )


def _spectrum(rows: pd.DataFrame, layer: int, quantity: str) -> Panel:
    sentence = words.spectrum(rows, layer)
    figure = charts.spectrum(rows, layer=layer, quantity=quantity)
    return Panel("spectrum", figure, f"Spectrum of a layer by rank. {sentence}", sentence, about=True)


def _learning(experiment: Experiment, run: Run | None) -> Panel:
    if run is None:
        history = pd.DataFrame(columns=["method", "repeat", "epoch", "quantity", "value"])
        figure = charts.learning(history, methods=experiment.methods)
        return Panel(
            "learning",
            figure,
            "Losses by epoch; not trained yet.",
            placeholder="Train to see the losses",
            about=True,
        )
    if run.state == "finished":
        history = run.result().history
        sentence = words.learning(history)
        return Panel(
            "learning", charts.learning(history), f"Losses by epoch. {sentence}", sentence, about=True
        )
    none = pd.DataFrame(columns=["method", "repeat", "epoch", "quantity", "value"])
    figure = charts.learning(none, methods=experiment.methods)
    return Panel(
        "learning", figure, "Losses by epoch, growing.", feed=feed_url(run.key, run.name), about=True
    )


@st.dialog("What this chart shows")
def _explain(name: str) -> None:
    topic = TOPICS.get(name)
    if topic is not None:
        st.subheader(topic.title)
        st.markdown(topic.text)

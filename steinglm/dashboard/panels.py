"""The three charts of the comparison side by side: signal, spectrum, learning; and the choices about them."""

from collections.abc import Mapping

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from steinglm.dashboard import charts, words
from steinglm.dashboard.explain import TOPICS
from steinglm.dashboard.link import SPECTRA, VARIANCES, View
from steinglm.dashboard.live import Panel, feed_url, live
from steinglm.dashboard.measure import measured
from steinglm.engine import Run
from steinglm.experiment import Experiment, Result

__all__ = ["figures", "show"]

VARIANCE_TITLES = {"preactivation_variance": "Pre-activations", "activation_variance": "Activations"}
SPECTRUM_TITLES = {"moment_eigenvalue": "Cross-moment", "weight_singular_value": "Weights"}
NO_HISTORY = pd.DataFrame(columns=["method", "repeat", "epoch", "quantity", "value"])
Pinned = Mapping[str, tuple[pd.DataFrame, Result]]  # label -> initial rows and result


def show(rows: pd.DataFrame, experiment: Experiment, run: Run | None, view: View, pinned: Pinned) -> None:
    """Draw the charts and, below them, what to choose about them."""
    learning = _learning(experiment, run, {label: result.history for label, (_, result) in pinned.items()})
    events = live(
        [*_layers(rows, view, {label: layers for label, (layers, _) in pinned.items()}), learning],
        key="comparison",
        presentation=view.presentation,
    )
    _choices(experiment)
    if events.about in TOPICS:
        _explain(events.about)
    if events.state:
        st.rerun()


def _choices(experiment: Experiment) -> None:
    signal, spectrum = TOPICS["signal"].text, TOPICS["spectrum"].text
    with st.container(horizontal=True, gap="large", vertical_alignment="bottom"):
        title = VARIANCE_TITLES.__getitem__
        st.segmented_control(
            "Variance of", VARIANCES, key="variance", format_func=title, required=True, help=signal
        )
        title = SPECTRUM_TITLES.__getitem__
        st.segmented_control(
            "Spectrum of", SPECTRA, key="spectrum", format_func=title, required=True, help=spectrum
        )
        st.slider("Layer of the spectrum", 1, experiment.depth + 1, key="layer", width=320, help=spectrum)
    if note := measured(experiment):
        st.caption(note)


def figures(rows: pd.DataFrame, view: View, result: Result | None) -> list[tuple[go.Figure, str]]:
    """The charts and the sentences below them, for a page outside the dashboard."""
    panels = _layers(rows, view, {})
    drawn = [(panel.figure, panel.sentence) for panel in panels]
    if result is not None:
        drawn.append((charts.learning(result.history), words.learning(result.history)))
    return drawn


def _layers(rows: pd.DataFrame, view: View, behind: Mapping[str, pd.DataFrame]) -> list[Panel]:
    signal = words.signal(rows, view.variance)
    spectrum = words.spectrum(rows, view.layer, view.spectrum)
    first = charts.variance(rows, quantity=view.variance, behind=behind)
    second = charts.spectrum(rows, layer=view.layer, quantity=view.spectrum, behind=behind)
    return [
        Panel("signal", first, f"Variance by layer. {signal}", signal, about=True),
        Panel("spectrum", second, f"Spectrum of a layer by rank. {spectrum}", spectrum, about=True),
    ]


def _learning(experiment: Experiment, run: Run | None, behind: Mapping[str, pd.DataFrame]) -> Panel:
    zoom = {"uirevision": experiment.key}  # kept while a run grows, not carried over to another one
    if run is not None and run.state == "finished":
        history = run.result().history
        sentence = words.learning(history)
        figure = charts.learning(history, behind=behind).update_layout(zoom)
        return Panel("learning", figure, f"Losses by epoch. {sentence}", sentence, about=True)
    figure = charts.learning(NO_HISTORY, methods=experiment.methods, behind=behind).update_layout(zoom)
    if run is None:
        hint = "Train to see the losses"
        return Panel("learning", figure, "Losses by epoch; not trained yet.", placeholder=hint, about=True)
    return Panel(
        "learning", figure, "Losses by epoch, growing.", feed=feed_url(run.key, run.name), about=True
    )


@st.dialog("What this chart shows")
def _explain(name: str) -> None:
    topic = TOPICS[name]
    st.subheader(topic.title)
    st.markdown(topic.text)

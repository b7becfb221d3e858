"""The three charts of the comparison side by side: signal, spectrum, learning; and the choices about them."""

from collections.abc import Mapping, Sequence

import pandas as pd
import streamlit as st

from steinglm.analysis import PREDICTED
from steinglm.dashboard import charts, controls, sketch, words
from steinglm.dashboard.explain import TOPICS
from steinglm.dashboard.live import Look, Panel, feed_url, live
from steinglm.dashboard.measure import directions, measured, predicted
from steinglm.engine import Run
from steinglm.experiment import Experiment, Result
from steinglm.kinds import AnyExperiment
from steinglm.link import RECOVERY, SATURATED, SIGNALS, SPECTRA, View
from steinglm.signals import QUANTITIES

__all__ = ["explain", "figures", "layers", "learning", "show", "topic"]

VARIANCE_TITLES = {
    "preactivation_variance": "Pre-activations",
    "activation_variance": "Activations",
    "preactivation_length": "Lengths",
    "gradient_variance": "Gradients",
    "gradient_norm": "Weight gradients",
    "probe": "Linear probe",
    "effective_rank": "Effective rank",
    "input_correlation": "Input correlation",
    "saturated_share": "Flat or dead units",
    RECOVERY: "True directions",
}
SPECTRUM_TITLES = {"moment_eigenvalue": "Cross-moment", "weight_singular_value": "Weights"}
NO_HISTORY = pd.DataFrame(columns=["method", "repeat", "epoch", "quantity", "value"])
Pinned = Mapping[str, tuple[pd.DataFrame, Result]]  # label -> initial rows and result


def show(rows: pd.DataFrame, experiment: Experiment, run: Run | None, view: View, pinned: Pinned) -> None:
    """Draw the charts and, below them, what to choose about them."""
    pinned = {label: own for label, own in pinned.items() if own[1].experiment != experiment}
    behind = {label: own for label, (own, _) in pinned.items()}
    lines = predicted(experiment, view.variance) if view.theory else None
    own = layers(rows, view, behind, theory=lines)
    _sketch(own[0], view)
    losses = learning(experiment, run, view, {label: own.history for label, (_, own) in pinned.items()})
    events = live(
        [*own, losses],
        key="comparison",
        presentation=view.presentation,
        look=Look(view.hidden, view.scales),
        on_look=_looked,
        on_moved=controls.moved,
    )
    _choices(experiment, view)
    if events.about in TOPICS:
        explain(topic(events.about, view))
    if events.state:
        st.rerun()


def _sketch(panel: Panel, view: View) -> None:
    """A first picture for the time until the browser has plotly.js; the live charts hide it, and later runs drop it."""
    place = st.empty()
    if not st.session_state.get("sketched"):
        st.session_state["sketched"] = True
        shown = [trace for trace in panel.figure["data"] if trace["legendgroup"] not in view.hidden]
        place.markdown(sketch.markdown(panel.figure | {"data": shown}, panel.alt))


def _looked(look: Look) -> None:
    st.session_state["hidden"], st.session_state["scales"] = look.hidden, look.scales


def _seen(rows: pd.DataFrame, view: View) -> pd.DataFrame:
    """The rows that a sentence is about: of the methods that are shown."""
    shown = rows[~rows["method"].isin(view.hidden)]
    return shown if len(shown) else rows


def _choices(experiment: Experiment, view: View) -> None:
    signal, spectrum = f"{TOPICS['signal'].text}\n\n{TOPICS['travel'].text}", TOPICS["spectrum"].text
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        title = VARIANCE_TITLES.__getitem__
        known = directions(experiment.dataset)
        offered = [each for each in SIGNALS if known or each != RECOVERY]
        st.selectbox("Signal of", offered, key="variance", format_func=title, help=signal, width=190)
        silent = view.variance not in PREDICTED
        st.toggle("Theory", key="theory", help=TOPICS["theory"].text, disabled=silent)
        title = SPECTRUM_TITLES.__getitem__
        st.segmented_control(
            "Spectrum of", SPECTRA, key="spectrum", format_func=title, required=True, help=spectrum
        )
        st.slider("Layer of the spectrum", 1, experiment.depth + 1, key="layer", width=250, help=spectrum)
    some, rows = measured(experiment)
    if some < rows:
        st.caption(f"Layers are measured on {some:,} of the {rows:,} training rows; weights are made of all.")


def figures(rows: pd.DataFrame, view: View, result: Result | None) -> list[tuple[charts.Figure, str]]:
    """The charts and the sentences below them, for a page outside the dashboard."""
    panels = layers(rows, view, {})
    drawn = [(panel.figure, panel.sentence) for panel in panels]
    if result is not None:
        drawn.append((charts.learning(result.history), words.learning(result.history)))
    return drawn


def layers(
    rows: pd.DataFrame,
    view: View,
    behind: Mapping[str, pd.DataFrame],
    names: Sequence[str] = (),
    theory: pd.DataFrame | None = None,
) -> list[Panel]:
    """The signal, with thin lines of theory, and a layer's spectrum; `names` are the layers', where they have any."""
    seen = _seen(rows, view)
    signal = words.signal(seen, view.variance, names)
    spectrum = words.spectrum(seen, view.layer, view.spectrum, names)
    thin = behind if theory is None else {"theory": theory, **behind}
    first = charts.variance(rows, quantity=view.variance, behind=thin, names=names)
    second = charts.spectrum(rows, layer=view.layer, quantity=view.spectrum, behind=behind, names=names)
    return [
        Panel("signal", first, f"Variance by layer. {signal}", signal, about=True),
        Panel("spectrum", second, f"Spectrum of a layer by rank. {spectrum}", spectrum, about=True),
    ]


def learning(
    experiment: AnyExperiment, run: Run | None, view: View, behind: Mapping[str, pd.DataFrame]
) -> Panel:
    """The losses of a run, finished or growing, or an empty chart."""
    zoom = experiment.key  # kept while a run grows, not carried over to another one
    if run is not None and run.state == "finished":
        history = run.result().history
        sentence = words.learning(_seen(history, view))
        figure = charts.learning(history, behind=behind)
        figure["layout"]["uirevision"] = zoom
        return Panel("learning", figure, f"Losses by epoch. {sentence}", sentence, about=True)
    figure = charts.learning(NO_HISTORY, methods=experiment.methods, behind=behind)
    figure["layout"]["uirevision"] = zoom
    if run is None:
        hint = "Train to see the losses"
        return Panel("learning", figure, "Losses by epoch; not trained yet.", placeholder=hint, about=True)
    return Panel(
        "learning", figure, "Losses by epoch, growing.", feed=feed_url(run.key, run.name), about=True
    )


def topic(chart: str, view: View) -> str:
    """What a chart's "?" explains."""
    return "travel" if chart == "signal" and view.variance in (*QUANTITIES, SATURATED) else chart


@st.dialog("What this chart shows")
def explain(name: str) -> None:
    """A topic in a dialog."""
    topic = TOPICS[name]
    st.subheader(topic.title)
    st.markdown(topic.text)

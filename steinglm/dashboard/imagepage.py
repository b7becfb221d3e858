"""The parts of the page "Images": its sentence, charts, filters, table and the digits that networks get wrong."""

from collections.abc import Hashable, Mapping
from typing import Any, Literal

import numpy as np
import pandas as pd
import streamlit as st

from steinglm import images
from steinglm.dashboard import imagemeasure, imagewords, panels, pictures
from steinglm.dashboard.explain import TOPICS
from steinglm.dashboard.live import Look, live
from steinglm.dashboard.table import draw
from steinglm.engine import Run
from steinglm.experiment import TITLES
from steinglm.images import ImageExperiment
from steinglm.images.start import LAYERS, own_parts
from steinglm.link import SPECTRA, VARIANCES, View
from steinglm.results import Result, summarize

__all__ = ["charts", "errors", "filters", "headline", "samples", "table", "tidy"]

MOST = 12  # images that a network gets wrong
SAMPLES = 14  # images of each digit
IN_LINK: Literal["query-params"] = "query-params"


def headline(experiment: ImageExperiment) -> pd.DataFrame:
    """Initialize the networks, say in a sentence what that does, and return the rows."""
    with st.spinner(imagewords.busy(experiment)):
        rows, _ = imagemeasure.start(experiment)
    st.markdown(imagewords.headline(rows, experiment))
    return rows


def samples(experiment: ImageExperiment) -> None:
    """The first images of each of the two digits that the networks learn from."""
    own = own_parts(experiment, 0)
    rows = [own.X_train[own.y_train == label][:SAMPLES, 0].numpy() for label in (0, 1)]
    st.html(pictures.sheet(rows, "The first images of a {} and of a {}".format(*experiment.pair)))


def charts(rows: pd.DataFrame, experiment: ImageExperiment, run: Run | None) -> None:
    """Signal, spectrum and learning side by side, and what to choose about them."""
    place, view = st.container(), _view()
    with place:
        own = panels.layers(rows, view, {}, LAYERS)
        learning = panels.learning(experiment, run, view, {})
        events = live([*own, learning], key="images", look=Look(view.hidden, view.scales), on_look=_looked)
    if events.about in TOPICS:
        panels.explain(events.about)
    if events.state:
        st.rerun()


def filters(experiment: ImageExperiment, result: Result | None) -> None:
    """The first layer's filters of each method, before training and after it."""
    _, before = imagemeasure.start(experiment)
    after = {} if result is None else {m: images.filters(result.state, m) for m in experiment.methods}
    most = max(float(abs(each).max()) for each in (*before.values(), *after.values()))
    st.subheader("Filters of the first layer", help=TOPICS["filters"].text)
    each = []
    for method, start in before.items():
        times = {"before training": start} | ({"after training": after[method]} if method in after else {})
        drawn = [_filters(method, when, weights, most) for when, weights in times.items()]
        each.append(pictures.card(method, "", drawn, "5.5rem", "1.25rem"))
    st.html(pictures.cards(each, pictures.scale(most)))
    st.markdown(imagewords.filters(before, after))


def table(result: Result) -> None:
    """The test results of a run."""
    st.subheader("After training", help=TOPICS["table"].text)
    draw(tidy(result), "Test results by method")


def tidy(result: Result) -> pd.DataFrame:
    """The summary as a person reads it, a row a method; sd only where there are repeats."""
    numbers = summarize(result.summary)
    columns = {
        "Method": numbers["method"].map(TITLES),
        "Test accuracy": numbers["test_accuracy_mean"],
        "sd of accuracy": numbers["test_accuracy_sd"],
        "Test AUC": numbers["test_metric_mean"],
        "sd of AUC": numbers["test_metric_sd"],
        "Best epoch": numbers["best_epoch_mean"],
        "Initialize (s)": numbers["initialization_seconds_mean"],
        "Train, all (s)": numbers["training_seconds"],
    }
    left_out = ["sd of accuracy", "sd of AUC"] if result.experiment.repeats == 1 else []
    return pd.DataFrame(columns).drop(columns=left_out)


def errors(result: Result) -> None:
    """The test images that each method's first network gets wrong."""
    experiment: ImageExperiment = result.experiment
    test = own_parts(experiment, 0).X_test
    wrong = imagemeasure.wrong(experiment.key, result)
    st.subheader("Digits that each network gets wrong", help=TOPICS["errors"].text)
    st.markdown(imagewords.errors(wrong, experiment.methods, len(test)))
    each = []
    for method in experiment.methods:
        own = wrong[wrong["method"] == method]
        shown = [_digit(row, test[row["image"], 0].numpy()) for row in own.head(MOST).to_dict("records")]
        each.append(pictures.card(method, f": {len(own)} wrong", shown, "4rem", ".6rem"))
    st.html(pictures.cards(each))
    repeats = " Filters and digits are of the first of the repeats." if experiment.repeats > 1 else ""
    st.caption(f"At most {MOST} of each network, the surest errors first.{repeats}")


def _filters(method: str, when: str, weights: np.ndarray, most: float) -> str:
    ends = f"weights from {weights.min():.2g} to {weights.max():.2g}"
    alt = f"The {len(weights)} filters of {TITLES[method]} {when}, {ends}"
    return pictures.filters(weights, most, alt, when)


def _digit(row: Mapping[Hashable, Any], pixels: np.ndarray) -> str:
    caption = imagewords.caption(row["digit"], row["taken_for"], row["probability"])
    return pictures.digit(pixels, f"Test image {row['image']}, a {row['digit']}", caption)


def _view() -> View:
    """Draw the choices about the charts and return what they say."""
    signal, spectrum = TOPICS["signal"].text, TOPICS["spectrum"].text
    with st.container(horizontal=True, gap="large", vertical_alignment="bottom"):
        variance = st.segmented_control(
            "Variance of", VARIANCES, key="image_variance", format_func=panels.VARIANCE_TITLES.__getitem__,
            default=VARIANCES[0], required=True, help=signal, bind=IN_LINK,
        )  # fmt: skip
        quantity = st.segmented_control(
            "Spectrum of", SPECTRA, key="image_spectrum", format_func=panels.SPECTRUM_TITLES.__getitem__,
            default=SPECTRA[0], required=True, help=spectrum, bind=IN_LINK,
        )  # fmt: skip
        layer = st.select_slider(
            "Layer of the spectrum", LAYERS, LAYERS[1], key="image_layer", width=320, help=spectrum, bind=IN_LINK
        )  # fmt: skip
    look: Look = st.session_state.get("image_look", Look())
    return View(
        variance or VARIANCES[0],  # a link may leave these empty
        quantity or SPECTRA[0],
        LAYERS.index(layer) + 1,
        hidden=look.hidden,
        scales=look.scales,
    )


def _looked(look: Look) -> None:
    st.session_state["image_look"] = look

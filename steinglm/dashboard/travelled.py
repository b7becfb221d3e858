"""The layers along training: how far the weights have moved and what the gradients are, at an epoch of one's choice."""

import streamlit as st

from steinglm.dashboard import charts, words
from steinglm.dashboard.explain import TOPICS
from steinglm.dashboard.live import Panel, live
from steinglm.experiment import Result
from steinglm.travel import TRAVELLED

__all__ = ["show"]

TITLES = {
    "weight_movement": "Movement",
    "gradient_norm": "Weight gradients",
    "gradient_variance": "Gradients",
}


def show(result: Result) -> None:
    """Draw one chart, and what to choose about it; nothing for a result without such rows."""
    if result.travel.empty:
        return
    st.subheader("Along training", help=TOPICS["along"].text)
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        named = TITLES.__getitem__
        quantity = st.segmented_control(
            "By layer", TRAVELLED, default=TRAVELLED[0], format_func=named, required=True, key="along"
        )
        epochs = sorted(result.travel["epoch"].unique().tolist())[1:]  # the first chart shows the start
        epoch = st.select_slider("After epoch", epochs, value=epochs[-1], width=320)
    rows = result.travel[result.travel["epoch"] == epoch].assign(rank=0)
    figure = charts.variance(rows, quantity=quantity)
    figure["layout"]["uirevision"] = f"{quantity} {result.experiment.key}"
    sentence = words.along(rows, quantity)
    panel = Panel("along", figure, f"{named(quantity)} by layer after epoch {epoch}. {sentence}", sentence)
    live([panel], key="along_training", legend=False)

"""The page of the demonstration: two charts of layers, redrawn on every change, and one run that grows."""

import pandas as pd
import streamlit as st
from demo_rows import METHODS, layers, losses

from steinglm.dashboard import charts
from steinglm.dashboard.live import Panel, feed_url, live

st.set_page_config("Demonstration", layout="wide")
depth = st.sidebar.slider("Depth", 1, 40, 10)
layer = st.sidebar.slider("Layer", 1, 5, 1)
weights = st.sidebar.toggle("Weights")
presentation = st.sidebar.toggle("Presentation")
run, pinned = st.query_params.get("run", ""), "pinned" in st.query_params

st.title("What does the start do to the signal?")
rows, past = layers(depth), pd.DataFrame(losses(0, 120, seed=9))
behind = {"pinned": past.assign(value=2 * past["value"])} if pinned else None
quantity = "weight_singular_value" if weights else "moment_eigenvalue"
events = live(
    [
        Panel(
            "variance",
            charts.variance(rows),
            alt="Variance of the signal by layer.",
            sentence="Glorot normal's signal fades.",
            about=True,
        ),
        Panel(
            "spectrum",
            charts.spectrum(rows, layer=layer, quantity=quantity),
            alt="Eigenvalues by rank.",
            sentence="The first one leads.",
        ),
        Panel(
            "learning",
            charts.learning(past[:0], methods=METHODS, behind=behind),
            alt="Losses by epoch.",
            feed=feed_url(run) if run else "",
            placeholder="Train to see the losses",
        ),
    ],
    key="charts",
    presentation=presentation,
)
st.write(f"depth {depth}; about {events.about or 'nothing'}; state {events.state or 'none'}")

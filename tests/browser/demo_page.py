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
run = st.query_params.get("run", "")

st.title("What does the start do to the signal?")
rows, none = layers(depth), pd.DataFrame(columns=["method", "repeat", "epoch", "quantity", "value"])
pinned = (
    {"pinned run": pd.DataFrame(losses(0, 120, seed=9)).assign(value=lambda rows: 2 * rows["value"])}
    if "pinned" in st.query_params
    else None
)
quantity = "weight_singular_value" if weights else "moment_eigenvalue"
events = live(
    [
        Panel("variance", charts.variance(rows), "Variance of the signal by layer.", "Glorot normal's signal fades.", about=True),
        Panel("spectrum", charts.spectrum(rows, layer=layer, quantity=quantity), "Eigenvalues by rank.", "The first one leads."),
        Panel(
            "learning", charts.learning(none, methods=METHODS, behind=pinned), "Losses by epoch.",
            feed=feed_url(run) if run else "", placeholder="Train to see the losses",
        ),
    ],
    key="charts",
    presentation=presentation,
)  # fmt: skip
st.write(f"depth {depth}; about {events.about or 'nothing'}; state {events.state or 'none'}")

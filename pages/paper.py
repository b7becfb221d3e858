"""The paper's study, run again: what holds, the tables and the figures, each cell a link to its experiment."""

import streamlit as st

from steinglm.dashboard import reproduction
from steinglm.dashboard.guard import guarded

with guarded():
    st.title("What holds of the paper?")
    reproduction.introduction()
    reproduction.verdicts()
    chosen = reproduction.choices()
    reproduction.table(chosen)
    reproduction.trajectories(chosen)
    reproduction.ablation(chosen)
    reproduction.images(chosen)
    reproduction.times()

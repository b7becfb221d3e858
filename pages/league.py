"""The league: which start is the best over many data sets, depths and activations, and what to make of it."""

import streamlit as st

from steinglm.dashboard import leaguepage
from steinglm.dashboard.guard import guarded

with guarded():
    st.title("Which start is the best?")
    leaguepage.introduction()
    chosen = leaguepage.choices()
    leaguepage.standing(chosen)
    leaguepage.why(chosen)
    leaguepage.cells(chosen)

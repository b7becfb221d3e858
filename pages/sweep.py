"""The page "Sweep": one quantity over two settings, a cell an experiment."""

import streamlit as st

from steinglm.dashboard import caps, controls, presentation, sweepcontrols, sweeppage
from steinglm.dashboard.guard import guarded
from steinglm.dashboard.server import engine

with guarded():
    experiment, view = controls.choices(sweepcontrols.query())
    presentation.show(view)
    st.title("How does it depend on two settings?")
    sweep = sweepcontrols.choose(experiment)
    caps.check_sweep(sweep)
    sweeppage.show(engine(), sweep, view)

"""The main page: what each initialization does to the signal, and how the networks then learn."""

import streamlit as st

from steinglm.dashboard import controls, panels, table, toolbar, words
from steinglm.dashboard.guard import guarded
from steinglm.dashboard.measure import initial_rows, title
from steinglm.dashboard.server import engine

with guarded():
    experiment = controls.experiment()
    rows = initial_rows(experiment)
    run = toolbar.current_run(engine(), experiment)

    st.title("What does the start do to the signal?")
    st.markdown(words.headline(rows, experiment, title(experiment.dataset)))
    toolbar.show(engine(), experiment, run)
    panels.show(rows, experiment, run)
    if run is not None and run.state == "finished":
        table.show(run.result())

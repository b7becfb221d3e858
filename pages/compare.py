"""The main page: what each initialization does to the signal, and how the networks then learn."""

import streamlit as st

from steinglm.dashboard import controls, hints, panels, pins, presentation, table, toolbar, travelled, words
from steinglm.dashboard.guard import guarded
from steinglm.dashboard.measure import rows_of, title
from steinglm.dashboard.server import engine

with guarded():
    experiment, view = controls.choices()
    presentation.show(view)
    st.title("What does the initialization do to the signal?")
    with st.spinner(words.waiting(experiment, title(experiment.dataset))):
        rows = rows_of(experiment, view.variance)
    run = toolbar.current_run(engine(), experiment)
    pinned = pins.pinned(engine(), view.variance)

    st.markdown(words.headline(rows, experiment, title(experiment.dataset), view.variance))
    st.caption(words.makers(experiment.methods))
    hints.show(experiment, view)
    toolbar.show(engine(), experiment, view, run)
    panels.show(rows, experiment, run, view, pinned)
    if run is not None and run.state == "finished":
        table.show(run.result())
        travelled.show(run.result())
    if pinned:
        pins.table(pinned)

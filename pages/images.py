"""The page "Images": what each initialization does to a convolutional network on two digits, and how it then learns."""

import streamlit as st

from steinglm.dashboard import imagecontrols, imagepage, presentation, toolbar
from steinglm.dashboard.guard import guarded
from steinglm.dashboard.server import engine
from steinglm.link import View

with guarded():
    presentation.show(View())
    experiment = imagecontrols.choices()
    run = toolbar.current_run(engine(), experiment)

    st.title("What does the initialization do to images?")
    headline = st.container()
    imagepage.samples(experiment)
    toolbar.show_plain(engine(), experiment, run)
    with headline:
        rows = imagepage.headline(experiment)
    imagepage.charts(rows, experiment, run)
    result = run.result() if run is not None and run.state == "finished" else None
    imagepage.filters(experiment, result)
    if result is not None:
        imagepage.table(result)
        imagepage.errors(result)

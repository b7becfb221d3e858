"""The page "Theory": what is to be expected of these weights, beside what is measured."""

import streamlit as st

from steinglm.dashboard import controls, presentation, theorypage
from steinglm.dashboard.guard import guarded

with guarded():
    experiment, view = controls.choices()
    presentation.show(view)
    st.title("What does theory expect?")
    theorypage.show(experiment)
    theorypage.factors()

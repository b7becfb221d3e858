"""The page "Method": the algorithm in formulas, on a small example, beside the lines that compute it."""

import streamlit as st

from steinglm.dashboard import methodpage, presentation
from steinglm.dashboard.guard import guarded
from steinglm.link import View

with guarded():
    presentation.show(View())
    st.title("How SteinGLM initializes a network")
    experiment, layer = methodpage.choices()
    walked = methodpage.steps(experiment)
    own, names = methodpage.layer_of(walked, layer)
    methodpage.score(own, experiment, names)
    methodpage.directions(own, experiment, names)
    methodpage.weights(own, experiment)
    methodpage.bias(own, experiment)
    methodpage.output(walked, experiment)

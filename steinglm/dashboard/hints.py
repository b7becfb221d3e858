"""Three things to try, for somebody who sees the page for the first time."""

import streamlit as st

from steinglm.dashboard import controls
from steinglm.experiment import Experiment
from steinglm.link import View

__all__ = ["show"]


def show(experiment: Experiment, view: View) -> None:
    """One line of three steps, each done by a click; gone when they are done or closed."""
    done = (experiment.depth >= 40, experiment.activation == "sigmoid", experiment.output == "glm")
    if view.presentation or all(done) or st.session_state.get("hints_closed"):
        return
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        st.markdown("**Try**", width="content")
        _step("1 · Forty layers deep: whose signal survives?", done[0], depth=40)
        _step("2 · Sigmoid: watch the baselines vanish", done[1], activation="sigmoid")
        _step("3 · Give every method the GLM output", done[2], output="glm")
        st.button(
            "Close",
            type="tertiary",
            key="close_hints",
            on_click=controls.apply,
            kwargs={"hints_closed": True},
        )


def _step(label: str, done: bool, **settings: object) -> None:
    icon = ":material/check:" if done else None
    st.button(label, type="tertiary", icon=icon, disabled=done, on_click=controls.apply, kwargs=settings)

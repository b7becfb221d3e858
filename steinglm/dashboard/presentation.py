"""The presentation: letters that can be read from the last row of a lecture room."""

import streamlit as st

from steinglm.dashboard.link import View

__all__ = ["show"]

# All of Streamlit's sizes are in rem, so the size of the root's letters scales the page.
LARGER = "<style>html { font-size: 20px !important; }</style>"


def show(view: View) -> None:
    """Enlarge the page if it is being presented."""
    if view.presentation:
        st.html(LARGER)

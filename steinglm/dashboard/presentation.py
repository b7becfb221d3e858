"""The page's own style sheet, and the presentation: letters that can be read from the last row of a lecture room."""

import streamlit as st

from steinglm.link import View

__all__ = ["show", "switch"]

# The charts and the first controls above the fold.
CLOSER = """<style>
.stMainBlockContainer { padding-top: 4.25rem; }
[data-testid="stSidebarHeader"] { height: 2.5rem; margin-bottom: 0; }
</style>"""
# All of Streamlit's sizes are in rem, so the size of the root's letters scales the page.
LARGER = """<style>
html { font-size: 20px !important; }
[data-testid="stSidebar"], [data-testid="stExpandSidebarButton"] { display: none; }
.stMainBlockContainer { padding: 3.5rem 2rem; }
</style>"""


def show(view: View) -> None:
    """Enlarge the page if it is being presented."""
    st.html(LARGER if view.presentation else CLOSER)


def switch() -> None:
    """Turn the presentation on or off."""
    st.toggle("Presentation", key="presentation", help="Larger letters and lines, no side bar")

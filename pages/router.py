"""The pages and their order."""

import streamlit as st

from steinglm.dashboard import controls

st.set_page_config(page_title="steinglm", page_icon="steinglm/dashboard/icon.svg", layout="wide")
page = st.navigation(
    [
        st.Page("compare.py", title="Compare", icon=":material/stacked_line_chart:", default=True),
        st.Page("data.py", title="Your data", icon=":material/upload_file:"),
        st.Page("lessons.py", title="Lessons", icon=":material/school:"),
        st.Page("method.py", title="Method", icon=":material/account_tree:"),
        st.Page("theory.py", title="Theory", icon=":material/function:"),
        st.Page("sweep.py", title="Sweep", icon=":material/grid_on:"),
        st.Page("images.py", title="Images", icon=":material/image_search:"),
        st.Page("paper.py", title="Paper", icon=":material/article:"),
        st.Page("league.py", title="League", icon=":material/leaderboard:"),
        st.Page("glossary.py", title="Glossary", icon=":material/menu_book:"),
    ],
    position="top",
)
controls.entered(page.title)
page.run()

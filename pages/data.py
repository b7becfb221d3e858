"""The page "Your data": a person's own table, looked at, prepared, and taken to the page Compare."""

import streamlit as st

from steinglm.dashboard import datapage, owntable, presentation
from steinglm.dashboard.guard import guarded
from steinglm.link import View

with guarded():
    presentation.show(View())
    st.title("Bring your own table")
    st.caption(
        "It stays in the server's memory while this page is open in your browser. It is not written to disk, and no "
        "link holds it."
    )
    given = datapage.content()
    if given is not None:
        options = datapage.chosen(given[0])
        sheets: tuple[str, ...] = ()
        place = st.container()
        try:
            opened = datapage.open_it(given[0], options)
            sheets = opened.sheets
        finally:
            with place:
                datapage.options(given[0], sheets)
        datapage.show(opened)
        choices = datapage.choose(opened)
        cleaned = datapage.clean_it(opened, choices, given[1])
        datapage.report(cleaned)
        keep = st.checkbox(
            "Keep results of finished runs on the server's disk",
            help="Losses and weights, never the table itself",
        )
        if st.button("Compare the initializations on it", icon=":material/arrow_forward:", type="primary"):
            owntable.use(cleaned, given[1], options, keep)
            st.switch_page("compare.py")

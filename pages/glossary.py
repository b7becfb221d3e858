"""Every chart and control of the other pages, explained; `topic` in the link puts one of them on top."""

import streamlit as st

from steinglm.dashboard.explain import GROUPS, TOPICS

with st.container(width=760):  # lines that can be read
    st.title("Glossary")
    if asked := TOPICS.get(st.query_params.get("topic", "")):
        with st.container(border=True):
            st.markdown(f"#### {asked.title}")
            st.markdown(asked.text)
    for group, names in GROUPS.items():
        links = " · ".join(f"[{TOPICS[name].title}](#{name})" for name in names)
        st.markdown(f"**{group}**: {links}")
    for group, names in GROUPS.items():
        st.header(group, divider=True)
        for name in names:
            st.subheader(TOPICS[name].title, anchor=name)
            st.markdown(TOPICS[name].text)

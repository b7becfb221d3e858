"""Every chart and control of the other pages, explained."""

import streamlit as st

from steinglm.dashboard.explain import GROUPS, TOPICS

st.set_page_config(layout="centered")  # lines that can be read
st.title("Glossary")
for group, names in GROUPS.items():
    links = " · ".join(f"[{TOPICS[name].title}](#{name})" for name in names)
    st.markdown(f"**{group}**: {links}")
for group, names in GROUPS.items():
    st.header(group, divider=True)
    for name in names:
        st.subheader(TOPICS[name].title, anchor=name)
        st.markdown(TOPICS[name].text)

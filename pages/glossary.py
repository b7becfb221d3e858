"""Every chart and control of the other pages, explained."""

import streamlit as st

from steinglm.dashboard.explain import TOPICS

st.title("Glossary")
for topic in TOPICS.values():
    st.subheader(topic.title)
    st.markdown(topic.text)

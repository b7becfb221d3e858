"""The server: starts the engine with it, serves the live charts' files and feed, and names the first script."""

import streamlit as st

from steinglm.dashboard.server import lifespan, middleware, routes

app = st.App("pages/router.py", lifespan=lifespan, routes=routes(), middleware=middleware())

"""The server of the demonstration: `streamlit run demo_live.py`. Its runs grow 25 epochs a second."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import streamlit as st
from demo_rows import losses

from steinglm.dashboard import live

_started: dict[str, float] = {}


def feed(key: str, since: int) -> Mapping[str, Any] | None:
    """A run called `<name>-<epochs>`; its first request starts it."""
    name, _, epochs = key.rpartition("-")
    if not name or not epochs.isdecimal():
        return None
    last = int((time.monotonic() - _started.setdefault(key, time.monotonic())) * 25)
    if name == "done":
        last = int(epochs)
    state = "running" if last < int(epochs) else "done"
    return {
        "run": key,
        "state": state,
        "rows": losses(since + 1, min(last, int(epochs))),
        "sentence": f"Run {key} is {state}.",
    }


app = st.App(Path(__file__).with_name("demo_page.py"), routes=live.routes(feed))

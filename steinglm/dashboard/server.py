"""What lives as long as the server: the engine, started and stopped with it, and the feed of its runs."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pandas as pd
import torch
import streamlit as st
from starlette.routing import BaseRoute

from steinglm.dashboard import live, words
from steinglm.engine import Engine
from steinglm.experiment import Experiment

__all__ = ["engine", "feed", "lifespan", "routes"]

COLUMNS = ("method", "repeat", "epoch", "quantity", "value")
_engine = Engine()


def engine() -> Engine:
    """The engine of this server."""
    return _engine


@asynccontextmanager
async def lifespan(_: st.App) -> AsyncIterator[None]:
    """Run the engine beside the server, and have the first page's experiment trained before anybody asks."""
    torch.set_num_threads(1)  # sessions are threads already, and the workers want the cores
    await asyncio.to_thread(_engine.start)
    await asyncio.to_thread(_engine.submit, Experiment())
    try:
        yield
    finally:
        await asyncio.to_thread(_engine.stop)


def feed(key: str, since: int) -> Mapping[str, Any] | None:
    """The rows of a run after an epoch, for the chart that grows in the browser."""
    run = _engine.find(key)
    if run is None:
        return None
    latest = pd.DataFrame(run.rows(run.epoch - 1), columns=list(COLUMNS))
    sentence = words.learning(latest) if len(latest) else ""
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in run.rows(since)]
    return {"run": run.name, "state": run.state, "rows": rows, "sentence": sentence}


def routes() -> list[BaseRoute]:
    """The routes of the live charts."""
    return live.routes(feed)

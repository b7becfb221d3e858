"""What lives as long as the server: the engine, started and stopped with it, and the feed of its runs."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import lru_cache
from typing import Any

import pandas as pd
import streamlit as st
import torch
from starlette.middleware import Middleware
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from steinglm.dashboard import live, words
from steinglm.engine import Engine
from steinglm.experiment import Experiment

__all__ = ["engine", "feed", "lifespan", "middleware", "routes"]

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
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in run.rows(since)]
    sentence = _sentence(run.name, run.epoch) if run.epoch >= 0 else ""
    return {"run": run.name, "state": run.state, "rows": rows, "sentence": sentence}


@lru_cache(maxsize=64)
def _sentence(name: str, epoch: int) -> str:
    """What a run says up to an epoch, by the best losses as in the table; computed once for all who watch it."""
    run = next((run for run in _engine.runs() if run.name == name), None)
    rows = [row for row in run.rows() if row[2] <= epoch] if run is not None else []
    return words.learning(pd.DataFrame(rows, columns=list(COLUMNS))) if rows else ""


def routes() -> list[BaseRoute]:
    """The routes of the live charts."""
    return live.routes(feed)


class _Headers:
    """Adds headers to every page of HTML."""

    def __init__(self, app: ASGIApp, headers: Mapping[str, str]) -> None:
        self.app = app
        self.headers = [(name.encode(), value.encode()) for name, value in headers.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = dict(message["headers"])
                if given.get(b"content-type", b"").startswith(b"text/html"):
                    message["headers"] = [*message["headers"], *self.headers]
            await send(message)

        await self.app(scope, receive, with_headers if scope["type"] == "http" else send)


def middleware() -> list[Middleware]:
    """What every page of HTML is sent with: the charts' scripts are wanted early."""
    return [Middleware(_Headers, headers={"link": live.preload()})]

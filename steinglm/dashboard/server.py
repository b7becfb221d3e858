"""What lives as long as the server: the engine, started and stopped with it, and the feed of its runs."""

import asyncio
import gc
import hashlib
import re
from base64 import b64encode
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st
import torch
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from steinglm.dashboard import live, words
from steinglm.engine import Engine
from steinglm.experiment import Experiment

__all__ = ["engine", "feed", "lifespan", "middleware", "routes"]

COLLECT_EVERY = 60  # seconds
COLUMNS = ("method", "repeat", "epoch", "quantity", "value")


def _inline_scripts() -> str:
    """The digests of the scripts that stand in Streamlit's own page, by which the policy lets them run."""
    page = (Path(str(files("streamlit"))) / "static" / "index.html").read_text(encoding="utf-8")
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    digests = [b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    return " ".join(f"'sha256-{digest}'" for digest in digests)


# Nothing is loaded from elsewhere, whatever a table or a link says. Streamlit and the charts make styles as they go,
# and Streamlit imports a component's module from a blob.
POLICY = {
    "default-src": "'self'",
    "script-src": f"'self' blob: 'wasm-unsafe-eval' {_inline_scripts()}",
    "style-src": "'self' 'unsafe-inline'",
    "img-src": "'self' data: blob:",
    "font-src": "'self' data:",
    "connect-src": "'self' data: blob:",
    "worker-src": "'self' blob:",
    "object-src": "'none'",
    "base-uri": "'self'",
    "form-action": "'self'",
    "frame-ancestors": "'self'",
}
HEADERS = {
    "content-security-policy": "; ".join(f"{name} {sources}" for name, sources in POLICY.items()),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=()",
}
_engine = Engine()


def engine() -> Engine:
    """The engine of this server."""
    return _engine


async def _collect() -> None:
    """Let go of what ended sessions have left, in the place of Streamlit's collection after every script."""
    while True:
        await asyncio.sleep(COLLECT_EVERY)
        await asyncio.to_thread(gc.collect)


@asynccontextmanager
async def lifespan(_: st.App) -> AsyncIterator[None]:
    """Run the engine beside the server, and have the first page's experiment trained before anybody asks."""
    torch.set_num_threads(1)  # sessions are threads already, and the workers want the cores
    await asyncio.to_thread(_engine.start)
    await asyncio.to_thread(_engine.submit, Experiment())
    gc.freeze()  # what is imported by now is never garbage, and takes long to be looked through
    collecting = asyncio.create_task(_collect())
    try:
        yield
    finally:
        collecting.cancel()
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
    """Answers to known host names only, and what every page of HTML is sent with.

    The names are Streamlit's own option `server.allowedHosts`, which by itself guards its WebSocket alone.
    """
    hosts = list(st.get_option("server.allowedHosts")) or ["*"]
    return [
        Middleware(TrustedHostMiddleware, allowed_hosts=hosts, www_redirect=False),
        Middleware(_Headers, headers={"link": live.preload()} | HEADERS),
    ]

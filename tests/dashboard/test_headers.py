"""What every page is sent with, and who is answered."""

import asyncio
from collections.abc import Callable

import pytest
import streamlit as st
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import Message

from steinglm.dashboard import server

Ask = Callable[[str, str], tuple[int, dict[str, str]]]


def answer(request: Request) -> Response:
    return PlainTextResponse("rows") if request.url.path == "/rows" else HTMLResponse("<p>page</p>")


def asker(monkeypatch: pytest.MonkeyPatch, known: list[str]) -> Ask:
    """Ask for a path of a host; status and headers."""
    monkeypatch.setattr(st, "get_option", lambda name: known if name == "server.allowedHosts" else None)
    app = Starlette(routes=[Route("/", answer), Route("/rows", answer)], middleware=server.middleware())

    def ask(path: str, host: str) -> tuple[int, dict[str, str]]:
        sent: list[Message] = []

        async def receive() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Message) -> None:
            sent.append(message)

        scope = {
            "type": "http", "method": "GET", "path": path, "raw_path": path.encode(), "query_string": b"",
            "headers": [(b"host", host.encode())], "scheme": "http", "server": ("testserver", 80), "root_path": "",
        }  # fmt: skip
        asyncio.run(app(scope, receive, send))
        return sent[0]["status"], {name.decode(): value.decode() for name, value in sent[0]["headers"]}

    return ask


def test_a_page_loads_nothing_from_elsewhere_and_runs_only_known_scripts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ask = asker(monkeypatch, [])
    _, headers = ask("/", "any.example")
    policy = dict(part.split(" ", 1) for part in headers["content-security-policy"].split("; "))
    assert policy["default-src"] == "'self'" and policy["object-src"] == "'none'"
    assert "'unsafe-inline'" not in policy["script-src"] and "'unsafe-eval'" not in policy["script-src"]
    assert "'sha256-" in policy["script-src"]
    assert "http" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff" and headers["referrer-policy"] == "no-referrer"
    assert "content-security-policy" not in ask("/rows", "any.example")[1]


def test_only_known_names_are_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    ask = asker(monkeypatch, ["lecture.example"])
    for path in ("/", "/rows"):
        assert ask(path, "lecture.example:8501")[0] == 200
        assert ask(path, "evil.example")[0] == 400


def test_any_name_will_do_where_none_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    assert asker(monkeypatch, [])("/", "any.example")[0] == 200

"""The feed of the live chart: every epoch once, in small answers; the component's files and what it sends."""

import asyncio
import json
import math
import re
from collections.abc import Mapping
from typing import Any

import pandas as pd
import pytest
from starlette.applications import Starlette
from starlette.routing import Route

from steinglm.dashboard import charts, live
from tests.dashboard.test_charts import METHODS


def rows(first: int, last: int, repeats: int = 1) -> list[dict[str, Any]]:
    return [
        {
            "method": method,
            "repeat": repeat,
            "epoch": epoch,
            "quantity": quantity,
            "value": (repeat + 1) / (epoch + 1),
        }
        for epoch in range(first, last + 1)
        for method in METHODS
        for repeat in range(repeats)
        for quantity in ("training_loss", "validation_loss")
    ]


def answer(first: int, last: int, repeats: int = 1) -> dict[str, Any]:
    return {"run": "r1", "state": "running", "rows": rows(first, last, repeats)}


def read(body: bytes) -> dict[str, Any]:
    decoded: dict[str, Any] = json.loads(body)
    return decoded


def test_page_averages_over_repeats() -> None:
    page = read(live.page(answer(0, 3, repeats=3), -1))
    assert (page["run"], page["state"], page["since"], page["next"], page["more"]) == (
        "r1",
        "running",
        -1,
        3,
        False,
    )
    assert page["epochs"] == [0, 1, 2, 3]
    curve = page["series"]["steinglm training_loss"]
    assert curve["mean"] == pytest.approx([2 / (e + 1) for e in range(4)], rel=1e-4)
    assert curve["low"] == pytest.approx([1 / (e + 1) for e in range(4)], rel=1e-4)
    assert curve["high"] == pytest.approx([3 / (e + 1) for e in range(4)], rel=1e-4)


def test_page_leaves_the_band_out_where_there_is_one_repeat() -> None:
    assert set(read(live.page(answer(0, 3), -1))["series"]["he_normal validation_loss"]) == {"mean"}


def test_page_never_repeats_an_epoch() -> None:
    page = read(live.page(answer(0, 9), 6))
    assert page["epochs"] == [7, 8, 9]
    empty = read(live.page(answer(0, 9), 9))
    assert (empty["epochs"], empty["series"], empty["next"]) == ([], {}, 9)


@pytest.mark.parametrize(("last", "repeats"), [(200, 1), (900, 3), (20_000, 1)])
def test_pages_are_small_and_together_complete(last: int, repeats: int) -> None:
    every, since, epochs, requests = rows(0, last, repeats), -1, [], 0
    while True:
        left = [row for row in every if row["epoch"] > since]
        body = live.page({"run": "r", "state": "done", "rows": left}, since)
        assert len(body) <= live.BYTES
        page = read(body)
        assert page["since"] == since
        assert page["epochs"][0] > since
        epochs += page["epochs"]
        since, requests = page["next"], requests + 1
        if not page["more"]:
            break
    assert epochs == sorted(set(epochs))
    assert epochs[-1] == last
    assert last > charts.POINTS or epochs == list(range(last + 1))
    assert requests < 60


def test_page_thins_a_long_history_and_keeps_its_minimum() -> None:
    every = rows(0, 3000)
    for row in every:
        if row["epoch"] == 2001:
            row["value"] = 1e-9
    table = live._by_epoch(every, -1)
    kept = live._thinned(table)
    assert len(kept) <= charts.POINTS + 2 * len(METHODS) + 1
    assert {0, 2001, 3000} <= set(kept)


def test_page_is_strict_json_whatever_the_losses_are() -> None:
    made = [
        {"method": "m", "repeat": 0, "epoch": epoch, "quantity": "training_loss", "value": value}
        for epoch, value in enumerate([math.nan, math.inf, 0.0, 0.5])
    ]
    page = read(live.page({"run": "r", "state": "running", "rows": made}, -1))
    assert page["series"]["m training_loss"]["mean"] == [None, None, charts.FLOOR, 0.5]


def test_a_method_that_lacks_an_epoch_has_a_gap() -> None:
    made = [row for row in rows(0, 2) if not (row["epoch"] == 1 and row["method"] == "steinglm")]
    page = read(live.page({"run": "r", "state": "running", "rows": made}, -1))
    assert page["series"]["steinglm training_loss"]["mean"][1] is None
    assert page["epochs"] == [0, 1, 2]


def get(routes: list[Any], path: str, query: str = "") -> tuple[int, dict[str, str], bytes]:
    """Ask an ASGI app of these routes, without a server."""
    sent: list[Mapping[str, Any]] = []
    scope = {
        "type": "http", "method": "GET", "path": path, "query_string": query.encode(), "headers": [], "root_path": "",
    }  # fmt: skip

    async def receive() -> dict[str, Any]:
        await asyncio.sleep(60)  # the client neither sends a body nor hangs up
        return {"type": "http.disconnect"}

    async def send(message: Mapping[str, Any]) -> None:
        sent.append(message)

    asyncio.run(Starlette(routes=routes)(scope, receive, send))
    headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], headers, b"".join(message.get("body", b"") for message in sent[1:])


def feed(key: str, since: int) -> Mapping[str, Any] | None:
    return answer(since + 1, 5) if key == "known" else None


def test_route_of_the_rows() -> None:
    routes = live.routes(feed)
    status, headers, body = get(routes, "/runs/known/rows", "since=3")
    assert status == 200
    assert headers["content-type"] == "application/json"
    assert headers["cache-control"] == "no-store"
    assert read(body)["epochs"] == [4, 5]
    assert read(get(routes, "/runs/known/rows")[2])["epochs"] == [0, 1, 2, 3, 4, 5]
    assert get(routes, "/runs/unknown/rows", "since=3")[0] == 204


@pytest.mark.parametrize("since", ["x", "1e3", "--1", "99999999999", "1;2", "%F0"])
def test_route_refuses_what_is_no_epoch(since: str) -> None:
    assert get(live.routes(feed), "/runs/known/rows", f"since={since}")[0] == 400


def test_assets_are_served_and_their_urls_change_with_their_content() -> None:
    paths = {route.path for route in live.routes(feed) if isinstance(route, Route)}
    for url in live._assets().values():
        path, _, version = url.partition("?v=")
        assert path in paths
        assert re.fullmatch("[0-9a-f]{12}", version)
        status, headers, body = get(live.routes(feed), path)
        assert status == 200
        assert "immutable" in headers["cache-control"]
        assert len(body) > 1000


def test_the_page_preloads_the_module_and_not_the_library_that_would_delay_the_first_picture() -> None:
    header = live.preload()
    assert live._assets()["module"] in header
    assert "plotly.min.js" not in header


def test_feed_url() -> None:
    assert live.feed_url("abc") == "/runs/abc/rows"
    assert live.feed_url("abc", "2") == "/runs/abc/rows?run=2"


def test_a_full_set_of_panels_is_small() -> None:
    """40 layers, 4 methods, 200 epochs: what one rerun of the page sends."""
    history = charts.learning(pd.DataFrame(rows(0, 200)))
    panel = live.Panel("learning", history, alt="Losses by epoch.")
    assert len(json.dumps(live._described(panel))) < 50_000

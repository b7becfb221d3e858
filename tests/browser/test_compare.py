"""The main page as a person uses it, in a real browser."""

import asyncio
import re
import threading
import time
from base64 import b64decode
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, suppress
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from tests import sessions

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Response, WebSocketRoute

SMALL = "?v=1&dataset=diabetes&depth=3&epochs=30"
PATIENCE = 120_000  # milliseconds: a busy machine is slow, and no test of speed
SIGNAL, SPECTRUM, LEARNING = "Signal through the layers", "Eigenvalue spectrum", "Learning"


def points(page: "Page", chart: str) -> list[list[float]]:
    """The values that a chart shows, trace by trace."""
    plot = page.get_by_role("region", name=chart).locator(".plot")
    found: list[list[float]] = plot.evaluate("el => el._fullData.map(trace => [...trace.y ?? []])")
    return found


def decoded(values: Any) -> list[float]:
    """An array as plotly.py packs it, or a list."""
    packed = isinstance(values, dict)
    return np.frombuffer(b64decode(values["bdata"]), values["dtype"]).tolist() if packed else values


def opened(page: "Page", url: str) -> "Page":
    page.goto(url)
    page.locator(".plot .xaxislayer-above").nth(2).wait_for(state="attached", timeout=PATIENCE)
    return page


def choose(page: "Page", label: str, option: str) -> None:
    """Choose from a list, opening it again when a script has drawn it anew and so closed it."""
    from playwright.sync_api import Error

    box = page.get_by_role("combobox", name=re.compile(f"^{label}"))
    listed = page.get_by_role("option", name=option, exact=True)

    def chosen() -> bool:
        if box.input_value() != option and not listed.is_visible():
            box.click()
        elif listed.is_visible():
            with suppress(Error):  # it closed meanwhile
                listed.click(timeout=1000)
        return box.input_value() == option and not listed.is_visible()

    wait_until(chosen)


def wait_until(holds: Callable[[], bool], seconds: float = PATIENCE / 1000) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it did not come true"
        time.sleep(0.1)


def test_the_first_page_shows_real_curves_of_abalone(page: "Page", app_url: str) -> None:
    opened(page, app_url)
    page.get_by_text("On Abalone, 10 layers of tanh").wait_for(timeout=PATIENCE)
    variances = [curve for curve in points(page, SIGNAL) if len(curve) == 10]
    assert len(variances) == 8  # theory's thin lines, and what is measured
    for steinglm in (variances[0], variances[4]):
        assert steinglm[0] == pytest.approx(1.0, abs=1e-5)  # standardized inputs, orthonormal weights
    assert points(page, SPECTRUM)


def test_another_data_set_and_another_depth_redraw_the_first_two_charts(page: "Page", app_url: str) -> None:
    opened(page, f"{app_url}/{SMALL}")
    before = points(page, SIGNAL), points(page, SPECTRUM)
    page.get_by_role("slider", name="Depth").press("ArrowRight")
    wait_until(lambda: any(len(curve) == 4 for curve in points(page, SIGNAL)))
    choose(page, "Data", "Power plant")
    page.get_by_text("On Power plant, 4 layers of tanh").wait_for(timeout=PATIENCE)
    wait_until(lambda: points(page, SIGNAL) != before[0] and points(page, SPECTRUM) != before[1])
    assert "dataset=power_plant" in page.url
    assert "depth=4" in page.url


def test_train_grows_the_curves_and_ends_with_a_table(page: "Page", app_url: str) -> None:
    opened(page, f"{app_url}/{SMALL}&seed=1")
    page.get_by_role("button", name=re.compile("^Train")).click()
    page.get_by_role("heading", name="After training").wait_for(timeout=PATIENCE)
    losses = [curve for curve in points(page, LEARNING) if len(curve) == 31]
    assert len(losses) == 8  # training and validation of four methods, epochs 0 to 30
    assert all(min(curve) > 0 for curve in losses)
    page.get_by_text("came to the lowest validation loss").wait_for(timeout=PATIENCE)


def test_it_works_by_keyboard(page: "Page", app_url: str) -> None:
    opened(page, f"{app_url}/?v=1&depth=40&epochs=900&seed=2")
    page.keyboard.press("Control+Enter")
    page.get_by_text(re.compile("^(Running|Queued): epoch")).wait_for(timeout=PATIENCE)
    page.keyboard.press("Escape")
    page.get_by_text(re.compile("^Stopped: epoch")).wait_for(timeout=PATIENCE)


def test_a_hostile_link_is_a_page_with_a_message(page: "Page", app_url: str) -> None:
    opened(page, f"{app_url}/?v=1&dataset=<script>alert(1)</script>&depth=1e9&seed=-1")
    page.get_by_text("depth could not be used").wait_for(timeout=PATIENCE)
    page.get_by_text("On Abalone, 10 layers of tanh").wait_for(timeout=PATIENCE)
    assert "Traceback" not in page.content()


def test_the_explanation_of_a_chart_is_one_click_away(page: "Page", app_url: str) -> None:
    opened(page, f"{app_url}/{SMALL}")
    page.get_by_role("button", name=f"About this chart: {SIGNAL}").click()
    page.get_by_role("dialog").get_by_text("quantile across units").wait_for(timeout=PATIENCE)


@pytest.mark.slow
def test_twenty_sessions_on_one_link_watch_one_run(page: "Page", app_url: str, browser: "Browser") -> None:
    """Two in browsers; the others speak the page's protocol, which spares the time to draw the same eighteen times."""
    query = "v=1&dataset=diabetes&depth=4&epochs=300&seed=20"
    link = f"{app_url}/?{query}"
    runs: set[str] = set()

    def note(response: "Response") -> None:
        if "/rows" in response.url and response.status == 200:
            runs.add(response.json()["run"])

    async def eighteen() -> list[dict[str, Any]]:
        """The learning curves that each of eighteen sessions is sent once the run is over."""
        async with AsyncExitStack() as stack:
            sockets = [await stack.enter_async_context(sessions.connected(app_url)) for _ in range(18)]
            first = await asyncio.gather(*(sessions.run(socket, query) for socket in sockets))
            feeds = {each.charts["panels"][2].get("feed") for each in first} - {None, ""}
            assert len(feeds) <= 1  # the run that grows, one for all
            await asyncio.to_thread(finished.wait, PATIENCE / 1000)
            last = await asyncio.gather(*(sessions.run(socket, query) for socket in sockets))
            assert not [error for each in (*first, *last) for error in each.errors]
            return [each.charts["panels"][2]["figure"] for each in last]

    finished = threading.Event()
    with browser.new_context(viewport={"width": 390, "height": 300}, reduced_motion="reduce") as context:
        other = context.new_page()
        for each in (page, other):
            each.on("response", note)
        opened(page, link)
        page.get_by_role("button", name=re.compile("^Train")).click()
        with ThreadPoolExecutor() as pool:
            others_see = pool.submit(asyncio.run, eighteen())
            other.goto(link, wait_until="commit", timeout=PATIENCE)
            for each in (page, other):
                each.get_by_role("heading", name="After training").wait_for(timeout=PATIENCE)
            finished.set()
            figures = others_see.result(PATIENCE / 1000)
        curves = [curve for curve in points(page, LEARNING) if curve]
        assert [len(curve) for curve in curves] == [301] * 8
        wait_until(lambda: [curve for curve in points(other, LEARNING) if curve] == curves, 60)
    for figure in figures:
        assert [y for trace in figure["data"] if (y := decoded(trace["y"]))] == curves
    assert len(runs) == 1


def test_a_first_picture_comes_before_the_charts_and_goes_with_them(page: "Page", app_url: str) -> None:
    sketch = page.locator('img[src^="data:image/svg+xml"]')
    page.goto(f"{app_url}/{SMALL}", wait_until="commit")
    sketch.wait_for(timeout=PATIENCE)
    assert page.locator(".plot .xaxislayer-above").count() == 0
    assert sketch.evaluate("image => image.decode().then(() => image.naturalWidth)") > 0
    sketch.wait_for(state="hidden", timeout=PATIENCE)
    assert points(page, SIGNAL)


def shown(page: "Page", chart: str) -> list[str]:
    plot = page.get_by_role("region", name=chart).locator(".plot")
    found: list[str] = plot.evaluate(
        "el => el._fullData.filter(t => t.visible === true && t.meta.role === 'line').map(t => t.legendgroup)"
    )
    return found


def test_hidden_methods_and_axes_are_in_the_link_and_come_back_with_it(page: "Page", app_url: str) -> None:
    opened(page, f"{app_url}/{SMALL}")
    for method in ("He normal", "Glorot normal"):
        page.locator(".methods").get_by_role("button", name=method).click()
    page.get_by_role("region", name=SIGNAL).get_by_role("button", name="log axis").click()
    page.wait_for_url("**hidden=glorot_normal%2Che_normal&scales=signal%3Alinear", timeout=PATIENCE)
    assert shown(page, SIGNAL) == ["steinglm", "orthogonal"]
    address = page.url
    page.goto("about:blank")
    opened(page, address)
    wait_until(lambda: shown(page, SIGNAL) == ["steinglm", "orthogonal"])
    plot = page.get_by_role("region", name=SIGNAL).locator(".plot")
    assert plot.evaluate("el => el._fullLayout.yaxis.type") == "linear"
    page.locator(".methods").get_by_role("button", name="He normal").click()
    page.wait_for_url("**hidden=glorot_normal&**", timeout=PATIENCE)
    assert shown(page, SIGNAL) == ["steinglm", "he_normal", "orthogonal"]
    page.go_back()
    wait_until(lambda: shown(page, SIGNAL) == ["steinglm", "orthogonal"])
    page.locator(".methods").get_by_role("button", name="He normal").click()  # the same once more
    page.wait_for_url("**hidden=glorot_normal&**", timeout=PATIENCE)


def test_the_axis_is_that_of_the_signal_shown(page: "Page", app_url: str) -> None:
    opened(page, f"{app_url}/{SMALL}&variance=probe")
    plot = page.get_by_role("region", name="What a layer knows of the response").locator(".plot")
    assert plot.evaluate("el => el._fullLayout.yaxis.range") == [0, 1.02]
    choose(page, "Signal of", "Effective rank")
    plot = page.get_by_role("region", name="Effective rank").locator(".plot")
    plot.wait_for(timeout=PATIENCE)
    inside = (
        "el => Math.max(...el._fullData.flatMap(trace => [...trace.y ?? []])) < el._fullLayout.yaxis.range[1]"
    )
    wait_until(lambda: plot.evaluate(inside))


def test_what_is_clicked_before_the_address_has_changed_is_kept(page: "Page", app_url: str) -> None:
    """A slow line: the second click is sent with the address of before the first."""
    late: list[bytes] = []
    lines: list[WebSocketRoute] = []

    def deliver(line: "WebSocketRoute", data: str | bytes) -> None:
        message = data if isinstance(data, bytes) else data.encode()
        address = ForwardMsg.FromString(message).WhichOneof("type") == "page_info_changed"
        late.append(message) if address else line.send(message)

    def slow(line: "WebSocketRoute") -> None:
        lines.append(line)
        line.connect_to_server().on_message(lambda data: deliver(line, data))

    page.route_web_socket("**/_stcore/stream", slow)
    opened(page, f"{app_url}/{SMALL}")
    for count, method in enumerate(("He normal", "Glorot normal"), start=1):
        page.locator(".methods").get_by_role("button", name=method).click()
        wait_until(lambda count=count: page.evaluate("true") and len(late) == count)
    for message in late:
        lines[0].send(message)
    page.wait_for_url("**hidden=glorot_normal%2Che_normal", timeout=PATIENCE)
    assert shown(page, SIGNAL) == ["steinglm", "orthogonal"]


def test_a_presentation_has_large_charts_no_side_bar_and_a_way_back(page: "Page", app_url: str) -> None:
    opened(page, f"{app_url}/{SMALL}")
    page.get_by_text("Presentation").click()
    page.wait_for_url("**presentation=True**", timeout=PATIENCE)
    page.get_by_test_id("stSidebar").wait_for(state="hidden", timeout=PATIENCE)
    tops = [page.get_by_role("region", name=name).bounding_box() for name in (SIGNAL, SPECTRUM, LEARNING)]
    assert len({box["y"] for box in tops if box}) == 1  # side by side at 1440 px
    page.get_by_test_id("stMainBlockContainer").get_by_text(
        "Presentation"
    ).click()  # the side bar's goes later
    page.get_by_role("slider", name="Depth").wait_for(timeout=PATIENCE)


def test_charts_follow_a_window_that_becomes_narrow(page: "Page", app_url: str) -> None:
    opened(page, f"{app_url}/{SMALL}")
    for width in (1024, 390):
        page.set_viewport_size({"width": width, "height": 800})
        wait_until(lambda width=width: page.evaluate(f"innerWidth === {width}"))
        page.wait_for_timeout(500)
    box = page.get_by_role("region", name=SIGNAL).locator(".plot .main-svg").first.bounding_box()
    assert box is not None
    assert box["x"] + box["width"] <= 390

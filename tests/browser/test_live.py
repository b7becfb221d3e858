"""The live charts in a real browser: updates keep the element, and what the user did to it."""

import re
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page, Response

LIMIT = 50_000
Open = Callable[..., "Page"]


@pytest.fixture
def demo(page: "Page", serve: Callable[[Path], str]) -> Open:
    """Open the demonstration with the given query, and wait for its three charts."""
    url = serve(Path(__file__).with_name("demo_live.py"))

    def open_demo(**query: str) -> "Page":
        page.goto(f"{url}/?" + "&".join(f"{name}={value}" for name, value in query.items()))
        page.locator(".plot .xaxislayer-above").nth(2).wait_for(state="attached", timeout=30_000)
        return page

    return open_demo


def chart(page: "Page", title: str) -> "Locator":
    return page.get_by_role("region", name=title)


def plot(page: "Page", title: str) -> "Locator":
    return chart(page, title).locator(".plot")


def axis(page: "Page", title: str, name: str = "xaxis") -> list[float]:
    values: list[float] = plot(page, title).evaluate(
        "(el, name) => el._fullLayout[name].range.map(Number)", name
    )
    return values


def epochs(page: "Page") -> int:
    """The last epoch that is drawn."""
    last: int = plot(page, "Learning").evaluate(
        "el => Math.max(-1, ...el.data.flatMap(trace => [...trace.x ?? []]))"
    )
    return last


def wait_for_epoch(page: "Page", epoch: int) -> None:
    end = time.monotonic() + 30
    while epochs(page) < epoch:
        assert time.monotonic() < end, f"epoch {epoch} was not drawn, only {epochs(page)}"
        page.wait_for_timeout(100)


def drag(page: "Page", title: str) -> None:
    """Zoom into the middle of a chart with the mouse."""
    box = plot(page, title).locator(".nsewdrag").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 0.3 * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + 0.7 * box["width"], box["y"] + 0.8 * box["height"], steps=5)
    page.mouse.up()


def answers_of_the_feed(page: "Page") -> list["Response"]:
    """A list that fills as the browser is answered."""
    answers: list[Response] = []

    def keep(response: "Response") -> None:
        if "/rows" in response.url:
            answers.append(response)

    page.on("response", keep)
    return answers


def visible(page: "Page", method: str) -> list[bool]:
    """Whether the method's traces are shown, over all charts."""
    own = "(plots, method) => plots.flatMap(el => el.data).filter(t => t.legendgroup === method)"
    shown: list[bool] = page.locator(".plot").evaluate_all(f"{own}.map(t => t.visible)", method)
    return shown


def test_fifty_updates_keep_the_element_the_zoom_and_the_hidden_method(demo: Open, page: "Page") -> None:
    answers, frames = answers_of_the_feed(page), list[int]()
    page.on("websocket", lambda socket: socket.on("framereceived", lambda data: frames.append(len(data))))
    demo(run="fifty-5000")
    wait_for_epoch(page, 10)
    page.evaluate("window.kept = null")
    plot(page, "Learning").evaluate("el => { window.kept = [el, el.querySelector('.main-svg')]; }")
    page.get_by_role("button", name="He normal").click()
    drag(page, "Learning")
    zoomed, first, last = axis(page, "Learning"), len(answers), epochs(page)
    opened = len(frames)
    while len(answers) < first + 50:
        page.wait_for_timeout(100)

    same = "el => el.isConnected && el === window.kept[0] && el.querySelector('.main-svg') === window.kept[1]"
    assert plot(page, "Learning").evaluate(same)
    assert epochs(page) >= last + 50
    assert axis(page, "Learning") == zoomed
    assert zoomed[1] < last + 1
    assert not any(visible(page, "he_normal"))
    assert all(visible(page, "steinglm"))
    bodies = [answer.body() for answer in answers[first:-1]]
    assert max(map(len, bodies)) <= LIMIT
    assert len(frames) == opened, "an update passed through Streamlit"
    spans = [re.search(rb'"since":(-?\d+),"next":(\d+)', body) for body in bodies]
    numbers = [(int(span[1]), int(span[2])) for span in spans if span]
    assert all(before[1] == after[0] for before, after in pairwise(numbers)), "an epoch was sent twice"


def test_controls_redraw_in_place(demo: Open, page: "Page") -> None:
    demo()
    before = axis(page, "Signal through the layers")
    page.locator(".plot").evaluate_all("plots => { window.kept = plots; }")
    slider = page.get_by_role("slider", name="Depth")
    slider.focus()
    for depth in range(11, 16):
        slider.press("ArrowRight")
        page.get_by_text(f"depth {depth};").wait_for()
    page.wait_for_timeout(300)
    assert axis(page, "Signal through the layers")[1] > before[1] + 4
    assert page.locator(".plot").evaluate_all("plots => plots.every((el, i) => el === window.kept[i])")


def test_theme_restyles_without_remount(demo: Open, page: "Page") -> None:
    demo(run="done-60")
    wait_for_epoch(page, 60)
    plots = page.locator(".plot")
    plots.evaluate_all("plots => { window.kept = plots; }")
    drag(page, "Learning")
    zoomed = axis(page, "Learning")
    color = "el => getComputedStyle(el.querySelector('.xtick text')).fill"
    light = plots.first.evaluate(color)
    page.emulate_media(color_scheme="dark")
    page.locator(".live.dark").wait_for(timeout=5000)
    page.wait_for_timeout(300)
    assert plots.first.evaluate(color) != light
    assert plots.evaluate_all("plots => plots.every((el, i) => el === window.kept[i])")
    assert axis(page, "Learning") == zoomed


def test_hover_survives_updates(demo: Open, page: "Page") -> None:
    demo(run="hover-5000")
    wait_for_epoch(page, 30)
    box = plot(page, "Learning").locator(".nsewdrag").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 0.5 * box["height"])
    label = plot(page, "Learning").locator(".hoverlayer .legend")
    label.wait_for(state="attached")
    start = epochs(page)
    for _ in range(20):
        page.wait_for_timeout(70)
        assert label.count() == 1
    assert epochs(page) > start


def test_a_reloaded_page_catches_up(demo: Open, page: "Page") -> None:
    demo(run="reload-5000")
    wait_for_epoch(page, 30)
    reached = epochs(page)
    page.reload()
    page.locator(".plot .xaxislayer-above").nth(2).wait_for(state="attached", timeout=30_000)
    wait_for_epoch(page, reached)
    assert plot(page, "Learning").evaluate("el => el.data.find(t => t.meta.role === 'line').x[0]") == 0


def test_a_long_run_arrives_in_small_pages_and_is_thinned(demo: Open, page: "Page") -> None:
    answers = answers_of_the_feed(page)
    demo(run="done-4000")
    wait_for_epoch(page, 4000)
    assert len(answers) > 1
    assert max(len(answer.body()) for answer in answers) <= LIMIT
    counts = plot(page, "Learning").evaluate(
        "el => el.data.filter(t => t.meta.role === 'line').map(t => t.x.length)"
    )
    assert max(counts) <= 1000
    assert plot(page, "Learning").evaluate(
        "el => el.data.filter(t => t.meta.role === 'line').every(t => t.x[0] === 0)"
    )


def test_the_page_learns_that_the_run_is_done(demo: Open, page: "Page") -> None:
    demo(run="short-40")
    page.get_by_text("state done").wait_for(timeout=15_000)
    assert chart(page, "Learning").get_by_text("epoch 40, done").is_visible()
    assert chart(page, "Learning").get_by_text("Run short-40 is done.").is_visible()


def test_tools_by_keyboard(demo: Open, page: "Page") -> None:
    demo()
    signal = chart(page, "Signal through the layers")
    log = signal.get_by_role("button", name="log axis")
    log.focus()
    page.keyboard.press("Enter")
    kind = "el => el._fullLayout.yaxis.type"
    assert plot(page, "Signal through the layers").evaluate(kind) == "linear"
    assert log.get_attribute("aria-pressed") == "false"
    whole = axis(page, "Signal through the layers")
    signal.get_by_role("button", name="Zoom in").press("Enter")
    inner = axis(page, "Signal through the layers")
    assert inner[1] - inner[0] == pytest.approx((whole[1] - whole[0]) / 2)
    signal.get_by_role("button", name="Show all").press("Enter")
    assert axis(page, "Signal through the layers") == pytest.approx(whole)
    hide = page.get_by_role("button", name="Orthogonal")
    hide.press("Space")
    assert hide.get_attribute("aria-pressed") == "false"
    assert not any(visible(page, "orthogonal"))
    signal.get_by_role("button", name="About this chart").press("Enter")
    page.get_by_text("about variance").wait_for()
    assert not any(visible(page, "orthogonal"))


def test_charts_have_alternative_text_and_no_log_switch_where_values_are_signed(
    demo: Open, page: "Page"
) -> None:
    demo()
    assert (
        plot(page, "Signal through the layers").get_attribute("aria-label")
        == "Variance of the signal by layer."
    )
    assert page.get_by_role("img", name="Eigenvalues by rank.").count() == 1
    assert not chart(page, "Eigenvalue spectrum").get_by_role("button", name="log axis").is_visible()
    assert page.get_by_text("Train to see the losses").is_visible()


@pytest.mark.parametrize("kind", ["SVG", "PNG"])
def test_download(demo: Open, page: "Page", kind: str, tmp_path: Path) -> None:
    demo()
    with page.expect_download() as started:
        chart(page, "Signal through the layers").get_by_role("button", name=f"Download {kind}").click()
    path = tmp_path / started.value.suggested_filename
    started.value.save_as(path)
    assert path.name == f"steinglm-variance.{kind.lower()}"
    start = path.read_bytes()
    assert start.startswith(b"<svg" if kind == "SVG" else b"\x89PNG")
    if kind == "SVG":
        assert b"#0072B2" in start or b"rgb(0, 114, 178)" in start


@pytest.mark.parametrize(("width", "columns"), [(1440, 3), (1024, 1), (390, 1)])
def test_panels_fit(demo: Open, page: "Page", width: int, columns: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    demo()
    page.wait_for_timeout(300)
    boxes = [box for box in (each.bounding_box() for each in page.locator(".panel").all()) if box]
    assert len({round(box["y"]) for box in boxes}) == 4 - columns
    assert all(box["x"] >= 0 and box["x"] + box["width"] <= width for box in boxes)
    drawn = page.locator(".plot").evaluate_all(
        "plots => plots.map(el => [el.clientWidth, el._fullLayout.width])"
    )
    assert all(abs(have - want) <= 1 for want, have in drawn)

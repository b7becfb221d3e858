"""The dashboard as a browser feels it: opening the page, moving a slider, and the updates of a run that trains.

Medians over repetitions on a warm server; a chart counts as drawn when its data is in the element. Needs Chromium.

    python benchmarks/dashboard.py
"""

import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from steinglm import link
from steinglm.settings import Experiment
from tests.browser import serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

OPENINGS, MOVES = 5, 20
LONG = Experiment(depth=40, epochs=10_000, seed=1)
# Seconds from a key press to a chart with another number of layers, timed in the page: asking from outside costs more.
MOVE = """async plot => {
  const layers = () => Math.max(0, ...plot._fullData.map(trace => trace.x?.length ?? 0));
  const before = layers(), pressed = await new Promise(resolve =>
    addEventListener("keydown", () => resolve(performance.now()), { once: true, capture: true }));
  while (layers() === before) await new Promise(requestAnimationFrame);
  return (performance.now() - pressed) / 1000;
}"""


def _drawn(page: "Page") -> None:
    page.locator(".plot .xaxislayer-above").first.wait_for(state="attached", timeout=120_000)


def opening(browser: "Browser", url: str) -> tuple[float, float]:
    """Seconds from asking for the page to its first picture, and to the live chart that replaces it; nothing cached."""
    with browser.new_context() as context:
        page = context.new_page()
        start = time.perf_counter()
        page.goto(url, wait_until="commit")
        page.locator('img[src^="data:image/svg+xml"]').wait_for()
        picture = time.perf_counter() - start
        _drawn(page)
        return picture, time.perf_counter() - start


def move(page: "Page") -> float:
    """Seconds from pressing an arrow key on the depth slider to a chart with one layer more."""
    plot = page.get_by_role("region", name="Signal through the layers").locator(".plot").element_handle()
    page.get_by_role("slider", name="Depth").focus()
    page.evaluate(f"plot => {{ window.moved = ({MOVE})(plot) }}", plot)
    page.keyboard.press("ArrowRight")
    seconds: float = page.evaluate("window.moved")
    return seconds


def moves(browser: "Browser", url: str, seed: int) -> float:
    """The median of moving the slider on and on, each time to a depth that has to be computed."""
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(link.address(f"{url}/", Experiment(depth=5, seed=seed)))
        _drawn(page)
        page.wait_for_timeout(2000)
        return statistics.median(move(page) for _ in range(MOVES))


def updates(page: "Page", seconds: float = 10.0) -> float:
    """How often in a second the page hears more of a run that trains."""
    heard: list[str] = []
    page.on("response", lambda response: heard.append(response.url) if "/rows" in response.url else None)
    page.wait_for_timeout(seconds * 1000)
    return len(heard) / seconds


def main() -> None:
    """Print one line a quantity."""
    with tempfile.TemporaryDirectory() as folder, serving.launched() as browser:
        url, server = serving.start(serving.ROOT / "app.py", Path(folder) / "log.txt", STEINGLM_STORE=folder)
        try:
            opening(browser, url)  # warms the server up
            times = zip(*(opening(browser, url) for _ in range(OPENINGS)), strict=True)
            picture, chart = (statistics.median(each) for each in times)
            print(f"open the page to its first chart  {picture:.2f} s")
            print(f"the same to the live charts       {chart:.2f} s")
            print(f"move the slider, at rest          {moves(browser, url, 1):.2f} s")
            with browser.new_context() as context:
                page = context.new_page()
                page.goto(link.address(f"{url}/", LONG))
                page.keyboard.press("Control+Enter")
                _drawn(page)
                page.wait_for_timeout(3000)
                print(f"updates of a run that trains      {updates(page):.1f} a second")
                print(f"move the slider, while one trains {moves(browser, url, 2):.2f} s")
        finally:
            serving.stop(server)


if __name__ == "__main__":
    main()

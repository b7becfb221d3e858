"""The dashboard as a browser feels it: opening the page, and moving a slider, at rest and while a run trains.

Medians over repetitions on a warm server; a chart counts as drawn when its new data is in the element. Needs Chromium.

    python benchmarks/dashboard.py
"""

import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from steinglm.dashboard import link
from steinglm.settings import Experiment
from tests.browser import serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

OPENINGS, MOVES = 5, 20
LONG = Experiment(depth=40, epochs=10_000, seed=1)
LAYERS = "el => Math.max(0, ...el._fullData.map(trace => trace.x?.length ?? 0))"


def _drawn(page: "Page") -> None:
    page.locator(".plot .xaxislayer-above").nth(2).wait_for(state="attached", timeout=120_000)


def opening(browser: "Browser", url: str) -> float:
    """Seconds from asking for the page to drawn charts, in a browser that has cached nothing."""
    with browser.new_context() as context:
        page = context.new_page()
        start = time.perf_counter()
        page.goto(url)
        _drawn(page)
        return time.perf_counter() - start


def move(page: "Page") -> float:
    """Seconds from pressing an arrow key on the depth slider to a chart with one layer more."""
    plot = page.get_by_role("region", name="Signal through the layers").locator(".plot")
    before = plot.evaluate(LAYERS)
    start = time.perf_counter()
    page.get_by_role("slider", name="Depth").press("ArrowRight")
    while plot.evaluate(LAYERS) == before:
        time.sleep(0.005)
    return time.perf_counter() - start


def moves(browser: "Browser", url: str) -> float:
    """The median of moving the slider on and on, each time to a depth that has to be computed."""
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(url)
        _drawn(page)
        page.wait_for_timeout(1000)
        return statistics.median(move(page) for _ in range(MOVES))


def main() -> None:
    """Print one line a quantity."""
    with tempfile.TemporaryDirectory() as folder, serving.launched() as browser:
        url, server = serving.start(serving.ROOT / "app.py", Path(folder) / "log.txt", STEINGLM_STORE=folder)
        try:
            opening(browser, url)  # warms the server up
            opened = statistics.median(opening(browser, url) for _ in range(OPENINGS))
            print(f"open the page to drawn charts     {opened:.2f} s")
            print(f"move the slider, at rest          {moves(browser, url):.2f} s")
            with browser.new_context() as context:
                page = context.new_page()
                page.goto(link.address(f"{url}/", LONG))
                page.keyboard.press("Control+Enter")
                _drawn(page)
                page.wait_for_timeout(3000)
                print(f"move the slider, while one trains {moves(browser, url):.2f} s")
        finally:
            serving.stop(server)


if __name__ == "__main__":
    main()

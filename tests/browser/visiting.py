"""How the tests come to the page Images, and click a cell of a table."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page

PATIENCE = 120_000
GO = "url => { history.pushState({}, '', url); dispatchEvent(new PopStateEvent('popstate')); }"


def visit_images(page: "Page", app_url: str, query: str) -> None:
    """Go to the page from Compare, as the browser's history does: a first request of /images has Streamlit look
    for its own files below that address too, and Chromium reports each that is not there as an error.
    """
    page.goto(f"{app_url}/?v=1&dataset=diabetes&depth=3&epochs=30")
    page.get_by_text("On Diabetes, 3 layers of tanh").wait_for(timeout=PATIENCE)
    page.evaluate(GO, f"/images?{query}")
    page.get_by_role("heading", name="Filters of the first layer").wait_for(timeout=PATIENCE)
    page.locator(".plot .xaxislayer-above").nth(2).wait_for(state="attached", timeout=PATIENCE)


def click_cell(page: "Page", key: str, x: int, y: int) -> None:
    """Click into the table of a key, which is drawn on a canvas: when that is done cannot be waited for."""
    page.locator('[data-test-script-state="notRunning"]').wait_for(timeout=PATIENCE)
    page.wait_for_timeout(1000)
    cells = page.locator(f".st-key-{key} .dvn-scroller")
    cells.evaluate("el => el.scrollIntoView({ block: 'center' })")
    cells.hover(position={"x": x, "y": y})
    page.wait_for_timeout(500)  # the canvas learns first where the mouse is
    cells.click(position={"x": x, "y": y}, delay=100)

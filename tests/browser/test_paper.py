"""The page Paper in a browser: filters are in the link, a cell of a table opens its experiment, and Back leads here."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page

PATIENCE = 120_000


def test_filters_are_in_the_link_and_a_cell_opens_its_experiment(page: "Page", app_url: str) -> None:
    page.goto(f"{app_url}/?v=1&dataset=diabetes&depth=3&epochs=30")
    page.get_by_role("link", name="Paper").click(timeout=PATIENCE)
    page.get_by_role("heading", name="Figure 2").wait_for(timeout=PATIENCE)
    page.locator(".plot .xaxislayer-above").nth(3).wait_for(state="attached", timeout=PATIENCE)
    page.locator(".st-key-depths").get_by_text("10", exact=True).click()
    page.wait_for_url("**depths=20**", timeout=PATIENCE)
    page.get_by_role("heading", name="10 layers").wait_for(state="hidden", timeout=PATIENCE)
    page.locator('[data-test-script-state="notRunning"]').wait_for(timeout=PATIENCE)
    page.wait_for_timeout(1000)  # the table is drawn on a canvas, whose end cannot be waited for
    # the first row, SteinGLM's column
    cells = page.locator(".st-key-table_2 .dvn-scroller")
    cells.evaluate("el => el.scrollIntoView({ block: 'center' })")
    cells.hover(position={"x": 450, "y": 52})
    page.wait_for_timeout(500)  # the canvas learns first where the mouse is
    cells.click(position={"x": 450, "y": 52}, delay=100)
    page.wait_for_url("**depth=20&score=identity**", timeout=PATIENCE)
    page.get_by_text("On Abalone, 20 layers of tanh").wait_for(timeout=PATIENCE)
    page.go_back()
    page.get_by_role("heading", name="20 layers").wait_for(timeout=PATIENCE)
    page.locator('[data-test-script-state="notRunning"]').wait_for(timeout=PATIENCE)
    assert "/paper?" in page.url
    assert "depths=20" in page.url

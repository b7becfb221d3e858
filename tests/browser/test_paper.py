"""The page Paper in a browser: filters are in the link, a cell of a table opens its experiment, and Back leads here."""

from typing import TYPE_CHECKING

from tests.browser.visiting import PATIENCE, click_cell

if TYPE_CHECKING:
    from playwright.sync_api import Page


def test_filters_are_in_the_link_and_a_cell_opens_its_experiment(page: "Page", app_url: str) -> None:
    page.goto(f"{app_url}/?v=1&dataset=diabetes&depth=3&epochs=30")
    page.get_by_role("link", name="Paper").click(timeout=PATIENCE)
    page.get_by_role("heading", name="Figure 2").wait_for(timeout=PATIENCE)
    page.locator(".plot .xaxislayer-above").nth(3).wait_for(state="attached", timeout=PATIENCE)
    page.locator(".st-key-depths").get_by_text("10", exact=True).click()
    page.wait_for_url("**depths=20**", timeout=PATIENCE)
    page.get_by_role("heading", name="10 layers").wait_for(state="hidden", timeout=PATIENCE)
    click_cell(page, "table_2", 450, 52)  # the first row, SteinGLM's column
    page.wait_for_url("**depth=20&score=identity**", timeout=PATIENCE)
    page.get_by_text("On Abalone, 20 layers of tanh").wait_for(timeout=PATIENCE)
    page.go_back()
    page.get_by_role("heading", name="20 layers").wait_for(timeout=PATIENCE)
    page.locator('[data-test-script-state="notRunning"]').wait_for(timeout=PATIENCE)
    assert "/paper?" in page.url
    assert "depths=20" in page.url

"""The page League in a browser: filters are in the link, and a cell opens its experiment; Back leads here."""

from typing import TYPE_CHECKING

from tests.browser.visiting import PATIENCE, click_cell

if TYPE_CHECKING:
    from playwright.sync_api import Page


def test_filters_are_in_the_link_and_a_cell_opens_its_experiment(page: "Page", app_url: str) -> None:
    page.goto(f"{app_url}/?v=1&dataset=diabetes&depth=3&epochs=30")
    page.get_by_role("link", name="League").click(timeout=PATIENCE)
    page.get_by_role("heading", name="Every cell").wait_for(timeout=PATIENCE)
    assert page.get_by_text("mean rank over 60 cells").is_visible()
    page.locator(".st-key-league_depths").get_by_text("10", exact=True).click()
    page.wait_for_url("**league_depths=40**", timeout=PATIENCE)
    page.get_by_text("mean rank over 30 cells").wait_for(timeout=PATIENCE)
    click_cell(page, "league_regression", 450, 52)
    page.wait_for_url("**depth=40**score=**", timeout=PATIENCE)
    page.get_by_text("40 layers of tanh").first.wait_for(timeout=PATIENCE)
    page.go_back()
    page.get_by_text("mean rank over 30 cells").wait_for(timeout=PATIENCE)
    assert "/league?" in page.url

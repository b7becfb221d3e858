"""The page Sweep in a browser: cells fill in, axe-core is content, a click opens an experiment, Back finds the grid."""

from typing import TYPE_CHECKING

from tests.browser.test_accessibility import serious_violations
from tests.browser.visiting import GO

if TYPE_CHECKING:
    from playwright.sync_api import Page

PATIENCE = 120_000


def test_cells_fill_in_and_a_click_opens_one(page: "Page", app_url: str) -> None:
    page.goto(f"{app_url}/?v=1&dataset=diabetes&depth=3&epochs=30")
    page.get_by_text("On Diabetes, 3 layers of tanh").wait_for(timeout=PATIENCE)
    page.evaluate(GO, "/sweep?v=1&dataset=diabetes&x=alpha=0.5,1,2&y=depth=1,2,4")
    page.get_by_text("9 cells of SteinGLM, before training").wait_for(timeout=PATIENCE)
    page.get_by_role("button", name="Sweep").last.click()
    page.get_by_role("button", name="Done").wait_for(timeout=PATIENCE)
    page.get_by_text("Lowest is").wait_for(timeout=PATIENCE)
    assert not serious_violations(page)
    plot = page.locator(".plot.opens .nsewdrag")
    box = plot.bounding_box()
    assert box is not None
    plot.click(
        position={"x": box["width"] * 5 / 6, "y": box["height"] / 6}
    )  # the last column of the last row
    page.get_by_text("On Diabetes, 4 layers of tanh").wait_for(timeout=PATIENCE)
    assert page.url.endswith("/?v=1&dataset=diabetes&depth=4&alpha=2.0")
    page.go_back()
    page.get_by_role("button", name="Done").wait_for(timeout=PATIENCE)
    assert page.url.endswith("/sweep?v=1&dataset=diabetes&x=alpha=0.5,1,2&y=depth=1,2,4")

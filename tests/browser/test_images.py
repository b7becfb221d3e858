"""The page Images in a browser: its curves grow in training, and filters and the digits it gets wrong are there."""

import re
from typing import TYPE_CHECKING

from tests.browser.test_accessibility import serious_violations
from tests.browser.test_compare import LEARNING, PATIENCE, points
from tests.browser.visiting import visit_images

if TYPE_CHECKING:
    from playwright.sync_api import Page


def test_train_grows_the_curves_and_shows_wrong_digits(page: "Page", app_url: str) -> None:
    visit_images(page, app_url, "image_methods=Orthogonal&image_epochs=2")
    assert page.get_by_role("img", name="The 9 filters of Orthogonal before training").count() == 1
    page.get_by_role("radio", name="Weights").click()
    page.wait_for_url("**image_spectrum=Weights**", timeout=PATIENCE)
    page.get_by_role("button", name=re.compile("^Train")).click()
    page.get_by_role("heading", name="Digits that each network gets wrong").wait_for(timeout=PATIENCE)
    losses = [curve for curve in points(page, LEARNING) if curve]
    assert [len(curve) for curve in losses] == [3, 3]  # training and validation, epochs 0 to 2
    wrong = page.get_by_role("img", name=re.compile(r"^Test image \d+, a [35]$")).first
    wrong.wait_for(timeout=PATIENCE)
    assert wrong.evaluate("image => image.naturalWidth") == 28
    assert not serious_violations(page)
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size({"width": 390, "height": 900})
    assert not serious_violations(page)
    page.set_viewport_size({"width": 1440, "height": 900})
    page.get_by_role("link", name="Compare").click()
    page.get_by_text("On Diabetes, 3 layers of tanh").wait_for(timeout=PATIENCE)
    assert "image_" not in page.url
    page.get_by_role("link", name="Images").click()
    page.get_by_role("img", name="The 9 filters of Orthogonal after training").wait_for(timeout=PATIENCE)

"""axe-core finds no serious violation on any page, in light and dark, wide and narrow."""

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Page

PATIENCE = 120_000


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_no_serious_violation(page: "Page", app_url: str, scheme: str, width: int) -> None:
    from axe_playwright_python.sync_playwright import Axe

    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(f"{app_url}/?v=1&dataset=diabetes&depth=3")
    page.locator(".plot .xaxislayer-above").nth(2).wait_for(state="attached", timeout=PATIENCE)
    page.wait_for_timeout(500)  # Streamlit fades its elements in
    violations = Axe().run(page).response["violations"]
    serious = [
        (each["id"], each["nodes"][0]["html"][:200])
        for each in violations
        if each["impact"] in ("serious", "critical")
    ]
    assert not serious

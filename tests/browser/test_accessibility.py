"""axe-core finds no serious violation on any page, in light and dark, wide and narrow."""

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Page

PATIENCE = 120_000
LOOKS = 10  # at a page that fades its elements in, or changes its colours


def serious_violations(page: "Page") -> list[tuple[str, str]]:
    """Those that last."""
    from axe_playwright_python.sync_playwright import Axe

    found: list[tuple[str, str]] = []
    for _ in range(LOOKS):
        page.wait_for_timeout(500)
        found = [
            (each["id"], each["nodes"][0]["html"][:200])
            for each in Axe().run(page).response["violations"]
            if each["impact"] in ("serious", "critical")
        ]
        if not found:
            break
    return found


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_no_serious_violation(page: "Page", app_url: str, scheme: str, width: int) -> None:
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(f"{app_url}/?v=1&dataset=diabetes&depth=3")
    page.locator(".plot .xaxislayer-above").nth(2).wait_for(state="attached", timeout=PATIENCE)
    assert not serious_violations(page)


def test_no_serious_violation_on_the_paper_page(page: "Page", app_url: str) -> None:
    page.goto(f"{app_url}/?v=1&dataset=diabetes&depth=3")
    page.get_by_role("link", name="Paper").click(timeout=PATIENCE)
    page.get_by_role("heading", name="Time").wait_for(timeout=PATIENCE)
    page.locator(".plot .xaxislayer-above").nth(3).wait_for(state="attached", timeout=PATIENCE)
    assert not serious_violations(page)


def test_no_serious_violation_on_the_theory_page_which_keeps_the_settings(page: "Page", app_url: str) -> None:
    page.goto(f"{app_url}/?v=1&dataset=diabetes&depth=3")
    page.get_by_role("link", name="Theory").click(timeout=PATIENCE)
    page.get_by_role("heading", name="Scaling factors").wait_for(timeout=PATIENCE)
    page.locator(".plot .xaxislayer-above").nth(1).wait_for(state="attached", timeout=PATIENCE)
    page.wait_for_url("**/theory?v=1&dataset=diabetes&depth=3", timeout=PATIENCE)
    assert not serious_violations(page)

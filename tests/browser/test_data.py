"""A person's own table in a real browser: a hostile one does nothing, nor does the report that is taken home."""

import io
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import pytest

from tests.browser.test_compare import PATIENCE
from tests.tables.test_corpus import X, Y, lines

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Download, Page

EVIL = "<img src=x onerror=window.hurt=1><script>window.hurt=1</script>[c](javascript:window.hurt=1)"
HOSTILE = lines(
    f'"{EVIL}","=cmd()",kind,"@SUM(1)"', X, [i % 7 for i in range(40)], [f'"={EVIL}"', '"+cmd()"'] * 20, Y
)


def _downloaded(page: "Page", label: str) -> bytes:
    page.get_by_role("button", name="Save").click()
    with page.expect_download(timeout=PATIENCE) as waiting:
        page.get_by_role("button", name=label).click()
    found: Download = waiting.value
    page.keyboard.press("Escape")
    return Path(found.path()).read_bytes()


def test_a_hostile_table_does_nothing_in_the_page_the_report_or_a_spreadsheet(
    page: "Page", app_url: str, browser: "Browser", tmp_path: Path
) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{app_url}/?v=1&dataset=diabetes&depth=3&epochs=30")
    page.get_by_text("On Diabetes, 3 layers of tanh").wait_for(timeout=PATIENCE)
    page.get_by_role("button", name="Your own table").click()
    page.locator("input[type=file]").wait_for(state="attached", timeout=PATIENCE)
    file = {"name": f"{EVIL[:60]}.csv", "mimeType": "text/csv", "buffer": HOSTILE.encode()}
    page.locator("input[type=file]").set_input_files(file)  # type: ignore[arg-type]
    page.get_by_role("button", name="Compare the initializations").click(timeout=PATIENCE)
    page.locator(".plot .xaxislayer-above").nth(2).wait_for(state="attached", timeout=PATIENCE)
    page.get_by_text("3 layers of tanh").wait_for(timeout=PATIENCE)
    assert "own" not in page.url and "dataset" not in page.url
    report, rows = _downloaded(page, "Report, HTML"), _downloaded(page, "Layers, CSV")
    table = pd.read_csv(io.BytesIO(rows))
    assert not any(
        str(value).startswith(("=", "+", "@")) for value in table.select_dtypes("str").to_numpy().ravel()
    )
    assert page.evaluate("window.hurt") is None
    (tmp_path / "report.html").write_bytes(report)
    with browser.new_context() as context:
        opened = context.new_page()
        opened.on("request", lambda request: asked.append(request.url))
        opened.goto(f"file://{tmp_path}/report.html")
        opened.get_by_role("heading", name="Settings").wait_for(timeout=PATIENCE)
        assert opened.evaluate("window.hurt") is None
        assert opened.locator("img").count() == 0 and opened.locator("a[href^=javascript]").count() == 0
    assert all(url.startswith((app_url, "data:", "blob:", "file:")) for url in asked)


@pytest.mark.parametrize(
    "link", ["dataset=own:0123456789abcdef", f"dataset={EVIL}", f"methods={EVIL}", f"seed={EVIL}"]
)
def test_a_hostile_link_falls_back_to_defaults(page: "Page", app_url: str, link: str) -> None:
    page.goto(f"{app_url}/?v=1&{link}")
    page.get_by_text("could not be used and is left at its default").wait_for(timeout=PATIENCE)
    assert page.evaluate("window.hurt") is None

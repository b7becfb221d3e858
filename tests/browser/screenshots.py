"""Take the screenshots of the main page: light and dark, at 1440, 1024 and 390 pixels, into the folder screenshots/.

The picture of the README is the widest light one.

    python -m tests.browser.screenshots
"""

import shutil
import tempfile
from typing import TYPE_CHECKING

from tests.browser import serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser

SIZES = {1440: 1180, 1024: 1500, 390: 2700}  # width: a height that shows the whole page


def _take(browser: "Browser", url: str, scheme: str, width: int, height: int) -> None:
    path = serving.ROOT / "screenshots" / f"{scheme}-{width}.png"
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)  # type: ignore[arg-type]
    page.goto(url)
    page.get_by_role("heading", name="After training").wait_for(timeout=180_000)
    page.locator(".plot .xaxislayer-above").nth(2).wait_for(state="attached", timeout=60_000)
    page.wait_for_timeout(1500)  # the last transition
    page.screenshot(path=path)
    page.close()
    print(path.relative_to(serving.ROOT))


def main() -> None:
    """Serve the app on a free port and take every picture."""
    if serving.chromium() is None:
        raise SystemExit("screenshots need Chromium in PATH")
    folder = serving.ROOT / "screenshots"
    folder.mkdir(exist_ok=True)
    store = tempfile.mkdtemp()  # so that every number is of a run made now
    url, server = serving.start(serving.ROOT / "app.py", folder / "server.log", STEINGLM_STORE=store)
    try:
        with serving.launched() as browser:
            for scheme in ("light", "dark"):
                for width, height in SIZES.items():
                    _take(browser, url, scheme, width, height)
    finally:
        serving.stop(server)
        shutil.rmtree(store, ignore_errors=True)
    shutil.copy(folder / "light-1440.png", serving.ROOT / "docs" / "compare.png")


if __name__ == "__main__":
    main()

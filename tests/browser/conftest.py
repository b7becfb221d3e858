"""A served app and a real browser. Without a browser these tests are skipped, but under CI they fail."""

import importlib.util
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser import serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

collect_ignore = ["demo_live.py", "demo_page.py", "demo_rows.py"]  # scripts that are served, not imported


@pytest.fixture(scope="session")
def serve(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[Path], str]]:
    """Give a function that serves a script, once a session, and returns its URL."""
    served: dict[Path, tuple[str, subprocess.Popen[bytes]]] = {}

    def url_of(script: Path) -> str:
        if script not in served:
            served[script] = serving.start(script, tmp_path_factory.mktemp("server") / "log.txt")
        return served[script][0]

    yield url_of
    for _, process in served.values():
        serving.stop(process)


@pytest.fixture
def launch(tmp_path: Path) -> Iterator[Callable[..., tuple[str, subprocess.Popen[bytes]]]]:
    """Give a function that serves the app once more, with variables of its own, and returns its URL and process."""
    processes: list[subprocess.Popen[bytes]] = []

    def served(**environment: str) -> tuple[str, subprocess.Popen[bytes]]:
        log = tmp_path / f"server-{len(processes)}.txt"
        url, process = serving.start(serving.ROOT / "app.py", log, **environment)
        processes.append(process)
        return url, process

    yield served
    for process in processes:
        serving.stop(process)


@pytest.fixture(scope="session")
def app_url(serve: Callable[[Path], str]) -> str:
    """The URL of the app itself."""
    return serve(serving.ROOT / "app.py")


@pytest.fixture(scope="session")
def browser() -> Iterator["Browser"]:
    if serving.chromium() is None or importlib.util.find_spec("playwright") is None:
        missing = "the browser tests need Chromium in PATH and the package playwright"
        pytest.fail(missing) if "CI" in os.environ else pytest.skip(missing)
    with serving.launched() as running:
        yield running


@pytest.fixture
def page(browser: "Browser") -> Iterator["Page"]:
    """A fresh page of 1440 x 900; at the end of the test no error may stand in its console."""
    errors: list[str] = []
    with browser.new_context(viewport={"width": 1440, "height": 900}, color_scheme="light") as context:
        opened = context.new_page()
        opened.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
        opened.on("pageerror", lambda error: errors.append(str(error)))
        yield opened
    assert not errors, f"the browser's console has errors: {errors}"

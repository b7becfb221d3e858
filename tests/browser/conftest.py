"""A served app and a real browser. Without a browser these tests are skipped, but under CI they fail."""

import importlib.util
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING
from urllib.request import urlopen

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ROOT = Path(__file__).parents[2]
QUIET = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
START, STOP = 90, 15  # seconds that a server may take
collect_ignore = ["demo_live.py", "demo_page.py", "demo_rows.py"]  # scripts that are served, not imported


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _start(script: Path, url: str, log: Path) -> subprocess.Popen[bytes]:
    """Serve a script; return when it answers, fail with its log when it does not."""
    port = url.rpartition(":")[2]
    command = [sys.executable, "-m", "streamlit", "run", str(script), f"--server.port={port}"]
    command += ["--server.headless=true", "--server.address=127.0.0.1"]
    with log.open("wb") as out:
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=out, stderr=subprocess.STDOUT)
    end = time.monotonic() + START
    while time.monotonic() < end and process.poll() is None:
        try:
            with urlopen(f"{url}/_stcore/health", timeout=2):
                return process
        except OSError:
            time.sleep(0.1)
    process.kill()
    pytest.fail(f"{script.name} did not answer within {START} s:\n{log.read_text()}")


@pytest.fixture(scope="session")
def serve(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[Path], str]]:
    """Give a function that serves a script, once a session, and returns its URL."""
    processes: list[subprocess.Popen[bytes]] = []
    urls: dict[Path, str] = {}

    def url_of(script: Path) -> str:
        if script not in urls:
            url = f"http://127.0.0.1:{_free_port()}"
            processes.append(_start(script, url, tmp_path_factory.mktemp("server") / "log.txt"))
            urls[script] = url
        return urls[script]

    yield url_of
    for process in processes:
        process.terminate()
    for process in processes:
        try:
            process.wait(STOP)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@pytest.fixture(scope="session")
def app_url(serve: Callable[[Path], str]) -> str:
    """The URL of the app itself."""
    return serve(ROOT / "app.py")


@pytest.fixture(scope="session")
def browser() -> Iterator["Browser"]:
    path = which("chromium") or which("chromium-browser") or which("google-chrome")
    if path is None or importlib.util.find_spec("playwright") is None:
        missing = "the browser tests need Chromium in PATH and the package playwright"
        pytest.fail(missing) if "CI" in os.environ else pytest.skip(missing)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=QUIET)
        yield running
        running.close()


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

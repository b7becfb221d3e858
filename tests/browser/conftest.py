"""A served app and a real browser. Without a browser these tests are skipped, but under CI they fail."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from shutil import which
from tempfile import TemporaryFile
from urllib.error import URLError
from urllib.request import urlopen

import pytest

sync_api = (
    pytest.importorskip("playwright.sync_api")
    if "CI" not in os.environ
    else __import__("playwright.sync_api").sync_api
)

ROOT = Path(__file__).parents[2]
QUIET = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait(url: str, process: subprocess.Popen[bytes], log: Callable[[], str], seconds: float = 90) -> None:
    """Return when the server answers; fail with its log when it does not."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and process.poll() is None:
        try:
            with urlopen(f"{url}/_stcore/health", timeout=2) as answer:
                if answer.status == 200:
                    return
        except (URLError, OSError):
            time.sleep(0.1)
    pytest.fail(f"the app did not answer within {seconds:.0f} s:\n{log()}")


@pytest.fixture(scope="session")
def serve() -> Iterator[Callable[[Path], str]]:
    """Give a function that serves a script, once a session, and returns its URL."""
    processes: dict[Path, tuple[subprocess.Popen[bytes], str]] = {}

    def start(script: Path) -> str:
        if script not in processes:
            port = _free_port()
            command = [sys.executable, "-m", "streamlit", "run", str(script), "--server.headless=true"]
            command += [f"--server.port={port}", "--server.address=127.0.0.1"]
            log = TemporaryFile()
            process = subprocess.Popen(
                command,
                cwd=ROOT,
                env=os.environ | {"PYTHONPATH": str(ROOT)},
                stdout=log,
                stderr=subprocess.STDOUT,
            )
            processes[script] = process, f"http://127.0.0.1:{port}"
            _wait(processes[script][1], process, lambda: (log.seek(0), log.read().decode())[1])
        return processes[script][1]

    yield start
    for process, _ in processes.values():
        process.terminate()
    for process, _ in processes.values():
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()


@pytest.fixture(scope="session")
def app_url(serve: Callable[[Path], str]) -> str:
    """The URL of the app itself."""
    return serve(ROOT / "app.py")


@pytest.fixture(scope="session")
def browser() -> Iterator["sync_api.Browser"]:
    path = which("chromium") or which("chromium-browser") or which("google-chrome")
    if path is None:
        missing = "no Chromium in PATH; install it to run the browser tests"
        pytest.fail(missing) if "CI" in os.environ else pytest.skip(missing)
    with sync_api.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=QUIET)
        yield running
        running.close()


@pytest.fixture
def page(browser: "sync_api.Browser") -> Iterator["sync_api.Page"]:
    """A fresh page of 1440 x 900; at the end of the test no error may stand in its console."""
    context = browser.new_context(viewport={"width": 1440, "height": 900}, color_scheme="light")
    opened, errors = context.new_page(), []
    opened.on("console", lambda message: message.type == "error" and errors.append(message.text))
    opened.on("pageerror", lambda error: errors.append(str(error)))
    yield opened
    context.close()
    assert not errors, f"the browser's console has errors: {errors}"

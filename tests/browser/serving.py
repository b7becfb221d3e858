"""The app served in a process of its own, and how to start a browser for it: for the tests, screenshots and timings."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING
from urllib.request import urlopen

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROOT = Path(__file__).parents[2]
# Chromium then asks for nothing but the pages it is given.
QUIET = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
START, STOP = 90, 15  # seconds that a server may take


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def start(script: Path, log: Path, **environment: str) -> tuple[str, subprocess.Popen[bytes]]:
    """Serve a script; return its URL and process when it answers, raise with its log when it does not."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "streamlit", "run", str(script), f"--server.port={port}"]
    command += ["--server.headless=true", "--server.address=127.0.0.1"]
    with log.open("wb") as out:
        variables = os.environ | {"PYTHONPATH": str(ROOT)} | environment
        process = subprocess.Popen(command, cwd=ROOT, env=variables, stdout=out, stderr=subprocess.STDOUT)
    end = time.monotonic() + START
    while time.monotonic() < end and process.poll() is None:
        try:
            with urlopen(f"{url}/_stcore/health", timeout=2):
                return url, process
        except OSError:
            time.sleep(0.1)
    process.kill()
    raise RuntimeError(f"{script.name} did not answer within {START} s:\n{log.read_text()}")


def stop(process: subprocess.Popen[bytes]) -> None:
    """End a server, by force if it takes too long."""
    process.terminate()
    try:
        process.wait(STOP)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def chromium() -> str | None:
    """The browser's path, if there is one."""
    return which("chromium") or which("chromium-browser") or which("google-chrome")


@contextmanager
def launched() -> "Iterator[Browser]":
    """A running browser."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=chromium(), args=QUIET)
        yield running
        running.close()

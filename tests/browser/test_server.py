"""What outlives a crash: a worker that dies, and a server that dies, in the middle of a run."""

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib.request import urlopen

import psutil
import pytest

from steinglm import link
from steinglm.settings import Experiment

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.slow
Launch = Callable[..., tuple[str, subprocess.Popen[bytes]]]
LONG = Experiment(dataset="diabetes", depth=20, epochs=150, seed=3)
PATIENCE = 120


def rows_of(url: str, experiment: Experiment) -> dict[str, Any] | None:
    """What the feed says of a run; None if there is none."""
    with urlopen(f"{url}/runs/{experiment.key}/rows?since=-1", timeout=30) as answer:
        return json.loads(answer.read()) if answer.status == 200 else None


def wait_for_state(url: str, experiment: Experiment, *states: str) -> dict[str, Any]:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        answer = rows_of(url, experiment)
        if answer is not None and answer["state"] in states:
            return answer
        time.sleep(0.2)
    pytest.fail(f"the run did not come to {states}")


def start_long_run(page: "Page", url: str) -> None:
    page.goto(link.address(f"{url}/", LONG))
    page.get_by_role("button", name=re.compile("^Train")).click(timeout=PATIENCE * 1000)
    wait_for_state(url, LONG, "running")


def workers(server: subprocess.Popen[bytes]) -> list[psutil.Process]:
    """The processes below the server that use the most memory: those that have torch loaded."""
    children = psutil.Process(server.pid).children(recursive=True)
    return [child for child in children if child.memory_info().rss > 100 * 2**20]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    """One for both tests: the second finds the first page's run finished there, and need not wait for it."""
    return str(tmp_path_factory.mktemp("server") / "store")


def test_a_killed_server_keeps_finished_runs_and_shows_no_half_one(
    launch: Launch, page: "Page", store: str
) -> None:
    url, server = launch(STEINGLM_STORE=store)
    wait_for_state(url, Experiment(), "finished")  # the first page's, which the server trains by itself
    start_long_run(page, url)
    page.goto("about:blank")  # a page of a killed server reports errors
    os.kill(server.pid, signal.SIGKILL)
    server.wait()
    url, _ = launch(STEINGLM_STORE=store)
    answer = rows_of(url, Experiment())
    assert answer is not None
    assert answer["state"] == "finished"
    assert answer["epochs"][-1] == Experiment().epochs
    assert rows_of(url, LONG) is None


def test_a_run_survives_its_worker(launch: Launch, page: "Page", store: str) -> None:
    url, server = launch(STEINGLM_STORE=store, STEINGLM_WORKERS="1")
    start_long_run(page, url)
    (busy,) = sorted(workers(server), key=lambda worker: sum(worker.cpu_times()[:2]))[-1:]
    busy.kill()
    page.get_by_text("A worker stopped").first.wait_for(timeout=PATIENCE * 1000)
    answer = wait_for_state(url, LONG, "finished")
    assert answer["epochs"][0] == 0
    assert answer["epochs"][-1] == LONG.epochs
    page.get_by_role("heading", name="After training").wait_for(timeout=PATIENCE * 1000)

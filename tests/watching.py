"""What the tests of the engine share: experiments of known length, ways to watch a run, a cluster started by hand."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from steinglm.engine import Run
from steinglm.experiment import Experiment

__all__ = ["FAKE", "cpu", "endless", "fresh", "held", "started_by_hand", "stream", "wait", "worker_process"]

FAKE = "tests.fake_runs:train"
SEEDS = iter(range(1000, 10**6))


def fresh(seconds: float = 0.001, epochs: int = 30, **changes: object) -> Experiment:
    """An experiment that no other test has, with mini-batches of so many seconds."""
    changes = {"methods": ("steinglm", "orthogonal"), "repeats": 2, "batch_size": 1} | changes
    return Experiment(seed=next(SEEDS), learning_rate=seconds, epochs=epochs, **changes)  # type: ignore[arg-type]


def endless(seconds: float = 0.01, **changes: object) -> Experiment:
    return fresh(seconds, 10_000, **changes)


def wait(condition: Callable[[], bool], seconds: float = 60.0) -> float:
    """Seconds until the condition held."""
    start = time.monotonic()
    while not condition():
        if time.monotonic() - start > seconds:
            pytest.fail(f"waited for {seconds} seconds")
        time.sleep(0.005)
    return time.monotonic() - start


def stream(run: Run, seconds: float = 90.0) -> list[tuple[str, int, int, str, float]]:
    """Collect the rows as a page does, piece by piece, until the run is over."""
    seen: list[tuple[str, int, int, str, float]] = []
    end = time.monotonic() + seconds
    while run.active and time.monotonic() < end:
        seen += run.rows(seen[-1][2] if seen else -1)
        time.sleep(0.02)
    return seen + run.rows(seen[-1][2] if seen else -1)


def held(run: Run) -> int:
    """The epoch at which a paused run has come to rest."""
    epoch, since = run.epoch, time.monotonic()
    while time.monotonic() - since < 0.7:
        if run.epoch != epoch:
            epoch, since = run.epoch, time.monotonic()
        time.sleep(0.02)
    return epoch


def worker_process(run: Run) -> psutil.Process:
    """The process that trains the run, found by the port it listens on."""
    port = int(run.worker.rsplit(":", 1)[1])
    for process in psutil.Process().children(recursive=True):
        if any(c.laddr and c.laddr.port == port for c in process.net_connections() if c.status == "LISTEN"):
            return process
    raise AssertionError("no process listens at " + run.worker)


def cpu(process: psutil.Process) -> float:
    return sum(process.cpu_times()[:2])


@contextmanager
def started_by_hand(folder: Path) -> Iterator[str]:
    """Start a scheduler and two workers with Dask's own commands; give the scheduler's address.

    The third worker that dies under a run ends it.
    """
    file = folder / "scheduler.json"
    common = ["--scheduler-file", str(file), "--no-dashboard", "--host", "127.0.0.1"]
    scheduler = ["scheduler", *common, "--port", "0", "--dashboard-address", "127.0.0.1:0"]
    worker = ["worker", *common, "--nthreads", "1", "--local-directory", str(folder)]
    few = os.environ | {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "2"}
    parts = [
        subprocess.Popen([sys.executable, "-m", "dask", *part], stderr=subprocess.DEVNULL, env=few)
        for part in (scheduler, worker, worker)
    ]
    try:
        wait(file.exists)
        time.sleep(0.2)  # it is written in one go, but not atomically
        yield json.loads(file.read_text())["address"]
        assert all(part.poll() is None for part in parts)
    finally:
        for part in parts:
            part.terminate()
        for part in parts:
            part.wait(20)

"""Half an hour of scripted use: the server's memory at the end is within 15 percent of that after five minutes.

`make soak` runs it; STEINGLM_SOAK_MINUTES makes it shorter or longer.
"""

import os
import random
import re
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from steinglm import link
from steinglm.settings import Experiment

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.soak
MINUTES = float(os.environ.get("STEINGLM_SOAK_MINUTES", "30"))
PATIENCE = 120_000


def megabytes(server: subprocess.Popen[bytes]) -> float:
    return psutil.Process(server.pid).memory_info().rss / 2**20


def use(page: "Page", url: str, chance: random.Random) -> None:
    """Open an experiment, train it, look at another depth and layer."""
    dataset = chance.choice(["diabetes", "abalone", "power_plant", "breast_cancer", "magic"])
    experiment = Experiment(
        dataset=dataset, depth=chance.randint(1, 30), epochs=20, seed=chance.randrange(10**6)
    )
    page.goto(link.address(f"{url}/", experiment))
    page.get_by_role("button", name=re.compile("^Train")).click(timeout=PATIENCE)
    page.get_by_role("heading", name="After training").wait_for(timeout=PATIENCE)
    for _ in range(5):
        page.get_by_role("slider", name="Depth").press("ArrowRight")
        page.get_by_role("slider", name="Layer of the spectrum").press("ArrowRight")
        page.wait_for_timeout(500)


def test_memory_settles(
    launch: Callable[..., tuple[str, subprocess.Popen[bytes]]], page: "Page", tmp_path: Path
) -> None:
    url, server = launch(STEINGLM_STORE=str(tmp_path / "store"))
    chance, start = random.Random(0), time.monotonic()
    early, settled = 0.0, min(5.0, MINUTES / 2)
    while (minutes := (time.monotonic() - start) / 60) < MINUTES:
        use(page, url, chance)
        if not early and minutes >= settled:
            early = megabytes(server)
    late = megabytes(server)
    print(f"\nserver's memory: {early:.0f} MB after {settled:g} minutes, {late:.0f} MB after {MINUTES:g}")
    assert late <= 1.15 * early

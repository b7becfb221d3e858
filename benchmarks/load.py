"""A class of thirty: sessions that open the page within half a minute, look, and train; what they wait for, and memory.

The clients speak Streamlit's own WebSocket protocol, so that the machine's time goes to the server and not to thirty
browsers. Each asks for one of ten experiments, waits for the charts, presses Train and follows the rows as a page
does. `python benchmarks/load.py` ends with 1 if a bound is missed.
"""

import asyncio
import math
import sys
import tempfile
import time
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from steinglm.dashboard import link
from steinglm.settings import Experiment
from tests import sessions
from tests.browser import serving

PEOPLE, WITHIN = 30, 30.0  # who come within so many seconds
EXPERIMENTS = [
    Experiment(dataset=dataset, depth=depth, epochs=60, seed=7)
    for dataset in ("abalone", "power_plant", "diabetes", "mammographic", "wine")
    for depth in (5, 20)
]
STAY = 45.0  # seconds after which everybody leaves
CHART, POINT, SHARE = 5.0, 20.0, 0.95  # the bounds, and how many must keep them
MEMORY, RETURN = 2.5e9, 1.2  # bytes at most; how far above the idle figure they may stay
SETTLE = 100.0  # seconds until the server has forgotten those who left


@dataclass
class Person:
    """What one session saw.

    chart, point : seconds until the first charts, and from pressing Train to the first epoch
    errors : what the page showed as an error
    """

    experiment: Experiment
    chart: float = math.inf
    point: float = math.inf
    errors: list[str] = field(default_factory=list)


def _rows(url: str, key: str) -> str:
    with urllib.request.urlopen(f"{url}/runs/{key}/rows?since=0", timeout=30) as answer:
        return str(answer.read().decode())


async def _visit(url: str, person: Person, arrives: float, leaves: float) -> None:
    await asyncio.sleep(arrives)
    query = link.address("", person.experiment).lstrip("?")
    async with sessions.connected(url) as socket:
        seen = await sessions.run(socket, query)
        person.chart, person.errors = seen.charts_after, seen.errors
        start = time.monotonic()
        if train := seen.buttons.get("**Train**"):  # else somebody else's run is there already
            person.errors += (await sessions.press(socket, query, train)).errors
        while time.monotonic() - start < 3 * POINT:
            if '"next":0' not in await asyncio.to_thread(_rows, url, person.experiment.key):
                person.point = time.monotonic() - start
                break
            await asyncio.sleep(0.5)
        while time.monotonic() < leaves:
            await asyncio.to_thread(_rows, url, person.experiment.key)
            await asyncio.sleep(0.5)


async def _class(url: str) -> list[Person]:
    people = [Person(EXPERIMENTS[i % len(EXPERIMENTS)]) for i in range(PEOPLE)]
    leaves = time.monotonic() + WITHIN + STAY
    await asyncio.gather(*(_visit(url, p, WITHIN * i / PEOPLE, leaves) for i, p in enumerate(people)))
    return people


def _memory(server: psutil.Process) -> float:
    """Bytes of the server, its scheduler and its workers, what they share counted once."""
    total = 0.0
    for process in (server, *server.children(recursive=True)):
        try:
            full = process.memory_full_info()
            total += getattr(full, "pss", full.uss)
        except psutil.Error:
            continue
    return total


async def _watched(url: str, server: psutil.Process) -> tuple[list[Person], float]:
    """The class, and the most memory while it was there."""
    visit = asyncio.create_task(_class(url))
    most = 0.0
    while not visit.done():
        most = max(most, await asyncio.to_thread(_memory, server))
        await asyncio.sleep(1)
    return await visit, most


def _line(what: str, value: str, bound: str, holds: bool) -> bool:
    print(f"{what:>44} {value:>12}   {bound:<24} {'' if holds else 'MISSED'}")
    return holds


def main() -> int:
    """Print one line a bound."""
    with tempfile.TemporaryDirectory() as folder:
        script = serving.ROOT / "app.py"
        url, process = serving.start(script, Path(folder) / "log.txt", STEINGLM_STORE=folder)
        server = psutil.Process(process.pid)
        try:
            asyncio.run(_first(url))
            idle = _memory(server)
            people, most = asyncio.run(_watched(url, server))
            time.sleep(SETTLE)
            after = _memory(server)
        finally:
            serving.stop(process)
    charts, points = sorted(p.chart for p in people), sorted(p.point for p in people)
    last = math.ceil(SHARE * PEOPLE) - 1
    errors = [error for p in people for error in p.errors]
    print(
        f"\n{PEOPLE} people within {WITHIN:g} s, {len(EXPERIMENTS)} experiments, {psutil.cpu_count()} cores"
    )
    share, chart, point = f"{SHARE:.0%}", charts[last], points[last]
    kept = [
        _line("first chart, median", f"{charts[PEOPLE // 2]:.2f} s", "", True),
        _line(f"first chart, {share}", f"{chart:.2f} s", f"at most {CHART:g} s", chart <= CHART),
        _line("first training point, median", f"{points[PEOPLE // 2]:.2f} s", "", True),
        _line(f"first training point, {share}", f"{point:.2f} s", f"at most {POINT:g} s", point <= POINT),
        _line("errors", f"{len(errors)}", "none", not errors),
        _line("memory before", f"{idle / 1e6:.0f} MB", "", True),
        _line("memory, most", f"{most / 1e6:.0f} MB", f"at most {MEMORY / 1e6:.0f} MB", most <= MEMORY),
        _line(
            "after they left",
            f"{after / 1e6:.0f} MB",
            f"at most {RETURN:g} times before",
            after <= RETURN * idle,
        ),
    ]
    print("\n".join(errors[:3]))
    return 0 if all(kept) else 1


async def _first(url: str) -> None:
    """One person looks at the default page, so that everything is loaded; then a moment's rest."""
    async with sessions.connected(url) as socket:
        await sessions.run(socket, "")
    await asyncio.sleep(20)


if __name__ == "__main__":
    sys.exit(main())

"""A class of thirty: sessions that open the page within half a minute, look, and train; what they wait for, and memory.

The clients speak Streamlit's own WebSocket protocol, so that the machine's time goes to the server and not to thirty
browsers. Each asks for one of ten experiments, waits for the charts, presses Train and follows the rows as a page
does. `python benchmarks/load.py` ends with 1 if a bound is missed. With `--services` they meet the dashboard, scheduler
and two workers of deploy/compose.yaml, one of whose workers is killed when all have come; then no run may be lost.
"""

import argparse
import asyncio
import math
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from steinglm import link
from steinglm.settings import Experiment
from tests import services, sessions
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
END = 600.0  # seconds after which a run that is not finished is lost
Processes = list[subprocess.Popen[bytes]]


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


def _memory(processes: Processes) -> float:
    """Bytes of these processes and their children, what they share counted once."""
    roots = [psutil.Process(own.pid) for own in processes]
    total = 0.0
    for process in (own for root in roots for own in (root, *root.children(recursive=True))):
        try:
            full = process.memory_full_info()
            total += getattr(full, "pss", full.uss)
        except psutil.Error:
            continue
    return total


async def _watched(url: str, processes: Processes, workers: Processes) -> tuple[list[Person], float]:
    """The class, and the most memory while it was there; the busiest of the workers is killed on the way."""
    visit = asyncio.create_task(_class(url))
    start, most, victims = time.monotonic(), 0.0, bool(workers)
    while not visit.done():
        most = max(most, await asyncio.to_thread(_memory, processes))
        if victims and time.monotonic() - start > WITHIN:
            services.busiest(workers).kill()
            victims = False
        await asyncio.sleep(1)
    return await visit, most


def _finished(url: str) -> int:
    """How many of the experiments come to their end; to ask is to watch, so the server goes on with them."""
    end = time.monotonic() + END
    while True:
        states = [re.search(r'"state":"(\w+)"', _rows(url, own.key)) for own in EXPERIMENTS]
        done = [state is not None and state[1] == "finished" for state in states]
        if all(done) or time.monotonic() > end:
            return sum(done)
        time.sleep(1)


@contextmanager
def _alone(folder: Path) -> Iterator[tuple[str, Processes, Processes]]:
    """The app as `make run` starts it, with workers of its own; none of them may be killed."""
    url, process = serving.start(serving.ROOT / "app.py", folder / "log.txt", STEINGLM_STORE=str(folder))
    try:
        yield url, [process], []
    finally:
        serving.stop(process)


@contextmanager
def _services(folder: Path) -> Iterator[tuple[str, Processes, Processes]]:
    """The services of the compose file."""
    with services.by_hand(folder) as (url, processes, _):
        yield url, processes, processes[1:3]


def _line(what: str, value: str, bound: str, holds: bool) -> bool:
    print(f"{what:>44} {value:>12}   {bound:<24} {'' if holds else 'MISSED'}")
    return holds


def main() -> int:
    """Print one line a bound."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--services", action="store_true", help="the services of compose.yaml, a worker killed"
    )
    served = _services if parser.parse_args().services else _alone
    with tempfile.TemporaryDirectory() as folder, served(Path(folder)) as (url, processes, workers):
        asyncio.run(_first(url))
        idle = _memory(processes)
        people, most = asyncio.run(_watched(url, processes, workers))
        finished = _finished(url)
        time.sleep(SETTLE)
        after = _memory(processes)
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
        _line("runs finished", f"{finished} of {len(EXPERIMENTS)}", "all", finished == len(EXPERIMENTS)),
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

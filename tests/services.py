"""The services of deploy/compose.yaml without containers: the same commands by hand, on loopback."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.request import urlopen

import psutil
import yaml

from tests.browser.serving import ROOT, free_port
from tests.watching import wait

__all__ = ["DEPLOY", "ROOT", "SERVICES", "busiest", "by_hand"]

DEPLOY = ROOT / "deploy"
SERVICES = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]


@contextmanager
def by_hand(folder: Path, nice: str = "10") -> Iterator[tuple[str, list[subprocess.Popen[bytes]], str]]:
    """The commands of compose.yaml with one scheduler, two workers and a dashboard: its URL, all processes, its log.

    nice : of the workers; beside other tests' processes they would hardly run as they do in compose.yaml
    """
    scheduler, dashboard = free_port(), free_port()
    own = {
        "10": nice, "0.0.0.0": "127.0.0.1", "8786": str(scheduler), "/tmp": str(folder), "python": sys.executable,
        "tcp://scheduler:8786": f"tcp://127.0.0.1:{scheduler}",
        "--server.address=0.0.0.0": "--server.address=127.0.0.1",
        "--server.port=8501": f"--server.port={dashboard}",
    }  # fmt: skip
    variables = SERVICES["dashboard"]["environment"] | {
        "STREAMLIT_SERVER_ALLOWED_HOSTS": "127.0.0.1 lecture.example"
    }
    environment = os.environ | {
        "PYTHONPATH": str(ROOT),
        "STEINGLM_STORE": str(folder / "store"),
        "OMP_NUM_THREADS": "1",
    }
    log = folder / "dashboard.log"
    with ExitStack() as stack:

        def start(service: str, output: Path, **more: str) -> subprocess.Popen[bytes]:
            command = [own.get(word, word) for word in SERVICES[service]["command"]]
            out = stack.enter_context(output.open("wb"))
            process = subprocess.Popen(
                command, cwd=ROOT, env=environment | more, stdout=out, stderr=subprocess.STDOUT
            )
            stack.callback(process.wait, 30)
            stack.callback(process.terminate)
            return process

        processes = [start("scheduler", folder / "scheduler.log")]
        time.sleep(3)
        allocator = SERVICES["worker"]["environment"]
        processes += [start("worker", folder / f"worker-{i}.log", **allocator) for i in range(2)]
        given = {name: own.get(str(value), str(value)) for name, value in variables.items()}
        processes.append(start("dashboard", log, **given))
        url = f"http://127.0.0.1:{dashboard}"
        wait(lambda: _answers(f"{url}/_stcore/health"), 90)
        yield url, processes, str(log)


def _answers(url: str) -> bool:
    try:
        with urlopen(url, timeout=2) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def busiest(workers: Sequence[subprocess.Popen[bytes]]) -> psutil.Process:
    """The process that trains most among the children of the workers, who look after them."""
    children = (child for own in workers for child in psutil.Process(own.pid).children(recursive=True))
    return max(children, key=lambda process: sum(process.cpu_times()[:2]))

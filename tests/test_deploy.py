"""What can be shown of the containers without a container engine: the same commands by hand, on loopback."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import psutil
import pytest
import yaml

from steinglm.experiment import Experiment
from tests.browser.serving import ROOT, free_port
from tests.watching import wait

DEPLOY = ROOT / "deploy"
SERVICES = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
DOCKERFILE = (DEPLOY / "Dockerfile").read_text()


def test_the_image_holds_files_that_exist_and_no_others() -> None:
    copied = [
        words for line in re.findall(r"^COPY (.+)$", DOCKERFILE, re.MULTILINE) if (words := line.split())
    ]
    kept = {line[1:] for line in (ROOT / ".dockerignore").read_text().split() if line.startswith("!")}
    sources = {source for words in copied for source in words[:-1]}
    assert sources == kept
    assert all((ROOT / source).exists() for source in sources)


def test_the_image_runs_as_a_user_without_rights_and_tells_its_health() -> None:
    assert DOCKERFILE.rindex("\nUSER 1000:1000\n") < DOCKERFILE.index("\nHEALTHCHECK ")
    asked = re.search(r'CMD \["python", "-c", "(.+?)"\]', DOCKERFILE)
    assert asked is not None and "/_stcore/health" in asked[1]


def test_only_the_dashboard_has_a_port_and_everything_waits_for_the_scheduler() -> None:
    assert [name for name, service in SERVICES.items() if "ports" in service] == ["dashboard"]
    for name in ("dashboard", "worker"):
        assert SERVICES[name]["depends_on"] == {"scheduler": {"condition": "service_healthy"}}
    assert all(service["read_only"] and service["cap_drop"] == ["ALL"] for service in SERVICES.values())


def test_every_variable_of_the_instructions_is_read_somewhere() -> None:
    code = "".join(path.read_text() for path in (ROOT / "steinglm").rglob("*.py"))
    for name in re.findall(r"`(STEINGLM_[A-Z_]+)`", (DEPLOY / "README.md").read_text()):
        stem = re.sub(r"_(MAX|TABLE)_[A-Z_]+$", r"_\1_", name)
        assert stem in code, name


@contextmanager
def by_hand(folder: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]], str]]:
    """The commands of compose.yaml with one scheduler, two workers and a dashboard: its URL, the workers, its log."""
    scheduler, dashboard = free_port(), free_port()
    own = {
        "0.0.0.0": "127.0.0.1", "8786": str(scheduler), "/tmp": str(folder), "python": sys.executable,
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

        start("scheduler", folder / "scheduler.log")
        time.sleep(3)
        workers = [start("worker", folder / f"worker-{i}.log") for i in range(2)]
        given = {name: own.get(str(value), str(value)) for name, value in variables.items()}
        start("dashboard", log, **given)
        url = f"http://127.0.0.1:{dashboard}"
        wait(lambda: _answers(f"{url}/_stcore/health"), 90)
        yield url, workers, str(log)


def _answers(url: str) -> bool:
    try:
        with urlopen(url, timeout=2) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def _rows(url: str) -> str:
    with urlopen(f"{url}/runs/{Experiment().key}/rows", timeout=10) as answer:
        return str(answer.read().decode())


@pytest.mark.slow
def test_the_services_train_a_run_although_a_worker_is_killed(tmp_path: Path) -> None:
    with by_hand(tmp_path) as (url, workers, log):
        wait(lambda: re.search(r'"next":[1-9]', _rows(url)) is not None, 120)
        busy = max(
            (child for worker in workers for child in psutil.Process(worker.pid).children(recursive=True)),
            key=lambda process: sum(process.cpu_times()[:2]),
        )
        busy.send_signal(signal.SIGKILL)
        wait(lambda: '"state":"finished"' in _rows(url), 240)
        named = Request(url, headers={"Host": "lecture.example"})
        with urlopen(named, timeout=5) as answer:
            assert answer.status == 200
        with pytest.raises(HTTPError, match="400"):
            urlopen(Request(url, headers={"Host": "elsewhere.example"}), timeout=5)
        assert "Traceback" not in Path(log).read_text()

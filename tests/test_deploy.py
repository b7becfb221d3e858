"""What can be shown of the containers without a container engine: the same commands by hand, on loopback."""

import re
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from steinglm.experiment import Experiment
from tests.services import DEPLOY, ROOT, SERVICES, busiest, by_hand
from tests.watching import wait

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


def _rows(url: str) -> str:
    with urlopen(f"{url}/runs/{Experiment().key}/rows", timeout=10) as answer:
        return str(answer.read().decode())


@pytest.mark.slow
def test_the_services_train_a_run_although_a_worker_is_killed(tmp_path: Path) -> None:
    with by_hand(tmp_path, nice="0") as (url, processes, log):
        wait(lambda: re.search(r'"next":[1-9]', _rows(url)) is not None, 300)
        busiest(processes[1:3]).kill()
        wait(lambda: '"state":"finished"' in _rows(url), 240)
        named = Request(url, headers={"Host": "lecture.example"})
        with urlopen(named, timeout=5) as answer:
            assert answer.status == 200
        with pytest.raises(HTTPError, match="400"):
            urlopen(Request(url, headers={"Host": "elsewhere.example"}), timeout=5)
        assert "Traceback" not in Path(log).read_text()

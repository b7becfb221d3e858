"""The engine's own Dask cluster: what it listens on, what dies with it, what it trains with; and the settings."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from steinglm import cluster
from steinglm.engine import Engine, Settings
from steinglm.exceptions import EngineError, InvalidInputError
from steinglm.experiment import Experiment
from tests.fake_runs import expected
from tests.watching import FAKE, endless, fresh, stream, wait


@pytest.mark.slow
def test_a_killed_scheduler_fails_the_runs_and_the_next_submit_recovers(tmp_path: Path) -> None:
    with Engine(Settings(workers=1, store=tmp_path, scheduler=""), trainer=FAKE) as engine:
        run, waiting = engine.submit(endless()), engine.submit(endless())
        wait(lambda: run.epoch >= 1)
        schedulers = [
            p for p in psutil.Process().children() if "distributed.Scheduler" in " ".join(p.cmdline())
        ]
        scheduler = max(schedulers, key=lambda process: process.create_time())
        scheduler.send_signal(signal.SIGKILL)
        wait(lambda: run.state == "failed" and waiting.state == "failed")
        assert "scheduler" in run.error
        experiment = fresh()
        assert stream(engine.submit(experiment)) == expected(experiment)


@pytest.mark.slow
def test_a_killed_server_leaves_no_process_and_no_half_run(tmp_path: Path) -> None:
    code = """
import sys, time
from pathlib import Path
from steinglm.engine import Engine, Settings
from steinglm.experiment import Experiment
engine = Engine(Settings(workers=1, store=Path(sys.argv[1]), scheduler=""), trainer="tests.fake_runs:train").start()
engine.submit(Experiment(epochs=3)).result()
run = engine.submit(Experiment(epochs=10_000))
while run.epoch < 3:
    time.sleep(0.01)
print("running", flush=True)
time.sleep(60)
"""
    server = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE)
    assert server.stdout is not None
    assert server.stdout.readline() == b"running\n"
    children = psutil.Process(server.pid).children(recursive=True)
    assert len(children) >= 3
    server.kill()
    server.wait()
    server.stdout.close()
    _, alive = psutil.wait_procs(children, timeout=30)
    assert [process for process in alive if process.status() != psutil.STATUS_ZOMBIE] == []
    engine = Engine(Settings(store=tmp_path), trainer=FAKE)
    assert engine.store.keys() == (Experiment(epochs=3).key,)
    assert engine.find(Experiment(epochs=10_000).key) is None


def test_our_own_cluster_listens_on_loopback_only_and_leaves_ctrl_c_to_us(tmp_path: Path) -> None:
    with Engine(Settings(workers=1, store=tmp_path, scheduler=""), trainer=FAKE) as engine:
        engine.submit(fresh()).result(60)
        processes = psutil.Process().children(recursive=True)
        groups = {os.getpgid(p.pid) for p in processes}
        listening = [c.laddr.ip for p in processes for c in p.net_connections() if c.status == "LISTEN"]
    assert len(listening) >= 4
    assert set(listening) == {"127.0.0.1"}
    assert os.getpgid(0) not in groups


def test_a_worker_keeps_the_memory_of_a_step_for_the_next(tmp_path: Path) -> None:
    with Engine(Settings(workers=1, store=tmp_path, scheduler=""), trainer=FAKE) as engine:
        engine.submit(fresh()).result(60)
        environments = [p.environ() for p in psutil.Process().children(recursive=True)]
    assert len(environments) >= 3  # the scheduler, the worker's nanny, the worker
    assert all(own[name] == value for own in environments for name, value in cluster.ALLOCATOR.items())


def test_no_scheduler_at_the_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("steinglm.cluster.CONNECT_TIMEOUT", 0.5)
    with pytest.raises(EngineError, match=r"127\.0\.0\.1:9"):
        Engine(Settings(scheduler="tcp://127.0.0.1:9", store=tmp_path)).start()


@pytest.mark.slow
def test_the_real_trainer(tmp_path: Path) -> None:
    experiment = Experiment(dataset="diabetes", depth=3, epochs=5)
    with Engine(Settings(workers=1, store=tmp_path, scheduler="")) as engine:
        run = engine.submit(experiment)
        rows = stream(run)
        history = run.result().history
    assert [row[2] for row in rows] == history["epoch"].tolist()
    assert [row[4] for row in rows] == history["value"].tolist()


# Settings


def test_settings_read_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEINGLM_WORKERS", "3")
    monkeypatch.setenv("STEINGLM_MEMORY", "3GiB")
    monkeypatch.setenv("STEINGLM_STORE", "/nowhere")
    monkeypatch.setenv("DASK_SCHEDULER_ADDRESS", "tcp://127.0.0.1:1")
    settings = Settings(active=5)
    assert (settings.workers, settings.memory, settings.store) == (3, 3 * 2**30, Path("/nowhere"))
    assert (settings.active, settings.scheduler) == (5, "tcp://127.0.0.1:1")


@pytest.mark.parametrize(("name", "text"), [("STEINGLM_WORKERS", "many"), ("STEINGLM_MEMORY", "much")])
def test_settings_that_cannot_be_read(monkeypatch: pytest.MonkeyPatch, name: str, text: str) -> None:
    monkeypatch.setenv(name, text)
    with pytest.raises(InvalidInputError, match=name):
        Settings()


def test_settings_out_of_range() -> None:
    with pytest.raises(InvalidInputError, match="workers"):
        Settings(workers=0)

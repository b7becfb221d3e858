"""The store: what is put comes back, bounds hold, and nothing half-written or damaged is ever a run."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pandas as pd
import pytest
import torch

from steinglm.exceptions import EngineError
from steinglm.experiment import Experiment
from steinglm.store import PARTS, Store
from tests.fake_runs import result

MIB = 2**20


def runs(n: int) -> list[Experiment]:
    return [Experiment(epochs=3, seed=seed) for seed in range(n)]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "runs", 10 * MIB, 100)


def test_what_is_put_comes_back(store: Store) -> None:
    put = result(
        Experiment(alpha="auto", methods=("steinglm", "orthogonal"), repeats=2, epochs=8, patience=3)
    )
    store.put(put)
    got = store.get(put.experiment.key)
    assert got is not None
    assert got.experiment == put.experiment
    pd.testing.assert_frame_equal(got.history, put.history)
    pd.testing.assert_frame_equal(got.summary, put.summary)
    assert got.state.keys() == put.state.keys()
    assert all(torch.equal(got.state[name], put.state[name]) for name in put.state)


def test_another_store_on_the_same_folder_sees_it(store: Store) -> None:
    store.put(result(Experiment()))
    assert Store(store.folder, MIB, 10).keys() == (Experiment().key,)


@pytest.mark.parametrize("key", ["", "..", "../runs", "0" * 15, "0" * 17, "g" * 16, "0" * 16, "/etc"])
def test_a_key_that_is_not_there(store: Store, key: str) -> None:
    store.put(result(Experiment()))
    assert store.get(key) is None
    assert len(store.keys()) == 1


def test_the_least_recently_used_go_first(store: Store) -> None:
    store.max_runs = 3
    a, b, c, d = runs(4)
    for number, experiment in enumerate((a, b, c)):
        store.put(result(experiment))
        os.utime(store.folder / experiment.key, (number, number))
    assert store.get(a.key) is not None
    store.put(result(d))
    assert set(store.keys()) == {a.key, c.key, d.key}
    assert store.keys()[0] == d.key


def test_bytes_are_bounded(store: Store) -> None:
    (first,) = runs(1)
    store.put(result(first))
    one = sum(part.stat().st_size for part in (store.folder / first.key).iterdir())
    store.max_bytes = 3 * one + one // 2
    for experiment in runs(6):
        store.put(result(experiment))
    assert len(store.keys()) == 3


def test_a_run_beyond_the_bound_is_not_kept(tmp_path: Path) -> None:
    store = Store(tmp_path, 10, 10)
    store.put(result(Experiment()))
    assert store.keys() == ()


@pytest.mark.parametrize("name", [*PARTS, "experiment.json"])
@pytest.mark.parametrize("damage", ["truncated", "flipped", "missing", "empty"])
def test_a_damaged_run_is_ignored_and_removed(store: Store, name: str, damage: str) -> None:
    key = Experiment().key
    store.put(result(Experiment()))
    part = store.folder / key / name
    data = part.read_bytes()
    if damage == "missing":
        part.unlink()
    else:
        middle = len(data) // 2
        flipped = data[:middle] + bytes([data[middle] ^ 0x55]) + data[middle + 1 :]
        part.write_bytes({"truncated": data[:middle], "flipped": flipped, "empty": b""}[damage])
    got = store.get(key)
    if got is not None:  # a flipped bit of the JSON may hit white space
        assert name == "experiment.json"
        assert damage == "flipped"
    else:
        assert store.keys() == ()
        assert list(store.folder.iterdir()) == []


def test_a_write_killed_midway_leaves_no_run(tmp_path: Path) -> None:
    code = """
import os, signal, sys
from pathlib import Path
from steinglm import store
from steinglm.exceptions import EngineError
from steinglm.experiment import Experiment
from tests.fake_runs import result
Path.write_text = lambda *args, **options: os.kill(os.getpid(), signal.SIGKILL)
store.Store(Path(sys.argv[1]), 10**9, 10).put(result(Experiment()))
"""
    killed = subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False, timeout=60)
    assert killed.returncode == -signal.SIGKILL
    (unfinished,) = tmp_path.iterdir()
    assert {part.name for part in unfinished.iterdir()} == set(PARTS)
    store = Store(tmp_path, MIB, 10)
    assert store.keys() == ()
    assert store.get(Experiment().key) is None
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(EngineError, match="STEINGLM_STORE"):
        Store(tmp_path / "file" / "runs", MIB, 10)


def test_an_unfinished_write_of_a_running_process_is_left_alone(store: Store) -> None:
    (store.folder / f".{Experiment().key}-{os.getpid()}-00000000").mkdir()
    assert Store(store.folder, MIB, 10).keys() == ()
    assert len(list(store.folder.iterdir())) == 1


def test_many_threads_put_and_get(store: Store) -> None:
    store.max_runs = 4
    experiments = runs(6)
    seen, errors = [], []

    def work() -> None:
        try:
            for experiment in experiments:
                store.put(result(experiment))
                got = store.get(experiment.key)
                seen.append(got is None or got.experiment == experiment)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert all(seen)
    keys = store.keys()
    assert len(keys) == 4
    assert all(store.get(key) is not None for key in keys)

"""The study can be interrupted at any moment and goes on where it was, to the same bytes; what goes wrong is said."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from steinglm.engine import Engine, Settings
from steinglm.exceptions import EngineError
from steinglm.paper import run as running
from steinglm.settings import Experiment
from tests.fake_runs import FAILS
from tests.watching import started_by_hand

FAKE = "tests.fake_runs:train"
STUDY = [
    Experiment(dataset="diabetes", epochs=30, learning_rate=0.001, seed=seed, repeats=2) for seed in range(6)
]


def engine(store: Path, scheduler: str = "") -> Engine:
    return Engine(Settings(workers=1, store=store, scheduler=scheduler), trainer=FAKE)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A cluster started by hand, where the engines of the tests that do not end it compute."""
    with started_by_hand(tmp_path_factory.mktemp("cluster")) as found:
        yield found


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a study that was not interrupted, computed by the engine's own cluster."""
    folder = tmp_path_factory.mktemp("whole")
    with engine(folder / "store") as its:
        running.run(its, STUDY, folder / "paper")
    return folder / "paper"


def test_rows_and_environment(whole: Path) -> None:
    rows = pd.read_parquet(whole / running.TABLES.rows)
    assert set(rows["dataset"]) == {"diabetes"}
    assert set(rows["seed"]) == set(range(6))
    environment = json.loads((whole / running.TABLES.environment).read_text())
    assert {"versions", "processor", "cores", "commit", "seeds", "wall_seconds"} <= set(environment)
    assert environment["seeds"] == list(range(6))
    assert all("initialization_seconds" in experiment for experiment in environment["experiments"])


@pytest.mark.parametrize("after", [0, 1, 4])
def test_interrupted_and_resumed_it_gives_the_same_bytes(
    whole: Path, tmp_path: Path, address: str, after: int
) -> None:
    class Interrupting(Engine):
        left = after + 1

        def submit(self, experiment: Experiment, *, owner: str = "") -> object:  # type: ignore[override]
            if self.left == 0:
                raise KeyboardInterrupt
            self.left -= 1
            return super().submit(experiment, owner=owner)

    with Interrupting(Settings(workers=1, store=tmp_path / "store", scheduler=address), trainer=FAKE) as its:
        with pytest.raises(KeyboardInterrupt):
            running.run(its, STUDY, tmp_path / "paper")
        assert not (tmp_path / "paper" / running.TABLES.rows).exists()
        its.left = -1  # from now on it is as any other
        done, computed = len(its.store.keys()), its.computed
        running.run(its, list(reversed(STUDY)), tmp_path / "paper")
        assert its.computed - computed == len(STUDY) - done
    rows = running.TABLES.rows
    assert (tmp_path / "paper" / rows).read_bytes() == (whole / rows).read_bytes()


def test_a_folder_that_cannot_be_written_is_found_before_the_work(tmp_path: Path, address: str) -> None:
    (tmp_path / "file").write_text("")
    with engine(tmp_path / "store", address) as its:
        with pytest.raises(EngineError, match="cannot be written"):
            running.run(its, STUDY, tmp_path / "file" / "paper")
        assert its.computed == 0


def test_a_full_disk_stops_the_study_and_keeps_what_is_finished(
    tmp_path: Path, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with engine(tmp_path / "store", address) as its:
        running.run(its, STUDY[:2], tmp_path / "paper")

        def full(_: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(its.store, "put", full)
        with pytest.raises(EngineError, match="is the disk full"):
            running.run(its, STUDY, tmp_path / "paper")
        monkeypatch.undo()
        assert {e.key for e in STUDY[:2]} <= set(its.store.keys())


def test_a_failed_experiment_is_an_error(tmp_path: Path, address: str) -> None:
    failing = Experiment(dataset="diabetes", depth=FAILS, epochs=30)
    own = engine(tmp_path / "store", address)
    with own as its, pytest.raises(EngineError, match="the fake data is not there"):
        running.run(its, [failing], tmp_path / "paper")


def test_a_scheduler_that_goes_away_is_an_error_and_nothing_finished_is_lost(tmp_path: Path) -> None:
    slow = [Experiment(dataset="diabetes", epochs=1000, learning_rate=0.02, seed=9)]
    with engine(tmp_path / "store") as its:
        running.run(its, STUDY[:1], tmp_path / "paper")
        connection = its._connection
        assert connection is not None
        timer = threading.Timer(2.0, lambda: connection._dask.close())
        timer.start()
        with pytest.raises(EngineError, match="scheduler"):
            running.run(its, slow, tmp_path / "paper")
        timer.join()
        assert set(its.store.keys()) == {STUDY[0].key}


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    running.write(tmp_path, {"a.json": {"x": 1}})

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(EngineError, match="No space left"):
        running.write(tmp_path, {"a.json": {"x": 2}})
    monkeypatch.undo()
    assert json.loads((tmp_path / "a.json").read_text()) == {"x": 1}
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


def test_on_a_cluster_started_by_hand_it_gives_the_same_bytes(
    whole: Path, tmp_path: Path, address: str
) -> None:
    with engine(tmp_path / "store", address) as its:
        running.run(its, STUDY, tmp_path / "paper")
    assert (tmp_path / "paper" / running.TABLES.rows).read_bytes() == (
        whole / running.TABLES.rows
    ).read_bytes()

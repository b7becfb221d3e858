"""A sweep through the engine: resumed it computes nothing twice and gives the same grid, and it stops at once."""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from steinglm.engine import Engine, Settings
from steinglm.grid import Grid
from steinglm.settings import Experiment
from steinglm.sweep import Axis, Sweep, batches, compute

BASE = Experiment(dataset="diabetes", epochs=3)
ALPHAS, DEPTHS = Axis("alpha", (0.5, 1.0, 1.5, 2.0)), Axis("depth", (1, 3, 4, 5, 6, 0))
SWEEP = Sweep(BASE, ALPHAS, DEPTHS)
TRAINED = Sweep(BASE, ALPHAS, DEPTHS, colour="test_metric")
ENDLESS = Sweep(Experiment(dataset="diabetes", epochs=10_000), ALPHAS, DEPTHS, colour="test_metric")


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    store = tmp_path_factory.mktemp("sweeps")
    with Engine(Settings(workers=1, store=store, scheduler="", per_person=3)) as running:
        yield running


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two alphas of them each, so that a sweep of twenty cells has two."""
    monkeypatch.setattr("steinglm.sweep.settings.TOGETHER", 10)


def follow(grid: Grid, until: Callable[[Grid], bool] = lambda grid: grid.over) -> pd.DataFrame:
    end = time.monotonic() + 300  # a worker starts first, on a busy machine
    while not until(grid):
        assert time.monotonic() < end
        grid.look()
        time.sleep(0.02)
    return grid.table


def finished(grid: Grid) -> int:
    rows = grid.table
    return int((rows["done"] & (rows["error"] == "")).sum())


@pytest.mark.parametrize("sweep", [SWEEP, TRAINED], ids=["untrained", "trained"])
def test_interrupted_and_resumed_it_gives_the_same_grid_and_computes_nothing_twice(
    engine: Engine, sweep: Sweep, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        engine, "settings", replace(engine.settings, per_person=1)
    )  # one batch after the other
    before = engine.computed
    first = Grid(sweep, engine, owner="somebody")
    follow(first, lambda grid: finished(grid) > 0)
    first.stop()
    assert first.over
    stored = engine.store.keys()
    done = sum(batch.key in stored for batch in batches(sweep))
    part, computed = finished(first), engine.computed
    assert 0 < part < 20 and computed > before
    rows = follow(Grid(sweep, engine, owner="somebody else"))
    assert engine.computed - computed == len(batches(sweep)) - done
    pd.testing.assert_frame_equal(rows, compute(sweep))
    again = engine.computed
    pd.testing.assert_frame_equal(follow(Grid(sweep, engine)), rows)
    assert engine.computed == again
    first.resume()
    pd.testing.assert_frame_equal(follow(first), rows)


def test_another_engine_finds_the_cells_on_disk(engine: Engine, tmp_path: Path) -> None:
    rows = follow(Grid(SWEEP, engine))
    with Engine(Settings(workers=1, store=engine.settings.store, scheduler="")) as other:
        pd.testing.assert_frame_equal(follow(Grid(SWEEP, other)), rows)
        assert other.computed == 0


def test_a_cell_that_cannot_be_says_why(engine: Engine) -> None:
    rows = follow(Grid(SWEEP, engine))
    assert rows["done"].all()
    assert (rows["error"] != "").tolist() == [False] * 20 + [True] * 4
    assert rows["error"].iloc[-1].startswith("depth must be 1..200")


def test_it_stops_at_once_and_asks_for_no_more_than_a_person_may_have(engine: Engine) -> None:
    grid = Grid(ENDLESS, engine, owner="somebody")
    follow(grid, lambda grid: sum(run.state == "running" for run in engine.runs()) == 1)
    assert sum(run.active for run in engine.runs()) == 3
    assert not grid.over
    start = time.monotonic()
    grid.stop()
    assert grid.over and not any(run.active for run in engine.runs())
    assert time.monotonic() - start < 0.5
    grid.look()
    assert not any(run.active for run in engine.runs())


def test_what_others_are_looking_at_goes_on(engine: Engine) -> None:
    one, other = Grid(ENDLESS, engine, owner="one"), Grid(ENDLESS, engine, owner="other")
    one.look(), other.look()
    one.look(), other.look()
    one.stop()
    assert sum(run.active for run in engine.runs()) == 3
    other.stop()  # the first has looked a moment ago
    for run in engine.runs():
        run.stop()


def test_a_run_that_was_stopped_elsewhere_is_a_cell_that_says_so(engine: Engine) -> None:
    grid = Grid(ENDLESS, engine, owner="somebody")
    grid.look()
    run = next(run for run in engine.runs() if run.active)
    run.stop("The server is closing.")
    rows = follow(grid, lambda grid: bool((grid.table["error"] == "The server is closing.").any()))
    assert (rows["error"] == "The server is closing.").sum() == 4
    grid.stop()
    grid.resume()
    assert not (grid.table["error"] == "The server is closing.").any()


def test_a_full_engine_is_waited_for(engine: Engine) -> None:
    busy = Grid(ENDLESS, engine, owner="somebody")
    busy.look()
    grid = Grid(
        Sweep(Experiment(dataset="diabetes", seed=1), ALPHAS, Axis("depth", (1,))), engine, owner="somebody"
    )
    grid.look()
    assert "which is the limit" in grid.note and not grid.over
    busy.stop()
    follow(grid)
    assert grid.note == ""

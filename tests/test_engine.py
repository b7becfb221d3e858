"""The engine: one run an experiment, rows without gap or repetition, controls, and what happens when things die.

The trainer is `tests.fake_runs.train`, so that times are known.
"""

import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace

import pandas as pd
import pytest

from steinglm import cluster
from steinglm.datasets import Dataset, hold
from steinglm.engine import Engine, Run, Settings
from steinglm.exceptions import DataUnavailableError, EngineError
from steinglm.worker import Control, _Stopped
from tests.fake_runs import FAILS, KILLS, READS, expected
from tests.watching import FAKE, cpu, endless, fresh, held, started_by_hand, stream, wait, worker_process


@pytest.fixture(scope="module", params=["our own cluster", "a cluster started by hand"])
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """Two workers, in the cluster that comes with the engine, and in one that was there before it.

    A run is at fault when a third worker dies under it, not the sixth, since each takes seconds to come again.
    """
    folder = tmp_path_factory.mktemp("engine")
    with ExitStack() as stack:
        stack.enter_context(pytest.MonkeyPatch.context()).setattr(cluster, "ALLOWED_FAILURES", 2)
        by_hand = "hand" in request.param
        scheduler = stack.enter_context(started_by_hand(folder)) if by_hand else ""
        settings = Settings(
            workers=2, store=folder / "store", active=12, scheduler=scheduler, turn_seconds=1e9
        )
        yield stack.enter_context(Engine(settings, trainer=FAKE))


@pytest.fixture(autouse=True)
def stop_runs(request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    if "engine" in request.fixturenames:
        for run in request.getfixturevalue("engine").runs():
            run.stop()


# One run an experiment


def test_the_stream_and_the_result_are_the_same(engine: Engine) -> None:
    experiment = fresh(epochs=300)
    run = engine.submit(experiment)
    seen = stream(run)
    assert run.state == "finished"
    assert run.epoch == 300
    assert seen == expected(experiment)
    assert run.rows() == seen
    assert run.rows(298) == [row for row in seen if row[2] > 298]
    assert run.rows(300) == []
    assert run.result().experiment == experiment
    assert (run.message, run.error, run.ahead) == ("", "", 0)


def test_rows_come_at_once_and_in_few_messages(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    arrivals: list[tuple[float, int]] = []
    receive = Run.receive

    def count(run: Run, epochs: list[tuple[int, list[tuple[str, int, str, float]]]]) -> None:
        arrivals.append((time.monotonic(), len(epochs)))
        receive(run, epochs)

    monkeypatch.setattr(Run, "receive", count)
    run = engine.submit(fresh(0.002, 1000))
    run.result()
    seconds = arrivals[-1][0] - arrivals[0][0]
    assert sum(epochs for _, epochs in arrivals) == 1001
    assert len(arrivals) <= 25 * seconds + 2


def test_the_same_experiment_from_many_threads_is_one_run(engine: Engine) -> None:
    experiment, computed = fresh(0.005), engine.computed
    with ThreadPoolExecutor(20) as pool:
        runs = list(pool.map(lambda _: engine.submit(replace(experiment)), range(20)))
        assert len(set(map(id, runs))) == 1
        curves = list(pool.map(stream, runs))
    assert all(curve == expected(experiment) for curve in curves)
    assert engine.computed == computed + 1


def test_a_finished_run_comes_from_the_store(engine: Engine) -> None:
    experiment = fresh()
    engine.submit(experiment).result()
    assert engine.store.get(experiment.key) is not None
    settings = replace(engine.settings, scheduler="tcp://127.0.0.1:9")
    other = Engine(settings, trainer=FAKE)
    found = other.find(experiment.key)
    assert found is not None
    assert found.state == "finished"
    assert found.experiment == experiment
    assert found.rows() == expected(experiment)
    assert other.find("0" * 16) is None
    assert other.computed == 0


def test_runs_in_memory_are_bounded(engine: Engine) -> None:
    keys = [engine.submit(fresh(epochs=2)).key for _ in range(5)]
    for run in [engine.find(key) for key in keys]:
        assert run is not None
        run.result()
    other = Engine(replace(engine.settings, kept=3), trainer=FAKE)
    for key in keys:
        other.find(key)
    assert len(other.runs()) <= 4
    assert other.runs()[-1].key == keys[-1]


def test_submit_before_start() -> None:
    with pytest.raises(EngineError, match="start"):
        Engine(trainer=FAKE).submit(fresh())


# Controls


def test_pause_uses_no_processor_and_resume_goes_on(engine: Engine) -> None:
    run = engine.submit(endless(0.005))
    wait(lambda: run.epoch >= 3)
    process = worker_process(run)
    before = cpu(process)
    time.sleep(0.5)
    assert cpu(process) > before
    run.pause()
    assert run.state == "paused"
    epoch, before = held(run), cpu(process)
    time.sleep(2.0)
    assert cpu(process) - before < 0.15
    assert run.epoch == epoch
    run.resume()
    wait(lambda: run.state == "running" and run.epoch > epoch + 3)
    epochs = [row[2] for row in run.rows()]
    assert sorted(set(epochs)) == list(range(run.rows()[-1][2] + 1))
    assert epochs == sorted(epochs)


def test_pause_holds_within_a_mini_batch(engine: Engine) -> None:
    run = engine.submit(endless(0.05, batch_size=1000))
    wait(lambda: run.state == "running")
    process = worker_process(run)
    time.sleep(0.2)
    run.pause()
    time.sleep(0.3)
    before = cpu(process)
    time.sleep(1.0)
    assert cpu(process) - before < 0.1


def test_step_runs_one_epoch(engine: Engine) -> None:
    run = engine.submit(endless())
    wait(lambda: run.epoch >= 2)
    run.step()
    run.pause()
    for _ in range(3):
        epoch = held(run)
        run.step()
        wait(lambda epoch=epoch: run.epoch > epoch)  # type: ignore[misc]
        assert held(run) == epoch + 1
        assert run.state == "paused"


def test_paused_runs_give_their_places_away(engine: Engine) -> None:
    paused = [engine.submit(endless()) for _ in range(2)]
    wait(lambda: all(run.epoch >= 0 for run in paused))
    for run in paused:
        run.pause()
    engine.submit(fresh()).result(60)
    others = [engine.submit(endless()) for _ in range(2)]
    wait(lambda: all(run.state == "running" for run in others))
    late = engine.submit(fresh())
    paused[0].resume()
    time.sleep(0.3)
    assert paused[0].state == "queued"
    assert (paused[0].ahead, late.ahead) == (0, 1)
    others[0].stop()
    wait(lambda: paused[0].state == "running")
    assert late.state == "queued"
    epoch = paused[0].epoch
    wait(lambda: paused[0].epoch > epoch)


@pytest.mark.parametrize("batches", [1, 100_000])
def test_stop_frees_the_worker_within_half_a_second(engine: Engine, batches: int) -> None:
    run = engine.submit(endless(0.03, batch_size=batches))
    wait(lambda: run.state == "running")
    process = worker_process(run)
    time.sleep(0.3)
    run.stop()
    assert run.state == "stopped"
    time.sleep(0.5)
    before = cpu(process)
    time.sleep(0.5)
    assert cpu(process) - before < 0.1
    assert engine.store.get(run.key) is None
    with pytest.raises(EngineError, match="stopped"):
        run.result()


def test_a_paused_run_can_be_stopped_and_started_again(engine: Engine) -> None:
    experiment = fresh(0.01)
    first = engine.submit(experiment)
    wait(lambda: first.epoch >= 2)
    first.pause()
    first.stop()
    kept = first.rows()
    assert kept == expected(experiment)[: len(kept)]
    again = engine.submit(experiment)
    assert again is not first
    assert stream(again) == expected(experiment)
    assert first.rows() == kept


def test_a_run_that_nobody_watches_stops(engine: Engine) -> None:
    quick = replace(engine.settings, idle_seconds=1.5)
    engine.settings, settings = quick, engine.settings
    try:
        unwatched, watched = engine.submit(endless()), engine.submit(endless())
        paused = engine.submit(endless())
        wait(lambda: watched.watch() or not unwatched.active)  # type: ignore[func-returns-value]
        assert unwatched.state == "stopped"
        assert "watched" in unwatched.message
        assert watched.state == "running"
        wait(lambda: watched.watch() or not paused.active)  # type: ignore[func-returns-value]
    finally:
        engine.settings = settings


def test_a_checkpoint_costs_little() -> None:
    control = Control(0, lambda _: None)
    calls = 20_000
    start = time.thread_time()
    for _ in range(calls):
        control.checkpoint()
    assert (time.thread_time() - start) / calls < 50e-6


def test_orders_come_late_twice_and_not_at_all() -> None:
    control = Control(5, lambda _: None)
    control.obey(4, {}, "run")  # a table from before the run was known
    assert not control.stopped
    control.record(7, [])
    control.obey(6, {"run": 9}, "run")
    control.obey(6, {"run": 9}, "run")
    control.checkpoint()
    assert control.limit == 9
    control.obey(8, {"other": None}, "run")
    assert control.stopped
    control.obey(7, {"run": None}, "run")
    with pytest.raises(_Stopped):
        control.checkpoint()


# The queue


def test_the_queue_is_in_order_and_bounded(engine: Engine) -> None:
    runs = [engine.submit(endless()) for _ in range(12)]
    wait(lambda: sum(run.state == "running" for run in runs) == 2)
    assert [run.ahead for run in runs[2:]] == list(range(10))
    assert "3 runs are ahead" in runs[5].message
    with pytest.raises(EngineError, match="12 runs"):
        engine.submit(endless())
    assert engine.submit(runs[7].experiment) is runs[7]
    runs[3].stop()
    wait(lambda: runs[11].ahead == 8)
    last = engine.submit(endless())
    assert last.ahead == 9
    runs[0].stop()
    wait(lambda: runs[2].state == "running")


def test_everybodys_first_run_goes_before_anybodys_second(engine: Engine) -> None:
    others = [engine.submit(endless(), owner=f"busy {i}") for i in range(2)]
    wait(lambda: all(run.state == "running" for run in others))
    greedy = [engine.submit(endless(), owner="greedy") for _ in range(3)]
    modest = engine.submit(endless(), owner="modest")
    late = engine.submit(endless(), owner="late")
    again = engine.submit(endless(), owner="busy 0")
    assert [run.ahead for run in (greedy[0], modest, late, greedy[1], again, greedy[2])] == list(range(6))
    others[1].stop()
    wait(lambda: greedy[0].state == "running")
    assert [run.ahead for run in (modest, late, greedy[1], again, greedy[2])] == list(range(5))
    others[0].stop()
    wait(lambda: modest.state == "running")
    assert [run.ahead for run in (late, again, greedy[1], greedy[2])] == list(range(4))


def test_runs_take_turns_so_that_everybody_sees_something_soon(engine: Engine) -> None:
    before = engine.settings
    engine.settings = replace(before, turn_seconds=0.5)
    try:
        experiments = [fresh(0.01, 300) for _ in range(5)]
        runs = [engine.submit(experiment, owner=str(i)) for i, experiment in enumerate(experiments)]
        wait(lambda: all(run.epoch >= 5 for run in runs))
        assert not any(run.state == "finished" for run in runs)
        second = engine.submit(endless(), owner="0")
        assert second.ahead == 3  # after everybody's first
        for run, experiment in zip(runs, experiments, strict=True):
            assert stream(run) == expected(experiment)
            assert run.message == ""
        wait(lambda: second.epoch >= 1)
    finally:
        engine.settings = before


def test_a_run_that_gave_way_can_be_paused_and_stopped(engine: Engine) -> None:
    before = engine.settings
    engine.settings = replace(before, turn_seconds=0.3)
    try:
        runs = [engine.submit(endless(), owner=str(i)) for i in range(3)]
        wait(lambda: all(run.epoch >= 1 for run in runs))
        wait(lambda: any(run.resumed and "Others have their turn" in run.message for run in runs))
        waits = next(run for run in runs if run.resumed)
        waits.pause()
        at = held(waits)
        assert waits.state == "paused" and held(waits) == at
        waits.resume()
        wait(lambda: waits.epoch > at)
        waits.stop()
        assert waits.state == "stopped"
    finally:
        engine.settings = before


def test_one_person_may_have_so_many_runs(engine: Engine) -> None:
    runs = [engine.submit(endless(), owner="greedy") for _ in range(engine.settings.per_person)]
    with pytest.raises(EngineError, match="you have 4 runs"):
        engine.submit(endless(), owner="greedy")
    assert engine.submit(runs[3].experiment, owner="greedy") is runs[3]
    engine.submit(endless(), owner="modest")
    runs[0].stop()
    engine.submit(endless(), owner="greedy")


def test_a_run_that_takes_too_long_is_stopped_and_pauses_do_not_count(engine: Engine) -> None:
    run = engine.submit(endless())
    wait(lambda: run.state == "running")
    before = engine.settings
    engine.settings = replace(before, run_seconds=1.5)
    try:
        run.pause()
        at, ran = time.monotonic(), run.seconds
        wait(lambda: time.monotonic() - at > 2)
        assert run.state == "paused" and run.seconds == ran
        run.resume()
        wait(lambda: run.state == "stopped")
        assert "stopped after 1.5 seconds, which is the server's limit" in run.message
    finally:
        engine.settings = before


def test_a_run_on_ones_own_table_has_it_and_is_not_stored(engine: Engine) -> None:
    table = pd.DataFrame({"a": [float(i) for i in range(60)]})
    held_ = hold(Dataset("own:0123456789abcdef", table, table["a"] ** 2, "regression", "mine", "Mine"))
    run = engine.submit(fresh(dataset=held_.dataset.name, depth=READS))
    kept = engine.submit(fresh(dataset=held_.dataset.name, depth=READS), keep=True)
    assert run.result().summary["test_metric"].tolist() == [60.0] * 4
    kept.result()
    assert run.held is None and run.key not in engine.store.keys()  # noqa: SIM118
    wait(lambda: kept.key in engine.store.keys())  # noqa: SIM118
    del held_
    with pytest.raises(DataUnavailableError, match="open the file again"):
        engine.submit(fresh(dataset="own:0123456789abcdef"))


# What dies


@pytest.mark.parametrize("paused", [False, True])
def test_a_killed_worker_loses_nothing(engine: Engine, paused: bool) -> None:
    experiment = fresh(0.02, 100)
    run = engine.submit(experiment)
    wait(lambda: run.epoch >= 20)
    process = worker_process(run)
    if paused:
        run.pause()
        epoch = held(run)
    process.send_signal(signal.SIGKILL)
    wait(lambda: "started again" in run.message)
    wait(lambda: "caught up" in run.message)
    if paused:
        assert (run.state, held(run)) == ("paused", epoch)
        run.resume()
    assert stream(run) == expected(experiment)
    assert "caught up" in run.message
    assert run.rows() == expected(experiment)


@pytest.mark.slow
def test_both_workers_killed(engine: Engine) -> None:
    other = engine.submit(endless())
    wait(lambda: other.epoch >= 5)
    experiment = fresh(0.05, 100)
    run = engine.submit(experiment)
    wait(lambda: run.epoch >= 5)
    for process in (worker_process(run), worker_process(other)):
        process.send_signal(signal.SIGKILL)
    wait(lambda: "worker stopped" in run.message)
    assert run.state == "running"
    assert stream(run) == expected(experiment)


def test_an_error_of_the_trainer_reaches_the_page(engine: Engine) -> None:
    run = engine.submit(fresh(depth=FAILS))
    with pytest.raises(EngineError, match="the fake data is not there"):
        run.result(60)
    assert run.state == "failed"
    assert run.error == "the fake data is not there"
    assert run.epoch == 2
    assert engine.submit(run.experiment) is not run


@pytest.mark.slow
def test_a_run_that_kills_every_worker_fails(engine: Engine) -> None:
    run = engine.submit(fresh(depth=KILLS))
    with pytest.raises(EngineError, match="died"):
        run.result(300)
    engine.submit(fresh()).result(60)

"""Runs: submitted once, computed in Dask workers, watched by any number of people, kept on disk when they are done.

Sessions call `Engine.submit` and the methods of `Run` from their threads; these only read and write a few fields under
one lock. One thread, the steward, does everything that talks to Dask: it connects, starts what may start, publishes
what each run may do, and stops what nobody watches. So nothing that a page calls ever waits for a worker.
"""

import itertools
import logging
import threading
import time
from collections import Counter
from contextlib import suppress
from functools import partial
from typing import Any, Self

from steinglm.cluster import LOST, Connection, Settings
from steinglm.datasets import own
from steinglm.exceptions import EngineError
from steinglm.kinds import Runnable
from steinglm.results import Result
from steinglm.run import Run
from steinglm.store import Store

__all__ = ["Engine", "Run", "Settings"]

logger = logging.getLogger(__name__)

TRAINER = "steinglm.kinds:train"
TICK = 1.0  # seconds between the steward's rounds, and between two tables of orders
BUSY_TICK = 0.1  # the same while runs wait for a worker
MEND_EVERY = 5.0  # seconds
TOO_LONG = "This run was stopped after {:g} seconds, which is the server's limit; make it smaller."
UNWATCHED = "Nobody watched this run for {:g} seconds, so it was stopped."


class Engine:
    """Computes experiments in the background; also a context manager.

    Parameters
    ----------
    settings : bounds and folders; the defaults read the environment
    trainer : "module:function", called like `steinglm.kinds.train`; imported in the workers

    Attributes
    ----------
    store : the finished runs on disk
    computed : how many runs were given to the workers
    """

    def __init__(self, settings: Settings | None = None, *, trainer: str = TRAINER) -> None:
        self.settings = settings or Settings()
        self.store = Store(self.settings.store, self.settings.store_bytes, self.settings.store_runs)
        self.computed = 0
        self._trainer = trainer
        self._numbers = itertools.count(1)
        self._lock = threading.RLock()  # never held while calling Dask, whose own threads take it
        self._runs: dict[str, Run] = {}  # by key, oldest first
        self._wake = threading.Event()
        self._closing = False
        self._steward: threading.Thread | None = None
        self._connection: Connection | None = None
        self._ordered = self._mended = 0.0

    def start(self) -> Self:
        """Connect to the cluster, or start our own, whose workers may still be loading when this returns.

        Raises
        ------
        EngineError : no scheduler answers, or our own does not start
        """
        if self._steward is None:
            self._closing = False
            self._connection = self._connect()
            self._steward = threading.Thread(target=self._serve, name="steinglm-steward", daemon=True)
            self._steward.start()
        return self

    def stop(self) -> None:
        """Stop every run, and the cluster if it is our own."""
        if self._steward is not None:
            self._closing = True
            self._wake.set()
            self._steward.join()
            self._steward = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def submit(self, experiment: Runnable, *, owner: str = "", keep: bool | None = None) -> Run:
        """Return the run of this experiment: the one that is there, in memory or on disk, or a new one.

        Parameters
        ----------
        owner : what tells the person from others; runs of one person wait behind the first ones of others
        keep : whether the result may be written to the store; None for all but runs on a person's own table

        Raises
        ------
        EngineError : the engine is not started, or has as many queued, running and paused runs as it may, in all or
            of this owner
        DataUnavailableError : the experiment is on a person's own table, which is not in memory any more
        """
        if self._steward is None:
            raise EngineError("the engine is not running; call start() first")
        dataset = getattr(experiment, "dataset", "")
        held = own.find(dataset) if own.is_own(dataset) else None
        self.find(experiment.key)
        with self._lock:
            run = self._runs.get(experiment.key)
            if run is None or run.state in ("stopped", "failed"):
                self._admit(owner)
                run = self._add(
                    experiment, owner=owner, held=held, keep=held is None if keep is None else keep
                )
                self._changed()
            run.watch()
            return run

    def find(self, key: str) -> Run | None:
        """The run with this key if it is in memory, or finished and on disk; nothing is computed."""
        with self._lock:
            if run := self._runs.get(key):
                return run
        result = self.store.get(key)
        with self._lock:
            if result is not None and key not in self._runs:
                self._add(result.experiment, result=result)
            return self._runs.get(key)

    def runs(self) -> tuple[Run, ...]:
        """The runs in memory, oldest first."""
        with self._lock:
            return tuple(self._runs.values())

    # The state, under the lock

    def _admit(self, owner: str) -> None:
        owners = [run.owner for run in self._runs.values() if run.active]
        if len(owners) >= self.settings.active:
            raise EngineError(
                f"the engine is full: {len(owners)} runs are queued, running or paused, which is its limit; "
                "try again when one has finished, or stop one"
            )
        if owner and owners.count(owner) >= self.settings.per_person:
            raise EngineError(
                f"you have {owners.count(owner)} runs that are queued, running or paused, which is the limit for one "
                "person; try again when one has finished, or stop one"
            )

    def _add(self, experiment: Runnable, **about: Any) -> Run:
        name = f"{experiment.key}-{next(self._numbers)}"
        run = Run(experiment, name, lock=self._lock, changed=self._changed, **about)
        self._runs.pop(run.key, None)
        self._runs[run.key] = run
        over = [key for key, other in self._runs.items() if not other.active and other is not run]
        for key in over[: max(0, len(over) - self.settings.kept)]:
            del self._runs[key]
        return run

    def _changed(self) -> None:
        """Something happened that the steward should act upon."""
        for ahead, run in enumerate(self._waiting()):
            run.ahead = ahead
        self._ordered = 0.0
        self._wake.set()

    def _waiting(self) -> list[Run]:
        """Who has a place next: everybody's first run, then everybody's second; of these the one that ran least."""
        ranks = self._ranks()
        waiting = [run for run in self._runs.values() if run.waits]
        return sorted(waiting, key=lambda run: (ranks[run.name], run.seconds))

    def _ranks(self) -> dict[str, int]:
        """By name, how many active runs of the same owner go before each: those with a place, then the older ones."""
        seen: Counter[str] = Counter()
        ranks = {}
        for run in sorted(self._runs.values(), key=lambda run: not run.occupies):
            if run.active and run.state != "paused":
                ranks[run.name] = seen[run.owner]
                seen[run.owner] += 1
        return ranks

    # The steward's thread, the only one that calls Dask

    def _serve(self) -> None:
        while not self._closing:
            self._wake.clear()
            try:
                self._round()
            except EngineError as error:
                logger.warning("%s", error)
                self._lose(str(error))
            except Exception:  # whatever Dask raises, the engine must come back
                logger.exception("the engine lost its cluster")
                self._lose(LOST)
            with self._lock:
                tick = BUSY_TICK if self._waiting() else TICK
            self._wake.wait(tick)
        for run in self.runs():
            run.stop("The engine was closed.")
        with suppress(Exception):  # a scheduler that is gone already
            self._order()
        self._disconnect()

    def _round(self) -> None:
        active = [run for run in self.runs() if run.active]
        if active and self._connection is None:
            self._connection = self._connect()
        if self._connection is None:
            return
        self._stop_some(active)
        at = [(run, run.worker) for run in active if run.worker]
        workers = self._connection.workers()
        self._note_lost([(run, address) for run, address in at if address not in workers])
        self._dispatch(self._connection, sum(workers.values()))
        if self._connection.busy and time.monotonic() - self._ordered >= TICK:
            self._order()
        if time.monotonic() - self._mended >= MEND_EVERY:
            self._mended = time.monotonic()
            self._connection.mend()

    def _connect(self) -> Connection:
        return Connection(self.settings, self._trainer, self._receive)

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _lose(self, error: str) -> None:
        with self._lock:
            for run in self._runs.values():
                run.fail(error)
        self._disconnect()

    def _stop_some(self, active: list[Run]) -> None:
        """Those that nobody watches, and those that take too long."""
        for run in active:
            if run.seconds > self.settings.run_seconds:
                run.stop(TOO_LONG.format(self.settings.run_seconds))
            elif time.monotonic() - run.watched > self.settings.idle_seconds:
                run.stop(UNWATCHED.format(self.settings.idle_seconds))

    def _note_lost(self, lost: list[tuple[Run, str]]) -> None:
        with self._lock:
            for run, address in lost:
                if run.worker == address:  # else another has begun meanwhile
                    run.missed()

    def _dispatch(self, connection: Connection, places: int) -> None:
        """Give free places to those who wait."""
        with self._lock:
            free = places - sum(run.occupies for run in self._runs.values())
            waiting = self._waiting()
            free += self._take_turns(waiting[max(0, free) :])
            chosen = waiting[: max(0, free)]
            begin = [run for run in chosen if not run.resumed]
            for run in chosen:
                run.take_place()
            if chosen:
                self._changed()
        for run in begin:
            self.computed += 1
            table = run.held.dataset if run.held else None
            connection.begin(run.name, run.experiment.as_dict(), partial(self._settle, run), table)

    def _take_turns(self, waiting: list[Run]) -> int:
        """Let runs whose turn is over give way to those that ran less; how many places that frees."""
        ranks = self._ranks()
        over = [run for run in self._runs.values() if run.occupies and run.turn >= self.settings.turn_seconds]
        over.sort(key=lambda run: (ranks[run.name], run.seconds), reverse=True)
        freed = 0
        for run, next_ in zip(over, waiting, strict=False):
            if (ranks[next_.name], next_.seconds) >= (ranks[run.name], run.seconds):
                break
            run.give_way()
            freed += 1
        return freed

    def _order(self) -> None:
        with self._lock:
            limits = {run.name: run.limit for run in self._runs.values() if run.active}
            self._ordered = time.monotonic()
        if self._connection is not None:
            self._connection.order(limits)

    # What comes from the workers, in Dask's threads

    def _receive(self, message: dict[str, Any]) -> None:
        with self._lock:
            named = (run for run in self._runs.values() if run.active and run.name == message["run"])
            run = next(named, None)
            if run is None:
                return
            if "started" in message:
                run.started(message["started"])
                self._changed()
            else:
                run.receive(message["epochs"])

    def _settle(self, run: Run, result: Result | None, error: str) -> None:
        if not run.active:
            return
        if result is not None and run.keep:
            try:
                self.store.put(result)
            except OSError:
                logger.exception("a finished run could not be stored")
        with self._lock:
            if result is None:
                run.fail(error)
            else:
                run.finish(result)

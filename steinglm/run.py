"""One run of an experiment, as the people who watch it see it: its state, its rows so far, and its controls.

The engine makes runs and moves them on; everything here is fields under the engine's lock, so no call ever waits for
a worker, `Run.result` apart. Rows of a run that Dask started again come twice; runs are deterministic, so an epoch
that is known already is skipped.
"""

import sys
import threading
import time
from bisect import bisect_right
from collections.abc import Callable, Iterable
from typing import Literal

from steinglm.datasets.own import Held
from steinglm.exceptions import EngineError
from steinglm.kinds import Runnable
from steinglm.results import Result

__all__ = ["Row", "Run", "State"]

State = Literal["queued", "running", "paused", "finished", "stopped", "failed"]
Row = tuple[str, int, int, str, float]  # method, repeat, epoch, quantity, value

WAITING = "Waiting for a free worker; {}."
TURNS = "Others have their turn; it goes on in a moment."
LOST_WORKER = "A worker stopped; the run starts again as soon as another one is free."
CATCHING_UP = "A worker stopped; the run was started again and is catching up."
CAUGHT_UP = "A worker stopped; the run was started again and has caught up."
RECENT = 10.0  # seconds; a page looks twice a second, one in a hidden tab more rarely
COLUMNS = ["method", "repeat", "epoch", "quantity", "value"]


class Run:
    """A run. Shared by everybody who submitted the same experiment: what one pauses is paused for all.

    Attributes
    ----------
    key, experiment, owner : as submitted
    held : the person's own table that it trains on, while it is active
    keep : whether its result may be written to the store
    name : unique among all runs of all engines
    state : queued, running, paused, finished, stopped or failed
    ahead : runs that have a place before this one, while it waits
    error : what went wrong, for the page; the log has the details
    """

    def __init__(
        self,
        experiment: Runnable,
        name: str,
        *,
        lock: threading.RLock,
        changed: Callable[[], None],
        owner: str = "",
        result: Result | None = None,
        held: Held | None = None,
        keep: bool = True,
    ) -> None:
        self.key, self.experiment, self.name, self.owner = experiment.key, experiment, name, owner
        self.held, self.keep = held, keep
        self.state: State = "queued" if result is None else "finished"
        self.ahead, self.error = 0, ""
        self.limit: int | None = None  # the last epoch to run, None for all: what the worker is told
        self.occupies = False  # whether it takes a worker's place
        self.worker = ""  # address
        self.watched = time.monotonic()
        self._since: float | None = None  # when it began to run, or to run again
        self._first: float | None = None  # when its first epoch came
        self._ran = 0.0
        self._viewers: dict[str, float] = {}
        self._lock, self._changed, self._result = lock, changed, result
        self._note = ""
        self._rows: list[Row] = []
        self._epochs: list[int] = []
        self._ends: list[int] = []  # rows up to and with each epoch
        self._over = threading.Event()
        if result is not None:
            self._over.set()

    # -- for those who watch ---------------------------------------------------------------------------------------

    @property
    def active(self) -> bool:
        """Whether the run is queued, running or paused."""
        return self.state in ("queued", "running", "paused")

    @property
    def seconds(self) -> float:
        """How long it has been running, without the time in which it waited or was paused."""
        with self._lock:
            return self._ran + (0.0 if self._since is None else time.monotonic() - self._since)

    def _clock(self, runs: bool) -> None:
        self._ran, self._since = self.seconds, time.monotonic() if runs else None

    @property
    def epoch(self) -> int:
        """The last finished epoch; 0 is before training, -1 before anything came."""
        with self._lock:
            if self._result is not None:
                return int(self._result.history["epoch"].max())
            return self._epochs[-1] if self._epochs else -1

    @property
    def message(self) -> str:
        """What the page should say about the run; empty when there is nothing special."""
        with self._lock:
            if self.error:
                return self.error
            if self.state == "queued" and not self._note:
                return WAITING.format(_ahead(self.ahead))
            return self._note

    def rows(self, since: int = -1) -> list[Row]:
        """The rows (method, repeat, epoch, quantity, value) of the epochs after `since`; counts as watching."""
        with self._lock:
            self.watched = time.monotonic()
            if self._result is None:
                known = bisect_right(self._epochs, since)
                return self._rows[self._ends[known - 1] if known else 0 :]
            history = self._result.history
        newer = history.loc[history["epoch"] > since, COLUMNS]
        return list(newer.itertuples(index=False, name=None))

    def result(self, timeout: float | None = None) -> Result:
        """Wait for the result, watching meanwhile.

        Raises
        ------
        EngineError : the run failed or was stopped
        TimeoutError : it is not over after `timeout` seconds
        """
        end = None if timeout is None else time.monotonic() + timeout
        while not self._over.is_set():
            left = 1.0 if end is None else end - time.monotonic()
            if left <= 0:
                raise TimeoutError(f"the run is {self.state} after {timeout} seconds")
            self.watch()
            self._over.wait(min(1.0, left))
        if self._result is None:
            raise EngineError(self.message or f"the run was {self.state}; submit it again to have a result")
        return self._result

    def watch(self, viewer: str = "") -> None:
        """Say that somebody is looking; a run that nobody watches stops after `Settings.idle_seconds`."""
        with self._lock:
            self.watched = time.monotonic()
            if viewer:
                self._viewers[viewer] = self.watched

    def shared(self, viewer: str) -> bool:
        """Whether somebody else than this viewer has looked at the run within the last seconds."""
        with self._lock:
            now = time.monotonic()
            return any(other != viewer and now - seen < RECENT for other, seen in self._viewers.items())

    def pause(self) -> None:
        """Hold a running run where it is; it keeps its memory and gives its place to another run."""
        with self._lock:
            if self.state == "running":
                self.limit = self.epoch
            elif not self.resumed:
                return
            self.state, self.occupies = "paused", False
            self._clock(False)
            self._changed()

    def resume(self) -> None:
        """Let a paused run go on, as soon as there is a place for it."""
        with self._lock:
            if self.state == "paused":
                self.state = "queued"
                self._changed()

    def step(self) -> None:
        """Let a paused run finish one more epoch."""
        with self._lock:
            if self.state == "paused" and self.limit is not None:
                self.limit = max(self.limit, self.epoch) + 1
                self._changed()

    def stop(self, note: str = "") -> None:
        """End the run for everybody; its rows stay, and submitting the experiment again starts from the beginning."""
        with self._lock:
            if self.active:
                self._end("stopped", note)

    # -- for the engine, which holds the lock ----------------------------------------------------------------------

    @property
    def waits(self) -> bool:
        """Whether it wants a worker's place: for its start, or to go on after a pause or after others' turns."""
        return not self.occupies and self.state in ("queued", "running")

    @property
    def resumed(self) -> bool:
        """Whether it waits for going on, and not for its start."""
        return self.waits and self.limit is not None

    @property
    def turn(self) -> float:
        """Seconds that it has had its place and something to show: what loads or initializes is let alone."""
        if self._since is None or self._first is None:
            return 0.0
        return time.monotonic() - max(self._since, self._first)

    def take_place(self) -> None:
        """It has a worker's place: a new run will say when it starts, a resumed one goes on at once."""
        goes_on, self.occupies = self.resumed, True
        if goes_on:
            self.state, self.limit = "running", None
            self._clock(True)
            if self._note == TURNS:
                self._note = ""

    def give_way(self) -> None:
        """Its turn is over: it holds where it is until it has a place again."""
        self.limit, self.occupies = self.epoch, False
        self._clock(False)
        self._note = self._note or TURNS

    def started(self, worker: str) -> None:
        """A worker has begun, for the first time or again."""
        if self.worker:
            self._note = CATCHING_UP
        self.worker = worker
        if self.state == "queued" and not self.resumed:
            self.state = "running"
            self._clock(True)

    def missed(self) -> None:
        """Its worker is gone, and no other has begun yet."""
        if self.active:
            self._note = LOST_WORKER

    def receive(self, epochs: Iterable[tuple[int, Iterable[tuple[str, int, str, float]]]]) -> None:
        """Append the rows of epochs that are not known yet."""
        self._first = self._first or time.monotonic()
        for epoch, rows in epochs:
            last = self._epochs[-1] if self._epochs else -1
            if self._note in (LOST_WORKER, CATCHING_UP) and epoch >= last:
                self._note = CAUGHT_UP
            if epoch <= last:
                continue
            for method, repeat, quantity, value in rows:
                self._rows.append((sys.intern(method), repeat, epoch, sys.intern(quantity), value))
            self._epochs.append(epoch)
            self._ends.append(len(self._rows))
            if self.limit is not None:  # it went a little further before it heard of the pause
                self.limit = max(self.limit, epoch)

    def finish(self, result: Result) -> None:
        """The result has everything; the rows that were streamed are no longer needed."""
        if self.active:
            self._result = result
            self._rows, self._epochs, self._ends = [], [], []
            self._end("finished", "" if self._note in ("", TURNS) else CAUGHT_UP)

    def fail(self, error: str) -> None:
        """End the run with a message for the page."""
        if self.active:
            self.error = error
            self._end("failed", "")

    def _end(self, state: State, note: str) -> None:
        self.state, self._note, self.occupies, self.limit, self.ahead = state, note, False, None, 0
        self.held = None
        self._clock(False)
        self._over.set()
        self._changed()


def _ahead(runs: int) -> str:
    if runs == 0:
        return "this run is the next"
    return "1 run is ahead of this one" if runs == 1 else f"{runs} runs are ahead of this one"

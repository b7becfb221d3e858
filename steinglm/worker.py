"""What runs inside a Dask worker: one experiment, its rows on the way out, its controls on the way in.

Rows leave by `Worker.log_event`, grouped so that a fast run sends about 20 messages a second. Orders arrive on a
topic that the worker's own client subscribes to: each message is the whole table of what the engine wants, numbered,
so a lost or late one does no harm. The trainer calls `Control.checkpoint` after every mini-batch: two comparisons
unless there is something to do. This module imports neither torch nor the trainer before a worker needs them, because
the scheduler imports it too.
"""

import ctypes
import os
import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from functools import partial
from importlib import import_module
from typing import Any, cast

import dask
from distributed import get_client, get_worker, secede

__all__ = ["Control", "embed", "load", "run"]

SEND_EVERY = 0.05  # seconds; 20 messages a second
SILENCE = 30.0  # seconds without orders after which the engine is taken for dead
QUIET = {  # an idle cluster of ours then costs about 7% of a core and not 17%
    "distributed.admin.low-level-log-length": 100,  # messages of a topic that the scheduler remembers
    "distributed.admin.tick.interval": "500ms",
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.worker.profile.enabled": False,
}

_controls: dict[tuple[str, str], "Control"] = {}  # by topic of orders and name of the run


class _Stopped(BaseException):
    """The run is no longer wanted; not an Exception, so that no trainer swallows it."""


class Control:
    """What the engine wants of one run, and the epochs that wait to be sent.

    Parameters
    ----------
    sequence : number of the first table of orders that knows this run
    send : called with a list of (epoch, rows)
    """

    def __init__(self, sequence: int, send: Callable[[list[tuple[int, Any]]], None]) -> None:
        self.sequence, self._send = sequence, send
        self.epoch = -1
        self.limit: int | None = None
        self.stopped = False
        self._changed = threading.Event()
        self._pending: list[tuple[int, Any]] = []
        self._due = 0.0
        self._heard = time.monotonic()
        self._seceded = False

    def obey(self, sequence: int, limits: dict[str, int | None], name: str) -> None:
        """Take this run's entry of the table: None runs freely, an epoch is the last to run, no entry stops."""
        if sequence < self.sequence:
            return
        self.sequence, self._heard = sequence, time.monotonic()
        self.stopped = name not in limits
        self.limit = limits.get(name)
        self._changed.set()

    def record(self, epoch: int, rows: Any) -> None:
        """Note a finished epoch; it is sent at the next checkpoint that is due."""
        self.epoch = epoch
        self._pending.append((epoch, rows))

    def checkpoint(self) -> None:
        """Return at once, or block while the run is paused, or raise when it is stopped."""
        if self.stopped or self._held or time.monotonic() >= self._due:
            self._attend()

    def flush(self) -> None:
        """Send the epochs that wait."""
        if self._pending:
            self._due = time.monotonic() + SEND_EVERY
            self._send(self._pending)
            self._pending = []

    @property
    def _held(self) -> bool:
        return self.limit is not None and self.epoch >= self.limit

    def _attend(self) -> None:
        self.flush()
        self._check()
        while self._held:
            self._free_slot()
            self._changed.wait(1.0)
            self._changed.clear()
            self._check()

    def _check(self) -> None:
        if self.stopped or time.monotonic() - self._heard > SILENCE:
            raise _Stopped

    def _free_slot(self) -> None:
        """Let the worker take another task while this one is paused; the engine counts who may run."""
        if not self._seceded:
            self._seceded = True
            secede()


def _receive(topic: str, event: tuple[float, dict[str, Any]]) -> None:
    _, orders = event
    for (listens_to, name), control in list(_controls.items()):
        if listens_to == topic:
            control.obey(orders["sequence"], orders["limits"], name)


def _listen(topic: str) -> None:
    """Hear the orders to come and the last ones: a run that starts again because a worker died may be paused."""
    client = get_client()
    client.subscribe_topic(topic, partial(_receive, topic))
    for event in client.get_events(topic)[-1:]:
        _receive(topic, event)


def run(
    name: str,
    experiment: dict[str, Any],
    trainer: str,
    topic: str,
    orders: str,
    sequence: int,
    table: Any = None,
) -> Any:
    """Train one experiment in this worker; return its Result, or None when it was stopped.

    Parameters
    ----------
    name : the run's name in the tables of orders, unique
    experiment : its settings, by `as_dict()`
    trainer : "module:function", called as `function(experiment, checkpoint=...)`
    topic, orders : where rows go, where orders come from
    sequence : number of the first table of orders that knows this run
    table : the person's own data set that the experiment names, if it does
    """
    worker = get_worker()

    def send(epochs: list[tuple[int, Any]]) -> None:
        worker.log_event(topic, {"run": name, "epochs": epochs})

    control = _controls[orders, name] = Control(sequence, send)
    try:
        _listen(orders)
        worker.log_event(topic, {"run": name, "started": worker.address})
        return _train(experiment, trainer, control, table)
    except _Stopped:
        return None
    finally:
        control.flush()
        del _controls[orders, name]
        _return_memory()


def _return_memory() -> None:
    """Give the system what the allocator keeps for a next step; only glibc has a word for it."""
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


def _train(experiment: dict[str, Any], trainer: str, control: Control, table: Any) -> Any:
    import torch

    from steinglm.datasets import hold
    from steinglm.kinds import from_dict
    from steinglm.results import Epoch

    held = None if table is None else hold(table)  # can be loaded by its name until this function returns
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # the order of sums, and so the rows, then do not depend on the machine's cores
    result = None
    try:
        with closing(load(trainer)(from_dict(experiment), checkpoint=control.checkpoint)) as items:
            for item in items:
                if isinstance(item, Epoch):
                    # a result's history has no NaN either: a network that has stopped early has no rows
                    control.record(item.epoch, [row for row in item.rows if row[-1] == row[-1]])
                    control.checkpoint()
                else:
                    result = item
    finally:
        torch.set_num_threads(threads)
        del held
    return result


def load(trainer: str) -> Callable[..., Any]:
    """Import a trainer by its name.

    >>> load("json:dumps")([1])
    '[1]'
    """
    module, _, function = trainer.partition(":")
    return cast(Callable[..., Any], getattr(import_module(module), function))


def embed(trainer: str = "", log: str = "") -> None:
    """Prepare a process of our own cluster: quiet, ready to train, and gone when the server is.

    Parameters
    ----------
    trainer : imported now, so that the first run does not wait for it
    log : file for stderr. Dask gives the scheduler a pipe that nobody reads; a full one would block it
    """
    dask.config.set(QUIET)
    if os.name == "posix":
        os.setpgid(0, 0)  # Ctrl-C in a terminal is for the server, which ends its processes in order
        if trainer:
            os.nice(5)  # whoever looks at a page goes first
    if log:
        os.dup2(os.open(log, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600), 2)
    threading.Thread(target=_follow, args=(os.getppid(),), name="follow-parent", daemon=True).start()
    if trainer:
        load(trainer)


def _follow(parent: int) -> None:
    """Exit when the process that started this one is gone; a server killed outright stops nobody."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)

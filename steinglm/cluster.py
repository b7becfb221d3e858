"""Where runs are computed: a Dask cluster of our own in subprocesses, or one that somebody else started.

Our own listens on the loopback address only and needs nothing but this machine. `Settings` holds every bound of the
engine; each default can be overridden by an environment variable.
"""

import logging
import math
import os
import shutil
import tempfile
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dask
from dask.system import CPU_COUNT
from dask.utils import parse_bytes
from distributed import CancelledError, Client, Future, KilledWorker, SpecCluster
from distributed.core import Status
from distributed.deploy.subprocess import SubprocessCluster

from steinglm import worker
from steinglm.checks import variable
from steinglm.datasets.dataset import Dataset
from steinglm.exceptions import EngineError, InvalidInputError, SteinGLMError

__all__ = ["Connection", "Settings"]

logger = logging.getLogger(__name__)

CONNECT_TIMEOUT = 10  # seconds
ALLOWED_FAILURES = 5  # workers that may die under one run before the run is at fault
# glibc's thresholds, in bytes: memory that one step frees stays for the next. Dask's own 64 kB give it back and take it
# anew, page by page, which is two fifths of a convolutional network's time. Between runs `worker.run` gives it back.
ALLOCATOR = {"MALLOC_TRIM_THRESHOLD_": str(1 << 28), "MALLOC_MMAP_THRESHOLD_": str(1 << 25)}
LOST = "the engine lost its Dask scheduler, and the run with it; start the run again"
SILENT = "the worker heard nothing of the engine for too long and gave up; start the run again"
KILLED = (
    "the workers that trained this run died one after the other, perhaps for lack of memory; make it smaller"
)


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "steinglm" / "runs"


def _from(name: str, kind: Callable[[str], Any], default: Any) -> Any:
    return field(default_factory=lambda: variable(name, kind, default))


@dataclass(frozen=True)
class Settings:
    """The bounds of the engine; an argument wins over the variable, the variable over the default.

    Parameters
    ----------
    workers : processes that train, STEINGLM_WORKERS, default the number of cores
    memory : bytes that a worker may use before it is restarted, STEINGLM_MEMORY ("2GiB"), default 2 GiB
    active : runs that are queued, running or paused at one time, STEINGLM_ACTIVE, default 40
    per_person : those of one person among them, STEINGLM_PER_PERSON, default 4
    turn_seconds : after which a run gives way to one that ran less, STEINGLM_TURN_SECONDS, default 3
    run_seconds : how long a run may take while it is running, STEINGLM_RUN_SECONDS, default without end
    kept : finished and stopped runs kept in memory, STEINGLM_KEPT, default 32
    store : folder of finished runs, STEINGLM_STORE, default steinglm/runs in the user's cache
    store_bytes, store_runs : bounds of that folder, STEINGLM_STORE_BYTES, STEINGLM_STORE_RUNS, default 1 GiB and 500
    idle_seconds : a run that nobody watched for so long stops, STEINGLM_IDLE_SECONDS, default 60
    scheduler : address of an existing cluster, DASK_SCHEDULER_ADDRESS; empty: a cluster of our own. On an existing
        one `workers` and `memory` have no effect
    """

    workers: int = _from("STEINGLM_WORKERS", int, CPU_COUNT)
    memory: int = _from("STEINGLM_MEMORY", parse_bytes, 2 * 2**30)
    active: int = _from("STEINGLM_ACTIVE", int, 40)
    per_person: int = _from("STEINGLM_PER_PERSON", int, 4)
    turn_seconds: float = _from("STEINGLM_TURN_SECONDS", float, 3.0)
    run_seconds: float = _from("STEINGLM_RUN_SECONDS", float, math.inf)
    kept: int = _from("STEINGLM_KEPT", int, 32)
    store: Path = field(default_factory=lambda: variable("STEINGLM_STORE", Path, _cache()))
    store_bytes: int = _from("STEINGLM_STORE_BYTES", parse_bytes, 2**30)
    store_runs: int = _from("STEINGLM_STORE_RUNS", int, 500)
    idle_seconds: float = _from("STEINGLM_IDLE_SECONDS", float, 60.0)
    scheduler: str = _from("DASK_SCHEDULER_ADDRESS", str, "")

    def __post_init__(self) -> None:
        positive = (
            "workers", "memory", "active", "per_person", "turn_seconds", "run_seconds", "kept", "store_bytes",
            "store_runs", "idle_seconds",
        )  # fmt: skip
        for name in positive:
            value = getattr(self, name)
            if not value > 0:
                raise InvalidInputError(name, "greater than 0", value, "leave it out for the default")


class Connection:
    """A Dask client, the cluster behind it where that is ours, and the tasks that were given to it.

    Parameters
    ----------
    settings : the address of a cluster, or the size of our own
    trainer : "module:function", imported in the workers
    receive : called with each message of a worker (see `steinglm.worker.run`), in Dask's thread

    Raises
    ------
    EngineError : no scheduler answers, or our own does not start
    """

    def __init__(self, settings: Settings, trainer: str, receive: Callable[[dict[str, Any]], None]) -> None:
        self._settings, self._trainer, self._scratch = settings, trainer, ""
        self._topic = f"steinglm-{uuid.uuid4().hex}"
        self._sequence = 0  # of the last table of orders
        self._futures: dict[str, Future[Any]] = {}
        self._client: Client | None = None
        self._cluster: SpecCluster | None = None
        try:
            if not settings.scheduler:
                self._scratch = tempfile.mkdtemp(prefix="steinglm-")
                self._cluster = _own_cluster(settings, trainer, self._scratch)
            address = self._cluster or settings.scheduler
            self._client = Client(address, timeout=CONNECT_TIMEOUT, set_as_default=False)
            self._client.subscribe_topic(self._topic, lambda event: receive(event[1]))
        except (OSError, RuntimeError, ValueError) as error:
            self.close()
            raise EngineError(_why(settings)) from error

    @property
    def _dask(self) -> Client:
        if self._client is None or self._client.status != "running":
            raise EngineError(LOST)
        return self._client

    @property
    def busy(self) -> bool:
        """Whether tasks were given and not yet seen to be over."""
        return bool(self._futures)

    def workers(self) -> dict[str, int]:
        """Threads of each worker by its address."""
        return dict(self._dask.nthreads())

    def begin(
        self,
        name: str,
        experiment: dict[str, Any],
        settle: Callable[[Any, str], None],
        table: Dataset | None = None,
    ) -> None:
        """Give a run to a worker; `settle(result, error)` is called once when it is over, in Dask's thread.

        A person's own `table` goes with the task, so that it is in memory only: data that Dask holds may be spilled.
        """
        arguments = name, experiment, self._trainer, self._topic, self._orders, self._sequence + 1, table
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1GB"}):
            future = self._dask.submit(worker.run, *arguments, key=f"{self._topic}-{name}", pure=False)
        self._futures[name] = future
        future.add_done_callback(lambda done: settle(*_outcome(name, done)))

    def order(self, limits: dict[str, int | None]) -> None:
        """Say what each run may do: go on freely (None), up to an epoch, or, without an entry, no further."""
        self._sequence += 1
        self._dask.log_event(self._orders, {"sequence": self._sequence, "limits": limits})
        over = [self._futures.pop(name) for name in list(self._futures) if name not in limits]
        if unfinished := [future for future in over if not future.done()]:
            self._dask.cancel(unfinished)

    @property
    def _orders(self) -> str:
        return f"{self._topic}-orders"

    def mend(self) -> None:
        """Start again those of our own workers whose process is gone."""
        if self._cluster is not None:
            self._cluster.scale(self._settings.workers)

    def close(self) -> None:
        """Disconnect; stop the cluster where it is ours."""
        if self._cluster is not None and self._client is not None and self._client.status != "running":
            scheduler: Any = self._cluster.scheduler
            scheduler.status = Status.failed  # else Dask tries for minutes to say goodbye to it
            self._cluster.shutdown_scheduler = False
            with suppress(ProcessLookupError):
                scheduler.process.kill()
        for part in (self._client, self._cluster):
            if part is not None:
                try:
                    part.close(timeout=CONNECT_TIMEOUT)
                except Exception:  # a half-dead cluster raises whatever it likes, and we want to be rid of it
                    logger.info("while closing %r", part, exc_info=True)
                    part.status = Status.closed  # nothing of it is left to be closed when it is collected
        if self._scratch:
            shutil.rmtree(self._scratch, ignore_errors=True)


def _outcome(name: str, future: Future[Any]) -> tuple[Any, str]:
    """The result and "", or None and what the page should say."""
    try:
        result = future.result()
    except CancelledError:
        return None, LOST
    except Exception as error:
        code = uuid.uuid4().hex[:8]
        logger.exception("run %s failed, error %s", name, code)
        if isinstance(error, KilledWorker):
            return None, KILLED
        if isinstance(error, SteinGLMError):
            return None, str(error)
        return None, f"the run failed; the server's log has the details under {code}"
    return result, "" if result is not None else SILENT


def _why(settings: Settings) -> str:
    if settings.scheduler:
        return f"no Dask scheduler answers at {settings.scheduler}; start it, or unset DASK_SCHEDULER_ADDRESS"
    return "the engine's own Dask cluster did not start; see the server's log"


def _own_cluster(settings: Settings, trainer: str, scratch: str) -> SpecCluster:
    for name, value in {"DASK_LOGGING__DISTRIBUTED": "warning", **ALLOCATOR}.items():
        os.environ.setdefault(name, value)  # the children read it as they start
    embed = "from steinglm.worker import embed; embed({})".format
    http = {"dashboard": False, "dashboard_address": "127.0.0.1:0"}  # the default is every interface
    scheduler = {
        "scheduler_file": os.path.join(scratch, "scheduler.json"),
        "allowed_failures": ALLOWED_FAILURES,
        "preload": [embed(f"log={os.path.join(scratch, 'scheduler.log')!r}")],
    }
    trains = {
        "memory_limit": settings.memory,
        "local_directory": scratch,
        "preload": [embed(f"trainer={trainer!r}")],
        "preload_nanny": [embed("")],
    }
    return SubprocessCluster(
        host="127.0.0.1",
        n_workers=settings.workers,
        threads_per_worker=1,
        scheduler_kwargs=http | scheduler,
        worker_kwargs=http | trains,
        silence_logs=logging.ERROR,
    )

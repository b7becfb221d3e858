"""A sweep on its way through an engine: batches are submitted a few at a time, and cells are known as these finish.

What is finished stays in the engine's store, so that the same sweep, asked for again, computes nothing twice.
"""

import pandas as pd

from steinglm.engine import Engine, Run
from steinglm.exceptions import EngineError
from steinglm.sweep import Batch, Sweep, batches, table

__all__ = ["Grid"]

STOPPED = "It was stopped; resume the sweep to compute it."


class Grid:
    """The cells of a sweep, as far as they are known. Somebody has to `look` again and again until it is `over`.

    Parameters
    ----------
    owner, keep : as in `Engine.submit`; with an owner no more runs are asked for at a time than one person may have

    Attributes
    ----------
    stopped : whether it was stopped; `resume` lets it go on
    note : why it waits, for the page; empty when there is nothing special
    """

    def __init__(self, sweep: Sweep, engine: Engine, *, owner: str = "", keep: bool | None = None) -> None:
        self.sweep, self.stopped, self.note = sweep, False, ""
        self._engine, self._owner, self._keep = engine, owner, keep
        self._waiting = list(batches(sweep))
        self._active: dict[Batch, Run] = {}
        self._known: dict[Batch, pd.DataFrame | str] = {}

    @property
    def over(self) -> bool:
        """Whether there is nothing to wait for."""
        return not self._active and (self.stopped or not self._waiting)

    @property
    def incomplete(self) -> bool:
        """Whether there is something to resume: cells that were left when it was stopped, or whose runs failed."""
        return bool(self._waiting) or any(isinstance(found, str) for found in self._known.values())

    @property
    def table(self) -> pd.DataFrame:
        """See `sweep.table`."""
        return table(self.sweep, self._known)

    def look(self) -> None:
        """Take what has finished, and submit what may be submitted; waits for nothing.

        Raises
        ------
        DataUnavailableError : the base is on a person's own table, which is not in memory any more
        """
        for batch, run in list(self._active.items()):
            run.watch(self._owner)
            if not run.active:
                self._take(batch, self._active.pop(batch))
        self.note = ""
        settings = self._engine.settings
        most = settings.per_person if self._owner else settings.active
        while self._waiting and not self.stopped and len(self._active) < most:
            batch = self._waiting[0]
            try:
                run = self._engine.submit(batch, owner=self._owner, keep=self._keep)
            except EngineError as err:  # it is full: there may be room at the next look
                self.note = str(err)
                break
            del self._waiting[0]
            if run.active:
                self._active[batch] = run
            else:
                self._take(batch, run)

    def stop(self) -> None:
        """Stop at once what nobody else is looking at; what is finished stays."""
        self.stopped = True
        for run in self._active.values():
            if not run.shared(self._owner):
                run.stop(STOPPED)
        self._waiting = [*self._active, *self._waiting]
        self._active = {}

    def resume(self) -> None:
        """Go on after a stop, and try again what has failed."""
        failed = [batch for batch, found in self._known.items() if isinstance(found, str)]
        self._waiting = [*failed, *self._waiting]
        self._known = {batch: found for batch, found in self._known.items() if batch not in failed}
        self.stopped = False

    def _take(self, batch: Batch, run: Run) -> None:
        done = run.state == "finished"
        self._known[batch] = run.result().summary if done else run.message or STOPPED

"""Stopping a run that others watch only leaves it."""

import threading

from steinglm.experiment import Experiment
from steinglm.run import RECENT, Run


def run() -> Run:
    return Run(Experiment(), "name", lock=threading.RLock(), changed=lambda: None)


def test_a_run_is_shared_while_somebody_else_looks() -> None:
    watched = run()
    watched.watch("me")
    assert not watched.shared("me")
    watched.watch("you")
    assert watched.shared("me")


def test_who_looked_long_ago_has_gone() -> None:
    watched = run()
    watched.watch("you")
    watched._viewers["you"] -= RECENT + 1
    assert not watched.shared("me")

"""What one person may ask of a server that many share; a teacher sets each bound by an environment variable."""

from steinglm.checks import bound
from steinglm.exceptions import InvalidInputError
from steinglm.kinds import AnyExperiment
from steinglm.sweep import Sweep

__all__ = ["CAPS", "check_networks", "check_sweep", "most"]

CAPS = {"depth": 100, "width": 200, "repeats": 20, "epochs": 1000, "networks": 80, "cells": 400}


def most(name: str) -> int:
    """The largest value that the page offers of a setting, from STEINGLM_MAX_DEPTH and so on.

    Raises
    ------
    InvalidInputError : a variable that is no whole number of 1 or more

    >>> most("depth")
    100
    """
    return min(bound(f"STEINGLM_MAX_{name.upper()}", CAPS[name]), CAPS[name])


def check_networks(experiment: AnyExperiment) -> None:
    """Refuse more networks in one run than the server takes.

    Raises
    ------
    InvalidInputError : methods times repeats are too many
    """
    methods, repeats = len(experiment.methods), experiment.repeats
    if methods * repeats > most("networks"):
        got = f"{methods} methods x {repeats} repeats"
        cure = "ask for fewer repeats or methods"
        raise InvalidInputError("methods x repeats", f"at most {most('networks')} on this server", got, cure)


def check_sweep(sweep: Sweep) -> None:
    """Refuse a sweep of more cells, or of larger networks, than the server takes.

    Raises
    ------
    InvalidInputError : too many cells, or a depth or width beyond `most`
    """
    if len(sweep.cells) > most("cells"):
        got = f"{len(sweep.x.values)} x {len(sweep.y.values)}"
        raise InvalidInputError(
            "the sweep", f"at most {most('cells')} cells on this server", got, "take fewer steps"
        )
    for axis in (sweep.x, sweep.y):
        if axis.name in ("depth", "width"):
            largest = max(value or 0 for value in axis.values)
            if largest > most(axis.name):
                expected = f"at most {most(axis.name)} on this server"
                raise InvalidInputError(axis.name, expected, largest, "end the axis there")

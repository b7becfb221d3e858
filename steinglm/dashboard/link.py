"""The link: an experiment as the query of a URL, and back.

Only what differs from the defaults is written, beside a version `v` that names the defaults that were meant: a later
version may change a default and an old link still means what it meant. Reading trusts nothing: what cannot be used
falls back to the default, and a message says so.
"""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from steinglm.exceptions import InvalidInputError
from steinglm.settings import Experiment

__all__ = ["VERSION", "decode", "encode"]

VERSION = "1"
# The defaults that a link of each version leaves out. Never edit an entry: add one with a new version.
DEFAULTS: dict[str, dict[str, Any]] = {
    "1": {
        "dataset": "abalone",
        "depth": 10,
        "width": None,
        "activation": "tanh",
        "alpha": None,
        "score": "standardized",
        "methods": ("steinglm", "glorot_normal", "he_normal", "orthogonal"),
        "output": "paper",
        "epochs": 200,
        "batch_size": None,
        "learning_rate": 1e-3,
        "repeats": 1,
        "seed": 0,
        "target_loss": None,
        "patience": None,
        "time_budget": None,
    }
}
WHOLE = {"depth", "width", "epochs", "batch_size", "repeats", "seed", "patience"}
REAL = {"learning_rate", "target_loss", "time_budget"}
LONGEST = 200  # characters of a value that are worth reading


def encode(experiment: Experiment) -> dict[str, str]:
    """The query of an experiment's link.

    >>> encode(Experiment(depth=40, alpha=1.6))
    {'v': '1', 'depth': '40', 'alpha': '1.6'}
    """
    values = {name: getattr(experiment, name) for name in DEFAULTS[VERSION]}
    changed = {name: value for name, value in values.items() if value != DEFAULTS[VERSION][name]}
    return {"v": VERSION} | {name: _text(value) for name, value in changed.items()}


def decode(query: Mapping[str, str]) -> tuple[Experiment, list[str]]:
    """The experiment of a link's query, and a message for each part of it that could not be used.

    >>> experiment, messages = decode({"v": "1", "depth": "40", "seed": "<b>"})
    >>> experiment.depth, experiment.seed, messages
    (40, 0, ["The link's seed could not be used and is left at its default."])
    """
    version = query.get("v", VERSION)
    messages = (
        [] if version in DEFAULTS else ["The link is of an unknown version and may mean something else."]
    )
    settings = dict(DEFAULTS.get(version, DEFAULTS[VERSION]))
    for field in fields(Experiment):
        if field.name in query:
            try:
                value = _value(field.name, query[field.name])
                Experiment(**(settings | {field.name: value}))
                settings[field.name] = value
            except (InvalidInputError, ValueError):
                name = field.name.replace("_", " ")
                messages.append(f"The link's {name} could not be used and is left at its default.")
    return Experiment(**settings), messages


def _text(value: object) -> str:
    if isinstance(value, tuple):
        return ",".join(value)
    return "default" if value is None else repr(value) if isinstance(value, float) else str(value)


def _value(name: str, text: str) -> Any:
    if len(text) > LONGEST:
        raise ValueError(name)
    if name == "methods":
        return tuple(text.split(","))
    if text == "default":
        return None
    if name in WHOLE:
        return int(text)
    return float(text) if name in REAL or (name == "alpha" and text != "auto") else text

"""What a person decides about a table of their own, and a sensible guess where they do not."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from steinglm.checks import check_choice
from steinglm.datasets.dataset import Task
from steinglm.exceptions import InvalidInputError
from steinglm.responses import TASKS
from steinglm.tables.columns import Column

__all__ = [
    "MISSING", "NONE_MADE", "TAILS", "Choices", "Tails", "guess", "guess_target", "incomplete", "infer_task",
    "inputs_of", "named", "targets",
]  # fmt: skip

Missing = Literal["drop", "impute"]
Tails = Literal["keep", "rank", "log"]
MISSING: tuple[Missing, ...] = ("drop", "impute")
TAILS: tuple[Tails, ...] = ("keep", "rank", "log")
LIKELY = (
    "target",
    "y",
    "label",
    "class",
    "response",
    "outcome",
    "output",
    "result",
    "price",
    "quality",
    "score",
)
FEW_VALUES = 10  # whole numbers of no more different values are classes
AT_MOST_LOST = 0.05  # share of the rows that may be dropped before imputing is the better guess


@dataclass(frozen=True)
class Choices:
    """What a person decides about a table; None is for `guess` to fill in.

    target : the name of the response's column; None for one that is called like a response, or the last
    task : "regression", "binary" or "multiclass"
    missing : rows with a missing input are dropped, or filled in with the median, the most frequent value, or a level
        of their own
    tails : what becomes of inputs with heavy tails: kept, normal scores of their ranks, or signed logarithms
    leave_out : names of columns
    """

    target: str | None = None
    task: Task | None = None
    missing: Missing | None = None
    tails: Tails = "keep"
    leave_out: tuple[str, ...] = ()


NONE_MADE = Choices()


def targets(columns: Sequence[Column]) -> list[str]:
    """The columns that may be a response."""
    return [column.name for column in columns if column.usable]


def guess_target(columns: Sequence[Column]) -> str:
    """The column that is called like a response, else the last that may be one.

    Raises
    ------
    InvalidInputError : no column varies
    """
    names = targets(columns)
    if not names:
        raise InvalidInputError(
            "table", "a column of numbers or categories that varies", "none", "choose another"
        )
    known = {name.casefold().strip(): name for name in reversed(names)}
    return next((known[likely] for likely in LIKELY if likely in known), names[-1])


def infer_task(column: Column) -> Task:
    """Two values are two classes; texts, and whole numbers of at most ten values, classes; the rest is a regression."""
    if column.distinct == 2:
        return "binary"
    if column.kind == "category":
        return "multiclass"
    whole = bool((column.values.dropna() % 1 == 0).all())
    return "multiclass" if whole and column.distinct <= FEW_VALUES else "regression"


def guess(columns: Sequence[Column], choices: Choices = NONE_MADE) -> Choices:
    """Choices without a None, those that a person has made among them.

    Raises
    ------
    InvalidInputError : a target that is no usable column of the table, an unknown task or word
    """
    for name in choices.leave_out:
        check_choice("leave_out", name, tuple(column.name for column in columns))
    target = guess_target(columns) if choices.target is None else choices.target
    own = named(columns, target)
    chosen = replace(choices, target=target)
    task = chosen.task or infer_task(own)
    check_choice("task", task, TASKS)
    check_choice("tails", chosen.tails, TAILS)
    if chosen.missing is None:
        lost = incomplete(inputs_of(columns, chosen)).sum() / max(len(own.values), 1)
        missing: Missing = "impute" if lost > AT_MOST_LOST else "drop"
    else:
        check_choice("missing", chosen.missing, MISSING)
        missing = chosen.missing
    return replace(chosen, task=task, missing=missing)


def named(columns: Sequence[Column], name: str) -> Column:
    """The column that is to be the response.

    Raises
    ------
    InvalidInputError : none of this name, or one that cannot be a response
    """
    names = targets(columns)
    check_choice("target", name, tuple(column.name for column in columns))
    own = next(column for column in columns if column.name == name)
    if not own.usable:
        got = f"{name!r}, which is of kind {own.kind} ({own.note})"
        raise InvalidInputError(
            "target", f"one of {', '.join(names) or 'none'}", got, "choose another column"
        )
    return own


def inputs_of(columns: Sequence[Column], choices: Choices) -> list[Column]:
    """The columns that the networks are to see."""
    return [
        column
        for column in columns
        if column.usable and column.name != choices.target and column.name not in choices.leave_out
    ]


def incomplete(columns: Sequence[Column]) -> np.ndarray:
    """Which rows miss a value."""
    gone = np.zeros(len(columns[0].values) if columns else 0, dtype=bool)
    for column in columns:
        gone |= column.values.isna().to_numpy()
    return gone

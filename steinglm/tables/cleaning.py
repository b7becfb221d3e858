"""From understood columns to a data set that the networks can take, and a report of all that was done on the way."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, Self

import numpy as np
import pandas as pd
from scipy.stats import norm, rankdata

from steinglm.checks import check_choice
from steinglm.datasets.dataset import Dataset, Task
from steinglm.exceptions import InvalidInputError
from steinglm.responses import TASKS
from steinglm.tables.columns import Column
from steinglm.tables.limits import Limits
from steinglm.tables.raw import USUAL

__all__ = [
    "MISSING", "TAILS", "Choices", "Cleaned", "clean", "guess", "guess_target", "heavy", "infer_task", "leaks",
    "targets",
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
MOST_CLASSES = 50
FEWEST = 20  # rows of a table: ten are then left to train on
FEWEST_OF_CLASS = 10
OFTEN = 5  # rows in which a level must come up to have a column of its own
LEVELS = (20, 10, 5, 3, 2)  # of a category: as many as the bound on encoded columns allows
RARE = 0.005  # share of the rows below which a level is rare
HEAVY = 30.0  # kurtosis, of a normal distribution 3
COPY = 0.999  # rank correlation, or share of the rows whose class a column tells
ENOUGH = 50  # rows that tell a copy from chance
OTHER, ABSENT = "(other)", "(missing)"
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


@dataclass(frozen=True, eq=False)
class Cleaned:
    """A data set, the choices that made it, and what was done: (column or "rows", what and why), in order.

    inputs : how many columns of the table became inputs
    encoded : how many columns these are once each level is a column
    """

    dataset: Dataset
    choices: Choices
    report: tuple[tuple[str, str], ...]
    rows_read: int
    inputs: int
    encoded: int

    def after(self, notes: Sequence[str]) -> Self:
        """With the reader's notes before the rest of the report."""
        return replace(self, report=(*(("file", note) for note in notes), *self.report))


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
    own = _named(columns, target)
    chosen = replace(choices, target=target)
    task = chosen.task or infer_task(own)
    check_choice("task", task, TASKS)
    check_choice("tails", chosen.tails, TAILS)
    if chosen.missing is None:
        lost = _incomplete(_inputs(columns, chosen)).sum() / max(len(own.values), 1)
        missing: Missing = "impute" if lost > AT_MOST_LOST else "drop"
    else:
        check_choice("missing", chosen.missing, MISSING)
        missing = chosen.missing
    return replace(chosen, task=task, missing=missing)


def _named(columns: Sequence[Column], name: str) -> Column:
    names = targets(columns)
    check_choice("target", name, tuple(column.name for column in columns))
    own = next(column for column in columns if column.name == name)
    if not own.usable:
        got = f"{name!r}, which is of kind {own.kind} ({own.note})"
        raise InvalidInputError(
            "target", f"one of {', '.join(names) or 'none'}", got, "choose another column"
        )
    return own


def _inputs(columns: Sequence[Column], choices: Choices) -> list[Column]:
    return [
        column
        for column in columns
        if column.usable and column.name != choices.target and column.name not in choices.leave_out
    ]


def _incomplete(columns: Sequence[Column]) -> np.ndarray:
    """Which rows miss a value."""
    gone = np.zeros(len(columns[0].values) if columns else 0, dtype=bool)
    for column in columns:
        gone |= column.values.isna().to_numpy()
    return gone


def heavy(columns: Sequence[Column], target: str) -> list[str]:
    """The inputs whose tails are so heavy that a few rows would have most of a moment's weight."""
    found = []
    for column in columns:
        if column.kind == "number" and column.name != target:
            values = column.values.dropna().to_numpy(dtype=float)
            spread = values - values.mean()
            spread = spread / np.abs(spread).max()
            if (spread**4).mean() > HEAVY * (spread**2).mean() ** 2:
                found.append(column.name)
    return found


def leaks(columns: Sequence[Column], target: str, task: Task) -> list[tuple[str, str]]:
    """The inputs that all but repeat the response, and how: what is learned from them is nothing new."""
    own = _named(columns, target)
    found = []
    for column in columns:
        if column.usable and column.name != target:
            both = (column.values.notna() & own.values.notna()).to_numpy()
            share = _likeness(column.values[both], own.values[both], task) if both.sum() >= ENOUGH else 0.0
            if share >= COPY:
                how = (
                    "has nearly the order of the response"
                    if task == "regression"
                    else "tells nearly every class"
                )
                found.append(
                    (column.name, f"{how} ({share:.2%}); leave it out unless it is known beforehand")
                )
    return found


def _likeness(values: pd.Series, response: pd.Series, task: Task) -> float:
    """The rank correlation with a number; with classes the share of rows whose class the value tells, of the rest."""
    codes, _ = pd.factorize(response)
    if task == "regression":
        x = values if values.dtype == float else pd.Series(pd.factorize(values)[0], values.index)
        a, b = rankdata(x), rankdata(response)
        return float(abs(np.corrcoef(a, b)[0, 1])) if np.ptp(a) and np.ptp(b) else 0.0
    shares: np.ndarray = np.bincount(codes) / len(codes)
    if values.dtype == float:
        # sorted by a number that tells them, the classes change as often as there are others
        changes = int(np.count_nonzero(np.diff(codes[values.to_numpy().argsort(kind="stable")])))
        surplus = max(0, changes - (len(shares) - 1))
        by_chance = (len(codes) - 1) * (1 - float(np.sum(shares**2)))
        return 1 - surplus / by_chance if by_chance else 0.0
    table: np.ndarray = pd.crosstab(values.to_numpy(), codes).to_numpy(dtype=float)
    told, commonest = np.sum(table.max(1)) / len(codes), np.max(shares)
    repeats = len(codes) >= 2 * len(table)
    return float((told - commonest) / (1 - commonest)) if commonest < 1 and repeats else 0.0


def clean(
    columns: Sequence[Column],
    choices: Choices = NONE_MADE,
    *,
    title: str = "Own data",
    limits: Limits = USUAL,
) -> Cleaned:
    """Make a data set of the columns as the choices say.

    Raises
    ------
    InvalidInputError : a response of one value or of too many classes, too few rows or no input that is left, more
        columns than the bound once categories are encoded; with what to do
    """
    chosen = guess(columns, choices)
    report: list[tuple[str, str]] = [
        (column.name, f"{'left out: ' if not column.usable else ''}{column.note}")
        for column in columns
        if column.note
    ]
    report += [(name, "left out by choice") for name in chosen.leave_out]
    target = str(chosen.target)
    response, kept = _response(_named(columns, target), chosen, report)
    inputs = _inputs(columns, chosen)
    if not inputs:
        raise InvalidInputError(
            "table", "one input beside the response", "none", "choose another table or target"
        )
    kept = _rows(inputs, kept, chosen, report)
    if kept.sum() < FEWEST:
        cure = "choose to impute missing values, leave out a column, or take another response"
        raise InvalidInputError("table", f"{FEWEST} or more rows that can be used", int(kept.sum()), cure)
    tails = set(heavy(columns, target)) if chosen.tails != "keep" else set()
    most = _levels(inputs, limits)
    parts = {}
    for column in inputs:
        values = column.values[kept].reset_index(drop=True)
        if column.kind == "category":
            values = _levelled(column.name, values, most, report)
            if values.nunique() == 1:
                continue
        else:
            values = _filled(column, values)
            if column.name in tails:
                values = _tamed(column.name, values, chosen.tails, report)
        parts[column.name] = values
    if not parts:
        raise InvalidInputError("table", "one input that varies", "none", "choose another table or target")
    X = pd.DataFrame(parts)
    y = response[kept].reset_index(drop=True)
    if y.nunique() < 2:
        raise InvalidInputError("target", "of two or more values in the rows kept", "one", "choose another")
    dataset = Dataset(
        name=f"own:{_digest(X, y, chosen)}",
        X=X,
        y=y,
        task=chosen.task or "regression",
        description="A table of one's own",
        title=title,
    )
    encoded = sum(values.nunique() if values.dtype == object else 1 for values in parts.values())
    return Cleaned(dataset, chosen, tuple(report), len(columns[0].values), len(parts), encoded)


def _digest(X: pd.DataFrame, y: pd.Series, choices: Choices) -> str:
    digest = hashlib.sha256(repr((list(X.columns), choices.task)).encode())
    for values in (*(X[name] for name in X), y):
        digest.update(pd.util.hash_pandas_object(values, index=False).to_numpy().tobytes())
    return digest.hexdigest()[:16]


def _response(
    column: Column, choices: Choices, report: list[tuple[str, str]]
) -> tuple[pd.Series, np.ndarray]:
    """The response as numbers, or codes of classes, and the rows that have it."""
    there = column.values.notna().to_numpy(copy=True)
    if column.missing:
        report.append((column.name, f"{_rows_of(column.missing)} without the response dropped"))
    if choices.task == "regression":
        if column.kind == "category":
            cure = "choose classes as the task, or another response"
            raise InvalidInputError("target", "numbers for a regression", f"{column.name!r}, texts", cure)
        return column.values, there
    counts = column.values[there].value_counts()
    if len(counts) > MOST_CLASSES:
        cure = "choose regression, or a response with fewer values"
        got = f"{len(counts):,} in {column.name!r}"
        raise InvalidInputError("classes", f"at most {MOST_CLASSES}", got, cure)
    rare = counts[counts < FEWEST_OF_CLASS]
    if len(rare) and len(counts) - len(rare) >= 2:
        there &= ~column.values.isin(rare.index).to_numpy()
        names = ", ".join(f"“{_shown(name)}”" for name in rare.index[:5])
        report.append(
            (
                column.name,
                f"{_rows_of(int(rare.sum()))} of classes with fewer than {FEWEST_OF_CLASS} rows dropped: {names}",
            )
        )
        counts = counts[counts >= FEWEST_OF_CLASS]
    if choices.task == "binary" and len(counts) != 2:
        cure = "choose classes of any number as the task, or another response"
        raise InvalidInputError(
            "target", "of two values for two classes", f"{len(counts)} in {column.name!r}", cure
        )
    classes = sorted(counts.index)
    listed = ", ".join(f"{code} is “{_shown(name)}”" for code, name in enumerate(classes[:10]))
    report.append((column.name, f"classes: {listed}{' …' if len(classes) > 10 else ''}"))
    codes = column.values.map({name: code for code, name in enumerate(classes)})
    return codes.astype(float), there


def _shown(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)[:40]


def _rows_of(count: int) -> str:
    return f"{count:,} row{'' if count == 1 else 's'}"


def _rows(
    inputs: Sequence[Column], kept: np.ndarray, choices: Choices, report: list[tuple[str, str]]
) -> np.ndarray:
    """The rows to keep, having said how many miss what."""
    gone = _incomplete(inputs) & kept
    if not gone.any():
        return kept
    worst = sorted((column for column in inputs if column.missing), key=lambda column: -column.missing)
    where = ", ".join(f"“{column.name}” {column.missing:,}" for column in worst[:5])
    if choices.missing == "drop":
        report.append(("rows", f"{_rows_of(int(gone.sum()))} with missing values dropped ({where})"))
        return kept & ~gone
    report.append(
        ("rows", f"missing values filled in {_rows_of(int(gone.sum()))} ({where}): medians, the most frequent value, "
         f"or the level “{ABSENT}”")
    )  # fmt: skip
    return kept


def _filled(column: Column, values: pd.Series) -> pd.Series:
    if not values.isna().any():
        return values
    present = column.values.dropna()
    return values.fillna(present.median() if column.kind == "number" else present.mode().iloc[0])


def _tamed(name: str, values: pd.Series, tails: Tails, report: list[tuple[str, str]]) -> pd.Series:
    """Normal scores of the ranks, or sign(x) log(1 + |x| / median|x|)."""
    x = values.to_numpy(dtype=float)
    if tails == "rank":
        report.append((name, "heavy tails: normal scores of its ranks"))
        return pd.Series(norm.ppf((rankdata(x) - 0.5) / len(x)))
    scale = np.median(np.abs(x)) or np.abs(x).mean()
    report.append((name, f"heavy tails: sign(x) log(1 + |x| / {scale:.3g})"))
    return pd.Series(np.sign(x) * np.log1p(np.abs(x) / scale))


def _levels(inputs: Sequence[Column], limits: Limits) -> int:
    """The most levels of a category for which all encoded columns stay within the bound."""
    for most in LEVELS:
        width = sum(min(column.distinct + 1, most) if column.kind == "category" else 1 for column in inputs)
        if width <= limits.encoded:
            return most
    cure = "leave some columns out"
    raise InvalidInputError("table", f"at most {limits.encoded:,} inputs", f"{len(inputs):,} columns", cure)


def _levelled(name: str, values: pd.Series, most: int, report: list[tuple[str, str]]) -> pd.Series:
    """A category with rare levels merged into one, and no more levels than there may be."""
    values = values.where(values.notna(), ABSENT).astype(object)
    counts = values.value_counts()
    rare = counts[counts < max(OFTEN, RARE * len(values))].index
    if len(rare) == len(counts):
        report.append((name, f"left out: none of its {len(counts)} levels comes up in {OFTEN} rows or more"))
        return pd.Series(OTHER, values.index)
    kept = counts.index.difference(rare, sort=False) if len(rare) > 1 else counts.index
    if len(kept) + (len(kept) < len(counts)) > most:
        kept = kept[: most - 1]
    merged = len(counts) - len(kept)
    if merged < 2:
        return values
    report.append(
        (name, f"{merged} rare levels of {len(counts)} merged into “{OTHER}”: each level becomes a column")
    )
    return values.where(values.isin(kept), OTHER)

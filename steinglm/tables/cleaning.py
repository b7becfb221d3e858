"""From understood columns to a data set that the networks can take, and a report of all that was done on the way."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import pandas as pd
from scipy.stats import norm, rankdata

from steinglm.datasets.dataset import Dataset
from steinglm.exceptions import InvalidInputError
from steinglm.tables.choices import NONE_MADE, Choices, Tails, guess, incomplete, inputs_of, named
from steinglm.tables.columns import Column
from steinglm.tables.hazards import heavy, leaks
from steinglm.tables.limits import Limits
from steinglm.tables.raw import USUAL

__all__ = ["Cleaned", "clean"]

MOST_CLASSES = 50
FEWEST = 20  # rows of a table: ten are then left to train on
FEWEST_OF_CLASS = 10
OFTEN = 5  # rows in which a level must come up to have a column of its own
LEVELS = (20, 10, 5, 3, 2)  # of a category: as many as the bound on encoded columns allows
RARE = 0.005  # share of the rows below which a level is rare
OTHER, ABSENT = "(other)", "(missing)"
Report = list[tuple[str, str]]


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
    report: Report = [
        (column.name, f"{'left out: ' if not column.usable else ''}{column.note}")
        for column in columns
        if column.note
    ]
    report += [(name, "left out by choice") for name in chosen.leave_out]
    target = str(chosen.target)
    response, kept = _response(named(columns, target), chosen, report)
    inputs = inputs_of(columns, chosen)
    if not inputs:
        raise InvalidInputError(
            "table", "one input beside the response", "none", "choose another table or target"
        )
    known = {column.name for column in inputs}
    report += [own for own in leaks(columns, target, chosen.task or "regression") if own[0] in known]
    kept = _rows(inputs, kept, chosen, report)
    if kept.sum() < FEWEST:
        cure = "fill in missing values (impute), leave out a column, or take another response"
        raise InvalidInputError("table", f"{FEWEST} or more rows that can be used", int(kept.sum()), cure)
    tails = set(heavy(columns, target)) if chosen.tails != "keep" else set()
    parts = _prepared(inputs, kept, tails, chosen.tails, _levels(inputs, limits), report)
    if not parts:
        raise InvalidInputError("table", "one input that varies", "none", "choose another table or target")
    X = pd.DataFrame(parts)
    y = response[kept].reset_index(drop=True)
    if y.nunique() < 2:
        raise InvalidInputError("target", "of two or more values in the rows kept", "one", "choose another")
    _note_repeated(X, y, report)
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


def _prepared(
    inputs: Sequence[Column], kept: np.ndarray, heavy_ones: set[str], tails: Tails, most: int, report: Report
) -> dict[str, pd.Series]:
    """The inputs on the rows kept: filled in, their tails tamed, rare levels merged; those that then vary."""
    parts = {}
    for column in inputs:
        values = column.values[kept].reset_index(drop=True)
        if column.kind == "category":
            values = _levelled(column.name, values, most, report)
            if values.nunique() == 1:
                continue
        else:
            values = _filled(column, values, report)
            if column.name in heavy_ones:
                values = _tamed(column.name, values, tails, report)
        parts[column.name] = values
    return parts


def _digest(X: pd.DataFrame, y: pd.Series, choices: Choices) -> str:
    digest = hashlib.sha256(repr((list(X.columns), choices.task)).encode())
    for values in (*(X[name] for name in X), y):
        digest.update(pd.util.hash_pandas_object(values, index=False).to_numpy().tobytes())
    return digest.hexdigest()[:16]


def _response(column: Column, choices: Choices, report: Report) -> tuple[pd.Series, np.ndarray]:
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


def _rows(inputs: Sequence[Column], kept: np.ndarray, choices: Choices, report: Report) -> np.ndarray:
    """The rows to keep, having said how many miss what."""
    gone = incomplete(inputs) & kept
    if not gone.any():
        return kept
    if choices.missing == "impute":
        return kept
    missing = {column.name: int((column.values.isna() & kept).sum()) for column in inputs}
    worst = sorted((name for name in missing if missing[name]), key=lambda name: -missing[name])
    where = ", ".join(f"“{name}” {missing[name]:,}" for name in worst[:5])
    report.append(("rows", f"{_rows_of(int(gone.sum()))} with missing values dropped ({where})"))
    return kept & ~gone


def _filled(column: Column, values: pd.Series, report: Report) -> pd.Series:
    """A number's missing values become the median of all rows, a boolean's the more frequent value."""
    absent = int(values.isna().sum())
    if not absent:
        return values
    present = column.values.dropna()
    number = column.kind == "number"
    value = float(present.median() if number else present.mode().iloc[0])
    what = "median" if number else "more frequent value"
    report.append((column.name, f"{absent:,} missing, filled in with the {what}, {value:g}"))
    return values.fillna(value)


def _note_repeated(X: pd.DataFrame, y: pd.Series, report: Report) -> None:
    repeated = int(pd.concat([X, y], axis=1).duplicated().sum())
    if repeated:
        what = f"{_rows_of(repeated)} the same as another in all that is used, and kept"
        report.append(("rows", f"{what}: copies may fall into both the training part and the test"))


def _tamed(name: str, values: pd.Series, tails: Tails, report: Report) -> pd.Series:
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


def _levelled(name: str, values: pd.Series, most: int, report: Report) -> pd.Series:
    """A category with rare levels merged into one, and no more levels than there may be."""
    absent = int(values.isna().sum())
    if absent:
        report.append((name, f"{absent:,} missing, counted as the level “{ABSENT}”"))
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

"""What every reader gives and heeds: a raw table, its bounds, and names that are fit to be shown."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import pandas as pd

from steinglm.exceptions import InvalidInputError
from steinglm.tables.limits import Limits

__all__ = [
    "AS_IT_COMES", "NUMBER", "USUAL", "Options", "Raw", "check_expanded", "check_size", "damaged", "headed", "names_of",
]  # fmt: skip

SAMPLE = 100  # rows by which a header is told
NUMBER = re.compile(r"\s*[-+]?(\d[\d.,' ]*|[.,]\d+)(e[-+]?\d+)?\s*%?\s*", re.IGNORECASE)
LONGEST_NAME = 100
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202f\u2060-\u2069\ufeff]")


@dataclass(frozen=True)
class Options:
    """What a person may say about a file; None leaves it to the reader.

    delimiter : of a text file
    header : whether the first row holds names
    decimal : "." or ",", the decimal sign of a text file
    sheet : of a workbook
    """

    delimiter: str | None = None
    header: bool | None = None
    decimal: str | None = None
    sheet: str | None = None


AS_IT_COMES, USUAL = Options(), Limits()


@dataclass(frozen=True, eq=False)
class Raw:
    """A table as it was read: text columns of strings, "" where there is nothing, or typed columns of a binary file.

    decimal : the sign that text columns are to be read with
    notes : what was decided while reading, in sentences
    sheets : all sheets of a workbook
    """

    frame: pd.DataFrame
    decimal: str = "."
    notes: list[str] = field(default_factory=list)
    sheets: tuple[str, ...] = ()


def check_size(rows: int, columns: int, limits: Limits) -> None:
    """Refuse a table of more rows, columns or cells than there may be."""
    if columns > limits.columns:
        cure = "keep the columns that matter, or raise the bound"
        raise InvalidInputError("file", f"at most {limits.columns:,} columns", f"{columns:,}", cure)
    if rows > limits.rows or rows * columns > limits.cells:
        most = min(limits.rows, limits.cells // max(columns, 1))
        cure = "take a sample of the rows"
        raise InvalidInputError("file", f"at most {most:,} rows of {columns:,} columns", f"{rows:,}", cure)


def check_expanded(size: int, limits: Limits) -> None:
    """Refuse what takes more bytes, once unpacked, than it may."""
    if size > limits.expanded_megabytes * 2**20:
        got = f"{size / 2**20:,.0f} MB"
        cure = "take a part of its rows or columns"
        raise InvalidInputError("file", f"at most {limits.expanded_megabytes:,} MB when unpacked", got, cure)


def damaged(form: str, error: Exception) -> InvalidInputError:
    """The error to raise when a reader gives up; its own message would tell a person nothing."""
    if isinstance(error, InvalidInputError):
        return error
    return InvalidInputError("file", f"a whole {form} file", "one that cannot be read", "write it again")


def headed(frame: pd.DataFrame, header: bool | None, notes: list[str]) -> tuple[pd.DataFrame, bool]:
    """The table under its names, and whether the first row held them."""
    first = [str(cell) for cell in frame.iloc[0]]
    if header is None:
        header = _is_header(first, frame.iloc[1:SAMPLE])
    body = frame.iloc[1:].reset_index(drop=True) if header else frame
    body.columns = pd.Index(names_of(first if header else [""] * len(first), notes))
    return body, header


def _is_header(first: Sequence[str], rest: pd.DataFrame) -> bool:
    """Names are no numbers, and do not come again below."""
    named = [cell.strip() for cell in first]
    if any(NUMBER.fullmatch(cell) for cell in named if cell):
        return False
    again = sum(
        name != "" and bool((rest.iloc[:, j].str.strip() == name).any()) for j, name in enumerate(named)
    )
    return any(named) and 2 * again < len(named)


def names_of(given: Sequence[object], notes: list[str]) -> list[str]:
    """Different names without control characters; an empty one becomes "column 3", a repeated one "x (2)"."""
    seen: set[str] = set()
    names, repeated = [], 0
    for number, value in enumerate(given, start=1):
        plain = CONTROL.sub(" ", str(value)).strip()[:LONGEST_NAME] or f"column {number}"
        name, count = plain, 1
        while name in seen:
            count += 1
            name = f"{plain} ({count})"
        repeated += count > 1
        seen.add(name)
        names.append(name)
    if repeated:
        notes.append(f"{repeated} names were there before; the later ones are numbered.")
    return names

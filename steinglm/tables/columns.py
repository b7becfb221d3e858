"""What each column of a table is: numbers, booleans, categories; or something that no network can take as it stands.

`understand` turns text into numbers where it can and says what it took for granted: units that were cut off, words that
are counted as missing. It decides nothing in silence: every column has a kind and a reason.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from pandas.api import types

__all__ = ["KINDS", "Column", "Kind", "understand"]

Kind = Literal[
    "number", "boolean", "category", "date", "text", "constant", "empty", "duplicate", "identifier"
]
KINDS: tuple[Kind, ...] = ("number", "boolean", "category")  # those that a network can take
MISSING = {
    "",
    "na",
    "n/a",
    "#n/a",
    "nan",
    "null",
    "none",
    "nil",
    "?",
    "-",
    "--",
    ".",
    "missing",
    "<na>",
    "nat",
}
YES = {"true", "t", "yes", "y", "on", "1", "ja", "oui", "si", "sí"}
NO = {"false", "f", "no", "n", "off", "0", "nein", "non"}
NEARLY = 0.95  # of the values that are there: what nearly all of them are, the column is
LONG = 60  # characters: on average a text, not the name of a level
MANY_LEVELS = 50  # a column of more levels is a text if they hardly repeat
DATES = (
    "%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y/%m/%d", "%d.%m.%Y", "%d/%m/%Y",
    "%m/%d/%Y", "%d-%m-%Y", "%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%d/%m/%Y %H:%M",
    "%m/%d/%Y %H:%M", "%d.%m.%Y %H:%M",
    "%Y-%m", "%H:%M", "%H:%M:%S",
)  # fmt: skip
AFFIXED = re.compile(  # a currency before a number, or a unit behind it
    r"(?P<before>[$€£¥₹]|[A-Z]{3}\s|)\s*(?P<number>[-+]?[\d.,' ]*\d(?:[eE][-+]?\d+)?)\s*(?P<after>[^\d]{0,12})"
)


@dataclass(frozen=True, eq=False)
class Column:
    """A column and what it was taken for.

    values : floats with nan, or for a category strings with None, on the rows of the table
    missing : how many values are not there
    distinct : how many different values are
    note : what was decided about it, a sentence without its name; "" if nothing was
    """

    name: str
    kind: Kind
    values: pd.Series
    missing: int
    distinct: int
    note: str = ""

    @property
    def usable(self) -> bool:
        """Whether a network can take it."""
        return self.kind in KINDS


def understand(frame: pd.DataFrame, decimal: str = ".") -> list[Column]:
    """Every column of a table, in its order.

    Parameters
    ----------
    frame : text columns of strings with "" for nothing, or typed ones
    decimal : "." or ",", the decimal sign of text

    >>> kinds = understand(pd.DataFrame({"a": ["1 kg", "2 kg"], "b": ["yes", "no"], "c": ["x", "x"]}))
    >>> [(column.name, column.kind) for column in kinds]
    [('a', 'number'), ('b', 'boolean'), ('c', 'constant')]
    """
    columns = [_column(str(name), values, decimal) for name, values in frame.items()]
    return _without_duplicates(columns)


def _without_duplicates(columns: Sequence[Column]) -> list[Column]:
    """The later of two columns with the same values is a duplicate."""
    seen: dict[int, list[Column]] = {}
    found = []
    for column in columns:
        if column.usable:
            digest = hash(pd.util.hash_pandas_object(column.values, index=False).to_numpy().tobytes())
            same = [other for other in seen.setdefault(digest, []) if other.values.equals(column.values)]
            if same:
                note = f"the same values as “{same[0].name}”"
                column = Column(
                    column.name, "duplicate", column.values, column.missing, column.distinct, note
                )
            else:
                seen[digest].append(column)
        found.append(column)
    return found


def _column(name: str, values: pd.Series, decimal: str) -> Column:
    if types.is_bool_dtype(values):
        return _numbers(name, values.astype(float), "boolean")
    if types.is_datetime64_any_dtype(values) or types.is_timedelta64_dtype(values):
        return _other(name, values, "date", "dates and times are left out")
    if types.is_numeric_dtype(values):
        return _numbers(name, pd.Series(values.to_numpy(dtype=float, na_value=np.nan)))
    return _words(name, values.astype(object).where(values.notna(), ""), decimal)


def _other(name: str, values: pd.Series, kind: Kind, note: str) -> Column:
    present = values.dropna()
    return Column(name, kind, values, len(values) - len(present), present.nunique(), note)


def _numbers(name: str, values: pd.Series, kind: Kind = "number", note: str = "") -> Column:
    """A column of floats; infinite ones are counted as missing."""
    values = values.reset_index(drop=True).astype(float)
    if infinite := int(np.isinf(values).sum()):
        values = values.where(np.isfinite(values))
        note = _joined(note, f"{_count(infinite, 'infinite value')} taken as missing")
    present = values.dropna()
    distinct = present.nunique()
    if not len(present):
        kind, note = "empty", _joined(note, "nothing in it")
    elif distinct == 1:
        kind, note = "constant", _joined(note, f"{present.iloc[0]:g} in every row")
    elif kind == "number" and distinct == len(values) > 20 and _counts_rows(present.to_numpy()):
        kind, note = "identifier", "numbers the rows"
    elif kind == "number" and present.abs().max() > 2**53:
        note = _joined(note, "has values beyond 2⁵³, which are rounded")
    return Column(name, kind, values, len(values) - len(present), distinct, note)


def _counts_rows(values: np.ndarray) -> bool:
    return bool(values[0] % 1 == 0 and np.all(np.diff(values) == 1))


def _joined(*notes: str) -> str:
    return "; ".join(note for note in notes if note)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _words(name: str, values: pd.Series, decimal: str) -> Column:
    """A column of text: judged by its different values, each of which is looked at once."""
    codes, levels = pd.factorize(values.map(_stripped), use_na_sentinel=False)  # (n,), (m,)
    texts = [str(level) for level in levels]
    absent = np.array([text.casefold() in MISSING for text in texts], dtype=bool)
    counts = np.bincount(codes, minlength=len(texts))
    there = counts[~absent].sum()
    if not there:
        return Column(name, "empty", pd.Series(np.nan, range(len(values))), len(values), 0, "nothing in it")
    folded = {text.casefold() for text, gone in zip(texts, absent, strict=True) if not gone}
    if folded <= YES | NO and not folded <= {"0", "1"} and folded & YES and folded & NO:
        numbers = np.array(
            [
                np.nan if gone else float(text.casefold() in YES)
                for text, gone in zip(texts, absent, strict=True)
            ]
        )
        return _numbers(name, pd.Series(numbers[codes]), "boolean", "yes is 1, no is 0")
    other = "." if decimal == "," else ","
    for attempt, sign in ((_as_numbers, decimal), (_as_units, decimal), (_as_numbers, other)):
        numbers, note = attempt(texts, sign)
        if sign == other:
            note = f"with the decimal sign “{sign}”"
        known = ~np.isnan(numbers)
        if counts[known & ~absent].sum() >= NEARLY * there:
            lost = ~known & ~absent
            if lost.any():
                shown = ", ".join(f"“{texts[i][:20]}”" for i in np.flatnonzero(lost)[:3])
                note = _joined(
                    note, f"{_count(int(counts[lost].sum()), 'word')} such as {shown} taken as missing"
                )
            numbers[absent] = np.nan
            return _numbers(name, pd.Series(numbers[codes]), note=note)
    levels_there = [text for text, gone in zip(texts, absent, strict=True) if not gone]
    named = [None if gone else text for text, gone in zip(texts, absent, strict=True)]
    strings = pd.Series(np.array(named, dtype=object)[codes], dtype=object)
    missing = int(counts[absent].sum())

    def column(kind: Kind, note: str) -> Column:
        return Column(name, kind, strings, missing, len(levels_there), note)

    if _are_dates(levels_there):
        return column("date", "dates and times are left out")
    if len(levels_there) == 1:
        return column("constant", f"“{levels_there[0][:40]}” in every row")
    repeated = there / len(levels_there)
    length = sum(map(len, levels_there)) / len(levels_there)
    if len(levels_there) == there >= 10 and length <= LONG:
        return column("identifier", "a different text in every row")
    if length > LONG or (len(levels_there) > MANY_LEVELS and repeated < 2):
        return column("text", "free text")
    return column("category", "")


def _stripped(value: object) -> str:
    return str(value).strip()


def _as_numbers(texts: Sequence[str], decimal: str) -> tuple[np.ndarray, str]:
    """Each text as a number, nan where it is none; and what is to be said about it."""
    return np.array([_number(text, decimal) for text in texts]), ""


def _number(text: str, decimal: str) -> float:
    """The number that a text writes with this decimal sign, or nan.

    >>> _number("1.234,5", ","), _number("1,234.5", "."), _number("12 %", "."), _number("1,5", ".")
    (1234.5, 1234.5, nan, nan)
    """
    group = "." if decimal == "," else ","
    plain = text.replace("\u2212", "-").replace("\u00a0", " ").replace("\u202f", " ")
    if group in plain or "'" in plain or " " in plain:
        whole = plain.partition(decimal)[0]
        if not re.fullmatch(rf"[-+]?\d{{1,3}}([{re.escape(group)}' ]\d{{3}})+", whole):
            return np.nan
        plain = whole.replace(group, "").replace("'", "").replace(" ", "") + plain[len(whole) :]
    plain = plain.replace(decimal, ".")
    if not re.fullmatch(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?|[-+]?inf(inity)?", plain, re.IGNORECASE):
        return np.nan
    return float(plain)


def _as_units(texts: Sequence[str], decimal: str) -> tuple[np.ndarray, str]:
    """Numbers with one and the same unit, or sign of a currency, before or behind each."""
    found = [AFFIXED.fullmatch(text) if text.casefold() not in MISSING else None for text in texts]
    affixes = [_affix(match) for match in found if match]
    if not affixes:
        return np.full(len(texts), np.nan), ""
    common, times = Counter(affixes).most_common(1)[0]
    if common == ("", "") or times < NEARLY * len(affixes):
        return np.full(len(texts), np.nan), ""
    numbers = [
        _number(match["number"].strip(), decimal) if match and _affix(match) in (common, ("", "")) else np.nan
        for match in found
    ]
    return np.array(numbers), f"without the unit “{(common[0] or common[1])[:12]}”"


def _affix(match: re.Match[str]) -> tuple[str, str]:
    return match["before"].strip(), match["after"].strip()


def _are_dates(texts: Sequence[str]) -> bool:
    """Whether nearly all of a sample are dates in one and the same form."""
    step = max(1, len(texts) // 200)
    sample = pd.Series(texts[::step])
    if not sample.str.contains(r"\d").all():
        return False
    plain = sample.str.replace(r"(?<=\d)(\.\d+)?(Z|[+-]\d\d:?\d\d)?$", "", regex=True)
    return any(
        pd.to_datetime(text, format=form, errors="coerce").notna().mean() >= NEARLY
        for text in (sample, plain)
        for form in DATES
    )

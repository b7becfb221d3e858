"""Text tables: any usual encoding and delimiter, with names in the first row or without."""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable

import pandas as pd

from steinglm.exceptions import InvalidInputError
from steinglm.tables.limits import Limits
from steinglm.tables.raw import NUMBER, Options, Raw, check_size, headed

__all__ = ["read_text"]

DELIMITERS = (",", ";", "\t", "|")
RARE_DELIMITERS = ("^", "~", ":", " ")  # stand in dates, times and sentences too
SAMPLE = 100  # lines by which a delimiter is told


def read_text(content: bytes, options: Options, limits: Limits) -> Raw:
    """A table of text: its encoding, delimiter, names and decimal sign are found unless the options say them."""
    text, encoding = _decode(content)
    notes = [] if encoding == "UTF-8" else [f"The text is read as {encoding}."]
    if told := re.match(r"sep=(.)\r?\n", text):  # how Excel names the delimiter
        text = text[told.end() :]
        options = Options(told[1], options.header, options.decimal)
    if options.delimiter is not None and len(options.delimiter) != 1:
        raise InvalidInputError("delimiter", "one sign", repr(options.delimiter), "name the sign, such as ;")
    delimiter = options.delimiter or _delimiter(text)
    lines = text.rstrip("\n").count("\n") + 1
    check_size(lines, len(_cells(text, delimiter)[0]), limits)
    frame = _parsed(text, delimiter, lines)
    if short := _short_rows(text, delimiter, frame.shape[1]):
        notes.append(
            f"{short:,} {'row is' if short == 1 else 'rows are'} shorter than the others; "
            "what is not there is taken as missing."
        )
    frame, header = headed(frame, options.header, notes)
    decimal = options.decimal or _decimal(frame, delimiter, notes)
    shown = {"\t": "tab", " ": "blank"}.get(delimiter, delimiter)
    if frame.shape[1] > 1:
        notes.insert(0, f"Columns are separated by “{shown}”{'' if header else '; there are no names'}.")
    return Raw(frame, decimal, notes)


def _decode(content: bytes) -> tuple[str, str]:
    """The text and the name of its encoding."""
    for mark, encoding, name in (
        (b"\xef\xbb\xbf", "utf-8-sig", "UTF-8"), (b"\xff\xfe\x00\x00", "utf-32", "UTF-32"),
        (b"\xff\xfe", "utf-16", "UTF-16"), (b"\xfe\xff", "utf-16", "UTF-16"),
    ):  # fmt: skip
        if content.startswith(mark):
            return _lines(content.decode(encoding, errors="replace")), name
    head = content[:2000]
    if head[1::2].count(0) > 0.4 * len(head) / 2 > 0:
        return _lines(content.decode("utf-16-le", errors="replace")), "UTF-16"
    if head[::2].count(0) > 0.4 * len(head) / 2 > 0:
        return _lines(content.decode("utf-16-be", errors="replace")), "UTF-16"
    try:
        return _lines(content.decode("utf-8")), "UTF-8"
    except UnicodeDecodeError:
        return _lines(content.decode("cp1252", errors="replace")), "Windows-1252 (Western European)"


def _lines(text: str) -> str:
    """The text with one kind of line end; refused if it is no text."""
    head = text[:10_000]
    if "\x00" in text or sum(map(head.count, "\x01\x02\x03\x04\x05\x06\x0e\x0f\ufffd")) > len(head) / 50:
        got = "bytes that are no text"
        raise InvalidInputError(
            "file",
            "CSV, Parquet, Arrow, Excel or OpenDocument",
            got,
            "save the table in one of these formats",
        )
    return text.replace("\r\n", "\n").replace("\r", "\n").lstrip("\n")


def _cells(text: str, delimiter: str, lines: int = SAMPLE) -> list[list[str]]:
    """The first lines that are not empty, cell by cell."""
    reader = csv.reader(io.StringIO(text), delimiter=delimiter, skipinitialspace=delimiter == " ")
    rows = []
    try:
        for row in reader:
            if row and (len(row) > 1 or row[0].strip()):
                rows.append(row)
            if len(rows) == lines:
                break
    except csv.Error:  # a cell longer than csv reads
        pass
    return rows or [[""]]


def _delimiter(text: str) -> str:
    """The sign that gives most lines the same number of cells, more than one, and leaves no other sign within them."""
    for signs in (DELIMITERS, RARE_DELIMITERS):
        found = []
        for sign in signs:
            rows = _cells(text, sign)
            cells, lines = Counter(map(len, rows)).most_common(1)[0]
            share = lines / len(rows)
            if cells > 1 and share > 0.7:
                found.append((round(share * _purity(rows, sign), 2), cells, sign))
        if found:
            return max(found)[2]
    return ","


def _purity(rows: list[list[str]], sign: str) -> float:
    """The share of cells that are numbers, whatever their decimal sign, or hold no other delimiter."""
    others = set(DELIMITERS) - {sign}
    pure = [not others & set(cell) or bool(NUMBER.fullmatch(cell)) for row in rows for cell in row]
    return sum(pure) / len(pure)


def _parsed(text: str, delimiter: str, lines: int) -> pd.DataFrame:
    """Every cell as a string."""
    sep = r"\s+" if delimiter == " " else delimiter
    try:
        frame = pd.read_csv(
            io.StringIO(text), sep=sep, dtype="str", header=None, keep_default_na=False, na_values=[""],
            skipinitialspace=delimiter == " ", engine="c", low_memory=False,
        )  # fmt: skip
    except pd.errors.EmptyDataError as error:
        raise InvalidInputError("file", "a table", "no cells", "choose another file") from error
    except pd.errors.ParserError as error:
        raise InvalidInputError("file", *_trouble(str(error), lines)) from error
    return frame.fillna("")


def _trouble(message: str, lines: int) -> tuple[str, str, str]:
    """What the parser's message means for the person whose file it is."""
    if found := re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", message):
        expected, line, got = found.groups()
        return (
            f"a table of {expected} columns, as its first row has them", f"{got} cells in line {line}",
            "put a text that holds the delimiter into quotation marks, or mend that line",
        )  # fmt: skip
    if found := re.search(r"EOF inside string starting at row (\d+)", message):
        got = f"a quotation mark in row {int(found[1]) + 1} that is never closed"
        return "a table", got, "close it, or double a quotation mark inside of a text"
    return "a table", f"{lines:,} lines that cannot be split into cells", "save it as CSV again"


def _short_rows(text: str, delimiter: str, columns: int) -> int:
    """How many rows end before the last column."""
    if delimiter == " ":
        return 0
    lines: Iterable[int]
    if '"' in text:
        csv.field_size_limit(max(csv.field_size_limit(), len(text) + 1))
        lines = (len(row) for row in csv.reader(io.StringIO(text), delimiter=delimiter) if row)
    else:
        lines = (line.count(delimiter) + 1 for line in text.split("\n") if line.strip())
    return sum(cells < columns for cells in lines)


def _decimal(frame: pd.DataFrame, delimiter: str, notes: list[str]) -> str:
    """The decimal sign: a comma where cells such as 3,14 stand and none such as 3.14 does."""
    sample = frame.iloc[:1000].to_numpy().ravel()
    cells = [cell.strip() for cell in sample if isinstance(cell, str)]
    comma = sum(
        bool(re.fullmatch(r"[-+]?(\d{1,3}(\.\d{3})+|\d*),(\d{1,2}|\d{4,})\D{0,4}", cell)) for cell in cells
    )
    point = sum(
        bool(re.fullmatch(r"[-+]?(\d{1,3}(,\d{3})+|\d*)\.(\d{1,2}|\d{4,})\D{0,4}", cell)) for cell in cells
    )
    if comma > point:
        notes.append("Numbers are read with a decimal comma.")
        return ","
    grouped = any(re.fullmatch(r"[-+]?\d{1,3},\d{3}", cell) for cell in cells)
    if grouped and not point and delimiter != ",":
        notes.append("Numbers such as 1,234 are read with a decimal comma, as 1.234.")
        return ","
    if grouped:
        notes.append("Numbers such as 1,234 are read as thousands, 1234.")
    return "."

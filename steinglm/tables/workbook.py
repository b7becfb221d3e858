"""Excel and OpenDocument workbooks: the values of one sheet; no formula, macro or link is followed."""

import io
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pandas as pd
from python_calamine import CalamineError, CalamineWorkbook, PasswordError

from steinglm.exceptions import InvalidInputError
from steinglm.tables.limits import Limits
from steinglm.tables.raw import Options, Raw, check_expanded, check_size, damaged, headed

__all__ = ["read_workbook"]

Range = tuple[tuple[int, int], tuple[int, int]]  # first and last cell, each (row, column)


def read_workbook(content: bytes, options: Options, limits: Limits) -> Raw:
    """A sheet of an Excel or OpenDocument workbook: values only; no formula, macro or link is followed."""
    try:
        if content[:2] == b"PK":
            _check_archive(content, limits)
        book = CalamineWorkbook.from_filelike(io.BytesIO(content))
        names = tuple(book.sheet_names)
        chosen = _sheet(names, options.sheet, book)
        sheet = book.get_sheet_by_name(chosen)
        check_size(sheet.height, sheet.width, limits)
        rows = sheet.to_python(skip_empty_area=True)
        merged = _fill_merged(rows, sheet.merged_cell_ranges or (), sheet.start or (0, 0))
    except PasswordError as error:
        cure = "save it without a password"
        raise InvalidInputError("file", "an open workbook", "one with a password", cure) from error
    except (
        CalamineError,
        zipfile.BadZipFile,
        zlib.error,
        OSError,
        ValueError,
        NotImplementedError,
        EOFError,
        RuntimeError,
    ) as error:
        raise damaged("Excel", error) from error
    rows = [row for row in rows if any(cell != "" for cell in row)]
    others = ", ".join(f"“{name}”" for name in names if name != chosen)
    if not rows:
        cure = f"choose another sheet: {others}" if others else "choose another file"
        raise InvalidInputError("sheet", "a table", f"{chosen!r}, which is empty", cure)
    notes = [f"Sheet “{chosen}”; the others: {others}."] if others else []
    if merged:
        notes.append(f"{merged} merged cells are filled with their value.")
    frame = pd.DataFrame([[_as_text(cell) for cell in row] for row in rows], dtype="str")
    frame, _ = headed(frame, options.header, notes)
    return Raw(frame, ".", notes, names)


def _check_archive(content: bytes, limits: Limits) -> None:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = archive.infolist()
        if not any(member.filename in ("[Content_Types].xml", "content.xml") for member in members):
            raise InvalidInputError("file", "a table", "an archive of other files", "unpack it first")
        check_expanded(sum(member.file_size for member in members), limits)
        for member in members:
            _check_member(archive, member)


def _check_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> None:
    """Refuse a part that holds more than the directory says: what was checked must be what is unpacked."""
    promised, member.file_size = member.file_size, 1 << 62  # zipfile would stop at the promise
    found = 0
    with archive.open(member) as part:
        while chunk := part.read(1 << 20):
            found += len(chunk)
            if found > promised:
                got = "a workbook with a part that is larger than its directory says"
                raise InvalidInputError("file", "a whole Excel file", got, "save it again")


def _sheet(names: Sequence[str], wanted: str | None, book: CalamineWorkbook) -> str:
    if wanted is not None:
        if wanted not in names:
            raise InvalidInputError("sheet", f"one of {', '.join(names)}", wanted, "choose one of these")
        return wanted
    if not names:
        raise InvalidInputError("file", "a workbook with a sheet", "none", "choose another file")
    sizes = [(sheet := book.get_sheet_by_name(name)).height * (sheet.width > 1) for name in names]
    return next((name for name, size in zip(names, sizes, strict=True) if size > 1), names[0])


def _fill_merged(rows: list[list[Any]], ranges: Iterable[Range], start: tuple[int, int]) -> int:
    """Give every cell of a merged range its value; how many cells that were."""
    filled = 0
    top, left = start
    for (first_row, first_column), (last_row, last_column) in ranges:
        i0, j0 = first_row - top, first_column - left
        for i, j in _within(rows, i0, j0, last_row - top, last_column - left):
            if rows[i][j] == "":
                rows[i][j] = rows[i0][j0]
                filled += 1
    return filled


def _within(rows: list[list[Any]], i0: int, j0: int, i1: int, j1: int) -> Iterator[tuple[int, int]]:
    if i0 < 0 or j0 < 0:
        return
    for i in range(i0, min(i1, len(rows) - 1) + 1):
        for j in range(j0, min(j1, len(rows[i]) - 1) + 1):
            yield i, j


def _as_text(cell: object) -> str:
    """A cell as text that the columns' reader takes: whole floats without their ".0"."""
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53:
        return str(int(cell))
    return str(cell)

"""A file as understood columns: in this process, or in one of its own where the file is a stranger's.

A reader of binary files may crash, hang or fill the memory on a file that was made for it. `open_apart` starts a short
process with bounds on its memory and time, so that nothing of this reaches the server. What comes back is numbers and
texts, never objects.
"""

import io
import json
import os
import subprocess
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.ipc

from steinglm.exceptions import InvalidInputError
from steinglm.tables.columns import Column, understand
from steinglm.tables.limits import Limits
from steinglm.tables.raw import AS_IT_COMES, USUAL, Options
from steinglm.tables.reading import read

__all__ = ["Opened", "open_apart", "open_here"]

COMMAND = ("-m", "steinglm.tables.opening")
PREVIEWED = 50  # rows
MEMORY = 6 * 2**30  # bytes of addresses: the libraries reserve some that they never use


@dataclass(frozen=True, eq=False)
class Opened:
    """What a file holds.

    columns : each with its kind and what was decided about it; values where a network could take them
    preview : the first rows as they stand in the file, as strings
    rows : of the table
    notes : what the reader took for granted, in sentences
    sheets : of a workbook
    """

    columns: list[Column]
    preview: pd.DataFrame
    rows: int
    notes: tuple[str, ...]
    sheets: tuple[str, ...] = ()


def open_here(content: bytes, options: Options = AS_IT_COMES, limits: Limits = USUAL) -> Opened:
    """Read and understand a file in this process.

    Raises
    ------
    InvalidInputError : see `reading.read`

    >>> [column.kind for column in open_here(b"a,b\\n1,x\\n2,y\\n4,x\\n").columns]
    ['number', 'category']
    """
    raw = read(content, options, limits)
    preview = raw.frame.head(PREVIEWED).map(_shown)
    columns = understand(raw.frame, raw.decimal)
    return Opened(columns, preview, len(raw.frame), tuple(raw.notes), raw.sheets)


def _shown(value: object) -> str:
    return "" if value is None or value is pd.NA or value is pd.NaT or value != value else str(value)[:200]


def open_apart(content: bytes, options: Options = AS_IT_COMES, limits: Limits = USUAL) -> Opened:
    """As `open_here`, in a process of its own that may crash, hang or run out of memory by itself.

    Raises
    ------
    InvalidInputError : as `open_here`; also a file on which its reader fails
    """
    asked = json.dumps([asdict(options), asdict(limits)]).encode()
    root = str(Path(__file__).parents[2])
    path = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
    try:
        done = subprocess.run(
            [sys.executable, *COMMAND],
            input=asked + b"\n" + content,
            capture_output=True,
            timeout=limits.seconds,
            env=os.environ | {"PYTHONPATH": path},
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        got = f"one that is still not read after {limits.seconds} seconds"
        raise InvalidInputError("file", "a table", got, "take a part of its rows or columns") from error
    if done.returncode:
        cure = "write it again, as CSV if nothing else helps"
        raise InvalidInputError("file", "a whole table", "one on which its reader fails", cure)
    return _unpacked(done.stdout)


def _packed(opened: Opened) -> bytes:
    """A line of JSON and an Arrow stream: the columns that can be used, then the preview."""
    columns = [
        {
            "name": own.name,
            "kind": own.kind,
            "missing": own.missing,
            "distinct": own.distinct,
            "note": own.note,
        }
        for own in opened.columns
    ]
    about = {
        "columns": columns, "rows": opened.rows, "notes": opened.notes, "sheets": opened.sheets,
        "names": list(opened.preview.columns),
    }  # fmt: skip
    usable = [column.values.to_numpy() for column in opened.columns if column.usable]
    preview = [opened.preview.iloc[:, j].tolist() for j in range(opened.preview.shape[1])]
    out = io.BytesIO(json.dumps(about).encode() + b"\n")
    out.seek(0, io.SEEK_END)
    for arrays in (usable, preview):
        table = pa.Table.from_arrays(
            [pa.array(values, from_pandas=True) for values in arrays],
            names=[str(j) for j in range(len(arrays))],
        )
        with pa.ipc.new_stream(out, table.schema) as writer:
            writer.write_table(table)
    return out.getvalue()


def _unpacked(content: bytes) -> Opened:
    line, _, rest = content.partition(b"\n")
    about: dict[str, Any] = json.loads(line)
    if "error" in about:
        raise InvalidInputError(*about["error"])
    source = pa.BufferReader(rest)
    tables = []
    for _ in range(2):
        table = pa.ipc.open_stream(source).read_all()
        table.validate(full=True)
        tables.append(table)
    usable, preview = tables
    values = iter(usable.columns)
    columns = []
    for own in about["columns"]:
        column = Column(**own, values=pd.Series(np.full(about["rows"], np.nan)))
        columns.append(Column(**own, values=_series(next(values))) if column.usable else column)
    shown = pd.DataFrame({j: column.to_pandas() for j, column in enumerate(preview.columns)})
    shown.columns = pd.Index(about["names"])
    return Opened(columns, shown, about["rows"], tuple(about["notes"]), tuple(about["sheets"]))


def _series(column: pa.ChunkedArray) -> pd.Series:
    """Floats, or strings with None as Python's own: what `understand` gives."""
    values = column.to_pandas()
    if pa.types.is_floating(column.type):
        return values.astype(float)
    return values.astype(object).where(values.notna(), None)


def main() -> None:
    """The process apart: options and file on standard input, the answer on standard output."""
    with suppress(ImportError):  # not on Windows
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.nice(5)
    asked, content = sys.stdin.buffer.readline(), sys.stdin.buffer.read()
    options, limits = json.loads(asked)
    try:
        answer = _packed(open_here(content, Options(**options), Limits(**limits)))
    except InvalidInputError as error:
        got = error.got if isinstance(error.got, str | int) else repr(error.got)
        answer = json.dumps({"error": [error.argument, error.expected, got, error.cure]}).encode() + b"\n"
    sys.stdout.buffer.write(answer)


if __name__ == "__main__":
    main()

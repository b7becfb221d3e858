"""Parquet and Arrow files: typed columns, read batch by batch."""

from collections.abc import Iterable, Sequence

import pandas as pd
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet

from steinglm.exceptions import InvalidInputError
from steinglm.tables.limits import Limits
from steinglm.tables.raw import Raw, check_expanded, check_size, damaged, names_of

__all__ = ["read_arrow", "read_parquet"]

DROPPED = "nested values, bytes"


def read_parquet(content: bytes, limits: Limits) -> Raw:
    """A Parquet file, whose directory is checked before its columns are read."""
    try:
        file = pyarrow.parquet.ParquetFile(pa.BufferReader(content))
        about = file.metadata
        check_size(about.num_rows, file.schema_arrow.__len__(), limits)
        expanded = sum(about.row_group(i).total_byte_size for i in range(about.num_row_groups))
        check_expanded(expanded, limits)
        return _typed(file.schema_arrow, file.iter_batches(columns=_flat(file.schema_arrow)), limits)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise damaged("Parquet", error) from error


def read_arrow(content: bytes, limits: Limits) -> Raw:
    """An Arrow file (Feather, version 2) or stream, batch by batch."""
    try:
        source = pa.BufferReader(content)
        reader = pa.ipc.open_file(source) if content[:6] == b"ARROW1" else pa.ipc.open_stream(source)
        batches = (
            (reader.get_batch(i) for i in range(reader.num_record_batches))
            if isinstance(reader, pa.ipc.RecordBatchFileReader)
            else iter(reader)
        )
        check_size(1, len(reader.schema), limits)
        return _typed(reader.schema, batches, limits)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise damaged("Arrow", error) from error


def _flat(schema: pa.Schema) -> list[str]:
    return [own.name for own in schema if not _is_dropped(own.type)]


def _is_dropped(kind: pa.DataType) -> bool:
    value = kind.value_type if pa.types.is_dictionary(kind) else kind
    types = pa.types
    return types.is_nested(value) or types.is_binary(value) or types.is_large_binary(value) or (
        types.is_fixed_size_binary(value) or isinstance(value, pa.ExtensionType)
    )  # fmt: skip


def _typed(schema: pa.Schema, batches: Iterable[pa.RecordBatch], limits: Limits) -> Raw:
    """The columns of plain values; rows are counted as they come, whatever the file's directory promised."""
    names, notes = _flat(schema), []
    if dropped := [own.name for own in schema if own.name not in names]:
        notes.append(f"{_listed(dropped)} left out: {DROPPED}.")
    if not names:
        raise InvalidInputError("file", "a table of numbers or texts", "no such column", "choose another")
    parts, rows, size = [_plain(schema.empty_table())], 0, 0
    for batch in batches:
        batch.validate(full=True)  # offsets of a damaged file may point anywhere
        rows, size = rows + batch.num_rows, size + batch.nbytes
        check_size(rows, len(schema), limits)
        check_expanded(size, limits)
        parts.append(_plain(pa.Table.from_batches([batch])))
    table = pa.concat_tables(parts, promote_options="permissive")
    if not table.num_rows:
        raise InvalidInputError("file", "a table", "no rows", "choose another file")
    frame = pd.DataFrame({number: column.to_pandas() for number, column in enumerate(table.columns)})
    frame.columns = pd.Index(names_of(names, notes))
    return Raw(frame, notes=notes)


def _plain(table: pa.Table) -> pa.Table:
    """The columns that are not dropped, by number, since names may occur twice; decimals as floats."""
    kept = table.select([i for i, own in enumerate(table.schema) if not _is_dropped(own.type)])
    kept = kept.rename_columns([str(i) for i in range(kept.num_columns)])
    for i, own in enumerate(kept.schema):
        if pa.types.is_decimal(own.type) or pa.types.is_float16(own.type):
            kept = kept.set_column(i, own.name, kept.column(i).cast(pa.float64()))
    return kept


def _listed(names: Sequence[str], most: int = 5) -> str:
    """Names as a person enumerates them, the first few of many.

    >>> _listed(["a", "b"]), _listed(list("abcdefg"), 3)
    ('“a”, “b”', '“a”, “b”, “c” and 4 more')
    """
    shown = ", ".join(f"“{name}”" for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"

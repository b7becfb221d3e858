"""From the bytes of a file to a table of text and numbers, by readers that run nothing: CSV, Parquet, Arrow, Excel.

What a file is, its bytes say and not its name. Sizes are read from its own directory and checked before anything is
expanded. Whatever the reader took for granted stands in `Raw.notes`.
"""

from dataclasses import replace

import numpy as np

from steinglm.exceptions import InvalidInputError
from steinglm.tables.limits import Limits
from steinglm.tables.raw import AS_IT_COMES, USUAL, Options, Raw
from steinglm.tables.text import read_text
from steinglm.tables.typed import read_arrow, read_parquet
from steinglm.tables.workbook import read_workbook

__all__ = ["read"]


def read(content: bytes, options: Options = AS_IT_COMES, limits: Limits = USUAL) -> Raw:
    """Read a file that nobody vouches for.

    Raises
    ------
    InvalidInputError : what it is not, and what to do: too large, another format, damaged, no rows

    >>> read(b"a;b\\n1,5;x\\n2,5;y\\n").frame.to_dict("list")
    {'a': ['1,5', '2,5'], 'b': ['x', 'y']}
    """
    if len(content) > limits.megabytes * 2**20:
        got = f"{len(content) / 2**20:,.0f} MB"
        raise InvalidInputError(
            "file", f"at most {limits.megabytes:,} MB", got, "take a part of its rows or columns"
        )
    if not content.strip():
        raise InvalidInputError("file", "a table", "an empty file", "choose another file")
    return _sampled(_opened(content, options, limits), limits)


def _sampled(raw: Raw, limits: Limits) -> Raw:
    """At most `kept_rows` rows, drawn at random and the same ones each time, in their order."""
    rows = len(raw.frame)
    if rows <= limits.kept_rows:
        return raw
    chosen = np.sort(np.random.default_rng(0).choice(rows, limits.kept_rows, replace=False))
    note = f"{limits.kept_rows:,} of {rows:,} rows, drawn at random; they are the same each time."
    return replace(raw, frame=raw.frame.iloc[chosen].reset_index(drop=True), notes=[*raw.notes, note])


def _opened(content: bytes, options: Options, limits: Limits) -> Raw:
    if content[:4] == b"PAR1":
        return read_parquet(content, limits)
    if content[:6] == b"ARROW1" or content[:4] == b"\xff\xff\xff\xff":
        return read_arrow(content, limits)
    if content[:2] == b"PK" or content[:8] == b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1":
        return read_workbook(content, options, limits)
    if content[:2] == b"\x1f\x8b" or content[:3] in (b"BZh", b"7z\xbc") or content[:6] == b"\xfd7zXZ\x00":
        raise InvalidInputError("file", "a table", "a compressed file", "unpack it first")
    return read_text(content, options, limits)

"""A file that is opened apart is the same as one that is opened here; and a reader that fails harms nobody."""

import pytest

from steinglm.exceptions import InvalidInputError
from steinglm.tables import opening
from steinglm.tables.limits import Limits
from steinglm.tables.opening import Opened, open_apart, open_here
from steinglm.tables.raw import Options
from tests.tables.test_corpus import PLAIN, TYPED, N, X, Y, lines, parquet, two_sheets, workbook

MIXED = lines(
    "x;c;when;gone;yes;y",
    X,
    ["a", "b", ""] * 13 + ["a"],
    ["2024-01-02"] * N,
    [""] * N,
    ["yes", "no"] * 20,
    Y,
    sep=";",
)


def same(one: Opened, two: Opened) -> None:
    assert (one.rows, one.notes, one.sheets) == (two.rows, two.notes, two.sheets)
    assert one.preview.to_dict() == two.preview.to_dict()
    for a, b in zip(one.columns, two.columns, strict=True):
        assert (a.name, a.kind, a.missing, a.distinct, a.note) == (
            b.name,
            b.kind,
            b.missing,
            b.distinct,
            b.note,
        )
        assert len(a.values) == len(b.values)
        if a.usable:
            assert a.values.equals(b.values.rename(a.values.name))


@pytest.mark.parametrize(
    "content", [MIXED.encode(), parquet(TYPED), workbook(two_sheets)], ids=["CSV", "Parquet", "Excel"]
)
def test_apart_and_here_are_the_same(content: bytes) -> None:
    same(open_here(content), open_apart(content))


def test_options_and_bounds_go_along() -> None:
    content = workbook(two_sheets)
    assert (
        open_apart(content, Options(sheet="other")).notes[0] == "Sheet “other”; the others: “empty”, “data”."
    )
    with pytest.raises(InvalidInputError, match="at most 10 rows of 2 columns, got 41; take a sample"):
        open_apart(PLAIN.encode(), limits=Limits(rows=10))


def test_a_message_of_the_reader_comes_back_whole() -> None:
    with pytest.raises(InvalidInputError) as raised:
        open_apart(b"")
    assert str(raised.value) == "file must be a table, got an empty file; choose another file"


@pytest.mark.parametrize(
    ("does", "message"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "one on which its reader fails"),
        ("import sys; sys.exit(3)", "one on which its reader fails"),
        ("bytearray(20 * 2**30)", "one on which its reader fails"),
        ("import time; time.sleep(60)", "still not read after 2 seconds"),
    ],
    ids=["crashes", "exits", "takes all memory", "hangs"],
)
def test_a_reader_that_fails_is_one_message(does: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    code = f"import steinglm.tables.opening as o; o.open_here = lambda *_: exec({does!r}); o.main()"
    monkeypatch.setattr(opening, "COMMAND", ("-c", code))
    with pytest.raises(InvalidInputError, match=message):
        open_apart(PLAIN.encode(), limits=Limits(seconds=2 if "sleep" in does else 60))


def test_bounds_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEINGLM_TABLE_ROWS", "123")
    assert Limits.from_environment() == Limits(rows=123)
    for bad in ("many", "-1", "0"):
        monkeypatch.setenv("STEINGLM_TABLE_ROWS", bad)
        with pytest.raises(InvalidInputError, match=r"rows|STEINGLM_TABLE_ROWS"):
            Limits.from_environment()

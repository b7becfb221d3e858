"""Small awkward files, made here: each works, with the right numbers, or says what a person can do about it."""

import io
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet
import pytest
import xlsxwriter

from steinglm.datasets import design, hold
from steinglm.exceptions import InvalidInputError
from steinglm.experiment import Experiment, initialize
from steinglm.tables.choices import NONE_MADE, Choices, guess_target
from steinglm.tables.cleaning import Cleaned, clean
from steinglm.tables.columns import Column, understand
from steinglm.tables.hazards import leaks
from steinglm.tables.limits import Limits
from steinglm.tables.raw import Options, Raw
from steinglm.tables.reading import read

N = 40
X = [round(0.5 * i - 3, 2) for i in range(N)]  # a column of decimals, positive and negative
Y = [round(x * x + 0.25, 4) for x in X]


def lines(header: str, *columns: list[Any], sep: str = ",") -> str:
    rows = [sep.join(map(str, row)) for row in zip(*columns, strict=True)]
    return "\n".join(([header] if header else []) + rows) + "\n"


PLAIN = lines("x,y", X, Y)


def opened(content: bytes | str, **options: Any) -> tuple[Raw, dict[str, Column]]:
    raw = read(content if isinstance(content, bytes) else content.encode(), Options(**options))
    return raw, {column.name: column for column in understand(raw.frame, raw.decimal)}


def cleaned(content: bytes | str, choices: Choices = NONE_MADE, **options: Any) -> Cleaned:
    _, columns = opened(content, **options)
    return clean(list(columns.values()), choices)


def numbers(content: bytes | str, name: str, **options: Any) -> list[float]:
    _, columns = opened(content, **options)
    assert columns[name].kind in ("number", "boolean"), columns[name]
    return columns[name].values.tolist()


def refused(content: bytes | str, *words: str, choices: Choices = NONE_MADE, **options: Any) -> None:
    with pytest.raises(InvalidInputError) as raised:
        cleaned(content, choices, **options)
    for word in words:
        assert word in str(raised.value)
    assert raised.value.cure


def said(content: bytes | str, **options: Any) -> str:
    return " ".join(opened(content, **options)[0].notes)


def report(made: Cleaned) -> str:
    return "\n".join(f"{where}: {what}" for where, what in made.report)


# -- text files ----------------------------------------------------------------------------------------------------

TEXTS: dict[str, tuple[bytes | str, str, list[float]]] = {  # file, a column, its numbers
    "commas": (PLAIN, "x", X),
    "semicolons and decimal commas": (
        lines("x;y", [str(x).replace(".", ",") for x in X], [str(y).replace(".", ",") for y in Y], sep=";"),
        "y", Y,
    ),
    "semicolons and decimal points": (lines("x;y", X, Y, sep=";"), "y", Y),
    "tabs": (lines("x\ty", X, Y, sep="\t"), "y", Y),
    "pipes": (lines("x|y", X, Y, sep="|"), "y", Y),
    "carets": (lines("x^y", X, Y, sep="^"), "y", Y),
    "blanks, several of them": (lines("x   y", X, Y, sep="   "), "y", Y),
    "Excel's sep line": ("sep=;\n" + lines("x;y", X, Y, sep=";"), "y", Y),
    "UTF-8 with a BOM": (b"\xef\xbb\xbf" + PLAIN.encode(), "x", X),
    "UTF-16 with a BOM": (PLAIN.encode("utf-16"), "x", X),
    "UTF-16 without a BOM": (PLAIN.encode("utf-16-le"), "x", X),
    "UTF-16, the other byte first": (b"\xfe\xff" + PLAIN.encode("utf-16-be"), "x", X),
    "Latin-1 names": (lines("größe,y", X, Y).encode("latin-1"), "größe", X),
    "Windows line ends": (PLAIN.replace("\n", "\r\n"), "x", X),
    "old Mac line ends": (PLAIN.replace("\n", "\r"), "x", X),
    "empty lines between and before": ("\n\n" + PLAIN.replace("\n", "\n\n"), "x", X),
    "no last line end": (PLAIN.rstrip("\n"), "y", Y),
    "no names": (lines("", X, Y), "column 2", Y),
    "years as names": (lines("y,n", range(1990, 1990 + N), Y), "n", Y),
    "names with blanks around them": (lines(" x , y ", X, Y), "y", Y),
    "every cell in quotation marks": (lines('"x","y"', [f'"{x}"' for x in X], [f'"{y}"' for y in Y]), "y", Y),
    "scientific notation": (lines("x,y", [f"{x:e}" for x in X], Y), "x", X),
    "thousands with commas": (
        lines("x,y", [f'"{1000 * i:,}"' for i in range(N)], Y), "x", [1000.0 * i for i in range(N)],
    ),
    "thousands with apostrophes": (
        lines("x,y", [f"{1000 * i:,}".replace(",", "'") for i in range(N)], Y), "x", [1000.0 * i for i in range(N)],
    ),
    "thousands with points, decimals with commas": (
        lines("x;y", [f"{1000 * i:,}".replace(",", ".") + ",5" for i in range(N)], X, sep=";"),
        "x", [1000 * i + 0.5 for i in range(N)],
    ),
    "units": (lines("x,y", [f"{x} kg" for x in X], Y), "x", X),
    "percent": (lines("x,y", [f"{x}%" for x in X], Y), "x", X),
    "a currency before": (
        lines("x,y", [f'"${1000 * i + 0.5:,}"' for i in range(N)], Y), "x", [1000 * i + 0.5 for i in range(N)],
    ),
    "a minus sign of typography": (lines("x,y", [str(x).replace("-", "\u2212") for x in X], Y), "x", X),
    "booleans as true and false": (lines("x,y", ["true", "FALSE"] * 20, Y), "x", [1.0, 0.0] * 20),
    "booleans as yes and no": (lines("x,y", ["Yes", "no"] * 20, Y), "x", [1.0, 0.0] * 20),
    "booleans as y and n": (lines("x,y", ["y", "N"] * 20, Y), "x", [1.0, 0.0] * 20),
    "booleans as t and f": (lines("x,y", ["T", "f"] * 20, Y), "x", [1.0, 0.0] * 20),
    "booleans as 1 and 0": (lines("x,y", [1, 0] * 20, Y), "x", [1.0, 0.0] * 20),
    "booleans in mixed spellings": (lines("x,y", ["yes", "FALSE", "on", "n"] * 10, Y), "x", [1.0, 0.0] * 20),
    "huge integers": (
        lines("x,y", [10**30 + 3 * 10**28 * i * i for i in range(N)], Y), "x", [1e30 + 3e28 * i * i for i in range(N)],
    ),
    "a comment-like first name": (lines("#x,y", X, Y), "#x", X),
}  # fmt: skip


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_file_gives_the_right_numbers(name: str) -> None:
    content, column, expected = TEXTS[name]
    np.testing.assert_allclose(numbers(content, column), expected, rtol=1e-12)


def test_what_was_taken_for_granted_is_said() -> None:
    assert "Columns are separated by “;”." in said(lines("x;y", X, Y, sep=";"))
    assert "decimal comma" in said(str(TEXTS["semicolons and decimal commas"][0]))
    assert "Windows-1252" in said(TEXTS["Latin-1 names"][0])
    assert "UTF-16" in said(PLAIN.encode("utf-16"))
    assert "as thousands" in said(lines("x,y", [f'"{n},000"' for n in range(1, 41)], Y))
    assert "there are no names" in said(lines("", X, Y))
    _, columns = opened(str(TEXTS["units"][0]))
    assert columns["x"].note == "without the unit “kg”"
    assert "beyond 2⁵³" in opened(str(TEXTS["huge integers"][0]))[1]["x"].note


def test_ambiguous_groups_of_three_after_a_semicolon_are_decimals_and_said() -> None:
    content = lines("x;y", [f"{i},125" for i in range(N)], range(N), sep=";")
    assert "read with a decimal comma, as 1.234" in said(content)
    assert numbers(content, "x")[3] == 3.125
    assert numbers(content, "x", decimal=".")[3] == 3125


def test_a_quoted_line_break_and_delimiter_stay_in_their_cell() -> None:
    texts = [f'"one, {"ab"[i % 2]}\ntwo ""quoted"""' for i in range(N)]
    raw, columns = opened(lines("t,y", texts, Y))
    assert columns["t"].kind == "category"
    assert columns["t"].values[0] == 'one, a\ntwo "quoted"'
    np.testing.assert_allclose(columns["y"].values, Y)
    assert len(raw.frame) == N


def test_short_rows_are_counted_and_long_ones_refused_with_their_line() -> None:
    short = PLAIN.replace(f"{X[3]},{Y[3]}", f"{X[3]}").replace(f"{X[5]},{Y[5]}", f"{X[5]}")
    raw, columns = opened(short)
    assert "2 rows are shorter than the others" in " ".join(raw.notes)
    assert columns["y"].missing == 2
    made = clean(list(columns.values()), Choices("y"))
    assert "2 rows without the response dropped" in report(made) and len(made.dataset.y) == N - 2
    refused(
        PLAIN.replace(f"{X[3]},{Y[3]}", f"{X[3]},{Y[3]},7"),
        "2 columns",
        "3 cells in line 5",
        "quotation marks",
    )


def test_a_quotation_mark_that_is_never_closed_is_refused() -> None:
    refused(PLAIN.replace(f"\n{X[10]},", '\n"7,'), "quotation mark", "never closed", "close it")


def test_repeated_and_empty_names_become_different_ones() -> None:
    raw, _ = opened(lines("x,x,,y", X, Y, [2 * x for x in X], Y[::-1]))
    assert list(raw.frame.columns) == ["x", "x (2)", "column 3", "y"]
    assert "1 names were there before" in " ".join(raw.notes)


def test_control_characters_leave_names() -> None:
    raw, _ = opened(lines("x\u202e\u200b,y\x07", X, Y))
    assert list(raw.frame.columns) == ["x", "y"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", ["an empty file"]),
        (b"  \n \n", ["an empty file"]),
        (b"x,y\n", ["table", "a column of numbers or categories that varies"]),
        (b"x,y\n1,2\n", ["a column of numbers or categories that varies"]),
        (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + bytes(range(256)), ["bytes that are no text", "save the table"]),
        (b"\x1f\x8b\x08\x00" + b"x" * 50, ["a compressed file", "unpack it"]),
        (b"PK\x03\x04" + b"x" * 50, ["Excel"]),
        (b"PAR1" + b"x" * 50, ["Parquet"]),
        (b"ARROW1\x00\x00" + b"x" * 50, ["Arrow"]),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"x" * 600, ["Excel"]),
        (lines("only", X).encode(), ["one input beside the response"]),
        (lines("x,y", ["a"] * N, Y).encode(), ["one input beside the response"]),
        (lines("x,y", X[:9], Y[:9]).encode(), ["20 or more rows", "got 9"]),
    ],
    ids=["empty", "blank", "no rows", "one row", "a picture", "gzip", "zip", "Parquet", "Arrow", "xls", "one column",
         "constant", "nine rows"],
)  # fmt: skip
def test_what_is_no_usable_table_is_refused(content: bytes, words: list[str]) -> None:
    refused(content, *words)


# -- what columns are -----------------------------------------------------------------------------------------------


def test_columns_that_no_network_can_take_are_left_out_with_a_reason() -> None:
    content = lines(
        "row,key,when,text,same,none,copy,x,y",
        range(1, N + 1), [f"k{i * 37 % 101}" for i in range(N)], [date(2024, 1, 1 + i % 28) for i in range(N)],
        [f"a long sentence about number {i % 7} that nobody could take for the name of a level {i}" for i in range(N)],
        ["z"] * N, [""] * N, X, X, Y,
    )  # fmt: skip
    _, columns = opened(content)
    kinds = {name: column.kind for name, column in columns.items()}
    assert kinds == {
        "row": "identifier", "key": "identifier", "when": "date", "text": "text", "same": "constant", "none": "empty",
        "copy": "number", "x": "duplicate", "y": "number",
    }  # fmt: skip
    said = report(clean(list(columns.values())))
    for words in ("row: left out: numbers the rows", "when: left out: dates", "same: left out: “z” in every row",
                  "none: left out: nothing in it", "x: left out: the same values as “copy”"):  # fmt: skip
        assert words in said


@pytest.mark.parametrize(
    "form",
    ["%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%S.123Z", "%d %B %Y",
     "%H:%M"],
)  # fmt: skip
def test_dates_are_told_from_texts(form: str) -> None:
    days = pd.date_range("2023-01-17", periods=N, freq="29h").strftime(form)
    _, columns = opened(lines("d,y", [f'"{day}"' for day in days], Y))
    assert columns["d"].kind == "date"


def test_words_among_numbers_are_missing_and_named() -> None:
    mixed: list[Any] = [*X[:-2], "broken", "?"]
    _, columns = opened(lines("x,y", mixed, Y))
    assert columns["x"].kind == "number" and columns["x"].missing == 2
    assert "1 word such as “broken” taken as missing" in columns["x"].note
    half = [x if i % 2 else "abc"[i % 3] for i, x in enumerate(X)]
    assert opened(lines("x,y", half, Y))[1]["x"].kind != "number"


def test_mixed_units_are_no_numbers() -> None:
    _, columns = opened(lines("x,y", [f"{i % 9} {'kg' if i % 2 else 'lb'}" for i in range(N)], Y))
    assert columns["x"].kind == "category"


def test_one_column_with_another_decimal_sign_is_read_with_it_and_said() -> None:
    _, columns = opened(lines("a;x;y", X, [f"{i},5" for i in range(N)], Y, sep=";"))
    assert columns["x"].kind == "number" and columns["x"].values[3] == 3.5
    assert "decimal sign “,”" in columns["x"].note


def test_every_spelling_of_missing_is_missing() -> None:
    words = ["", "NA", "n/a", "NaN", "NULL", "None", "?", "-", "#N/A", "nil"]
    _, columns = opened(lines("c,x,y", words * 4, words * 2 + X[:20], Y))
    assert columns["c"].kind == "empty"
    assert columns["x"].missing == 20


def test_infinite_values_are_missing_and_counted() -> None:
    _, columns = opened(lines("x,y", ["inf", "-Infinity", *X[2:]], Y))
    assert columns["x"].missing == 2 and "2 infinite values taken as missing" in columns["x"].note


# -- cleaning -------------------------------------------------------------------------------------------------------


def test_two_hundred_categories_are_merged_to_twenty_columns() -> None:
    n = 4000
    rng = np.random.default_rng(0)
    levels = rng.zipf(1.3, n).clip(max=200)
    made = cleaned(lines("c,y", [f"level {level}" for level in levels], rng.normal(size=n).round(4)))
    X_, _ = design(made.dataset)
    assert X_.shape[1] <= 20 and made.encoded == X_.shape[1]
    counts = pd.Series(levels).value_counts()
    assert X_["c=level 1"].sum() == counts[1]
    assert X_["c=(other)"].sum() + sum(X_[f"c=level {k}"].sum() for k in counts.index[:5]) <= n
    assert f"rare levels of {len(counts)} merged into “(other)”" in report(made)


def test_the_bound_on_encoded_columns_lowers_the_levels_of_every_category() -> None:
    rng = np.random.default_rng(1)
    table = pd.DataFrame({f"c{j}": rng.integers(0, 18, 2000) for j in range(10)}).map(lambda v: f"v{v}")
    table["y"] = rng.normal(size=2000)
    columns = understand(table.astype(str))
    made = clean(columns, Choices("y"), limits=Limits(encoded=60))
    assert made.encoded <= 60
    with pytest.raises(InvalidInputError, match="at most 5 inputs"):
        clean(columns, Choices("y"), limits=Limits(encoded=5))


def test_missing_values_of_rows_without_a_response_do_not_count() -> None:
    made = cleaned(lines("x,y", ["", *X[1:-1], ""], ["", *Y[1:]]), Choices("y", missing="drop"))
    assert "rows: 1 row with missing values dropped (“x” 1)" in report(made)


def test_rows_that_repeat_others_are_counted_and_kept() -> None:
    made = cleaned(lines("x,y", [*X, *X[:3]], [*Y, *Y[:3]]), Choices("y"))
    assert len(made.dataset.y) == N + 3
    assert "rows: 3 rows the same as another in all that is used, and kept" in report(made)
    assert "the same as another" not in report(cleaned(lines("x,y", X, Y), Choices("y")))


def test_missing_values_are_dropped_or_filled_as_chosen_with_counts() -> None:
    content = lines("x,c,y", ["", "", "", *X[3:]], ["a", "b", *["a", "b", "b"] * 12, "", ""], Y)
    dropped = cleaned(content, Choices("y", missing="drop"))
    assert len(dropped.dataset.y) == N - 5
    assert "5 rows with missing values dropped (“x” 3, “c” 2)" in report(dropped)
    filled = cleaned(content, Choices("y", missing="impute"))
    assert len(filled.dataset.y) == N
    assert filled.dataset.X["x"][0] == np.median(X[3:])
    assert filled.dataset.X["c"].tolist()[-1] == "(missing)"
    assert f"x: 3 missing, filled in with the median, {np.median(X[3:]):g}" in report(filled)
    assert "c: 2 missing, counted as the level “(missing)”" in report(filled)
    assert cleaned(content).choices.missing == "impute"  # more than a twentieth would be lost


def test_a_table_whose_rows_all_miss_something_says_what_to_do() -> None:
    content = lines("a,b,y", ["", *X[1:20], *[""] * 20], [*[""] * 20, *X[20:]], Y)
    refused(content, "20 or more rows", "impute", choices=Choices("y", missing="drop"))
    assert len(cleaned(content).dataset.y) == N


@pytest.mark.parametrize(
    ("values", "task"),
    [
        (Y, "regression"), (["a", "b"] * 20, "binary"), (["a", "b", "c", "a"] * 10, "multiclass"),
        ([1, 2] * 20, "binary"), ([1, 2, 3, 5] * 10, "multiclass"), ([1.5, 2, 3, 5] * 10, "regression"),
        (["yes", "no"] * 20, "binary"),
        (list(range(0, 2 * N, 2)), "regression"),
    ],
)  # fmt: skip
def test_the_task_is_inferred(values: list[Any], task: str) -> None:
    assert cleaned(lines("x,target", X, values)).choices.task == task


def test_classes_are_numbered_in_their_order_and_named() -> None:
    made = cleaned(lines("x,class", X, ["good", "bad", "ugly", "bad"] * 10))
    assert made.dataset.task == "multiclass"
    assert made.dataset.y.tolist()[:4] == [1, 0, 2, 0]
    assert "classes: 0 is “bad”, 1 is “good”, 2 is “ugly”" in report(made)


def test_a_response_with_one_class_or_2000_is_refused() -> None:
    refused(lines("x,y", X, ["a"] * N), "target", "constant", choices=Choices("y"))
    words = [f"class {i % 2000}" for i in range(4000)]
    many = lines("x,label", range(0, 8000, 2), words)
    refused(
        many, "classes must be at most 50, got 2,000", "regression", choices=Choices("label", "multiclass")
    )


def test_rare_classes_are_dropped_and_named() -> None:
    made = cleaned(lines("x,label", X, ["a"] * 18 + ["b"] * 18 + ["c", "d", "d", "c"]))
    assert len(made.dataset.y) == 36
    assert "4 rows of classes with fewer than 10 rows dropped: “c”, “d”" in report(made)


def test_the_target_is_guessed_by_its_name_or_is_the_last_usable_column() -> None:
    def guessed(header: str) -> str:
        _, columns = opened(lines(header, X, [2 * x for x in X[::-1]], Y))
        return guess_target(list(columns.values()))

    assert guessed("a,Target,b") == "Target"
    assert guessed("price,a,b") == "price"
    assert guessed("a,b,c") == "c"
    _, columns = opened(lines("a,b,same", X, Y, ["z"] * N))
    assert guess_target(list(columns.values())) == "b"


def test_a_target_that_cannot_be_one_is_refused() -> None:
    refused(PLAIN, "did you mean 'y'", choices=Choices("yy"))
    refused(
        lines("x,c,y", X, ["a", "b"] * 20, Y), "numbers for a regression", choices=Choices("c", "regression")
    )
    refused(PLAIN, "two values for two classes", choices=Choices("y", "binary"))


def test_heavy_tails_are_kept_ranked_or_logged() -> None:
    rng = np.random.default_rng(0)
    x = np.round(rng.standard_cauchy(500), 3)
    content = lines("x,z,y", x, rng.normal(size=500).round(3), rng.normal(size=500).round(3))
    kept, ranked, logged = (
        cleaned(content, Choices("y", tails=tails)).dataset.X for tails in ("keep", "rank", "log")
    )
    np.testing.assert_allclose(kept["x"], x)
    assert np.abs(ranked["x"]).max() < 3.5 and (ranked["x"].argsort() == x.argsort()).mean() > 0.9
    scale = np.median(np.abs(x))
    np.testing.assert_allclose(logged["x"], np.sign(x) * np.log1p(np.abs(x) / scale))
    np.testing.assert_allclose(ranked["z"], kept["z"])


# -- typed files ----------------------------------------------------------------------------------------------------


def parquet(table: pa.Table | pd.DataFrame) -> bytes:
    buffer = io.BytesIO()
    arrow = table if isinstance(table, pa.Table) else pa.Table.from_pandas(table, preserve_index=False)
    pa.parquet.write_table(arrow, buffer)
    return buffer.getvalue()


def arrow_file(table: pa.Table, stream: bool = False) -> bytes:
    buffer = io.BytesIO()
    with (pa.ipc.new_stream if stream else pa.ipc.new_file)(buffer, table.schema) as writer:
        writer.write_table(table)
    return buffer.getvalue()


TYPED = pa.table(
    {
        "whole": pa.array([None, *range(1, N)], pa.int64()), "x": X, "small": pa.array(X, pa.float32()),
        "money": [Decimal(i) / 4 for i in range(N)], "flag": [i % 3 == 0 for i in range(N)],
        "level": pa.array(["a", "b"] * 20).dictionary_encode(), "when": [date(2024, 1, 1)] * N,
        "nested": [[1, 2]] * N, "record": [{"a": 1}] * N, "raw": [b"x"] * N, "y": Y,
    }
)  # fmt: skip


@pytest.mark.parametrize("form", [parquet, arrow_file, lambda table: arrow_file(table, stream=True)])
def test_typed_files_keep_their_types(form: Callable[[pa.Table], bytes]) -> None:
    raw, columns = opened(form(TYPED))
    assert "“nested”, “record”, “raw” left out: nested values, bytes." in raw.notes
    kinds = {name: column.kind for name, column in columns.items()}
    assert kinds == {
        "whole": "number", "x": "number", "small": "duplicate", "money": "number", "flag": "boolean",
        "level": "category", "when": "date", "y": "number",
    }  # fmt: skip
    assert columns["whole"].missing == 1 and columns["whole"].values[5] == 5
    np.testing.assert_allclose(columns["money"].values, np.arange(N) / 4)
    np.testing.assert_allclose(columns["y"].values, Y)


def test_a_typed_file_without_rows_or_columns_is_refused() -> None:
    refused(parquet(TYPED.slice(0, 0)), "no rows")
    refused(parquet(TYPED.select(["nested"])), "no such column")


def test_names_that_occur_twice_in_a_typed_file() -> None:
    table = pa.Table.from_arrays([pa.array(X), pa.array(Y)], names=["x", "x"])
    _, columns = opened(arrow_file(table))
    np.testing.assert_allclose(columns["x (2)"].values, Y)


# -- workbooks ------------------------------------------------------------------------------------------------------


def workbook(fill: Callable[[xlsxwriter.Workbook], None]) -> bytes:
    buffer = io.BytesIO()
    book = xlsxwriter.Workbook(buffer, {"in_memory": True})
    fill(book)
    book.close()
    return buffer.getvalue()


def two_sheets(book: xlsxwriter.Workbook) -> None:
    book.add_worksheet("empty")
    sheet = book.add_worksheet("data")
    sheet.write_row(2, 1, ["group", "x", "y", "when", "flag"])
    day = book.add_format({"num_format": "yyyy-mm-dd"})
    for i in range(N):
        sheet.write_row(3 + i, 2, [X[i], Y[i]])
        sheet.write_datetime(3 + i, 4, pd.Timestamp("2024-01-01") + pd.Timedelta(days=i), day)
        sheet.write_boolean(3 + i, 5, i % 2 == 0)
    sheet.merge_range(3, 1, 22, 1, "first")
    sheet.merge_range(23, 1, 42, 1, "second")
    other = book.add_worksheet("other")
    other.write_row(0, 0, ["a", "b"])
    for i in range(N):
        other.write_row(1 + i, 0, [i * i, i % 5])


def test_a_workbook_with_two_sheets_and_merged_cells() -> None:
    content = workbook(two_sheets)
    raw, columns = opened(content)
    assert raw.sheets == ("empty", "data", "other")
    assert (
        "Sheet “data”; the others: “empty”, “other”." in raw.notes
        and "38 merged cells are filled with their value." in raw.notes
    )
    np.testing.assert_allclose(columns["x"].values, X)
    np.testing.assert_allclose(columns["y"].values, Y)
    assert columns["group"].values.tolist() == ["first"] * 20 + ["second"] * 20
    assert columns["when"].kind == "date" and columns["flag"].kind == "boolean"
    assert opened(content, sheet="other")[1]["b"].values.tolist() == [float(i % 5) for i in range(N)]
    refused(content, "sheet must be one of empty, data, other", sheet="third")
    refused(content, "which is empty", "choose another sheet: “data”, “other”", sheet="empty")


def test_a_formula_is_its_value_and_never_computed() -> None:
    def fill(book: xlsxwriter.Workbook) -> None:
        sheet = book.add_worksheet()
        sheet.write_row(0, 0, ["x", "y"])
        for i in range(N):
            sheet.write_formula(1 + i, 0, '=HYPERLINK("http://127.0.0.1:9/")', value=X[i])
            sheet.write(1 + i, 1, Y[i])

    np.testing.assert_allclose(numbers(workbook(fill), "x"), X)


# -- bounds ---------------------------------------------------------------------------------------------------------


def test_a_table_of_5000_columns_is_refused_before_it_is_parsed() -> None:
    wide = ",".join(f"c{j}" for j in range(5000)) + "\n" + "\n".join([",".join("1" * 5000)] * 12)
    refused(wide, "at most 2,000 columns, got 5,000", "keep the columns that matter")
    refused(parquet(pa.table({f"c{j}": [1] for j in range(2001)})), "at most 2,000 columns")


def test_a_larger_table_is_sampled_and_the_note_says_so() -> None:
    limits = Limits(kept_rows=30)
    raw = read(PLAIN.encode(), limits=limits)
    assert len(raw.frame) == 30 and "30 of 40 rows, drawn at random" in raw.notes[-1]
    assert raw.frame.equals(read(PLAIN.encode(), limits=limits).frame)


def test_the_cells_of_a_file_are_counted_before_they_are_read() -> None:
    with pytest.raises(InvalidInputError, match="at most 10 rows of 2 columns"):
        read(PLAIN.encode(), limits=Limits(rows=10))
    with pytest.raises(InvalidInputError, match="at most 10 rows of 2 columns"):
        read(parquet(pa.table({"x": X, "y": Y})), limits=Limits(cells=20))
    with pytest.raises(InvalidInputError, match="at most 1 MB, got 2 MB"):
        read(b"x" * 2**21, limits=Limits(megabytes=1))


# -- leaks ----------------------------------------------------------------------------------------------------------


def test_columns_that_repeat_the_response_are_pointed_out() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=300), rng.normal(size=300)
    content = lines("x,scaled,noisy,square,y", x, 3 - 2 * y, y + rng.normal(size=300), y**2, y)
    _, columns = opened(content)
    found = dict(leaks(list(columns.values()), "y", "regression"))
    assert set(found) == {"scaled"} and "leave it out" in found["scaled"]
    assert f"scaled: {found['scaled']}" in report(cleaned(content, Choices("y")))
    assert "scaled: left out by choice" in report(cleaned(content, Choices("y", leave_out=("scaled",))))
    assert "leave it out" not in report(cleaned(content, Choices("y", leave_out=("scaled",))))


def test_columns_that_tell_the_class_are_pointed_out() -> None:
    rng = np.random.default_rng(0)
    label = rng.choice(["a", "b", "c"], 300)
    code = pd.Series(label).map({"a": "red", "b": "green", "c": "blue"})
    number = pd.Series(label).map({"a": 1.0, "b": 5.0, "c": 9.0}) + rng.uniform(size=300)
    content = lines(
        "x,code,number,some,label", rng.normal(size=300), code, number, rng.choice(["u", "v"], 300), label
    )
    _, columns = opened(content)
    assert set(dict(leaks(list(columns.values()), "label", "multiclass"))) == {"code", "number"}
    two = lines("x,code,label", rng.normal(size=300), ["p", "q"] * 150, ["yes", "no"] * 150)
    assert set(dict(leaks(list(opened(two)[1].values()), "label", "binary"))) == {"code"}


def test_levels_that_hardly_come_up_make_no_input_at_all() -> None:
    levels = [f"L{i % 19}" for i in range(N)]
    made = cleaned(lines("c,x,y", levels, X, Y))
    assert made.inputs == 1 and "c" not in made.dataset.X
    assert "c: left out: none of its 19 levels comes up in 5 rows or more" in report(made)
    _, columns = opened(lines("name,x,y", [f"P{i}" for i in range(12)], X[:12], Y[:12]))
    assert columns["name"].kind == "identifier"


def test_a_column_to_leave_out_must_be_there() -> None:
    refused(PLAIN, "leave_out must be one of x, y, got z", choices=Choices("y", leave_out=("z",)))


def test_the_smallest_table_can_be_initialized() -> None:
    made = cleaned(lines("x,y", X[:20], Y[:20]))
    held = hold(made.dataset)
    assert len(initialize(Experiment(dataset=held.dataset.name, depth=2))) > 0


def test_the_first_sheet_that_is_a_table_is_taken() -> None:
    def fill(book: xlsxwriter.Workbook) -> None:
        notes = book.add_worksheet("notes")
        notes.write_column(0, 0, ["See sheet 2", "and nothing else"])
        sheet = book.add_worksheet("data")
        sheet.write_row(0, 0, ["x", "y"])
        for i in range(N):
            sheet.write_row(1 + i, 0, [X[i], Y[i]])

    raw, columns = opened(workbook(fill))
    assert "Sheet “data”; the others: “notes”." in raw.notes and set(columns) == {"x", "y"}

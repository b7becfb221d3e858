"""The parts of the page "Your data": a file or a pasted table, what was understood of it, choices, and a report."""

import hashlib
from collections.abc import Sequence

import pandas as pd
import streamlit as st

from steinglm.dashboard.explain import TOPICS
from steinglm.dashboard.owntable import title_of
from steinglm.datasets.dataset import Task
from steinglm.tables.choices import MISSING, NONE_MADE, TAILS, Choices, Tails, guess, targets
from steinglm.tables.cleaning import Cleaned, clean
from steinglm.tables.hazards import heavy, leaks
from steinglm.tables.limits import Limits
from steinglm.tables.opening import Opened, open_apart
from steinglm.tables.raw import Options

__all__ = ["choose", "chosen", "clean_it", "content", "open_it", "options", "report", "show"]

TYPES = [
    "csv",
    "tsv",
    "txt",
    "dat",
    "data",
    "parquet",
    "pq",
    "arrow",
    "feather",
    "xlsx",
    "xlsm",
    "xls",
    "xlsb",
    "ods",
]
DELIMITERS = {"comma ,": ",", "semicolon ;": ";", "tab": "\t", "bar |": "|", "blank": " "}
TASKS: tuple[Task, ...] = ("regression", "binary", "multiclass")
TASK_TITLES = {"regression": "a number", "binary": "two classes", "multiclass": "classes"}
MISSING_TITLES = {"drop": "drop their rows", "impute": "fill them in"}
TAILS_TITLES = {"keep": "keep", "rank": "normal scores of ranks", "log": "signed logarithm"}
PASTED = "pasted.csv"
EXAMPLE = "size, colour, price\n12, red, 3.5\n15, blue, 4.1\n…"


def content() -> tuple[bytes, str] | None:
    """The bytes that a person gives, and the name of their file, kept as long as the session; None before any."""
    how = st.segmented_control(
        "Where is it?", ("A file", "Paste it"), default="A file", required=True, key="how"
    )
    if how == "Paste it":
        text = st.text_area("The table", key="pasted", height=220, placeholder=EXAMPLE)
        new = (text.encode(), PASTED) if text.strip() else None
    else:
        given = st.file_uploader("CSV, Parquet, Arrow, Excel or OpenDocument", TYPES, key="upload")
        new = None if given is None else (given.getvalue(), title_of(given.name))
    if new is not None:
        st.session_state["given"] = new
    kept: tuple[bytes, str] | None = st.session_state.get("given")
    if new is None and kept is not None:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.text(f"In use: {kept[1]}", width="content")
            st.button("Forget it", type="tertiary", on_click=_forget)
    return kept


def _forget() -> None:
    for name in ("given", "opened", "cleaned"):
        st.session_state.pop(name, None)


def chosen(content: bytes) -> Options:
    """What the person has said about how this file is to be read."""

    def said(name: str) -> str | None:
        value: str | None = st.session_state.get(f"{name}{_of([content])}")
        return value

    header = said("header")
    return Options(
        DELIMITERS.get(said("delimiter") or ""),
        None if header is None else header == "yes",
        said("decimal"),
        said("sheet"),
    )


def options(content: bytes, sheets: Sequence[str] = ()) -> None:
    """How to read the file, where the reader's guess is wrong; `chosen` gives what was said at the next run."""
    end = _of([content])
    found = "as found"
    with st.expander("How it is read"), st.container(horizontal=True, gap="medium"):
        st.selectbox("The first row holds names", ("yes", "no"), None, key=f"header{end}", placeholder=found)
        if sheets:
            st.selectbox("Sheet", sheets, None, key=f"sheet{end}", placeholder=found)
        else:
            st.selectbox(
                "Columns are separated by", DELIMITERS, None, key=f"delimiter{end}", placeholder=found
            )
            st.selectbox("Decimal sign", (".", ","), None, key=f"decimal{end}", placeholder=found)


def open_it(content: bytes, options: Options) -> Opened:
    """Read the file in a process of its own, once for the same bytes and options.

    Raises
    ------
    InvalidInputError : it cannot be read, with what to do
    """
    key = hashlib.sha256(content).hexdigest(), options
    known = st.session_state.get("opened")
    if known is None or known[0] != key:
        with st.spinner("Reading …"):
            known = key, open_apart(content, options, Limits.from_environment())
        st.session_state["opened"] = known
    opened: Opened = known[1]
    return opened


def show(opened: Opened) -> None:
    """The first rows as they stand in the file, and what each column is taken for."""
    for note in opened.notes:
        st.text(note)
    st.dataframe(opened.preview, height=240, alt="The first rows of the table")
    st.subheader("Columns", help=TOPICS["columns"].text)
    rows = [(own.name, own.kind, own.missing, own.distinct, own.note) for own in opened.columns]
    table = pd.DataFrame(rows, columns=["Column", "Is", "Missing", "Different values", "What was decided"])
    st.dataframe(table, hide_index=True, height="auto", alt="The columns and what they are")


def choose(opened: Opened) -> Choices:
    """The widgets of a person's choices, filled in with sensible guesses.

    Raises
    ------
    InvalidInputError : no column can be a response
    """
    columns = opened.columns
    first = guess(columns, NONE_MADE)
    names = targets(columns)
    with st.container(horizontal=True, gap="large", vertical_alignment="top"):
        target = st.selectbox(
            "Response",
            names,
            names.index(str(first.target)),
            key=f"target{_of(names)}",
            help=TOPICS["target"].text,
        )
        guessed = guess(columns, Choices(target))
        task: Task | None = st.segmented_control(
            "It is", TASKS, default=guessed.task, format_func=TASK_TITLES.__getitem__, required=True,
            key=f"task{_of([target])}",
        )  # fmt: skip
        missing = st.segmented_control(
            "Missing values", MISSING, default=guessed.missing, format_func=MISSING_TITLES.__getitem__, required=True,
            key=f"missing{_of(names)}", help=TOPICS["missing"].text,
        )  # fmt: skip
    telling = leaks(columns, target, task or "regression")
    if telling:
        st.warning(
            "These columns all but repeat the response. Leave them out unless they are known beforehand."
        )
        st.dataframe(
            pd.DataFrame(telling, columns=["Column", "Why"]), hide_index=True, alt="Columns that leak"
        )
    left_out = st.multiselect(
        "Leave out", [name for name in names if name != target], key=f"leave{_of([*names, target])}",
        placeholder="no column",
    )  # fmt: skip
    tails: Tails | None = "keep"
    wide = heavy(columns, target)
    if wide:
        st.text(f"Heavy tails, where a few rows have most of the weight: {_listed(wide)}")
        tails = st.segmented_control(
            "These columns", TAILS, default="keep", format_func=TAILS_TITLES.__getitem__, required=True,
            key=f"tails{_of(names)}", help=TOPICS["tails"].text,
        )  # fmt: skip
    return Choices(target, task, missing, tails or "keep", tuple(left_out))


def _of(names: Sequence[object]) -> str:
    """A key's end that tells one table's widgets from another's."""
    return hashlib.sha256(repr(names).encode()).hexdigest()[:8]


def _listed(names: Sequence[str], most: int = 8) -> str:
    more = "" if len(names) <= most else " …"
    return ", ".join(f"“{name}”" for name in names[:most]) + more


def clean_it(opened: Opened, choices: Choices, file: str) -> Cleaned:
    """Clean the table, once for the same choices.

    Raises
    ------
    InvalidInputError : it cannot be used so, with what to do
    """
    key = st.session_state["opened"][0], choices
    known = st.session_state.get("cleaned")
    if known is None or known[0] != key:
        with st.spinner("Preparing …"):
            made = clean(opened.columns, choices, title=title_of(file), limits=Limits.from_environment())
        known = key, made.after(opened.notes)
        st.session_state["cleaned"] = known
    cleaned: Cleaned = known[1]
    return cleaned


def report(cleaned: Cleaned) -> None:
    """What was done and why, with counts."""
    st.subheader("What will be used", help=TOPICS["report"].text)
    data = cleaned.dataset
    with st.container(horizontal=True, gap="large"):
        for label, value in (
            ("Rows", f"{len(data.y):,} of {cleaned.rows_read:,}"), ("Columns", f"{cleaned.inputs:,}"),
            ("Inputs of the networks", f"{cleaned.encoded:,}"),
        ):  # fmt: skip
            st.metric(label, value, width="content")
    _steps(cleaned.report)


def _steps(steps: Sequence[tuple[str, str]]) -> None:
    if steps:
        table = pd.DataFrame(list(steps), columns=["Where", "What was done"])
        widths = {
            "Where": 160,
            "What was done": 900,
        }  # wider than the page, to be scrolled to: cells do not wrap
        config = {name: st.column_config.TextColumn(width=width) for name, width in widths.items()}
        st.dataframe(
            table, hide_index=True, height="auto", column_config=config, alt="What was done to the table"
        )
    else:
        st.caption("Every row and column is used as it is.")

"""The table that a person has brought: it lives in this session, and is gone with it."""

import re
from dataclasses import dataclass

import streamlit as st

from steinglm.datasets import hold
from steinglm.datasets.own import Held
from steinglm.export import Source
from steinglm.tables.cleaning import Cleaned
from steinglm.tables.raw import Options

__all__ = ["OwnTable", "current", "source", "title_of", "use"]

UNSAFE = re.compile(r"[^\w .()-]")  # a title is shown in Markdown, HTML and file names


@dataclass(frozen=True, eq=False)
class OwnTable:
    """A table in use.

    held : keeps it in memory as long as the session
    source : the file it came from and how it was read, for the code to take home
    keep : whether finished runs on it may be written to the server's store
    """

    held: Held
    cleaned: Cleaned
    source: Source
    keep: bool

    @property
    def name(self) -> str:
        """By which experiments name it."""
        return self.held.dataset.name


def title_of(file: str) -> str:
    """A file's name as a title that is plain text everywhere.

    >>> title_of("![x](http://y/z.png)<b>.csv")
    'x_(http___y_z.png)_b_.csv'
    """
    return UNSAFE.sub("_", file).strip("_ ")[:60] if file.strip("_ ") else "table"


def current() -> OwnTable | None:
    """The session's table, if it has one."""
    own: OwnTable | None = st.session_state.get("own")
    return own


def source(dataset: str) -> Source | None:
    """Where the data set came from, if it is the session's table."""
    own = current()
    return own.source if own is not None and own.name == dataset else None


def use(cleaned: Cleaned, file: str, options: Options, keep: bool) -> None:
    """Take a cleaned table into use; it is what Compare shows next."""
    own = OwnTable(hold(cleaned.dataset), cleaned, Source(file, options, cleaned.choices), keep)
    st.session_state["own"], st.session_state["own_chosen"] = own, True

"""Whatever bytes come: a table, or one message that says what to do. Never another exception, never a wrong shape."""

import io
import zipfile
from collections.abc import Callable
from contextlib import suppress

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from steinglm.datasets import design
from steinglm.exceptions import InvalidInputError
from steinglm.tables import columns as columns_module
from steinglm.tables.choices import MISSING, TAILS, Choices, targets
from steinglm.tables.cleaning import clean
from steinglm.tables.columns import understand
from steinglm.tables.limits import Limits
from steinglm.tables.raw import Options
from steinglm.tables.reading import read
from tests.tables.test_corpus import TYPED, arrow_file, parquet, two_sheets, workbook

LIMITS = Limits(rows=2000, columns=100, cells=50_000, expanded_megabytes=5)
SIGNS = list(",;\t|^~: .\"'\n\r=+-@$%€0123456789eExyNaNinf\x00\ufeff\u202eäß<>&*_\\/`")
CELLS = st.one_of(
    st.text(st.sampled_from(SIGNS), max_size=8),
    st.floats().map(str), st.integers().map(str),
    st.sampled_from(["", "NA", "yes", "no", "1,5", "1.234,5", "2024-02-30", "12 kg", "<img src=x onerror=alert(1)>",
                     "=cmd()", "inf", "1e999", "9" * 400, "true", "\u2212 3"]),
)  # fmt: skip
TABLES = st.lists(st.lists(CELLS, min_size=1, max_size=5), min_size=1, max_size=25)
TEXTS = st.one_of(
    st.builds(
        lambda rows, sign, end: end.join(sign.join(row) for row in rows),
        TABLES, st.sampled_from([",", ";", "\t", "|", " "]), st.sampled_from(["\n", "\r\n", "\r"]),
    ),
    st.text(st.sampled_from(SIGNS), max_size=300),
)  # fmt: skip
ENCODED = st.builds(
    lambda text, encoding: text.encode(encoding, errors="replace"),
    TEXTS, st.sampled_from(["utf-8", "utf-16", "utf-16-le", "utf-16-be", "latin-1", "utf-8-sig"]),
)  # fmt: skip
WHOLE = [parquet(TYPED), arrow_file(TYPED), arrow_file(TYPED, stream=True), workbook(two_sheets)]
Change = tuple[int, int]


def damaged(content: bytes, changes: list[Change], cut: int) -> bytes:
    """A file with some bytes changed, and its end cut off."""
    own = bytearray(content)
    for place, value in changes:
        own[place % len(own)] = value
    return bytes(own[: len(own) - cut % len(own)])


DAMAGED = st.builds(
    damaged,
    st.sampled_from(WHOLE),
    st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), max_size=6),
    st.one_of(st.just(0), st.integers(0, 10**4)),
)
FILES = st.one_of(ENCODED, st.binary(max_size=400), DAMAGED)
OPTIONS = st.builds(
    Options,
    delimiter=st.sampled_from([None, None, None, ",", ";"]), header=st.sampled_from([None, None, True, False]),
    decimal=st.sampled_from([None, None, ".", ","]), sheet=st.sampled_from([None, None, "other", "x"]),
)  # fmt: skip


def go(content: bytes, options: Options, missing: str, tails: str, pick: int) -> None:
    """The whole way that an upload goes."""
    raw = read(content, options, LIMITS)
    found = understand(raw.frame, raw.decimal)
    assert len(found) == raw.frame.shape[1] <= LIMITS.columns
    assert len({column.name for column in found}) == len(found)
    assert all(len(column.values) == len(raw.frame) for column in found)
    names = targets(found)
    target = names[pick % len(names)] if names else None
    choices = Choices(target, missing=missing, tails=tails)  # type: ignore[arg-type]
    made = clean(found, choices, limits=LIMITS)
    X, y = design(made.dataset)
    assert np.isfinite(X.to_numpy()).all() and np.isfinite(y.to_numpy()).all()
    assert len(X) == len(y) <= len(raw.frame)


def fuzz(examples: int) -> Callable[[], None]:
    """A run of so many generated files; a fault is reported as it is found, without looking for a smaller one."""

    @settings(
        phases=[Phase.generate],
        max_examples=examples,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        database=None,
    )
    @given(FILES, OPTIONS, st.sampled_from(MISSING), st.sampled_from(TAILS), st.integers(0, 100))
    def run(content: bytes, options: Options, missing: str, tails: str, pick: int) -> None:
        with suppress(InvalidInputError):  # it says what to do
            go(content, options, missing, tails, pick)

    return run


def test_hundreds_of_files() -> None:
    fuzz(300)()


@pytest.mark.soak
def test_ten_thousand_files() -> None:
    fuzz(10_000)()


def test_planted_fault_the_harness_sees_an_exception_of_another_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns_module, "NO", {"no"})
    monkeypatch.setattr(columns_module, "YES", {"yes"})
    original = columns_module._number

    def faulty(text: str, decimal: str) -> float:
        return float(text) if text.startswith("1") else original(text, decimal)

    monkeypatch.setattr(columns_module, "_number", faulty)
    with pytest.raises(ValueError, match="could not convert string to float"):
        fuzz(2000)()


def test_a_bomb_is_refused_before_it_is_unpacked() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "<x/>")
        archive.writestr("xl/worksheets/sheet1.xml", b"0" * 20 * 2**20)
    assert len(buffer.getvalue()) < 40_000
    with pytest.raises(InvalidInputError, match="at most 5 MB when unpacked, got 20 MB"):
        read(buffer.getvalue(), limits=LIMITS)


def test_a_bomb_that_lies_about_its_size_is_refused() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "<x/>")
        archive.writestr("xl/worksheets/sheet1.xml", b"0" * 20 * 2**20)
    lying = buffer.getvalue().replace((20 * 2**20).to_bytes(4, "little"), (1000).to_bytes(4, "little"))
    with pytest.raises(InvalidInputError, match="larger than its directory says"):
        read(lying, limits=LIMITS)


def test_a_parquet_file_of_a_billion_rows_is_refused_before_it_is_expanded() -> None:
    """A constant column takes next to no bytes, however long it is."""
    buffer = io.BytesIO()
    table = pa.table(
        {"x": pa.array(np.zeros(10**7, dtype=np.int8)), "y": pa.array(np.ones(10**7, dtype=np.int8))}
    )
    with pa.parquet.ParquetWriter(buffer, table.schema, compression="zstd") as writer:
        for _ in range(3):
            writer.write_table(table)
    assert len(buffer.getvalue()) < 300_000
    with pytest.raises(InvalidInputError, match=r"at most 2,000 rows of 2 columns, got 30,000,000"):
        read(buffer.getvalue(), limits=LIMITS)

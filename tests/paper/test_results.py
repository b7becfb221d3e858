"""Results are read as they were written; what is missing or cut off is one clear error."""

from pathlib import Path

import pandas as pd
import pytest

from steinglm.exceptions import InvalidInputError
from steinglm.paper import results, run
from tests.paper.test_claims import made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = made().to_parquet(index=False, compression="zstd")
    run.write(tmp_path, {run.TABLES.rows: rows, run.TABLES.environment: {"cores": 2}})
    return tmp_path


def test_what_was_written_is_read(folder: Path) -> None:
    rows, environment = results.read(folder)
    pd.testing.assert_frame_equal(rows, made())
    assert environment == {"cores": 2}


@pytest.mark.parametrize("name", [run.TABLES.rows, run.TABLES.environment])
@pytest.mark.parametrize("left", [0, 7, 0.5, None])
def test_a_file_that_is_cut_off_or_missing_is_one_clear_error(
    folder: Path, name: str, left: float | None
) -> None:
    path = folder / name
    data = path.read_bytes()
    if left is None:
        path.unlink()
    else:
        path.write_bytes(data[: int(len(data) * left) if isinstance(left, float) else left])
    with pytest.raises(InvalidInputError, match="run `python -m steinglm paper` with this folder again"):
        results.read(folder)


def test_another_table_is_refused(folder: Path) -> None:
    pd.DataFrame({"a": [1]}).to_parquet(folder / run.TABLES.rows)
    with pytest.raises(InvalidInputError, match="other columns"):
        results.read(folder)

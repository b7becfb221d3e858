"""The embedded files are the tables they claim to be."""

import pytest

from steinglm.datasets import design, embedded, load

# rows and columns of X as published, columns after one-hot encoding, complete rows, positive rows (or None)
SHAPES = {
    "abalone": (4177, 8, 10, 4177, None),
    "california_housing": (20640, 8, 8, 20640, None),
    "power_plant": (9568, 4, 4, 9568, None),
    "electrical_grid": (10000, 11, 11, 10000, None),
    "adult": (32561, 14, 104, 30162, 7508),
    "bank_marketing": (45211, 16, 51, 45211, 5289),
    "magic": (19020, 10, 10, 19020, 12332),
    "mammographic": (830, 5, 5, 830, 403),
    "spambase": (4601, 57, 57, 4601, 1813),
}


def test_every_source_has_a_shape_and_a_file() -> None:
    assert set(SHAPES) == set(embedded.SOURCES)
    assert {path.stem for path in embedded.FOLDER.glob("*.parquet")} == set(SHAPES)


@pytest.mark.parametrize("name", SHAPES)
def test_the_table_has_the_published_size(name: str) -> None:
    rows, columns, encoded, complete, positive = SHAPES[name]
    data = load(name)
    X, y = design(data)
    assert data.X.shape == (rows, columns)
    assert X.shape == (complete, encoded)
    assert data.task == ("regression" if positive is None else "binary")
    assert positive is None or int(y.sum()) == positive


def test_the_response_and_its_labels_are_no_inputs() -> None:
    assert not {"p1", "stab", "stabf"} & set(load("electrical_grid").X.columns)


def test_every_file_is_attributed() -> None:
    text = (embedded.FOLDER / "ATTRIBUTION.md").read_text(encoding="utf-8")
    assert all(f"{name}.parquet" in text for name in SHAPES)

"""Names, loading by name, and what a caller may do with the result."""

import numpy as np
import pytest

from steinglm.datasets import available, load, names, registry
from steinglm.exceptions import InvalidInputError

PAPER = (
    "abalone",
    "california_housing",
    "power_plant",
    "electrical_grid",
    "parkinsons",
    "adult",
    "bank_marketing",
    "magic",
    "mammographic",
    "spambase",
)
HERE = tuple(name for name in names() if name != "parkinsons")


def test_the_papers_ten_come_first_in_its_order() -> None:
    assert names()[:10] == PAPER
    assert {"diabetes", "breast_cancer", "synthetic_quadratic", "synthetic_binary"} < set(names())


@pytest.mark.parametrize("name", HERE)
def test_every_data_set_is_described(name: str) -> None:
    data = load(name)
    assert available(name)
    assert data.name == name
    assert data.title and "\n" not in data.description
    assert any(word in data.description for word in ("CC BY 4.0", "no licence stated", "MIT"))
    if name in PAPER:
        assert data.code == f"D{PAPER.index(name) + 1}"
    else:
        assert data.code == ""
    if data.task == "binary":
        assert set(np.unique(data.y)) == {0, 1}


def test_a_caller_cannot_change_what_the_next_one_gets() -> None:
    first = load("mammographic")
    before = float(first.X["BI-RADS"][0])
    first.X.iloc[0, 0] = 99
    first.X["more"] = 1
    first.y.iloc[:] = 1
    second = load("mammographic")
    assert float(second.X["BI-RADS"][0]) == before != 99
    assert "more" not in second.X
    assert set(second.y) == {0, 1}


def test_a_file_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    load("magic")
    monkeypatch.setitem(registry._LOADERS, "magic", lambda: pytest.fail("read again"))
    assert load("magic").X.shape == (19020, 10)


@pytest.mark.parametrize("use", [load, available])
def test_an_unknown_name_suggests_the_nearest(use) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InvalidInputError, match="did you mean 'power_plant'"):
        use("powerplant")
    with pytest.raises(InvalidInputError, match="choose one of abalone, california_housing"):
        use("zzz")
    with pytest.raises(InvalidInputError, match="known name"):
        use(["abalone"])

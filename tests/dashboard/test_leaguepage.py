"""The page League over made-up rows: filters, verdict, and what a click opens."""

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from steinglm import link
from steinglm.dashboard import departure, leaguepage
from steinglm.league import ranks, report, study
from tests.league.made import ENVIRONMENT, made

PAGE = Path(__file__).parents[2] / "pages" / "league.py"
CACHES = (leaguepage._cells, leaguepage._verdict)


def emptied() -> None:
    for cached in CACHES:
        cached.cache_clear()


@pytest.fixture
def rows(monkeypatch: pytest.MonkeyPatch) -> Iterator[pd.DataFrame]:
    """A league that SteinGLM's score "mixed" wins."""
    found = made({"steinglm_mixed": 0.03})
    monkeypatch.setattr(report, "kept", lambda: (found, ENVIRONMENT))
    emptied()
    yield found
    emptied()


def test_the_page_has_verdict_ranks_effects_and_cells(rows: pd.DataFrame) -> None:
    app = AppTest.from_file(str(PAGE), default_timeout=60).run()
    assert not app.exception
    said = " ".join(each.value for each in (*app.markdown, *app.caption))
    assert "2,040 networks: 17 entries, 10 data sets" in said
    assert "**SteinGLM (mixed) is one clear winner, and we recommend it.**" in said
    assert "data:image/svg+xml;base64," in said
    standing, effects, regression, classes = (each.value for each in app.dataframe)
    assert standing.iloc[0][["Entry", "Mean rank", "Wins"]].tolist() == ["SteinGLM (mixed)", 1.0, 60]
    assert list(effects.columns) == ["Added", "Compared", "All of them", "tanh", "sigmoid", "relu"]
    assert len(regression) == len(classes) == 30


def test_filters_reach_ranks_and_cells(rows: pd.DataFrame) -> None:
    app = AppTest.from_file(str(PAGE), default_timeout=60).run()
    app.pills(key="league_activations").set_value(["relu"])
    app.pills(key="league_depths").set_value([40])
    app.pills(key="league_sets").set_value(["magic", "abalone"])
    app.run()
    assert not app.exception
    standing, effects, regression, classes = (each.value for each in app.dataframe)
    assert effects["All of them"].str.endswith("of 2)").all()
    assert list(standing.columns) == ["Entry", "Mean rank", "Wins", "relu", "40 layers"]
    for table, name in ((regression, "Abalone"), (classes, "Magic")):
        assert table.iloc[:, :3].to_numpy().tolist() == [[name, 40, "relu"]]
    assert any("over 2 cells" in each.value for each in app.markdown)


def test_a_cell_opens_the_experiment_of_its_entry(
    rows: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    went: list[dict[str, str]] = []
    monkeypatch.setattr(departure, "to_compare", went.append)
    table = ranks.cells(rows)
    place = list(table.index).index(("magic", 40, "relu"))
    leaguepage._open(table, place, "LSUV + GLM")
    (query,) = went
    experiment, _, messages = link.decode(query)
    assert messages == []
    assert experiment == study.opened("lsuv_glm", "magic", 40, "relu")
    assert "lsuv" in experiment.methods and experiment.output == "glm"

"""The league that comes with the library: complete, reported as it is, and the same when a part is computed again."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import friedmanchisquare

from steinglm import experiment
from steinglm.experiment import Result
from steinglm.league import report, study
from steinglm.league.ranks import cells
from steinglm.league.verdict import effects, text, verdict
from steinglm.paper.results import Kept

DOCS = Path(__file__).parents[2] / "docs"
CELL = ["dataset", "depth", "activation"]
SMALL = ("mammographic", "abalone")


@pytest.fixture(scope="module")
def kept() -> Kept:
    return report.kept()


@pytest.fixture(scope="module")
def errors(kept: Kept) -> pd.DataFrame:
    """The mean error of each entry in each cell, from the rows by pandas alone."""
    ends = kept[0].query("quantity == 'test_metric'").astype({"value": float})
    classes = ~ends["dataset"].isin(study.DATASETS["regression"])
    ends["value"] = ends["value"].where(~classes, 1 - ends["value"])
    return ends.pivot_table("value", CELL, "entry", observed=True)


def test_no_network_is_missing_or_failed(kept: Kept) -> None:
    rows, environment = kept
    ends = rows[rows["quantity"] == "test_metric"]
    assert len(ends) == 5100 == 10 * 2 * 3 * 17 * 5
    assert not ends.duplicated([*CELL, "entry", "repeat"]).any()
    assert set(ends["entry"]) == set(study.ENTRIES)
    assert set(ends["dataset"]) == set(study.NAMES)
    assert np.isfinite(rows["value"]).all()
    ran = [
        {name: each[name] for name in study.experiments()[0].as_dict()} for each in environment["experiments"]
    ]
    chosen = json.loads(json.dumps([each.as_dict() for each in study.experiments()]))
    assert sorted(ran, key=str) == sorted(chosen, key=str)


def test_the_verdicts_numbers_are_those_of_the_rows(kept: Kept, errors: pd.DataFrame) -> None:
    found = verdict(kept[0])
    ranks = errors.rank(axis=1)
    means = ranks.mean().sort_values()
    said = text(found)
    assert found.best == means.index[0]
    assert f"has the best mean rank, {means.iloc[0]:.2f} of 17" in said
    assert f"wins {(ranks[found.best] == ranks.min(axis=1)).sum()} cells" in said
    np.testing.assert_allclose(found.whole.mean_ranks.reindex(means.index), means)
    assert found.whole.statistic == pytest.approx(friedmanchisquare(*ranks.to_numpy().T).statistic)
    assert found.gain == pytest.approx((1 - errors[found.best] / errors[study.DEFAULT]).median(), abs=1e-12)
    for part in found.parts:
        level = "depth" if part.name.endswith("layers") else "activation"
        value = int(part.name.split()[0]) if level == "depth" else part.name
        own = ranks.xs(value, level=level).mean()
        assert own[part.best] == own.min()
        assert (part.mean_rank, part.default_rank) == pytest.approx((own.min(), own[study.DEFAULT]))


def test_what_each_thing_adds_is_that_of_the_rows(kept: Kept, errors: pd.DataFrame) -> None:
    glm = effects(cells(kept[0]))["all"][0]
    gains = 1 - errors["orthogonal_glm"] / errors["orthogonal"]
    assert (glm.cells, glm.better) == (60, (gains > 0).sum())
    assert glm.gain == pytest.approx(gains.median())


def test_the_page_in_docs_is_made_of_these_rows(kept: Kept) -> None:
    for name, made in report.documents(*kept).items():
        assert (DOCS / name).read_text(encoding="utf-8") == made, "run make report"


@pytest.mark.slow
@pytest.mark.parametrize("draw", range(3))
def test_a_cell_drawn_at_random_is_the_same_when_it_is_computed_again(kept: Kept, draw: int) -> None:
    """The first repeat, which does not depend on how many there are.

    With relu some cells do, by a few percent: directions whose eigenvalues are next to nothing turn on rounding.
    """
    some = study.experiments(SMALL, depths=(10,), activations=("tanh", "sigmoid"))
    chosen = some[int(np.random.default_rng(draw).integers(len(some)))]
    *_, result = experiment.train(replace(chosen, repeats=1))
    assert isinstance(result, Result)
    both = study.rows(result).merge(
        kept[0].astype({"dataset": str, "activation": str, "entry": str, "quantity": str}),
        on=[*CELL, "entry", "repeat", "seed", "quantity"], suffixes=("", "_kept"),
    )  # fmt: skip
    ends = both[both["quantity"] == "test_metric"]
    assert len(ends) == len(chosen.methods)
    np.testing.assert_allclose(ends["value"], ends["value_kept"], rtol=2e-2)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["steinglm_mixture", "orthogonal_glm", "lsuv"])
def test_what_a_click_opens_is_the_leagues_own_network(kept: Kept, name: str) -> None:
    *_, result = experiment.train(study.opened(name, "mammographic", 10, "tanh"))
    assert isinstance(result, Result)
    found = result.summary.set_index("method")["test_metric"][study.ENTRIES[name].method]
    own = kept[0].query(
        "dataset == 'mammographic' and depth == 10 and activation == 'tanh' and repeat == 0 "
        "and quantity == 'test_metric' and entry == @name"
    )
    assert found == pytest.approx(own["value"].item(), rel=1e-2)

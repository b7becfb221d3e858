"""Ranks and tests against scipy and published tables."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from steinglm.exceptions import InvalidInputError
from steinglm.league import ranks, study
from tests.league.made import made


def test_ranks_are_scipys_and_a_higher_auc_is_better() -> None:
    table = ranks.cells(made({"lsuv": 0.1, "he_normal": -0.1}))
    own = ranks.ranks(table)
    for cell, numbers in table.iterrows():
        errors = numbers if cell[0] in study.DATASETS["regression"] else -numbers
        assert own.loc[cell].tolist() == stats.rankdata(errors).tolist()
    assert (own["lsuv"] == 1).all() and (own["he_normal"] == len(study.ENTRIES)).all()


def test_cells_are_means_over_repeats_in_the_leagues_order() -> None:
    rows = made(repeats=3)
    table = ranks.cells(rows.sample(frac=1, random_state=0))
    assert list(table.columns) == list(study.ENTRIES)
    assert table.index[0] == ("abalone", 10, "tanh")
    assert list(dict.fromkeys(table.index.get_level_values("activation"))) == list(study.ACTIVATIONS)
    first = rows[(rows["dataset"] == "abalone") & (rows["depth"] == 10) & (rows["activation"] == "tanh")]
    mean = first.loc[first["entry"] == "lsuv", "value"].mean()
    assert table.loc[("abalone", 10, "tanh"), "lsuv"] == pytest.approx(mean)


def test_one_that_diverged_is_last() -> None:
    rows = made({"lsuv": 0.1})
    rows.loc[(rows["entry"] == "lsuv") & (rows["repeat"] == 1), "value"] = np.nan
    assert (ranks.ranks(ranks.cells(rows))["lsuv"] == len(study.ENTRIES)).all()


def test_friedman_is_scipys_with_ties() -> None:
    table = ranks.cells(made()).iloc[:, :5].round(3)
    its = ranks.standing(table)
    reference = stats.friedmanchisquare(*ranks.errors(table).round(3).to_numpy().T)
    assert its.statistic == pytest.approx(reference.statistic)
    assert its.p == pytest.approx(reference.pvalue)
    assert (its.cells, its.datasets) == (60, 10)


@pytest.mark.parametrize(("entries", "q"), [(2, 1.960), (3, 2.343), (5, 2.728), (10, 3.164)])
def test_the_critical_difference_has_demsars_table_of_q(entries: int, q: float) -> None:
    """Demsar (2006), table 5a, at the level 0.05."""
    expected = q * np.sqrt(entries * (entries + 1) / (6 * 30))
    assert ranks.critical_difference(entries, 30) == pytest.approx(expected, rel=1e-3)


def test_apart_means_by_more_than_the_critical_difference() -> None:
    its = ranks.standing(ranks.cells(made({"lsuv": 0.1, "he_normal": -0.1})))
    assert its.apart("lsuv", "he_normal")
    assert not its.apart("lsuv", "lsuv")
    assert its.wins["lsuv"] == 60 and its.wins.drop("lsuv").sum() == 0


def test_entries_that_tie_everywhere_are_alike() -> None:
    table = ranks.cells(made()).iloc[:, :3]
    table = pd.DataFrame(0.5, table.index, table.columns)
    its = ranks.standing(table)
    assert its.p == 1 and set(its.mean_ranks) == {2.0}


def test_nothing_to_rank_is_refused() -> None:
    with pytest.raises(InvalidInputError):
        ranks.standing(ranks.cells(made()).iloc[:, :1])

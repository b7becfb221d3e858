"""The verdict says what the made-up rows say: a winner only where it is clear, and what each thing adds."""

from itertools import pairwise
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from scipy.stats import wilcoxon

from steinglm.league import ranks, report, study
from steinglm.league.verdict import effects, signed_rank_p, text, verdict
from tests.league.made import ENVIRONMENT, made


def test_one_that_is_better_everywhere_is_a_clear_winner() -> None:
    found = verdict(made({"steinglm_mixed": 0.03}))
    assert found.winner == found.best == "steinglm_mixed"
    assert found.apart
    assert found.p == pytest.approx(
        16 / 1024
    )  # better on all ten data sets, Holm's factor of the first of 16
    assert found.gain == pytest.approx(0.1, rel=0.05)
    assert "**SteinGLM (mixed) is one clear winner, and we recommend it.**" in text(found)
    assert [part.name for part in found.parts] == ["tanh", "sigmoid", "relu", "10 layers", "40 layers"]
    assert [part.cells for part in found.parts] == [20, 20, 20, 30, 30]


def test_the_default_as_the_best_is_no_new_winner() -> None:
    found = verdict(made({study.DEFAULT: 0.03}))
    assert (found.best, found.winner) == (study.DEFAULT, None)
    assert "we recommend the default" in text(found)


def test_all_alike_give_no_winner() -> None:
    found = verdict(made())
    assert found.winner is None
    assert "There is no one clear winner" in text(found)


def test_a_lead_on_few_data_sets_is_not_clear() -> None:
    found = verdict(made({"steinglm_mixed": 0.03}, names=study.NAMES[:3]))
    assert found.best == "steinglm_mixed" and found.winner is None
    assert "too few data sets" in text(found)


def test_a_lead_of_one_rank_on_all_data_sets_is_worth_a_try_only() -> None:
    behind = dict.fromkeys(set(study.ENTRIES) - {study.DEFAULT, "steinglm_mixed"}, -0.1)
    found = verdict(made(behind | {"steinglm_mixed": 0.03}))
    assert (found.winner, found.apart) == (None, False)
    assert found.p < 0.05
    assert "no one clear winner, so the default stays what it is.**" in text(found)
    assert "SteinGLM (mixed) passes the second test alone: it is the first to try in its place." in text(
        found
    )
    assert "the first to try" not in text(verdict(made()))


def test_a_lead_that_is_not_the_same_on_all_data_sets_is_not_clear() -> None:
    rows = made({"steinglm_mixed": 0.03})
    worse = (rows["entry"] == "steinglm_mixed") & rows["dataset"].isin(
        ["adult", "magic", "spambase", "abalone"]
    )
    lower = rows["dataset"].isin(study.DATASETS["regression"])
    rows.loc[worse, "value"] += lower[worse].map({True: 0.06, False: -0.06})
    found = verdict(rows)
    assert found.winner is None and found.p > 0.05


@pytest.mark.parametrize(
    "gains", [[0.3, -0.1, 0.2, 0.5, 0.4], [1.0, 1.0, 2.0, -1.0, 0.0], [-1.0, -2.0], [0.0]]
)
def test_the_signed_rank_test_is_scipys(gains: list[float]) -> None:
    expected = wilcoxon(gains, alternative="greater").pvalue if any(gains) else 1.0
    assert signed_rank_p(np.array(gains)) == pytest.approx(expected)


def test_effects_are_relative_gains_in_error() -> None:
    found = effects(ranks.cells(made({"orthogonal_glm": 0.03, study.DEFAULT: 0.03})))
    assert list(found) == ["all", *study.ACTIVATIONS]
    glm, directions, *_ = found["all"]
    assert (glm.cells, glm.better) == (60, 60)
    assert glm.gain == pytest.approx(0.1, rel=0.05)
    assert glm.p == pytest.approx(1 / 1024)
    assert abs(directions.gain) < 0.01


def test_the_report_has_verdict_ranks_effects_and_every_cell() -> None:
    rows = made({"steinglm_mixed": 0.03})
    found = report.documents(rows, ENVIRONMENT)
    page = found["league.md"]
    assert "2,040 networks: 17 entries, 10 data sets, 2 depths, 3 activations, 2 repeats" in page
    assert text(verdict(rows)) in page
    assert page.count("\n| abalone | ") == 6
    assert "| SteinGLM (mixed) | 1.00 | 60 | 1.00 |" in page
    assert page == report.documents(rows.sample(frac=1, random_state=0), ENVIRONMENT)["league.md"]


def test_where_the_default_is_behind_one_that_is_not_steinglm_the_verdict_says_so() -> None:
    said = text(verdict(made({"steinglm_mixed": 0.03, "orthogonal": 0.02})))
    assert said.count("best of those that are not SteinGLM: Orthogonal, 2.00, ahead of the default") == 5
    assert "best of those that are not SteinGLM" not in text(verdict(made({"orthogonal": 0.03})))


def test_what_explodes_has_a_word_and_few_cells_tell_nothing() -> None:
    rows = made(names=("abalone",))
    assert report.exploded(ranks.cells(rows)) == ""
    rows.loc[rows["entry"] == "lsuv", "value"] = 1e12
    assert "LSUV" in report.exploded(ranks.cells(rows))
    assert "| 1.0e+12 |" in report.markdown(rows, ENVIRONMENT)
    few = ranks.standing(ranks.cells(rows).iloc[:1])
    assert report.told(few) == "So few cells cannot tell any two entries apart."
    assert "more than" in report.told(ranks.standing(ranks.cells(made())))


def test_the_figure_has_a_bar_of_one_critical_difference_an_entry() -> None:
    its = ranks.standing(ranks.cells(made({"steinglm_mixed": 0.03})))
    svg = "{http://www.w3.org/2000/svg}"
    root = ET.fromstring(report.figure(its))
    dots = [float(dot.get("cx", "nan")) for dot in root.iter(f"{svg}circle")]
    assert all(one <= other for one, other in pairwise(dots))
    assert len(dots) == len(study.ENTRIES)
    scale = (dots[-1] - dots[0]) / (its.mean_ranks.iloc[-1] - its.mean_ranks.iloc[0])
    bars = [path.get("d", "") for path in root.iter(f"{svg}path") if path.get("stroke-width") == "4"]
    start, end = (float(part.split(" ")[0]) for part in bars[0][1:].replace("H", " ").split(" ")[::2])
    assert (end - start) / scale == pytest.approx(its.difference, abs=0.02)

"""The tests of the claims: Holm's correction, who is compared with whom, and verdicts on made-up studies."""

import numpy as np
import pandas as pd
import pytest

from steinglm.paper import claims, study

EVERY = [name for group in study.DATASETS.values() for name in group]


def made(**advantage: float) -> pd.DataFrame:
    """A study in which each method's RMSE (AUC: one minus it) and losses are 0.5 less its advantage, plus noise."""
    generator = np.random.default_rng(0)
    rows = []
    for name in EVERY:
        for depth in study.DEPTHS:
            for repeat in range(10):
                shared = generator.normal(0, 0.01)
                for method in study.METHODS:
                    for output in study.OUTPUTS:
                        error = 0.5 - advantage.get(method, 0.0) + shared + generator.normal(0, 0.001)
                        metric = error if name in study.DATASETS["regression"] else 1 - error
                        key = (name, depth, method, output, repeat, 0)
                        rows += [(*key, "test_metric", -1, metric)]
                        rows += [(*key, "training_loss", epoch, error) for epoch in (0, 200)]
    return pd.DataFrame(rows, columns=list(study.COLUMNS))


@pytest.mark.parametrize(
    ("p", "corrected"),
    [([0.01, 0.04, 0.03], [0.03, 0.06, 0.06]), ([0.5, 0.9], [1.0, 1.0]), ([0.02], [0.02]), ([], [])],
)
def test_holm(p: list[float], corrected: list[float]) -> None:
    assert claims.holm(p) == pytest.approx(corrected)


def test_a_method_that_is_better_everywhere_holds() -> None:
    first, *_ = claims.claims(made(steinglm=0.01))
    assert first.verdict == "holds"
    assert [each.label for each in first.comparisons] == ["Glorot normal", "He normal", "Orthogonal"]
    for each in first.comparisons:
        assert (each.rows, each.better, each.significant, each.worse) == (40, 40, 40, 0)
        assert each.effect == pytest.approx(1.0, rel=0.5)  # 0.01 in units of an sd of about 0.01
        assert each.p == pytest.approx(1 / 1024)
    assert first.p == pytest.approx((3 / 1024,) * 3)


def test_better_than_one_benchmark_only_holds_partly() -> None:
    first, *_ = claims.claims(made(steinglm=0.01, orthogonal=0.02))
    assert first.verdict == "holds partly"
    assert first.comparisons[2].worse == 40
    assert claims.claims(made(steinglm=-0.01))[0].verdict == "does not hold"


def test_no_difference_does_not_hold_for_certain() -> None:
    for claim in claims.claims(made()):
        assert claim.verdict != "holds"
        assert all(p > 0.05 for p in claim.p)


def test_a_part_of_a_study_compares_what_it_has() -> None:
    part = made(steinglm=0.01).query("dataset == 'abalone' and output == 'glm' and depth == 10")
    found = claims.claims(part)
    assert [len(claim.comparisons) for claim in found] == [
        3,
        1,
        1,
    ]  # all with the GLM: no benchmark has its own output
    assert found[0].comparisons[0].rows == 1


@pytest.mark.parametrize(("names", "decided"), [(EVERY[:6], True), (EVERY[:5], False), (EVERY[:1], False)])
def test_too_few_data_sets_leave_a_claim_undecided(names: list[str], decided: bool) -> None:
    """With k data sets the smallest p is 2^-k, times three comparisons: below 0.05 from six on."""
    rows = made(steinglm=0.01)
    first, *_ = claims.claims(rows[rows["dataset"].isin(names)])
    assert (first.verdict != "undecided") == decided
    assert first.verdict in claims.VERDICTS

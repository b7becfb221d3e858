"""The run that comes with the library: complete, reported as it is, and the same when a part is computed again."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from steinglm import experiment
from steinglm.datasets.mnist import PAIRS
from steinglm.experiment import Result
from steinglm.paper import mnist, report, results, study

DOCS = Path(__file__).parents[2] / "docs"
NETWORK = ["dataset", "depth", "method", "output", "repeat", "seed"]
SMALL = ("mammographic", "power_plant", "abalone")


def test_no_network_is_missing_or_failed() -> None:
    rows, environment = results.kept()
    ends = rows[rows["quantity"] == "test_metric"].astype({"dataset": str})
    names = ends["dataset"].unique()
    assert set(names) == {name for group in study.DATASETS.values() for name in group}
    assert len(ends) == 4000 == len(names) * len(study.DEPTHS) * len(study.METHODS) * len(study.OUTPUTS) * 10
    assert not ends.duplicated(NETWORK).any()
    assert np.isfinite(rows["value"]).all()
    assert environment["seeds"] == [0]
    assert len(environment["experiments"]) == len(study.experiments(names=names))
    assert all(each["training_seconds"] > 0 for each in environment["experiments"])


def test_no_network_with_images_is_missing_or_failed() -> None:
    rows, environment = results.kept_images()
    chosen = mnist.experiments()
    networks = rows.groupby(NETWORK, observed=True)
    assert networks.ngroups == sum(len(each.methods) * each.repeats for each in chosen) == 60
    assert set(rows["dataset"]) == {mnist.name(pair) for pair in PAIRS}
    assert set(rows["method"]) == set(study.METHODS)
    assert np.isfinite(rows["value"]).all()
    epochs = mnist.losses(rows).groupby(["dataset", "method", "repeat"])["epoch"]
    assert all(own.tolist() == list(range(21)) for _, own in epochs)
    ran = [{name: each[name] for name in chosen[0].as_dict()} for each in environment["experiments"]]
    assert ran == json.loads(json.dumps([each.as_dict() for each in chosen]))


def test_the_page_in_docs_is_made_of_these_rows() -> None:
    rows, environment = results.kept()
    for name, text in report.documents(rows, environment, results.kept_images()).items():
        assert (DOCS / name).read_text(encoding="utf-8") == text, "run make report"


@pytest.mark.slow
@pytest.mark.parametrize("draw", range(3))
def test_a_cell_drawn_at_random_is_the_same_when_it_is_computed_again(draw: int) -> None:
    """The first repeat, which does not depend on how many there are; chance in the last bits grows with the epochs."""
    chosen = np.random.default_rng(draw).choice(study.experiments(names=SMALL, depths=(10,)))  # type: ignore[arg-type]
    *_, result = experiment.train(replace(chosen, repeats=1))
    assert isinstance(result, Result)
    rows, _ = results.kept()
    both = study.rows(result).merge(rows, on=[*NETWORK, "quantity", "epoch"], suffixes=("", "_kept"))
    curves = both[both["quantity"] == "training_loss"]
    assert len(curves) == len(chosen.methods) * 57
    early = curves[curves["epoch"] <= 20]
    np.testing.assert_allclose(early["value"], early["value_kept"], rtol=1e-2)
    ends = both[both["quantity"] == "test_metric"]
    np.testing.assert_allclose(ends["value"], ends["value_kept"], rtol=2e-2)

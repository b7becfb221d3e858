"""The study of images: its experiments and rows, what it concludes from planted losses, one run of a small part."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from steinglm.__main__ import main
from steinglm.datasets.mnist import PAIRS
from steinglm.images import ImageExperiment
from steinglm.paper import mnist, results, run
from steinglm.paper.study import BASELINES, COLUMNS

ENVIRONMENT = {"experiments": [{"l2": 1e-4}]}


def made(steinglm: float = 0.1, baseline: float = 0.3, noise: float = 0.01) -> pd.DataFrame:
    """Losses that fall by half each epoch, from a start of each method's own, with noise."""
    generator = np.random.default_rng(0)
    rows = []
    for pair in PAIRS:
        for method in ("steinglm", "steinglm_standardized", *BASELINES):
            start = steinglm if method.startswith("steinglm") else baseline
            for repeat in range(3):
                common = mnist.name(pair), 10, method, "own", repeat, 0
                for epoch in range(4):
                    loss = start * 0.5**epoch * np.exp(noise * generator.standard_normal())
                    rows.append((*common, "training_loss", epoch, loss))
                rows += [(*common, q, -1, 0.9) for q in ("test_metric", "test_accuracy")]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def test_the_experiments_are_the_papers() -> None:
    chosen = mnist.experiments()
    assert len(chosen) == 20
    networks = {(e.pair, e.score, m) for e in chosen for m in e.methods}
    assert {(pair, "identity", method) for pair in PAIRS for method in ("steinglm", *BASELINES)} < networks
    assert {(pair, "standardized", "steinglm") for pair in PAIRS} < networks
    assert all(
        (e.epochs, e.batch_size, e.repeats, e.max_patches, e.complete) == (20, 128, 3, None, True)
        for e in chosen
    )
    assert not any(e.complete for e in mnist.experiments(complete=False))
    assert mnist.work(chosen[0]) > mnist.work(replace(chosen[0], complete=False))


@pytest.mark.parametrize(
    ("steinglm", "baseline", "verdict"),
    [(0.1, 0.3, "holds"), (0.3, 0.1, "does not hold")],
)
def test_the_verdict_is_of_the_losses(steinglm: float, baseline: float, verdict: str) -> None:
    rows = made(steinglm, baseline)
    found = mnist.faster(rows, "steinglm")
    assert [(each.baseline, each.epoch) for each in found] == [(b, e) for e in (1, 2) for b in BASELINES]
    assert all(each.ratio == pytest.approx(baseline / steinglm, rel=0.05) for each in found)
    assert all(each.pairs == 4 for each in found)
    if verdict == "holds":
        assert all(each.better == 4 and each.p == pytest.approx(6 / 2**12) for each in found)
    text = mnist.markdown(rows, ENVIRONMENT)
    assert text.count(f"It **{verdict}**") == 2


def test_one_baseline_that_is_faster_makes_it_partly() -> None:
    rows = made()
    own = (rows["method"] == "orthogonal") & (rows["quantity"] == "training_loss")
    rows.loc[own, "value"] = rows.loc[own, "value"] / 30
    assert "It **holds partly**" in mnist.markdown(rows, ENVIRONMENT)


def test_the_section_does_not_depend_on_the_order_of_the_rows() -> None:
    rows = made()
    shuffled = rows.sample(frac=1, random_state=0)
    assert mnist.markdown(rows, ENVIRONMENT) == mnist.markdown(shuffled, ENVIRONMENT)
    assert mnist.figure(rows) == mnist.figure(shuffled)
    text = mnist.markdown(rows, ENVIRONMENT)
    assert text.count("\n| 3 and 5 |") == 5
    assert mnist.figure(rows).count("font-weight") == 4


@pytest.mark.slow
def test_a_small_part_runs_and_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tiny = ImageExperiment(methods=("steinglm", "he_normal"), score="identity", max_patches=2, epochs=2)
    asked = []

    def few(repeats: int, complete: bool) -> list[ImageExperiment]:
        asked.append((repeats, complete))
        return [tiny, replace(tiny, score="standardized", methods=("steinglm",))]

    monkeypatch.setattr(mnist, "experiments", few)
    monkeypatch.setenv("STEINGLM_STORE", str(tmp_path / "store"))
    assert main(["paper", "--figure", "mnist", "--part", "--folder", str(tmp_path / "paper")]) == 0
    assert asked == [(3, False)]
    assert "Figure 5: images" in capsys.readouterr().out
    rows, environment = results.read(tmp_path / "paper", run.IMAGES)
    ends = rows[rows["quantity"] == "test_accuracy"]
    assert set(ends["method"]) == {"steinglm", "steinglm_standardized", "he_normal"}
    assert set(rows["dataset"]) == {"mnist_3_5"}
    assert environment["experiments"][0]["pair"] == [3, 5]
    assert (tmp_path / "paper" / "figure_mnist.svg").read_text().startswith("<svg")

"""Every lesson's claims are true in the numbers; a false one is seen."""

from dataclasses import replace

import pytest

from steinglm import datasets
from steinglm.lessons.claims import holds
from steinglm.lessons.lesson import Claim, Lesson, Measure
from steinglm.lessons.reading import every

LESSONS = every()[0]
TRAINED = {"he-and-tanh", "holding-the-variance"}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in TRAINED else ()) for name in LESSONS]
)
def test_the_claims_of_a_lesson_hold(name: str) -> None:
    findings = holds(LESSONS[name])
    assert findings and not [str(finding) for finding in findings if finding.holds is False]
    missing = [finding for finding in findings if finding.holds is None]
    assert not missing or (name == "holding-the-variance" and not datasets.available("parkinsons"))


def claiming(*claims: Claim) -> Lesson:
    return replace(
        LESSONS["odd-links"], query={"dataset": "diabetes", "depth": "2", "epochs": "2"}, claims=claims
    )


def measure(
    quantity: str, layer: int | None = None, epoch: int | None = None, method: str = "steinglm"
) -> Measure:
    return Measure(quantity, method, layer, epoch, {})


def test_planted_fault_a_false_claim_does_not_hold() -> None:
    for lesson in (LESSONS["calibration"], LESSONS["odd-links"]):
        opposite = {"below": "above", "above": "below"}
        false = [replace(claim, comparison=opposite[claim.comparison]) for claim in lesson.claims]
        findings = holds(replace(lesson, claims=tuple(false)))
        assert not any(finding.holds for finding in findings)
        assert all("DOES NOT HOLD" in str(finding) for finding in findings)


def test_each_kind_of_number_is_measured() -> None:
    one = [
        measure("preactivation_variance", layer=1), measure("probe", layer=2), measure("saturated_share", layer=2),
        measure("training_loss", epoch=0), measure("validation_loss", epoch=2), measure("test_metric"),
        measure("best_epoch"),
    ]  # fmt: skip
    findings = holds(claiming(*(Claim(each, "above", 1.0, -1.0) for each in one)))
    values = [finding.left for finding in findings]
    assert all(finding.holds for finding in findings)
    assert values[0] == pytest.approx(1.0) and values[2] == 0.0 and values[6] in (0.0, 1.0, 2.0)


def test_a_claim_about_a_data_set_that_is_not_here_is_neither_true_nor_false(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(datasets, "available", lambda name: name != "parkinsons")
    there = measure("preactivation_variance", layer=1)
    (finding,) = holds(
        claiming(Claim(there, "above", 1.0, replace(there, changes={"dataset": "parkinsons"})))
    )
    assert finding.holds is None and "not at hand" in str(finding)

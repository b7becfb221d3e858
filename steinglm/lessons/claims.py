"""Whether a lesson's claims are true: each side is measured as the dashboard measures it, and compared."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import pandas as pd

from steinglm import datasets
from steinglm.analysis import signals
from steinglm.experiment import Experiment, Result, initialize, train
from steinglm.lessons.lesson import LOSSES, SUMMARY, Claim, Lesson, Measure
from steinglm.signals import QUANTITIES

__all__ = ["Finding", "holds"]

ROWS = 2000  # layers are measured on so many, as the page does on a bounded number
Value = Callable[[Measure], float]


@dataclass(frozen=True)
class Finding:
    """What a claim's sides were measured to be, and whether it holds; None where its data set is not at hand."""

    claim: Claim
    left: float
    right: float  # before it is multiplied by the claim's factor
    holds: bool | None

    def __str__(self) -> str:
        claim, measure = self.claim, self.claim.left
        place = next(
            (
                f" {name} {at}"
                for name, at in (("layer", measure.layer), ("epoch", measure.epoch))
                if at is not None
            ),
            "",
        )
        verdict = {True: "holds", False: "DOES NOT HOLD", None: "not measured: its data set is not at hand"}[
            self.holds
        ]
        return (
            f"{measure.method} {measure.quantity}{place}: {self.left:.4g} "
            f"{claim.comparison} {claim.times:g} x {self.right:.4g}: {verdict}"
        )


def holds(lesson: Lesson) -> tuple[Finding, ...]:
    """Measure every claim of a lesson, training where it speaks of training; equal experiments run once.

    Layers are the median over repeats, losses and test metrics the mean, as in the charts and the table.
    """

    @cache
    def start(experiment: Experiment) -> pd.DataFrame:
        return initialize(experiment, max_rows=ROWS)

    @cache
    def other_signals(experiment: Experiment) -> pd.DataFrame:
        return signals(experiment, max_rows=ROWS)

    @cache
    def trained(experiment: Experiment) -> Result:
        *_, result = train(experiment)
        assert isinstance(result, Result)
        return result

    def value(measure: Measure) -> float:
        experiment, _ = lesson.opened(measure.changes)
        if measure.quantity in SUMMARY:
            rows = trained(experiment).summary
            return float(rows.loc[rows["method"] == measure.method, measure.quantity].mean())
        if measure.epoch:
            rows, place = trained(experiment).history, ("epoch", measure.epoch)
        else:
            rows = other_signals(experiment) if measure.quantity in QUANTITIES else start(experiment)
            place = (
                "layer",
                measure.layer or 0,
            )  # losses before training are of the network as a whole: layer 0
        own = rows[
            (rows["method"] == measure.method)
            & (rows["quantity"] == measure.quantity)
            & (rows[place[0]] == place[1])
        ]["value"]
        return float(own.mean() if measure.quantity in LOSSES else own.median())

    return tuple(_finding(claim, lesson, value) for claim in lesson.claims)


def _finding(claim: Claim, lesson: Lesson, value: Value) -> Finding:
    sides = [side for side in (claim.left, claim.right) if isinstance(side, Measure)]
    if not all(datasets.available(lesson.opened(side.changes)[0].dataset) for side in sides):
        return Finding(claim, float("nan"), float("nan"), None)
    left = value(claim.left)
    right = value(claim.right) if isinstance(claim.right, Measure) else claim.right
    bound = claim.times * right
    return Finding(claim, left, right, left < bound if claim.comparison == "below" else left > bound)

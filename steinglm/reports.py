"""What an initializer did to a model: a frozen record, layer by layer, that prints as a table."""

from dataclasses import dataclass

import numpy as np

__all__ = ["InitReport", "LayerReport"]

COLUMNS = ("layer", "weights", "rule", "alpha", "score", "leading eigenvalues", "variance", "seconds")


@dataclass(frozen=True, eq=False)
class LayerReport:
    """One layer that was initialized.

    name : as in `model.named_modules()`
    shape : of its weights
    rule : "stein", "glm", or the name of a baseline
    alpha, score : of Stein's method, else None
    eigenvalues : (d,), or (groups, d) for a grouped convolution: the signed eigenvalues of the cross-moment, largest
        magnitude first, or for several responses the singular values; None where no moment was taken
    variance : the mean over units of the pre-activation's variance over the data; None for the output layer and where
        there were no data
    seconds : the time it took
    """

    name: str
    shape: tuple[int, ...]
    rule: str
    alpha: float | None = None
    score: str | None = None
    eigenvalues: np.ndarray | None = None
    variance: float | None = None
    seconds: float = 0.0


@dataclass(frozen=True, eq=False)
class InitReport:
    """The layers in the order in which they were initialized, and what was left alone: names with the reason.

    >>> print(InitReport((LayerReport("0", (2, 3), "stein", 1.0, "identity", np.array([2.0, -1.0])),), {"1": "why"}))
    layer  weights  rule   alpha  score     leading eigenvalues  variance  seconds
    0      2 x 3    stein  1      identity  2, -1                          0.000
    left alone: 1 (why)
    """

    layers: tuple[LayerReport, ...]
    left_alone: dict[str, str]

    def __str__(self) -> str:
        table = [COLUMNS, *(_cells(layer) for layer in self.layers)]
        widths = [max(len(row[column]) for row in table) for column in range(len(COLUMNS))]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in table
        ]
        return "\n".join([*lines, *(f"left alone: {name} ({why})" for name, why in self.left_alone.items())])


def _cells(layer: LayerReport) -> tuple[str, ...]:
    leading = np.empty(0) if layer.eigenvalues is None else layer.eigenvalues.reshape(-1)[:3]
    return (
        layer.name,
        " x ".join(map(str, layer.shape)),
        layer.rule,
        "" if layer.alpha is None else f"{layer.alpha:.4g}",
        layer.score or "",
        ", ".join(f"{value:.3g}" for value in leading),
        "" if layer.variance is None else f"{layer.variance:.3g}",
        f"{layer.seconds:.3f}",
    )

"""Made-up rows of the shape that `experiment.initialize` and `train` give."""

import numpy as np
import pandas as pd

METHODS = ("steinglm", "glorot_normal", "he_normal", "orthogonal")


def layers(depth: int, repeats: int = 3, width: int = 8, seed: int = 0) -> pd.DataFrame:
    """Layer rows: variances that keep, fade or saturate, and signed spectra."""
    draw = np.random.default_rng(seed)
    rates = dict(zip(METHODS, (0.97, 0.86, 0.995, 0.93), strict=True))
    rows: list[tuple[str, int, int, str, int, float]] = []
    for method, rate in rates.items():
        for repeat in range(repeats):
            for layer in range(1, depth + 2):
                mean = 0.9 * rate**layer / (1 + 0.04 * layer) * np.exp(draw.normal(0, 0.08))
                for end, factor in (("", 1.0), ("_q10", 0.45), ("_q90", 1.7)):
                    rows.append((method, repeat, layer, "preactivation_variance" + end, 0, mean * factor))
                values = (
                    0.3
                    * np.exp(-0.6 * np.arange(width))
                    * rate**layer
                    * draw.choice([-1, 1], width, p=[0.3, 0.7])
                )
                values *= np.exp(draw.normal(0, 0.1, width)) * (1 if method == "steinglm" else 0.6)
                for rank, value in enumerate(values[np.argsort(-np.abs(values))], start=1):
                    rows.append((method, repeat, layer, "moment_eigenvalue", rank, value))
                    single = (
                        1.0 if method in ("steinglm", "orthogonal") else 1.9 * (1 - rank / (width + 1)) + 0.02
                    )
                    rows.append((method, repeat, layer, "weight_singular_value", rank, single))
    return pd.DataFrame(rows, columns=["method", "repeat", "layer", "quantity", "rank", "value"])


def losses(first: int, last: int, repeats: int = 3, seed: int = 0) -> list[dict[str, object]]:
    """History rows of the epochs first..last: SteinGLM starts low, the others come down to it."""
    starts = dict(zip(METHODS, (0.0068, 0.06, 0.21, 0.045), strict=True))
    rows: list[dict[str, object]] = []
    for epoch in range(max(0, first), last + 1):
        draw = np.random.default_rng([seed, epoch])
        for place, (method, start) in enumerate(starts.items()):
            for repeat in range(repeats):
                fall = (
                    start * np.exp(-epoch / (9 + 5 * place))
                    + 0.0049
                    + 0.0007 * place
                    + 0.0025 / (1 + epoch / 12)
                )
                for quantity, factor in (("training_loss", 1.0), ("validation_loss", 1.07 + epoch / 4000)):
                    value = fall * factor * np.exp(draw.normal(0, 0.025)) * (1 + 0.03 * repeat)
                    rows.append(
                        {
                            "method": method,
                            "repeat": repeat,
                            "epoch": epoch,
                            "quantity": quantity,
                            "value": value,
                        }
                    )
    return rows

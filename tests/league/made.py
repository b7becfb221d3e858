"""A league whose numbers are made up: each entry's error is a base less its advantage, plus noise."""

import numpy as np
import pandas as pd

from steinglm.league import study

ENVIRONMENT = {
    "versions": {"steinglm": "1"}, "processor": "P", "cores": 2, "experiments": [{"epochs": 100}],
}  # fmt: skip


def made(
    entries: dict[str, float] | None = None, names: tuple[str, ...] = study.NAMES, repeats: int = 2
) -> pd.DataFrame:
    """Rows of `study.COLUMNS`; entries with their advantages, the default ones all alike."""
    generator = np.random.default_rng(0)
    advantages = dict.fromkeys(study.ENTRIES, 0.0) | (entries or {})
    rows = []
    for name in names:
        for depth in study.DEPTHS:
            for activation in study.ACTIVATIONS:
                for repeat in range(repeats):
                    for entry, advantage in advantages.items():
                        error = 0.3 - advantage + generator.normal(0, 0.001)
                        value = error if name in study.DATASETS["regression"] else 1 - error
                        rows.append((name, depth, activation, entry, repeat, 0, "test_metric", value))
    return pd.DataFrame(rows, columns=list(study.COLUMNS))

"""The benchmarks run, each on something small: one that is not run for long would break unseen."""

import numpy as np
import pytest
import torch

from benchmarks import directions, initialization, lockstep
from steinglm.stein import SCORES


def test_every_side_of_the_lock_step_trains(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lockstep, "BATCH", 20)
    monkeypatch.setattr(lockstep, "STEPS", 2)
    monkeypatch.setattr(lockstep, "ROUNDS", 1)
    monkeypatch.setitem(lockstep.SIDES, "Keras", (lockstep.keras, "a package that nobody has"))
    took = lockstep.measure(4, 2)
    assert {"lock-step", "one by one", "torch vmap"} <= set(took)
    assert all(milliseconds > 0 for milliseconds in took.values())


def test_the_initialization_is_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(initialization, "ROUNDS", 1)
    monkeypatch.setattr(initialization, "N", 1000)
    initialization.against_the_gemm()
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()[2:]] == [
        "GEMM,", "identity", "standardized",
    ]  # fmt: skip
    X = torch.randn(50, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    assert len(initialization._initialize(X, X[:, 0] ** 2, depth=2).layers) == 3


def test_every_score_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directions, "ROWS", 200)
    errors, seconds = directions.trial("normal", "u1^2 + u2^2 / 2", seed=0)
    assert len(errors) == len(seconds) == len(SCORES)
    assert np.all((errors >= 0) & (errors <= 1))

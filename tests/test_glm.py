"""The output layer against closed forms and scipy, the choice of its penalty, and the warning of a fit that stalls."""

import math
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from steinglm import glm
from steinglm.exceptions import ConvergenceWarning, InvalidInputError
from steinglm.glm import STRENGTHS, OutputFit, fit_output


def sample(task: str, n: int = 80, d: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    h = generator.normal(size=(n, d)) * [1.0, 3.0, 0.2] + [0.0, 1.0, -2.0]
    z = h @ [1.0, -0.5, 2.0] + 4 + generator.normal(size=n)
    return h, z if task == "regression" else (z > 0).astype(float)


def fitted(task: str, strengths: tuple[float, ...] = STRENGTHS) -> OutputFit:
    h, y = sample(task)
    h_validation, y_validation = sample(task, n=40, seed=1)
    return fit_output(
        h, y, task=task, h_validation=h_validation, y_validation=y_validation, strengths=strengths
    )


def cross_entropy(y: np.ndarray, z: np.ndarray) -> float:
    """-sum of the log-probabilities, row by row."""
    return -sum(math.log(1 / (1 + math.exp(-a if label else a))) for label, a in zip(y, z, strict=True))


@pytest.mark.parametrize("strength", [1e-4, 1.0, 100.0])
def test_ridge_is_its_closed_form(strength: float) -> None:
    h, y = sample("regression")
    fit = fitted("regression", (strength,))
    c, v = h - h.mean(axis=0), y - y.mean()
    w = np.linalg.solve(c.T @ c + strength * np.eye(3), c.T @ v)
    np.testing.assert_allclose(fit.coefficients, w, rtol=1e-9)
    assert fit.intercept == pytest.approx(y.mean() - h.mean(axis=0) @ w, rel=1e-9)


@pytest.mark.parametrize("strength", [1e-2, 1.0, 100.0])
def test_logistic_minimizes_the_penalized_loss(strength: float) -> None:
    """sum of cross-entropies + strength |w|^2 / 2, the intercept free of penalty, by a general optimizer."""
    h, y = sample("binary")
    fit = fitted("binary", (strength,))

    def loss(p: np.ndarray) -> float:
        return cross_entropy(y, h @ p[:3] + p[3]) + strength * float(p[:3] @ p[:3]) / 2

    best = minimize(loss, np.zeros(4), method="BFGS", options={"gtol": 1e-6})
    own = np.append(fit.coefficients, fit.intercept)
    np.testing.assert_allclose(own, best.x, rtol=1e-3, atol=1e-4)
    assert loss(own) <= best.fun + 1e-9
    assert fit.converged


@pytest.mark.parametrize("task", ["regression", "binary"])
def test_the_strength_of_the_lowest_validation_loss_is_kept(task: str) -> None:
    fit = fitted(task)
    assert fit.strengths == STRENGTHS == (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0)
    assert fit.strength == STRENGTHS[int(np.argmin(fit.losses))]
    h, y = sample(task, n=40, seed=1)
    for strength, loss in zip(STRENGTHS, fit.losses, strict=True):
        alone = fitted(task, (strength,))
        z = h @ alone.coefficients + alone.intercept
        twin = np.mean((y - z) ** 2) if task == "regression" else cross_entropy(y, z) / len(y)
        assert loss == pytest.approx(twin, rel=1e-6)
        if strength == fit.strength:
            # to the tolerance of Newton's method, which here starts from zero
            np.testing.assert_allclose(fit.coefficients, alone.coefficients, rtol=1e-5)


@pytest.mark.parametrize(("noise", "expected"), [(0.0, 1e-4), (100.0, 1e2)])
def test_more_noise_asks_for_more_penalty(noise: float, expected: float) -> None:
    generator = np.random.default_rng(0)
    h, h_validation = generator.normal(size=(2, 30, 20))
    y, y_validation = (part[:, 0] + noise * generator.normal(size=30) for part in (h, h_validation))
    fit = fit_output(h, y, task="regression", h_validation=h_validation, y_validation=y_validation)
    assert fit.strength == expected


def test_separable_classes_and_copied_columns_are_no_obstacle() -> None:
    h = np.repeat(np.linspace(-1, 1, 40)[:, None], 2, axis=1)
    y = (h[:, 0] > 0).astype(float)
    fit = fit_output(h, y, task="binary", h_validation=h, y_validation=y)
    assert fit.converged
    assert np.isfinite(fit.coefficients).all()
    assert fit.losses[0] < 0.01


def test_a_validation_part_of_one_class_will_do() -> None:
    h, y = sample("binary")
    fit = fit_output(h, y, task="binary", h_validation=h[y == 1], y_validation=y[y == 1])
    assert np.isfinite(fit.losses).all()


def test_a_fit_that_stalls_warns_and_is_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    def impatient(**options: object) -> LogisticRegression:
        return LogisticRegression(**(options | {"max_iter": 1}))

    monkeypatch.setattr("sklearn.linear_model.LogisticRegression", impatient)
    with pytest.warns(ConvergenceWarning, match="had not converged at strength") as caught:
        fit = fitted("binary")
    assert len(caught) == 1
    assert not fit.converged
    assert np.isfinite(fit.coefficients).all()


def test_the_result_is_frozen() -> None:
    fit = fitted("regression")
    with pytest.raises(FrozenInstanceError):
        fit.strength = 1.0  # type: ignore[misc]


def test_an_unknown_task_is_refused() -> None:
    with pytest.raises(
        InvalidInputError, match="task must be one of regression, binary, multiclass, got ranking"
    ):
        fitted("ranking")


def test_several_responses_are_so_many_ridges_of_one_strength() -> None:
    h, y = sample("regression")
    Y = np.column_stack([y, y**2, -h[:, 0]])
    part = {"h_validation": h[:20], "strengths": (0.5,)}
    fit = fit_output(h, Y, task="regression", y_validation=Y[:20], **part)
    assert fit.coefficients.shape == (3, 3)
    for c in range(3):
        alone = fit_output(h, Y[:, c], task="regression", y_validation=Y[:20, c], **part)
        np.testing.assert_allclose(fit.coefficients[:, c], alone.coefficients, rtol=1e-9, atol=1e-12)
        assert fit.intercept[c] == pytest.approx(float(alone.intercept), rel=1e-9)


@pytest.mark.parametrize("most", [0, 500], ids=["lbfgs", "newton"])
@pytest.mark.parametrize("strength", [1e-2, 1.0, 100.0])
def test_more_classes_minimize_the_penalized_loss(
    strength: float, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """sum of cross-entropies + strength |W|^2 / 2 by a general optimizer, with either solver."""
    monkeypatch.setattr(glm, "MOST_NEWTON", most)
    h, z = sample("regression")
    y = np.digitize(z, np.quantile(z, [0.3, 0.6])).astype(float)
    fit = fit_output(h, y, task="multiclass", h_validation=h, y_validation=y, strengths=(strength,))

    def loss(p: np.ndarray) -> float:
        W, b = p[:9].reshape(3, 3), p[9:]
        logits = h @ W + b
        own = logits[np.arange(len(y)), y.astype(int)]
        return float(np.sum(np.log(np.exp(logits).sum(1)) - own) + strength * (W**2).sum() / 2)

    best = minimize(loss, np.zeros(12), method="BFGS", options={"gtol": 1e-5})
    assert loss(np.append(fit.coefficients.ravel(), fit.intercept)) <= best.fun + 1e-6
    assert fit.losses[0] == pytest.approx(
        (best.fun - strength * (best.x[:9] ** 2).sum() / 2) / len(y), rel=1e-2
    )


def test_two_classes_with_a_logit_each_are_the_one_logit() -> None:
    h, y = sample("binary")
    one, two = (
        fit_output(h, y, task=task, h_validation=h, y_validation=y) for task in ("binary", "multiclass")
    )
    np.testing.assert_allclose(two.coefficients[:, 1] - two.coefficients[:, 0], one.coefficients)
    assert two.losses == pytest.approx(one.losses)

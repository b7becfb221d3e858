"""Multi-index models: the moment they promise, their determinism, and their arguments."""

from typing import Any

import numpy as np
import pytest

from steinglm.datasets import load, multi_index
from steinglm.datasets.synthetic import LINKS, MODELS
from steinglm.exceptions import InvalidInputError

NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(60)


def coefficients(link: str, k: int) -> np.ndarray:
    """c_j = E[f(u) (u_j^2 - 1)] (C, k) by Gauss-Hermite quadrature; log odds pass through the logistic function."""
    grid = np.stack(np.meshgrid(*[NODES] * k, indexing="ij"), axis=-1).reshape(-1, k)
    weight = np.stack(np.meshgrid(*[WEIGHTS] * k, indexing="ij"), axis=-1).reshape(-1, k).prod(axis=1)
    f = LINKS[link](grid)
    if link == "logit":
        f = 1 / (1 + np.exp(-f))
    return np.asarray((weight * np.atleast_2d(f.T)) @ (grid**2 - 1) / weight.sum())


@pytest.mark.parametrize("link", LINKS)
def test_the_second_order_moment_tells_the_directions_apart(link: str) -> None:
    c = abs(coefficients(link, 2)).sum(axis=0)
    assert c[0] > 1.2 * c[1] and c[1] > 0.02


@pytest.mark.parametrize(
    ("link", "expected"),
    [
        ("quadratic", [2, 1]),
        ("saddle", [2, -1]),
        ("bump", [-1 / 2 / np.sqrt(3), -1 / 3 / np.sqrt(3)]),
        ("separate", [[2, 0], [0, 1]]),
    ],
)
def test_the_formulas_in_the_docstrings_hold(link: str, expected: list[Any]) -> None:
    np.testing.assert_allclose(coefficients(link, 2), np.atleast_2d(expected), rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("name", MODELS)
def test_the_moment_of_the_table_is_that_of_the_model(name: str) -> None:
    data, model = load(name), MODELS[name]
    A, x, responses = data.directions, data.X.to_numpy(), np.atleast_2d(data.y.to_numpy(dtype=float).T)
    assert A is not None
    np.testing.assert_allclose(A.T @ A, np.eye(model.k), atol=1e-12)
    for y, c in zip(responses, coefficients(model.link, model.k), strict=True):
        M = (x * (y - y.mean())[:, None]).T @ x / len(y)
        np.testing.assert_allclose(M, A @ np.diag(c) @ A.T, rtol=0, atol=20 * y.std() / len(y) ** 0.5)


def test_one_generator_makes_one_table() -> None:
    def draw(seed: int) -> np.ndarray:
        data = multi_index(50, 4, 2, link="logit", noise=0.5, generator=np.random.default_rng(seed))
        return np.column_stack([data.X, data.y])

    before = np.random.get_state()[1].tolist()  # type: ignore[index]
    np.testing.assert_array_equal(draw(0), draw(0))
    assert not np.array_equal(draw(0), draw(1))
    assert np.random.get_state()[1].tolist() == before  # type: ignore[index]


def test_without_noise_the_response_is_the_link() -> None:
    data = multi_index(50, 4, 4, link="saddle", noise=0, generator=np.random.default_rng(0))
    u = data.X.to_numpy() @ data.directions
    np.testing.assert_allclose(data.y, u[:, 0] ** 2 - u[:, 1] ** 2 / 2 + u[:, 2] ** 2 / 4 - u[:, 3] ** 2 / 8)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n": 0}, "n must be 1 or more, got 0"),
        ({"d": 0}, "d must be 1 or more, got 0"),
        ({"k": 0}, r"k must be 1\.\.4, got 0"),
        ({"k": 5}, r"k must be 1\.\.4, got 5"),
        ({"link": "cubic"}, "link must be one of quadratic, saddle, bump, logit, separate, got cubic"),
        ({"noise": -1.0}, "noise must be a finite number, 0 or more"),
        ({"noise": np.nan}, "noise must be a finite number, 0 or more"),
    ],
)
def test_arguments_out_of_range_are_refused(change: dict[str, object], message: str) -> None:
    good: dict[str, object] = {"n": 20, "d": 4, "k": 2, "link": "quadratic", "noise": 0.1}
    with pytest.raises(InvalidInputError, match=message):
        multi_index(**(good | change), generator=np.random.default_rng(0))  # type: ignore[arg-type]

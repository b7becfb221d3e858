"""The scores that learn from the rows first: against principal Hessian directions, and on inputs not normal."""

import numpy as np
import pytest
import torch
from torch import Tensor

from steinglm import matching, mixture
from steinglm.mixture import Mixture
from steinglm.stein import cross_moment, directions
from tests import reference

DOUBLE = torch.float64


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def whitened(n: int = 400, d: int = 6) -> tuple[Tensor, Tensor]:
    """Skewed inputs of mean 0 and population covariance I exactly, and a response with a linear part."""
    x = torch.empty(n, d, dtype=DOUBLE).exponential_(generator=generator())
    u = x - x.mean(0)
    L = torch.linalg.cholesky(u.T @ u / n)
    z = torch.linalg.solve_triangular(L, u.T, upper=False).T
    y = z[:, 0] + z[:, 1] ** 2 - z[:, 2] * z[:, 3] + torch.randn(n, generator=generator(1), dtype=DOUBLE) / 10
    return z, y


def assert_same_directions(ours: Tensor, theirs: np.ndarray) -> None:
    unit = theirs / np.linalg.norm(theirs, axis=0)
    np.testing.assert_allclose(np.abs(ours.T.numpy() @ unit), np.eye(len(unit)), rtol=0, atol=1e-8)


@pytest.mark.parametrize(
    ("score", "resid"), [("standardized", False), ("gaussian", False), ("residual", True)]
)
def test_on_whitened_inputs_the_directions_are_principal_hessian_directions(score: str, resid: bool) -> None:
    """Their covariance divides by n - 1, which changes eigenvalues by (n - 1) / n and no direction."""
    z, y = whitened()
    V, eigenvalues = directions(cross_moment(z, y, score), 6)
    values, vectors = reference.principal_hessian_directions(z.numpy(), y.numpy(), resid=resid)
    assert_same_directions(V, vectors)
    if score != "gaussian":  # whose eigenvalues shrinkage leaves alone when the covariance is I
        np.testing.assert_allclose(eigenvalues * 399 / 400, values, rtol=1e-8)


@pytest.mark.parametrize(("score", "resid"), [("standardized", False), ("residual", True)])
def test_statsmodels_gives_the_same_directions(score: str, resid: bool) -> None:
    reason = "statsmodels is no dependency; its definition is written out in tests/reference.py"
    dimred = pytest.importorskip("statsmodels.regression.dimred", reason=reason)
    z, y = whitened()
    result = dimred.PrincipalHessianDirections(y.numpy(), z.numpy()).fit(resid=resid)
    assert_same_directions(directions(cross_moment(z, y, score), 6)[0], result.params)


def test_planted_fault_the_cross_check_sees_the_linear_part() -> None:
    z, y = whitened()
    V, _ = directions(cross_moment(z, y, "standardized"), 6)
    with pytest.raises(AssertionError):
        assert_same_directions(V, reference.principal_hessian_directions(z.numpy(), y.numpy(), resid=True)[1])


@pytest.mark.parametrize("score", ["residual", "mixed"])
def test_the_linear_part_of_the_response_does_not_count(score: str) -> None:
    """The residual's moment is that of y plus any linear function; "mixed" sees that function in its first order."""
    z, y = whitened()
    moment, shifted = (cross_moment(z, response, score) for response in (y, y + 3 * z[:, 4] - 2))
    assert torch.allclose(moment, shifted, rtol=0, atol=1e-10) == (score == "residual")


LINKS = {
    "odd": lambda u: np.tanh(2 * u),
    "square": np.square,
    "linear and square": lambda u: 5 * u + u**2,
}


def table(inputs: str, link: str, n: int = 5000, d: int = 10) -> tuple[Tensor, Tensor, np.ndarray]:
    """Independent exponentials, or normals, x; y a function of u = B^T x, B (d, 1)."""
    rng = np.random.default_rng(2)
    B = np.linalg.qr(rng.standard_normal((d, 2)))[0][:, :1]
    x = rng.standard_exponential((n, d)) - 1 if inputs == "skewed" else rng.standard_normal((n, d))
    return torch.as_tensor(x), torch.as_tensor(LINKS[link](x @ B)[:, 0]), B


def error(score: str, data: tuple[Tensor, Tensor, np.ndarray]) -> float:
    """The squared sine of the largest angle between the true directions and those found."""
    x, y, B = data
    V, _ = directions(cross_moment(x, y, score), B.shape[1])
    return reference.subspace_error(V.numpy(), B) ** 2


def test_skewed_inputs_with_a_linear_part_need_the_residual() -> None:
    """The third moments of x hide the square; without the linear part there is nothing to take out."""
    data = table("skewed", "linear and square")
    assert error("standardized", data) > 0.9 and error("residual", data) < 0.1
    assert error("standardized", table("skewed", "square")) < 0.2


def test_an_odd_link_needs_the_first_order() -> None:
    data = table("normal", "odd")
    assert error("gaussian", data) > 0.9 and error("residual", data) > 0.5 and error("mixed", data) < 0.01


def test_mixed_is_the_mean_outer_product_of_a_quadratics_gradients() -> None:
    """On the design of N(0, I), M = E[grad g grad g^T] of a quadratic g, as the shrinkage d / (n + d) vanishes."""
    z = np.tile(reference.normal_design(2), (4000, 1))
    y = 1 + 2 * z[:, 0] + z[:, 0] ** 2 - 3 * z[:, 0] * z[:, 1]
    gradients = np.column_stack([2 + 2 * z[:, 0] - 3 * z[:, 1], -3 * z[:, 0]])
    moment = cross_moment(z, y, "mixed")
    np.testing.assert_allclose(moment, gradients.T @ gradients / len(z), rtol=0, atol=5e-3)


def test_mixed_does_not_let_one_order_cancel_the_other() -> None:
    """y = 2 u - u^2 has the gradient 2 and the Hessian -2 along one direction: m1 m1^T + M2 is -2 + 4."""
    z = np.tile(reference.normal_design(2), (4000, 1))
    moment = cross_moment(z, 2 * z[:, 0] - z[:, 0] ** 2, "mixed")
    np.testing.assert_allclose(moment, np.diag([8, 0]), rtol=0, atol=5e-3)


WEIGHTS, MEANS = np.array([0.3, 0.7]), np.array([[1.5, -0.5], [-1.0, 0.4]])
COVARIANCES = np.array([[[0.5, 0.2], [0.2, 0.3]], [[0.4, -0.1], [-0.1, 0.8]]])


def two_components() -> Mixture:
    return Mixture(*(torch.as_tensor(part) for part in (WEIGHTS, MEANS, np.linalg.inv(COVARIANCES))))


def density(x: Tensor) -> Tensor:
    """p(x) of the two components, as a textbook has it."""
    normals = [
        torch.distributions.MultivariateNormal(*map(torch.as_tensor, part))
        for part in zip(MEANS, COVARIANCES, strict=True)
    ]
    return sum(w * n.log_prob(x).exp() for w, n in zip(WEIGHTS, normals, strict=True))


def test_a_mixtures_second_order_score_is_the_hessian_of_its_density_over_it() -> None:
    x = torch.randn(7, 2, generator=generator(), dtype=DOUBLE)
    twin = reference.hessians(density, x.numpy()) / density(x).numpy()[:, None, None]
    moments = two_components().moment(x, torch.eye(7, dtype=DOUBLE))  # one row at a time
    np.testing.assert_allclose(moments, twin, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("fault", [False, True])
def test_steins_identity_holds_for_a_mixture(fault: bool) -> None:
    """E[g S2] = E[grad^2 g] by the trapezoidal rule; planted fault: one normal of the same two moments."""
    line = np.linspace(-7, 7, 141)
    x = np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2)
    weights = density(torch.as_tensor(x)).numpy() / 100  # the cells have sides of .1
    values = np.sin(x[:, 0]) + x[:, 0] * x[:, 1] ** 2
    hessians = reference.hessians(lambda t: torch.sin(t[:, 0]) + t[:, 0] * t[:, 1] ** 2, x)
    model = two_components()
    if fault:
        mean, covariance = weights @ x, np.cov(x.T, aweights=weights, bias=True)
        one = (np.ones(1), mean[None], np.linalg.inv(covariance)[None])
        model = Mixture(*map(torch.as_tensor, one))
    moment = model.moment(*map(torch.as_tensor, (x, (weights * values)[None])))[0]
    gap = np.abs(moment.numpy() - np.einsum("m,mij->ij", weights, hessians)).max()
    assert gap > 0.1 if fault else gap < 1e-9


def clusters(n: int = 4000, d: int = 6, seed: int = 0) -> tuple[Tensor, Tensor, np.ndarray]:
    """Three normal clusters, y = u_1^2 + |u_2| of two known directions."""
    rng = np.random.default_rng(seed)
    B = np.linalg.qr(rng.standard_normal((d, 2)))[0]
    x = rng.standard_normal((3, d))[rng.integers(3, size=n)] + 0.4 * rng.standard_normal((n, d))
    u, v = (x @ B).T
    return torch.as_tensor(x), torch.as_tensor(u**2 + np.abs(v)), B


@pytest.mark.parametrize("n", [100, 5000])  # fewer rows than are searched, and more
def test_one_component_is_the_gaussian_score(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it is all that is allowed, and where it is what normal inputs ask for."""
    for most, (x, y) in (
        (1, clusters(n)[:2]),
        (4, tuple(part[:n] for part in table("normal", "square")[:2])),
    ):
        monkeypatch.setattr(mixture, "MOST", most)
        found, gaussian = (cross_moment(x, y, score) for score in ("mixture", "gaussian"))
        torch.testing.assert_close(found, gaussian, rtol=1e-10, atol=1e-10)


def test_three_clusters_are_found_in_one_table_and_not_in_its_neighbor() -> None:
    x, y, _ = clusters()
    normal = torch.randn(x.shape, generator=generator(), dtype=DOUBLE)
    both, responses = torch.stack([x, normal]), torch.stack([y, y])
    moments = cross_moment(both, responses, "mixture")
    for k, own in enumerate((x, normal)):
        torch.testing.assert_close(moments[k], cross_moment(own, y, "mixture"), rtol=1e-8, atol=1e-10)
    assert not torch.allclose(moments[0], cross_moment(x, y, "gaussian"), rtol=0.1)
    torch.testing.assert_close(moments[1], cross_moment(normal, y, "gaussian"), rtol=1e-10, atol=1e-10)


def test_on_clusters_the_mixture_has_less_than_half_the_error_of_gaussian() -> None:
    tables = [clusters(seed=seed) for seed in range(3)]
    gaussian, own = (np.mean([error(score, data) for data in tables]) for score in ("gaussian", "mixture"))
    assert own < gaussian / 2


def test_a_fit_touches_no_global_stream_and_is_the_same_each_time() -> None:
    x, y, _ = clusters()
    with reference.random_streams_untouched():
        first, second = (cross_moment(x, y, "mixture") for _ in range(2))
    assert torch.equal(first, second)


@pytest.mark.parametrize("fault", [False, True])
def test_a_matched_densitys_second_order_score_is_the_hessian_of_it_over_it(fault: bool) -> None:
    """Planted fault: g g^T without the Hessian of log p."""
    x = torch.randn(200, 3, generator=generator(), dtype=DOUBLE) ** 3
    found = matching.match(x, torch.eye(3, dtype=DOUBLE))
    assert found.theta.norm() > 0.1

    def p(z: Tensor) -> Tensor:
        features = torch.cos(z @ found.frequencies.T + found.phases)
        return (features @ found.theta - z.square().sum(1) / 2).exp()

    z = torch.randn(6, 3, generator=generator(1), dtype=DOUBLE)
    twin = reference.hessians(p, z.numpy()) / p(z).numpy()[:, None, None]
    if fault:
        twin -= reference.hessians(lambda t: p(t).log(), z.numpy())
    gap = np.abs(found.moment(z, torch.eye(6, dtype=DOUBLE)).numpy() - twin).max()
    assert gap > 0.1 if fault else gap < 1e-9


def test_score_matching_finds_the_score_of_a_mixture() -> None:
    """In two dimensions: much of the second-order score that a normal density misses."""
    rng = np.random.default_rng(0)
    k = rng.choice(2, p=WEIGHTS, size=5000)
    x = np.array([MEANS[j] + np.linalg.cholesky(COVARIANCES[j]) @ rng.standard_normal(2) for j in k])
    x = torch.as_tensor(x - x.mean(axis=0))
    S = x.T @ x / len(x)
    one = torch.eye(500, dtype=DOUBLE)
    mean = torch.as_tensor(WEIGHTS @ MEANS)
    true = two_components().moment(x[:500] + mean, one)
    normal = Mixture(one[0, :1], torch.zeros(1, 2, dtype=DOUBLE), torch.linalg.inv(S)[None]).moment(
        x[:500], one
    )
    matched = matching.match(x, S).moment(x[:500], one)
    assert (matched - true).square().mean() < 0.5 * (normal - true).square().mean()


def test_on_normal_inputs_score_matching_is_almost_the_gaussian_score() -> None:
    x, y, _ = table("normal", "square")
    found, gaussian = (cross_moment(x, y, score) for score in ("matched", "gaussian"))
    assert (found - gaussian).norm() < 0.05 * gaussian.norm()


def test_on_heavy_tails_score_matching_has_less_than_half_the_error_of_gaussian() -> None:
    errors = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        B = np.linalg.qr(rng.standard_normal((8, 2)))[0]
        x = rng.standard_t(5, (4000, 8))
        data = (torch.as_tensor(x), torch.as_tensor((x @ B) ** 2 @ [1, 0.5]), B)
        errors.append([error(score, data) for score in ("gaussian", "matched")])
    gaussian, own = np.mean(errors, axis=0)
    assert own < gaussian / 2

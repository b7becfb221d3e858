"""Stein's identity without sampling, the cross-moment against its slow twin, and the order and sign of directions."""

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from steinglm.exceptions import InvalidInputError
from steinglm.scores import REPEATED, SUMMED
from steinglm.stein import SCORES, cross_moment, directions, moments, random_frame
from tests import reference

G: dict[str, Callable[[Tensor], Tensor]] = {  # rows x (m, d) -> y (m,)
    "quadratic": lambda x: 1 + 2 * x[:, 0] + x[:, 0] ** 2 - 3 * x[:, 0] * x[:, 1],
    "cubic": lambda x: x[:, 0] ** 3 + x[:, 0] * x[:, 1] ** 2 - 2 * x[:, 1],
    "quartic": lambda x: x[:, 0] ** 2 * x[:, 1] ** 2 + 0.1 * x[:, -1] ** 4,
    "wave": lambda x: torch.sin(0.7 * x.sum(1)) + torch.cos(x[:, 0] - 0.3 * x[:, 1]),
    "growth": lambda x: torch.exp(0.3 * x[:, 0] - 0.2 * x[:, -1]),
    "bump": lambda x: torch.exp(-(x**2).sum(1) / 8),
}
DEGREES = ("quadratic", "cubic")  # the equal-weight design is exact for these


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def sample(n: int = 60, d: int = 4, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Correlated columns with means and scales of their own, and a response that depends on them."""
    g = generator(seed)
    mix = torch.randn(d, d, generator=g, dtype=torch.float64)
    h = torch.randn(n, d, generator=g, dtype=torch.float64) @ mix + torch.arange(d)
    return h, (h[:, 0] - h[:, 1]) ** 2 / 4 + torch.randn(n, generator=g, dtype=torch.float64)


def response(name: str, x: np.ndarray) -> np.ndarray:
    return G[name](torch.as_tensor(x)).numpy()


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("name", G)
def test_steins_identity_by_quadrature(name: str, d: int) -> None:
    """E[g(x) S2(x)] = E[grad^2 g(x)] under N(0, I): the nodes are the rows, the weights go into the response."""
    x, weights = reference.quadrature(d, nodes=24)
    moment = cross_moment(x, len(x) * weights * response(name, x), "identity")
    expected = np.einsum("m,mij->ij", weights, reference.hessians(G[name], x))
    np.testing.assert_allclose(moment, expected, rtol=0, atol=1e-10)


def test_planted_fault_quadrature_sees_a_missing_identity_matrix() -> None:
    """The checker above fails for y h h^T, the moment without - y I."""
    x, weights = reference.quadrature(2, nodes=24)
    y = len(x) * weights * response("bump", x)
    broken = cross_moment(x, y, "identity") + y.mean() * torch.eye(2)
    expected = np.einsum("m,mij->ij", weights, reference.hessians(G["bump"], x))
    with pytest.raises(AssertionError):
        np.testing.assert_allclose(broken, expected, rtol=0, atol=1e-3)


def test_a_multi_index_model_gives_b_c_bt() -> None:
    """y = cos(u1) + u2^2 / 2 + u1 with u = B^T x has C = diag(-exp(-1/2), 1), B C B^T exactly, and gives B back."""
    x, weights = reference.quadrature(3, nodes=24)
    B = random_frame(3, 2, generator=generator()).numpy()
    u = x @ B
    y = np.cos(u[:, 0]) + u[:, 1] ** 2 / 2 + u[:, 0]
    moment = cross_moment(x, len(x) * weights * y, "identity")
    C = np.diag([-math.exp(-0.5), 1.0])
    np.testing.assert_allclose(moment, B @ C @ B.T, rtol=0, atol=1e-12)
    V, eigenvalues = directions(moment, 2)
    np.testing.assert_allclose(eigenvalues, [1.0, -math.exp(-0.5), 0.0], atol=1e-12)
    np.testing.assert_allclose(abs(V.T.numpy() @ B), [[0, 1], [1, 0]], atol=1e-12)


@pytest.mark.parametrize("name", DEGREES)
def test_the_standardized_score_meets_the_identity_for_any_mean_and_scale(name: str) -> None:
    x = reference.normal_design(2)
    expected = reference.hessians(G[name], x).mean(axis=0)
    moment = cross_moment(
        x * np.array([5.0, 0.01]) + np.array([-3.0, 100.0]), response(name, x), "standardized"
    )
    np.testing.assert_allclose(moment, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", DEGREES)
def test_the_gaussian_score_meets_the_identity_for_any_normal(name: str) -> None:
    """With h = mu + L z and g a function of h: exactly so as the shrinkage d / (n + d) vanishes."""
    z = np.tile(reference.normal_design(2), (2000, 1))
    L = np.array([[2.0, 0.0], [-1.0, 0.5]])
    h = z @ L.T + np.array([1.0, -2.0])
    moment = cross_moment(h, response(name, h), "gaussian")
    expected = reference.hessians(G[name], h[:36]).mean(axis=0)
    np.testing.assert_allclose(moment, expected, rtol=0, atol=5e-3)


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_the_moment_equals_its_slow_twin(score: str, dtype: torch.dtype) -> None:
    h, y = (part.to(dtype) for part in sample())
    moment = cross_moment(h, y, score)
    assert moment.dtype == torch.float64 and torch.equal(moment, moment.T)
    twin = reference.cross_moment(h.double().numpy(), y.double().numpy(), score)
    np.testing.assert_allclose(moment, twin, rtol=1e-10, atol=1e-10)


def test_the_default_score_is_standardized() -> None:
    h, y = sample()
    assert torch.equal(cross_moment(h, y), cross_moment(h, y, "standardized"))


@pytest.mark.parametrize("score", SCORES)
def test_arrays_and_tensors_give_the_same(score: str) -> None:
    h, y = sample()
    assert torch.equal(cross_moment(h.numpy(), y.numpy(), score), cross_moment(h, y, score))


@pytest.mark.parametrize("score", SCORES)
@settings(max_examples=25, deadline=None)
@given(sizes=st.lists(st.integers(1, 30), min_size=1, max_size=6), shift=st.sampled_from([0.0, 1e4]))
def test_chunks_equal_the_whole(score: str, sizes: list[int], shift: float) -> None:
    h, y = sample(n=sum(sizes))
    h = h + shift
    chunks = cross_moment(h.split(sizes), y.split(sizes), score)
    whole = cross_moment(h, y, score)
    tolerance = 1e-7 if shift and score not in ("identity", "centered", "standardized") else 1e-9
    torch.testing.assert_close(chunks, whole, rtol=0, atol=tolerance * max(1.0, float(whole.abs().max())))


def test_a_score_of_one_pass_takes_iterators_and_others_say_what_they_need() -> None:
    h, y = sample()
    for score in SUMMED:
        chunks = cross_moment(iter(h.split(13)), iter(y.split(13)), score)
        assert torch.equal(chunks, cross_moment(h.split(13), y.split(13), score))
    for score in REPEATED:
        with pytest.raises(
            InvalidInputError, match=r"same 60 rows on every pass, got 0; .* give a list of chunks"
        ):
            cross_moment(iter(h.split(13)), iter(y.split(13)), score)


@pytest.mark.parametrize("score", SUMMED)
def test_many_rows_are_summed_in_parts(score: str) -> None:
    """More rows than one internal chunk holds, against one matrix product."""
    g = generator()
    h = torch.randn(70_000, 3, generator=g, dtype=torch.float64)
    y = h[:, 0] ** 2
    c, v = h - h.mean(0), y - y.mean()
    z = c / c.square().mean(0).sqrt()
    R = c.T @ c / len(h)
    P = torch.linalg.inv(R + (torch.diag(R.diagonal()) - R) * 3 / (len(h) + 3))
    expected = {
        "identity": (h * y[:, None]).T @ h / len(h) - y.mean() * torch.eye(3, dtype=torch.float64),
        "centered": (h * v[:, None]).T @ h / len(h),
        "standardized": (z * v[:, None]).T @ z / len(h),
        "gaussian": P @ ((c * v[:, None]).T @ c / len(h)) @ P,
    }
    torch.testing.assert_close(cross_moment(h, y, score), expected[score], rtol=0, atol=1e-12)


@pytest.mark.parametrize("score", SCORES)
def test_permuting_rows_changes_nothing(score: str) -> None:
    h, y = sample(n=500)
    order = torch.randperm(500, generator=generator())
    torch.testing.assert_close(
        cross_moment(h[order], y[order], score), cross_moment(h, y, score), rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize("score", ["standardized", "gaussian", *REPEATED])
def test_centered_scores_ignore_a_shift(score: str) -> None:
    h, y = sample()
    torch.testing.assert_close(
        cross_moment(h + 7, y - 3, score), cross_moment(h, y, score), rtol=0, atol=1e-10
    )


def test_centered_ignores_a_shift_of_the_response_alone() -> None:
    h, y = sample()
    moment = cross_moment(h, y, "centered")
    torch.testing.assert_close(cross_moment(h, y - 3, "centered"), moment, rtol=0, atol=1e-10)
    torch.testing.assert_close(cross_moment(h, y - y.mean(), "identity"), moment, rtol=0, atol=1e-10)
    assert not torch.allclose(cross_moment(h + 7, y, "centered"), moment, atol=0.1)


def test_standardized_ignores_the_units_of_the_columns() -> None:
    h, y = sample()
    scaled = h * torch.tensor([1e-3, 1.0, 50.0, 1e6])
    torch.testing.assert_close(cross_moment(scaled, y), cross_moment(h, y), rtol=0, atol=1e-10)


@pytest.mark.parametrize("score", SCORES)
def test_a_constant_unit_is_harmless(score: str) -> None:
    h, y = sample()
    h[:, 2] = 0.0
    moment = cross_moment(h, y, score)
    assert moment.isfinite().all()
    if score != "identity":
        assert (moment[2] == 0).all()


def test_rotating_the_input_rotates_the_directions() -> None:
    h, y = sample()
    Q = random_frame(4, 4, generator=generator(5))
    V, eigenvalues = directions(cross_moment(h, y, "identity"), 4)
    turned, same = directions(cross_moment(h @ Q, y, "identity"), 4)
    torch.testing.assert_close(same, eigenvalues, rtol=1e-10, atol=1e-10)
    torch.testing.assert_close(
        (turned.T @ Q.T @ V).abs(), torch.eye(4, dtype=torch.float64), rtol=0, atol=1e-9
    )


def test_directions_equal_their_slow_twin() -> None:
    moment = cross_moment(*sample(d=6), "identity")
    V, eigenvalues = directions(moment, 4)
    W, twin = reference.directions(moment.numpy(), 4)
    np.testing.assert_allclose(eigenvalues, twin, rtol=0, atol=1e-10)
    np.testing.assert_allclose(V, W, rtol=0, atol=1e-9)


def test_order_is_by_magnitude_and_the_largest_entry_is_positive() -> None:
    for seed in range(20):
        A = torch.randn(5, 5, generator=generator(seed), dtype=torch.float64)
        V, eigenvalues = directions(A + A.T, 5)
        assert (eigenvalues.abs().diff() <= 0).all()
        torch.testing.assert_close((A + A.T) @ V, V * eigenvalues)
        assert (V.gather(0, V.abs().argmax(0, keepdim=True)) > 0).all()


def test_two_runs_are_equal_bit_for_bit() -> None:
    h, y = sample()
    first, second = (directions(cross_moment(h, y), 7, generator=generator(3)) for _ in range(2))
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize(("d", "k"), [(4, 5), (4, 8), (3, 11), (1, 3)])
def test_more_units_than_inputs(d: int, k: int) -> None:
    """Blocks of orthonormal columns, none of which repeats or negates another (in one dimension all must)."""
    A = torch.randn(d, d, generator=generator(), dtype=torch.float64)
    V, eigenvalues = directions(A + A.T, k, generator=generator(1))
    assert V.shape == (d, k) and eigenvalues.shape == (d,)
    torch.testing.assert_close(V[:, :d], directions(A + A.T, d)[0])
    for block in V.split(d, dim=1):
        torch.testing.assert_close(block.T @ block, torch.eye(block.shape[1], dtype=torch.float64))
    if d > 1:
        cosines = (V.T @ V - torch.eye(k)).abs()
        assert cosines.max() < 1 - 1e-3
    assert not torch.equal(V, directions(A + A.T, k, generator=generator(2))[0]) or d == 1


@pytest.mark.parametrize(("d", "k"), [(6, 3), (3, 6), (4, 4)])
def test_random_frames_are_orthonormal_and_uniform(d: int, k: int) -> None:
    frames = torch.stack([random_frame(d, k, generator=generator(seed)) for seed in range(2000)])
    small = frames if d >= k else frames.mT
    torch.testing.assert_close(
        small.mT @ small, torch.eye(min(d, k), dtype=torch.float64).expand(2000, -1, -1)
    )
    # uniform: each entry has mean 0 and variance 1 / max(d, k); five standard errors
    assert frames.mean(0).abs().max() < 5 * (1 / max(d, k) / 2000) ** 0.5
    assert (frames.square().mean(0) * max(d, k) - 1).abs().max() < 5 * (2 / 2000) ** 0.5


def test_global_random_streams_are_untouched() -> None:
    h, y = sample()
    with reference.random_streams_untouched():
        directions(cross_moment(h, y), 9, generator=generator())


def test_planted_fault_the_stream_checker_sees_a_draw() -> None:
    state = torch.get_rng_state()
    with pytest.raises(AssertionError, match="touched"), reference.random_streams_untouched():
        torch.rand(1)
    torch.set_rng_state(state)


TABLE = torch.ones(12, 3)


@pytest.mark.parametrize(
    ("h", "y", "score", "message"),
    [
        (
            TABLE,
            TABLE[:, 0],
            "second",
            "score must be one of identity, centered, standardized, gaussian, .*, got second",
        ),
        (
            TABLE,
            TABLE[:5, 0],
            "identity",
            r"y must be of shape \(12,\), and an axis more for many responses, got \(5,\)",
        ),
        (
            TABLE,
            TABLE[:, :, None],
            "identity",
            r"y must be of shape \(12,\), .*, got \(12, 3, 1\); one response, or",
        ),
        (TABLE, TABLE[:, :0], "identity", r"y must be of shape \(12,\), .*, got \(12, 0\)"),
        (TABLE[0], TABLE[0], "identity", r"h must be a table \(n, d\)"),
        (TABLE[:0], TABLE[:0, 0], "identity", r"h must be a table \(n, d\)"),
        (TABLE[:, :0], TABLE[:, 0], "identity", r"h must be a table \(n, d\)"),
        (TABLE * math.nan, TABLE[:, 0], "identity", "h and y must be finite"),
        (TABLE, TABLE[:, 0] * math.inf, "standardized", "h and y must be finite"),
        ([], [], "identity", "h must be at least one chunk"),
        ([TABLE, TABLE[:, :2]], [TABLE[:, 0]] * 2, "gaussian", "chunks of 3 columns, got 2"),
        ([TABLE, TABLE], [TABLE[:, 0]] * 2 + [TABLE[:1, 0]], "gaussian", "chunks"),
        ([TABLE, TABLE], [TABLE[:, 0]], "identity", "chunks"),
    ],
)
def test_input_that_cannot_be_used_is_refused(h: object, y: object, score: str, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        cross_moment(h, y, score)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("moment", "k", "message"),
    [
        (torch.ones(2, 3), 1, r"moment must be a square matrix \(d, d\), or \(C, d, d\), got \(2, 3\)"),
        (torch.ones(3), 1, "moment must be a square matrix"),
        (torch.eye(2), 0, "k must be 1 or more, got 0"),
        (torch.eye(2), 3, r"generator must be a torch.Generator when k > d \(3 > 2\), got None"),
    ],
)
def test_directions_that_cannot_be_had_are_refused(moment: Tensor, k: int, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        directions(moment, k)


@pytest.mark.parametrize("score", SCORES)
def test_many_tables_at_once_are_each_of_them(score: str) -> None:
    generator = torch.Generator().manual_seed(3)
    h, y = torch.randn(2, 3, 200, 4, generator=generator), torch.randn(2, 3, 200, generator=generator)
    together = cross_moment(h, y, score)
    assert together.shape == (2, 3, 4, 4)
    for i in range(2):
        for j in range(3):
            torch.testing.assert_close(
                together[i, j], cross_moment(h[i, j], y[i, j], score), rtol=1e-10, atol=1e-12
            )


def many_responses(n: int = 200, d: int = 4) -> tuple[Tensor, Tensor]:
    g = torch.Generator().manual_seed(5)
    h = (
        torch.randn(n, d, generator=g, dtype=torch.float64) @ torch.diag(torch.arange(1.0, d + 1)).double()
        + 1
    )
    return h, torch.stack([h[:, 0] ** 2, h[:, 1] * h[:, 2], h[:, 3]], dim=1)


@pytest.mark.parametrize("score", SCORES)
def test_many_responses_have_a_moment_each(score: str) -> None:
    h, Y = many_responses()
    each = torch.stack([cross_moment(h, y, score) for y in Y.T])  # (C, d, d)
    torch.testing.assert_close(cross_moment(h, Y, score), each, rtol=1e-12, atol=1e-12)
    chunked = cross_moment(h.split(37), Y.split(37), score)
    torch.testing.assert_close(chunked, each, rtol=1e-9, atol=1e-9)
    tables = cross_moment(torch.stack([h, h + 1]), torch.stack([Y, Y]), score)
    torch.testing.assert_close(tables[0], each, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("score", SCORES)
def test_a_column_is_the_vector_exactly(score: str) -> None:
    h, Y = many_responses()
    y = Y[:, 0]
    assert torch.equal(cross_moment(h, y[:, None], score), cross_moment(h, y, score))
    chunked = [cross_moment(h.split(50), v.split(50), score) for v in (y, y[:, None])]
    assert torch.equal(*chunked)
    M = cross_moment(h, y, score)
    for a, b in zip(directions(M, 3), directions(M[None], 3), strict=True):
        assert torch.equal(a, b)


def test_directions_of_many_responses_are_the_left_singular_vectors_of_the_stack() -> None:
    h, Y = many_responses()
    M = cross_moment(h, Y)
    V, singular = directions(M, 4)
    S = torch.cat(list(M), 1)
    torch.testing.assert_close(S @ S.T @ V, V * singular**2)
    assert torch.equal(singular, singular.sort(descending=True).values)
    torch.testing.assert_close(V.T @ V, torch.eye(4, dtype=torch.float64))
    assert (V.gather(0, V.abs().argmax(0, keepdim=True)) > 0).all()
    permuted, _ = directions(M[[2, 0, 1]], 4)
    torch.testing.assert_close(permuted, V, rtol=0, atol=1e-10)


@pytest.mark.parametrize("score", SCORES)
def test_a_known_mean_of_y_saves_the_correction_and_the_covariance_comes_along(score: str) -> None:
    h, Y = many_responses()
    for y in (Y, Y[:, 0]):
        table = moments([(h, y)], score, covariance=True)
        pairs = list(zip(h.split(30), y.split(30), strict=True))
        streamed = moments(pairs, score, y_mean=y.mean(0), covariance=True)
        for found in (table, streamed):
            torch.testing.assert_close(found.cross, cross_moment(h, y, score), rtol=1e-9, atol=1e-9)
            torch.testing.assert_close(found.mean, h.mean(0))
            torch.testing.assert_close(found.covariance, h.T.cov(correction=0))

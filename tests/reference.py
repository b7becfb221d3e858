"""Slow, obvious twins of the library, written another way: loops over rows in numpy, one network at a time in torch.

They are the oracles of the tests. Nothing here imports from the library, so that a mistake there cannot be copied.
"""

import math
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

Array = np.ndarray

# f as a textbook states it; with these alone every derivative below is taken.
FORMULAS: dict[str, Callable[[float], float]] = {
    "tanh": math.tanh,
    "sigmoid": lambda a: 1 / (1 + math.exp(-a)),
    "relu": lambda a: max(a, 0.0),
    "gelu": lambda a: a * (1 + math.erf(a / math.sqrt(2))) / 2,
    "silu": lambda a: a / (1 + math.exp(-a)),
    "elu": lambda a: a if a > 0 else math.expm1(a),
    "selu": lambda a: 1.0507009873554805 * (a if a > 0 else 1.6732632423543772 * math.expm1(a)),
    "identity": lambda a: a,
}
MODULES: dict[str, type[nn.Module]] = {
    "tanh": nn.Tanh, "sigmoid": nn.Sigmoid, "relu": nn.ReLU, "gelu": nn.GELU,
    "silu": nn.SiLU, "elu": nn.ELU, "selu": nn.SELU, "identity": nn.Identity,
}  # fmt: skip


def apply(activation: str, a: Array) -> Array:
    """f(a), number by number."""
    return np.vectorize(FORMULAS[activation], otypes=[float])(a)


def slope(activation: str, a: Array, step: float = 1e-6) -> Array:
    """f'(a) by a central difference."""
    return (apply(activation, a + step) - apply(activation, a - step)) / (2 * step)


@contextmanager
def random_streams_untouched() -> Iterator[None]:
    """Fail if the global random state of torch, numpy or random is not what it was."""
    before = random.getstate(), repr(np.random.get_state()), torch.get_rng_state().tolist()
    yield
    after = random.getstate(), repr(np.random.get_state()), torch.get_rng_state().tolist()
    assert before == after, "a global random stream was touched"


def cross_moment(h: Array, y: Array, score: str) -> Array:
    """(1/n) sum y_i S2(h_i), one row and one (d, d) matrix at a time, with the score as docs/method.md states it."""
    n, d = h.shape
    mean, covariance = h.mean(axis=0), np.cov(h.T, bias=True).reshape(d, d)
    sd = np.sqrt(np.diag(covariance))
    total = np.zeros((d, d))
    if score in ("identity", "centered"):
        for x, response in zip(h, y - y.mean() if score == "centered" else y, strict=True):
            total += response * (np.outer(x, x) - np.eye(d))
    elif score in ("standardized", "residual"):
        for x, response in zip(h, residuals(h, y) if score == "residual" else y - y.mean(), strict=True):
            z = [(x[j] - mean[j]) / sd[j] if sd[j] > 0 else 0.0 for j in range(d)]
            total += response * np.outer(z, z)
    elif score == "matched":
        live = np.where(sd > 0, 1 / np.where(sd > 0, sd, 1), 0)
        z = (h - mean) * live
        log_density = matched_log_density(z)
        x = torch.tensor(z, requires_grad=True)
        (slopes,) = torch.autograd.grad(log_density(x).sum(), x)
        scores = [H + np.outer(g, g) for H, g in zip(hessians(log_density, z), slopes.numpy(), strict=True)]
        for S2, response in zip(scores, y - y.mean(), strict=True):
            total += response * live[:, None] * S2 * live
    else:  # the mixture has one component where rows are few
        S = shrunk(covariance, n)
        P = np.linalg.inv(S)
        e = residuals(h, y) if score == "mixed" else y - y.mean()
        for x, response in zip(h, e, strict=True):
            u = P @ (x - mean)
            total += response * (np.outer(u, u) - P)
        if score == "mixed":
            m1 = np.mean(
                [response * P @ (x - mean) for x, response in zip(h, y - y.mean(), strict=True)], axis=0
            )
            return np.outer(m1, m1) + total @ S @ total / n**2
    return total / n


def shrunk(covariance: Array, n: float) -> Array:
    """Towards its diagonal by d / (n + d); the variance of a constant unit may be any positive number."""
    d = len(covariance)
    target = np.diag([v if v > 0 else 1.0 for v in np.diag(covariance)])
    return covariance * n / (n + d) + target * d / (n + d)


def matched_log_density(z: Array) -> Callable[[Tensor], Tensor]:
    """log p of rows z (n, d) by score matching, a row at a time; the recipe of the random features is the library's."""
    n, d = z.shape
    S = z.T @ z / n * n / (n + d) + np.eye(d) * d / (n + d)
    rng = np.random.default_rng(0)
    omega = rng.standard_normal((200, d))
    for j in range(100):
        omega[j] = np.eye(d)[j % d]
    speeds, phases = rng.uniform(0, 2.5, (200, 1)), rng.uniform(0, 2 * np.pi, 200)
    omega = np.array([speed * w / np.sqrt(w @ S @ w) for speed, w in zip(speeds, omega, strict=True)])
    A, terms = np.zeros((200, 200)), []
    for row in z:
        s, c = np.sin(omega @ row + phases), np.cos(omega @ row + phases)
        gradients = -s[:, None] * omega  # of the features
        laplacians = [-value * w @ S @ w for value, w in zip(c, omega, strict=True)]
        A += gradients @ S @ gradients.T / n
        terms.append(laplacians - gradients @ row)  # the score of the normal is -P row, and S P = I
    a, V = np.mean(terms, axis=0), np.cov(np.transpose(terms), bias=True)
    best, lowest = np.zeros(200), 0.0
    for ridge in [0.001, 0.01, 0.1, 1, 10, 100]:
        penalized = A + ridge * np.trace(A) / 200 * np.eye(200)
        theta = -np.linalg.solve(penalized, a)
        expected = theta @ A @ theta / 2 + a @ theta + np.trace(np.linalg.solve(penalized, V)) / n
        if expected < lowest:
            best, lowest = theta, expected
    P, omega, phases, best = map(torch.as_tensor, (np.linalg.inv(S), omega, phases, best))
    return lambda x: -((x @ P) * x).sum(1) / 2 + torch.cos(x @ omega.T + phases) @ best


def residuals(h: Array, y: Array) -> Array:
    """y less its least-squares fit on h and a constant."""
    X = np.column_stack([np.ones(len(h)), h])
    return y - X @ np.linalg.lstsq(X, y, rcond=None)[0]


def principal_hessian_directions(h: Array, y: Array, *, resid: bool) -> tuple[Array, Array]:
    """Li (1992): the eigenvectors of S^-1 (1/n) sum r_i x_i x_i^T, x = h - mean, r = y - mean or residuals.

    As `statsmodels.regression.dimred.PrincipalHessianDirections` has it: S with n - 1; eigenvalues first, by magnitude.
    """
    n, d = h.shape
    x = h - h.mean(axis=0)
    r = residuals(h, y) if resid else y - y.mean()
    moment = np.zeros((d, d))
    for row, response in zip(x, r, strict=True):
        moment += response * np.outer(row, row) / n
    values, vectors = np.linalg.eig(np.linalg.inv(x.T @ x / (n - 1)) @ moment)
    order = np.argsort(-np.abs(values))
    return np.real(values[order]), np.real(vectors[:, order])


def directions(moment: Array, k: int) -> tuple[Array, Array]:
    """The top k eigenvectors and all eigenvalues; the largest entry of each vector is positive.

    By the singular value decomposition, which orders by |eigenvalue|; u and v differ by the eigenvalue's sign.
    """
    U, s, Vt = np.linalg.svd(moment)
    eigenvalues = [size if u @ v > 0 else -size for size, u, v in zip(s, U.T, Vt, strict=True)]
    vectors = [u if u[np.argmax(np.abs(u))] > 0 else -u for u in U.T[:k]]
    return np.column_stack(vectors), np.array(eigenvalues)


@dataclass
class Layer:
    """What a layer of the twin network looked like when it was made."""

    W: Array  # (d, k)
    b: Array  # (k,)
    eigenvalues: Array  # (d,)
    preactivation_variance: float  # mean over units
    activation_variance: float


def stein_layers(
    X: Array, y: Array, widths: Sequence[int], activation: str, alpha: float | None, score: str
) -> list[Layer]:
    """The hidden layers of the paper's Algorithm 1; alpha None makes the mean pre-activation variance 1."""
    layers, h = [], X
    for k in widths:
        V, eigenvalues = directions(cross_moment(h, y, score), k)
        factor = 1 / math.sqrt(np.mean([np.var(h @ v) for v in V.T])) if alpha is None else alpha
        W = factor * V
        b = -np.mean([W.T @ x for x in h], axis=0)
        a = np.array([W.T @ x + b for x in h])
        h = apply(activation, a)
        layers.append(
            Layer(W, b, eigenvalues, float(np.mean(np.var(a, axis=0))), float(np.mean(np.var(h, axis=0))))
        )
    return layers


# Of the output units (n, C) and the responses (n, C): torch's own losses. Class indicators are probabilities there.
CRITERIA: dict[str, nn.Module] = {
    "regression": nn.MSELoss(),
    "binary": nn.BCEWithLogitsLoss(),
    "multiclass": nn.CrossEntropyLoss(),
}


@dataclass
class Run:
    """What training one network left: its losses by epoch, its parameters at the end and after every epoch."""

    training: list[float]
    validation: list[float]
    states: list[dict[str, Tensor]]


def train_alone(
    model: nn.Module,
    rows: tuple[Tensor, Tensor],
    validation: tuple[Tensor, Tensor],
    *,
    task: str,
    epochs: int,
    batch_size: int,
    learning_rate: float,
    generator: torch.Generator,
) -> Run:
    """One network by autograd and torch.optim.Adam: the loop that every tutorial shows."""
    optimizer = torch.optim.Adam(model.parameters(), lr=learning_rate)
    X, y = rows

    def loss_on(X: Tensor, y: Tensor) -> Tensor:
        return CRITERIA[task](model(X), y)

    def note(training: float) -> None:
        with torch.no_grad():
            run.training.append(training)
            run.validation.append(loss_on(*validation).item())
            run.states.append({name: value.clone() for name, value in model.state_dict().items()})

    run = Run([], [], [])
    note(loss_on(X, y).item())
    for _ in range(epochs):
        total = 0.0
        for batch in torch.randperm(len(y), generator=generator).split(batch_size):
            optimizer.zero_grad()
            loss = loss_on(X[batch], y[batch])
            loss.backward()
            optimizer.step()
            total += loss.item() * len(batch)
        note(total / len(y))
    return run


def stopping(validation: Sequence[float], target: float | None, patience: int | None) -> tuple[int, str, int]:
    """Where early stopping ends a curve of validation losses: last epoch, rule ("" for none), best epoch."""
    for epoch in range(len(validation)):
        best = min(range(epoch + 1), key=lambda e: validation[e])
        if target is not None and validation[best] <= target:
            return epoch, "target", best
        if patience is not None and epoch - best >= patience:
            return epoch, "patience", best
    return epoch, "", best


def quadrature(d: int, nodes: int) -> tuple[Array, Array]:
    """Gauss-Hermite nodes (m, d) and weights (m,) for E under N(0, I_d): exact up to degree 2 nodes - 1 in each x_j."""
    x, w = np.polynomial.hermite_e.hermegauss(nodes)
    grid = np.stack(np.meshgrid(*[x] * d, indexing="ij"), axis=-1).reshape(-1, d)
    weights = np.stack(np.meshgrid(*[w] * d, indexing="ij"), axis=-1).reshape(-1, d).prod(axis=1)
    return grid, weights / weights.sum()


def normal_design(d: int) -> Array:
    """6^d rows of equal weight with the moments of N(0, I_d) up to degree 5 in each x_j.

    The three-point Gauss-Hermite rule has weights 1/6, 4/6, 1/6: the middle node stands in four rows.
    """
    line = np.array([-math.sqrt(3), 0, 0, 0, 0, math.sqrt(3)])
    return np.stack(np.meshgrid(*[line] * d, indexing="ij"), axis=-1).reshape(-1, d)


def hessians(g: Callable[[Tensor], Tensor], points: Array) -> Array:
    """The Hessians (m, d, d) of g, a function of rows (m, d), by automatic differentiation."""
    x = torch.tensor(points, requires_grad=True)
    (gradient,) = torch.autograd.grad(g(x).sum(), x, create_graph=True)
    rows = [torch.autograd.grad(column.sum(), x, retain_graph=True)[0] for column in gradient.T]
    return torch.stack(rows, dim=1).numpy()


def subspace_error(A: Array, B: Array) -> float:
    """The sine of the largest angle between the spans of A and B: the spectral norm of P_A - P_B."""
    projections = [M @ np.linalg.pinv(M) for M in (A, B)]
    return float(np.linalg.norm(projections[0] - projections[1], ord=2))


def gaussian_mean(g: Callable[[Array], Array], reach: float = 10, steps: int = 20_000) -> float:
    """E g(z), z ~ N(0, 1), by midpoints of many small steps: no node lies on a kink at 0."""
    z = (np.arange(-steps, steps) + 0.5) * (reach / steps)
    return float(np.sum(g(z) * np.exp(-(z**2) / 2)) / math.sqrt(2 * math.pi) * (reach / steps))


def gaussian_pair_mean(g: Callable[[Array, Array], Array], q: float, q_ab: float, steps: int = 200) -> float:
    """E g(u, v) of two normals of variance q and covariance q_ab, by the same midpoints in the plane."""
    line = (np.arange(-steps, steps) + 0.5) * (8 / steps)
    y, z = np.meshgrid(line, line)
    c = q_ab / q
    u, v = math.sqrt(q) * z, math.sqrt(q) * (c * z + math.sqrt(1 - c * c) * y)
    return float(np.sum(g(u, v) * np.exp(-(y**2 + z**2) / 2)) / (2 * math.pi) * (8 / steps) ** 2)

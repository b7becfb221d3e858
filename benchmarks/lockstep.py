"""The lock-step trainer against other ways to train K networks: milliseconds a network and step, all in one run.

Twice, each in a process of its own: on one core, as a worker has it, and on all. "Products" is the limit: those of our
step and nothing else. One by one is what a user of torch would write; torch.func.vmap and jax.vmap train the K networks
as one; Keras is the paper's own way, one by one. JAX and Keras are left out where they are not installed
(requirements-bench.txt). All sides train on the same rows, in alternation, and the medians of the rounds are compared.

    python benchmarks/lockstep.py
"""

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, stack_module_state, vmap

from steinglm.init import glorot_normal_
from steinglm.kernels import product
from steinglm.mlp import build, stack
from steinglm.train import Rows, fit

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
K, BATCH, STEPS, ROUNDS = 40, 500, 30, 5
REST = 0.1  # seconds; until then threads of the side before may spin
SHAPES = ((8, 10), (20, 10), (20, 40))  # width, depth
Side = Callable[[], None]  # trains for STEPS mini-batches


def _networks(width: int, depth: int, count: int) -> list[nn.Sequential]:
    generator = torch.Generator().manual_seed(0)
    models = [build(width, width, depth, "tanh") for _ in range(count)]
    for model in models:
        glorot_normal_(model, generator=generator)
    return models


def lockstep(rows: Rows, width: int, depth: int, networks: int = K) -> tuple[Side, int]:
    """Ours; the evaluation after the epoch is on a single row. Returns what to time, and its number of networks."""
    few = Rows(rows.X[:, :1], rows.y[:, :1])
    epochs = fit(
        stack(_networks(width, depth, networks)),
        rows,
        few,
        task="regression",
        epochs=ROUNDS + 1,
        batch_size=BATCH,
        learning_rate=1e-3,
        generators=[torch.Generator().manual_seed(0)],
    )
    next(epochs)  # epoch 0 is before training
    return lambda: void(next(epochs)), networks


def products(_: Rows, width: int, depth: int) -> tuple[Side, int]:
    """The products of our step: a layer's output, the gradient of its weights and, but for the first, of its input."""
    generator = torch.Generator().manual_seed(0)
    W = [torch.randn(K, width, width, generator=generator) / width**0.5 for _ in range(depth)]
    h = [torch.randn(K, width, BATCH, generator=generator) for _ in range(depth + 1)]
    found, before = torch.empty_like(W[0]), torch.empty_like(h[0])
    step = [product(W[i].mT, h[i], out=h[i + 1]) for i in range(depth)]
    for i in reversed(range(depth)):
        step.append(product(h[i], h[i + 1].mT, out=found))
        if i:
            step.append(product(W[i], h[i + 1], out=before))

    def train() -> None:
        for _ in range(STEPS):
            for own in step:
                own()

    return train, K


def one_by_one(rows: Rows, width: int, depth: int) -> tuple[Side, int]:
    """Plain torch, over two networks (the others would repeat them)."""
    models = _networks(width, depth, 2)
    optimizers = [torch.optim.Adam(model.parameters(), lr=1e-3) for model in models]
    loss = nn.MSELoss()

    def train() -> None:
        for model, optimizer in zip(models, optimizers, strict=True):
            for X, y in batches(rows):
                optimizer.zero_grad()
                loss(model(X).squeeze(1), y).backward()
                optimizer.step()

    return train, len(models)


def torch_vmap(rows: Rows, width: int, depth: int) -> tuple[Side, int]:
    """`torch.func.vmap` of the gradient over stacked parameters, with torch's fused Adam."""
    models = _networks(width, depth, K)
    parameters, _ = stack_module_state(models)
    optimizer = torch.optim.Adam(parameters.values(), lr=1e-3, fused=True)

    def loss(own: dict[str, Tensor], X: Tensor, y: Tensor) -> Tensor:
        return (functional_call(models[0], own, (X,)).squeeze(1) - y).square().mean()

    gradients = vmap(grad(loss), in_dims=(0, None, None))

    def train() -> None:
        for X, y in batches(rows):
            found = gradients({name: value.detach() for name, value in parameters.items()}, X, y)
            for name, value in parameters.items():
                value.grad = found[name]
            optimizer.step()

    return train, K


def jax_vmap(rows: Rows, width: int, depth: int) -> tuple[Side, int]:
    """`jax.jit(jax.vmap(...))` of a step with Adam written out."""
    import jax
    import jax.numpy as jnp

    linears = [[m for m in model if isinstance(m, nn.Linear)] for model in _networks(width, depth, K)]
    weights = [jnp.stack([m.weight.detach().numpy().T for m in same]) for same in zip(*linears, strict=True)]
    biases = [jnp.stack([m.bias.detach().numpy() for m in same]) for same in zip(*linears, strict=True)]

    def loss(own, X, y):  # type: ignore[no-untyped-def]
        *hidden, (W_out, b_out) = zip(*own, strict=True)
        for W, b in hidden:
            X = jnp.tanh(X @ W + b)
        return jnp.mean(((X @ W_out + b_out)[:, 0] - y) ** 2)

    def step(own, m, v, t, X, y):  # type: ignore[no-untyped-def]
        g = jax.grad(loss)(own, X, y)
        m = jax.tree.map(lambda a, b: 0.9 * a + 0.1 * b, m, g)
        v = jax.tree.map(lambda a, b: 0.999 * a + 0.001 * b * b, v, g)
        rate = 1e-3 * jnp.sqrt(1 - 0.999**t) / (1 - 0.9**t)
        return jax.tree.map(lambda p, a, b: p - rate * a / (jnp.sqrt(b) + 1e-8), own, m, v), m, v

    together = jax.jit(jax.vmap(step, in_axes=(0, 0, 0, None, None, None)))
    zeros = jax.tree.map(jnp.zeros_like, (weights, biases))
    state = {"own": (weights, biases), "m": zeros, "v": zeros, "t": 0}
    parts = [(jnp.asarray(X.numpy()), jnp.asarray(y.numpy())) for X, y in batches(rows)]

    def train() -> None:
        for X, y in parts:
            state["t"] += 1
            state["own"], state["m"], state["v"] = together(
                state["own"], state["m"], state["v"], float(state["t"]), X, y
            )
        jax.block_until_ready(state["own"])

    return train, K


def keras(rows: Rows, width: int, depth: int) -> tuple[Side, int]:
    """Keras 3 on TensorFlow, `fit` of one network."""
    import keras

    model = keras.Sequential([keras.Input((width,))])
    for _ in range(depth):
        model.add(keras.layers.Dense(width, activation="tanh", kernel_initializer="glorot_normal"))
    model.add(keras.layers.Dense(1))
    model.compile(optimizer=keras.optimizers.Adam(1e-3), loss="mse")
    X, y = rows.X[0].numpy(), rows.y[0].numpy()
    return lambda: void(model.fit(X, y, batch_size=BATCH, epochs=1, verbose=0)), 1


def batches(rows: Rows) -> list[tuple[Tensor, Tensor]]:
    return list(zip(rows.X[0].split(BATCH), rows.y[0, :, 0].split(BATCH), strict=True))


def void(_: object) -> None:
    """What a side returns is not looked at."""


SIDES: dict[str, tuple[Callable[[Rows, int, int], tuple[Side, int]], str]] = {
    "lock-step": (lockstep, "torch"),
    "products": (products, "torch"),
    "one by one": (one_by_one, "torch"),
    "torch vmap": (torch_vmap, "torch"),
    "JAX vmap": (jax_vmap, "jax"),
    "Keras": (keras, "keras"),
}


def measure(width: int, depth: int) -> dict[str, float]:
    """Milliseconds a network and step, by side."""
    generator = torch.Generator().manual_seed(1)
    n = BATCH * STEPS
    rows = Rows(torch.randn(1, n, width, generator=generator), torch.rand(1, n, 1, generator=generator))
    sides = {name: make(rows, width, depth) for name, (make, needs) in SIDES.items() if find_spec(needs)}
    times: dict[str, list[float]] = {name: [] for name in sides}
    for turn in range(ROUNDS + 1):
        for name, (train, networks) in sides.items():
            time.sleep(REST)
            start = time.perf_counter()
            train()
            if turn:  # the first warms up
                times[name].append((time.perf_counter() - start) / STEPS / networks * 1e3)
    return {name: statistics.median(own) for name, own in times.items()}


def growth() -> None:
    """Milliseconds a network and step by the number of networks."""
    print(f"\ngrowth over K, 20 x 10, batch {BATCH}; ms a network and step")
    generator = torch.Generator().manual_seed(1)
    n = BATCH * STEPS
    rows = Rows(torch.randn(1, n, 20, generator=generator), torch.rand(1, n, 1, generator=generator))
    for networks in (1, 4, 10, 40, 160):
        train, _ = lockstep(rows, 20, 10, networks)
        times = []
        for turn in range(ROUNDS + 1):
            start = time.perf_counter()
            train()
            if turn:
                times.append((time.perf_counter() - start) / STEPS / networks * 1e3)
        print(f"{f'K = {networks}':>14}{statistics.median(times):>14.3f}", flush=True)


def report() -> None:
    """Print one line a shape: milliseconds of each side, and how many times ours it is; then the growth over K."""
    names = [name for name, (_, needs) in SIDES.items() if find_spec(needs)]
    cores = torch.get_num_threads()
    print(
        f"\nK = {K}, batch {BATCH}, {cores} core{'s' if cores > 1 else ''}, medians of {ROUNDS}; "
        "ms a network and step"
    )
    print(f"{'width x depth':>14}" + "".join(f"{name:>20}" for name in names))
    for width, depth in SHAPES:
        own = measure(width, depth)
        cells = [f"{own[name]:.3f} ({own[name] / own['lock-step']:.1f}x)" for name in names]
        print(f"{f'{width} x {depth}':>14}" + "".join(f"{cell:>20}" for cell in cells), flush=True)
    growth()


def main() -> None:
    """Report in a process on one core, and in one on all."""
    every = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()  # elsewhere: all, once
    for cores in ([{min(every)}] if len(every) > 1 else []) + [every]:
        subprocess.run(
            [sys.executable, __file__, "here"],
            preexec_fn=(lambda cores=cores: os.sched_setaffinity(0, cores)) if cores else None,
            check=True,
        )


if __name__ == "__main__":
    report() if sys.argv[1:] == ["here"] else main()

"""The lock-step trainer against networks trained one by one, its gradients against autograd, and its stop rules."""

import time
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from steinglm import workspace
from steinglm.init import glorot_normal_
from steinglm.mlp import ACTIVATIONS, Stack, build, stack, unstack
from steinglm.train import LOSSES, Losses, Rows, StopRules, Trained, evaluate, fit, predict
from steinglm.workspace import Workspace, Workspaces
from tests import reference

METHODS, REPEATS, FEATURES, WIDTH = 2, 2, 4, 5
K = METHODS * REPEATS
N, M, BATCH = 45, 22, 11  # batches of 11, 11, 11, 11, 1: the last one is smaller
FOREVER = StopRules()


def generators(seed: int = 0) -> list[torch.Generator]:
    return [torch.Generator().manual_seed(100 * seed + repeat) for repeat in range(REPEATS)]


def rows(n: int, kind: str, seed: int, dtype: torch.dtype = torch.float32) -> Rows:
    g = torch.Generator().manual_seed(seed)
    X = torch.randn(REPEATS, n, FEATURES, generator=g, dtype=torch.float64)
    y = X[..., 0] * X[..., 1] + 0.5 * X[..., 2]
    columns = {
        "regression": y[..., None],
        "several": torch.stack([y, X[..., 3] ** 2], dim=2),
        "binary": (y > 0).double()[..., None],
        "multiclass": torch.stack([y < -0.5, (y >= -0.5) & (y < 0.5), y >= 0.5], dim=2).double(),
    }
    return Rows(X.to(dtype), columns[kind].to(dtype))


OUTPUTS = {"regression": 1, "several": 2, "binary": 1, "multiclass": 3}


def task_of(kind: str) -> str:
    return "regression" if kind == "several" else kind


def networks(
    activation: str, depth: int = 3, dtype: torch.dtype = torch.float32, kind: str = "regression"
) -> Stack:
    models = [
        build(FEATURES, WIDTH, depth, activation, torch.float64, outputs=OUTPUTS[kind]) for _ in range(K)
    ]
    for seed, model in enumerate(models):
        glorot_normal_(model, generator=torch.Generator().manual_seed(seed))
    return stack(models, dtype)


def run(
    nets: Stack,
    task: str = "regression",
    epochs: int = 4,
    stop: StopRules = FOREVER,
    learning_rate: float | list[float] = 1e-2,
    checkpoint: Callable[[], None] | None = None,
    order: int = 0,
) -> tuple[list[Losses], Trained]:
    *losses, trained = fit(
        nets, *(rows(n, task, seed, nets.flat.dtype) for n, seed in ((N, 1), (M, 2))), task=task_of(task),
        epochs=epochs, batch_size=BATCH,
        learning_rate=learning_rate, generators=generators(order), stop=stop, checkpoint=checkpoint,
    )  # fmt: skip
    assert isinstance(trained, Trained)
    assert all(isinstance(step, Losses) for step in losses)
    return losses, trained  # type: ignore[return-value]


def run_alone(
    models: list[nn.Sequential], task: str, epochs: int, learning_rate: float = 1e-2
) -> list[reference.Run]:
    dtype = next(models[0].parameters()).dtype
    training, validation = rows(N, task, 1, dtype), rows(M, task, 2, dtype)
    runs = []
    for k, model in enumerate(models):
        repeat = k % REPEATS
        own = (training.X[repeat], training.y[repeat]), (validation.X[repeat], validation.y[repeat])
        runs.append(
            reference.train_alone(
                model,
                *own,
                task=task_of(task),
                epochs=epochs,
                batch_size=BATCH,
                learning_rate=learning_rate,
                generator=generators()[repeat],
            )
        )
    return runs


def assert_same(model: nn.Module, state: dict[str, Tensor], tolerance: float = 2e-5) -> None:
    for name, value in model.state_dict().items():
        torch.testing.assert_close(value, state[name], rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-4), (torch.float64, 1e-9)])
@pytest.mark.parametrize("task", OUTPUTS)
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_a_stack_equals_its_networks_one_by_one(
    activation: str, task: str, dtype: torch.dtype, tolerance: float
) -> None:
    """Losses of every epoch and the parameters after 20 steps, and the parameters kept, to rounding."""
    nets = networks(activation, kind=task, dtype=dtype)
    alone = run_alone(unstack(nets), task, epochs=4)
    losses, trained = run(nets, task, epochs=4)
    for k, (model, best, twin) in enumerate(zip(unstack(nets), unstack(trained.best), alone, strict=True)):
        assert [float(step.training[k]) for step in losses] == pytest.approx(
            twin.training, rel=tolerance, abs=tolerance / 100
        )
        assert [float(step.validation[k]) for step in losses] == pytest.approx(
            twin.validation, rel=tolerance, abs=tolerance / 100
        )
        assert_same(model, twin.states[-1], tolerance)
        assert_same(best, twin.states[int(trained.best_epoch[k])], tolerance)
    assert [step.epoch for step in losses] == [0, 1, 2, 3, 4]


def test_planted_fault_the_twin_sees_another_order_of_batches() -> None:
    nets = networks("tanh")
    alone = run_alone(unstack(nets), "regression", epochs=4)
    run(nets, order=1)
    with pytest.raises(AssertionError):
        assert_same(unstack(nets)[0], alone[0].states[-1], tolerance=1e-3)


@pytest.mark.parametrize("kind", OUTPUTS)
@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("depth", [1, 4])
def test_gradients_equal_autograd(depth: int, activation: str, kind: str) -> None:
    """d(loss)/d(parameters) in float64: the hand-written backward pass, and autograd through nn.Sequential."""
    nets, data = networks(activation, depth, torch.float64, kind), rows(N, kind, 1, torch.float64)
    loss = LOSSES[task_of(kind)]
    gradients = nets.like(torch.full_like(nets.flat, torch.nan))
    values = torch.empty(len(nets.layers[0]), dtype=torch.float64)
    for group in Workspaces(nets, REPEATS, gradients).take(data.X.transpose(1, 2), data.y.transpose(1, 2)):
        z = group.forward()
        values[group.networks] = loss.mean(z, group.y)
        loss.gradient(z, group.y, group.gz)
        group.backward()
    for k, model in enumerate(unstack(nets)):
        value = reference.CRITERIA[task_of(kind)](model(data.X[k % REPEATS]), data.y[k % REPEATS])
        value.backward()
        torch.testing.assert_close(values[k], value.detach(), rtol=1e-12, atol=1e-12)
        linears = [m for m in model if isinstance(m, nn.Linear)]
        for linear, W, b in zip(linears, gradients.weights, gradients.biases, strict=True):
            assert linear.weight.grad is not None
            torch.testing.assert_close(W[k], linear.weight.grad.T, rtol=1e-10, atol=1e-12)
            torch.testing.assert_close(b[k, 0], linear.bias.grad, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("kind", OUTPUTS)
def test_evaluate_and_predict_equal_the_networks(kind: str) -> None:
    nets, data = networks("gelu", kind=kind), rows(N, kind, 1)
    z, losses = predict(nets, data.X, batch_size=7), evaluate(nets, data, task_of(kind), batch_size=7)
    with torch.no_grad():
        for k, model in enumerate(unstack(nets)):
            expected = model(data.X[k % REPEATS])
            torch.testing.assert_close(z[k], expected)
            criterion = reference.CRITERIA[task_of(kind)]
            torch.testing.assert_close(losses[k], criterion(expected, data.y[k % REPEATS]))


def test_large_logits_give_a_finite_loss() -> None:
    z, y = torch.tensor([[[1e4, -1e4]]]), torch.tensor([[[0.0, 0.0]]])
    assert LOSSES["binary"].mean(z, y).item() == pytest.approx(5e3)
    assert LOSSES["binary"].gradient(z, y, torch.empty_like(z)).tolist() == [[[0.5, 0.0]]]
    logits, classes = torch.tensor([[[1e4], [-1e4]]]), torch.tensor([[[0.0], [1.0]]])
    assert LOSSES["multiclass"].mean(logits, classes).item() == pytest.approx(2e4)
    assert LOSSES["multiclass"].gradient(logits, classes, torch.empty_like(logits)).tolist() == [
        [[1.0], [-1.0]]
    ]


def test_comparisons_are_paired() -> None:
    """Equal networks of one repeat, under two methods, stay equal: they see the same rows in the same order."""
    one = build(FEATURES, WIDTH, 2, "tanh", torch.float64)
    glorot_normal_(one, generator=torch.Generator().manual_seed(0))
    losses, _ = run(stack([one] * K))
    for step in losses:
        assert torch.equal(step.training[:REPEATS], step.training[REPEATS:])
        assert torch.equal(step.validation[:REPEATS], step.validation[REPEATS:])
        assert step.training[0] != step.training[1]


def test_a_network_does_not_depend_on_the_others() -> None:
    together = networks("tanh")
    models = unstack(together)
    losses, _ = run(together)
    for method in range(METHODS):
        own = slice(REPEATS * method, REPEATS * (method + 1))
        alone, _ = run(stack(models[own]))
        for a, b in zip(alone, losses, strict=True):
            torch.testing.assert_close(a.validation, b.validation[own], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("most", [1, 2, 3])
@pytest.mark.parametrize("activation", ["tanh", "gelu"])
def test_groups_that_the_cache_holds_give_the_same_numbers(
    activation: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, parts = networks(activation), networks(activation)
    losses, _ = run(whole)
    monkeypatch.setattr(workspace, "CACHE", most * 3 * WIDTH * BATCH * 4)
    monkeypatch.setattr(workspace, "CALL", 0)
    predicted = predict(whole, rows(M, "regression", 2).X)
    assert len(Workspace(parts, REPEATS, BATCH, None).groups) == (4 if most == 1 else 2)
    for a, b in zip(losses, run(parts)[0], strict=True):
        assert torch.equal(a.training, b.training) and torch.equal(a.validation, b.validation)
    assert torch.equal(whole.flat, parts.flat)
    assert torch.equal(predicted, predict(parts, rows(M, "regression", 2).X))


def test_each_network_has_its_own_rate() -> None:
    rates = [0.001, 0.03, 0.03, 0.01]
    mixed, _ = run(networks("tanh"), learning_rate=rates)
    for k, rate in enumerate(rates):
        alone, _ = run(networks("tanh"), learning_rate=rate)
        for a, b in zip(alone, mixed, strict=True):
            torch.testing.assert_close(a.training[k], b.training[k], rtol=1e-5, atol=1e-6)
            torch.testing.assert_close(a.validation[k], b.validation[k], rtol=1e-5, atol=1e-6)
    alike, _ = run(networks("tanh"), learning_rate=[0.01] * K)
    once, _ = run(networks("tanh"), learning_rate=0.01)
    assert all(a.training.equal(b.training) for a, b in zip(alike, once, strict=True))


def test_two_runs_are_equal_bit_for_bit_and_no_global_stream_is_touched() -> None:
    first, second = networks("tanh"), networks("tanh")
    with reference.random_streams_untouched():
        run(first)
    run(second)
    assert torch.equal(first.flat, second.flat)


def test_a_run_in_parts_that_share_adams_memory_equals_one_run() -> None:
    """Parameters and losses, bit for bit; without the memory they differ."""

    def train(nets: Stack, parts: list[int], memories: list[dict[str, Tensor] | None]) -> list[Tensor]:
        orders, curve = generators(), []
        for epochs, memory in zip(parts, memories, strict=True):
            *losses, _ = fit(
                nets, rows(N, "regression", 1), rows(M, "regression", 2), task="regression", epochs=epochs,
                batch_size=BATCH, learning_rate=1e-2, generators=orders, memory=memory,
            )  # fmt: skip
            curve += [step.training for step in losses if isinstance(step, Losses) and step.epoch]
        return curve

    whole, parts, forgetful = networks("tanh"), networks("tanh"), networks("tanh")
    memory: dict[str, Tensor] = {}
    curve = train(whole, [4], [None])
    assert torch.equal(torch.stack(train(parts, [1, 3], [memory, memory])), torch.stack(curve))
    assert torch.equal(parts.flat, whole.flat)
    train(forgetful, [1, 3], [None, None])
    assert not torch.equal(forgetful.flat, whole.flat)


# -- stop rules ----------------------------------------------------------------------------------------------------

EPOCHS = 30


def curves(epochs: int = EPOCHS) -> list[list[float]]:
    losses, _ = run(networks("tanh"), epochs=epochs, learning_rate=0.05)
    return [[float(step.validation[k]) for step in losses] for k in range(K)]


@pytest.mark.parametrize(
    ("quantile", "patience"), [(0.3, None), (None, 1), (None, 3), (0.1, 2), (None, EPOCHS), (2.0, 5)]
)
def test_stop_rules_are_early_stopping_one_by_one(quantile: float | None, patience: int | None) -> None:
    free = curves()
    low, high = min(map(min, free)), max(curve[0] for curve in free)
    target = None if quantile is None else low + quantile * (high - low)
    losses, trained = run(
        networks("tanh"), epochs=EPOCHS, learning_rate=0.05, stop=StopRules(target, patience)
    )
    ends = []
    for k, curve in enumerate(free):
        end, rule, best = reference.stopping(curve, target, patience)
        own = [float(step.validation[k]) for step in losses if not step.validation[k].isnan()]
        assert own == curve[: end + 1]
        assert [step.epoch for step in losses if not step.training[k].isnan()] == list(range(end + 1))
        assert (trained.stopped[k], int(trained.best_epoch[k])) == (rule, best)
        assert float(trained.best_loss[k]) == curve[best]
        ends.append(end)
    assert losses[-1].epoch == max(ends)
    if quantile != 2.0 and patience != EPOCHS:
        assert any(trained.stopped)


def test_a_stopped_network_keeps_its_best_parameters() -> None:
    nets = networks("tanh")
    alone = run_alone(unstack(nets), "regression", EPOCHS, learning_rate=0.05)
    _, trained = run(nets, epochs=EPOCHS, learning_rate=0.05, stop=StopRules(patience=1))
    assert "patience" in trained.stopped
    for model, twin, best in zip(unstack(trained.best), alone, trained.best_epoch.tolist(), strict=True):
        assert_same(model, twin.states[best], tolerance=1e-3)
    torch.testing.assert_close(
        evaluate(trained.best, rows(M, "regression", 2), "regression"), trained.best_loss
    )


def test_a_time_budget_ends_the_run_after_the_epoch_that_used_it_up() -> None:
    losses, trained = run(networks("tanh"), epochs=EPOCHS, stop=StopRules(seconds=1e-9))
    assert [step.epoch for step in losses] == [0, 1]
    assert set(trained.stopped) == {"time"}
    assert trained.seconds > 1e-9


def test_time_spent_in_a_checkpoint_does_not_count() -> None:
    """Waiting there (a pause) is no training: 10 calls of .05 seconds would be more than the budget."""
    losses, trained = run(
        networks("tanh"), epochs=2, stop=StopRules(seconds=0.4), checkpoint=lambda: time.sleep(0.05)
    )
    assert losses[-1].epoch == 2
    assert trained.seconds < 0.4


def test_no_epochs_only_measure() -> None:
    nets = networks("tanh")
    before = nets.flat.clone()
    losses, trained = run(nets, epochs=0)
    assert [step.epoch for step in losses] == [0]
    assert torch.equal(trained.best.flat, before)
    assert torch.equal(nets.flat, before)


def test_a_network_that_diverges_keeps_its_start_and_spoils_no_other() -> None:
    nets = networks("identity")
    with torch.no_grad():
        nets.weights[0][0] = 1e30
        nets.weights[1][0] = 1e30
    start = unstack(nets)[0].state_dict()
    losses, trained = run(nets)
    clean, _ = run(networks("identity"))
    assert_same(unstack(trained.best)[0], start, tolerance=0)
    for step, other in zip(losses, clean, strict=True):
        assert not step.validation[0].isfinite()
        torch.testing.assert_close(step.validation[1:], other.validation[1:])


# -- being watched and interrupted ---------------------------------------------------------------------------------


class Stop(Exception):
    pass


def test_a_checkpoint_is_called_after_every_mini_batch_and_may_end_the_run() -> None:
    calls: list[int] = []

    def checkpoint() -> None:
        calls.append(1)
        if len(calls) == 8:  # the third mini-batch of the second epoch
            raise Stop

    steps = fit(
        networks("tanh"), rows(N, "regression", 1), rows(M, "regression", 2), task="regression", epochs=9,
        batch_size=BATCH, learning_rate=1e-3, generators=generators(), checkpoint=checkpoint,
    )  # fmt: skip
    seen = [next(steps), next(steps)]
    assert [step.epoch for step in seen if isinstance(step, Losses)] == [0, 1]
    assert len(calls) == 5
    with pytest.raises(Stop):
        next(steps)
    assert len(calls) == 8
    assert list(steps) == []


def test_whoever_reads_the_epochs_keeps_their_own_grad_mode() -> None:
    """A generator must not leave torch's gradients switched off between its steps."""
    steps = fit(
        networks("tanh"), rows(N, "regression", 1), rows(M, "regression", 2), task="regression", epochs=2,
        batch_size=BATCH, learning_rate=1e-3, generators=generators(),
    )  # fmt: skip
    try:
        modes = [torch.is_grad_enabled() for _ in steps]
    finally:
        torch.set_grad_enabled(True)
    assert all(modes)

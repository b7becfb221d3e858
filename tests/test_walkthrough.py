"""The walk step by step is what the initializer does, and the code it shows is the code that runs."""

import inspect

import pytest
import torch

from steinglm import stein
from steinglm.exceptions import InvalidInputError
from steinglm.experiment import Experiment, networks_of
from steinglm.mlp import hidden_layers
from steinglm.stein import SCORES
from steinglm.walkthrough import STEPS, code_of, functions, walk


@pytest.mark.parametrize(
    "experiment",
    [
        Experiment(dataset="diabetes", depth=2, width=3),
        Experiment(dataset="mammographic", depth=2, width=4, activation="sigmoid", score="identity", seed=5),
        Experiment(dataset="diabetes", depth=3, width=2, activation="relu", score="mixed"),
        Experiment(dataset="diabetes", depth=2, alpha=1.6, score="gaussian", calibrate=False),
    ],
    ids=lambda experiment: f"{experiment.dataset}-{experiment.activation}-{experiment.score}",
)
def test_the_pieces_are_those_of_the_initializer(experiment: Experiment) -> None:
    steps = walk(experiment)
    (model,), _, _ = networks_of(Experiment(**{**experiment.as_dict(), "methods": ("steinglm",)}))
    for (linear, _), step in zip(hidden_layers(model), steps.layers, strict=True):
        torch.testing.assert_close(linear.weight.T, step.W, rtol=1e-10, atol=1e-10)
        torch.testing.assert_close(linear.bias, step.b, rtol=1e-10, atol=1e-10)
        assert step.alpha**2 == pytest.approx(float((step.W.T @ step.W)[0, 0]))
    last = model[-1].requires_grad_(False)
    torch.testing.assert_close(
        last.weight[0], torch.as_tensor(steps.output.coefficients), rtol=1e-8, atol=1e-10
    )
    assert float(last.bias) == pytest.approx(float(steps.output.intercept), rel=1e-8)


def test_a_step_is_what_it_says() -> None:
    step = walk(Experiment(dataset="diabetes", depth=1, width=3)).layers[0]
    for j in range(3):
        torch.testing.assert_close(step.moment @ step.V[:, j], step.eigenvalues[j] * step.V[:, j])
    assert step.eigenvalues.abs().diff().le(0).all()
    assert float(step.after.abs().max()) < 1e-12
    torch.testing.assert_close(step.before, -step.b)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"dataset": "diabetes", "width": 11}, "width must be at most the 10 inputs, got 11"),
        ({"dataset": "digits", "width": 2}, "data set must be of one response, got digits"),
    ],
)
def test_what_it_cannot_show_is_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        walk(Experiment(**settings))  # type: ignore[arg-type]


def test_every_step_has_code_and_it_is_the_source_without_its_docstring() -> None:
    for score in SCORES:
        for step in STEPS:
            for function in functions(step, score, "regression"):
                lines = code_of(function)
                compile(lines, "shown", "exec")
                assert '"""' not in lines and set(lines.splitlines()) <= set(
                    inspect.getsource(function).splitlines()
                )
    assert "argsort(descending=True, stable=True)" in code_of(stein._eigen)

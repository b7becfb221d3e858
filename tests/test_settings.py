"""Settings: every bad value is refused with what, expected, got and cure; keys and round trips are exact."""

import json
import math
from dataclasses import FrozenInstanceError, fields, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as settings_of
from hypothesis import strategies as st

from steinglm import settings
from steinglm.exceptions import InvalidInputError
from steinglm.init import INITIALIZERS
from steinglm.settings import MAX_NETWORKS, MAX_SEED, Experiment

HUGE = 10**400  # JSON may hold it, a float cannot
BAD: dict[str, tuple[str, list[Any]]] = {  # setting -> the start of the message, values
    "dataset": (
        "data set must be a known name",
        ["", "iris", None, 3, ["abalone"], "Abalone"],
    ),
    "depth": ("depth must be 1..200", [0, -1, 201, 10**9, HUGE, 2.0, "10", None, True, math.nan, [10]]),
    "width": ("width must be 1..1000", [0, 1001, HUGE, 2.5, "8", True]),
    "activation": (
        "activation must be one of tanh, sigmoid, relu",
        ["", "softmax", None, 1, ["tanh"], "Tanh"],
    ),
    "alpha": (
        "alpha must be a positive number up to 1e+06",
        [0, 0.0, -1, math.nan, math.inf, -math.inf, 1.1e6, HUGE, "default", "1", "", True, [1.0]],
    ),
    "score": (
        "score must be one of identity, centered, standardized, gaussian, ",
        ["", "third", None, 2, ["identity"]],
    ),
    "methods": (
        "methods must be ",
        [
            (),
            [],
            ("steinglm", "lecun"),
            ("steinglm", "steinglm"),
            None,
            5,
            "lecun",
            ("",),
            [["steinglm"]],
            {},
        ],
    ),
    "calibrate": ("calibrate must be True or False", [0, 1, None, "True", [True]]),
    "output": ("output must be one of paper, glm, own", ["", "stein", None, 0, ["glm"]]),
    "epochs": ("epochs must be 1..10000", [0, -5, 10_001, HUGE, 1.0, "200", None, True]),
    "batch_size": ("batch_size must be 1..100000", [0, 100_001, HUGE, 32.0, "32", True]),
    "learning_rate": (
        "learning_rate must be a positive number up to 10",
        [0, -1e-3, math.nan, math.inf, 10.5, HUGE, "0.001", None, True, [1e-3]],
    ),
    "repeats": ("repeats must be 1..50", [0, 51, HUGE, 1.0, "3", None, True]),
    "seed": (f"seed must be 0..{MAX_SEED}", [-1, MAX_SEED + 1, HUGE, 0.0, "0", None, True]),
    "target_loss": ("target_loss must be a positive number", [0, -1, math.nan, math.inf, HUGE, "0.1", True]),
    "patience": ("patience must be 1..10000", [0, -1, 10_001, HUGE, 1.5, "3", True]),
    "time_budget": ("time_budget must be a positive number", [0, -1, math.nan, math.inf, HUGE, "60", True]),
    "rows": ("rows must be 10..", [0, 9, 10**10, 20.0, "20", True]),
}
CASES = [
    pytest.param(name, value, start, id=f"{name}-{str(value)[:20]}")
    for name, (start, values) in BAD.items()
    for value in values
]
VARIED: dict[str, Any] = {  # for each setting, a good value that is not the default
    "dataset": "magic", "depth": 3, "width": 7, "activation": "relu", "alpha": "auto", "score": "identity",
    "calibrate": False, "methods": ("orthogonal", "steinglm"), "output": "own", "epochs": 5, "batch_size": 32,
    "learning_rate": 0.01, "repeats": 4, "seed": 9, "target_loss": 0.5, "patience": 6, "time_budget": 60.0, "rows": 200,
}  # fmt: skip


@pytest.mark.parametrize(("name", "value", "start"), CASES)
def test_a_bad_value_is_refused(name: str, value: Any, start: str) -> None:
    """Whoever forges it: a caller, a link, a widget."""
    with pytest.raises(InvalidInputError) as direct:
        Experiment(**{name: value})
    with pytest.raises(InvalidInputError) as read:
        Experiment.from_dict({name: value})
    message = str(direct.value)
    assert message.startswith(start)
    assert "got " in message
    assert direct.value.cure
    assert message.endswith(f"; {direct.value.cure}")
    assert len(message) < 1000
    assert "\n" not in message
    assert message == str(read.value)
    assert isinstance(direct.value, ValueError)


def test_every_setting_is_tried() -> None:
    names = {field.name for field in fields(Experiment)}
    assert names == set(BAD) == set(VARIED)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"depth": 0}, "depth must be 1..200, got 0; one hidden layer is the smallest network"),
        ({"alpha": -2}, "got -2; 1 suits tanh, 4 sigmoid; None is 1 / f'(0), 'auto' holds the variance at 1"),
        ({"dataset": "abalon"}, "got abalon; did you mean 'abalone'?"),
        ({"activation": "tahn"}, "got tahn; did you mean 'tanh'?"),
        ({"methods": ("stein_glm",)}, "got stein_glm; did you mean 'steinglm'?"),
        (
            {"methods": ()},
            f"one or more of {', '.join(INITIALIZERS)}, got none; choose at least one",
        ),
        (
            {"methods": ("orthogonal",) * 2},
            "different from one another, got ('orthogonal', 'orthogonal'); name each",
        ),
    ],
)
def test_messages_say_what_to_do(bad: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        Experiment(**bad)
    assert message in str(caught.value)


def test_too_many_networks_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(Experiment().methods) * 50 <= MAX_NETWORKS
    monkeypatch.setattr(settings, "MAX_NETWORKS", 7)
    with pytest.raises(
        InvalidInputError, match="methods x repeats must be 7 or fewer, got 4 methods x 2 repeats; ask"
    ):
        Experiment(repeats=2)


@pytest.mark.parametrize("name", VARIED)
def test_a_good_value_is_kept_and_makes_another_key(name: str) -> None:
    default, varied = Experiment(), Experiment(**{name: VARIED[name]})
    assert getattr(varied, name) == VARIED[name]
    assert varied != default
    assert varied.key != default.key
    assert hash(varied) == hash(Experiment(**{name: VARIED[name]}))


@pytest.mark.parametrize(
    "good",
    [{"depth": 1}, {"depth": 200}, {"alpha": 1e6}, {"alpha": 5e-324}, {"seed": MAX_SEED}, {"repeats": 50}],
)
def test_the_ends_of_a_range_belong_to_it(good: dict[str, Any]) -> None:
    assert Experiment(**good).as_dict() == Experiment().as_dict() | good


@pytest.mark.parametrize("settings", [{}, VARIED, {"alpha": 0.1 + 0.2}, {"methods": ("he_normal",)}])
def test_a_round_trip_through_json_changes_nothing(settings: dict[str, Any]) -> None:
    experiment = Experiment(**settings)
    back = Experiment.from_dict(json.loads(json.dumps(experiment.as_dict(), allow_nan=False)))
    assert back == experiment
    assert back.key == experiment.key
    assert hash(back) == hash(experiment)
    assert all(
        type(value) in (bool, int, float, str, list, type(None)) for value in experiment.as_dict().values()
    )


@settings_of(deadline=None)
@given(
    depth=st.integers(1, 200),
    alpha=st.none() | st.just("auto") | st.floats(1e-300, 1e6),
    rate=st.floats(1e-12, 10),
    seed=st.integers(0, MAX_SEED),
)
def test_any_experiment_survives_json(depth: int, alpha: float | str | None, rate: float, seed: int) -> None:
    experiment = Experiment(depth=depth, alpha=alpha, learning_rate=rate, seed=seed)
    assert Experiment.from_dict(json.loads(json.dumps(experiment.as_dict()))) == experiment


def test_a_key_is_sixteen_hexadecimal_digits_and_stable() -> None:
    key = Experiment().key
    assert len(key) == 16
    int(key, 16)
    assert key == Experiment().key == Experiment.from_dict({}).key


def test_equal_numbers_are_one_experiment() -> None:
    whole = Experiment(alpha=1, learning_rate=1, target_loss=2, time_budget=3, methods=["steinglm"])  # type: ignore[arg-type]
    real = Experiment(alpha=1.0, learning_rate=1.0, target_loss=2.0, time_budget=3.0, methods=("steinglm",))
    assert whole == real
    assert whole.key == real.key


def test_a_numpy_float_is_a_number() -> None:
    experiment = Experiment(alpha=np.float64(2))
    assert type(experiment.alpha) is float
    json.dumps(experiment.as_dict())


def test_another_version_of_the_library_makes_another_key(monkeypatch: pytest.MonkeyPatch) -> None:
    before = Experiment().key
    monkeypatch.setattr(settings, "__version__", "999")
    assert Experiment().key != before


def test_the_order_of_methods_is_kept() -> None:
    methods = ("orthogonal", "steinglm")
    assert Experiment(methods=methods).methods == methods
    assert Experiment(methods=methods).key != Experiment(methods=methods[::-1]).key


def test_an_unknown_setting_is_refused() -> None:
    with pytest.raises(
        InvalidInputError, match=r"setting must be one of dataset, .*, got dept; did you mean 'depth'"
    ):
        Experiment.from_dict({"dept": 3})


@pytest.mark.parametrize("value", [None, 3, "depth", [1], [["depth", 3]]])
def test_settings_that_are_no_dict_are_refused(value: Any) -> None:
    with pytest.raises(InvalidInputError):
        Experiment.from_dict(value)


def test_an_experiment_is_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        Experiment().depth = 3  # type: ignore[misc]
    with pytest.raises(InvalidInputError):
        replace(Experiment(), depth=0)


@pytest.mark.parametrize(
    ("features", "width", "units"), [(8, None, 8), (57, None, 20), (8, 30, 30), (1, None, 1)]
)
def test_units_are_the_papers_or_as_asked(features: int, width: int | None, units: int) -> None:
    assert Experiment(width=width).units(features) == units


@pytest.mark.parametrize(
    ("rows", "batch_size", "size"),
    [(100, None, 20), (10_000, None, 500), (3, None, 1), (100, 64, 64), (10, 64, 64)],
)
def test_batches_are_the_papers_or_as_asked(rows: int, batch_size: int | None, size: int) -> None:
    assert Experiment(batch_size=batch_size).batch_rows(rows) == size

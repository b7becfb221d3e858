"""The sentences say what the rows say."""

import pandas as pd
import pytest

from steinglm.dashboard import words
from steinglm.settings import Experiment


def layers(**variances: list[float]) -> pd.DataFrame:
    rows = [
        (method, 0, layer, "preactivation_variance", 0, value)
        for method, values in variances.items()
        for layer, value in enumerate(values, start=1)
    ]
    losses = [
        (method, 0, 0, "training_loss", 0, 0.1 if method == "steinglm" else 0.5) for method in variances
    ]
    return pd.DataFrame(rows + losses, columns=["method", "repeat", "layer", "quantity", "rank", "value"])


def test_the_largest_change_is_named_first_and_steinglm_beside_it() -> None:
    rows = layers(steinglm=[1, 0.02], glorot_normal=[0.93, 0.0007], he_normal=[1.8, 1.7])
    said = words.signal(rows)
    lead = "Glorot normal's pre-activation variance falls from 0.93 to 0.0007 by layer 2"
    assert said == f"{lead}; SteinGLM's falls from 1 to 0.02."


def test_a_signal_that_dies_altogether_is_a_fall() -> None:
    assert "falls from 1 to 0 by layer 2" in words.signal(layers(steinglm=[1, 1], orthogonal=[1, 0]))


def test_what_rounding_alone_makes_is_not_told_as_a_number() -> None:
    said = words.signal(layers(steinglm=[1, 1], orthogonal=[1, 3e-29]))
    assert "falls from 1 to less than 10⁻²⁶ by layer 2" in said


def test_one_method_is_not_compared_with_itself() -> None:
    said = words.headline(layers(steinglm=[1, 1]), Experiment(depth=2, methods=("steinglm",)), "Abalone")
    assert said.endswith("the loss is 0.1 before training.")
    rows = [("steinglm", 0, 1, "validation_loss", 0.2)]
    history = pd.DataFrame(rows, columns=["method", "repeat", "epoch", "quantity", "value"])
    assert words.learning(history) == "In 1 epoch the validation loss came down to 0.2."


@pytest.mark.parametrize(
    ("methods", "told"), [(("steinglm", "pca"), True), (("orthogonal",), False)], ids=["SteinGLM", "without"]
)
def test_the_headline_names_a_score_that_is_not_the_default(methods: tuple[str, ...], told: bool) -> None:
    chosen = Experiment(depth=2, score="mixture", methods=methods)
    said = words.headline(layers(**{method: [1, 1] for method in methods}), chosen, "Abalone")
    assert ("SteinGLM by the score mixture" in said) == told


def test_what_one_waits_for() -> None:
    assert words.waiting(Experiment(repeats=3), "Adult") == "Initializing 12 networks on Adult ..."


def test_one_layer_has_no_change() -> None:
    assert (
        words.signal(layers(steinglm=[1.0]))
        == "The pre-activation variance in the only hidden layer: SteinGLM 1."
    )


def test_the_headline_groups_the_methods_by_what_their_signal_does() -> None:
    said = words.headline(
        layers(steinglm=[1, 1], glorot_normal=[1, 0.1], he_normal=[1, 9]), Experiment(depth=2), "Abalone"
    )
    assert said == (
        "On Abalone, 2 layers of tanh: the signal of SteinGLM holds, that of Glorot normal fades, that of He "
        "normal grows; "
        "SteinGLM starts at the lowest loss, 0.1."
    )


def test_the_best_validation_loss_wins() -> None:
    losses = [("steinglm", 1, 0.2), ("steinglm", 2, 0.3), ("he_normal", 2, 0.25)]
    rows = [(method, 0, epoch, "validation_loss", value) for method, epoch, value in losses]
    history = pd.DataFrame(rows, columns=["method", "repeat", "epoch", "quantity", "value"])
    lead = "In 2 epochs SteinGLM came to the lowest validation loss, 0.2"
    assert words.learning(history) == f"{lead}; behind it He normal 0.25."


NUMBERS = {
    0.0: "0",
    0.00009: "9\u00a0×\u00a010⁻⁵",
    0.0123: "0.012",
    1.0: "1",
    99.6: "100",
    123456.0: "1.2\u00a0×\u00a010⁵",
    -0.5: "−0.5",
}


@pytest.mark.parametrize(("value", "text"), NUMBERS.items())
def test_numbers_have_two_digits(value: float, text: str) -> None:
    assert words.number(value) == text


def test_a_signal_that_is_lost_is_told_from_one_that_only_fades() -> None:
    said = words.headline(
        layers(steinglm=[16, 0.07], glorot_normal=[1, 1e-20], he_normal=[1, 1e9]),
        Experiment(depth=2),
        "Abalone",
    )
    assert "of SteinGLM fades, that of Glorot normal vanishes, that of He normal explodes" in said


def test_the_recovery_is_said_for_the_last_layer() -> None:
    rows = layers(steinglm=[1, 0.98], he_normal=[0.9, 0.31])
    rows["quantity"] = rows["quantity"].replace("preactivation_variance", "direction_recovery")
    said = words.signal(rows, "direction_recovery")
    assert (
        said
        == "A linear fit on layer 2 still reads the true indices with an R² of: SteinGLM 0.98 and He normal 0.31."
    )


def test_the_headline_of_true_directions_names_who_keeps_them_best_and_worst() -> None:
    rows = layers(steinglm=[1, 0.97], glorot_normal=[0.9, 0.4], he_normal=[0.8, 0.1])
    rows["quantity"] = rows["quantity"].replace("preactivation_variance", "direction_recovery")
    said = words.headline(rows, Experiment(depth=2), "a model", "direction_recovery")
    lead = "On a model, 2 layers of tanh: SteinGLM keeps the true directions best (R² 0.97 in layer 2)"
    assert said == f"{lead}, He normal worst (0.1)."


def test_gradients_are_told_on_their_way_back() -> None:
    rows = layers(steinglm=[1e-5, 1e-4], orthogonal=[1e-20, 1e-4])
    rows["quantity"] = rows["quantity"].replace("preactivation_variance", "gradient_variance")
    said = words.signal(rows, "gradient_variance")
    lead = "Orthogonal's gradient variance falls from 0.0001 to 10⁻²⁰ by layer 1"
    assert said == f"{lead}; SteinGLM's falls from 0.0001 to 10⁻⁵."

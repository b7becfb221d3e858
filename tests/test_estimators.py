"""The estimators under scikit-learn's own checks, in its pipelines, searches and files, and against the trainer."""

import copy
import io
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_digits, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler, scale
from sklearn.utils.estimator_checks import parametrize_with_checks

from steinglm.estimators import SteinGLMClassifier, SteinGLMRegressor
from steinglm.exceptions import InitializationWarning, InvalidInputError
from steinglm.init import FITTED, INITIALIZERS
from steinglm.mlp import ACTIVATIONS
from steinglm.reports import InitReport
from tests import reference

Array = np.ndarray
SHORT: dict[str, Any] = {"hidden_layer_sizes": (6, 6), "max_epochs": 10, "random_state": 0}
X_WINE, Y_WINE = load_wine(return_X_y=True)
X_WINE = scale(X_WINE)
X_SUGAR, Y_SUGAR = load_diabetes(return_X_y=True, scaled=False)
X_SUGAR = scale(X_SUGAR)
TWO = Y_WINE < 2  # the rows of two classes
BOTH = [SteinGLMClassifier, SteinGLMRegressor]


def fitted(estimator: Any) -> Any:
    """On wine, or on diabetes."""
    data = (X_WINE, Y_WINE) if isinstance(estimator, SteinGLMClassifier) else (X_SUGAR, Y_SUGAR)
    return estimator.fit(*data)


def outputs(estimator: Any) -> Array:
    classifies = isinstance(estimator, SteinGLMClassifier)
    return estimator.predict_proba(X_WINE) if classifies else estimator.predict(X_SUGAR)


# Some of the checks have six rows, from which SteinGLM cannot learn; it says so.
@pytest.mark.filterwarnings("ignore::steinglm.exceptions.InitializationWarning")
@parametrize_with_checks([kind(hidden_layer_sizes=(8,), max_epochs=10) for kind in BOTH])
def test_scikit_learns_checks(estimator: Any, check: Any) -> None:
    """All of them; none is expected to fail."""
    check(estimator)


# -- in scikit-learn's company -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", BOTH)
def test_a_search_over_alpha_and_depth(kind: type) -> None:
    pipeline = Pipeline([("scale", StandardScaler()), ("net", kind(max_epochs=3, random_state=0))])
    grid = {"net__alpha": np.array([0.5, 1.0]), "net__hidden_layer_sizes": [(4,), (4, 4, 4)]}
    data = (X_WINE, Y_WINE) if kind is SteinGLMClassifier else (X_SUGAR, Y_SUGAR)
    search = GridSearchCV(pipeline, grid, cv=2).fit(*data)
    assert len(set(search.cv_results_["mean_test_score"])) > 1
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    report = search.best_estimator_["net"].init_report_
    chosen = search.best_params_
    assert isinstance(report, InitReport)
    assert [layer.rule for layer in report.layers[:-1]] == ["stein"] * len(chosen["net__hidden_layer_sizes"])
    assert {layer.alpha for layer in report.layers[:-1]} == {chosen["net__alpha"]}


@pytest.mark.parametrize("kind", BOTH)
def test_a_clone_has_the_options_and_nothing_learnt(kind: type) -> None:
    estimator = fitted(kind(**SHORT, activation="elu", alpha="auto", score_function="gaussian"))
    twin = clone(estimator)
    assert twin.get_params() == estimator.get_params()
    with pytest.raises(NotFittedError):
        twin.predict(X_WINE)
    assert np.array_equal(outputs(fitted(twin)), outputs(estimator))


@pytest.mark.parametrize("kind", BOTH)
def test_a_file_gives_the_very_same_predictions_and_goes_on_training_alike(kind: type) -> None:
    estimator = fitted(kind(**SHORT))
    file = io.BytesIO()
    joblib.dump(estimator, file)
    file.seek(0)
    read = joblib.load(file)
    assert np.array_equal(outputs(read), outputs(estimator))
    assert str(read.init_report_) == str(estimator.init_report_)
    data = (X_WINE, Y_WINE) if kind is SteinGLMClassifier else (X_SUGAR, Y_SUGAR)
    assert np.array_equal(outputs(read.partial_fit(*data)), outputs(estimator.partial_fit(*data)))


def test_data_frames_keep_their_names() -> None:
    X, y = load_wine(return_X_y=True, as_frame=True)
    labels = y.map({0: "barolo", 1: "grignolino", 2: "barbera"})
    pipeline = make_pipeline(StandardScaler(), SteinGLMClassifier(**SHORT)).set_output(transform="pandas")
    pipeline.fit(X, labels)
    network = pipeline[-1]
    assert list(network.feature_names_in_) == list(X.columns)
    assert list(network.classes_) == ["barbera", "barolo", "grignolino"]
    assert pipeline.score(X, labels) > 0.95
    assert np.allclose(network.predict_proba(pipeline[:-1].transform(X)).sum(1), 1)
    with pytest.raises(ValueError, match="feature names"):
        network.predict(pipeline[:-1].transform(X).rename(columns={"alcohol": "spirit"}))


def test_a_data_frame_of_responses() -> None:
    Y = pd.DataFrame({"first": Y_SUGAR, "second": -Y_SUGAR})
    assert SteinGLMRegressor(**SHORT).fit(X_SUGAR, Y).predict(X_SUGAR).shape == Y.shape


# -- what is learnt ------------------------------------------------------------------------------------------------


def test_digits_are_told_apart() -> None:
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X / 16, y, random_state=0)
    classifier = SteinGLMClassifier((32,), max_epochs=20, learning_rate=0.01, random_state=0)
    assert classifier.fit(X_train, y_train).score(X_test, y_test) > 0.95


def test_two_classes_have_one_logit() -> None:
    X, y = X_WINE[TWO], np.where(Y_WINE[TWO] == 0, "no", "yes")
    classifier = SteinGLMClassifier(**SHORT).fit(X, y)
    assert classifier.n_outputs_ == 1
    assert classifier.score(X, y) > 0.95
    probabilities = classifier.predict_proba(X)
    assert probabilities.shape == (len(X), 2)
    with torch.no_grad():
        logits = classifier.model_(torch.tensor(X, dtype=torch.float32)).numpy()[:, 0]
    assert np.allclose(probabilities[:, 1], 1 / (1 + np.exp(-logits)), atol=1e-5)


def test_several_responses_in_their_own_units() -> None:
    """A response on a scale of millions beside a product and a constant: each is predicted in its units."""
    X = np.random.default_rng(0).normal(size=(300, 4))
    Y = np.column_stack([1e7 + 1e6 * X[:, 0], X[:, 1] * X[:, 2], np.full(300, 0.1)])
    regressor = SteinGLMRegressor((16,), max_epochs=60, learning_rate=0.01, random_state=0).fit(X, Y)
    predicted = regressor.predict(X)
    assert predicted.shape == Y.shape
    unexplained = ((Y - predicted) ** 2).mean(0)[:2] / Y.var(0)[:2]
    assert (unexplained < 0.2).all()
    assert np.allclose(predicted[:, 2], 0.1, atol=0.1)


def test_a_shift_and_scale_of_y_only_shifts_and_scales_the_predictions() -> None:
    one, other = SteinGLMRegressor(**SHORT), SteinGLMRegressor(**SHORT)
    first = one.fit(X_SUGAR, Y_SUGAR).predict(X_SUGAR)
    second = other.fit(X_SUGAR, 1024 * Y_SUGAR - 4096).predict(X_SUGAR)
    assert np.allclose(second, 1024 * first - 4096, rtol=1e-4)
    assert np.allclose(one.loss_curve_, other.loss_curve_, rtol=1e-5)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_every_activation(activation: str) -> None:
    classifier = SteinGLMClassifier((13, 13), activation, max_epochs=20, random_state=0)
    assert classifier.fit(X_WINE, Y_WINE).score(X_WINE, Y_WINE) > 0.9


@pytest.mark.parametrize("method", INITIALIZERS)
def test_every_initializer_and_no_training(method: str) -> None:
    """With no epochs the network is as the initializer leaves it: the baselines' know nothing yet."""
    classifier = SteinGLMClassifier((6, 6), init=method, max_epochs=0, random_state=0).fit(X_WINE, Y_WINE)
    rules = [layer.rule for layer in classifier.init_report_.layers]
    hidden = "stein" if method == "steinglm" else method
    assert rules == [hidden, hidden, "glm" if method in FITTED else hidden]
    assert (classifier.loss_curve_, classifier.n_iter_) == ([], 0)
    assert (classifier.score(X_WINE, Y_WINE) > 0.9) == (method in FITTED)


@pytest.mark.parametrize(("sizes", "layers"), [((), 1), (5, 2), ([5, 3], 3), (np.array([5, 3]), 3)])
def test_forms_of_the_hidden_layers(sizes: Any, layers: int) -> None:
    classifier = SteinGLMClassifier(sizes, max_epochs=2, random_state=0).fit(X_WINE, Y_WINE)
    assert len(classifier.init_report_.layers) == layers
    assert classifier.score(X_WINE, Y_WINE) > 0.9


@pytest.mark.parametrize("kind", BOTH)
def test_the_network_is_the_one_that_predicts(kind: type) -> None:
    estimator = fitted(kind(**SHORT))
    X = torch.tensor(X_WINE if kind is SteinGLMClassifier else X_SUGAR, dtype=torch.float32)
    with torch.no_grad():
        z = estimator.model_(X)
    if kind is SteinGLMClassifier:
        expected = z.softmax(1).numpy()
    else:
        expected = z[:, 0].numpy() * estimator.y_scale_ + estimator.y_mean_
    assert np.allclose(outputs(estimator), expected, rtol=1e-4, atol=1e-5)


# -- losses, epochs, stopping --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", BOTH)
def test_the_loss_of_each_epoch_is_kept(kind: type) -> None:
    estimator = fitted(kind(**SHORT))
    assert len(estimator.loss_curve_) == estimator.n_iter_ == SHORT["max_epochs"]
    assert estimator.loss_curve_[-1] < estimator.loss_curve_[0]
    assert estimator.validation_loss_curve_ == []


def test_the_training_stops_when_its_loss_falls_no_more() -> None:
    options = SHORT | {"max_epochs": 500, "learning_rate": 0.5, "n_iter_no_change": np.int64(3)}
    regressor = fitted(SteinGLMRegressor(**options))
    assert regressor.n_iter_ < 500
    error = ((regressor.predict(X_SUGAR) - Y_SUGAR) ** 2).mean() / Y_SUGAR.var()
    assert error == pytest.approx(
        regressor.best_loss_, rel=1e-4
    )  # on all rows; steps this long lose the best again


@pytest.mark.parametrize("kind", BOTH)
def test_early_stopping_keeps_the_best_on_rows_held_out(kind: type) -> None:
    options = SHORT | {"max_epochs": 300, "learning_rate": 0.05}
    estimator = fitted(kind(**options, early_stopping=True, validation_fraction=0.25, n_iter_no_change=4))
    curve = estimator.validation_loss_curve_
    assert len(curve) == len(estimator.loss_curve_) == estimator.n_iter_ < 300
    assert estimator.best_loss_ <= min(curve)
    assert min(curve) < curve[-1]


@pytest.mark.parametrize("early_stopping", [False, True])
def test_verbose_prints_an_epoch_a_line(early_stopping: bool, capsys: pytest.CaptureFixture[str]) -> None:
    classifier = SteinGLMClassifier((4,), max_epochs=3, early_stopping=early_stopping, random_state=0)
    classifier.fit(X_WINE, Y_WINE)
    assert capsys.readouterr().out == ""
    classifier.set_params(verbose=True).fit(X_WINE, Y_WINE)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(",")[0] for line in lines] == ["epoch 1", "epoch 2", "epoch 3"]
    assert f"loss {classifier.loss_curve_[-1]:.8f}" in lines[-1]
    assert all(("validation loss" in line) == early_stopping for line in lines)


# -- randomness ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("early_stopping", [False, True])
@pytest.mark.parametrize("kind", BOTH)
def test_a_seed_gives_one_network_and_touches_no_global_stream(kind: type, early_stopping: bool) -> None:
    options = SHORT | {"early_stopping": early_stopping}
    with reference.random_streams_untouched():
        first = outputs(fitted(kind(**options)))
        assert np.array_equal(outputs(fitted(kind(**options))), first)
        assert not np.array_equal(outputs(fitted(kind(**options | {"random_state": 1}))), first)


def test_random_state_may_be_a_stream_that_goes_on() -> None:
    options = SHORT | {"max_epochs": 2}

    def two(seed: int) -> list[Array]:
        stream = np.random.RandomState(seed)
        return [outputs(fitted(SteinGLMClassifier(**options | {"random_state": stream}))) for _ in range(2)]

    assert np.array_equal(two(0), two(0))
    assert not np.array_equal(*two(0))


def test_without_a_seed_each_fit_is_another() -> None:
    classifier = SteinGLMClassifier((4,), max_epochs=1)
    first = classifier.fit(X_WINE, Y_WINE).predict_proba(X_WINE)
    assert not np.array_equal(classifier.fit(X_WINE, Y_WINE).predict_proba(X_WINE), first)


# -- partial_fit ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", BOTH)
def test_calls_of_partial_fit_are_the_epochs_of_fit(kind: type) -> None:
    """The same rows each time: the same initialization, mini-batches and losses, bit for bit."""
    data = (X_WINE, Y_WINE) if kind is SteinGLMClassifier else (X_SUGAR, Y_SUGAR)
    whole = kind(**SHORT).fit(*data)
    parts = kind(**SHORT)
    if kind is SteinGLMClassifier:
        parts.partial_fit(*data, classes=[2, 1, 0])
    while parts.__dict__.get("n_iter_", 0) < SHORT["max_epochs"]:
        assert parts.partial_fit(*data) is parts
    assert parts.loss_curve_ == whole.loss_curve_
    assert parts.loss_curve_ == sorted(parts.loss_curve_, reverse=True)
    assert np.array_equal(outputs(parts), outputs(whole))


def test_partial_fit_goes_on_where_fit_ended() -> None:
    long = SteinGLMRegressor(**SHORT | {"max_epochs": 12}).fit(X_SUGAR, Y_SUGAR)
    short = SteinGLMRegressor(**SHORT).fit(X_SUGAR, Y_SUGAR)
    short.partial_fit(X_SUGAR, Y_SUGAR).partial_fit(X_SUGAR, Y_SUGAR)
    assert short.loss_curve_ == long.loss_curve_


def test_pieces_of_the_rows_lower_the_loss() -> None:
    classifier = SteinGLMClassifier((8,), learning_rate=0.01, batch_size=20, init="he_normal", random_state=0)
    order = np.random.default_rng(0).permutation(len(X_WINE))
    for _ in range(5):
        for rows in np.array_split(order, 4):
            classifier.partial_fit(X_WINE[rows], Y_WINE[rows], classes=[0, 1, 2])
    assert classifier.n_iter_ == 20
    assert np.mean(classifier.loss_curve_[-4:]) < 0.5 * np.mean(classifier.loss_curve_[:4])
    assert classifier.score(X_WINE, Y_WINE) > 0.9


def test_what_partial_fit_refuses() -> None:
    classifier = SteinGLMClassifier(**SHORT)
    with pytest.raises(InvalidInputError, match="classes must be given in the first call of partial_fit"):
        classifier.partial_fit(X_WINE, Y_WINE)
    classifier.partial_fit(X_WINE, Y_WINE, classes=[0, 1, 2])
    with pytest.raises(InvalidInputError, match=r"classes must be \[0 1 2\], got \[0 1\]"):
        classifier.partial_fit(X_WINE, Y_WINE, classes=[0, 1])
    with pytest.raises(InvalidInputError, match=r"y must be of the classes \[0 1 2\], got \[7\]"):
        classifier.partial_fit(X_WINE, np.where(Y_WINE == 1, 7, Y_WINE))
    with pytest.raises(InvalidInputError, match="early_stopping must be False in partial_fit"):
        classifier.set_params(early_stopping=True).partial_fit(X_WINE, Y_WINE)
    regressor = SteinGLMRegressor(**SHORT).partial_fit(X_SUGAR, Y_SUGAR)
    with pytest.raises(InvalidInputError, match="y must be of 1 responses, as in the first call, got 2"):
        regressor.partial_fit(X_SUGAR, np.column_stack([Y_SUGAR, Y_SUGAR]))


# -- data that will not do -----------------------------------------------------------------------------------------


def rules(estimator: Any) -> set[str]:
    return {layer.rule for layer in estimator.init_report_.layers}


def test_too_few_rows_are_said_to_be_too_few() -> None:
    classifier = SteinGLMClassifier(**SHORT | {"max_epochs": 200, "learning_rate": 0.05})
    with pytest.warns(InitializationWarning, match="X must be 10 rows or more, got 6 rows") as caught:
        classifier.fit(X_WINE[57:63], Y_WINE[57:63])
    assert caught[0].filename == __file__
    assert rules(classifier) == {"orthogonal"}
    assert classifier.score(X_WINE[57:63], Y_WINE[57:63]) == 1


def test_a_constant_response_is_learnt_by_training_alone() -> None:
    regressor = SteinGLMRegressor(**SHORT | {"max_epochs": 200})
    with pytest.warns(InitializationWarning, match="y must be a response that varies"):
        regressor.fit(X_SUGAR, np.full(len(X_SUGAR), 1e6))
    assert rules(regressor) == {"orthogonal"}
    assert np.allclose(regressor.predict(X_SUGAR), 1e6, atol=0.5)


def test_a_first_piece_without_a_class_does_not_initialize_from_data() -> None:
    classifier = SteinGLMClassifier(**SHORT)
    with pytest.warns(InitializationWarning, match="y must be of each of the 3 classes, got none of 2"):
        classifier.partial_fit(X_WINE[TWO], Y_WINE[TWO], classes=[0, 1, 2])
    assert rules(classifier) == {"orthogonal"}
    assert classifier.partial_fit(X_WINE, Y_WINE).predict_proba(X_WINE).shape == (len(X_WINE), 3)


def test_one_class_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="y must be of two classes or more, got one class"):
        SteinGLMClassifier(**SHORT).fit(X_WINE, np.zeros(len(X_WINE)))
    with pytest.raises(InvalidInputError, match="classes must be of two classes or more, got none"):
        SteinGLMClassifier(**SHORT).partial_fit(X_WINE, Y_WINE, classes=[])


def test_a_loss_that_is_not_finite_is_refused_and_leaves_the_estimator_unfitted() -> None:
    regressor = SteinGLMRegressor((), max_epochs=1, init="he_normal", random_state=0)
    with pytest.raises(InvalidInputError, match=r"X must be on the scale .* standardize the columns of X"):
        regressor.fit(1e30 * X_SUGAR, Y_SUGAR)
    with pytest.raises(NotFittedError):
        regressor.predict(X_SUGAR)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"hidden_layer_sizes": (4, 0)}, "hidden_layer_sizes must be 1..1000000000, got 0; (32, 32) is two"),
        ({"hidden_layer_sizes": "4"}, "hidden_layer_sizes must be 1..1000000000, got 4"),
        ({"hidden_layer_sizes": 2.5}, "hidden_layer_sizes must be 1..1000000000, got 2.5"),
        ({"activation": "logistic"}, "activation must be one of tanh, sigmoid"),
        ({"alpha": 0}, "alpha must be a positive number, 'auto' or None, got 0"),
        ({"score_function": "gausian"}, "did you mean 'gaussian'?"),
        ({"calibrate": "no"}, "calibrate must be True or False, got no; False leaves the biases at zero"),
        (
            {"init": "zeros"},
            f"init must be one of {', '.join(INITIALIZERS)}, got zeros",
        ),
        ({"max_epochs": -1}, "max_epochs must be 0..1000000000, got -1; 0 initializes and does not train"),
        (
            {"batch_size": "auto"},
            "batch_size must be 1..1000000000, got auto; None takes a fifth of the rows",
        ),
        ({"learning_rate": -1e-3}, "learning_rate must be a positive number up to 10, got -0.001"),
        (
            {"early_stopping": True, "validation_fraction": 1.0},
            "validation_fraction must be a positive number",
        ),
        ({"n_iter_no_change": 0}, "n_iter_no_change must be 1..1000000000, got 0"),
    ],
)
@pytest.mark.parametrize("kind", BOTH)
def test_bad_options_are_refused(kind: type, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        fitted(kind(**options))
    assert message in str(caught.value)


def test_a_copy_trains_apart() -> None:
    estimator = fitted(SteinGLMRegressor(**SHORT))
    before = outputs(estimator)
    copy.deepcopy(estimator).partial_fit(X_SUGAR, Y_SUGAR)
    assert np.array_equal(outputs(estimator), before)

"""SteinGLM as scikit-learn estimators: a multi-layer perceptron that is initialized from its data and trained by Adam.

`SteinGLMClassifier` and `SteinGLMRegressor` have the manners of scikit-learn's MLPClassifier and MLPRegressor and stand
where these do: in a pipeline, under a grid search, in a file. The network is built by `mlp`, initialized by `init` and
trained by `train`, in float32; its predictions are computed in float64.
"""

import warnings
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data
from torch import Tensor, nn

from steinglm import train
from steinglm.checks import check_alpha, check_choice, check_flag, check_positive, check_whole
from steinglm.exceptions import InitializationWarning, InvalidInputError
from steinglm.init import INITIALIZERS, OPTIONS, options_of, orthogonal_
from steinglm.mlp import ACTIVATIONS, Stack, perceptron, stack, unstack
from steinglm.reports import InitReport
from steinglm.responses import responses
from steinglm.stein import SCORES

__all__ = ["SteinGLMClassifier", "SteinGLMRegressor"]

Data = tuple[np.ndarray, np.ndarray]  # X (n, d), and y (n,) codes of classes or (n, C) standardized responses
MAX_SEED = 2**31 - 1
MOST = 10**9


class _SteinGLM(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """What both share: the options, and a network that is fitted to responses which are numbers already."""

    def __init__(
        self,
        hidden_layer_sizes: int | Sequence[int] = (32, 32),
        activation: str = "tanh",
        *,
        alpha: float | str | None = None,
        score_function: str = "standardized",
        calibrate: bool = True,
        init: str = "steinglm",
        max_epochs: int = 200,
        batch_size: int | None = None,
        learning_rate: float = 1e-3,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.alpha = alpha
        self.score_function = score_function
        self.calibrate = calibrate
        self.init = init
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.random_state = random_state
        self.verbose = verbose

    def _fit(self, X: np.ndarray, y: np.ndarray, task: str, units: int) -> Self:
        random = check_random_state(self.random_state)
        self._generator = _generator(random)
        held = None
        if self.early_stopping:
            stratify = None if task == "regression" else y
            X, X_held, y, y_held = train_test_split(
                X, y, test_size=self.validation_fraction, random_state=random, stratify=stratify
            )
            held = X_held, y_held
        model = self._initialize((X, y), held, task, units)
        stop = train.StopRules(patience=int(self.n_iter_no_change))
        _, trained = self._train(model, (X, y), held, int(self.max_epochs), stop)
        self.model_ = unstack(trained.best)[0]
        self.best_loss_ = float(trained.best_loss)
        return self

    def _partial_fit(self, X: np.ndarray, y: np.ndarray, task: str, units: int) -> Self:
        if self.__sklearn_is_fitted__():
            model = self.model_
        else:
            self._generator = _generator(check_random_state(self.random_state))
            model = self._initialize((X, y), None, task, units)
        networks, _ = self._train(model, (X, y), None, 1, train.StopRules())
        self.model_ = unstack(networks)[0]
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def _initialize(self, data: Data, held: Data | None, task: str, units: int) -> nn.Sequential:
        """A network that is initialized from the data; what was learnt before is forgotten."""
        self._task, self.n_outputs_ = task, units
        sizes = [data[0].shape[1], *_widths(self.hidden_layer_sizes), units]
        model = perceptron(sizes, self.activation, torch.float64)
        self.init_report_ = self._initialize_layers_(model, data, held)
        self._memory: dict[str, Tensor] = {}
        self.loss_curve_: list[float] = []
        self.validation_loss_curve_: list[float] = []
        self.n_iter_ = 0
        return model

    def _initialize_layers_(self, model: nn.Sequential, data: Data, held: Data | None) -> InitReport:
        if self.init not in OPTIONS:  # it needs no data
            return INITIALIZERS[self.init](model, generator=self._generator)
        try:
            return INITIALIZERS[self.init](
                model,
                *data,
                task=self._task,
                validation=held,
                generator=self._generator,
                **options_of(
                    self.init,
                    "paper",
                    alpha=_plain(self.alpha),
                    score=self.score_function,
                    calibrate=_plain(self.calibrate),
                ),
            )
        except InvalidInputError as err:  # the options are checked: it is the data that will not do
            warnings.warn(
                f"init={self.init!r} could not be done ({err}); the layers are random orthogonal instead",
                InitializationWarning,
                stacklevel=5,
            )
            return orthogonal_(model, generator=self._generator)

    def _train(
        self, model: nn.Sequential, data: Data, held: Data | None, epochs: int, stop: train.StopRules
    ) -> tuple[Stack, train.Trained]:
        """The network after its last epoch, and what the trainer kept; without held-out rows it looks at all rows."""
        rows, n = self._rows(data), len(data[0])
        networks = stack([model])
        for step in train.fit(
            networks,
            rows,
            rows if held is None else self._rows(held),
            task=self._task,
            epochs=epochs,
            batch_size=max(1, min(500, n // 5)) if self.batch_size is None else int(self.batch_size),
            learning_rate=float(self.learning_rate),
            generators=[self._generator],
            stop=stop,
            memory=self._memory,
        ):
            if isinstance(step, train.Losses) and step.epoch:
                self._record(step)
        assert isinstance(step, train.Trained)
        if not step.best_loss.isfinite():
            cure = "standardize the columns of X first"
            raise InvalidInputError("X", "on the scale of the network", "a loss that is not finite", cure)
        return networks, step

    def _record(self, losses: train.Losses) -> None:
        self.n_iter_ += 1
        self.loss_curve_.append(float(losses.training))
        line = f"epoch {self.n_iter_}, loss {self.loss_curve_[-1]:.8f}"
        if self.early_stopping:
            self.validation_loss_curve_.append(float(losses.validation))
            line += f", validation loss {self.validation_loss_curve_[-1]:.8f}"
        if self.verbose:
            print(line)

    def _rows(self, data: Data) -> train.Rows:
        X, y = data
        columns = responses(torch.from_numpy(y), self._task, self.n_outputs_)
        return train.Rows(torch.from_numpy(X.astype(np.float32))[None], columns.float()[None])

    def _predictors(self, X: Any) -> Tensor:
        """The linear predictors (n, C) in float64."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        inputs = torch.from_numpy(np.require(X, requirements="W"))  # torch warns of arrays that are read-only
        return train.predict(stack([self.model_], torch.float64), inputs[None])[0]

    def _check_options(self) -> None:
        check_choice("activation", self.activation, tuple(ACTIVATIONS))
        check_choice("score_function", self.score_function, tuple(SCORES))
        check_flag("calibrate", _plain(self.calibrate), "False leaves the biases at zero")
        check_choice("init", self.init, tuple(INITIALIZERS))
        check_alpha(_plain(self.alpha))
        _widths(self.hidden_layer_sizes)
        whole = (
            ("max_epochs", 0, "0 initializes and does not train"),
            ("batch_size", 1, "None takes a fifth of the rows"),
            ("n_iter_no_change", 1, "max_epochs bounds the training too"),
        )
        for argument, low, cure in whole:
            value = _plain(getattr(self, argument))
            check_whole(argument, value, low, MOST, cure, optional=argument == "batch_size")
        check_positive("learning_rate", _plain(self.learning_rate), 10.0, "0.001 suits Adam")
        check_positive(
            "validation_fraction", _plain(self.validation_fraction), 0.9, "0.1 is a tenth of the rows"
        )

    def _check_options_of_partial_fit(self) -> None:
        self._check_options()
        if self.early_stopping:
            cure = "its rows come piece by piece, and none are held out"
            raise InvalidInputError("early_stopping", "False in partial_fit", self.early_stopping, cure)


class SteinGLMClassifier(ClassifierMixin, _SteinGLM):  # type: ignore[misc]
    """A multi-layer perceptron for two classes or more, initialized by SteinGLM.

    Standardize the columns of X first, as for scikit-learn's MLPClassifier: put a StandardScaler before it.

    Parameters
    ----------
    hidden_layer_sizes : the units of each hidden layer, or of the only one; () is the generalized linear model
    activation : a name of `mlp.ACTIVATIONS`
    alpha : SteinGLM's scaling factor; see `init.stein_glm_`
        It is not a penalty, as MLPClassifier's is.
    score_function : SteinGLM's score function; see `stein.cross_moment`
        Elsewhere it is called `score`, which is a method here.
    calibrate : whether SteinGLM's biases center the pre-activations; zero if not
    init : a name of `init.INITIALIZERS`
        "steinglm", "swim", "pca" and "steinglm_lsuv" fit a GLM as the output layer; the others draw it like the hidden
        layers.
    max_epochs : passes over the rows, at most; 0 leaves the network as it was initialized
    batch_size : rows of a mini-batch; None for min(500, a fifth of the rows)
    learning_rate : of Adam
    early_stopping : whether to hold out rows, by class in a classification
        They choose the strength of the GLM's penalty, when to stop and which epoch's network is kept. Otherwise the
        loss on the training rows does the latter two.
    validation_fraction : the fraction of the rows that early stopping holds out
    n_iter_no_change : epochs without a new lowest loss after which the training stops
    random_state : None, a number or a RandomState, from which initialization, held-out rows and mini-batches follow
        As everywhere in scikit-learn, None draws from numpy's global stream.
    verbose : whether to print the loss of each epoch

    Attributes
    ----------
    model_ : the network in float32, kept at its lowest loss, before the first epoch or after any
        After `partial_fit`, as it is after the last call.
    init_report_ : what was done to each layer; a `reports.InitReport`
    loss_curve_ : for each epoch, the mean loss over its mini-batches, each before its step
    validation_loss_curve_ : the loss on the held-out rows after each epoch; empty without early stopping
    best_loss_ : the loss of the network that `fit` kept
    n_iter_ : epochs
    n_outputs_ : output units: one for two classes, the logit of the second, else one a class
    classes_, n_features_in_, feature_names_in_ : as everywhere in scikit-learn

    Warns
    -----
    InitializationWarning
        Data that SteinGLM cannot learn from: fewer than 10 rows, or a first call of `partial_fit` without rows of each
        class. All layers are then random orthogonal, and init_report_ says so.

    >>> X = np.arange(40.0).reshape(20, 2) / 20 - 1
    >>> classifier = SteinGLMClassifier((4, 4), max_epochs=5, random_state=0).fit(X, X[:, 0] > 0)
    >>> [layer.rule for layer in classifier.init_report_.layers], classifier.score(X, X[:, 0] > 0)
    (['stein', 'stein', 'glm'], 1.0)
    """

    def fit(self, X: Any, y: Any) -> Self:
        """Initialize the network on X (n, d) and labels y (n,), and train it.

        Raises
        ------
        InvalidInputError
            An option or data that cannot be used; a single class. Other faults of the data are ValueErrors of
            scikit-learn.
        """
        self._check_options()
        X, y = self._validated(X, y, first=True)
        self._set_classes("y", y)
        return self._fit(X, self._codes(y), *self._kind())

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Train for one epoch over these rows, from where the last call, or `fit`, ended; Adam's averages go on too.

        The first call initializes the network from its rows, so let it have many, of every class. `classes` are the
        labels of all calls; the first call needs them. Errors as in `fit`.
        """
        self._check_options_of_partial_fit()
        first = not self.__sklearn_is_fitted__()
        if first and classes is None:
            cure = "pass the labels of all rows to come"
            raise InvalidInputError("classes", "given in the first call of partial_fit", None, cure)
        X, y = self._validated(X, y, first)
        if first:
            self._set_classes("classes", classes)
        elif classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            cure = "they cannot change after the first call"
            raise InvalidInputError("classes", str(self.classes_), str(np.unique(classes)), cure)
        if len(strange := np.setdiff1d(y, self.classes_)):
            cure = "name every class in the first call, or fit anew"
            raise InvalidInputError("y", f"of the classes {self.classes_}", str(strange), cure)
        return self._partial_fit(X, self._codes(y), *self._kind())

    def predict(self, X: Any) -> np.ndarray:
        """The likeliest class (n,) of each row of X (n, d)."""
        probabilities = self.predict_proba(X)
        return self.classes_[probabilities.argmax(1)]

    def predict_proba(self, X: Any) -> np.ndarray:
        """The probabilities (n, C) of the classes, in the order of `classes_`."""
        z = self._predictors(X)
        probabilities = torch.softmax(z, 1) if self._task == "multiclass" else torch.cat([-z, z], 1).sigmoid()
        return probabilities.numpy()

    def _validated(self, X: Any, y: Any, first: bool) -> Data:
        X, y = validate_data(self, X, y, dtype=np.float64, reset=first)
        check_classification_targets(y)
        return X, column_or_1d(y, warn=True)

    def _set_classes(self, argument: str, labels: Any) -> None:
        self.classes_ = np.unique(labels)
        if len(self.classes_) < 2:
            got = "one class" if len(self.classes_) else "none"
            raise InvalidInputError(argument, "of two classes or more", got, "there is nothing to tell apart")

    def _kind(self) -> tuple[str, int]:
        C = len(self.classes_)
        return ("binary", 1) if C == 2 else ("multiclass", C)

    def _codes(self, y: np.ndarray) -> np.ndarray:
        return np.searchsorted(self.classes_, y).astype(np.float64)


class SteinGLMRegressor(RegressorMixin, _SteinGLM):  # type: ignore[misc]
    """A multi-layer perceptron for one response or several, initialized by SteinGLM.

    Standardize the columns of X first, as for scikit-learn's MLPRegressor; y is standardized within, so that the
    learning rate suits it, and losses are mean squared errors of the standardized y. Parameters, attributes and
    warnings are those of `SteinGLMClassifier`, without classes, and with

    Attributes
    ----------
    y_mean_, y_scale_ : (C,), the mean and population sd of each response in `fit`, or in `partial_fit`'s first call
        The scale of a constant response is 1; where all responses are constant, SteinGLM has nothing to learn from.
    n_outputs_ : the number of responses

    >>> X = np.arange(40.0).reshape(20, 2) / 20 - 1
    >>> regressor = SteinGLMRegressor((4, 4), max_epochs=5, random_state=0).fit(X, 1000 + X[:, 0])
    >>> round(regressor.score(X, 1000 + X[:, 0]), 2)
    1.0
    """

    def fit(self, X: Any, y: Any) -> Self:
        """Initialize the network on X (n, d) and y (n,), or (n, C) for C responses, and train it.

        Raises
        ------
        InvalidInputError
            An option or data that cannot be used. Other faults of the data are ValueErrors of scikit-learn.
        """
        self._check_options()
        X, y = self._validated(X, y, first=True)
        self._set_scale(y)
        return self._fit(X, self._standardized(y), "regression", y.shape[1])

    def partial_fit(self, X: Any, y: Any) -> Self:
        """Train for one epoch over these rows, from where the last call, or `fit`, ended; Adam's averages go on too.

        The first call initializes the network from its rows and standardizes y by them, so let it have many. Errors as
        in `fit`.
        """
        self._check_options_of_partial_fit()
        first = not self.__sklearn_is_fitted__()
        X, y = self._validated(X, y, first)
        if first:
            self._set_scale(y)
        elif y.shape[1] != self.n_outputs_:
            expected = f"of {self.n_outputs_} responses, as in the first call"
            raise InvalidInputError("y", expected, y.shape[1], "fit anew for others")
        return self._partial_fit(X, self._standardized(y), "regression", y.shape[1])

    def predict(self, X: Any) -> np.ndarray:
        """The responses (n,), or (n, C) where there are several, of the rows X (n, d)."""
        z = self._predictors(X).numpy() * self.y_scale_ + self.y_mean_  # (n, C)
        return z[:, 0] if self.n_outputs_ == 1 else z

    def _validated(self, X: Any, y: Any, first: bool) -> Data:
        X, y = validate_data(self, X, y, dtype=np.float64, multi_output=True, y_numeric=True, reset=first)
        return X, y.astype(np.float64).reshape(len(y), -1)  # (n, C)

    def _set_scale(self, y: np.ndarray) -> None:
        sd = y.std(0)
        self.y_mean_, self.y_scale_ = y.mean(0), np.where(sd > 0, sd, 1.0)

    def _standardized(self, y: np.ndarray) -> np.ndarray:
        return (y - self.y_mean_) / self.y_scale_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def _plain(option: Any) -> Any:
    """A scalar of numpy's, which a grid may hold, as Python's."""
    return option.item() if isinstance(option, np.generic) else option


def _widths(sizes: Any) -> list[int]:
    """The units of each hidden layer, from a number or a sequence of them."""
    widths = [_plain(k) for k in (sizes if isinstance(sizes, list | tuple | np.ndarray) else [sizes])]
    for k in widths:
        check_whole("hidden_layer_sizes", k, 1, MOST, "(32, 32) is two hidden layers of 32 units")
    return widths


def _generator(random: Any) -> torch.Generator:
    return torch.Generator().manual_seed(int(random.randint(MAX_SEED)))

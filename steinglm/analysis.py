"""What can be said of an experiment's networks before they are trained, beyond the layers that `initialize` measures.

`signals` follows the gradients back and asks each layer what it still knows; `jacobian` measures how far small
differences of the inputs are stretched on their way through; `theory` predicts the curves with no network drawn.
"""

import pandas as pd
import torch

from steinglm import curves, mlp, phases
from steinglm.diagnostics import COLUMNS, Measured, tidy
from steinglm.experiment import Experiment, networks_of, rows_of, split
from steinglm.jacobian import singular_values
from steinglm.mlp import ACTIVATIONS
from steinglm.signals import signal_rows
from steinglm.theory import paper_alpha, variance_preserving_alpha

__all__ = ["PREDICTED", "alphas", "jacobian", "phase_table", "signals", "theory"]

POINTS = 64  # rows at which the Jacobian is taken
PREDICTED = {
    "preactivation_variance": "preactivation_variance",
    "activation_variance": "activation_variance",
    "preactivation_length": "length",
    "jacobian_root_mean_square": "jacobian_root_mean_square",
}


def signals(experiment: Experiment, *, max_rows: int | None = None) -> pd.DataFrame:
    """What `signals.signal_rows` measures of every network: gradients, probes, ranks, correlations, before training.

    `max_rows` as in `initialize`, of the validation rows too; tidy rows with the same columns.
    """
    models, names, _ = networks_of(experiment)
    training, validation = (
        rows_of(experiment, part, torch.float64, max_rows) for part in ("train", "validation")
    )
    task = split(experiment.dataset, experiment.seed, 0, experiment.rows).task
    return signal_rows(mlp.stack(models, torch.float64), training, validation, names, task)


def jacobian(experiment: Experiment) -> pd.DataFrame:
    """The singular values of dh/dx, h the output of the last hidden layer, at training rows, before training.

    Tidy rows as of `initialize`, ranked: jacobian_singular_value, the median over `POINTS` rows. A theory has the root
    of their mean square: theory's row of quantity jacobian_root_mean_square, and of the same name what is measured.
    """
    models, names, _ = networks_of(experiment)
    x = rows_of(experiment, "train", torch.float64, POINTS).X
    values = singular_values(mlp.stack(models, torch.float64), x.repeat(len(names) // len(x), 1, 1))
    found: list[Measured] = [
        (experiment.depth, "jacobian_singular_value", values.median(1).values, True),
        (experiment.depth, "jacobian_root_mean_square", values.square().mean((1, 2)).sqrt()[:, None], False),
    ]
    return tidy(names, found)


def theory(experiment: Experiment) -> pd.DataFrame:
    """What `curves.predict` says of the hidden layers, for the quantities of `PREDICTED`, in `initialize`'s columns.

    Methods that `curves.METHODS` does not name have no rows. The inputs' length and overlap are those of the first
    repeat's training rows. A calibrated SteinGLM has no length: its means are removed.
    """
    X = split(experiment.dataset, experiment.seed, 0, experiment.rows).X_train.double()
    units = [X.shape[1], *[experiment.units(X.shape[1])] * experiment.depth]
    length = float(X.square().mean())
    overlap = min(length, float(X.mean(0).square().mean()))
    rows = [
        (method, 0, each.layer, quantity, 0, getattr(each, name))
        for method in experiment.methods
        if method in curves.METHODS
        for each in curves.predict(
            method,
            experiment.activation,
            units,
            alpha=experiment.alpha,
            calibrate=experiment.calibrate,
            length=length,
            overlap=overlap,
        )
        for quantity, name in PREDICTED.items()
        if method != "steinglm" or quantity != "preactivation_length" or not experiment.calibrate
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def phase_table(experiment: Experiment) -> pd.DataFrame:
    """The phase of each baseline's hidden layers, which are square: one row a method, the fields of `phases.Phase`.

    Their biases are zero. SteinGLM has no row: its biases remove the means of which the length map is made.
    """
    k = experiment.units(split(experiment.dataset, experiment.seed, 0, experiment.rows).X_train.shape[1])
    found = []
    for method in experiment.methods:
        if method in curves.SIGMA_W2:
            sigma_w2 = curves.SIGMA_W2[method](k, k)
            own = phases.phase(experiment.activation, sigma_w2)
            found.append({"method": method, "sigma_w2": sigma_w2, "sigma_b2": 0.0, **vars(own)})
    columns = ["method", "sigma_w2", "sigma_b2", "q_star", "chi", "phase", "xi_q", "xi_c"]
    return pd.DataFrame(found, columns=columns)


def alphas() -> pd.DataFrame:
    """SteinGLM's scaling factor by activation: the paper's 1 / f'(0), and the one that holds a variance of 1."""
    found = [
        (name, paper_alpha(name), variance_preserving_alpha(name))
        for name in ACTIVATIONS
        if name != "identity"
    ]
    return pd.DataFrame(found, columns=["activation", "paper", "variance_preserving"])

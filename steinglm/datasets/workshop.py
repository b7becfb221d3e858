"""Multi-index models to order: y = f_1(u_1) + f_2(u_2) / 2 + f_3(u_3) / 4 + ..., or the product of the f_j(u_j), of
indices u = B^T x along known orthonormal directions B, with inputs x that may or may not be normal.

A model is a `Recipe` of plain values and has one name, "multi_index:rows=2000,inputs=10,...", which `datasets.load`
takes like any other: so a link, a script and a stored run hold it completely.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np
import pandas as pd
from scipy.special import expit

from steinglm.checks import check_choice, check_positive, check_whole
from steinglm.datasets.dataset import Dataset
from steinglm.datasets.synthetic import frame
from steinglm.exceptions import InvalidInputError

__all__ = ["COMBINATIONS", "DISTRIBUTIONS", "LIMITS", "LINKS", "PREFIX", "Recipe", "load", "parse"]

PREFIX = "multi_index:"
COMBINATIONS = ("sum", "product")
TASKS = ("regression", "binary")
LIMITS = {"rows": (50, 50_000), "inputs": (1, 100), "directions": (1, 5), "seed": (0, 2**32 - 1)}
NOISIEST = 100.0
STEEPNESS = 3.0  # the sd of the log odds of two classes
CORRELATION = 0.7  # between neighbours
FREEDOM = 5  # degrees of freedom of the t distribution: the least for which fourth moments exist
CENTERS, SPREAD = 3, 0.4  # of the mixture, whose centers are standard normal


def _relu(u: np.ndarray) -> np.ndarray:
    return np.maximum(u, 0)


LINKS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "linear": lambda u: u,
    "square": np.square,
    "absolute": np.abs,
    "relu": _relu,
    "tanh": lambda u: np.tanh(2 * u),
    "sine": lambda u: np.sin(2 * u),
    "cosine": lambda u: np.cos(2 * u),
    "bump": lambda u: np.exp(-np.square(u)),
}


def _normal(n: int, d: int, generator: np.random.Generator) -> np.ndarray:
    return generator.standard_normal((n, d))


def _correlated(n: int, d: int, generator: np.random.Generator) -> np.ndarray:
    """Normal, with correlation 0.7^|i - j|."""
    place = np.arange(d)
    L = np.linalg.cholesky(CORRELATION ** np.abs(place[:, None] - place))
    return generator.standard_normal((n, d)) @ L.T


def _skewed(n: int, d: int, generator: np.random.Generator) -> np.ndarray:
    """Independent exponentials, less their mean."""
    return generator.standard_exponential((n, d)) - 1


def _mixture(n: int, d: int, generator: np.random.Generator) -> np.ndarray:
    """Three normal clusters."""
    centers = generator.standard_normal((CENTERS, d))
    return centers[generator.integers(CENTERS, size=n)] + SPREAD * generator.standard_normal((n, d))


def _heavy_tailed(n: int, d: int, generator: np.random.Generator) -> np.ndarray:
    """Independent t with 5 degrees of freedom, of variance 1."""
    return generator.standard_t(FREEDOM, (n, d)) * np.sqrt((FREEDOM - 2) / FREEDOM)


DISTRIBUTIONS: dict[str, Callable[[int, int, np.random.Generator], np.ndarray]] = {
    "normal": _normal,
    "correlated": _correlated,
    "skewed": _skewed,
    "mixture": _mixture,
    "heavy_tailed": _heavy_tailed,
}


@dataclass(frozen=True)
class Recipe:
    """How a multi-index model is drawn.

    rows : 50..50,000
    inputs : 1..100
    links : a key of `LINKS` for each true direction, one to five and no more than inputs
    combine : "sum", with weights 1, 1/2, 1/4, ... so that no two directions are alike, or "product"
    noise : standard deviation, in units of the noiseless response's
    distribution : of the inputs, a key of `DISTRIBUTIONS`
    task : "regression", or "binary": classes drawn with log odds of sd 3 about 0
    seed : determines the directions and all rows

    Raises
    ------
    InvalidInputError : a value out of range

    >>> Recipe(links=("square", "cubic"))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    steinglm.exceptions.InvalidInputError: link must be one of linear, square, ..., got cubic; choose one of these
    """

    rows: int = 2000
    inputs: int = 10
    links: tuple[str, ...] = ("square", "square")
    combine: str = "sum"
    noise: float = 0.1
    distribution: str = "normal"
    task: str = "regression"
    seed: int = 0

    def __post_init__(self) -> None:
        check_whole("rows", self.rows, *LIMITS["rows"], "a few thousand show the directions well")
        check_whole("inputs", self.inputs, *LIMITS["inputs"], "a model needs an input")
        check_whole("seed", self.seed, *LIMITS["seed"], "any whole number in this range will do")
        most = min(LIMITS["directions"][1], self.inputs)
        check_whole("directions", len(self.links), 1, most, "name a link function for each")
        for name in self.links:
            check_choice("link", name, tuple(LINKS))
        check_choice("combine", self.combine, COMBINATIONS)
        check_choice("distribution", self.distribution, tuple(DISTRIBUTIONS))
        check_choice("task", self.task, TASKS)
        if self.noise != 0:
            noise = check_positive("noise", self.noise, NOISIEST, "0 is none, 1 as much as there is signal")
            object.__setattr__(self, "noise", noise)
        else:
            object.__setattr__(self, "noise", 0.0)

    @property
    def name(self) -> str:
        """The name that `datasets.load` takes; equal recipes have equal names.

        >>> Recipe().name
        'multi_index:rows=2000,inputs=10,links=square+square,combine=sum,noise=0.1,distribution=normal,\
task=regression,seed=0'
        """
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        values["links"] = "+".join(self.links)
        return PREFIX + ",".join(f"{name}={value}" for name, value in values.items())


def parse(name: str) -> Recipe:
    """The recipe of a name; what it leaves out has its default.

    Raises
    ------
    InvalidInputError : a part that is not "setting=value", an unknown setting, a value out of range

    >>> parse("multi_index:links=square+tanh,noise=0.5").links
    ('square', 'tanh')
    """
    settings: dict[str, object] = {}
    known = {field.name: field.type for field in fields(Recipe)}
    for part in filter(None, name.removeprefix(PREFIX).split(",")):
        setting, _, text = part.partition("=")
        check_choice("setting of a multi-index model", setting, tuple(known))
        settings[setting] = _value(setting, text)
    return Recipe(**settings)  # type: ignore[arg-type]


def _value(setting: str, text: str) -> object:
    if setting == "links":
        return tuple(text.split("+"))
    if setting in ("rows", "inputs", "seed"):
        if not re.fullmatch(r"[0-9]{1,12}", text):
            raise InvalidInputError(setting, "a whole number", text, "write it in digits")
        return int(text)
    if setting == "noise":
        try:
            return float(text)
        except ValueError as error:
            raise InvalidInputError("noise", "a number", text, "0.1 is a tenth of the signal") from error
    return text


def load(name: str) -> Dataset:
    """Draw the model of that name: the same table on every call.

    >>> data = load("multi_index:rows=100,inputs=5,links=square+tanh")
    >>> data.X.shape, data.directions.shape, data.task
    ((100, 5), (5, 2), 'regression')
    """
    recipe = parse(name)
    generator = np.random.default_rng(recipe.seed)
    d, k = recipe.inputs, len(recipe.links)
    B = frame(d, k, generator)
    x = DISTRIBUTIONS[recipe.distribution](recipe.rows, d, generator)  # (n, d)
    signal = _response(x @ B, recipe)
    sd = signal.std() or 1.0  # a relu of one direction may be 0 in every one of few rows
    noisy = signal + recipe.noise * sd * generator.standard_normal(len(x))
    if recipe.task == "binary":
        odds = STEEPNESS * (noisy - noisy.mean()) / sd
        noisy = (generator.uniform(size=len(x)) < expit(odds)).astype(np.int8)
    B.setflags(write=False)
    return Dataset(
        name=recipe.name,
        X=pd.DataFrame(x, columns=[f"x{j + 1}" for j in range(d)]),
        y=pd.Series(noisy, name="y"),
        task=recipe.task,  # type: ignore[arg-type]
        description=f"Multi-index model of {k} known directions in {d} {recipe.distribution.replace('_', '-')} inputs",
        title="Multi-index model",
        directions=B,
    )


def _response(u: np.ndarray, recipe: Recipe) -> np.ndarray:
    """The noiseless response (n,) of the indices u (n, k)."""
    parts = [LINKS[link](u[:, j]) for j, link in enumerate(recipe.links)]
    if recipe.combine == "product":
        return np.prod(parts, axis=0)
    return np.sum([0.5**j * part for j, part in enumerate(parts)], axis=0)

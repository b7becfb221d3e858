"""The data sets by name: the paper's ten in its order, four of scikit-learn's, synthetic ones, and models to order."""

from collections.abc import Callable
from dataclasses import replace
from difflib import get_close_matches
from functools import lru_cache, partial

from steinglm.datasets import bundled, embedded, own, remote, synthetic, workshop
from steinglm.datasets.dataset import Dataset
from steinglm.exceptions import InvalidInputError

__all__ = ["available", "canonical", "load", "names"]

_LOADERS: dict[str, Callable[[], Dataset]] = {
    "abalone": partial(embedded.load, "abalone"),
    "california_housing": partial(embedded.load, "california_housing"),
    "power_plant": partial(embedded.load, "power_plant"),
    "electrical_grid": partial(embedded.load, "electrical_grid"),
    "parkinsons": remote.load,
    "adult": partial(embedded.load, "adult"),
    "bank_marketing": partial(embedded.load, "bank_marketing"),
    "magic": partial(embedded.load, "magic"),
    "mammographic": partial(embedded.load, "mammographic"),
    "spambase": partial(embedded.load, "spambase"),
    "diabetes": bundled.diabetes,
    "breast_cancer": bundled.breast_cancer,
    "digits": bundled.digits,
    "wine": bundled.wine,
    **{name: partial(synthetic.load, name) for name in synthetic.MODELS},
}


def names() -> tuple[str, ...]:
    """Every name that `load` knows, "parkinsons" included whether or not its file is at hand.

    >>> names()[:2]
    ('abalone', 'california_housing')
    """
    return tuple(_LOADERS)


def canonical(name: str) -> str:
    """The one name of what `load` gives for this one.

    Raises
    ------
    InvalidInputError : `load` does not know it

    >>> canonical("multi_index:rows=500")
    'multi_index:rows=500,inputs=10,links=square+square,combine=sum,noise=0.1,distribution=normal,\
task=regression,seed=0'
    """
    if own.is_own(name) or (isinstance(name, str) and name in _LOADERS):
        return name
    if isinstance(name, str) and name.startswith(workshop.PREFIX):
        return workshop.parse(name).name
    close = get_close_matches(str(name), _LOADERS, n=1)
    cure = f"did you mean {close[0]!r}?" if close else f"choose one of {', '.join(_LOADERS)}"
    raise InvalidInputError("data set", "a known name", name, cure)


def available(name: str) -> bool:
    """Whether `load(name)` would succeed without a download. Never touches the network.

    >>> available("abalone")
    True
    """
    return canonical(name) != "parkinsons" or remote.find() is not None


def load(name: str) -> Dataset:
    """The data set of that name, as published, or the multi-index model that it describes (`workshop.Recipe`).

    The frames are the caller's own: change them as you like.

    Raises
    ------
    InvalidInputError : an unknown name, or a multi-index model that cannot be drawn.
    DataUnavailableError : "parkinsons", where its file is neither at hand nor within reach; a table of one's own that
        nobody holds any more (`own.hold`).

    >>> load("abalone").X.shape
    (4177, 8)
    >>> load("abalon")
    Traceback (most recent call last):
    ...
    steinglm.exceptions.InvalidInputError: data set must be a known name, got abalon; did you mean 'abalone'?
    """
    known = canonical(name)
    if own.is_own(known):
        dataset = own.find(known).dataset
    else:
        dataset = remote.load() if known == "parkinsons" else _cached(known)
    return replace(dataset, X=dataset.X.copy(), y=dataset.y.copy())


@lru_cache(maxsize=32)
def _cached(name: str) -> Dataset:
    return workshop.load(name) if name.startswith(workshop.PREFIX) else _LOADERS[name]()

"""A person's own tables: in the memory of this process only, for as long as somebody holds them.

A table's name is a digest of its content, "own:" and 16 hexadecimal digits: equal tables are one, and nobody can name a
table without having it. Nothing here is written anywhere.
"""

import re
from weakref import WeakValueDictionary

from steinglm.datasets.dataset import Dataset, Split
from steinglm.datasets.preparation import prepare
from steinglm.exceptions import DataUnavailableError, InvalidInputError

__all__ = ["PREFIX", "Held", "find", "hold", "is_own"]

PREFIX = "own:"
NAME = re.compile(r"own:[0-9a-f]{16}")
MOST_BYTES = 400_000_000  # of the splits that are kept prepared


class Held:
    """A table that can be loaded by its name as long as this object lives.

    Attributes
    ----------
    dataset : its name is the one to load it by
    """

    def __init__(self, dataset: Dataset) -> None:
        self.dataset = dataset
        self._splits: dict[tuple[int, int | None], Split] = {}

    def split(self, seed: int, rows: int | None = None) -> Split:
        """The split of a seed, with so many training rows at most, prepared once and kept while there is room."""
        if (seed, rows) not in self._splits:
            made = prepare(self.dataset, seed, rows)
            size = sum(part.nbytes for part in (made.X_train, made.X_validation, made.X_test))
            while self._splits and (len(self._splits) + 1) * size > MOST_BYTES:
                del self._splits[next(iter(self._splits))]
            self._splits[seed, rows] = made
        return self._splits[seed, rows]


_held: WeakValueDictionary[str, Held] = WeakValueDictionary()


def is_own(name: object) -> bool:
    """Whether a name is that of somebody's own table, here or gone.

    >>> is_own("own:0123456789abcdef"), is_own("abalone")
    (True, False)
    """
    return isinstance(name, str) and NAME.fullmatch(name) is not None


def hold(dataset: Dataset) -> Held:
    """Make a table loadable by its name, while the returned object lives.

    Raises
    ------
    InvalidInputError : a name that is not "own:" and 16 hexadecimal digits
    """
    if not is_own(dataset.name):
        expected, cure = "'own:' and 16 hexadecimal digits", "take it from tables.cleaning.clean"
        raise InvalidInputError("name", expected, dataset.name, cure)
    held = _held.get(dataset.name)
    if held is None:
        held = _held[dataset.name] = Held(dataset)
    return held


def find(name: str) -> Held:
    """The table of that name.

    Raises
    ------
    DataUnavailableError : nobody holds it any more
    """
    held = _held.get(name)
    if held is None:
        raise DataUnavailableError(
            "this table is not in memory any more: it stays only as long as the session in which it was opened; "
            "open the file again"
        )
    return held

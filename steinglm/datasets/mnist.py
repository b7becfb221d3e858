"""MNIST, two of its digits at a time, as images for a convolutional network. A part of it travels with the
package: of each digit the first 500 training and the first 100 test images, in the order of the original. All
of it is an archive of 11 MB, taken from the user's own folder, else from the user's cache, else downloaded into
that cache. The arrays are checked against a SHA-256 over their bytes, however the archive was compressed."""

import hashlib
import io
import zipfile
from dataclasses import dataclass
from functools import lru_cache
from http.client import HTTPException
from pathlib import Path
from typing import BinaryIO

import numpy as np
import torch

from steinglm.datasets import fetch
from steinglm.exceptions import DataUnavailableError, InvalidInputError

__all__ = ["PAIRS", "Images", "available", "download", "find", "load_pair"]

PAIRS = ((3, 5), (4, 9), (7, 9), (5, 8))  # the paper's
FILE = "mnist.npz"
PART = Path(__file__).parent / "data" / "mnist_part.npz"
URL = "https://storage.googleapis.com/tensorflow/tf-keras-datasets/mnist.npz"
KEYS = ("x_train", "y_train", "x_test", "y_test")
SHA256 = "06b0d1f124c4e5fa796686ade41a9b778edacc8622f2195a352ef479ad44fc16"  # of the arrays, in this order
LARGEST = 100_000_000  # bytes, packed or not; the real archive unpacks to 55 million

Arrays = dict[str, np.ndarray]


@dataclass(frozen=True, eq=False)
class Images:
    """Two digits: float32 inputs (n, 1, 28, 28) in [0, 1], float64 responses (n,), 1 for the second digit, else 0.

    `complete` tells all of MNIST from the embedded part. The tensors are the owner's: change them as you like.
    """

    name: str
    pair: tuple[int, int]
    complete: bool
    X_train: torch.Tensor
    y_train: torch.Tensor
    X_test: torch.Tensor
    y_test: torch.Tensor


def find() -> Path | None:
    """The archive in $STEINGLM_DATA, unread, or the one in the cache, checked; None if there is neither.

    Never downloads.
    """
    if own := fetch.own_file(FILE):
        return own
    cached = fetch.cache_folder() / FILE
    try:
        _complete(cached, cached.stat().st_mtime_ns)
    except OSError:  # none there, or a broken one: DataUnavailableError is an OSError
        return None
    return cached


def available() -> bool:
    """Whether `load_pair(..., complete=True)` has an archive to read without a download."""
    return find() is not None


def load_pair(pair: tuple[int, int], *, complete: bool) -> Images:
    """The images of two different digits, in the order of the original; the second digit is class 1.

    Parameters
    ----------
    pair : two different digits; `PAIRS` are the paper's.
    complete : True for all of MNIST, about 12,000 training and 2,000 test images a pair; False for the
        embedded part, 1,000 and 200.

    Raises
    ------
    InvalidInputError : no such pair.
    DataUnavailableError : all of it is asked for, and neither found whole nor to be had from the network.

    >>> images = load_pair((3, 5), complete=False)
    >>> images.X_train.shape, int(images.y_test.sum())
    (torch.Size([1000, 1, 28, 28]), 100)
    """
    _check(pair)
    arrays = _all() if complete else _part()
    X_train, y_train = _select(arrays["x_train"], arrays["y_train"], pair)
    X_test, y_test = _select(arrays["x_test"], arrays["y_test"], pair)
    name = f"mnist_{pair[0]}_{pair[1]}"
    return Images(name, pair, complete, X_train, y_train, X_test, y_test)


def download() -> Path:
    """Fetch the archive, with a progress bar on standard error; return the checked file's path.

    Raises
    ------
    DataUnavailableError : no network, a time-out, a wrong checksum, a cache that cannot be written.
    """
    try:
        content = fetch.get(URL, label="mnist", largest=LARGEST)
        _verify(_read(io.BytesIO(content)))
        return fetch.store(content, fetch.cache_folder() / FILE)
    except (OSError, ValueError, HTTPException) as err:
        raise DataUnavailableError(_advice(f"{URL} could not be downloaded ({err})")) from err


def _check(pair: tuple[int, int]) -> None:
    digits = isinstance(pair, tuple) and all(type(digit) is int and 0 <= digit <= 9 for digit in pair)
    if not digits or len(pair) != 2 or pair[0] == pair[1]:
        known = ", ".join(map(str, PAIRS))
        expected, cure = "a tuple of two different digits, each 0..9", f"the paper's pairs are {known}"
        raise InvalidInputError("pair", expected, pair, cure)


def _select(x: np.ndarray, y: np.ndarray, pair: tuple[int, int]) -> tuple[torch.Tensor, torch.Tensor]:
    kept = np.isin(y, pair)
    X = torch.from_numpy(x[kept]).unsqueeze(1).float().div_(255)  # (n, 1, 28, 28)
    return X, torch.from_numpy(y[kept] == pair[1]).double()  # both are copies: the arrays stay as they are


def _all() -> Arrays:
    path = find() or download()
    return _complete(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=1)
def _complete(path: Path, modified: int) -> Arrays:
    try:
        with path.open("rb") as file:
            return _verify(_read(file))
    except (OSError, ValueError) as err:
        raise DataUnavailableError(_advice(f"{path} cannot be used ({err})")) from err


@lru_cache(maxsize=1)
def _part() -> Arrays:
    with PART.open("rb") as file:
        return _read(file)


def _read(file: BinaryIO) -> Arrays:
    """The four arrays, uint8; ValueError if the archive holds anything else under their names."""
    try:
        with zipfile.ZipFile(file) as archive:
            if (size := sum(member.file_size for member in archive.infolist())) > LARGEST:
                raise ValueError(f"it would unpack to {size} bytes")
            arrays = {key: _member(archive, key) for key in KEYS}
    except Exception as err:  # whatever a damaged archive makes zipfile and numpy raise
        raise ValueError(f"no archive of MNIST: {err}") from err
    for part in ("train", "test"):
        x, y = arrays[f"x_{part}"], arrays[f"y_{part}"]
        images = x.dtype == np.uint8 and x.shape == (*y.shape, 28, 28)
        if not images or y.ndim != 1 or y.dtype.kind not in "iu":
            raise ValueError(f"x_{part} is {x.dtype} {x.shape}, y_{part} is {y.dtype} {y.shape}")
    return {key: array.astype(np.uint8, copy=False) for key, array in arrays.items()}


def _member(archive: zipfile.ZipFile, key: str) -> np.ndarray:
    with archive.open(f"{key}.npy") as member:
        return np.lib.format.read_array(member, allow_pickle=False)


def _verify(arrays: Arrays) -> Arrays:
    digest = hashlib.sha256()
    for key in KEYS:
        digest.update(arrays[key].ravel().data)  # in C order
    if (found := digest.hexdigest()) != SHA256:
        raise ValueError(f"the SHA-256 of its arrays is {found}, not {SHA256}")
    return arrays


def _advice(problem: str) -> str:
    return fetch.advice("mnist", problem, file=FILE, source=URL) + "; complete=False takes the embedded part"

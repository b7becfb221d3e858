"""Parkinsons telemonitoring (D5), the one table of the paper that does not travel with the package. It is
taken from the user's own folder, else from the user's cache, else downloaded from UCI into that cache, and
checked against its SHA-256 before it is given its name, so that a file with that name is always whole."""

import hashlib
import io
import zipfile
import zlib
from functools import lru_cache
from http.client import HTTPException
from pathlib import Path

import pandas as pd

from steinglm.datasets import fetch
from steinglm.datasets.dataset import Dataset
from steinglm.exceptions import DataUnavailableError

__all__ = ["download", "find", "load"]

FILE = "parkinsons_updrs.data"
LOCAL_FILES = ("parkinsons_telemonitoring.parquet", FILE)
PAGE = "https://archive.ics.uci.edu/dataset/189"
URL = "https://archive.ics.uci.edu/static/public/189/parkinsons+telemonitoring.zip"
SHA256 = "f2c7d5025dec4e92e7feae367a5f7ccf58789a10ac6b54bdf15976c599f9dd39"  # of FILE, not of the archive
LARGEST = 50_000_000  # bytes; the real archive and file are below one million
TARGET, EXCLUDED = "total_UPDRS", ("subject#", "motor_UPDRS")  # motor_UPDRS is a part of the response
WIDTH = 22  # columns


def find() -> Path | None:
    """The file in $STEINGLM_DATA or, whole, in the cache; None if there is neither. Never downloads."""
    if own := fetch.own_file(*LOCAL_FILES):
        return own
    cached = fetch.cache_folder() / FILE
    if cached.is_file() and hashlib.sha256(cached.read_bytes()).hexdigest() == SHA256:
        return cached
    return None


def load() -> Dataset:
    """Parkinsons telemonitoring: 5875 rows, 19 inputs, a regression of the total UPDRS score.

    Raises
    ------
    DataUnavailableError : neither found nor to be had from the network; the message says what to do.
    """
    path = find() or download()
    return _read(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=2)
def _read(path: Path, modified: int) -> Dataset:
    try:
        table = pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path)
    except (OSError, ValueError) as err:
        raise DataUnavailableError(_advice(f"{path} cannot be read ({err})")) from err
    if table.shape[1] != WIDTH or not {TARGET, *EXCLUDED} <= set(table.columns):
        problem = f"{path} is another table, of {table.shape[1]} columns and not the {WIDTH} expected"
        raise DataUnavailableError(_advice(problem))
    y = table.pop(TARGET)
    return Dataset(
        name="parkinsons",
        X=table.drop(columns=list(EXCLUDED)),
        y=y,
        task="regression",
        description="UPDRS score of Parkinson's disease, from the voice; UCI Machine Learning Repository, "
        "data set 189 (Tsanas and Little, 2009), CC BY 4.0",
        title="Parkinsons Telemonitoring",
        code="D5",
    )


def download() -> Path:
    """Fetch the archive from UCI, with a progress bar on standard error; return the checked file's path.

    Raises
    ------
    DataUnavailableError : no network, a time-out, a wrong checksum, a cache that cannot be written.
    """
    try:
        content = _extract(fetch.get(URL, label="parkinsons", largest=LARGEST))
        if (found := hashlib.sha256(content).hexdigest()) != SHA256:
            raise ValueError(f"its SHA-256 is {found}, not {SHA256}")
        return fetch.store(content, fetch.cache_folder() / FILE)
    except (OSError, ValueError, HTTPException, zipfile.BadZipFile, zlib.error, EOFError) as err:
        raise DataUnavailableError(_advice(f"{URL} could not be downloaded ({err})")) from err


def _extract(archive: bytes) -> bytes:
    with zipfile.ZipFile(io.BytesIO(archive)) as folder:
        members = [member for member in folder.infolist() if Path(member.filename).name == FILE]
        if len(members) != 1 or members[0].file_size > LARGEST:
            raise ValueError(f"the archive does not hold one {FILE} of the usual size")
        return folder.read(members[0])


def _advice(problem: str) -> str:
    return fetch.advice("parkinsons", problem, file=FILE, source=PAGE)

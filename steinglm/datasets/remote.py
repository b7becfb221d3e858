"""Parkinsons telemonitoring (D5), the one data set of the paper that does not travel with the package. It is
taken from the user's own folder, else from the user's cache, else downloaded from UCI into that cache, and
checked against its SHA-256 before it is given its name, so that a file with that name is always whole."""

import hashlib
import io
import os
import sys
import tempfile
import urllib.request
import zipfile
import zlib
from functools import lru_cache
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from urllib.error import HTTPError

import pandas as pd
from tqdm import tqdm

from steinglm.datasets.dataset import Dataset
from steinglm.exceptions import DataUnavailableError

__all__ = ["cache_folder", "download", "find", "load"]

FILE = "parkinsons_updrs.data"
LOCAL_FILES = ("parkinsons_telemonitoring.parquet", FILE)
PAGE = "https://archive.ics.uci.edu/dataset/189"
URL = "https://archive.ics.uci.edu/static/public/189/parkinsons+telemonitoring.zip"
SHA256 = "f2c7d5025dec4e92e7feae367a5f7ccf58789a10ac6b54bdf15976c599f9dd39"  # of FILE, not of the archive
TIMEOUT = 30.0  # seconds without a byte
LARGEST = 50_000_000  # bytes; the real archive and file are below one million
TARGET, EXCLUDED = "total_UPDRS", ("subject#", "motor_UPDRS")  # motor_UPDRS is a part of the response
WIDTH = 22  # columns


def cache_folder() -> Path:
    """The user's cache: $XDG_CACHE_HOME/steinglm where that is set, else the system's usual place."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(base):
        return Path(base) / "steinglm"
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA") or os.path.expanduser("~/AppData/Local")
        return Path(local) / "steinglm" / "Cache"
    home = "~/Library/Caches" if sys.platform == "darwin" else "~/.cache"
    return Path(os.path.expanduser(home)) / "steinglm"


def find() -> Path | None:
    """The file in $STEINGLM_DATA or, whole, in the cache; None if there is neither. Never downloads."""
    if folder := os.environ.get("STEINGLM_DATA"):
        for name in LOCAL_FILES:
            if (path := Path(folder).expanduser() / name).is_file():
                return path
    cached = cache_folder() / FILE
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
        content = _extract(_get(URL))
        if (found := hashlib.sha256(content).hexdigest()) != SHA256:
            raise ValueError(f"its SHA-256 is {found}, not {SHA256}")
        return _store(content, cache_folder() / FILE)
    except (OSError, ValueError, HTTPException, zipfile.BadZipFile, zlib.error, EOFError) as err:
        raise DataUnavailableError(_advice(f"{URL} could not be downloaded ({err})")) from err


def _open(url: str) -> HTTPResponse:
    try:
        answer: HTTPResponse = urllib.request.urlopen(url, timeout=TIMEOUT)
    except HTTPError as err:
        err.close()  # the error holds the answer, and with it an open socket
        raise
    return answer


def _get(url: str) -> bytes:
    body = bytearray()
    with _open(url) as answer:
        size = int(answer.headers.get("Content-Length") or 0) or None
        with tqdm(desc="parkinsons", total=size, unit="B", unit_scale=True) as bar:
            while chunk := answer.read(1 << 16):
                body += chunk
                bar.update(len(chunk))
                if len(body) > LARGEST:
                    raise ValueError(f"more than {LARGEST} bytes came")
    return bytes(body)


def _extract(archive: bytes) -> bytes:
    with zipfile.ZipFile(io.BytesIO(archive)) as folder:
        members = [member for member in folder.infolist() if Path(member.filename).name == FILE]
        if len(members) != 1 or members[0].file_size > LARGEST:
            raise ValueError(f"the archive does not hold one {FILE} of the usual size")
        return folder.read(members[0])


def _store(content: bytes, path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f"{FILE}.", delete=False) as part:
        part.write(content)
    try:
        os.replace(part.name, path)  # atomic: whoever else looks sees no file, or a whole one
    except OSError:
        os.unlink(part.name)
        raise
    return path


def _advice(problem: str) -> str:
    return (
        f"the data set 'parkinsons' is not available: {problem}; download {FILE} from {PAGE} by hand and set "
        "the environment variable STEINGLM_DATA to the folder that holds it, or try again with a network"
    )

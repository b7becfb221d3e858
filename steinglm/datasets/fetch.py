"""Files that do not travel with the package: where they are kept, and how they are downloaded. A file is taken
from the user's own folder, $STEINGLM_DATA, else from the user's cache. What is downloaded is bounded in size and
in waiting, and gets its name in the cache only as a whole."""

import os
import sys
import tempfile
import urllib.request
from http.client import HTTPResponse
from pathlib import Path
from urllib.error import HTTPError

from tqdm import tqdm

__all__ = ["advice", "cache_folder", "get", "own_file", "store"]

TIMEOUT = 30.0  # seconds without a byte


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


def own_file(*names: str) -> Path | None:
    """The first of these files that lies in $STEINGLM_DATA; None if none does, or the variable is not set."""
    if folder := os.environ.get("STEINGLM_DATA"):
        for name in names:
            if (path := Path(folder).expanduser() / name).is_file():
                return path
    return None


def get(url: str, *, label: str, largest: int) -> bytes:
    """What the address holds, with a progress bar of that label on standard error.

    Raises
    ------
    OSError, http.client.HTTPException : no network, no such address, `TIMEOUT` seconds of silence.
    ValueError : more than `largest` bytes came; no more than these are kept.
    """
    body = bytearray()
    with _open(url) as answer:
        size = int(answer.headers.get("Content-Length") or 0) or None
        with tqdm(desc=label, total=size, unit="B", unit_scale=True) as bar:
            while chunk := answer.read(1 << 16):
                body += chunk
                bar.update(len(chunk))
                if len(body) > largest:
                    raise ValueError(f"more than {largest} bytes came")
    return bytes(body)


def store(content: bytes, path: Path) -> Path:
    """Write the file under its name, whole or not at all, and return the path; makes the folder.

    Raises
    ------
    OSError : it cannot be written; nothing is left behind.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, part = tempfile.mkstemp(dir=path.parent, prefix=f"{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(part, path)  # atomic: whoever else looks sees no file, or a whole one
    except BaseException:  # Ctrl-C too
        os.unlink(part)
        raise
    return path


def advice(name: str, problem: str, *, file: str, source: str) -> str:
    """What is wrong with a data set, and how to come by its file.

    >>> advice("mine", "no network", file="mine.csv", source="https://example.com")  # doctest: +ELLIPSIS
    "the data set 'mine' is not available: no network; download mine.csv from https://example.com by hand ..."
    """
    return (
        f"the data set {name!r} is not available: {problem}; download {file} from {source} by hand and set "
        "the environment variable STEINGLM_DATA to the folder that holds it, or try again with a network"
    )


def _open(url: str) -> HTTPResponse:
    try:
        answer: HTTPResponse = urllib.request.urlopen(url, timeout=TIMEOUT)
    except HTTPError as err:
        err.close()  # the error holds the answer, and with it an open socket
        raise
    return answer

"""Finished runs on disk: one folder a run, named by the experiment's key, bounded, least recently used out first.

A folder holds history.parquet, summary.parquet, travel.parquet, weights.safetensors and experiment.json, which also has
the digests of the others. It is written under another name and renamed when it is complete, so a half-written one is
never a run; one that does not match its digests is removed. Nothing here is ever unpickled.
"""

import hashlib
import json
import logging
import os
import re
import shutil
import threading
import uuid
from io import BytesIO
from pathlib import Path

import pandas as pd
import safetensors.torch

from steinglm.exceptions import EngineError
from steinglm.kinds import from_dict
from steinglm.results import Result

__all__ = ["Store"]

logger = logging.getLogger(__name__)

KEY = re.compile(r"[0-9a-f]{16}")
PARTS = ("history.parquet", "summary.parquet", "travel.parquet", "weights.safetensors")


class Store:
    """Finished runs by key.

    Parameters
    ----------
    folder : made when it is missing; several servers may share it
    max_bytes, max_runs : bounds; beyond them the runs that were read least recently are removed

    Raises
    ------
    EngineError : the folder cannot be made
    """

    def __init__(self, folder: Path, max_bytes: int, max_runs: int) -> None:
        self.folder, self.max_bytes, self.max_runs = Path(folder), max_bytes, max_runs
        self._lock = threading.Lock()
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise EngineError(
                f"the folder of finished runs cannot be made ({error}); set STEINGLM_STORE"
            ) from error
        for left in self.folder.glob(".*-*"):
            if not _is_running(left.name):
                shutil.rmtree(left, ignore_errors=True)

    def keys(self) -> tuple[str, ...]:
        """Keys of the stored runs, the most recently used first."""
        return tuple(path.name for path, _ in reversed(self._by_use()))

    def get(self, key: str) -> Result | None:
        """Read a run and mark it as used; None when it is not there, or was damaged and is therefore removed."""
        path = self.folder / key
        if not KEY.fullmatch(key) or not path.is_dir():
            return None
        try:
            result = _read(path)
            os.utime(path)
        except Exception:  # whatever a damaged file makes a parser raise
            if not path.is_dir():  # removed to keep the bounds, while it was read
                return None
            logger.warning("the stored run %s cannot be read and is removed", key, exc_info=True)
            self._remove(path)
            return None
        return result

    def put(self, result: Result) -> None:
        """Write a run that is not there yet, then remove the least recently used ones beyond the bounds."""
        path = self.folder / result.experiment.key
        unfinished = self._aside(path)
        try:
            _write(unfinished, result)
            unfinished.rename(path)
        except OSError:
            if not path.is_dir():  # else another thread or server has put the same run
                raise
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
        self._trim()

    def _trim(self) -> None:
        with self._lock:
            entries = self._by_use()
            size = sum(_size(path) for path, _ in entries)
            while entries and (len(entries) > self.max_runs or size > self.max_bytes):
                path, _ = entries.pop(0)
                size -= _size(path)
                self._remove(path)

    def _by_use(self) -> list[tuple[Path, int]]:
        entries = []
        for path in self.folder.iterdir():
            try:
                if KEY.fullmatch(path.name):
                    entries.append((path, path.stat().st_mtime_ns))
            except FileNotFoundError:  # another server removed it
                continue
        return sorted(entries, key=lambda entry: entry[1])

    def _aside(self, path: Path) -> Path:
        return self.folder / f".{path.name}-{os.getpid()}-{uuid.uuid4().hex[:8]}"

    def _remove(self, path: Path) -> None:
        """Rename, then delete: a half-deleted folder is never a run either."""
        try:
            aside = path.rename(self._aside(path))
        except OSError:  # another thread or server was first
            return
        shutil.rmtree(aside, ignore_errors=True)


def _write(folder: Path, result: Result) -> None:
    folder.mkdir()
    tensors = {name: tensor.detach().cpu().clone().contiguous() for name, tensor in result.state.items()}
    parts = (
        result.history.to_parquet(index=False),
        result.summary.to_parquet(index=False),
        result.travel.to_parquet(index=False),
        safetensors.torch.save(tensors),
    )
    for name, data in zip(PARTS, parts, strict=True):
        (folder / name).write_bytes(data)
    digests = {name: hashlib.sha256(data).hexdigest() for name, data in zip(PARTS, parts, strict=True)}
    text = json.dumps({"experiment": result.experiment.as_dict(), "sha256": digests}, indent=1)
    (folder / "experiment.json").write_text(text, encoding="utf-8")


def _read(folder: Path) -> Result:
    about = json.loads((folder / "experiment.json").read_text(encoding="utf-8"))
    data = {name: (folder / name).read_bytes() for name in PARTS}
    for name in PARTS:
        if hashlib.sha256(data[name]).hexdigest() != about["sha256"][name]:
            raise ValueError(f"{name} does not match its digest")
    return Result(
        experiment=from_dict(about["experiment"]),
        history=pd.read_parquet(BytesIO(data["history.parquet"])),
        summary=pd.read_parquet(BytesIO(data["summary.parquet"])),
        travel=pd.read_parquet(BytesIO(data["travel.parquet"])),
        state=safetensors.torch.load(data["weights.safetensors"]),
    )


def _size(folder: Path) -> int:
    try:
        return sum(part.stat().st_size for part in folder.iterdir())
    except FileNotFoundError:
        return 0


def _is_running(name: str) -> bool:
    """Whether the process that writes this unfinished folder, ".key-pid-random", is still there."""
    pid = name.split("-")[1]
    if not pid.isdigit():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True

"""Parkinsons: the user's folder, the cache, the download, and everything that can go wrong with them. The
network is a server on the loopback address with a made-up table."""

import hashlib
import io
import os
import socket
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from steinglm.datasets import available, design, fetch, load, prepare, remote
from steinglm.exceptions import DataUnavailableError

COLUMNS = ["subject#", "age", "sex", "test_time", "motor_UPDRS", "total_UPDRS", *(f"v{i}" for i in range(16))]
TABLE = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 22)).round(3), columns=COLUMNS)
CONTENT = TABLE.to_csv(index=False).encode()


def archive(content: bytes = CONTENT, name: str = remote.FILE) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as folder:
        folder.writestr(name, content)
        folder.writestr("parkinsons_updrs.names", "about")
    return buffer.getvalue()


class Server(ThreadingHTTPServer):
    body: bytes = archive()
    status: int = 200
    announced: int | None = None  # Content-Length, if not the truth
    requests: int = 0


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.requests += 1
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(self.server.announced or len(self.server.body)))
        self.end_headers()
        self.wfile.write(self.server.body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, no data folder, and no way out to the network."""
    monkeypatch.delenv("STEINGLM_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setattr(remote, "URL", "http://127.0.0.1:9/nothing.zip")
    monkeypatch.setattr(remote, "SHA256", hashlib.sha256(CONTENT).hexdigest())
    return tmp_path


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    with Server(("127.0.0.1", 0), Handler) as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        monkeypatch.setattr(remote, "URL", f"http://127.0.0.1:{running.server_port}/parkinsons.zip")
        yield running
        running.shutdown()
        thread.join()


def nothing_is_left(folder: Path) -> bool:
    return not any(path.is_file() for path in folder.rglob("*"))


def test_it_is_downloaded_once_with_a_progress_bar(
    server: Server, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not available("parkinsons") and server.requests == 0
    data = load("parkinsons")
    shown = capsys.readouterr()
    assert "parkinsons: 100%" in shown.err and shown.out == ""
    assert available("parkinsons")
    assert [path.name for path in (home / "cache" / "steinglm").iterdir()] == [remote.FILE]
    assert len(load("parkinsons").X) == 30 and server.requests == 1
    pd.testing.assert_frame_equal(data.X, TABLE.drop(columns=["subject#", "motor_UPDRS", "total_UPDRS"]))
    pd.testing.assert_series_equal(data.y, TABLE["total_UPDRS"])
    assert data.code == "D5" and prepare(data, 0).X_train.shape == (19, 19)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"body": archive(CONTENT.replace(b"1", b"2"))}, "SHA-256"),
        ({"body": b"<html>no archive</html>"}, "not a zip file"),
        ({"body": archive()[:-40], "announced": len(archive())}, "not a zip file"),
        ({"body": archive(name="other.data")}, "does not hold one parkinsons_updrs.data"),
        ({"body": archive()[:60] + b"\0" * 20 + archive()[80:]}, "could not be downloaded"),
        ({"status": 404}, "404"),
    ],
)
def test_a_bad_download_is_never_taken(
    server: Server, home: Path, change: dict[str, object], reason: str
) -> None:
    for name, value in change.items():
        setattr(server, name, value)
    with pytest.raises(DataUnavailableError, match=reason) as caught:
        load("parkinsons")
    for part in (remote.URL, "archive.ics.uci.edu/dataset/189", "STEINGLM_DATA", remote.FILE):
        assert part in str(caught.value)
    assert nothing_is_left(home) and not available("parkinsons")


def test_a_download_without_end_is_cut_off(
    server: Server, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "LARGEST", 100)
    with pytest.raises(DataUnavailableError, match="more than 100 bytes"):
        load("parkinsons")
    assert nothing_is_left(home)


def test_without_a_network_the_error_says_what_to_do(home: Path) -> None:
    with pytest.raises(DataUnavailableError, match="STEINGLM_DATA to the folder that holds it"):
        load("parkinsons")
    assert nothing_is_left(home)


def test_a_silent_server_times_out(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setattr(remote, "URL", f"http://127.0.0.1:{silent.getsockname()[1]}/x.zip")
        monkeypatch.setattr(fetch, "TIMEOUT", 0.2)
        with pytest.raises(DataUnavailableError, match="timed out"):
            load("parkinsons")


def test_a_half_written_cache_is_fetched_again(server: Server, home: Path) -> None:
    cached = home / "cache" / "steinglm" / remote.FILE
    cached.parent.mkdir(parents=True)
    cached.write_bytes(CONTENT[:500])
    assert not available("parkinsons")
    assert len(load("parkinsons").X) == 30
    assert cached.read_bytes() == CONTENT


def test_a_failed_rename_leaves_nothing(server: Server, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError("read-only")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(DataUnavailableError, match="read-only"):
        load("parkinsons")
    assert nothing_is_left(home)


@pytest.mark.parametrize("name", remote.LOCAL_FILES)
def test_the_users_folder_comes_first(home: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    (home / "mine").mkdir()
    if name.endswith(".parquet"):
        TABLE.to_parquet(home / "mine" / name)
    else:
        (home / "mine" / name).write_bytes(CONTENT)
    monkeypatch.setenv("STEINGLM_DATA", str(home / "mine"))
    assert available("parkinsons")
    np.testing.assert_array_equal(load("parkinsons").y, TABLE["total_UPDRS"])


@pytest.mark.parametrize("name", remote.LOCAL_FILES)
@pytest.mark.parametrize("content", [b"", b"a,b\n1,2\n", b"\0\xff\xfe"])
def test_a_wrong_file_in_the_users_folder_is_named(
    home: Path, monkeypatch: pytest.MonkeyPatch, name: str, content: bytes
) -> None:
    (home / name).write_bytes(content)
    monkeypatch.setenv("STEINGLM_DATA", str(home))
    with pytest.raises(DataUnavailableError, match=name):
        load("parkinsons")


def test_an_empty_folder_falls_through_to_the_download(
    server: Server, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STEINGLM_DATA", str(home / "absent"))
    assert len(load("parkinsons").X) == 30


REAL = os.environ.get("STEINGLM_DATA")


@pytest.mark.skipif(not REAL, reason="STEINGLM_DATA is not set: the real table is not at hand")
def test_the_real_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEINGLM_DATA", str(REAL))
    data = load("parkinsons")
    X, y = design(data)
    assert X.shape == (5875, 19) and y.min() == 0 and y.max() == 1
    assert not {"subject#", "motor_UPDRS", "total_UPDRS"} & set(X.columns)

"""Where downloaded files are kept, and that they are whole. The network's faults are in test_remote.py."""

import os
import sys
from pathlib import Path

import pytest

from steinglm.datasets import fetch


@pytest.mark.parametrize(
    ("platform", "variable", "expected"),
    [
        ("linux", "", ".cache/steinglm"),
        ("darwin", "", "Library/Caches/steinglm"),
        ("win32", "", "AppData/Local/steinglm/Cache"),
        ("linux", "relative", ".cache/steinglm"),  # the XDG rules: a relative path is ignored
    ],
)
def test_the_cache_is_where_the_system_keeps_caches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, platform: str, variable: str, expected: str
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", variable)
    monkeypatch.delenv("LOCALAPPDATA", raising=False)
    assert fetch.cache_folder() == tmp_path / expected


def test_the_first_name_in_the_users_folder_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").mkdir()  # a folder is no file
    for name in ("b", "c"):
        (tmp_path / name).touch()
    monkeypatch.setenv("STEINGLM_DATA", str(tmp_path))
    assert fetch.own_file("a", "b", "c") == tmp_path / "b" and fetch.own_file("d") is None
    monkeypatch.delenv("STEINGLM_DATA")
    assert fetch.own_file("b") is None


def test_a_stored_file_replaces_the_one_before(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "file"
    for content in (b"first", b"second"):
        assert fetch.store(content, path).read_bytes() == content
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("step", ["fdopen", "replace"])
@pytest.mark.parametrize("failure", [OSError, KeyboardInterrupt])
def test_what_could_not_be_stored_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, failure: type[BaseException]
) -> None:
    def fail(*_: object) -> None:
        raise failure("the disk is full")

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(failure):
        fetch.store(b"content", tmp_path / "file")
    assert list(tmp_path.iterdir()) == []

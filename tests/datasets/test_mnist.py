"""MNIST: the embedded part, the choice of two digits, the user's folder, the cache, the download, and what can go
wrong with an archive. All of MNIST is made up here, of forty images, with a checksum of its own."""

import hashlib
import io
import os
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from steinglm.datasets import mnist
from steinglm.datasets.mnist import FILE, KEYS, PAIRS, available, find, load_pair
from steinglm.exceptions import DataUnavailableError, InvalidInputError

PIXELS = np.random.default_rng(0).integers(0, 256, (40, 28, 28), dtype=np.uint8)
LABELS = np.arange(40, dtype=np.uint8) % 10
WHOLE = {"x_train": PIXELS[:30], "y_train": LABELS[:30], "x_test": PIXELS[30:], "y_test": LABELS[30:]}
PART_SHA256 = (
    "8865d071f11867360dcf309c0990fb02d19efc2f4b0942603f1b6864fe06bbfe"  # of the arrays, in KEYS' order
)
REAL = os.environ.get("STEINGLM_DATA")
REAL_SHA256 = mnist.SHA256


def digest(arrays: dict[str, np.ndarray]) -> str:
    return hashlib.sha256(b"".join(arrays[key].tobytes() for key in KEYS)).hexdigest()


def archive(save: Callable[..., None] = np.savez_compressed, **changes: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    save(buffer, **{**WHOLE, **changes})
    return buffer.getvalue()


def archive_of(members: dict[str, bytes]) -> bytes:
    """The archive with these members in place of its own; an empty one is left out."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive())) as whole, zipfile.ZipFile(buffer, "w") as made:
        for name in whole.namelist():
            if content := members.get(name, whole.read(name)):
                made.writestr(name, content)
    return buffer.getvalue()


def promise(*shape: int) -> bytes:
    """A .npy file that has a header of this shape and nothing else."""
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": "|u1", "fortran_order": False, "shape": shape})
    return buffer.getvalue()


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, no data folder, no way out to the network, and the made-up images for all of MNIST."""
    monkeypatch.delenv("STEINGLM_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setattr(mnist, "URL", "http://127.0.0.1:9/nothing.npz")
    monkeypatch.setattr(mnist, "SHA256", digest(WHOLE))
    return tmp_path


@pytest.fixture
def own(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the user's own archive would lie."""
    monkeypatch.setenv("STEINGLM_DATA", str(home))
    return home / FILE


def serve(content: bytes, home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make this what the address holds, and return the path behind it."""
    served = home / "served"
    served.write_bytes(content)
    monkeypatch.setattr(mnist, "URL", served.as_uri())
    return served


@pytest.mark.parametrize("pair", [*PAIRS, (1, 0)])
def test_a_pair_of_the_embedded_part(pair: tuple[int, int]) -> None:
    images = load_pair(pair, complete=False)
    assert (images.name, images.pair, images.complete) == (f"mnist_{pair[0]}_{pair[1]}", pair, False)
    for X, y, n in (
        (images.X_train, images.y_train, 500),
        (images.X_test, images.y_test, 100),
    ):
        assert X.shape == (2 * n, 1, 28, 28) and X.dtype == torch.float32
        assert X.min() == 0 and X.max() == 1
        assert y.shape == (2 * n,) and y.dtype == torch.float64
        assert (y == 0).sum() == (y == 1).sum() == n


def test_class_one_is_the_second_digit() -> None:
    images, turned = load_pair((3, 5), complete=False), load_pair((5, 3), complete=False)
    with np.load(mnist.PART, allow_pickle=False) as part:
        fives = torch.from_numpy(part["x_train"][part["y_train"] == 5])
    assert torch.equal(images.X_train[images.y_train == 1, 0] * 255, fives.float())
    assert torch.equal(turned.X_train, images.X_train) and torch.equal(turned.y_train, 1 - images.y_train)


def test_the_images_are_the_callers_own() -> None:
    images = load_pair((3, 5), complete=False)
    images.X_train.zero_(), images.y_train.zero_()
    again = load_pair((3, 5), complete=False)
    assert again.X_train.any() and again.y_train.any()


@pytest.mark.parametrize(
    "pair", [(3, 3), (3,), (3, 5, 8), (-1, 3), (3, 10), (3.0, 5), (True, 3), [3, 5], "35", None]
)
def test_a_bad_pair_is_refused(pair: object) -> None:
    with pytest.raises(
        InvalidInputError, match=r"pair must be .*two different digits.*got .*\(3, 5\), \(4, 9\)"
    ):
        load_pair(pair, complete=False)


def test_the_embedded_part_has_as_many_of_every_digit() -> None:
    with np.load(mnist.PART, allow_pickle=False) as part:
        arrays = {key: part[key] for key in KEYS}
    assert np.bincount(arrays["y_train"]).tolist() == [500] * 10
    assert np.bincount(arrays["y_test"]).tolist() == [100] * 10
    assert digest(arrays) == PART_SHA256
    assert mnist.PART.stat().st_size < 1_000_000


def test_the_embedded_part_is_attributed() -> None:
    text = (mnist.PART.parent / "ATTRIBUTION.md").read_text(encoding="utf-8")
    assert mnist.PART.name in text and "CC BY-SA 3.0" in text


def test_the_users_folder_comes_first(own: Path) -> None:
    assert not available()
    own.write_bytes(archive())
    assert available() and find() == own
    images = load_pair((4, 9), complete=True)
    assert images.complete and images.X_train.shape == (6, 1, 28, 28) and images.y_test.tolist() == [0, 1]
    assert torch.equal(images.X_test[1, 0], torch.from_numpy(PIXELS[39]).float() / 255)


@pytest.mark.parametrize(
    "same",
    [
        archive(np.savez),
        archive(y_train=WHOLE["y_train"].astype(np.int64)),
        archive(x_train=np.asfortranarray(WHOLE["x_train"])),
    ],
)
def test_only_the_values_count_for_the_checksum(own: Path, same: bytes) -> None:
    own.write_bytes(same)
    images = load_pair((4, 9), complete=True)
    assert torch.equal(images.X_train[0, 0], torch.from_numpy(PIXELS[4]).float() / 255)


def test_a_changed_file_is_read_again(own: Path) -> None:
    own.write_bytes(archive())
    load_pair((4, 9), complete=True)
    own.write_bytes(b"")
    os.utime(own, ns=(0, 0))
    with pytest.raises(DataUnavailableError):
        load_pair((4, 9), complete=True)


BROKEN = {
    "empty": (b"", "not a zip file"),
    "cut off": (archive()[:-40], "not a zip file"),
    "damaged": (archive()[:3000] + bytes(100) + archive()[3100:], "no archive of MNIST"),
    "other pixels": (archive(x_train=255 - WHOLE["x_train"]), "SHA-256 of its arrays is"),
    "an array too few": (archive_of({"y_test.npy": b""}), "y_test.npy"),
    "no array": (archive_of({"x_test.npy": b"text"}), "magic string"),
    "a pickle": (archive_of({"x_test.npy": pickle.dumps(0)}), "magic string"),
    "objects": (archive(y_test=np.array([{}, None])), "allow_pickle"),
    "an empty promise": (archive_of({"x_test.npy": promise(10**6, 28, 28)}), "no archive of MNIST"),
    "a vast promise": (archive_of({"x_test.npy": promise(10**12, 28, 28)}), "no archive of MNIST"),
    "flat": (archive(x_train=WHOLE["x_train"].reshape(30, -1)), r"x_train is uint8 \(30, 784\)"),
    "a number": (archive(y_test=np.uint8(3)), r"y_test is uint8 \(\)"),
    "fractions": (archive(x_test=WHOLE["x_test"] / 255), "x_test is float64"),
    "labels of another kind": (archive(y_test=WHOLE["y_test"].astype(float)), "y_test is float64"),
}


@pytest.mark.parametrize(("content", "reason"), BROKEN.values(), ids=BROKEN)
def test_a_broken_archive_of_the_users_is_named(own: Path, content: bytes, reason: str) -> None:
    own.write_bytes(content)
    with pytest.raises(DataUnavailableError, match=reason) as caught:
        load_pair((3, 5), complete=True)
    assert str(own) in str(caught.value) and "complete=False" in str(caught.value)


@pytest.mark.parametrize("name", ["cut off", "damaged", "other pixels"])
def test_a_broken_archive_is_never_taken_from_the_network(
    home: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    content, reason = BROKEN[name]
    serve(content, home, monkeypatch)
    with pytest.raises(DataUnavailableError, match=reason):
        load_pair((3, 5), complete=True)
    assert not (home / "cache").exists() and not available()


def test_an_archive_that_would_unpack_to_too_much_is_not_unpacked(
    own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own.write_bytes(archive_of({"x_test.npy": bytes(200_000)}))
    monkeypatch.setattr(mnist, "LARGEST", 100_000)
    monkeypatch.setattr(zipfile.ZipFile, "open", lambda *_: pytest.fail("a member was read"))
    with pytest.raises(DataUnavailableError, match=r"would unpack to 2\d{5} bytes"):
        load_pair((3, 5), complete=True)


def test_a_download_without_end_is_cut_off(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    serve(archive(), home, monkeypatch)
    monkeypatch.setattr(mnist, "LARGEST", 100)
    with pytest.raises(DataUnavailableError, match="more than 100 bytes"):
        load_pair((3, 5), complete=True)


def test_it_is_downloaded_once_with_a_progress_bar(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    served = serve(archive(), home, monkeypatch)
    assert not available()
    images = load_pair((3, 5), complete=True)
    assert "mnist: 100%" in capsys.readouterr().err
    served.unlink()
    assert available() and find() == home / "cache" / "steinglm" / FILE
    assert torch.equal(load_pair((3, 5), complete=True).X_train, images.X_train)


def test_a_damaged_cache_is_fetched_again(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cached = home / "cache" / "steinglm" / FILE
    cached.parent.mkdir(parents=True)
    cached.write_bytes(archive()[:3000])
    assert not available()
    serve(archive(), home, monkeypatch)
    load_pair((3, 5), complete=True)
    assert cached.read_bytes() == archive()


def test_without_a_network_the_error_says_what_to_do(home: Path) -> None:
    with pytest.raises(DataUnavailableError, match="could not be downloaded") as caught:
        load_pair((3, 5), complete=True)
    for part in (mnist.URL, FILE, "STEINGLM_DATA", "complete=False takes the embedded part"):
        assert part in str(caught.value)
    assert not (home / "cache").exists()


@pytest.mark.skipif(
    not REAL or not (Path(REAL) / FILE).is_file(),
    reason=f"no {FILE} in STEINGLM_DATA: all of MNIST is not at hand",
)
def test_the_embedded_part_is_the_first_of_every_digit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEINGLM_DATA", str(REAL))
    monkeypatch.setattr(mnist, "SHA256", REAL_SHA256)
    for pair in ((0, 1), (2, 3), (4, 5), (6, 7), (8, 9)):
        part, whole = load_pair(pair, complete=False), load_pair(pair, complete=True)
        for X, y, all_X, all_y, n in (
            (part.X_train, part.y_train, whole.X_train, whole.y_train, 500),
            (part.X_test, part.y_test, whole.X_test, whole.y_test, 100),
        ):
            first = [(all_y == label).nonzero()[:n, 0] for label in (0, 1)]
            order = torch.cat(first).sort().values
            assert torch.equal(X, all_X[order]) and torch.equal(y, all_y[order])

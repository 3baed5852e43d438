"""Places that refuse files, found before the work and answered with what helps; and what is made once and kept."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from pathlib import Path

import numpy as np
import pytest

from cajole import storage
from cajole.errors import FileError


@pytest.mark.parametrize(
    ("number", "remedy"),
    [
        (errno.ENOSPC, "free some space"),
        (errno.EACCES, "choose a folder that you may write to"),
        (errno.EROFS, "choose a folder that you may write to"),
        (errno.ENOENT, "no file can be made in this folder"),
        (errno.ENOTDIR, "part of the path is a file"),
        (errno.EISDIR, "this is a folder"),
        (errno.ENAMETOOLONG, "choose a shorter name"),
        (errno.EIO, "choose another place"),
    ],
)
def test_remedy_fits_the_reason_bad_input(number: int, remedy: str) -> None:
    said = str(storage.build_write_error(Path("a.glb"), OSError(number, os.strerror(number))))
    assert said.startswith(f"cannot write a.glb: {os.strerror(number)}; {remedy}")
    assert ("free some space" in said) == (number == errno.ENOSPC)


def test_place_identity(tmp_path: Path) -> None:
    """Looking at a place makes neither a file nor a folder."""
    storage.require_writable_path(tmp_path / "deep" / "folder" / "a.npz")
    (tmp_path / "old.npz").write_text("old")
    storage.require_writable_path(tmp_path / "old.npz")
    assert [path.name for path in tmp_path.iterdir()] == ["old.npz"]
    assert (tmp_path / "old.npz").read_text() == "old"


def test_place_bad_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "plain").write_text("a file")
    with pytest.raises(FileError, match=r"plain/deep/a\.npz: .*part of the path is a file"):
        storage.require_writable_path(tmp_path / "plain" / "deep" / "a.npz")
    with pytest.raises(FileError, match="this is a folder: give the name of a file"):
        storage.require_writable_path(tmp_path)
    with pytest.raises(FileError, match="choose a shorter name"):
        storage.require_writable_path(tmp_path / ("a" * 300 + ".npz"))

    def refused(**_: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(storage.tempfile, "TemporaryFile", refused)
    with pytest.raises(FileError, match="Read-only file system; choose a folder that you may write to"):
        storage.require_writable_path(tmp_path / "a.npz")


def test_missing_arrays_bad_input(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"none\.npz does not exist; check the name and the folder$"):
        storage.read_arrays(tmp_path / "none.npz")


def test_cached_identity(own_cache: Path) -> None:
    """Made once, the same when it is read back, and made again where what was stored is damaged."""
    made: list[int] = []

    def make() -> dict[str, np.ndarray]:
        made.append(1)
        return {"a": np.arange(3.0)}

    for _ in range(2):
        assert storage.load_or_compute("kind", "key", make)["a"].tolist() == [0.0, 1.0, 2.0]
    assert len(made) == 1
    (own_cache / "kind" / "key.npz").write_bytes(b"damaged")
    assert storage.load_or_compute("kind", "key", make)["a"].tolist() == [0.0, 1.0, 2.0]
    assert len(made) == 2


def test_a_file_is_synced_before_it_is_moved_and_its_folder_after_identity(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a writer returns from survives a power failure: content first, then the name, then the folders' entries."""
    said: list[str] = []
    replace, fsync = os.replace, os.fsync

    def syncs(handle: int) -> None:
        said.append(f"sync {'folder' if stat.S_ISDIR(os.fstat(handle).st_mode) else 'file'}")
        fsync(handle)

    def moves(source: object, target: Path) -> None:
        said.append("move")
        replace(source, target)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "fsync", syncs)
    monkeypatch.setattr(os, "replace", moves)
    with storage.replace_atomically(tmp_path / "a.txt") as path:
        path.write_text("content")
    assert said == ["sync file", "move", "sync folder"]
    said.clear()
    with storage.replace_atomically(tmp_path / "new" / "deep" / "a.txt") as path:
        path.write_text("content")
    # the entries of both new folders are synced as well
    assert said == ["sync folder", "sync folder", "sync file", "move", "sync folder"]


@pytest.mark.parametrize(("number", "fails"), [(errno.EIO, True), (errno.EINVAL, False), (errno.EBADF, False)])
def test_a_folder_that_cannot_be_synced_is_an_error_unless_it_never_can_bad_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, fails: bool
) -> None:
    """Some file systems have no sync of folders; a disk that fails to do one has not stored the file's name."""
    fsync = os.fsync

    def refuses(handle: int) -> None:
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(number, os.strerror(number))
        fsync(handle)

    monkeypatch.setattr(os, "fsync", refuses)
    with contextlib.ExitStack() as stack:
        if fails:
            stack.enter_context(pytest.raises(FileError, match="may be lost if the power fails"))
        with storage.replace_atomically(tmp_path / "a.txt") as path:
            path.write_text("content")
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_left_over_temporaries_are_known_by_their_names_identity(tmp_path: Path) -> None:
    for name in (".hidden", ".DS_Store", "project.json", ".git-keep", "a-bcdefghi.json"):
        (tmp_path / name).write_text("")
    with (
        storage.replace_atomically(tmp_path / "project.json") as one,
        storage.replace_atomically(tmp_path / "none") as other,
    ):
        assert set(storage.find_temporary_files(tmp_path)) == {one, other}
        one.write_text("")
        other.write_text("")
    assert storage.find_temporary_files(tmp_path) == []
    assert storage.find_temporary_files(tmp_path / "nothere") == []


def test_arrays_are_written_as_they_are_identity(tmp_path: Path) -> None:
    """The file holds the arrays and nothing else, with every version of NumPy."""
    arrays = {"a": np.arange(3.0), "words": np.array(["x", "yy"])}
    storage.write_arrays(tmp_path / "a.npz", arrays)
    with np.load(tmp_path / "a.npz", allow_pickle=False) as found:
        assert set(found.files) == set(arrays)
    with pytest.raises(TypeError, match="objects cannot be written: o"):
        storage.write_arrays(tmp_path / "b.npz", {"o": np.array([None])})
    assert not (tmp_path / "b.npz").exists()

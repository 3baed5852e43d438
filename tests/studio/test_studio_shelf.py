"""Projects on disk: whole or as they were, never read from elsewhere, never unpickled."""

from __future__ import annotations

import json
import os
import shutil
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cajole.errors import FileError, InputError
from cajole.studio.locks import LOCK_FILE
from cajole.studio.modes.base import ModeSnapshot
from cajole.studio.project_store import (
    DOCUMENT_NAME,
    MAX_UNPACKED_BYTES,
    ProjectRecord,
    ProjectSource,
    ProjectStore,
    generate_id,
    get_default_folder,
    pack_project,
    unpack_project,
)


@pytest.fixture
def shelf(tmp_path) -> ProjectStore:
    return ProjectStore(tmp_path / "studio")


def record(**changes) -> ProjectRecord:
    saved = ModeSnapshot({"drags": [1, 2], "name": "ä"}, {"states": np.arange(6.0).reshape(2, 3)})
    plain = ProjectRecord(
        generate_id(),
        "Sway",
        "edit",
        ProjectSource(scene="twist", mode="edit"),
        {"edit": saved},
        frame=3,
        changed_at=5.0,
    )
    return replace(plain, **changes)


def test_what_is_kept_comes_back_identity(shelf):
    kept = record(summary="2 drags")
    shelf.save(kept)
    found = shelf.load(kept.id)
    for name in ("id", "name", "mode", "source", "frame", "summary", "changed_at", "motion_files"):
        assert getattr(found, name) == getattr(kept, name)
    assert found.snapshots["edit"].document == kept.snapshots["edit"].document
    np.testing.assert_array_equal(found.snapshots["edit"].arrays["states"], kept.snapshots["edit"].arrays["states"])


def test_old_arrays_go_and_present_ones_are_not_written_again_identity(shelf):
    kept = record()
    shelf.save(kept)
    (first,) = shelf.get_folder(kept.id).glob("arrays-*.npz")
    written = first.stat().st_mtime_ns
    shelf.save(replace(kept, name="Other"))
    assert first.stat().st_mtime_ns == written
    shelf.save(replace(kept, snapshots={"edit": ModeSnapshot({}, {"states": np.zeros(2)})}))
    (second,) = shelf.get_folder(kept.id).glob("arrays-*.npz")
    assert second != first


def test_a_save_that_fails_leaves_what_was_kept_bad_input(shelf, monkeypatch):
    kept = record()
    shelf.save(kept)

    def full(*arguments, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FileError, match="free some space"):
        shelf.save(replace(kept, name="Lost", snapshots={"edit": ModeSnapshot({}, {"states": np.zeros(2)})}))
    monkeypatch.undo()
    assert shelf.load(kept.id).name == "Sway"
    assert not list(shelf.get_folder(kept.id).glob(".*"))


def test_the_last_changed_comes_first_and_damage_is_left_out_identity(shelf):
    old, new = record(changed_at=1.0), record(changed_at=2.0)
    shelf.save(old)
    shelf.save(new)
    (shelf.folder / "projects" / "broken1").mkdir()
    (shelf.folder / "projects" / "broken1" / DOCUMENT_NAME).write_text("{", encoding="utf-8")
    assert [found.id for found in shelf.list_recent()] == [new.id, old.id]
    shelf.delete(new.id)
    assert [found.id for found in shelf.list_recent()] == [old.id]


@pytest.mark.parametrize("name", ["", "..", "../x", "ab", "x" * 40, "UPPERCASE1", "a/b/c/d/e", "nothere00", None])
def test_only_ids_lead_to_folders_bad_input(shelf, name):
    with pytest.raises((InputError, FileError)):
        shelf.load(name)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"format": "other"}, "no project"),
        ({"version": 2}, "version 2"),
        ({"mode": "dance"}, "dance"),
        ({"frame": "x"}, "damaged"),
        ({"modes": {"edit": {"document": {}, "given": "../../secret.npz"}}}, "cannot be one of its own"),
        ({"source": {"file": "/etc/passwd"}}, "cannot be one of its own"),
        ({"arrays": "nothere.npz"}, "nothere.npz does not exist"),
        ({"arrays": ".."}, "cannot be one of its own"),
        ({"modes": 3}, "damaged"),
        ({"frame": -5}, "frame of the document is -5"),
        ({"frame": 2.5}, "damaged"),
        ({"frame": True}, "damaged"),
        ({"frame": 10**30}, "damaged"),
        ({"when": 10**400}, "damaged"),
        ({"when": "today"}, "damaged"),
        ({"name": 3}, "name of the document is .* must be text"),
        ({"name": "x" * 20_000}, "name of the document is .* must be text"),
        ({"text": None}, "text of the document is None"),
        ({"source": {}}, "lacks file, or scene and mode"),
        ({"source": []}, "source of the document is"),
        ({"source": {"scene": 3, "mode": "edit"}}, "scene of source of the document is 3"),
        ({"source": {"scene": "twist", "mode": "dance"}}, "dance"),
        ({"modes": {"edit": 3}}, "damaged"),
        ({"modes": {"edit": {"document": [], "given": None}}}, "document of 'edit' of modes of the document is"),
        ({"modes": {"edit": {"document": {}}}}, "needs given, which is missing"),
        ({"mode": []}, "mode of the document is"),
    ],
)
def test_damaged_documents_say_where_bad_input(shelf, change, said):
    kept = record()
    shelf.save(kept)
    path = shelf.get_folder(kept.id) / DOCUMENT_NAME
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}), encoding="utf-8")
    with pytest.raises(FileError, match=said):
        shelf.load(kept.id)
    # nor do they keep the others from being listed
    assert [found.id for found in shelf.list_recent()] in ([], [kept.id])


@pytest.mark.parametrize("word", ["NaN", "Infinity", "1e999999", "[" * 5000])
def test_documents_of_what_is_no_number_are_damaged_bad_input(shelf, word):
    kept = record()
    shelf.save(kept)
    path = shelf.get_folder(kept.id) / DOCUMENT_NAME
    path.write_text(path.read_text().replace('"when": 5.0', f'"when": {word}'), encoding="utf-8")
    with pytest.raises(FileError):
        shelf.load(kept.id)
    assert shelf.list_recent() == []


def test_a_copied_folder_is_a_project_of_its_own_identity(shelf):
    kept = record()
    shelf.save(kept)
    shutil.copytree(shelf.get_folder(kept.id), shelf.get_folder("copied00"))
    copied = shelf.load("copied00")
    assert copied.id == "copied00"
    shelf.save(replace(copied, name="Changed"))
    assert (shelf.load(kept.id).name, shelf.load("copied00").name) == ("Sway", "Changed")
    assert {found.id for found in shelf.list_recent()} == {kept.id, "copied00"}


def test_a_copy_has_all_files_and_the_name_says_so_identity(shelf):
    kept = record(source=ProjectSource(file="source.npz"), motion_files={"edit": "given-0.npz"})
    shelf.save(kept)
    for name in ("source.npz", "given-0.npz"):
        (shelf.get_folder(kept.id) / name).write_bytes(name.encode())
    found = shelf.copy(kept.id)
    assert (found.name, shelf.load(found.id).name) == ("Sway (copy)", "Sway (copy)")
    for name in ("source.npz", "given-0.npz"):
        assert (shelf.get_folder(found.id) / name).read_bytes() == name.encode()
    np.testing.assert_array_equal(shelf.load(found.id).snapshots["edit"].arrays["states"], np.arange(6.0).reshape(2, 3))
    # what cannot be copied leaves nothing
    (shelf.get_folder(kept.id) / "given-0.npz").unlink()
    with pytest.raises(FileError):
        shelf.copy(kept.id)
    assert {path.name for path in (shelf.folder / "projects").iterdir()} == {kept.id, found.id}


def test_pickled_arrays_are_never_read_bad_input(shelf):
    kept = record()
    shelf.save(kept)
    (arrays,) = shelf.get_folder(kept.id).glob("arrays-*.npz")
    np.savez(arrays, **{"edit.states": np.array([{"a": 1}], dtype=object)})
    with pytest.raises(FileError, match="cannot read arrays"):
        shelf.load(kept.id)


def test_the_folder_follows_the_environment_identity(monkeypatch, tmp_path):
    monkeypatch.setenv("CAJOLE_STUDIO", str(tmp_path / "a"))
    assert get_default_folder() == tmp_path / "a"
    monkeypatch.delenv("CAJOLE_STUDIO")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "b"))
    assert get_default_folder() == tmp_path / "b" / "cajole" / "studio"
    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    assert get_default_folder() == tmp_path / ".local" / "share" / "cajole" / "studio"


# --- in one file


def test_a_packed_project_comes_back_under_another_id_identity(shelf, tmp_path):
    kept = record()
    shelf.save(kept)
    shelf.create_lock(kept.id).acquire()
    pack_project(shelf, kept.id, tmp_path / "sway.cajole")
    other = ProjectStore(tmp_path / "elsewhere")
    found = unpack_project(other, tmp_path / "sway.cajole")
    assert found.id != kept.id
    again = other.load(found.id)
    assert (again.name, again.mode, again.source) == (kept.name, kept.mode, kept.source)
    np.testing.assert_array_equal(again.snapshots["edit"].arrays["states"], kept.snapshots["edit"].arrays["states"])
    assert not (other.get_folder(found.id) / LOCK_FILE).exists()


def zipped(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


BAD = {
    "climbs out": {DOCUMENT_NAME: b"{}", "../evil.npz": b"x"},
    "absolute": {DOCUMENT_NAME: b"{}", "/tmp/evil.npz": b"x"},
    "folders": {DOCUMENT_NAME: b"{}", "a/b.npz": b"x"},
    "backslash": {DOCUMENT_NAME: b"{}", "a\\b.npz": b"x"},
    "hidden": {DOCUMENT_NAME: b"{}", ".bashrc": b"x"},
    "no document": {"arrays.npz": b"x"},
    "no project": {DOCUMENT_NAME: b"{}"},
    "no JSON": {DOCUMENT_NAME: b"\xff"},
    "deep": {DOCUMENT_NAME: b"[" * 100_000},
    "many": {DOCUMENT_NAME: b"{}", **{f"f{k}": b"" for k in range(300)}},
}


@pytest.mark.parametrize("members", BAD.values(), ids=BAD)
def test_files_that_are_no_project_leave_nothing_bad_input(shelf, tmp_path, members):
    with pytest.raises(FileError):
        unpack_project(shelf, zipped(tmp_path / "bad.cajole", members))
    files = {path for path in tmp_path.rglob("*") if path.is_file()}
    assert files - {shelf.folder / "guard.lock"} == {tmp_path / "bad.cajole"}
    assert not shelf.list_recent()


def test_a_bomb_is_not_unpacked_bad_input(shelf, tmp_path, monkeypatch):
    monkeypatch.setattr("cajole.studio.project_store.MAX_UNPACKED_BYTES", 100_000)
    honest = zipped(tmp_path / "honest.cajole", {DOCUMENT_NAME: b"{}", "arrays.npz": bytes(1_000_000)})
    with pytest.raises(FileError, match="more than a project has"):
        unpack_project(shelf, honest)
    # a directory that lies about its sizes is found out on the way, or by its checksum
    lying = bytearray(honest.read_bytes())
    true = (1_000_000).to_bytes(4, "little")
    while (at := lying.find(true)) >= 0:
        lying[at : at + 4] = (10).to_bytes(4, "little")
    (tmp_path / "lying.cajole").write_bytes(bytes(lying))
    with pytest.raises(FileError):
        unpack_project(shelf, tmp_path / "lying.cajole")
    assert not list((shelf.folder / "projects").glob("*"))


def test_no_zip_at_all_bad_input(shelf, tmp_path):
    (tmp_path / "x.cajole").write_bytes(b"not a zip")
    with pytest.raises(FileError, match="no project"):
        unpack_project(shelf, tmp_path / "x.cajole")
    with pytest.raises(FileError):
        unpack_project(shelf, tmp_path / "nothere.cajole")
    assert MAX_UNPACKED_BYTES > 1_000_000_000

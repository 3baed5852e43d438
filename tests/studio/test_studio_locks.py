"""One studio writes to a project at a time: locks, stale locks, copies, and what killed studios leave."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from studio_cases import running, sway_file

from cajole.errors import FileError, InputError
from cajole.studio import locks
from cajole.studio.locks import (
    LOCK_FILE,
    FolderLock,
    FolderLocked,
    FolderLockOwner,
    read_boot_id,
    read_owner,
    read_process_start,
)
from cajole.studio.project_manager import ProjectManager
from cajole.studio.project_store import DOCUMENT_NAME, ProjectRecord, ProjectSource, ProjectStore, generate_id
from waiting import PATIENCE

NODE = 20


@pytest.fixture
def shelf(tmp_path: Path) -> ProjectStore:
    return ProjectStore(tmp_path / "studio")


@pytest.fixture
def project(shelf: ProjectStore) -> str:
    kept = ProjectRecord(generate_id(), "Sway", "edit", ProjectSource(scene="twist", mode="edit"))
    shelf.save(kept)
    return kept.id


@pytest.fixture
def other() -> Iterator[subprocess.Popen[bytes]]:
    """A process that runs until it is killed."""
    command = [sys.executable, "-c", "print(flush=True); input()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as started:
        assert started.stdout is not None
        started.stdout.readline()
        yield started
        started.kill()


def owner_of(pid: int, project: str, **changes: object) -> FolderLockOwner:
    """The owner that a process of this host would write."""
    made = FolderLockOwner(socket.gethostname(), pid, read_process_start(pid) or "", read_boot_id(), project, "0123")
    return replace(made, **changes)  # type: ignore[arg-type]


def write_owner(shelf: ProjectStore, owner: FolderLockOwner, project: str) -> None:
    (shelf.get_folder(project) / LOCK_FILE).write_text(json.dumps(asdict(owner)), encoding="utf-8")


def test_the_lock_names_its_owner_and_goes_with_it_identity(shelf: ProjectStore, project: str) -> None:
    lock = shelf.create_lock(project)
    assert read_owner(shelf.get_folder(project)) is None
    lock.acquire()
    lock.acquire()
    found = read_owner(shelf.get_folder(project))
    assert found is not None
    assert (found.host, found.pid, found.folder) == (socket.gethostname(), os.getpid(), project)
    assert found.started == read_process_start(os.getpid())
    with pytest.raises(FolderLocked, match="open in this studio; open a copy"):
        shelf.create_lock(project).acquire()
    assert not shelf.has_stale_lock(project)
    lock.release()
    lock.release()
    with shelf.create_lock(project):
        pass
    assert read_owner(shelf.get_folder(project)) is None


def test_a_lock_of_a_running_process_counts_and_of_a_dead_one_does_not_identity(
    shelf: ProjectStore, project: str, other: subprocess.Popen[bytes]
) -> None:
    write_owner(shelf, owner_of(other.pid, project), project)
    said = f"another studio .process {other.pid} on {socket.gethostname()}"
    with pytest.raises(FolderLocked, match=said):
        shelf.create_lock(project).acquire()
    with pytest.raises(FolderLocked, match=said):
        shelf.delete(project)
    assert shelf.has_project(project)
    assert not shelf.has_stale_lock(project)
    other.kill()
    # killed, but its parent has not asked for its end: a zombie owns nothing
    os.waitid(os.P_PID, other.pid, os.WEXITED | os.WNOWAIT)
    assert shelf.has_stale_lock(project)
    other.wait()
    assert shelf.has_stale_lock(project)
    with shelf.create_lock(project):
        assert not shelf.has_stale_lock(project)


STALE = {
    "another boot": {"boot": "another"},
    "the pid was given to another process": {"started": "1"},
    "copied with its folder": {"folder": "copied00"},
    "copied with all folders around it": {"path": "/elsewhere/studio/projects/p", "device": 1, "inode": 1},
}


@pytest.mark.parametrize("changes", STALE.values(), ids=STALE)
def test_stale_locks_are_recognised_though_the_pid_is_in_use_identity(
    shelf: ProjectStore, project: str, other: subprocess.Popen[bytes], changes: dict[str, object]
) -> None:
    write_owner(shelf, owner_of(other.pid, project, **changes), project)
    with shelf.create_lock(project):
        found = read_owner(shelf.get_folder(project))
        assert found is not None
        assert found.pid == os.getpid()


def test_a_copy_of_the_whole_folder_is_not_locked_identity(tmp_path: Path, shelf: ProjectStore, project: str) -> None:
    """As `cp -r` makes it while a studio has the project open; a link to the folder is the folder itself."""
    with shelf.create_lock(project):
        copy = ProjectStore(Path(shutil.copytree(shelf.folder, tmp_path / "copy")))
        assert read_owner(copy.get_folder(project)) == read_owner(shelf.get_folder(project))
        assert not copy.has_stale_lock(project)
        with copy.create_lock(project):
            assert read_owner(copy.get_folder(project)) != read_owner(shelf.get_folder(project))
        (tmp_path / "link").symlink_to(shelf.folder, target_is_directory=True)
        with pytest.raises(FolderLocked):
            ProjectStore(tmp_path / "link").create_lock(project).acquire()


def test_a_folder_that_was_moved_or_replaced_stays_locked_identity(
    tmp_path: Path, shelf: ProjectStore, project: str
) -> None:
    with shelf.create_lock(project):
        moved = ProjectStore(shelf.folder.rename(tmp_path / "moved"))
        with pytest.raises(FolderLocked):
            moved.create_lock(project).acquire()
        shutil.copytree(moved.folder, shelf.folder)
        with pytest.raises(FolderLocked):
            ProjectStore(shelf.folder).create_lock(project).acquire()


def test_the_own_pid_after_a_restart_of_the_machine_or_container_is_stale_identity(
    shelf: ProjectStore, project: str
) -> None:
    """A service often gets the same pid at every start."""
    write_owner(shelf, owner_of(os.getpid(), project), project)
    assert shelf.has_stale_lock(project)
    with shelf.create_lock(project):
        pass


def test_a_lock_of_another_host_counts_until_it_is_removed_identity(shelf: ProjectStore, project: str) -> None:
    write_owner(shelf, owner_of(1, project, host="elsewhere", boot="another"), project)
    with pytest.raises(FolderLocked, match=r"process 1 on elsewhere.*remove .*lock\.json"):
        shelf.create_lock(project).acquire()
    (shelf.get_folder(project) / LOCK_FILE).unlink()
    with shelf.create_lock(project):
        pass


@pytest.mark.parametrize("text", ["", "17", "{}", "[]", '{"pid": "x"}', "\x00", '{"pid": -1}'])
def test_a_lock_that_cannot_be_understood_has_no_owner_bad_input(shelf: ProjectStore, project: str, text: str) -> None:
    (shelf.get_folder(project) / LOCK_FILE).write_text(text, encoding="utf-8")
    assert not shelf.has_stale_lock(project)
    with shelf.create_lock(project):
        pass


def test_of_many_that_come_at_once_one_gets_the_lock_identity(shelf: ProjectStore, project: str) -> None:
    write_owner(shelf, owner_of(os.getpid(), project), project)  # stale
    wanted = [shelf.create_lock(project) for _ in range(8)]
    begin, got = threading.Barrier(len(wanted)), list[FolderLock]()

    def acquire(lock: FolderLock) -> None:
        begin.wait()
        try:
            lock.acquire()
            got.append(lock)
        except FolderLocked:
            pass

    threads = [threading.Thread(target=acquire, args=[lock]) for lock in wanted]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert len(got) == 1


def test_a_project_that_was_taken_over_is_not_written_any_more_bad_input(shelf: ProjectStore, project: str) -> None:
    """Someone removed the lock of a studio that still runs, and opened the project elsewhere."""
    lock = shelf.create_lock(project)
    lock.acquire()
    (shelf.get_folder(project) / LOCK_FILE).unlink()
    with shelf.create_lock(project), pytest.raises(FolderLocked):
        lock.acquire()
    lock.release()


def test_without_proc_the_system_is_asked_agreement(other: subprocess.Popen[bytes], monkeypatch) -> None:
    """As on systems that have no /proc: what ps says tells two starts apart."""
    monkeypatch.setattr(locks, "Path", lambda path: Path("/nothere" if str(path).startswith("/proc") else path))
    began = read_process_start(other.pid)
    assert began == read_process_start(other.pid)
    other.kill()
    other.wait()
    assert read_process_start(other.pid) is None


# --- two studios


def test_the_second_studio_is_told_and_may_open_a_copy_claim(tmp_path: Path) -> None:
    folder = tmp_path / "studio"
    with running(folder) as first, running(folder) as second, first.tab() as tab, second.tab() as late:
        project = first.hub.open_path(sway_file(tmp_path)).id
        tab.ask("open", project=project)
        tab.state(lambda state: not state["unsaved"])
        for k in range(3):
            tab.drag(NODE + k, 12, (0.0, 0.1, 0.0), gesture=k + 1)
        refused = late.ask("open", project=project)
        assert (refused["is"], refused["code"]) == ("error", "locked")
        assert refused["text"].startswith("the project is open in")
        assert refused["remedy"].startswith("open a copy of it")
        assert late.ask("forget", project=project)["code"] == "locked"
        copied = late.ask("open", project=project, copy=True)["project"]
        assert len(late.state()["edit"]["drags"]) == 3
        late.drag(NODE, 5, (0.0, 0.1, 0.0))
        tab.drag(NODE + 4, 12, (0.0, 0.1, 0.0), gesture=9)
    shelf = ProjectStore(folder)
    counts = {
        each.id: len(shelf.load(each.id).snapshots["edit"].document["edit"]["holds"]) for each in shelf.list_recent()
    }
    assert counts == {project: 4, copied: 4}
    assert {each.name for each in shelf.list_recent()} == {"sway", "sway (copy)"}
    # closed in the first, the second may open it
    with running(folder) as second, second.tab() as late:
        assert late.ask("open", project=project)["is"] == "done"
        assert len(late.state()["edit"]["drags"]) == 4


def test_copy_is_for_projects_bad_input(tmp_path: Path) -> None:
    with running(tmp_path / "studio") as studio, studio.tab() as tab:
        assert "copy is for a project" in tab.ask("open", scene="twist", mode="edit", copy=True)["text"]
        assert tab.ask("open", project="0123456789abcdef", copy=True)["is"] == "error"


def test_a_project_that_is_still_being_closed_is_waited_for_identity(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("cajole.studio.project_manager.MAX_OPEN_PROJECTS", 1)
    with running(tmp_path / "studio") as studio, studio.tab() as tab:
        first = studio.hub.open_path(sway_file(tmp_path)).id
        tab.ask("open", project=first)
        tab.state(lambda state: not state["unsaved"])
        tab.drag(NODE, 12, (0.0, 0.1, 0.0))
        tab.ask("close")
        studio.hub.open_path(sway_file(tmp_path))
        assert tab.ask("open", project=first)["is"] == "done"
        assert len(tab.state()["edit"]["drags"]) == 1


def test_a_project_of_a_damaged_file_is_not_owned_afterwards_bad_input(shelf: ProjectStore, project: str) -> None:
    hub = ProjectManager(shelf)
    path = shelf.get_folder(project) / DOCUMENT_NAME
    kept = path.read_text()
    path.write_text("{", encoding="utf-8")
    with pytest.raises(FileError):
        hub.resume_project(project)
    path.write_text(kept, encoding="utf-8")
    with shelf.create_lock(project):
        pass
    with pytest.raises(InputError):
        hub.resume_project("0123456789abcdef")
    assert not shelf.get_folder("0123456789abcdef").exists()


# --- what killed studios leave


def leave(folder: Path, name: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("half")
    return folder / name


def test_left_overs_go_at_the_next_start_and_those_of_running_studios_stay_identity(
    shelf: ProjectStore, project: str, other: subprocess.Popen[bytes]
) -> None:
    at_work = ProjectRecord(generate_id(), "At work", "edit", ProjectSource(scene="twist", mode="edit"))
    shelf.save(at_work)
    write_owner(shelf, owner_of(other.pid, at_work.id), at_work.id)
    gone = [
        leave(shelf.get_folder(project), ".project-abcd_123.json"),
        leave(shelf.get_folder(project), ".arrays-00ff-abcd_123.npz"),
        leave(shelf.uploads_folder / "0123456789abcdef", "sway.npz"),
        leave(shelf.uploads_folder / "fedcba9876543210" / "0123456789abcdef", "sway.npz"),
    ]
    stays = [
        leave(shelf.get_folder(at_work.id), ".project-abcd_123.json"),
        leave(shelf.uploads_folder / "aaaaaaaaaaaaaaaa" / "0123456789abcdef", "sway.npz"),
    ]
    (shelf.uploads_folder / "aaaaaaaaaaaaaaaa" / LOCK_FILE).write_text(
        json.dumps(asdict(owner_of(other.pid, "aaaaaaaaaaaaaaaa")))
    )
    with running(shelf.folder):
        pass
    assert [path.name for path in gone if path.exists()] == []
    assert all(path.exists() for path in stays)
    assert shelf.has_project(project)
    other.kill()
    other.wait()
    with running(shelf.folder):
        assert [path.name for path in stays if path.exists()] == []
    # that it was cut off is still told
    assert shelf.has_stale_lock(at_work.id)


def test_a_second_start_leaves_the_uploads_of_the_first_identity(tmp_path: Path) -> None:
    folder = tmp_path / "studio"
    with running(folder) as first:
        first.hub.lock_upload_folder()
        upload = first.hub.create_upload("sway.npz")
        upload.path.parent.mkdir(parents=True)
        upload.path.write_bytes(sway_file(tmp_path).read_bytes())
        first.hub.register_upload(upload)
        with running(folder), first.tab() as tab:
            assert tab.ask("open", upload=upload.id, mode="edit")["is"] == "done"
            tab.state(lambda state: not state["unsaved"])
    # in good order, nothing is left
    assert list((folder / "incoming").iterdir()) == []

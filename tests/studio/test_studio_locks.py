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
from cajole.studio.hub import Hub
from cajole.studio.locks import LOCK, FolderLock, FolderLocked, Owner, boot_id, process_start, read_owner
from cajole.studio.shelf import DOCUMENT, Record, Shelf, new_id
from waiting import PATIENCE

NODE = 20


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path / "studio")


@pytest.fixture
def project(shelf: Shelf) -> str:
    kept = Record(new_id(), "Sway", "edit", {"scene": "twist", "mode": "edit"})
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


def owner_of(pid: int, project: str, **changes: object) -> Owner:
    """The owner that a process of this host would write."""
    made = Owner(socket.gethostname(), pid, process_start(pid) or "", boot_id(), project, "0123")
    return replace(made, **changes)  # type: ignore[arg-type]


def write_owner(shelf: Shelf, owner: Owner, project: str) -> None:
    (shelf.place(project) / LOCK).write_text(json.dumps(asdict(owner)), encoding="utf-8")


def test_the_lock_names_its_owner_and_goes_with_it_identity(shelf: Shelf, project: str) -> None:
    lock = shelf.lock(project)
    assert read_owner(shelf.place(project)) is None
    lock.acquire()
    lock.acquire()
    found = read_owner(shelf.place(project))
    assert found is not None
    assert (found.host, found.pid, found.folder) == (socket.gethostname(), os.getpid(), project)
    assert found.started == process_start(os.getpid())
    with pytest.raises(FolderLocked, match="open in this studio; open a copy"):
        shelf.lock(project).acquire()
    assert not shelf.was_cut_off(project)
    lock.release()
    lock.release()
    with shelf.lock(project):
        pass
    assert read_owner(shelf.place(project)) is None


def test_a_lock_of_a_running_process_counts_and_of_a_dead_one_does_not_identity(
    shelf: Shelf, project: str, other: subprocess.Popen[bytes]
) -> None:
    write_owner(shelf, owner_of(other.pid, project), project)
    said = f"another studio .process {other.pid} on {socket.gethostname()}"
    with pytest.raises(FolderLocked, match=said):
        shelf.lock(project).acquire()
    with pytest.raises(FolderLocked, match=said):
        shelf.delete(project)
    assert shelf.has(project)
    assert not shelf.was_cut_off(project)
    other.kill()
    # killed, but its parent has not asked for its end: a zombie owns nothing
    os.waitid(os.P_PID, other.pid, os.WEXITED | os.WNOWAIT)
    assert shelf.was_cut_off(project)
    other.wait()
    assert shelf.was_cut_off(project)
    with shelf.lock(project):
        assert not shelf.was_cut_off(project)


STALE = {
    "another boot": {"boot": "another"},
    "the pid was given to another process": {"started": "1"},
    "copied with its folder": {"folder": "copied00"},
    "copied with all folders around it": {"path": "/elsewhere/studio/projects/p", "device": 1, "inode": 1},
}


@pytest.mark.parametrize("changes", STALE.values(), ids=STALE)
def test_stale_locks_are_recognised_though_the_pid_is_in_use_identity(
    shelf: Shelf, project: str, other: subprocess.Popen[bytes], changes: dict[str, object]
) -> None:
    write_owner(shelf, owner_of(other.pid, project, **changes), project)
    with shelf.lock(project):
        found = read_owner(shelf.place(project))
        assert found is not None
        assert found.pid == os.getpid()


def test_a_copy_of_the_whole_folder_is_not_locked_identity(tmp_path: Path, shelf: Shelf, project: str) -> None:
    """As `cp -r` makes it while a studio has the project open; a link to the folder is the folder itself."""
    with shelf.lock(project):
        copy = Shelf(Path(shutil.copytree(shelf.folder, tmp_path / "copy")))
        assert read_owner(copy.place(project)) == read_owner(shelf.place(project))
        assert not copy.was_cut_off(project)
        with copy.lock(project):
            assert read_owner(copy.place(project)) != read_owner(shelf.place(project))
        (tmp_path / "link").symlink_to(shelf.folder, target_is_directory=True)
        with pytest.raises(FolderLocked):
            Shelf(tmp_path / "link").lock(project).acquire()


def test_a_folder_that_was_moved_or_replaced_stays_locked_identity(tmp_path: Path, shelf: Shelf, project: str) -> None:
    with shelf.lock(project):
        moved = Shelf(shelf.folder.rename(tmp_path / "moved"))
        with pytest.raises(FolderLocked):
            moved.lock(project).acquire()
        shutil.copytree(moved.folder, shelf.folder)
        with pytest.raises(FolderLocked):
            Shelf(shelf.folder).lock(project).acquire()


def test_the_own_pid_after_a_restart_of_the_machine_or_container_is_stale_identity(shelf: Shelf, project: str) -> None:
    """A service often gets the same pid at every start."""
    write_owner(shelf, owner_of(os.getpid(), project), project)
    assert shelf.was_cut_off(project)
    with shelf.lock(project):
        pass


def test_a_lock_of_another_host_counts_until_it_is_removed_identity(shelf: Shelf, project: str) -> None:
    write_owner(shelf, owner_of(1, project, host="elsewhere", boot="another"), project)
    with pytest.raises(FolderLocked, match=r"process 1 on elsewhere.*remove .*lock\.json"):
        shelf.lock(project).acquire()
    (shelf.place(project) / LOCK).unlink()
    with shelf.lock(project):
        pass


@pytest.mark.parametrize("text", ["", "17", "{}", "[]", '{"pid": "x"}', "\x00", '{"pid": -1}'])
def test_a_lock_that_cannot_be_understood_has_no_owner_bad_input(shelf: Shelf, project: str, text: str) -> None:
    (shelf.place(project) / LOCK).write_text(text, encoding="utf-8")
    assert not shelf.was_cut_off(project)
    with shelf.lock(project):
        pass


def test_of_many_that_come_at_once_one_gets_the_lock_identity(shelf: Shelf, project: str) -> None:
    write_owner(shelf, owner_of(os.getpid(), project), project)  # stale
    wanted = [shelf.lock(project) for _ in range(8)]
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


def test_a_project_that_was_taken_over_is_not_written_any_more_bad_input(shelf: Shelf, project: str) -> None:
    """Someone removed the lock of a studio that still runs, and opened the project elsewhere."""
    lock = shelf.lock(project)
    lock.acquire()
    (shelf.place(project) / LOCK).unlink()
    with shelf.lock(project), pytest.raises(FolderLocked):
        lock.acquire()
    lock.release()


def test_without_proc_the_system_is_asked_agreement(other: subprocess.Popen[bytes], monkeypatch) -> None:
    """As on systems that have no /proc: what ps says tells two starts apart."""
    monkeypatch.setattr(locks, "Path", lambda path: Path("/nothere" if str(path).startswith("/proc") else path))
    began = process_start(other.pid)
    assert began == process_start(other.pid)
    other.kill()
    other.wait()
    assert process_start(other.pid) is None


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
    shelf = Shelf(folder)
    counts = {each.id: len(shelf.load(each.id).modes["edit"].document["edit"]["holds"]) for each in shelf.recent()}
    assert counts == {project: 4, copied: 4}
    assert {each.name for each in shelf.recent()} == {"sway", "sway (copy)"}
    # closed in the first, the second may open it
    with running(folder) as second, second.tab() as late:
        assert late.ask("open", project=project)["is"] == "done"
        assert len(late.state()["edit"]["drags"]) == 4


def test_copy_is_for_projects_bad_input(tmp_path: Path) -> None:
    with running(tmp_path / "studio") as studio, studio.tab() as tab:
        assert "copy is for a project" in tab.ask("open", scene="twist", mode="edit", copy=True)["text"]
        assert tab.ask("open", project="0123456789abcdef", copy=True)["is"] == "error"


def test_a_project_that_is_still_being_closed_is_waited_for_identity(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("cajole.studio.hub.MOST_OPEN", 1)
    with running(tmp_path / "studio") as studio, studio.tab() as tab:
        first = studio.hub.open_path(sway_file(tmp_path)).id
        tab.ask("open", project=first)
        tab.state(lambda state: not state["unsaved"])
        tab.drag(NODE, 12, (0.0, 0.1, 0.0))
        tab.ask("close")
        studio.hub.open_path(sway_file(tmp_path))
        assert tab.ask("open", project=first)["is"] == "done"
        assert len(tab.state()["edit"]["drags"]) == 1


def test_a_project_of_a_damaged_file_is_not_owned_afterwards_bad_input(shelf: Shelf, project: str) -> None:
    hub = Hub(shelf)
    path = shelf.place(project) / DOCUMENT
    kept = path.read_text()
    path.write_text("{", encoding="utf-8")
    with pytest.raises(FileError):
        hub.resume(project)
    path.write_text(kept, encoding="utf-8")
    with shelf.lock(project):
        pass
    with pytest.raises(InputError):
        hub.resume("0123456789abcdef")
    assert not shelf.place("0123456789abcdef").exists()


# --- what killed studios leave


def leave(folder: Path, name: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("half")
    return folder / name


def test_left_overs_go_at_the_next_start_and_those_of_running_studios_stay_identity(
    shelf: Shelf, project: str, other: subprocess.Popen[bytes]
) -> None:
    at_work = Record(new_id(), "At work", "edit", {"scene": "twist", "mode": "edit"})
    shelf.save(at_work)
    write_owner(shelf, owner_of(other.pid, at_work.id), at_work.id)
    gone = [
        leave(shelf.place(project), ".project-abcd_123.json"),
        leave(shelf.place(project), ".arrays-00ff-abcd_123.npz"),
        leave(shelf.incoming / "0123456789abcdef", "sway.npz"),
        leave(shelf.incoming / "fedcba9876543210" / "0123456789abcdef", "sway.npz"),
    ]
    stays = [
        leave(shelf.place(at_work.id), ".project-abcd_123.json"),
        leave(shelf.incoming / "aaaaaaaaaaaaaaaa" / "0123456789abcdef", "sway.npz"),
    ]
    (shelf.incoming / "aaaaaaaaaaaaaaaa" / LOCK).write_text(json.dumps(asdict(owner_of(other.pid, "aaaaaaaaaaaaaaaa"))))
    with running(shelf.folder):
        pass
    assert [path.name for path in gone if path.exists()] == []
    assert all(path.exists() for path in stays)
    assert shelf.has(project)
    other.kill()
    other.wait()
    with running(shelf.folder):
        assert [path.name for path in stays if path.exists()] == []
    # that it was cut off is still told
    assert shelf.was_cut_off(at_work.id)


def test_a_second_start_leaves_the_uploads_of_the_first_identity(tmp_path: Path) -> None:
    folder = tmp_path / "studio"
    with running(folder) as first:
        first.hub.reserve()
        upload = first.hub.receive("sway.npz")
        upload.path.parent.mkdir(parents=True)
        upload.path.write_bytes(sway_file(tmp_path).read_bytes())
        first.hub.received(upload)
        with running(folder), first.tab() as tab:
            assert tab.ask("open", upload=upload.id, mode="edit")["is"] == "done"
            tab.state(lambda state: not state["unsaved"])
    # in good order, nothing is left
    assert list((folder / "incoming").iterdir()) == []

"""Injects faults into running studios and counts acknowledged edits that are lost: there must be none.

Usage: PYTHONPATH=tests python tests/studio/fault_runner.py [rounds] [seed]. A round is 4 kills and one fault of each
other kind. An edit is acknowledged when it was answered `done` without `unsaved`, or when a later state was told with
`unsaved` false.

kill          the server is killed (SIGKILL) at a random moment while edits are under way
full disk     no file can grow for a while, by a limit of the system on the server; then it is killed or interrupted
read-only     no file can be made for a while, by a fault injected into the server; then it is killed or interrupted
two servers   a second server opens the same folder, is refused, works on a copy, and takes over after a kill
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from studio_cases import FRAMES, Tab, small_motion, sway_file
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from waiting import PATIENCE

HERE = Path(__file__).parent
# vertices that nothing holds, and frames that can be edited
NODES, EDITED = range(4, 36), range(2, FRAMES - 2)
# drags of one project, beyond which another one is begun: each costs more than the one before
MOST_DRAGS = 24
# the longest time to the kill, in times that an edit takes on this machine
EDITS_TO_KILL = 3.0
# kills of one round: they are quick, and need the most chances
KILLS = 4

Edit = tuple[int, int]


@dataclass
class Tally:
    """What came of one kind of fault."""

    faults: int = 0
    acknowledged: int = 0
    lost: list[Edit] = field(default_factory=list)

    def add(self, acknowledged: set[Edit], found: set[Edit]) -> None:
        """What was acknowledged before a fault, and what was found after it."""
        self.faults += 1
        self.acknowledged += len(acknowledged)
        self.lost += sorted(acknowledged - found)


class Server:
    """`cajole studio` in a process of its own, on a folder; while `folder`.read-only exists it cannot make files."""

    def __init__(self, folder: Path, *subject: str):
        self.folder, self.flag = folder, folder.with_suffix(".read-only")
        command = [sys.executable, str(HERE / "faulty_studio.py"), str(self.flag), *subject, "--folder", str(folder)]
        # no warnings of what is injected here, and one thread: many run beside each other
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            [*command, "--no-browser"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline().strip()
        assert "/#" in line, f"the studio did not start, but said {line!r}"
        self.address, self.token = line.split("/#")

    @contextlib.contextmanager
    def tab(self) -> Iterator[Tab]:
        with connect(self.address.replace("http", "ws") + "/ws", max_size=None, compression=None) as socket:
            tab = Tab(socket)
            tab.say("hello", proto=1, token=self.token)
            tab.until(lambda message: message["is"] == "welcome")
            yield tab

    def end(self, how: signal.Signals) -> None:
        if self.process.poll() is None:
            self.process.send_signal(how)
        self.process.wait(PATIENCE)
        assert self.process.stdout is not None
        self.process.stdout.close()


class Project:
    """A project in a folder, and the edits that were acknowledged in it.

    tally: where the next opening counts what is missing, after a fault.
    """

    def __init__(self, folder: Path, chance: random.Random):
        self.folder, self.chance = folder, chance
        self.id: str | None = None
        self.acknowledged: set[Edit] = set()
        self.tally: Tally | None = None
        self._left = [(node, frame) for node in NODES for frame in EDITED]
        chance.shuffle(self._left)

    def serve(self) -> Server:
        """A server on the project's folder; the first one opens the motion."""
        if self.id is not None:
            return Server(self.folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        return Server(self.folder, str(sway_file(self.folder)))

    def open(self, tab: Tab) -> dict[str, Any]:
        """Open the project in a tab, and count what is missing if there was a fault; its first state that is saved."""
        if self.id is None:
            tab.say("hello", proto=1)
            (self.id,) = {text["project"] for text in tab.texts if text["is"] == "welcome"}
        assert tab.ask("open", project=self.id)["is"] == "done"
        state = tab.state(lambda state: not state["unsaved"])
        if self.tally is not None:
            self.tally.add(self.acknowledged, edits_of(state))
            self.acknowledged &= edits_of(state)  # what is lost is counted once
        self.tally = None
        return state

    def edit(self, tab: Tab) -> Edit:
        """Make one more edit; it is acknowledged if it is answered as saved."""
        node, frame = edit = self._left.pop()
        position = small_motion().frame(frame)[node] + [0.0, self.chance.uniform(-0.05, 0.05), 0.0]
        said = tab.ask("place", node=node, frame=frame, position=position.tolist())
        assert said["is"] == "done", said
        if "unsaved" not in said:
            self.acknowledged.add(edit)
        return edit

    @property
    def is_large(self) -> bool:
        return len(NODES) * len(EDITED) - len(self._left) > MOST_DRAGS


def edits_of(state: dict[str, Any]) -> set[Edit]:
    return {(drag["node"], drag["frame"]) for drag in state["edit"]["drags"]}


class Projects:
    """Projects to work on, one after the other, each in a folder of its own."""

    def __init__(self, folder: Path, chance: random.Random):
        self._folder, self.chance = folder, chance
        self._made: list[Project] = []

    def present(self) -> Project:
        if not self._made or self._made[-1].is_large:
            self._made.append(Project(self._folder / f"shelf-{len(self._made)}", self.chance))
        return self._made[-1]

    def add(self, project: Project) -> None:
        """One more, to be checked at the end only."""
        self._made.insert(0, project)

    def check(self) -> None:
        """Open all that were not opened since their last fault, and count what is missing."""
        for project in self._made:
            if project.tally is not None:
                server = project.serve()
                try:
                    with server.tab() as tab:
                        project.open(tab)
                finally:
                    server.end(signal.SIGINT)


def kill(projects: Projects, tally: Tally) -> None:
    """Edit until the server is killed at some moment; what was acknowledged must be there."""
    project, chance = projects.present(), projects.chance
    server = project.serve()
    try:
        with server.tab() as tab:
            project.open(tab)
            count, began = chance.randrange(1, 4), time.monotonic()
            for _ in range(count):
                project.edit(tab)
            took = (time.monotonic() - began) / count
            timer = threading.Timer(chance.uniform(0.0, EDITS_TO_KILL * took), server.process.kill)
            timer.start()
            with contextlib.suppress(ConnectionClosed, OSError):
                while not project.is_large:
                    project.edit(tab)
            timer.join()
    finally:
        server.end(signal.SIGKILL)
    project.tally = tally


def refuse(projects: Projects, tally: Tally, fault: Callable[[Server, bool], None]) -> None:
    """Edit on a disk that refuses to write for a while.

    What is done meanwhile is called unsaved, and is saved later: by itself where the server is killed afterwards, and
    in closing where it is interrupted at once.
    """
    project, is_patient = projects.present(), projects.chance.random() < 0.5
    server = project.serve()
    try:
        with server.tab() as tab:
            project.open(tab)
            project.edit(tab)
            fault(server, True)
            pending = {project.edit(tab) for _ in range(2)}
            assert not pending & project.acknowledged, "an edit was called saved on a disk that refuses to write"
            state = tab.state(lambda state: pending <= edits_of(state))
            assert state["unsaved"], "the state does not say that edits are not saved"
            assert state["unsaved_reason"], "the state does not say why edits are not saved"
            fault(server, False)
            if is_patient:
                tab.state(lambda state: pending <= edits_of(state) and not state["unsaved"])
            project.acknowledged |= pending
    finally:
        fault(server, False)
        server.end(signal.SIGKILL if is_patient else signal.SIGINT)
    project.tally = tally


def fill_disk(server: Server, is_full: bool) -> None:
    """As on a full disk: no file may grow, while new ones can be made."""
    import resource

    if server.process.poll() is None:
        least = 0 if is_full else resource.RLIM_INFINITY
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (least, resource.RLIM_INFINITY))


def can_fill_disk() -> bool:
    """Whether the system lets a process limit another one."""
    with contextlib.suppress(ImportError, AttributeError, OSError, ValueError):
        import resource

        limits = resource.prlimit(os.getpid(), resource.RLIMIT_FSIZE)
        return limits[1] == resource.RLIM_INFINITY
    return False


def make_read_only(server: Server, is_read_only: bool) -> None:
    if is_read_only:
        server.flag.touch()
    else:
        server.flag.unlink(missing_ok=True)


def share(projects: Projects, tally: Tally) -> None:
    """Two servers on one folder; the second is refused while the first lives, and both edit in turn."""
    project = projects.present()
    copy = Project(project.folder, projects.chance)
    projects.add(copy)
    first = project.serve()
    second = Server(project.folder)
    try:
        with first.tab() as tab, second.tab() as late:
            project.open(tab)
            project.edit(tab)
            said = late.ask("open", project=project.id)
            assert said.get("code") == "locked", f"a second server opened the project: {said}"
            copy.id = late.ask("open", project=project.id, copy=True)["project"]
            late.state(lambda state: not state["unsaved"])
            copy.acknowledged = set(project.acknowledged)
            for _ in range(2):
                project.edit(tab)
                copy.edit(late)
        first.end(signal.SIGKILL)
        with second.tab() as late:
            project.open(late)  # the lock of the killed one is stale
            project.edit(late)
    finally:
        first.end(signal.SIGKILL)
        second.end(signal.SIGKILL)
    project.tally = copy.tally = tally


def run(rounds: int, seed: int, folder: Path, kinds: tuple[str, ...] = ()) -> dict[str, Tally]:
    """So many faults of each kind; what came of them, by kind."""
    projects = Projects(folder, random.Random(seed))
    faults: dict[str, Callable[..., None]] = {
        "kill": kill,
        "full disk": partial(refuse, fault=fill_disk),
        "read-only": partial(refuse, fault=make_read_only),
        "two servers": share,
    }
    if not can_fill_disk():
        print("full disk: skipped, this system has no limits for other processes", file=sys.stderr)
        del faults["full disk"]
    tallies = {name: Tally() for name in faults if not kinds or name in kinds}
    for number in range(rounds):
        for name, tally in tallies.items():
            for _ in range(KILLS if name == "kill" else 1):
                faults[name](projects, tally)
        if rounds > 1:
            print(f"after round {number + 1} of {rounds}\n{table(tallies)}\n", flush=True)
    projects.check()
    return tallies


def table(tallies: dict[str, Tally]) -> str:
    lines = ["| fault | times | acknowledged edits checked | lost |", "|---|---|---|---|"]
    return "\n".join(
        [*lines, *(f"| {name} | {t.faults} | {t.acknowledged} | {len(t.lost)} |" for name, t in tallies.items())]
    )


def main(rounds: int = 10, seed: int = 0) -> int:
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        tallies = run(rounds, seed, Path(folder))
    print(table(tallies))
    print(f"seed {seed}, {time.monotonic() - began:.0f} s")
    return sum(len(tally.lost) for tally in tallies.values()) and 1


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))

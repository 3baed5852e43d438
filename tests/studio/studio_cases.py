"""What the tests of the studio share: a small motion, a running studio, and a tab that talks to it."""

from __future__ import annotations

import json
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mode_cases import command
from websockets.sync.client import ClientConnection, connect

from cajole.animation import Animation
from cajole.mesh import box_tets
from cajole.studio.access import AccessPolicy
from cajole.studio.app import STATIC_FOLDER
from cajole.studio.project import Project
from cajole.studio.project_manager import ProjectManager
from cajole.studio.project_store import ProjectStore
from cajole.studio.protocol import ServerMessage, encode_message
from cajole.studio.server import bind_socket, create_server
from job_control import JobControl, install
from waiting import PATIENCE, wait_until

FRAMES = 24
# a busy machine may take long to answer
connected = partial(connect, max_size=None, compression=None, open_timeout=PATIENCE, ping_interval=None)


def small_motion() -> Animation:
    """A beam of 36 vertices that sways, held at one end."""
    mesh = box_tets(8, 1, 1, size=(2.0, 0.25, 0.25))
    x = mesh.vertices
    sway = np.sin(2 * np.pi * np.arange(FRAMES) / FRAMES)[:, None] * 0.1 * x[:, 0] ** 2
    positions = np.repeat(x[None], FRAMES, axis=0)
    positions[:, :, 2] += sway
    return Animation(mesh, positions, fps=24.0, name="sway")


def sway_file(folder: Path) -> Path:
    path = folder / "sway.npz"
    small_motion().write(path)
    return path


class Frame:
    """A binary message."""

    def __init__(self, data: bytes):
        self.magic, self.kind, self.seq, self.frame, self.count, self.flags, self.rev, self.extra = struct.unpack(
            "<8I", data[:32]
        )
        self.data = data[32:]

    @property
    def positions(self) -> np.ndarray:
        return np.frombuffer(self.data, dtype="<f4").reshape(self.count, 3)


class Tab:
    """A client: says things, and remembers all that it heard."""

    def __init__(self, socket: ClientConnection, *, acknowledges: bool = True):
        self.socket, self.acknowledges, self._last = socket, acknowledges, 0
        self.texts: list[dict[str, Any]] = []
        self.frames: list[Frame] = []
        self._unread: list[dict[str, Any]] = []
        self._unseen: list[Frame] = []

    def say(self, what: str, /, **values: Any) -> int:
        self._last += 1
        self.socket.send(json.dumps({"v": 1, "do": what, "id": self._last, **values}))
        return self._last

    def hear(self, timeout: float = PATIENCE) -> dict[str, Any] | Frame:
        message = self.socket.recv(timeout=timeout)
        if isinstance(message, bytes):
            frame = Frame(message)
            self.frames.append(frame)
            self._unseen.append(frame)
            if frame.kind == 10 and self.acknowledges:
                self.say("ack", seq=frame.seq)
            return frame
        told = json.loads(message)
        self.texts.append(told)
        self._unread.append(told)
        return told

    def until(self, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The first text that is wanted, of those that nobody waited for yet."""
        return self._found(self._unread, wanted)

    def frame(self, wanted: Callable[[Frame], bool]) -> Frame:
        """The first binary message that is wanted, of those that nobody waited for yet."""
        return self._found(self._unseen, wanted)

    def _found(self, waiting: list[Any], wanted: Callable[[Any], bool]) -> Any:
        end = time.monotonic() + PATIENCE
        while True:
            for number, message in enumerate(waiting):
                if wanted(message):
                    return waiting.pop(number)
            if time.monotonic() > end:
                raise TimeoutError("what was waited for did not come")
            self.hear()

    def ask(self, what: str, /, **values: Any) -> dict[str, Any]:
        """Say something and wait for its one answer, `done` or `error`."""
        number = self.say(what, **values)
        return self.until(lambda message: message.get("id") == number and message["is"] in ("done", "error"))

    def state(self, wanted: Callable[[dict[str, Any]], bool] = lambda state: True) -> dict[str, Any]:
        """The next state that is wanted."""
        return self.until(lambda message: message["is"] == "state" and wanted(message))

    def drag(self, node: int, frame: int, delta: tuple[float, float, float], *, gesture: int = 1) -> None:
        self.say("drag.begin", gesture=gesture, nodes=[node], frame=frame)
        self.say("drag.move", gesture=gesture, seq=1, delta=list(delta))
        done = self.ask("drag.commit", gesture=gesture)
        assert done["is"] == "done", done


def answer_of(project: Project, **message: Any) -> dict[str, Any]:
    """The answer of a project to a message that did not come by a socket."""
    answers: list[dict[str, Any]] = []
    come = threading.Event()

    def reply(answer: ServerMessage) -> None:
        told = json.loads(encode_message(answer))
        answers.append(told if told["is"] == "error" else {k: v for k, v in told.items() if k not in ("is", "id")})
        come.set()

    project.post(command(message.pop("do"), id=1, **message), reply)
    assert come.wait(PATIENCE)
    return answers[0]


class Running:
    """A studio that answers at an address; jobs: holds its long work."""

    def __init__(self, hub: ProjectManager, guard: AccessPolicy, jobs: JobControl):
        self.hub, self.guard, self.jobs = hub, guard, jobs
        self.address = f"http://127.0.0.1:{guard.port}"

    @contextmanager
    def tab(self, *, token: str | None = None, acknowledges: bool = True) -> Iterator[Tab]:
        """A tab that has said hello."""
        with connected(f"ws://127.0.0.1:{self.guard.port}/ws") as socket:
            tab = Tab(socket, acknowledges=acknowledges)
            tab.say("hello", proto=1, token=self.guard.token if token is None else token)
            tab.until(lambda message: message["is"] == "welcome")
            yield tab


@contextmanager
def running(folder: Path, static: Path = STATIC_FOLDER, **options: Any) -> Iterator[Running]:
    """A studio on its own thread, whose projects are kept in `folder`."""
    listening = bind_socket("127.0.0.1", 0)
    guard = AccessPolicy(port=listening.getsockname()[1])
    hub = ProjectManager(ProjectStore(folder), **options)
    server = create_server(hub, guard, static)
    thread = threading.Thread(target=lambda: server.run(sockets=[listening]), daemon=True)
    jobs = JobControl(folder.with_name(f"{folder.name}-jobs"))
    with pytest.MonkeyPatch.context() as patch:
        install(jobs, patch.setattr)
        thread.start()
        wait_until(lambda: server.started, "the start of the studio")
        try:
            yield Running(hub, guard, jobs)
        finally:
            server.should_exit = True
            thread.join(PATIENCE)
            listening.close()
            assert not thread.is_alive()

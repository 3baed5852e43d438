"""What is fuzzed: every reader with valid inputs of its own writers, and how an input is read.

A target is made in a worker process. `read` returns whether the input was accepted; CajoleError means refused, and any
other exception is a finding.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import signal
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import mutations as m
import numpy as np

TESTS = Path(__file__).parents[1]
SHARED = TESTS.parents[1] / "shared" / "data"
# modules of cases that other tests have, for the seeds
for folder in ("", "animation", "parsers", "direct/steering", "direct/editing", "reduction", "studio"):
    if str(TESTS / folder) not in sys.path:
        sys.path.append(str(TESTS / folder))


@dataclass(frozen=True)
class Target:
    """A reader. seeds: valid inputs; read: whether an input is accepted; mutations: those that fit its format."""

    seeds: Sequence[bytes]
    read: Callable[[bytes], bool]
    mutations: Sequence[m.Mutation] = m.BYTES
    close: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)

    def input(self, rng: Random, number: int) -> bytes:
        """The input of this number, from a generator that is seeded with it."""
        return m.mutate(rng, rng.choice(self.seeds), self.seeds, self.mutations)


def _file(folder: Path, name: str, read: Callable[[Path], Any]) -> Callable[[bytes], bool]:
    """A reader of bytes from a reader of files."""

    def accept(data: bytes) -> bool:
        path = folder / name
        path.write_bytes(data)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = read(path)
        return found is not False

    return accept


def _shared(pattern: str, most: int = 300_000) -> list[bytes]:
    return [path.read_bytes() for path in sorted(SHARED.glob(pattern)) if path.stat().st_size <= most]


# --- meshes and bodies


def _mesh(suffix: str, *more: bytes, mutations: Sequence[m.Mutation] = m.TEXT) -> Callable[[Path], Target]:
    def make(folder: Path) -> Target:
        from cajole.mesh import box_tets, read_mesh, write_mesh
        from cajole.mesh.files import TET_WRITERS, TRI_WRITERS

        box, seeds = box_tets(2, 1, 1), list(more)
        for mesh, writers in ((box, TET_WRITERS), (box.surface, TRI_WRITERS)):
            if suffix in writers:
                write_mesh(mesh, folder / f"mesh{suffix}")
                seeds.append((folder / f"mesh{suffix}").read_bytes())
        return Target([*seeds, *_shared(f"*/*{suffix}")], _file(folder, f"mesh{suffix}", read_mesh), mutations)

    return make


def _bou(folder: Path) -> Target:
    from cajole.mesh import read_bou

    return Target([b"1,2,3,4\n7 8\n", b"1\n", *_shared("vega/*.bou")], _file(folder, "a.bou", read_bou), m.TEXT)


def _body(folder: Path) -> Target:
    from cajole.body import read_body
    from cajole.mesh import box_tets, write_mesh

    write_mesh(box_tets(1, 1, 1), folder / "a.veg")
    materials = b"*MATERIAL a\nENU, 1000, 1e6, 0.3\n*MATERIAL b\nENU, 500, 1e5, 0.4\n*SET s\n1,2\n*REGION\ns, a\n"
    return Target(
        [(folder / "a.veg").read_bytes() + materials, *_shared("vega/*.veg")], _file(folder, "a.veg", read_body), m.TEXT
    )


_ASCII_PLY = (
    b"ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\nproperty float z\nelement face 2\n"
    b"property list uchar int vertex_indices\nend_header\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n3 0 1 2\n4 0 1 2 3\n"
)
_ASCII_STL = (
    b"solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\nendfacet\n"
    b"endsolid a\n"
)
_MSH_2 = (
    b"$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n4\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 1\n$EndNodes\n$Elements\n2\n"
    b"1 4 2 0 1 1 2 3 4\n2 2 2 0 1 1 2 3\n$EndElements\n"
)
_QUADS = b"# quads\nv 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nvt 0 0\nvn 0 0 1\nf 1/1/1 2//1 3 4\nf -4 -3 -2\n"


# --- animations


def _motion() -> Any:
    """An animation with everything that it can hold."""
    from animation_cases import painted_skin, waved

    from cajole.animation import Animation, Contacts
    from cajole.mesh import box_tets

    mesh = box_tets(2, 2, 2, size=(1.0, 0.7, 0.5))
    contacts = Contacts([1, 4], [0, 5], [[0, 0, 1], [0.6, 0, 0.8]], ["sliding", "sticking"], [-1, 2])
    positions = waved(mesh.vertices)
    return Animation(
        mesh, positions, 24.0, velocities=0.5 * positions, contacts=contacts, skin=painted_skin(mesh), name="jelly fish"
    )


def _animation(name: str, mutations: Sequence[m.Mutation], shared: str = "") -> Callable[[Path], Target]:
    def make(folder: Path) -> Target:
        from cajole.animation import read_animation

        motion, seeds = _motion(), []
        for index, each in enumerate((motion, motion.skinned())):
            path = folder / str(index) / name
            each.write(path)
            seeds.append(path.read_bytes() if path.exists() else b"")
        if name.endswith((".usda", ".usdc")):
            from child_cases import write_character

            path = folder / f"character{Path(name).suffix}"
            write_character(path, points=9, frames=3, joints=2)
            seeds.append(path.read_bytes())
        # a cache belongs to the mesh that is beside it
        motion.write(folder / name)

        def read(path: Path) -> None:
            assert np.isfinite(read_animation(path).positions).all()

        return Target([*seeds, *(_shared(shared) if shared else [])], _file(folder, name, read), mutations)

    return make


def _sequence(folder: Path) -> Target:
    from cajole.animation import read_animation

    _motion().skinned().write(folder / "a_#.obj")
    frames = sorted(folder.glob("a_*.obj"))
    return Target(
        [path.read_bytes() for path in frames[:2]],
        _file(folder, frames[1].name, lambda _: read_animation(folder / "a_#.obj")),
        m.TEXT,
    )


# --- models, controllers, edits


def _model(folder: Path) -> Target:
    from reduced_cases import reduced, solid

    from cajole.reduction import load_model

    body = solid()
    reduced(4).save(folder / "a.npz")
    return Target(
        [(folder / "a.npz").read_bytes()], _file(folder, "a.npz", lambda path: load_model(path, body)), _ARCHIVE
    )


def _model_springs(folder: Path) -> Target:
    import cajole as cj
    from bodies import springs_many
    from cajole.reduction import load_model

    body = springs_many()
    cj.reduce(body, cj.modes(body, 3)).save(folder / "a.npz")
    return Target(
        [(folder / "a.npz").read_bytes()], _file(folder, "a.npz", lambda path: load_model(path, body)), _ARCHIVE
    )


def _controller(folder: Path) -> Target:
    import steer_cases as cases

    import cajole as cj
    from bodies import springs_many

    net = springs_many()
    made = {
        "solid": cj.steer(cases.moving(cases.model(), loop=True), vertices={3: 1.0, 7: 2.5}),
        "springs": cj.steer(cases.moving(cj.reduce(net, cj.modes(net, 3)))),
    }
    for name, controller in made.items():
        controller.save(folder / f"{name}.npz")
    seeds = [(folder / f"{name}.npz").read_bytes() for name in made]
    return Target(seeds, _file(folder, "a.npz", cj.load_controller), _ARCHIVE)


def _flow_controller(folder: Path) -> Target:
    import cajole as cj
    from flow_cases import small_model, small_motions

    starts = np.array([[6.0, 5.0], [8.5, 4.0]])
    shot = small_model().shot(small_motions()[0], particles=starts, feed_forward="inverse")
    cj.steer(shot, effort=1e-5).save(folder / "a.npz")
    return Target([(folder / "a.npz").read_bytes()], _file(folder, "a.npz", cj.load_flow_controller), _ARCHIVE)


def _edit(folder: Path) -> Target:
    import cajole as cj
    from bodies import beam_body

    body = beam_body((3, 1, 1), length=1.5, damping=(0.1, 0.002))
    motion = cj.simulate(body, frames=10, dt=1 / 30, gravity=(0, 0, -15.0))
    editor = cj.edit(motion, body, 6)
    tip = int(np.argmax(body.vertices[:, 0]))
    editor.drag(tip, 5, motion.positions[5][tip] + [0.0, 0.2, 0.0])
    editor.drag(tip, 3, motion.positions[3][tip] + [0.0, 0.1, 0.05], directions="z")
    cj.save_edit(editor, folder / "a.json")
    return Target(
        [(folder / "a.json").read_bytes()],
        _file(folder, "a.json", lambda path: cj.load_edit(path, motion, body)),
        _JSON,
    )


# --- recipes, projects, commands

_RECIPES = (
    b'verb = "simulate"\nsource = "beam.veg"\nfixed = "x<1%"\nframes = 4\noutput = "moved.npz"\n',
    b'[[step]]\nverb = "simulate"\nsource = "fish"\nframes = 40\noutput = "a.npz"\n'
    b'[[step]]\nverb = "edit"\nsource = "a.npz"\ndrag = ["7:20:0,0.1,0.4"]\noutput = "b.npz"\n',
    b'verb = "steer"\nsource = "fish"\neffort = 0.5\nseed = 3\noutput = "c.npz"\n',
)


def _recipe(folder: Path) -> Target:
    from cajole.cli.recipes import read_recipes

    read_recipes([folder / "none.toml"])  # collects the keys of all commands

    def read(path: Path) -> bool:
        (found,) = read_recipes([path])
        for problem in found.problems:
            str(problem)
            json.dumps(problem.as_dict(), default=str)
        return not found.problems

    return Target(_RECIPES, _file(folder, "a.toml", read), m.TEXT)


def _project(folder: Path) -> Target:
    from cajole.studio.modes.base import ModeSnapshot
    from cajole.studio.project_store import DOCUMENT_NAME, ProjectRecord, ProjectStore, read_record

    shelf = ProjectStore(folder)
    holds = [{"nodes": [3], "frame": 4, "place": [0.1, 0.2, 0.3]}]
    saved = ModeSnapshot({"holds": holds, "h": 0.02, "damping": [0.1, 0.2]}, {"u": np.zeros((2, 3))})
    record = ProjectRecord(
        id="0123456789abcdef", name="sway", mode="edit", source={"file": "a.npz"}, snapshots={"edit": saved},
        motion_files={"edit": "given-1.npz"}, frame=3, summary="2 drags", changed_at=1e9,
    )  # fmt: skip
    shelf.save(record)
    place = shelf.get_folder(record.id)

    def read(path: Path) -> None:
        read_record(path.parent)
        shelf.list_recent()

    return Target([(place / DOCUMENT_NAME).read_bytes()], _file(place, DOCUMENT_NAME, read), _JSON)


_COMMANDS: tuple[dict[str, Any], ...] = (
    {"do": "hello", "proto": 1}, {"do": "catalogue"}, {"do": "frame", "frame": 3}, {"do": "ack", "seq": 1},
    {"do": "frames", "stream": "result", "list": [0, 1, 2]}, {"do": "select", "nodes": [1, 2]}, {"do": "undo"},
    {"do": "redo"}, {"do": "cancel", "job": "1"}, {"do": "rename", "name": "sway"}, {"do": "mode", "mode": "edit"},
    {"do": "drag.begin", "gesture": 1, "nodes": [5], "frame": 3},
    {"do": "drag.move", "gesture": 1, "seq": 1, "delta": [0.0, 0.1, 0.0]}, {"do": "drag.commit", "gesture": 1},
    {"do": "drag.cancel", "gesture": 1}, {"do": "place", "node": 5, "frame": 3, "position": [0.1, 0.2, 0.3]},
    {"do": "pin", "nodes": [5], "frame": 4}, {"do": "tune", "h": 0.02, "alpha": 0.1, "ends": "free"},
    {"do": "marker.move", "lane": "drags", "ids": ["a"], "frames": [3], "final": True}, {"do": "moves"},
    {"do": "marker.delete", "lane": "drags", "ids": ["a"]}, {"do": "open", "scene": "nowhere", "mode": "edit"},
    {"do": "forget", "project": "0123456789abcdef"}, {"do": "takeover"}, {"do": "got"}, {"do": "key.load", "key": "a"},
    {"do": "marker.copy", "lane": "drags", "ids": ["a"], "frames": [5]},
    {"do": "pull.begin", "gesture": 2, "node": 1, "add": True},
)  # fmt: skip
_MESSAGES = tuple(json.dumps({"v": 1, "id": 7, **command}).encode() for command in _COMMANDS)


def _command(folder: Path) -> Target:
    import msgspec

    from cajole.studio.mode_registry import get_command_decoder

    def read(data: bytes) -> bool:
        text = data.decode("utf-8", errors="surrogateescape") if len(data) % 2 else data
        message = get_command_decoder().decode(text)
        assert msgspec.json.decode(msgspec.json.encode(message), type=type(message)) == message
        return True

    return Target(_MESSAGES, read, _JSON)


# --- the studio


class _Log(logging.Handler):
    """Exceptions that the studio caught and logged: each is a mistake in it."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.found: list[BaseException] = []

    def emit(self, record: logging.LogRecord) -> None:
        reason = record.exc_info[1] if record.exc_info else None
        self.found.append(reason or RuntimeError(record.getMessage()))

    def require_none(self) -> None:
        found, self.found = self.found, []
        if found:
            raise found[0]


@contextlib.contextmanager
def _logged() -> Iterator[_Log]:
    log = _Log()
    for name in ("cajole.studio", "uvicorn.error", "asyncio"):
        logger = logging.getLogger(name)
        logger.addHandler(log)
        logger.propagate = False
    yield log


class _Client:
    """A tab that sends anything, and finds out whether it was answered."""

    def __init__(self, studio: Any, project: str, log: _Log):
        self._studio, self._project, self._log = studio, project, log
        self._stack, self._tab, self._number = contextlib.ExitStack(), None, 1 << 40

    def send(self, data: bytes) -> bool:
        from websockets.exceptions import ConnectionClosed

        if self._tab is None:
            self._stack = contextlib.ExitStack()
            self._tab = self._stack.enter_context(self._studio.tab())
            assert self._tab.ask("open", project=self._project)["is"] == "done"
        try:
            accepted = self._exchange(data)
        except ConnectionClosed as reason:
            self._tab = None
            self._stack.close()
            if reason.rcvd is None or reason.rcvd.code in (1006, 1011):
                raise RuntimeError(f"the studio broke the connection: {reason}") from None
            accepted = False  # with a code of the protocol: text that is no UTF-8, or longer than any message
        self._log.require_none()
        return accepted

    def _exchange(self, data: bytes) -> bool:
        assert self._tab is not None
        text = data.decode("utf-8", errors="replace")
        self._tab.socket.send(text)
        self._number += 1
        # another message after it is answered: the connection, and the thread of the project, go on
        self._tab.socket.send(json.dumps({"v": 1, "do": "select", "nodes": [], "id": self._number}))
        errors, done, internal = 0, None, False
        while done is None:
            message = self._tab.hear()
            if isinstance(message, dict):
                if message.get("id") == self._number:
                    done = message
                elif message.get("is") == "error":
                    errors += 1
                    internal = internal or message.get("code") == "internal"
        self._log.require_none()
        if internal:
            raise RuntimeError("answered as an internal error")
        self._tab.texts.clear()
        self._tab._unread.clear()
        self._tab.frames.clear()
        self._tab._unseen.clear()
        if done.get("is") == "error":
            # the message closed the project, or gave its seat away: begin anew
            self._tab = None
            self._stack.close()
        return errors == 0


def _socket(folder: Path) -> Target:
    from studio_cases import running, sway_file

    stack = contextlib.ExitStack()
    log = stack.enter_context(_logged())
    studio = stack.enter_context(running(folder / "studio"))
    project = studio.hub.open_path(sway_file(folder), "edit").id
    return Target(_MESSAGES, _Client(studio, project, log).send, _JSON, stack)


_PATHS = (
    b"GET /", b"GET /static/main.js?v=1", b"GET /static/../app.py", b"GET /picture/fish", b"GET /download/abcdef",
    b"POST /enter", b"POST /upload?name=a.obj", b"POST /upload?name=../../a.npz", b"GET /ws", b"PUT /",
    b"GET /favicon.ico",
)  # fmt: skip


def _http(folder: Path) -> Target:
    import http.client

    from studio_cases import running

    stack = contextlib.ExitStack()
    log = stack.enter_context(_logged())
    static = folder / "static"
    static.mkdir()
    (static / "index.html").write_text("<title>page</title>", encoding="utf-8")
    studio = stack.enter_context(running(folder / "studio", static))
    cookie = f"{studio.guard.cookie_name}={studio.guard.cookie_value}"

    def send(data: bytes) -> bool:
        """One request, sent as it is: a client library would refuse most of them."""
        import socket
        from urllib.parse import quote_from_bytes

        method, _, path = data.replace(b"\r", b"").replace(b"\n", b"").partition(b" ")
        if len(data) % 3:  # else raw bytes go into the request line, which the server itself refuses
            path = quote_from_bytes(path, safe="/?=&%.").encode()
        head = b"%b %b HTTP/1.1\r\nhost: 127.0.0.1\r\ncookie: %b\r\ncontent-length: 3\r\nconnection: close\r\n\r\nv 0"
        with socket.create_connection(("127.0.0.1", studio.guard.port), timeout=60) as connection:
            with contextlib.suppress(ConnectionError):
                connection.sendall(head % (method, path, cookie.encode()))
            try:
                answer = http.client.HTTPResponse(connection)
                answer.begin()
            except (http.client.HTTPException, ConnectionError):
                return False  # closed without an answer, as for a request line that is no HTTP
            status = answer.status
        log.require_none()
        if status >= 500:
            raise RuntimeError(f"status {status}")
        return status < 400

    return Target(_PATHS, send, (*m.TEXT, _long_path), stack)


def _long_path(rng: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    piece = rng.choice((b"a", b"/..", b"%00", b"%2e%2e/", b"\0", b"%ff", b"?", b"/"))
    return data + piece * rng.choice((1, 100, 1700))


_ARCHIVE: tuple[m.Mutation, ...] = (*m.BYTES[:3], *[m.mutate_archive] * 9)
_JSON: tuple[m.Mutation, ...] = (*m.TEXT, *[m.mutate_json] * 9)

TARGETS: dict[str, Callable[[Path], Target]] = {
    **{f"mesh {s}": _mesh(s) for s in (".veg", ".node", ".ele", ".vtk", ".vtu", ".mesh")},
    "mesh .obj": _mesh(".obj", _QUADS),
    "mesh .ply": _mesh(".ply", _ASCII_PLY),
    "mesh .stl": _mesh(".stl", _ASCII_STL),
    "mesh .msh": _mesh(".msh", _MSH_2),
    "mesh .bou": _bou,
    "body .veg": _body,
    "animation .npz": _animation("a.npz", _ARCHIVE),
    "animation .usda": _animation("a.usda", m.TEXT),
    "animation .usdc": _animation("a.usdc", m.BYTES),
    "animation .glb": _animation("a.glb", (*m.BYTES, *[m.mutate_glb] * 9), "gltf/*.glb"),
    "animation .pc2": _animation("a.pc2", m.BYTES),
    "animation .mdd": _animation("a.mdd", m.BYTES),
    "animation .html": _animation("a.html", (*m.TEXT, *[m.mutate_html] * 9)),
    "animation .obj": _sequence,
    "model": _model,
    "model of springs": _model_springs,
    "controller": _controller,
    "flow controller": _flow_controller,
    "edit": _edit,
    "recipe": _recipe,
    "project": _project,
    "command": _command,
    "socket": _socket,
    "http": _http,
}


class _SelfTest(Target):
    """A reader that ends in a known way at input 6."""

    def input(self, rng: Random, number: int) -> bytes:
        return str(number).encode()


def self_test(folder: Path) -> Target:
    """The target with which the runner itself is tested; FUZZ_SELF_TEST says what happens."""

    def read(data: bytes) -> bool:
        kind = os.environ["FUZZ_SELF_TEST"] if data == b"6" else ""
        if kind == "crash":
            os.kill(os.getpid(), signal.SIGSEGV)
        while kind == "hang":
            pass
        if kind == "raw":
            raise IndexError("out of range")
        return kind != "refused"

    return _SelfTest([], read)


@contextlib.contextmanager
def parsers_in_this_process() -> Iterator[None]:
    """Run parsers of foreign files here and not in a child: a worker can be spared, and each start takes 0.3 s."""
    import cajole.animation.glb
    import cajole.animation.usd
    import cajole.mesh.formats.meshio_formats
    from cajole.parsers import child_process

    def run_here(parser: Any, path: Path, *arguments: Any, limits: Any = None, progress: Any = None) -> dict[str, Any]:
        with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            folder = Path(name)
            request = {
                "parser": [parser.__module__, parser.__qualname__], "path": str(path), "arguments": list(arguments),
            }  # fmt: skip
            document = child_process._run_parser(request, folder)
            (folder / "result.json").write_text(json.dumps(document), encoding="ascii")
            return child_process._collect_result(
                path, folder, limits or child_process.ParserLimits.for_file(path), 0, ""
            )

    modules: list[Any] = [cajole.animation.glb, cajole.animation.usd, cajole.mesh.formats.meshio_formats]
    for module in modules:
        module.run_in_child = run_here
    try:
        yield
    finally:
        for module in modules:
            module.run_in_child = child_process.run_in_child

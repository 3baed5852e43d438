"""What the add-on says to a running studio: a motion goes in, a project is opened, its result comes back.

The requests are those of docs/studio-protocol.md. The token of the address buys a cookie, as the page's does.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from .websocket import SocketError, WebSocket

_PROTOCOL = 1
# [s] without a word from the studio: long work tells how far it is
_PATIENCE = 600.0
_ADDRESS = re.compile(r"https?://\S+/#\S+")


class StudioError(Exception):
    """What went wrong, in words for the author."""


@dataclass(frozen=True)
class Address:
    """Where a studio listens, and the token that lets in."""

    host: str
    port: int
    token: str

    @classmethod
    def of(cls, text: str) -> Address:
        """From `http://127.0.0.1:PORT/#TOKEN`, as `cajole studio` prints it. Raises StudioError."""
        found = _ADDRESS.search(text)
        parts = urlsplit(found[0]) if found else None
        try:
            if parts is not None and parts.hostname and parts.port and parts.fragment:
                return cls(parts.hostname, parts.port, parts.fragment)
        except ValueError:  # a port that is no number
            pass
        raise StudioError(f"{text[:80]!r} is no address of a studio; copy the whole line that cajole studio prints")

    @property
    def url(self) -> str:
        """For the browser."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}/#{self.token}"


class Line:
    """A conversation over the socket."""

    def __init__(self, socket: WebSocket):
        self._socket, self._last = socket, 0

    def ask(self, what: str, /, **values: Any) -> dict[str, Any]:
        """Say something and wait for its one answer. Raises StudioError when that is a refusal."""
        self._last += 1
        number = self._last
        self._socket.send(json.dumps({"v": _PROTOCOL, "do": what, "id": number, **values}))
        return self.until(lambda message: message.get("id") == number and message["is"] == "done", number)

    def until(self, wanted: Callable[[dict[str, Any]], bool], number: int | None = None) -> dict[str, Any]:
        """The first message that is wanted. Raises StudioError for an error that concerns nobody else."""
        while True:
            heard = self._socket.receive()
            if isinstance(heard, bytes):  # meshes and frames to draw
                continue
            message = json.loads(heard)
            if message["is"] == "error" and message.get("id", number) == number:
                raise StudioError(_sentence(message))
            if wanted(message):
                return dict(message)


class Studio:
    """A running studio. All methods raise StudioError."""

    def __init__(self, address: Address):
        self.address = address
        self._cookie = self._entered()

    def upload(self, path: Path, mode: str) -> str:
        """Send a motion; what it is called until it is opened. Raises StudioError where `mode` cannot take it."""
        with path.open("rb") as stream:
            head = {"Content-Length": str(os.fstat(stream.fileno()).st_size), "Cookie": self._cookie}
            with self._request("POST", f"/upload?name={quote(path.name)}", stream, head) as answer:
                told = _document(answer.read())
        if answer.status != http.client.OK:
            raise StudioError(_sentence(told))
        chance = told["modes"][mode]
        if not chance["possible"]:
            raise StudioError(chance["why"] or f"this motion cannot go to {mode}")
        return str(told["upload"])

    def open(self, **what: str) -> str:
        """Open an upload (with its mode) or a project, which a browser is then shown; the project's id."""
        with self._line() as line:
            return str(line.ask("open", **what)["project"])

    def result(self, project: str, target: Path) -> None:
        """Fetch the motion that a project has made, as .npz."""
        with self._line() as line:
            line.ask("open", project=project)
            line.until(lambda message: message["is"] == "project")
            job = line.ask("export", what="result", format="npz").get("job")
            made = line.until(lambda message: message["is"] == "file" or _failed(message, job))
        with self._request("GET", made["url"], None, {"Cookie": self._cookie}) as answer:
            if answer.status != http.client.OK:
                raise StudioError(f"the studio wrote {made['name']} and does not give it ({answer.status}); try again")
            with target.open("wb") as stream:
                shutil.copyfileobj(answer, stream)
        if target.stat().st_size != made["bytes"]:
            raise StudioError(f"{made['name']} did not arrive whole; try again")

    @contextmanager
    def _line(self) -> Iterator[Line]:
        try:
            with WebSocket(self.address.host, self.address.port, "/ws", patience=_PATIENCE) as socket:
                line = Line(socket)
                line.ask("hello", proto=_PROTOCOL, token=self.address.token)
                yield line
        except SocketError as reason:
            raise StudioError(str(reason)) from None

    def _entered(self) -> str:
        with self._request("POST", "/enter", self.address.token.encode(), {}) as answer:
            cookie = (answer.getheader("Set-Cookie") or "").partition(";")[0]
        if answer.status != http.client.NO_CONTENT or not cookie:
            raise StudioError("the studio does not know this address's token; it was started anew: copy its address")
        return cookie

    @contextmanager
    def _request(self, how: str, path: str, body: Any, headers: dict[str, str]) -> Iterator[http.client.HTTPResponse]:
        # not by urllib, which would ask a proxy of the environment for this computer
        line = http.client.HTTPConnection(self.address.host, self.address.port, timeout=_PATIENCE)
        try:
            line.request(how, path, body, headers)
            yield line.getresponse()
        except (OSError, http.client.HTTPException) as reason:
            raise StudioError(f"no studio answers at {self.address.host}:{self.address.port} ({reason})") from None
        finally:
            line.close()


def _failed(message: dict[str, Any], job: object) -> bool:
    """Raise StudioError where the job that is waited for came to nothing."""
    if message["is"] == "job" and message["job"] == job and message["state"] in ("failed", "cancelled"):
        raise StudioError(message.get("reason") or "the export was cancelled in the studio")
    return False


def _document(data: bytes) -> dict[str, Any]:
    try:
        return dict(json.loads(data))
    except ValueError:
        return {"text": data[:200].decode(errors="replace") or "the studio gave no reason"}


def _sentence(told: dict[str, Any]) -> str:
    text, remedy = str(told.get("text", "the studio refused")), told.get("remedy")
    return f"{text}; {remedy}" if remedy else text

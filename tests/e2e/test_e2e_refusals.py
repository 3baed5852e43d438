"""Whoever speaks to the studio without being asked, or speaks nonsense, is refused; the page works on."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from studio_page import StudioPage
from studio_process import StudioProcess
from websockets.exceptions import ConnectionClosed, InvalidHandshake
from websockets.sync.client import ClientConnection, connect

from waiting import PATIENCE

REFUSED = 4403


@contextmanager
def script(studio: StudioProcess, **options: Any) -> Iterator[ClientConnection]:
    with connect(f"ws://127.0.0.1:{studio.port}/ws", max_size=None, open_timeout=PATIENCE, **options) as client:
        yield client


def say(client: ClientConnection, **values: Any) -> None:
    client.send(json.dumps({"v": 1, **values}))


def answer(client: ClientConnection, number: int | None = None) -> dict[str, Any]:
    """What comes back: for a number, else the next error."""
    while True:
        heard = client.recv(timeout=PATIENCE)
        if isinstance(heard, bytes):
            continue
        message = json.loads(heard)
        if message["is"] in ("done", "error") and (message.get("id") == number or message["is"] == "error"):
            return message


def closed(client: ClientConnection) -> int | None:
    """The code with which the studio hangs up."""
    with suppress(ConnectionClosed):
        while True:
            client.recv(timeout=PATIENCE)
    return client.close_code


def test_strangers(studio: StudioProcess) -> None:
    with script(studio) as client:
        say(client, do="hello", proto=1, token="another")
        assert closed(client) == REFUSED
    with script(studio) as client:
        say(client, do="catalogue", id=1)
        assert closed(client) == REFUSED
    with pytest.raises(InvalidHandshake), script(studio, origin="http://evil.example"):
        pass
    meant = socket.create_connection(("127.0.0.1", studio.port))
    with pytest.raises(InvalidHandshake), connect(f"ws://evil.example:{studio.port}/ws", sock=meant):
        pass
    meant.close()
    for headers in ({"Host": "evil.example"}, {"Origin": "http://evil.example"}):
        plain = http.client.HTTPConnection("127.0.0.1", studio.port, timeout=PATIENCE)
        plain.request("POST", "/enter", studio.token, headers)
        assert plain.getresponse().status == 403
        plain.close()


def test_nonsense_leaves_the_page_alone(page: StudioPage, studio: StudioProcess, sway_file: Path) -> None:
    page.begin(studio.address, sway_file)
    page.type("Position Z", "0.4")
    page.wait("() => cajole.app.state.edit.drags.length === 1")
    kept, project = page.part()["drags"], page.project["id"]
    node = kept[0]["node"]

    with script(studio) as client:
        say(client, do="hello", proto=1, token=studio.token, id=1)
        assert answer(client, 1)["is"] == "done"
        for text in ("nonsense", "[1, 2", "[]", "null", '{"v": 1}', '{"v": 9, "do": "undo"}', "[" * 5000, b"\x00\xff"):
            client.send(text)
            assert answer(client)["text"]
        say(client, do="open", project=project, id=2)
        assert answer(client, 2)["is"] == "done"
        say(client, do="takeover", id=3)
        assert answer(client, 3)["is"] == "done"
        wrong: list[dict[str, Any]] = [
            {"do": "place", "node": node, "frame": 20, "position": [0, 0, float("nan")]},
            {"do": "place", "node": node, "frame": 20, "position": [0, 0, 1e300]},
            {"do": "place", "node": 10**9, "frame": 20, "position": [0, 0, 0]},
            {"do": "place", "node": node, "frame": "20", "position": [0, 0, 0]},
            {"do": "frame", "frame": -1},
            {"do": "tune", "alpha": float("inf")},
            {"do": "export", "format": "../../x", "what": "result"},
            {"do": "marker.delete", "lane": "drags", "ids": ["nobody"]},
            {"do": "drag.move", "gesture": 12345, "seq": 1, "delta": [1, 0, 0]},
            {"do": "dance"},
        ]
        for number, message in enumerate(wrong, 10):
            say(client, **message, id=number)
            said = answer(client, number)
            assert said["is"] == "error", message
            assert said["text"], message
    with script(studio) as client:
        say(client, do="hello", proto=1, token=studio.token)
        with suppress(ConnectionClosed):  # it may hang up before all is sent
            client.send(json.dumps({"v": 1, "do": "rename", "name": "x" * 20_000_000}))
        # of the WebSocket protocol: too large, or a line that broke under what was still being sent
        assert closed(client) in (1009, 1006)

    # the page takes its seat again, and nothing has changed under it
    page.wait("() => cajole.app.ui.connection === 'connected'")
    if not page.ui["pilot"]:
        page.chosen("button", "Take over")
        page.wait("() => cajole.app.ui.pilot")
    assert page.part()["drags"] == kept
    page.key("Control+z")
    page.wait("() => cajole.app.state.edit.drags.length === 0")
    page.shot("works-on")

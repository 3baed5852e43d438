"""Chromium over its raw debugging protocol: drivers that copy every socket frame would be what is measured."""

from __future__ import annotations

import itertools
import json
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
# Without a card, a page composed "by the card" is drawn by an emulated one, 80 ms a frame however little changed: the
# browser's own software compositor takes its place.
FLAGS = (
    "--headless=new", "--no-sandbox", "--remote-debugging-port=0", "--remote-allow-origins=*", "--no-first-run",
    "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist",
    "--disable-background-timer-throttling", "--disable-renderer-backgrounding", "--window-size=1024,700",
    "--hide-scrollbars", "--mute-audio", "--disable-gpu-compositing",
)  # fmt: skip
PATIENCE = 60.0


def chromium() -> str | None:
    """Where a Chromium is; None when there is none."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


class Tab:
    """One page of a Chromium of its own."""

    def __init__(self) -> None:
        path = chromium()
        if path is None:
            raise SystemExit("no Chromium here; on Debian: apt-get install chromium")
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        arguments = [path, *FLAGS, f"--user-data-dir={self._folder.name}", "about:blank"]
        self._process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self._numbers = itertools.count(1)
        self._socket = self._connected()
        self.call("Page.enable")
        self.call("Runtime.enable")

    def call(self, method: str, **values: Any) -> dict[str, Any]:
        """A command and its answer."""
        number = next(self._numbers)
        self._socket.send(json.dumps({"id": number, "method": method, "params": values}))
        while True:
            message = json.loads(self._socket.recv(timeout=PATIENCE))
            if message.get("id") == number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']['message']}")
                return message["result"]

    def run(self, code: str) -> Any:
        """The value of an expression in the page; a promise is waited for."""
        found = self.call("Runtime.evaluate", expression=code, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in found:
            raise RuntimeError(found["exceptionDetails"].get("exception", {}).get("description", "it failed"))
        return found["result"].get("value")

    def wait(self, code: str, patience: float = PATIENCE) -> Any:
        """Until an expression is true; its value."""
        end = time.monotonic() + patience
        while time.monotonic() < end:
            found = self.run(code)
            if found:
                return found
            time.sleep(0.05)
        raise TimeoutError(f"{code} did not become true within {patience:g} s")

    def mouse(self, kind: str, x: float, y: float, *, down: bool = False) -> None:
        """mousePressed, mouseMoved or mouseReleased at page pixels."""
        pressed = kind != "mouseMoved"
        button = "left" if pressed or down else "none"
        self.call(
            "Input.dispatchMouseEvent", type=kind, x=x, y=y, button=button, buttons=1 if down else 0,
            clickCount=1 if pressed else 0,
        )  # fmt: skip

    def __enter__(self) -> Tab:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()
        self._process.terminate()
        self._process.wait(timeout=10)
        self._folder.cleanup()

    def _connected(self) -> Any:
        import urllib.request

        from websockets.sync.client import connect

        active = Path(self._folder.name) / "DevToolsActivePort"
        end = time.monotonic() + PATIENCE
        while not (active.exists() and active.read_text().strip()):
            if time.monotonic() > end or self._process.poll() is not None:
                raise RuntimeError("Chromium did not start")
            time.sleep(0.05)
        port = active.read_text().split()[0]
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/json") as stream:
            pages = [entry for entry in json.load(stream) if entry["type"] == "page"]
        return connect(pages[0]["webSocketDebuggerUrl"], max_size=None, compression=None, proxy=None)

"""The studio as a process beside Blender: found where it runs, started where it does not."""

from __future__ import annotations

import atexit
import os
import queue
import shutil
import signal
import subprocess
import tempfile
import threading
from typing import IO

from .client import Address, Studio, StudioError

# a first start compiles what it needs [s]
_START = 180.0
_FAREWELL = 10.0
# Blender's own would be taken for that of the other Python
_FOREIGN = ("PYTHONHOME", "PYTHONPATH")


class _Child:
    """`cajole studio` as this Blender started it."""

    def __init__(self, command: str):
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 -- open as long as the child runs
        environment = {name: value for name, value in os.environ.items() if name not in _FOREIGN}
        self._process = subprocess.Popen(
            [command, "studio", "--no-browser"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self._log, env=environment,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),  # of Windows alone
        )  # fmt: skip
        self.address = self._announced()

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def stop(self) -> None:
        """As Ctrl-C does: everything is kept."""
        if self.is_running:
            self._process.terminate() if os.name == "nt" else self._process.send_signal(signal.SIGINT)
            try:
                self._process.wait(_FAREWELL)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._log.close()

    def _announced(self) -> Address:
        """The address that it prints first. Raises StudioError with what it said instead."""
        said: queue.Queue[str] = queue.Queue()
        threading.Thread(target=_first_line, args=(self._process.stdout, said), daemon=True).start()
        try:
            return Address.of(said.get(timeout=_START))
        except (queue.Empty, StudioError):
            reason = self._complaint()
            self.stop()
            raise StudioError(f"cajole studio did not start: {reason}") from None

    def _complaint(self) -> str:
        self._log.seek(0)
        lines = self._log.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else f"it printed no address in {_START:.0f} s"


_child: _Child | None = None
# two operators at once find one studio
_lock = threading.Lock()


def studio(command: str, address: str) -> Studio:
    """The studio at `address` where one is given, else the one that was started here, else a new one."""
    global _child
    if address.strip():
        return Studio(Address.of(address))
    with _lock:
        if _child is None or not _child.is_running:
            _child = _Child(_found(command))
        return Studio(_child.address)


def stop() -> None:
    """End the studio that was started here; what was done in it is kept."""
    global _child
    child, _child = _child, None
    if child is not None:
        child.stop()


def _found(command: str) -> str:
    path = shutil.which(os.path.expanduser(command))
    if path is None:
        raise StudioError(
            f"{command!r} is no command here; install it with pip install 'cajole[studio]', and give its path in the "
            "preferences of this add-on"
        )
    return path


def _first_line(stream: IO[bytes] | None, said: queue.Queue[str]) -> None:
    said.put("" if stream is None else stream.readline().decode(errors="replace"))


atexit.register(stop)

"""`serve`: the studio on this machine, until it is interrupted."""

from __future__ import annotations

import logging
import os
import socket
import sys
import threading
import time
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cajole.errors import InputError
from cajole.studio.access import WILDCARD_HOSTS, AccessPolicy, is_loopback
from cajole.studio.app import STATIC_FOLDER, create_app
from cajole.studio.mode_registry import list_scene_cards
from cajole.studio.project_manager import ProjectManager
from cajole.studio.project_store import ProjectStore
from cajole.studio.protocol import MAX_TEXT_LENGTH

if TYPE_CHECKING:
    import uvicorn

LOG = logging.getLogger("cajole.studio")
# what open sockets are given to end by themselves [s]
SHUTDOWN_TIMEOUT = 3
# How long the solver may keep the interpreter while the line waits for it [s]: the usual 5 ms, once a piece of a large
# frame, made its way to the page 100 ms long.
THREAD_SWITCH_INTERVAL = 0.0005


def serve(
    subject: str | None = None,
    *,
    mode: str | None = None,
    host: str = "127.0.0.1",
    port: int | None = None,
    browser: bool = True,
    folder: str | os.PathLike[str] | None = None,
    announce: Callable[[str], None] | None = None,
) -> None:
    """Serve the studio until it is interrupted; prints the address to open, and opens it.

    subject: a scene or a file to begin with; mode: for it, the first that it can be used for when None; port: a free
    one when None or 0; folder: where projects are kept; announce: called with the address in place of printing it.
    Raises InputError for a subject that cannot be opened or an address that is taken, MissingExtra.
    """
    listening = bind_socket(host, port or 0)
    guard = AccessPolicy(host=host, port=listening.getsockname()[1])
    hub = ProjectManager(ProjectStore(folder))
    hub.catalogue.draws_pictures = True
    try:
        if subject is not None:
            _open_subject(hub, subject, mode)
        _warn_if_public(host)
        address = f"http://{_format_host(host)}:{guard.port}/#{guard.token}"
        server = create_server(hub, guard)
        ready = announce or _print_address
        threading.Thread(target=_announce_when_ready, args=(server, address, ready, browser), daemon=True).start()
        server.run(sockets=[listening])
    finally:
        listening.close()
        hub.close()


def _open_subject(manager: ProjectManager, subject: str, mode: str | None) -> None:
    cards = list_scene_cards()
    modes = [card.mode for card in cards if card.name == subject]
    path = Path(subject)
    if modes and (mode is None or mode in modes):
        manager.open_scene(subject, mode or modes[0])
    elif modes:
        raise InputError(f"{subject} is no scene for {mode}; choose {' or '.join(modes)}")
    elif path.suffix or path.exists():
        manager.open_path(path, mode)
    else:
        known = ", ".join(dict.fromkeys(card.name for card in cards))
        raise InputError(f"{subject!r} is neither a scene ({known}) nor a file")


def bind_socket(host: str, port: int) -> socket.socket:
    """A socket that listens; bound here, so that the address is known before anything is printed."""
    if not 0 <= port < 65536:
        raise InputError(f"port is {port}, but must be between 0 and 65535")
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        made = socket.socket(family, socket.SOCK_STREAM)
        if os.name == "posix":  # elsewhere this would let two studios share a port
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((host, port))
    except OSError as reason:
        made.close()
        said = reason.strerror or str(reason)
        raise InputError(f"cannot listen at {host}:{port}: {said}; choose another --port, or leave it out") from None
    return made


def create_server(manager: ProjectManager, access: AccessPolicy, static: Path = STATIC_FOLDER) -> uvicorn.Server:
    """What answers, in one process."""
    import uvicorn

    sys.setswitchinterval(THREAD_SWITCH_INTERVAL)
    config = uvicorn.Config(
        create_app(manager, access, static),
        log_level="warning",
        access_log=False,
        server_header=False,
        ws="websockets-sansio",
        ws_max_size=MAX_TEXT_LENGTH,
        ws_per_message_deflate=False,
        timeout_graceful_shutdown=SHUTDOWN_TIMEOUT,
    )
    return uvicorn.Server(config)


def _print_address(address: str) -> None:
    print(address, flush=True)


def _announce_when_ready(server: Any, address: str, announce: Callable[[str], None], browser: bool) -> None:
    """Tell the address once it is answered, and open it."""

    while not server.started:
        if server.should_exit:
            return
        time.sleep(0.02)
    announce(address)
    if browser and not webbrowser.open(address):
        print("open this address in a browser", file=sys.stderr)


def _warn_if_public(host: str) -> None:
    if not is_loopback(host):
        print(
            f"warning: at {host} other machines reach this studio as well, and what is sent is not encrypted; "
            "only who has the address with its token gets in",
            file=sys.stderr,
        )


def _format_host(host: str) -> str:
    """A host as an address has it; where all are meant, this machine's own."""
    name = "127.0.0.1" if host in WILDCARD_HOSTS else host
    return f"[{name}]" if ":" in name else name

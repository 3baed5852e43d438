"""`serve`: runs the web server of the studio until it is interrupted."""

from __future__ import annotations

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
    """Serve the studio until it is interrupted; print its address and open it in the browser.

    subject: a scene or a file to open; mode: mode for it, by default the first possible one; port: None or 0 for a free
    one; folder: of the projects; announce: called with the address instead of printing it. Raises InputError for a
    subject that cannot be opened and for an address in use.
    """
    listening = bind_socket(host, port or 0)
    policy = AccessPolicy(host=host, port=listening.getsockname()[1])
    manager = ProjectManager(ProjectStore(folder))
    manager.catalogue.draws_pictures = True
    try:
        if subject is not None:
            _open_subject(manager, subject, mode)
        if not is_loopback(host):
            print(
                f"warning: at {host} other machines reach this studio as well, and what is sent is not encrypted; "
                "only who has the address with its token gets in",
                file=sys.stderr,
            )
        name = "127.0.0.1" if host in WILDCARD_HOSTS else host
        name = f"[{name}]" if ":" in name else name
        address = f"http://{name}:{policy.port}/#{policy.token}"
        server = create_server(manager, policy)
        ready = announce or (lambda address: print(address, flush=True))
        threading.Thread(target=_announce_when_ready, args=(server, address, ready, browser), daemon=True).start()
        server.run(sockets=[listening])
    finally:
        listening.close()
        manager.close()


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
    """A bound socket, so that the address is known before it is printed. Raises InputError."""
    if not 0 <= port < 65536:
        raise InputError(f"port is {port}, but must be between 0 and 65535")
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        bound = socket.socket(family, socket.SOCK_STREAM)
        if os.name == "posix":  # elsewhere this would let two studios share a port
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((host, port))
    except OSError as reason:
        bound.close()
        detail = reason.strerror or str(reason)
        raise InputError(f"cannot listen at {host}:{port}: {detail}; choose another --port, or leave it out") from None
    return bound


def create_server(manager: ProjectManager, access: AccessPolicy, static: Path = STATIC_FOLDER) -> uvicorn.Server:
    """The web server of one process."""
    import uvicorn

    # [s] that the solver may hold the interpreter while the network thread waits: with the usual 5 ms per piece, a
    # large frame took 100 ms to the page
    sys.setswitchinterval(0.0005)
    config = uvicorn.Config(
        create_app(manager, access, static),
        log_level="warning",
        access_log=False,
        server_header=False,
        ws="websockets-sansio",
        ws_max_size=MAX_TEXT_LENGTH,
        ws_per_message_deflate=False,
        timeout_graceful_shutdown=3,  # [s] for open sockets
    )
    return uvicorn.Server(config)


def _announce_when_ready(server: Any, address: str, announce: Callable[[str], None], browser: bool) -> None:
    """Announce the address as soon as the server answers, and open it in the browser."""
    while not server.started:
        if server.should_exit:
            return
        time.sleep(0.02)
    announce(address)
    if browser and not webbrowser.open(address):
        print("open this address in a browser", file=sys.stderr)

"""One tab's connection: what it says is checked and passed on, what it is told is sent in its turn."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import cajole
from cajole.errors import CajoleError, InputError
from cajole.studio import message_values
from cajole.studio.access import AccessPolicy
from cajole.studio.outbox import Outbox
from cajole.studio.project import Project
from cajole.studio.project_manager import ProjectManager
from cajole.studio.protocol import (
    MAX_REQUESTED_FRAMES,
    MAX_TEXT_LENGTH,
    PROTOCOL_VERSION,
    STREAMS,
    build_error,
    check_command,
    decode_message,
    read_id,
)

if TYPE_CHECKING:
    from starlette.websockets import WebSocket

LOG = logging.getLogger("cajole.studio")
# a stranger must say who it is within this time [s]
HELLO_TIMEOUT = 5.0
# of the WebSocket protocol: not let in; the tab does not listen
CLOSE_FORBIDDEN, CLOSE_TRY_AGAIN_LATER = 4403, 1013
# what tabs that only look on may say
CONNECTION_COMMANDS = ("hello", "catalogue", "open", "close", "takeover", "frames", "ack", "got")
# and what they may ask of the project: it changes nothing
READ_ONLY_PROJECT_COMMANDS = ("export",)
# frames of a motion have numbers below this
MAX_FRAME_NUMBER = 10_000_000


class ClientConnection:
    """A socket, its pipe, and the project that it looks at."""

    def __init__(self, socket: WebSocket, manager: ProjectManager, access: AccessPolicy, *, has_cookie: bool):
        self._socket, self._manager, self._access, self._has_cookie = socket, manager, access, has_cookie
        self._loop = asyncio.get_running_loop()
        self._send_event = asyncio.Event()
        self._outbox = Outbox(self._wake)
        self._project: Project | None = None
        self._is_greeted = False

    async def run(self) -> None:
        """Until the tab is gone."""
        sender = asyncio.create_task(self._run_sender())
        try:
            while True:
                patience = None if self._is_greeted else HELLO_TIMEOUT
                text = await asyncio.wait_for(self._receive(), patience)
                if text is None or not await self._handle_message(text):
                    break
        except TimeoutError:
            await self._close_forbidden("no hello came in time")
        finally:
            self._outbox.close()
            self._detach_project()
            await _cancel_and_wait(sender)

    async def _receive(self) -> str | bytes | None:
        """The next message, None when the tab is gone."""
        message = await self._socket.receive()
        if message["type"] == "websocket.disconnect":
            return None
        found = message.get("text")
        return message.get("bytes") if found is None else found

    async def _handle_message(self, text: str | bytes) -> bool:
        """Answer one message; whether to go on."""
        number = None
        try:
            message = decode_message(text)
            number = read_id(message)
            name = check_command(message)
            if not self._is_greeted:
                return await self._handle_hello(name, message)
            answer = await self._run_command(name, message)
        except CajoleError as error:
            self._outbox.enqueue_message(build_error(error, number))
            return self._is_greeted or not isinstance(error, InputError)
        except Exception as error:
            LOG.exception("a message could not be handled")
            self._outbox.enqueue_message(build_error(error, number))
            return True
        if answer is not None and number is not None:
            self._outbox.enqueue_message({"is": "done", "id": number, **answer})
        return True

    async def _handle_hello(self, name: str, message: Mapping[str, Any]) -> bool:
        if name != "hello":
            await self._close_forbidden("the first message must be hello")
            return False
        if not self._has_cookie and not self._access.is_valid_token(message.get("token")):
            await self._close_forbidden(
                "this studio was started anew, or the address is of another; open the one it prints"
            )
            return False
        if message["proto"] != PROTOCOL_VERSION:
            raise InputError(
                f"the page speaks version {message['proto']!r} and this studio {PROTOCOL_VERSION}; reload the page"
            )
        self._is_greeted = True
        number = read_id(message)
        welcome = {
            "is": "welcome",
            "proto": PROTOCOL_VERSION,
            "version": cajole.__version__,
            "project": self._manager.active_project_id,
            "limits": {
                "text": MAX_TEXT_LENGTH,
                "frames": MAX_REQUESTED_FRAMES,
                "upload": self._manager.max_upload_bytes,
            },
        }
        self._outbox.enqueue_message(welcome)
        if number is not None:
            self._outbox.enqueue_message({"is": "done", "id": number})
        return True

    async def _run_command(self, name: str, message: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """What a message is answered with; None where the project answers it itself."""
        if name not in CONNECTION_COMMANDS:
            return self._post_to_project(message)
        if name == "catalogue":
            return {"catalogue": await asyncio.to_thread(self._manager.build_catalogue_payload)}
        if name == "open":
            await self._open_project(message)
            return None
        if name == "close" and self._project is not None:
            if self._project.clients.can_write(self._outbox):
                self._manager.clear_active_project(self._project)
            self._detach_project()
        elif name == "takeover":
            self._require_project().cancel_active_drag()
            self._require_project().clients.grant_write_access(self._outbox)
        elif name == "ack":
            self._outbox.acknowledge(message_values.read_integer(message, "seq", 0, 2**53 - 1))
        elif name == "got":
            self._outbox.confirm_frame()
        elif name == "frames":
            self._request_frames(message)
        return {}

    def _post_to_project(self, message: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Pass a message on to the project; orders to stop do not wait for what they stop."""
        name = message["do"]
        if name == "forget":
            return self._delete_project(message)
        project = self._require_project()
        if name not in READ_ONLY_PROJECT_COMMANDS and not project.clients.can_write(self._outbox):
            raise InputError("the project is open in another tab, and this one only looks on; take over first")
        if name in ("cancel", "stop"):
            return {"found": project.jobs.request_action(name, message["job"])}
        number, pipe = read_id(message), self._outbox

        def reply(answer: Mapping[str, Any]) -> None:
            if "is" in answer:
                pipe.enqueue_message(answer)
            elif number is not None:
                pipe.enqueue_message({"is": "done", "id": number, **answer})

        project.post(message, reply)
        return None

    def _delete_project(self, message: Mapping[str, Any]) -> Mapping[str, Any]:
        self._manager.delete_project(message_values.read_text(message, "project"))
        return {}

    async def _open_project(self, message: Mapping[str, Any]) -> None:
        """Answered at once: what is open follows, and a tab that looks at it already is told it anew."""
        project = await asyncio.to_thread(self._manager.open_from_message, message)
        self._detach_project()
        number = read_id(message)
        if number is not None:
            self._outbox.enqueue_message({"is": "done", "id": number, "project": project.id})
        self._project = project
        project.attach(self._outbox)

    def _request_frames(self, message: Mapping[str, Any]) -> None:
        stream = message_values.read_choice(message, "stream", STREAMS)
        self._outbox.request_frames(
            stream,
            message_values.read_integers(
                message, "list", MAX_FRAME_NUMBER, min_count=0, max_count=MAX_REQUESTED_FRAMES
            ),
        )
        self._require_project().wake()

    def _require_project(self) -> Project:
        if self._project is None:
            raise InputError("nothing is open; open something first")
        return self._project

    def _detach_project(self) -> None:
        project, self._project = self._project, None
        if project is not None:
            if project.clients.can_write(self._outbox):
                project.cancel_active_drag()
            project.clients.remove(self._outbox)
        self._outbox.discard_frames()

    async def _close_forbidden(self, reason: str) -> None:
        await self._socket.close(CLOSE_FORBIDDEN, reason)

    # --- sending

    def _wake(self) -> None:
        try:
            self._loop.call_soon_threadsafe(self._send_event.set)
        except RuntimeError:  # the loop has ended, and with it everyone who would listen
            self._outbox.is_closed = True

    async def _run_sender(self) -> None:
        while not self._outbox.is_closed:
            data = self._outbox.pop_next()
            if data is None:
                await self._send_event.wait()
                self._send_event.clear()
                continue
            if self._outbox.is_over_limit:
                await self._socket.close(CLOSE_TRY_AGAIN_LATER, "this tab does not listen")
                return
            if isinstance(data, str):
                await self._socket.send_text(data)
            else:
                await self._socket.send_bytes(data)
                if self._project is not None:
                    self._project.wake()


async def _cancel_and_wait(task: asyncio.Task[None]) -> None:
    task.cancel()
    try:
        await task
    except (asyncio.CancelledError, RuntimeError, OSError):
        return
    except Exception:  # the socket went away in the middle of a message
        LOG.debug("a tab was gone before all was sent", exc_info=True)

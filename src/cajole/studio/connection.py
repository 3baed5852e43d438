"""The WebSocket connection of one page: decodes its commands, and sends what its outbox holds."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Literal

import cajole
from cajole.errors import CajoleError, InputError
from cajole.studio.access import AccessPolicy
from cajole.studio.clients import Outbox
from cajole.studio.messages import (
    MAX_REQUESTED_FRAMES,
    Acknowledge,
    CancelJob,
    CatalogueAnswer,
    Close,
    ConfirmFrame,
    Export,
    Forget,
    FoundAnswer,
    GetCatalogue,
    Hello,
    Limits,
    Open,
    OpenAnswer,
    RequestFrames,
    StopJob,
    TakeOver,
    WelcomeMessage,
)
from cajole.studio.mode_registry import get_command_decoder
from cajole.studio.project import Project
from cajole.studio.project_manager import ProjectManager
from cajole.studio.protocol import (
    MAX_TEXT_LENGTH,
    PROTOCOL_VERSION,
    Answer,
    Command,
    CommandError,
    ServerMessage,
    build_error,
)

if TYPE_CHECKING:
    from starlette.websockets import WebSocket

LOG = logging.getLogger("cajole.studio")
# [s] until a client must have sent hello
HELLO_TIMEOUT = 5.0
# close codes of the WebSocket: not authenticated; the page does not read
CLOSE_FORBIDDEN, CLOSE_TRY_AGAIN_LATER = 4403, 1013


class ClientConnection:
    """A socket, its outbox, and the project that its page has open."""

    def __init__(self, socket: WebSocket, manager: ProjectManager, access: AccessPolicy, *, has_cookie: bool):
        self._socket, self._manager, self._access, self._has_cookie = socket, manager, access, has_cookie
        self._loop = asyncio.get_running_loop()
        self._send_event = asyncio.Event()
        self._outbox = Outbox(self._wake)
        self._project: Project | None = None
        self._is_greeted = False

    async def run(self) -> None:
        """Serve the page until it disconnects."""
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
        """The next message, None when the page has disconnected."""
        message = await self._socket.receive()
        if message["type"] == "websocket.disconnect":
            return None
        found = message.get("text")
        return message.get("bytes") if found is None else found

    async def _handle_message(self, text: str | bytes) -> bool:
        """Execute or queue one command and answer it; False ends the connection."""
        number = None
        try:
            command = get_command_decoder().decode(text)
            number = command.id
            if not self._is_greeted:
                return await self._handle_hello(command)
            answer = await self._run_command(command)
        except CajoleError as error:
            if isinstance(error, CommandError):
                number = error.request_id
            self._outbox.enqueue_message(build_error(error, number))
            return self._is_greeted or not isinstance(error, InputError)
        except Exception as error:
            LOG.exception("a message could not be handled")
            self._outbox.enqueue_message(build_error(error, number))
            return True
        if answer is not None:
            self._send(answer)
        return True

    def _send(self, message: ServerMessage) -> None:
        """Queue a message for the page; an answer to a command without id is dropped."""
        if not isinstance(message, Answer) or message.id is not None:
            self._outbox.enqueue_message(message)

    async def _handle_hello(self, command: Command) -> bool:
        if not isinstance(command, Hello):
            await self._close_forbidden("the first message must be hello")
            return False
        if not self._has_cookie and not self._access.is_valid_token(command.token):
            await self._close_forbidden(
                "this studio was started anew, or the address is of another; open the one it prints"
            )
            return False
        if command.proto != PROTOCOL_VERSION:
            raise InputError(
                f"the page speaks version {command.proto!r} and this studio {PROTOCOL_VERSION}; reload the page"
            )
        self._is_greeted = True
        limits = Limits(MAX_TEXT_LENGTH, MAX_REQUESTED_FRAMES, self._manager.max_upload_bytes)
        self._outbox.enqueue_message(
            WelcomeMessage(
                proto=PROTOCOL_VERSION,
                version=cajole.__version__,
                project=self._manager.active_project_id,
                limits=limits,
            )
        )
        self._send(Answer(id=command.id))
        return True

    async def _run_command(self, command: Command) -> Answer | None:
        """Execute a command; None where its answer is sent elsewhere."""
        match command:
            case GetCatalogue():
                catalogue = await asyncio.to_thread(
                    self._manager.catalogue.build_message, is_idle=self._manager.is_idle
                )
                return CatalogueAnswer(id=command.id, catalogue=catalogue)
            case Open():
                project = await asyncio.to_thread(self._manager.open_from_message, command)
                self._detach_project()
                # answered before the messages about the project, which a page that has it open gets again
                self._send(OpenAnswer(id=command.id, project=project.id))
                self._project = project
                project.attach(self._outbox)
                return None
            case Close():
                if self._project is not None:
                    if self._project.clients.can_write(self._outbox):
                        self._manager.clear_active_project(self._project)
                    self._detach_project()
            case TakeOver():
                self._require_project().cancel_active_drag()
                self._require_project().clients.grant_write_access(self._outbox)
            case Acknowledge():
                self._outbox.acknowledge(command.seq)
            case ConfirmFrame():
                self._outbox.confirm_frame()
            case RequestFrames():
                self._outbox.request_frames(command.stream, command.frames)
                self._require_project().wake()
            case Forget():
                self._manager.delete_project(command.project)
            case Hello():
                pass
            case _:
                return self._post_to_project(command)
        return Answer(id=command.id)

    def _post_to_project(self, command: Command) -> Answer | None:
        """Queue a command for the project; requests to end a job are executed at once."""
        project = self._require_project()
        # an export changes nothing, so pages that only watch may do it
        if not isinstance(command, Export) and not project.clients.can_write(self._outbox):
            raise InputError("the project is open in another tab, and this one only looks on; take over first")
        if isinstance(command, CancelJob | StopJob):
            action: Literal["cancel", "stop"] = "cancel" if isinstance(command, CancelJob) else "stop"
            return FoundAnswer(id=command.id, found=project.jobs.request_action(action, command.job))
        project.post(command, self._send)
        return None

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

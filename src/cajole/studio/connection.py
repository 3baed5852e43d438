"""One tab's connection: what it says is checked and passed on, what it is told is sent in its turn."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import cajole
from cajole.errors import CajoleError, InputError
from cajole.studio import take
from cajole.studio.guard import Guard
from cajole.studio.hub import Hub
from cajole.studio.pipe import Pipe
from cajole.studio.project import Project
from cajole.studio.protocol import LARGEST_TEXT, MOST_WANTED, PROTO, STREAMS, checked, decoded, failure, id_of

if TYPE_CHECKING:
    from starlette.websockets import WebSocket

LOG = logging.getLogger("cajole.studio")
# a stranger must say who it is within this time [s]
GREETING = 5.0
# of the WebSocket protocol: not let in; the tab does not listen
REFUSED, OVERFULL = 4403, 1013
# what tabs that only look on may say
QUIET = ("hello", "catalogue", "open", "close", "takeover", "frames", "ack", "got")
# and what they may ask of the project: it changes nothing
ASIDE = ("export",)
# frames of a motion have numbers below this
MOST_FRAMES = 10_000_000


class Connection:
    """A socket, its pipe, and the project that it looks at."""

    def __init__(self, socket: WebSocket, hub: Hub, guard: Guard, *, known: bool):
        self._socket, self._hub, self._guard, self._known = socket, hub, guard, known
        self._loop = asyncio.get_running_loop()
        self._ready = asyncio.Event()
        self._pipe = Pipe(self._wake)
        self._project: Project | None = None
        self._greeted = False

    async def run(self) -> None:
        """Until the tab is gone."""
        sender = asyncio.create_task(self._send())
        try:
            while True:
                patience = None if self._greeted else GREETING
                text = await asyncio.wait_for(self._received(), patience)
                if text is None or not await self._heard(text):
                    break
        except TimeoutError:
            await self._refuse("no hello came in time")
        finally:
            self._pipe.close()
            self._leave()
            await _ended(sender)

    async def _received(self) -> str | bytes | None:
        """The next message, None when the tab is gone."""
        message = await self._socket.receive()
        if message["type"] == "websocket.disconnect":
            return None
        found = message.get("text")
        return message.get("bytes") if found is None else found

    async def _heard(self, text: str | bytes) -> bool:
        """Answer one message; whether to go on."""
        number = None
        try:
            message = decoded(text)
            number = id_of(message)
            name = checked(message)
            if not self._greeted:
                return await self._greet(name, message)
            answer = await self._done(name, message)
        except CajoleError as error:
            self._pipe.say(failure(error, number))
            return self._greeted or not isinstance(error, InputError)
        except Exception as error:
            LOG.exception("a message could not be handled")
            self._pipe.say(failure(error, number))
            return True
        if answer is not None and number is not None:
            self._pipe.say({"is": "done", "id": number, **answer})
        return True

    async def _greet(self, name: str, message: Mapping[str, Any]) -> bool:
        if name != "hello":
            await self._refuse("the first message must be hello")
            return False
        if not self._known and not self._guard.knows_token(message.get("token")):
            await self._refuse("this studio was started anew, or the address is of another; open the one it prints")
            return False
        if message["proto"] != PROTO:
            raise InputError(f"the page speaks version {message['proto']!r} and this studio {PROTO}; reload the page")
        self._greeted = True
        number = id_of(message)
        welcome = {
            "is": "welcome", "proto": PROTO, "version": cajole.__version__, "project": self._hub.current,
            "limits": {"text": LARGEST_TEXT, "frames": MOST_WANTED, "upload": self._hub.largest_upload},
        }  # fmt: skip
        self._pipe.say(welcome)
        if number is not None:
            self._pipe.say({"is": "done", "id": number})
        return True

    async def _done(self, name: str, message: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """What a message is answered with; None where the project answers it itself."""
        if name not in QUIET:
            return self._posted(message)
        if name == "catalogue":
            return {"catalogue": await asyncio.to_thread(self._hub.told)}
        if name == "open":
            await self._open(message)
            return None
        if name == "close" and self._project is not None:
            if self._project.tabs.may_change(self._pipe):
                self._hub.leave(self._project)
            self._leave()
        elif name == "takeover":
            self._present().let_go()
            self._present().tabs.give_seat(self._pipe)
        elif name == "ack":
            self._pipe.acknowledge(take.integer(message, "seq", 0, 2**53 - 1))
        elif name == "got":
            self._pipe.got()
        elif name == "frames":
            self._want(message)
        return {}

    def _posted(self, message: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Pass a message on to the project; orders to stop do not wait for what they stop."""
        name = message["do"]
        if name == "forget":
            return self._forgotten(message)
        project = self._present()
        if name not in ASIDE and not project.tabs.may_change(self._pipe):
            raise InputError("the project is open in another tab, and this one only looks on; take over first")
        if name in ("cancel", "stop"):
            return {"found": project.jobs.order(name, message["job"])}
        number, pipe = id_of(message), self._pipe

        def reply(answer: Mapping[str, Any]) -> None:
            if "is" in answer:
                pipe.say(answer)
            elif number is not None:
                pipe.say({"is": "done", "id": number, **answer})

        project.post(message, reply)
        return None

    def _forgotten(self, message: Mapping[str, Any]) -> Mapping[str, Any]:
        self._hub.forget(take.text(message, "project"))
        return {}

    async def _open(self, message: Mapping[str, Any]) -> None:
        """Answered at once: what is open follows, and a tab that looks at it already is told it anew."""
        project = await asyncio.to_thread(self._hub.open, message)
        self._leave()
        number = id_of(message)
        if number is not None:
            self._pipe.say({"is": "done", "id": number, "project": project.id})
        self._project = project
        project.attach(self._pipe)

    def _want(self, message: Mapping[str, Any]) -> None:
        stream = take.one_of(message, "stream", STREAMS)
        self._pipe.want(stream, take.integers(message, "list", MOST_FRAMES, least=0, most=MOST_WANTED))
        self._present().wake()

    def _present(self) -> Project:
        if self._project is None:
            raise InputError("nothing is open; open something first")
        return self._project

    def _leave(self) -> None:
        project, self._project = self._project, None
        if project is not None:
            if project.tabs.may_change(self._pipe):
                project.let_go()
            project.tabs.remove(self._pipe)
        self._pipe.forget()

    async def _refuse(self, why: str) -> None:
        await self._socket.close(REFUSED, why)

    # --- sending

    def _wake(self) -> None:
        try:
            self._loop.call_soon_threadsafe(self._ready.set)
        except RuntimeError:  # the loop has ended, and with it everyone who would listen
            self._pipe.is_closed = True

    async def _send(self) -> None:
        while not self._pipe.is_closed:
            data = self._pipe.take()
            if data is None:
                await self._ready.wait()
                self._ready.clear()
                continue
            if self._pipe.is_overfull:
                await self._socket.close(OVERFULL, "this tab does not listen")
                return
            if isinstance(data, str):
                await self._socket.send_text(data)
            else:
                await self._socket.send_bytes(data)
                if self._project is not None:
                    self._project.wake()


async def _ended(task: asyncio.Task[None]) -> None:
    task.cancel()
    try:
        await task
    except (asyncio.CancelledError, RuntimeError, OSError):
        return
    except Exception:  # the socket went away in the middle of a message
        LOG.debug("a tab was gone before all was sent", exc_info=True)

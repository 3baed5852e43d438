"""The studio as a web application: the page, its socket, files in and out."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cajole.errors import CajoleError, MissingExtra
from cajole.storage import atomic_path
from cajole.studio.guard import HEADERS, Guard
from cajole.studio.hub import Hub, Upload
from cajole.studio.looking import look
from cajole.studio.protocol import failure

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send
    from starlette.websockets import WebSocket

STATIC = Path(__file__).parent / "static"
# how often projects that were left are looked for [s]
TIDY_EVERY = 30.0
LONGEST_TOKEN = 1000
# while there are no pictures yet, the page asks again
BRIEFLY, FOREVER, NEVER = "no-cache", "public, max-age=31536000, immutable", "no-store"
MISSING = """<!doctype html><meta charset="utf-8"><title>Cajole Studio</title>
<h1>The page of the studio was not built</h1>
<p>This copy of Cajole runs from its sources. Run <code>make page</code> in its folder, then reload this page.</p>
"""


def application(hub: Hub, guard: Guard, static: Path = STATIC) -> Starlette:
    """The studio for one start. Raises MissingExtra where Starlette is not installed."""
    try:
        from starlette.applications import Starlette
        from starlette.routing import Route, WebSocketRoute
    except ImportError:
        raise MissingExtra("starlette", "studio", "the studio") from None
    routes = _Routes(hub, guard, static)
    app = Starlette(
        routes=[
            Route("/", routes.page),
            Route("/static/{path:path}", routes.static),
            Route("/pictures/{key}.webp", routes.picture),
            Route("/enter", routes.enter, methods=["POST"]),
            Route("/upload", routes.upload, methods=["POST"]),
            Route("/download/{number}", routes.download),
            WebSocketRoute("/ws", routes.socket),
        ],
        lifespan=_living(hub),
    )
    app.add_middleware(_Guarded, guard=guard)
    return app


def _living(hub: Hub) -> Callable[[Any], contextlib.AbstractAsyncContextManager[None]]:
    @contextlib.asynccontextmanager
    async def living(app: Any) -> AsyncIterator[None]:
        async def tidy() -> None:
            while True:
                await asyncio.sleep(TIDY_EVERY)
                await asyncio.to_thread(hub.tidy)

        await asyncio.to_thread(hub.shelf.sweep)
        task = asyncio.create_task(tidy())
        yield
        task.cancel()
        await asyncio.to_thread(hub.close)

    return living


class _Guarded:
    """Refuses requests that were meant for others or come from elsewhere, and adds headers to what is answered."""

    def __init__(self, app: ASGIApp, guard: Guard):
        self._app, self._guard = app, guard

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        from starlette.datastructures import Headers, MutableHeaders
        from starlette.responses import PlainTextResponse

        headers = Headers(scope=scope)
        host = headers.get("host")
        if not (self._guard.allows_host(host) and self._guard.allows_origin(headers.get("origin"), host)):
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 4403, "reason": "not from here"})
                return
            await PlainTextResponse("not from here", 403)(scope, receive, send)
            return

        async def answered(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        await self._app(scope, receive, answered)


class _Routes:
    """What each address does."""

    def __init__(self, hub: Hub, guard: Guard, static: Path):
        self._hub, self._guard, self._static = hub, guard, static

    async def page(self, request: Request) -> Response:
        from starlette.responses import FileResponse, HTMLResponse

        index = self._static / "index.html"
        if not index.is_file():
            return HTMLResponse(MISSING, 503, {"cache-control": NEVER})
        return FileResponse(index, headers={"cache-control": BRIEFLY})

    async def static(self, request: Request) -> Response:
        from starlette.exceptions import HTTPException
        from starlette.responses import FileResponse

        root = self._static.resolve()
        try:
            path = (root / request.path_params["path"]).resolve()
            is_ours = root in path.parents and path.is_file()
        except (OSError, ValueError):  # a name that no file can have: too long, or with a zero byte
            is_ours = False
        if not is_ours:
            raise HTTPException(404)
        # an address with a version in it never means anything else
        return FileResponse(path, headers={"cache-control": FOREVER if request.url.query else BRIEFLY})

    async def picture(self, request: Request) -> Response:
        from starlette.exceptions import HTTPException
        from starlette.responses import FileResponse

        path = self._hub.catalogue.picture(request.path_params["key"])
        if path is None:
            raise HTTPException(404, headers={"cache-control": NEVER})
        return FileResponse(path, media_type="image/webp", headers={"cache-control": "max-age=3600"})

    async def enter(self, request: Request) -> Response:
        from starlette.responses import PlainTextResponse, Response

        token = b""
        async for part in request.stream():
            token += part
            if len(token) > LONGEST_TOKEN:
                return PlainTextResponse("no token is so long", 413)
        if not self._guard.knows_token(token.decode(errors="replace").strip()):
            return PlainTextResponse("another token; open the address that the studio prints", 403)
        answer = Response(status_code=204, headers={"cache-control": NEVER})
        answer.set_cookie(self._guard.cookie_name, self._guard.cookie, httponly=True, samesite="strict", path="/")
        return answer

    async def upload(self, request: Request) -> Response:
        self._require_cookie(request)
        from starlette.responses import JSONResponse

        try:
            upload = self._hub.receive(request.query_params.get("name", ""))
        except CajoleError as error:
            return JSONResponse(failure(error), 400)
        try:
            await asyncio.to_thread(self._hub.reserve)
            if not await _stored(request, upload, self._hub.largest_upload):
                self._hub.refused(upload)
                return JSONResponse(_too_large(self._hub.largest_upload), 413)
        except CajoleError as error:
            self._hub.refused(upload)
            return JSONResponse(failure(error), 507)
        except BaseException:
            self._hub.refused(upload)
            raise
        return await self._looked_at(upload)

    async def _looked_at(self, upload: Upload) -> Response:
        """Say what came in, and keep it until it is opened; what cannot be read is refused with the reason."""
        from starlette.responses import JSONResponse

        left = threading.Event()
        try:
            found = await asyncio.to_thread(look, upload.path, lambda *_: not left.is_set())
        except CajoleError as error:
            self._hub.refused(upload)
            said = failure(error)
            # whoever sent it knows its name, not where it lies here
            return JSONResponse(said | {"text": said["text"].replace(str(upload.path), upload.path.name)}, 400)
        finally:
            # a server that ends cancels this task, but not the thread, which would wait for a parser that blocks
            left.set()
        self._hub.received(upload)
        return JSONResponse({"upload": upload.id, "name": upload.path.name, **found.told()})

    async def download(self, request: Request) -> Response:
        self._require_cookie(request)
        from starlette.exceptions import HTTPException
        from starlette.responses import FileResponse

        path = self._hub.fetched(request.path_params["number"])
        if path is None:
            raise HTTPException(404)
        return FileResponse(path, filename=path.name, headers={"cache-control": NEVER})

    async def socket(self, socket: WebSocket) -> None:
        from cajole.studio.connection import Connection

        await socket.accept()
        await Connection(socket, self._hub, self._guard, known=self._guard.knows_cookie(socket.cookies)).run()

    def _require_cookie(self, request: Request) -> None:
        from starlette.exceptions import HTTPException

        if not self._guard.knows_cookie(request.cookies):
            raise HTTPException(403, "open the address that the studio prints first")


async def _stored(request: Request, upload: Upload, most: int) -> bool:
    """Write the body of a request as it comes; False, and nothing is left, when it is more than `most` bytes."""
    claimed = request.headers.get("content-length", "0")
    if claimed.isdecimal() and int(claimed) > most:
        return False
    size = 0
    with atomic_path(upload.path) as temporary, temporary.open("wb") as stream:
        async for part in request.stream():
            size += len(part)
            if size > most:
                break
            await asyncio.to_thread(stream.write, part)
    if size > most:
        upload.path.unlink(missing_ok=True)
    return size <= most


def _too_large(most: int) -> dict[str, Any]:
    return {
        "is": "error",
        "code": "input",
        "text": f"the file is larger than {most // 1_000_000} MB",
        "remedy": "start the studio with its path instead: cajole studio FILE",
    }

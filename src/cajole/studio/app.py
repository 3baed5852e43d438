"""The web application of the studio: the page, its WebSocket, uploads and downloads."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from cajole.errors import CajoleError, MissingExtra
from cajole.storage import replace_atomically
from cajole.studio.access import SECURITY_HEADERS, AccessPolicy
from cajole.studio.messages import UploadAnswer
from cajole.studio.project_manager import ProjectManager, Upload, inspect_file
from cajole.studio.protocol import ErrorMessage, build_error, encode_message

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send
    from starlette.websockets import WebSocket

STATIC_FOLDER = Path(__file__).parent / "static"
# [s] between two searches for idle projects
CLEANUP_INTERVAL = 30.0
MAX_TOKEN_BYTES = 1000
CACHE_REVALIDATE, CACHE_IMMUTABLE, CACHE_NO_STORE = "no-cache", "public, max-age=31536000, immutable", "no-store"
MISSING_PAGE_HTML = """<!doctype html><meta charset="utf-8"><title>Cajole Studio</title>
<h1>The page of the studio was not built</h1>
<p>This copy of Cajole runs from its sources. Run <code>make page</code> in its folder, then reload this page.</p>
"""


def create_app(manager: ProjectManager, access: AccessPolicy, static: Path = STATIC_FOLDER) -> Starlette:
    """The ASGI application. Raises MissingExtra if Starlette is not installed."""
    try:
        from starlette.applications import Starlette
        from starlette.routing import Route, WebSocketRoute
    except ImportError:
        raise MissingExtra("starlette", "studio", "the studio") from None
    routes = _RouteHandlers(manager, access, static)
    app = Starlette(
        routes=[
            Route("/", routes.get_page),
            Route("/static/{path:path}", routes.get_static_file),
            Route("/pictures/{key}.webp", routes.get_picture),
            Route("/enter", routes.exchange_token, methods=["POST"]),
            Route("/upload", routes.receive_upload, methods=["POST"]),
            Route("/download/{number}", routes.get_export),
            WebSocketRoute("/ws", routes.handle_websocket),
        ],
        lifespan=_make_lifespan(manager),
    )
    app.add_middleware(_AccessMiddleware, access=access)
    return app


def _make_lifespan(manager: ProjectManager) -> Callable[[Any], contextlib.AbstractAsyncContextManager[None]]:
    @contextlib.asynccontextmanager
    async def run_lifespan(app: Any) -> AsyncIterator[None]:
        async def close_idle_periodically() -> None:
            while True:
                await asyncio.sleep(CLEANUP_INTERVAL)
                await asyncio.to_thread(manager.close_idle_projects)

        await asyncio.to_thread(manager.store.remove_stale_files)
        task = asyncio.create_task(close_idle_periodically())
        yield
        task.cancel()
        await asyncio.to_thread(manager.close)

    return run_lifespan


class _AccessMiddleware:
    """Rejects requests with a foreign Host or Origin, and adds security headers to all responses."""

    def __init__(self, app: ASGIApp, access: AccessPolicy):
        self._app, self._access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        from starlette.datastructures import Headers, MutableHeaders
        from starlette.responses import PlainTextResponse

        headers = Headers(scope=scope)
        host = headers.get("host")
        if not (self._access.is_allowed_host(host) and self._access.is_allowed_origin(headers.get("origin"), host)):
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 4403, "reason": "not from here"})
                return
            await PlainTextResponse("not from here", 403)(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(SECURITY_HEADERS)
            await send(message)

        await self._app(scope, receive, send_with_headers)


class _RouteHandlers:
    """Handlers of the routes."""

    def __init__(self, manager: ProjectManager, access: AccessPolicy, static: Path):
        self._manager, self._access, self._static = manager, access, static

    async def get_page(self, request: Request) -> Response:
        from starlette.responses import FileResponse, HTMLResponse

        index = self._static / "index.html"
        if not index.is_file():
            return HTMLResponse(MISSING_PAGE_HTML, 503, {"cache-control": CACHE_NO_STORE})
        return FileResponse(index, headers={"cache-control": CACHE_REVALIDATE})

    async def get_static_file(self, request: Request) -> Response:
        from starlette.exceptions import HTTPException
        from starlette.responses import FileResponse

        root = self._static.resolve()
        try:
            path = (root / request.path_params["path"]).resolve()
            is_ours = root in path.parents and path.is_file()
        except (OSError, ValueError):  # an invalid file name: too long, or with a zero byte
            is_ours = False
        if not is_ours:
            raise HTTPException(404)
        # a URL with a version in its query never changes its content
        return FileResponse(path, headers={"cache-control": CACHE_IMMUTABLE if request.url.query else CACHE_REVALIDATE})

    async def get_picture(self, request: Request) -> Response:
        from starlette.exceptions import HTTPException
        from starlette.responses import FileResponse

        path = self._manager.catalogue.find_picture(request.path_params["key"])
        if path is None:
            raise HTTPException(404, headers={"cache-control": CACHE_NO_STORE})
        return FileResponse(path, media_type="image/webp", headers={"cache-control": "max-age=3600"})

    async def exchange_token(self, request: Request) -> Response:
        from starlette.responses import PlainTextResponse, Response

        token = b""
        async for part in request.stream():
            token += part
            if len(token) > MAX_TOKEN_BYTES:
                return PlainTextResponse("no token is so long", 413)
        if not self._access.is_valid_token(token.decode(errors="replace").strip()):
            return PlainTextResponse("another token; open the address that the studio prints", 403)
        answer = Response(status_code=204, headers={"cache-control": CACHE_NO_STORE})
        answer.set_cookie(
            self._access.cookie_name, self._access.cookie_value, httponly=True, samesite="strict", path="/"
        )
        return answer

    async def receive_upload(self, request: Request) -> Response:
        self._require_cookie(request)
        try:
            upload = self._manager.create_upload(request.query_params.get("name", ""))
        except CajoleError as error:
            return _answer_error(build_error(error), 400)
        try:
            await asyncio.to_thread(self._manager.lock_upload_folder)
            if not await _store_upload(request, upload, self._manager.max_upload_bytes):
                self._manager.discard_upload(upload)
                return _answer_error(_build_too_large_error(self._manager.max_upload_bytes), 413)
        except CajoleError as error:
            self._manager.discard_upload(upload)
            return _answer_error(build_error(error), 507)
        except BaseException:
            self._manager.discard_upload(upload)
            raise
        return await self._inspect_upload(upload)

    async def _inspect_upload(self, upload: Upload) -> Response:
        """Describe a complete upload, and keep it until it is opened; a file that cannot be read is an error."""
        from starlette.responses import Response

        left = threading.Event()
        try:
            found = await asyncio.to_thread(inspect_file, upload.path, lambda *_: not left.is_set())
        except CajoleError as error:
            self._manager.discard_upload(upload)
            said = build_error(error)
            # the client knows the file by its name, not by its path on the server
            text = said.text.replace(str(upload.path), upload.path.name)
            return _answer_error(msgspec.structs.replace(said, text=text), 400)
        finally:
            # a server that stops cancels this task, but not the thread, which would wait for a blocking parser
            left.set()
        self._manager.register_upload(upload)
        answer = UploadAnswer(
            upload=upload.id, name=upload.path.name, kind=found.kind, text=found.description, modes=found.modes
        )
        return Response(msgspec.json.encode(answer), media_type="application/json")

    async def get_export(self, request: Request) -> Response:
        self._require_cookie(request)
        from starlette.exceptions import HTTPException
        from starlette.responses import FileResponse

        path = self._manager.find_export(request.path_params["number"])
        if path is None:
            raise HTTPException(404)
        return FileResponse(path, filename=path.name, headers={"cache-control": CACHE_NO_STORE})

    async def handle_websocket(self, socket: WebSocket) -> None:
        from cajole.studio.connection import ClientConnection

        await socket.accept()
        await ClientConnection(
            socket, self._manager, self._access, has_cookie=self._access.has_valid_cookie(socket.cookies)
        ).run()

    def _require_cookie(self, request: Request) -> None:
        from starlette.exceptions import HTTPException

        if not self._access.has_valid_cookie(request.cookies):
            raise HTTPException(403, "open the address that the studio prints first")


async def _store_upload(request: Request, upload: Upload, max_bytes: int) -> bool:
    """Write the body of a request to the disk; False, and no file, if it has more than `max_bytes`."""
    claimed = request.headers.get("content-length", "0")
    if claimed.isdecimal() and int(claimed) > max_bytes:
        return False
    size = 0
    with replace_atomically(upload.path) as temporary, temporary.open("wb") as stream:
        async for part in request.stream():
            size += len(part)
            if size > max_bytes:
                break
            await asyncio.to_thread(stream.write, part)
    if size > max_bytes:
        upload.path.unlink(missing_ok=True)
    return size <= max_bytes


def _build_too_large_error(max_bytes: int) -> ErrorMessage:
    return ErrorMessage(
        code="input",
        text=f"the file is larger than {max_bytes // 1_000_000} MB",
        remedy="start the studio with its path instead: cajole studio FILE",
    )


def _answer_error(error: ErrorMessage, status: int) -> Response:
    from starlette.responses import Response

    return Response(encode_message(error), status, media_type="application/json")

"""The page's server: on loopback, under a secret path, for as long as the command runs."""

from __future__ import annotations

import secrets
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable
from importlib import resources
from typing import Any, Final, TypeVar

import msgspec
import trio
from hypercorn.config import Config
from hypercorn.trio import serve  # pyright: ignore[reportUnknownVariableType]
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from sliphook.trace.record import TraceRecord
from sliphook.wire import envelope
from sliphook.wire.decoding import DECODE_ERRORS
from sliphook_sdk.protocol.limits import MAX_HOST_MESSAGE_BYTES

from .feed import WireFeed
from .living import Living, ToSend
from .saving import NoTest, as_test, file_name

_T = TypeVar("_T")

_ASSETS: Final = {
    "": ("index.html", "text/html"),
    "page.css": ("page.css", "text/css"),
    "page.js": ("page.js", "text/javascript"),
    "form.js": ("form.js", "text/javascript"),
}
_PAGE_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
    " connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)
_PICTURE_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"
_HEADERS: Final = {
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_SILENCE_S: Final = 15.0
"""A comment is sent after so long without a message, so that a closed page is noticed."""


class _Answer(msgspec.Struct, frozen=True):
    """What the page's user answers to a question; None declines."""

    id: str
    value: Any = None


class _Message(msgspec.Struct, frozen=True):
    params: dict[str, Any] = {}


class _Reply(msgspec.Struct, frozen=True):
    result: Any = None
    error: Any = None


class PageServer:
    """Serves the page of one plugin.

    Attributes:
        url: where the page is; who knows it may use the plugin.
    """

    def __init__(self, living: Living, feed: WireFeed) -> None:
        self._living = living
        self._feed = feed
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._authority = f"127.0.0.1:{self._socket.getsockname()[1]}"
        token = secrets.token_urlsafe(24)
        self.url = f"http://{self._authority}/{token}/"
        routes = [
            *(Route(f"/{token}/{name}", _asset(*asset)) for name, asset in _ASSETS.items()),
            Route(f"/{token}/events", self._events),
            Route(f"/{token}/timeline.svg", self._timeline),
            Route(f"/{token}/trace.jsonl", self._trace),
            Route(f"/{token}/message/{{number:int}}", self._message),
            Route(f"/{token}/test/{{number:int}}", self._test),
            Route(f"/{token}/ask", self._ask, methods=["POST"]),
            Route(f"/{token}/stop", self._stop, methods=["POST"]),
            Route(f"/{token}/restart", self._restart, methods=["POST"]),
            Route(f"/{token}/answer", self._answer, methods=["POST"]),
        ]
        self._app: ASGIApp = _SameOrigin(Starlette(routes=routes), self._authority)

    async def run(self) -> None:
        """Serve until cancelled."""
        config = Config()
        # the server closes it
        config.bind = [f"fd://{self._socket.detach()}"]
        config.loglevel = "ERROR"
        config.graceful_timeout = 0.1
        config.h11_max_incomplete_size = 64 * 1024
        await serve(self._app, config, shutdown_trigger=trio.sleep_forever)  # type: ignore[arg-type]

    # -- what the page reads

    async def _events(self, request: Request) -> Response:
        del request
        return StreamingResponse(self._told(), media_type="text/event-stream", headers=_HEADERS)

    async def _told(self) -> AsyncGenerator[bytes]:
        with self._feed.reading() as messages:
            yield _event({"state": self._living.shown()})
            for question, _ in tuple(self._living.questions.values()):
                yield _event({"question": question})
            while True:
                told = b": still here\n\n"
                with trio.move_on_after(_SILENCE_S):
                    try:
                        told = _event(await messages.receive())
                    except trio.EndOfChannel:
                        return
                yield told

    async def _timeline(self, request: Request) -> Response:
        del request
        picture = self._feed.picture(self._living.shown().name)
        headers = {**_HEADERS, "Content-Security-Policy": _PICTURE_POLICY}
        return Response(picture, media_type="image/svg+xml", headers=headers)

    async def _trace(self, request: Request) -> Response:
        del request
        return _download(self._feed.trace(), "inspected.jsonl", "application/jsonl")

    async def _message(self, request: Request) -> Response:
        record = self._feed.message(request.path_params["number"])
        if record is None:
            return _no("that message is not kept any more", 404)
        try:
            return _json({"method": record.method, "params": _params(record)})
        except DECODE_ERRORS:  # whatever the plugin has written
            return _no("the params of that message are no object", 409)

    async def _test(self, request: Request) -> Response:
        record = self._feed.message(request.path_params["number"])
        if record is None or record.method is None:
            return _no("that message is not kept any more", 404)
        path = self._living.path
        answer = self._feed.answer_to(record)
        try:
            if answer is None and record.id is not None:
                raise NoTest("the plugin has not answered it: there is nothing to expect yet")
            reply = _Reply() if answer is None else _decoded(answer, _Reply)
            if reply.error is not None:
                raise NoTest("the plugin answered with an error: no harness expects that")
            text = as_test(path, record.method, _params(record), reply.result)
        except (NoTest, *DECODE_ERRORS) as error:
            return _no(str(error), 409)
        return _download(text.encode(), file_name(path, record.method), "text/plain")

    # -- what the page does

    async def _ask(self, request: Request) -> Response:
        asked = await _read(request, ToSend)
        if isinstance(asked, Response):
            return asked
        return _json(await self._living.ask(asked))

    async def _stop(self, request: Request) -> Response:
        del request
        return _json({"stopped": self._living.stop()})

    async def _restart(self, request: Request) -> Response:
        del request
        await self._living.restart()
        return _json(self._living.shown())

    async def _answer(self, request: Request) -> Response:
        given = await _read(request, _Answer)
        if isinstance(given, Response):
            return given
        return _json({"taken": self._living.answer(given.id, given.value)})


class _SameOrigin:
    """Refuses what no page of this server sends: other hosts' names, and other sites' requests."""

    def __init__(self, app: ASGIApp, authority: str) -> None:
        self._app = app
        self._authority = authority

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = dict(scope["headers"])
            origin = headers.get(b"origin", f"http://{self._authority}".encode()).decode("latin-1")
            # a name that another site has pointed at this address is refused, too
            if (
                headers.get(b"host", b"").decode("latin-1") != self._authority
                or origin != f"http://{self._authority}"
            ):
                await PlainTextResponse("not from here", 403)(scope, receive, send)
                return
        await self._app(scope, receive, send)


async def _read(request: Request, shape: type[_T]) -> _T | Response:
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > MAX_HOST_MESSAGE_BYTES:
            return _no(f"it is over {MAX_HOST_MESSAGE_BYTES:,} bytes", 413)
    try:
        return msgspec.json.decode(bytes(body), type=shape)
    except DECODE_ERRORS as error:
        return _no(str(error), 400)


def _params(record: TraceRecord) -> dict[str, Any]:
    return _decoded(record, _Message).params


def _decoded(record: TraceRecord, shape: type[_T]) -> _T:
    return msgspec.json.decode(record.body or b"{}", type=shape)


def _asset(name: str, media_type: str) -> Callable[[Request], Awaitable[Response]]:
    data = resources.files("sliphook.cli.inspector.page").joinpath(name).read_bytes()

    async def asset(request: Request) -> Response:
        del request
        headers = {**_HEADERS, "Content-Security-Policy": _PAGE_POLICY}
        return Response(data, media_type=media_type, headers=headers)

    return asset


def _event(message: dict[str, Any]) -> bytes:
    # JSON of msgspec has no line breaks
    return b"data: " + envelope.encode(message) + b"\n\n"


def _json(value: Any) -> Response:
    return Response(envelope.encode(value), media_type="application/json", headers=_HEADERS)


def _no(why: str, status: int) -> Response:
    return PlainTextResponse(why, status, headers=_HEADERS)


def _download(data: bytes, name: str, media_type: str) -> Response:
    headers = {**_HEADERS, "Content-Disposition": f'attachment; filename="{name}"'}
    return Response(data, media_type=media_type, headers=headers)

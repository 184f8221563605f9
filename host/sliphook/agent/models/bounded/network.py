"""The network below the HTTP library, bounded: small reads, and headers of a bounded length.

The library handles all that it has read without a pause: 64 KiB of the smallest parts of a body
hold the loop for a second, and so do 100 KiB of headers. It has no setting for either.
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Iterable
from typing import Any, Final

import httpcore
import httpx

from .limits import MAX_HEAD_BYTES, MAX_HEAD_LINES, READ_BYTES, TooMuch, mib

_HEAD_END: Final = re.compile(rb"\n\r?\n")


def bound(client: httpx.AsyncClient) -> None:
    """Give all connections of a client, also those through a proxy, the bounded network."""
    # httpx has a public way for one transport, and takes no proxies from the environment then
    for transport in (client._transport, *client._mounts.values()):  # pyright: ignore[reportPrivateUsage]
        if isinstance(transport, httpx.AsyncHTTPTransport):
            pool = transport._pool  # pyright: ignore[reportPrivateUsage]
            pool._network_backend = _Network(pool._network_backend)  # pyright: ignore[reportPrivateUsage]


def came(response: httpx.Response) -> None:
    """Tell the network that a part of the body has come: what it read was not only headers."""
    stream = response.extensions.get("network_stream")
    if isinstance(stream, _Stream):
        stream.idle_bytes = stream.idle_lines = 0


class _Network(httpcore.AsyncNetworkBackend):
    """Opens bounded streams."""

    def __init__(self, inner: httpcore.AsyncNetworkBackend) -> None:
        self._inner = inner

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        return _Stream(
            await self._inner.connect_tcp(
                host,
                port,
                timeout=timeout,
                local_address=local_address,
                socket_options=socket_options,
            )
        )

    async def sleep(self, seconds: float) -> None:
        await self._inner.sleep(seconds)


class _Stream(httpcore.AsyncNetworkStream):
    """Reads little at once, and no headers beyond the limit.

    Attributes:
        idle_bytes, idle_lines: read since the last part of the body: what stands behind it.
    """

    def __init__(self, inner: httpcore.AsyncNetworkStream) -> None:
        self._inner = inner
        self._head: bytearray | None = None
        self._passed = self._lines = 0
        self.idle_bytes = self.idle_lines = 0

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109
        _count(self.idle_bytes, self.idle_lines)
        data = await self._inner.read(min(max_bytes, READ_BYTES), timeout)
        if self._head is not None:
            self._head += data
            self._look_for_end(self._head)
        else:
            self.idle_bytes += len(data)
            self.idle_lines += data.count(b"\n")
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109
        # a request: what comes next are the headers of its response
        self._head, self._passed, self._lines = bytearray(), 0, 0
        self.idle_bytes = self.idle_lines = 0
        await self._inner.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109
    ) -> httpcore.AsyncNetworkStream:
        return _Stream(await self._inner.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)

    def _look_for_end(self, head: bytearray) -> None:
        while end := _HEAD_END.search(head):
            lines = head.count(b"\n", 0, end.end())
            _count(self._passed + end.end(), self._lines + lines)
            if not head.startswith(b"1", 9):  # `HTTP/1.1 200`; what is shorter is no response
                self._head = None
                return
            # an informational response: another one follows, and they may never end
            self._passed += end.end()
            self._lines += lines
            del head[: end.end()]
        _count(self._passed + len(head), self._lines + head.count(b"\n"))


def _count(size: int, lines: int) -> None:
    if size > MAX_HEAD_BYTES:
        raise TooMuch(f"more than {mib(MAX_HEAD_BYTES)} of headers")
    if lines > MAX_HEAD_LINES:
        raise TooMuch(f"more than {MAX_HEAD_LINES} headers")

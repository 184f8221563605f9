"""A server elsewhere, over streamable HTTP, with a token from the plugin's environment."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final
from urllib.parse import urlsplit

import httpx2
from mcp.client import Transport
from mcp.client.streamable_http import streamable_http_client

_CONNECT_S: Final = 10.0
_HERE: Final = frozenset({"localhost", "127.0.0.1", "::1"})


def remote(words: Sequence[str], read_s: float) -> Transport:
    """The transport to the server at an address.

    Args:
        words: the address, and the variable that holds the token if it needs one.
        read_s: how long the server may say nothing.

    Raises:
        ConnectionError: the token is not there, or would be sent for everybody to read.
    """
    address, variable = words[0], words[1] if len(words) > 1 else None
    headers: dict[str, str] = {}
    if variable is not None:
        token = os.environ.get(variable)
        if not token:
            raise ConnectionError(f"its token, the variable {variable}, is not set or not granted")
        if not address.startswith("https://") and urlsplit(address).hostname not in _HERE:
            raise ConnectionError("a token is only sent over https://, or to this machine")
        headers["Authorization"] = f"Bearer {token}"
    return _remote(address, headers, read_s)


@asynccontextmanager
async def _remote(
    address: str, headers: dict[str, str], read_s: float
) -> AsyncGenerator[tuple[Any, Any]]:
    timeout = httpx2.Timeout(_CONNECT_S, read=read_s)
    async with (
        httpx2.AsyncClient(headers=headers, timeout=timeout) as client,
        streamable_http_client(address, http_client=client) as streams,
    ):
        yield streams

"""One HTTP hook: a request with what a command would have read on stdin."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit

import httpx

from sliphook.adapters.dialects.hosted.handler import Handler
from sliphook.adapters.dialects.hosted.hosted import Ended

MAX_BODY_BYTES: Final = 1024 * 1024


def why_not_allowed(handler: Handler, hosts: Sequence[str]) -> str | None:
    """Why a hook may not be asked, as a sentence; None if it may, or is no HTTP hook."""
    if handler.url is None:
        return None
    try:
        parts = urlsplit(handler.url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return "its address is none."
    if parts.scheme not in ("http", "https") or not host or parts.username is not None:
        return "its address is none of a server, or holds a login."
    if any("$" in value for value in handler.headers.values()):
        return "its headers need variables, which are not filled in here."
    named = host if port is None else f"{host}:{port}"
    if host not in hosts and named not in hosts:
        return f"{named} is not among foreign.http_hosts of config.toml."
    return None


async def ask(handler: Handler, body: bytes, timeout_s: float) -> Ended:
    """Send it; no redirect is followed, and at most 1 MiB of the response is read."""
    try:
        async with asyncio.timeout(timeout_s):  # httpx counts it for each piece anew
            return await _ask(handler, body)
    except TimeoutError:
        failure = f"took longer than {timeout_s:g} s"
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:  # ValueError: of a header
        failure = f"could not be asked: {str(error) or type(error).__name__}"
    return Ended(exit_code=None, failure=failure, of_http=True)


async def _ask(handler: Handler, body: bytes) -> Ended:
    headers = {"content-type": "application/json", **handler.headers}
    async with (
        httpx.AsyncClient(timeout=None, trust_env=False) as client,
        client.stream(
            handler.method,
            handler.url or "",
            content=None if handler.method == "GET" else body,
            headers=headers,
        ) as response,
    ):
        kept = bytearray()
        async for piece in response.aiter_bytes():
            kept += piece
            if len(kept) > MAX_BODY_BYTES:
                break
        text = kept.decode("utf-8", "replace")
        if response.is_success:
            is_cut = len(kept) > MAX_BODY_BYTES
            return Ended(exit_code=0, stdout=text, of_http=True, is_cut=is_cut)
        return Ended(
            exit_code=None, failure=f"was answered with {response.status_code}", of_http=True
        )

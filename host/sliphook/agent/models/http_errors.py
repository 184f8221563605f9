"""Errors for a model server that refuses or fails: one line for users, and whether to retry."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Final

import httpx

from sliphook.quoting import quote

from .address import SetBy
from .base import MAX_QUOTED_CHARS, ModelError
from .bounded.limits import TooMuch
from .openai_wire import ErrorDetail, decode_error

_NEVER_HEALS: Final = ("insufficient_quota", "billing_hard_limit_reached")
"""Codes that OpenAI sends with 429 if the account has no money: a retry does not help."""

_MAX_DATE_CHARS: Final = 100

SECRET_CHARS: Final = 12
"""A shorter key is not treated as a secret."""


def failure_of_status(
    status: int, headers: Mapping[str, str], body: bytes, *, url: str, model: str, set_by: SetBy
) -> ModelError:
    """The error for an answer that is not 200.

    Args:
        status: the HTTP status.
        headers: the answer's headers; looked up in lower case.
        body: the body.
        url: the server's base URL.
        model: the model that the request names.
        set_by: where the user sets the key, the address and the model.
    """
    failure = decode_error(body) or ErrorDetail(message=_plain(body))
    said = (
        f"{status}: {quote(failure.message, MAX_QUOTED_CHARS)}" if failure.message else f"{status}"
    )
    retry_after_s = _milliseconds(headers.get("retry-after-ms")) or retry_after(
        headers.get("retry-after"), now=time.time()
    )
    if status in (401, 403):
        message = f"the model server at {url} refused the key ({said}); set {set_by.key}"
        return ModelError("refused", message, status=status)
    if status == 404:
        return ModelError(
            "http",
            f"no model {model!r} at {url} ({said}); check {set_by.model} and {set_by.address}",
            status=status,
        )
    if status == 429:
        transient = failure.code not in _NEVER_HEALS
        message = (
            f"the model server is busy ({said})"
            if transient
            else f"the account at {url} is used up ({said}); check its billing"
        )
        return ModelError(
            "rate_limited", message, status=status, retry_after_s=retry_after_s, transient=transient
        )
    if 300 <= status < 400:
        target = quote(headers.get("location", "nowhere"), MAX_QUOTED_CHARS)
        return ModelError(
            "http",
            f"{url} has moved to {target} ({status}); set {set_by.address} to the new place",
            status=status,
        )
    # 409 is a lock that timed out; OpenAI's own client asks again after it, too
    if status in (408, 409) or status >= 500:
        return ModelError(
            "http",
            f"the model server failed ({said})",
            status=status,
            retry_after_s=retry_after_s,
            transient=True,
        )
    # a tool that a plugin offers is no fault of the model's name, nor of the address
    if "tools" in said or "function" in said:
        message = f"the model server at {url} refused a tool on offer ({said})"
    else:
        message = (
            f"the model server at {url} did not take the request ({said});"
            f" check {set_by.model} and {set_by.address}"
        )
    return ModelError("http", message, status=status)


def failure_of_excess(error: TooMuch, *, url: str, set_by: SetBy) -> ModelError:
    """The error for a server that sends more than is taken (see `bounded.limits`)."""
    return ModelError(
        "malformed",
        f"the answer of the model server at {url} was given up, as it has"
        f" {quote(str(error), MAX_QUOTED_CHARS)}; check {set_by.address}, or use another server",
    )


def failure_of_transport(
    error: httpx.HTTPError | httpx.InvalidURL,
    *,
    url: str,
    answering: bool,
    known: bool,
    set_by: SetBy,
) -> ModelError:
    """The error for a call that failed below HTTP.

    Args:
        error: the exception of httpx.
        url: the server's base URL.
        answering: the answer had begun, so it is incomplete.
        known: the server has answered before. If it has not, it is probably not running, and a
            retry does not help.
        set_by: where the user sets the address.
    """
    detail = quote(str(error), MAX_QUOTED_CHARS) or type(error).__name__
    # before TimeoutException, its base: an address that takes no connection may be the wrong one
    if isinstance(error, httpx.ConnectTimeout):
        return ModelError(
            "timeout",
            f"the model server at {url} took no connection in time; is {set_by.address} right?",
            transient=known,
        )
    if isinstance(error, httpx.TimeoutException):
        return ModelError(
            "timeout", f"the model server at {url} has been silent for too long", transient=True
        )
    if isinstance(error, (httpx.InvalidURL, httpx.UnsupportedProtocol)):
        return ModelError(
            "connection",
            f"{url!r} is no address of a model server ({detail});"
            f" {set_by.address} looks like http://127.0.0.1:8080/v1",
        )
    if isinstance(error, httpx.DecodingError):
        return ModelError(
            "malformed", f"the model server at {url} sent bytes that cannot be decoded ({detail})"
        )
    if answering:
        return ModelError("stream", f"the model's answer broke off ({detail})", transient=True)
    return ModelError(
        "connection",
        f"cannot reach the model server at {url} ({detail});"
        f" is it running, and is {set_by.address} right?",
        transient=known or not isinstance(error, httpx.ConnectError),
    )


def hide_key(error: ModelError, key: str) -> None:
    """Remove `key` from the message, also a cut one: some servers send it back in their errors."""
    if len(key) < SECRET_CHARS:
        return  # a word such as `none`, for a local server that wants no key
    # longest first: to replace a short beginning would leave the rest of a whole key in the message
    for end in range(len(key), SECRET_CHARS - 1, -1):
        error.message = error.message.replace(key[:end], "[key]")
    error.args = (error.message,)


def _plain(body: bytes) -> str | None:
    """The words of a server that does not speak JSON; None for a page of HTML."""
    text = body[: 4 * MAX_QUOTED_CHARS].decode("utf-8", "replace").strip()
    return text if text and text[0] not in "<{[" else None


def _milliseconds(value: str | None) -> float | None:
    """The header in milliseconds that OpenAI and Azure send beside Retry-After; in seconds."""
    # isascii: for `isdigit` a superscript two is a digit too, and `int` would raise; it also raises
    # for a number of thousands of digits
    is_number = value is not None and value.isascii() and value.isdigit() and len(value) <= 12
    return int(value) / 1000 if value is not None and is_number else None


def retry_after(value: str | None, *, now: float) -> float | None:
    """The seconds of a Retry-After header, or None.

    Args:
        value: the header: a number of seconds, or a date of HTTP.
        now: the current time as seconds since 1970, for a date.
    """
    if value is None or len(value) > _MAX_DATE_CHARS:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value.strip()).timestamp() - now
        except (ValueError, OverflowError):
            return None
    # `nan` and `inf` are floats as well, and a date may lie in the past
    return max(0.0, seconds) if math.isfinite(seconds) else None

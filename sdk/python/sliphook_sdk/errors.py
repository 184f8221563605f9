"""The exceptions of the SDK, and who is at fault."""

from __future__ import annotations


class RegistrationError(Exception):
    """A decorator was used wrongly; the author's fault.

    Raised while the plugin is imported. The message has the handler's file and line.
    """


class AnswerError(Exception):
    """A handler returned something that is not allowed; the author's fault.

    The message says what is allowed.
    """


class ToolError(Exception):
    """Raised by a tool or a command to fail: the model, or the user, reads the message.

    No traceback is logged.
    """


class HostRefused(Exception):
    """The host answered a request of the plugin with an error.

    Attributes:
        code: a code of `sliphook_sdk.protocol.ErrorCode`, or another code of JSON-RPC.
        message: the host's reason.
    """

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class CommandError(Exception):
    """A command of `ctx.run` cannot be started; the message says why, and what to do."""


class NotConnected(RuntimeError):
    """A request to the host while it cannot be heard: before the plugin runs, or after its end."""


class Cancelled(BaseException):
    """Raised by `ctx.raise_if_cancelled()`: the host has withdrawn the request. Do not catch it.

    It is not an `Exception`, so `except Exception` in a handler does not stop it.
    """


class RpcError(Exception):
    """The error with which the plugin answers a request.

    Attributes:
        code: the code on the wire.
        message: what happened, for people; never a traceback.
    """

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def text_of(exc: BaseException) -> str:
    """The text of an exception; empty if its `__str__` raises."""
    try:
        return str(exc)
    except Exception:
        return ""


def describe(exc: BaseException) -> str:
    """An exception in one line, never empty."""
    text = text_of(exc)
    if isinstance(exc, AnswerError):
        return text
    return f"{type(exc).__name__}: {text}" if text else type(exc).__name__

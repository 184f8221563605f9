"""What the SDK raises, and whose fault each is."""

from __future__ import annotations


class RegistrationError(Exception):
    """The author's: a decorator was used wrongly.

    Raised while the plugin is imported, with the file and line of the handler.
    """


class AnswerError(Exception):
    """The author's: a handler returned something that is not allowed there.

    The message names what is.
    """


class ToolError(Exception):
    """A tool's own way to fail: the model reads the message as it is, and no traceback is logged."""


class HostRefused(Exception):
    """The host did not do what the plugin asked for.

    Attributes:
        code: the code of the protocol, one of `sliphook_sdk.protocol.ErrorCode` or another of
            JSON-RPC's.
        message: the host's reason.
    """

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class Cancelled(BaseException):
    """Raised by `ctx.raise_if_cancelled()`: the host does not want this answer any more.

    Let it through.

    It is no `Exception`, so a handler that catches these does not hold it up.
    """


class RpcError(Exception):
    """What a request is answered with where it has no result.

    Attributes:
        code: the code on the wire.
        message: what happened, for people; never a traceback.
    """

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def text_of(exc: BaseException) -> str:
    """What an exception says; nothing where that fails too, as an author's `__str__` may."""
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

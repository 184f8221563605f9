"""The author's functions, as the decorators found them: checked when they are registered, with the line where they stand."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from .answers import check_answer
from .errors import AnswerError, RegistrationError, RpcError
from .protocol import Answer, CommandResult, CommandSpec, Entry, ErrorCode, Subscription

if TYPE_CHECKING:
    from collections.abc import Callable


class Handler:
    """One function of the author.

    Attributes:
        function: the function; it is called with its arguments and, where it wants it, `ctx`.
        name: its name, for people.
        where: `FILE:LINE` of its definition.
        is_async: it is an `async def`.
        wants_ctx: it has a parameter `ctx`.
        signature: its signature.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.name = str(getattr(function, "__name__", None) or type(function).__name__)
        self.where = _where(function)
        self.is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004
        try:
            self.signature = inspect.signature(function)
        except (TypeError, ValueError) as exc:
            raise RegistrationError(f"{self.where}: {self.name} has no signature that could be read: {exc}") from None
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise self.wrong("is a generator; a handler returns its answer")
        ctx = self.signature.parameters.get("ctx")
        self.wants_ctx = ctx is not None
        if ctx is not None and ctx.kind not in (ctx.KEYWORD_ONLY, ctx.POSITIONAL_OR_KEYWORD):
            raise self.wrong("takes `ctx` by position; it is given by name: `*, ctx`")

    def wrong(self, what: str) -> RegistrationError:
        """An error that names the handler and its line."""
        return RegistrationError(f"{self.where}: {self.name}() {what}")

    def take_one(self, what: str) -> None:
        """Check that the function can be called with one argument beside `ctx`.

        Args:
            what: what the argument is, for the message.

        Raises:
            RegistrationError: it cannot.
        """
        try:
            self.signature.bind(object(), **({"ctx": object()} if self.wants_ctx else {}))
        except TypeError as exc:
            raise self.wrong(f"cannot be called with {what}{' and ctx' if self.wants_ctx else ''}: {exc}") from None

    def finish(self, returned: Any) -> Any:
        """What goes to the host for what the function returned.

        Raises:
            AnswerError: it returned something that is not allowed.
        """
        return returned

    def failed(self, exc: BaseException) -> Any:
        """What goes to the host where the function failed: a value, or else RpcError is raised."""
        raise RpcError(ErrorCode.INTERNAL_ERROR, f"{self.name}: {describe(exc)}")


class HookHandler(Handler):
    """A function that is asked (mode `hook`) or told (mode `event`)."""

    def __init__(self, function: Callable[..., Any], entry: Entry, subscription: Subscription) -> None:
        super().__init__(function)
        self.take_one("the payload")
        self.entry = entry
        self.subscription = subscription
        self.asked = (subscription.mode or entry.kind) == "hook"
        self.replaces = bool(subscription.replaces)
        self.subagents = entry.subagents if subscription.subagents is None else subscription.subagents

    def finish(self, returned: Any) -> Any:
        """The answer, checked; what a function returns that is only told is nobody's."""
        if not self.asked or returned is None:
            return None
        if not isinstance(returned, Answer):
            raise AnswerError(f"returned {type(returned).__name__}; return None, or what allow(), deny() and the like make")
        check_answer(self.entry, returned, replaces=self.replaces)
        return returned


class CommandHandler(Handler):
    """A function behind a slash command."""

    def __init__(self, function: Callable[..., Any], spec: CommandSpec) -> None:
        super().__init__(function)
        self.take_one("the text after the command")
        self.spec = spec

    def finish(self, returned: Any) -> Any:
        """The text for the user; None is no text."""
        if isinstance(returned, CommandResult):
            return returned
        if returned is not None and not isinstance(returned, str):
            raise AnswerError(f"returned {type(returned).__name__}; a command returns its text")
        return CommandResult(text=returned or "")


def describe(exc: BaseException) -> str:
    """An exception in one line, never empty."""
    if isinstance(exc, AnswerError):
        return str(exc)
    text = str(exc)
    return f"{type(exc).__name__}: {text}" if text else type(exc).__name__


def summary_of(function: Callable[..., Any]) -> str | None:
    """The first paragraph of a docstring in one line."""
    doc = inspect.getdoc(function)
    return " ".join(doc.split("\n\n")[0].split()) if doc else None


def _where(function: Callable[..., Any]) -> str:
    code = getattr(inspect.unwrap(function), "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code is not None else "?"

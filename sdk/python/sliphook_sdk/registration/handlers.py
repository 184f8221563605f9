"""The author's functions, checked when a decorator registers them."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, Any, cast, get_args

from sliphook_sdk.errors import (
    AnswerError,
    RegistrationError,
    RpcError,
    ToolError,
    describe,
    text_of,
)
from sliphook_sdk.protocol import (
    CATALOGUE,
    NAME_PATTERNS,
    RESERVED_COMMANDS,
    Answer,
    CommandResult,
    CommandSpec,
    Entry,
    ErrorCode,
    Kind,
    OnFailure,
    Payload,
    Subscription,
    limits,
    match_fields,
    nearest,
    unmatchable_fields,
    why_unmatchable,
)
from sliphook_sdk.protocol.patterns.domains import why_never
from sliphook_sdk.protocol.patterns.reach import Claim
from sliphook_sdk.wire.values import fault_in

from .answers import check_answer
from .matching import Matcher

if TYPE_CHECKING:
    from collections.abc import Callable


class Handler:
    """One function of the author.

    Attributes:
        function: the function; it is called with its arguments and, if it has it, `ctx`.
        name: the function's name, for messages.
        where: `FILE:LINE` of its definition.
        is_async: the function is an `async def`.
        wants_ctx: the function has a parameter `ctx`.
        signature: the function's signature.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.name = str(getattr(function, "__name__", None) or type(function).__name__)
        self.where = _where(function)
        # an object is async if its __call__ is
        call = getattr(function, "__call__", None)  # noqa: B004
        self.is_async = any(map(inspect.iscoroutinefunction, (function, call)))
        try:
            self.signature = inspect.signature(function)
        except (TypeError, ValueError) as exc:
            raise RegistrationError(
                f"{self.where}: {self.name} has no signature that could be read: {exc}"
            ) from None
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise self.wrong("is a generator; a handler returns its answer")
        ctx = self.signature.parameters.get("ctx")
        self.wants_ctx = ctx is not None
        if ctx is not None and ctx.kind not in (ctx.KEYWORD_ONLY, ctx.POSITIONAL_OR_KEYWORD):
            raise self.wrong("takes `ctx` by position; it is given by name: `*, ctx`")

    def wrong(self, what: str) -> RegistrationError:
        """An error that names the handler, its file and its line."""
        return RegistrationError(f"{self.where}: {self.name}() {what}")

    def take_one(self, what: str) -> None:
        """Check that the function takes one argument beside `ctx`.

        Args:
            what: what the argument is, for the message.

        Raises:
            RegistrationError: it does not.
        """
        try:
            self.signature.bind(object(), **({"ctx": object()} if self.wants_ctx else {}))
        except TypeError as exc:
            raise self.wrong(
                f"cannot be called with {what}{' and ctx' if self.wants_ctx else ''}: {exc}"
            ) from None

    def check_timeout(self, timeout_s: float | None) -> None:
        """Check that a timeout is within the protocol's limits.

        Raises:
            RegistrationError: it is not.
        """
        if timeout_s is not None and not limits.MIN_TIMEOUT_S <= timeout_s <= limits.MAX_TIMEOUT_S:
            raise self.wrong(
                f"cannot have timeout_s={timeout_s!r}: "
                f"it takes {limits.MIN_TIMEOUT_S:g} to {limits.MAX_TIMEOUT_S:g} seconds"
            )

    def finish(self, returned: Any) -> Any:
        """The answer for the host, from what the function returned.

        Raises:
            AnswerError: the function returned something that is not allowed.
        """
        return returned

    def failed(self, exc: BaseException) -> Any:
        """The answer for the host if the function raised. Raises RpcError to answer an error."""
        raise RpcError(ErrorCode.INTERNAL_ERROR, f"{self.name}: {describe(exc)}")


class HookHandler(Handler):
    """A function that is asked (mode `hook`) or told (mode `event`).

    Attributes:
        entry: the hook or event.
        subscription: its entry in the manifest.
        asked: True if it answers, False if it is told.
        replaces: its answers may replace and substitute.
        subagents: it is for child agents too.
        matcher: the subscription's `match`.
    """

    def __init__(
        self, function: Callable[..., Any], subscription: Subscription, kind: Kind
    ) -> None:
        super().__init__(function)
        self.subscription = subscription
        self.entry = self._entry(subscription.event)
        self.asked = kind == "hook"
        self.replaces = bool(subscription.replaces)
        self.subagents = (
            self.entry.subagents if subscription.subagents is None else subscription.subagents
        )
        self.take_one("the payload")
        self._check()
        self.matcher = Matcher(subscription.match)

    def fits(self, payload: Payload) -> bool:
        """True if the host would choose the plugin because of this handler."""
        return (self.subagents or payload.agent_depth == 0) and self.matcher.fits(payload)

    @property
    def claim(self) -> Claim:
        """What the host chooses the plugin for because of this handler."""
        return Claim(self._patterns, self.subagents)

    def finish(self, returned: Any) -> Any:
        """The answer, checked; the return value of a handler that is told is ignored."""
        if not self.asked or returned is None:
            return None
        if not isinstance(returned, Answer):
            raise AnswerError(
                f"returned {type(returned).__name__}; "
                "return None, or what allow(), deny() and the like make"
            )
        answer = cast("Answer", returned)
        check_answer(self.entry, answer, replaces=self.replaces)
        for verb, given in (("replace", answer.replace), ("substitute", answer.substitute)):
            fault = None if given is None else fault_in(given)
            if fault is not None:
                raise AnswerError(f"{verb}() has what JSON does not have: {fault}")
        return answer

    def _entry(self, name: str) -> Entry:
        entry = CATALOGUE.get(name)
        if entry is None:
            close = nearest(name, list(CATALOGUE))
            hint = f"; did you mean {close!r}?" if close else ""
            raise self.wrong(f"is for {name!r}, which is no hook or event{hint}")
        return entry

    def _check(self) -> None:
        entry, subscription = self.entry, self.subscription
        if self.asked and entry.kind == "event":
            raise self.wrong(
                f"cannot be asked: {entry.name} is an event, so say on({entry.name!r})"
            )
        self.check_timeout(subscription.timeout_s)
        if subscription.on_failure not in (None, *get_args(OnFailure)):
            raise self.wrong(
                f"cannot have on_failure={subscription.on_failure!r}: it takes 'open' and 'closed'"
            )
        if subscription.on_failure == "closed" and "deny" not in entry.decisions:
            raise self.wrong(f"cannot have on_failure='closed': {entry.name} cannot be denied")
        if subscription.replaces and not (entry.replace or entry.substitute):
            raise self.wrong(f"cannot have replaces=True: nothing of {entry.name} can be replaced")
        if subscription.attempts and not entry.attempts:
            raise self.wrong(f"cannot have attempts=True: {entry.name} is asked once")
        for field in subscription.include or ():
            if field not in entry.heavy:
                known = (
                    f"the heavy fields {', '.join(entry.heavy)}"
                    if entry.heavy
                    else "no heavy fields"
                )
                raise self.wrong(f"cannot include {field!r}: {entry.name} has {known}")
        self._patterns = {
            field: self._check_match(field, globs)
            for field, globs in (subscription.match or {}).items()
        }

    def _check_match(self, field: str, globs: object) -> list[str]:
        known = match_fields(self.entry)
        if field in unmatchable_fields(self.entry):
            raise self.wrong(
                f"cannot match {field!r}: {why_unmatchable(self.entry)}; look at it in the handler"
            )
        if field not in known:
            close = nearest(field, known)
            hint = f"; did you mean {close!r}?" if close else f"; it has {', '.join(known)}"
            raise self.wrong(
                f"cannot match {field!r}: {self.entry.name} has no such string field{hint}"
            )
        patterns = cast("list[object]", globs) if isinstance(globs, list) else [globs]
        if not patterns or not all(isinstance(pattern, str) for pattern in patterns):
            raise self.wrong(
                f"cannot match {field}={globs!r}: it takes a pattern, or a list of them"
            )
        texts = cast("list[str]", patterns)
        for text in texts:
            why = why_never(self.entry, field, text)
            if why is not None:
                raise self.wrong(f"cannot match {field}={text!r}, which {why}")
        return texts


class CommandHandler(Handler):
    """A function behind a slash command.

    Attributes:
        spec: the command's entry in the manifest.
    """

    def __init__(
        self, function: Callable[..., Any], name: str | None, description: str | None
    ) -> None:
        super().__init__(function)
        self.take_one("the text after the command")
        command = self.name if name is None else name
        if not re.fullmatch(NAME_PATTERNS["command"], command):
            raise self.wrong(
                f"cannot be the command {command!r}: names are {NAME_PATTERNS['command']}"
            )
        if command in RESERVED_COMMANDS:
            raise self.wrong(f"cannot be the command {command!r}: /{command} is the agent's own")
        self.spec = CommandSpec(
            name=command, description=_summary(function) if description is None else description
        )

    def finish(self, returned: Any) -> Any:
        """The text for the user; empty if the function returned None."""
        if isinstance(returned, CommandResult):
            return returned
        if returned is not None and not isinstance(returned, str):
            raise AnswerError(f"returned {type(returned).__name__}; a command returns its text")
        return CommandResult(text=returned or "")

    def failed(self, exc: BaseException) -> Any:
        """As of every handler; the text of a ToolError is for the user as it is."""
        text = text_of(exc) if isinstance(exc, ToolError) else ""
        if text:
            raise RpcError(ErrorCode.INTERNAL_ERROR, text)
        return super().failed(exc)


def _summary(function: Callable[..., Any]) -> str | None:
    doc = inspect.getdoc(function)
    return " ".join(doc.split("\n\n")[0].split()) if doc else None


def _where(function: Callable[..., Any]) -> str:
    code = getattr(inspect.unwrap(function), "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code is not None else "?"

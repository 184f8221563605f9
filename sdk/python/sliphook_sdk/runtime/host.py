"""Requests to the host from everywhere: `plugin.host` in threads, `plugin.async_host` in tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from sliphook_sdk.errors import HostRefused, NotConnected
from sliphook_sdk.forked import say
from sliphook_sdk.protocol import (
    AlertLevel,
    AnswerResult,
    AskResult,
    ErrorCode,
    InterruptResult,
    Level,
    SubmitResult,
)
from sliphook_sdk.registration.tools import Tool
from sliphook_sdk.wire.given import line_of

from .requests import (
    answer_params,
    ask_params,
    inject_params,
    interrupt_params,
    log_params,
    notify_params,
    submit_params,
)
from .toolbox import added, removed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sliphook_sdk.registration.tools import ToolFunction

    from .state import Runtime


T = TypeVar("T", AnswerResult, AskResult, InterruptResult, SubmitResult)

# read here: msgspec reads a type at its first use, and not safely in two threads
msgspec.json.Decoder(AnswerResult)
msgspec.json.Decoder(AskResult)
msgspec.json.Decoder(InterruptResult)
msgspec.json.Decoder(SubmitResult)


class BaseHost:
    """What both have.

    Args:
        runtime: the running plugin; None before it runs.
    """

    __slots__ = ("_runtime",)

    def __init__(self, runtime: Runtime | None = None) -> None:
        self._runtime = runtime

    def attach(self, runtime: Runtime) -> None:
        """Connect with the plugin's state while it runs."""
        self._runtime = runtime

    def log(self, level: Level, message: str, **fields: Any) -> None:
        """Write a line to the plugin's log, with values beside the message.

        Before the plugin runs it goes to standard error, which is its log too. It raises nothing:
        of what JSON cannot hold the `repr` is written, cut to 1,000 characters.
        """
        params = log_params(level, message, fields)
        if self._runtime is None:
            say(line_of(params))
        else:
            self._runtime.link.notify("host/log", params)

    def _running(self) -> Runtime:
        if self._runtime is None:
            raise NotConnected(
                "the plugin does not run: there is a host from on_start to on_shutdown"
            )
        return self._runtime


class Host(BaseHost):
    """Requests that block until the host has answered, from any thread.

    Each of them raises

    - `TypeError`: an argument is of a type that the host cannot read;
    - `HostRefused`: it is not granted, there are too many, or the session has ended;
    - `NotConnected`: before the plugin runs, in `on_start` itself, or after the host has gone;
    - `RuntimeError`: an event loop runs in this thread: await the one of `plugin.async_host`.

    While the plugin starts, they wait until it has.
    """

    __slots__ = ()

    def notify(self, level: AlertLevel, message: str) -> None:
        """Show the user an alert. Needs `uses=["notify"]`."""
        self._running().ask("host/notify", notify_params(level, message))

    def inject(self, text: str, *, session_id: str) -> None:
        """Put a text before the session's next model call, in the user's role. It starts no turn.

        Needs `uses=["inject"]`.
        """
        self._running().ask("host/inject", inject_params(text, session_id))

    def submit(
        self,
        text: str,
        *,
        session_key: str,
        platform: str | None = None,
        user_id: str | None = None,
    ) -> SubmitResult:
        """Give the model a message, as if a user had written it; it begins a turn.

        It is always text for the model, and the user sees whose it is. `submission_end` tells its
        end, with the `message_id` of the result. Needs `uses=["submit"]`.

        Args:
            text: the message, at most 64 KiB.
            session_key: the conversation, as `ctx.session_key` has it.
            platform: only a conversation of this platform; None is any.
            user_id: only a conversation of this user; None is any.
        """
        params = submit_params(text, session_key, platform, user_id)
        result = self._running().ask("host/submit", params)
        return read("host/submit", result, SubmitResult)

    def interrupt(self, reason: str, *, session_id: str, turn_id: str | None = None) -> bool:
        """Interrupt the session's turn, or only the turn that is given.

        Needs `uses=["interrupt"]`.

        Returns:
            True if a turn was interrupted.
        """
        params = interrupt_params(reason, session_id, turn_id)
        result = self._running().ask("host/interrupt", params)
        return read("host/interrupt", result, InterruptResult).interrupted

    def ask(
        self,
        prompt: str,
        schema: dict[str, Any] | None = None,
        *,
        session_id: str,
        turn_id: str | None = None,
        call_id: str | None = None,
        timeout_s: float | None = None,
    ) -> AskResult:
        """Ask the person in front of the agent, and block until the question is over.

        Needs `uses=["ask"]`.

        Args:
            prompt: the question.
            schema: JSON Schema of the answer: a text, number, boolean or choice, or an object of
                these. None: a text.
            session_id: the session; a turn of it must be open.
            turn_id: ask only while this turn is open.
            call_id: the tool call that it is about.
            timeout_s: seconds to answer, 0.05 to 600; None is 60.

        Returns:
            What came of it: `answer` is there if the `outcome` is `answered`.
        """
        params = ask_params(prompt, schema, session_id, turn_id, call_id, timeout_s)
        return read("host/ask", self._running().ask("host/ask", params), AskResult)

    def answer(self, choice: object, *, session_id: str, question_id: str) -> bool:
        """Answer a question in the person's place. Needs `uses=["approve"]`.

        Args:
            choice: `allow` or `deny`, or what the `schema` of `user_input_required` asks for. None:
                the plugin gives no answer, so a question without a person need not wait for it.
            session_id: the session.
            question_id: from `user_input_required`.

        Returns:
            False if it was answered before, or is over.
        """
        result = self._running().ask("host/answer", answer_params(choice, session_id, question_id))
        return read("host/answer", result, AnswerResult).taken

    def set_tools(
        self, tools: Iterable[Tool | ToolFunction], *, session_id: str | None = None
    ) -> None:
        """Replace the tools of one session, or of all: see `Plugin.set_tools`."""
        self._running().set_tools(tools, session_id)

    def add_tool(self, tool: Tool | ToolFunction, *, session_id: str | None = None) -> None:
        """Add a tool to those of one session, or of all: see `Plugin.add_tool`."""
        self._running().change_tools(added(as_tool(tool)), session_id)

    def remove_tool(self, name: str, *, session_id: str | None = None) -> None:
        """Remove one of the tools of one session, or of all: see `Plugin.remove_tool`."""
        self._running().change_tools(removed(name), session_id)


class AsyncHost(BaseHost):
    """Requests that are awaited, in any task; they raise what those of `Host` do."""

    __slots__ = ()

    async def notify(self, level: AlertLevel, message: str) -> None:
        """Show the user an alert. Needs `uses=["notify"]`."""
        await self._running().ask_async("host/notify", notify_params(level, message))

    async def inject(self, text: str, *, session_id: str) -> None:
        """Put a text before the session's next model call, in the user's role. It starts no turn.

        Needs `uses=["inject"]`.
        """
        params = inject_params(text, session_id)
        await self._running().ask_async("host/inject", params)

    async def submit(
        self,
        text: str,
        *,
        session_key: str,
        platform: str | None = None,
        user_id: str | None = None,
    ) -> SubmitResult:
        """Give the model a message, as if a user had written it; it begins a turn.

        It is always text for the model, and the user sees whose it is. `submission_end` tells its
        end, with the `message_id` of the result. Needs `uses=["submit"]`.

        Args:
            text: the message, at most 64 KiB.
            session_key: the conversation, as `ctx.session_key` has it.
            platform: only a conversation of this platform; None is any.
            user_id: only a conversation of this user; None is any.
        """
        params = submit_params(text, session_key, platform, user_id)
        result = await self._running().ask_async("host/submit", params)
        return read("host/submit", result, SubmitResult)

    async def interrupt(self, reason: str, *, session_id: str, turn_id: str | None = None) -> bool:
        """Interrupt the session's turn, or only the turn that is given.

        Needs `uses=["interrupt"]`.

        Returns:
            True if a turn was interrupted.
        """
        params = interrupt_params(reason, session_id, turn_id)
        result = await self._running().ask_async("host/interrupt", params)
        return read("host/interrupt", result, InterruptResult).interrupted

    async def ask(
        self,
        prompt: str,
        schema: dict[str, Any] | None = None,
        *,
        session_id: str,
        turn_id: str | None = None,
        call_id: str | None = None,
        timeout_s: float | None = None,
    ) -> AskResult:
        """Ask the person in front of the agent: see `Host.ask`. A cancel withdraws the question."""
        params = ask_params(prompt, schema, session_id, turn_id, call_id, timeout_s)
        return read("host/ask", await self._running().ask_async("host/ask", params), AskResult)

    async def answer(self, choice: object, *, session_id: str, question_id: str) -> bool:
        """Answer a question in the person's place: see `Host.answer`."""
        params = answer_params(choice, session_id, question_id)
        result = await self._running().ask_async("host/answer", params)
        return read("host/answer", result, AnswerResult).taken

    async def set_tools(
        self, tools: Iterable[Tool | ToolFunction], *, session_id: str | None = None
    ) -> None:
        """Replace the tools of one session, or of all: see `Plugin.set_tools`."""
        await self._running().set_tools_async(tools, session_id)

    async def add_tool(self, tool: Tool | ToolFunction, *, session_id: str | None = None) -> None:
        """Add a tool to those of one session, or of all: see `Plugin.add_tool`."""
        await self._running().change_tools_async(added(as_tool(tool)), session_id)

    async def remove_tool(self, name: str, *, session_id: str | None = None) -> None:
        """Remove one of the tools of one session, or of all: see `Plugin.remove_tool`."""
        await self._running().change_tools_async(removed(name), session_id)


def as_tool(tool: Tool | ToolFunction) -> Tool:
    """The tool, or the function as a tool."""
    return tool if isinstance(tool, Tool) else Tool(tool)


def read(method: str, result: Any, shape: type[T]) -> T:
    """What the host has answered to a request. Raises HostRefused if that is no answer."""
    try:
        return msgspec.convert(result, shape)
    except msgspec.ValidationError as exc:
        raise HostRefused(
            ErrorCode.INVALID_REQUEST, f"the host's answer to {method} makes no sense: {exc}"
        ) from None

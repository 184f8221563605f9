"""What a handler gets as `ctx`: its session, its deadline and cancel, and requests to the host.

A plain function gets a `Context`, whose requests block. An `async def` gets an `AsyncContext`,
whose requests are awaited.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sliphook_sdk.errors import Cancelled
from sliphook_sdk.protocol import AlertLevel, AskResult, ProgressParams, limits
from sliphook_sdk.wire.given import check_number, check_text

from .call_fields import CallFields
from .host import AsyncHost, Host, read
from .plugin_context import ConfigT, PluginContext

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping, Sequence

    from sliphook_sdk.command.result import CommandResult
    from sliphook_sdk.command.running import Command
    from sliphook_sdk.protocol import Payload
    from sliphook_sdk.registration.tools import Tool, ToolFunction
    from sliphook_sdk.wire.call import Call

    from .state import Runtime


_CANCEL_FOLLOWS_S: Final = 0.25
"""How long the cancel of a call may come behind the end of its question."""


class BaseContext(PluginContext[ConfigT], CallFields):
    """What both kinds of handler have."""

    __slots__ = ("_call", "_payload")

    def __init__(self, runtime: Runtime, call: Call, payload: Payload) -> None:
        super().__init__(runtime)
        self._call = call
        self._payload = payload

    @property
    def deadline(self) -> float | None:
        """When the host stops waiting for the answer, on `time.monotonic()`; None for events."""
        timeout_s = getattr(self._payload, "timeout_s", None)
        return self._call.arrived + timeout_s if isinstance(timeout_s, float) else None

    @property
    def traceparent(self) -> str | None:
        """The agent's span that the call is part of, in the form of W3C Trace Context, or None.

        It is the parent of spans that the plugin makes.
        """
        return self._call.traceparent

    @property
    def cancelled(self) -> bool:
        """The host has withdrawn the request: the user interrupted, or the time was up.

        The answer will be dropped.
        """
        return self._call.cancelled

    def raise_if_cancelled(self) -> None:
        """Leave the handler if its call is cancelled.

        Raises:
            Cancelled: it is. Do not catch it.
        """
        if self._call.cancelled:
            raise Cancelled

    def progress(self, message: str | None = None, fraction: float | None = None) -> None:
        """Report how far the work is.

        It does not extend the timeout. In an event's handler and after a cancel it does nothing.

        Args:
            message: what is being done.
            fraction: 0 to 1.
        """
        check_text("message", message, none=True)
        check_number("fraction", fraction, none=True)
        self._report(message=message, fraction=None if fraction is None else float(fraction))

    def _report(self, **what: Any) -> None:
        if isinstance(self._call.id, int) and not self._call.cancelled:
            self._runtime.link.notify("$/progress", ProgressParams(id=self._call.id, **what))

    def _may_be_cancelled(self, result: AskResult) -> bool:
        """What ended the question may also cancel the call, and the host says so a little later."""
        in_turn = self._call.id is not None and self.turn_id is not None
        return result.outcome == "interrupted" and in_turn

    def _command(
        self,
        args: Sequence[str | os.PathLike[str]],
        cwd: str | os.PathLike[str] | None,
        stdin: str | bytes | None,
        **options: Any,
    ) -> Command:
        # imported here, since it would slow every plugin's start
        from sliphook_sdk.command.running import Command

        return Command(args, cwd=self.cwd if cwd is None else cwd, stdin=stdin, **options)

    def say(self, text: str) -> None:
        """Show the user a piece of the text that the answer will `substitute` for the model's.

        For handlers of `pre_llm_call` with `replaces=True`. If the substituted response does not
        begin with what was said, the user sees that it was given up. After a cancel it is silent.

        Args:
            text: the next piece; all together at most 1 MiB.

        Raises:
            RuntimeError: the handler is one of another hook.
        """
        if not self._call.method.endswith("/pre_llm_call"):
            raise RuntimeError("ctx.say() is for handlers of pre_llm_call")
        check_text("text", text)
        for at in range(0, len(text), limits.STREAMED_PIECE_CHARS):
            self._report(text=text[at : at + limits.STREAMED_PIECE_CHARS])


class Context(BaseContext[ConfigT]):
    """`ctx` of a plain function. Requests to the host block until it has answered."""

    __slots__ = ()

    def wait(self, seconds: float) -> bool:
        """Sleep, but not after the call is cancelled.

        Args:
            seconds: how long.

        Returns:
            True as soon as the call is cancelled, False when the time is up.
        """
        return self._call.wait(seconds)

    def run(
        self,
        args: Sequence[str | os.PathLike[str]],
        *,
        cwd: str | os.PathLike[str] | None = None,
        env: Mapping[str, str] | None = None,
        timeout_s: float | None = None,
        max_bytes: int = 65536,
        stdin: str | bytes | None = None,
    ) -> CommandResult:
        """Run a command to its end; the last line of its output is shown as progress.

        When the call is cancelled or the time is up, the command and all that it has started get
        SIGTERM, and SIGKILL 0.3 s later. What it leaves behind when it ends by itself, too.

        Args:
            args: the program and its arguments; no shell reads them.
            cwd: its folder; the project's (`ctx.cwd`) if None.
            env: variables beside those of the plugin.
            timeout_s: how long it may take.
            max_bytes: how much is kept of its output, and of its errors: half from the begin, half
                from the end.
            stdin: what it reads; None: its input is empty.

        Raises:
            CommandError: it cannot be started.
            Cancelled: the call is cancelled, and the command has ended. Do not catch it.
        """
        command = self._command(
            args, cwd, env=env, timeout_s=timeout_s, max_bytes=max_bytes, stdin=stdin
        )
        result = command.run(lambda: self._call.cancelled, self.progress)
        if result is None:
            raise Cancelled
        return result

    def notify(self, level: AlertLevel, message: str) -> None:
        """Show the user an alert. Needs `uses=["notify"]`.

        Raises:
            HostRefused: it is not granted, or there were too many.
        """
        Host(self._runtime).notify(level, message)

    def inject(self, text: str) -> None:
        """Put a text before the session's next model call, in the user's role. It starts no turn.

        Needs `uses=["inject"]`.

        Raises:
            HostRefused: it is not granted, the text is too long, too many texts wait, or the
                session has ended.
        """
        Host(self._runtime).inject(text, session_id=self.session_id)

    def interrupt(self, reason: str) -> bool:
        """Interrupt the turn that this call belongs to. Needs `uses=["interrupt"]`.

        Returns:
            True if the turn was interrupted, False if it was already over.

        Raises:
            HostRefused: it is not granted, or the session has ended.
        """
        host = Host(self._runtime)
        return host.interrupt(reason, session_id=self.session_id, turn_id=self.turn_id)

    def ask(
        self,
        prompt: str,
        schema: dict[str, Any] | None = None,
        *,
        timeout_s: float | None = None,
    ) -> AskResult:
        """Ask the person in front of the agent, in the turn that this call belongs to.

        The handler's own timeout goes on meanwhile. Needs `uses=["ask"]`. For the arguments see
        `Host.ask`.

        Raises:
            Cancelled: the call is cancelled, so the question is over. Do not catch it.
            HostRefused: it is not granted, or it cannot be asked so.
        """
        params = self._question(prompt, schema, timeout_s)
        result = read("host/ask", self._runtime.ask("host/ask", params, self._call), AskResult)
        if self._may_be_cancelled(result):
            self.wait(_CANCEL_FOLLOWS_S)
        self.raise_if_cancelled()
        return result

    def answer(self, question_id: str, choice: object) -> bool:
        """Answer a question in the person's place: see `Host.answer`. Needs `uses=["approve"]`."""
        host = Host(self._runtime)
        return host.answer(choice, session_id=self.session_id, question_id=question_id)

    def set_tools(
        self, tools: Iterable[Tool | ToolFunction], *, session_id: str | None = None
    ) -> None:
        """Replace the plugin's tools, as `Plugin.set_tools` does."""
        self._runtime.set_tools(tools, session_id)


class AsyncContext(BaseContext[ConfigT]):
    """`ctx` of an `async def`.

    Requests to the host are awaited. A cancel raises `asyncio.CancelledError` in the handler.
    """

    __slots__ = ()

    async def run(
        self,
        args: Sequence[str | os.PathLike[str]],
        *,
        cwd: str | os.PathLike[str] | None = None,
        env: Mapping[str, str] | None = None,
        timeout_s: float | None = None,
        max_bytes: int = 65536,
        stdin: str | bytes | None = None,
    ) -> CommandResult:
        """Run a command to its end: see `Context.run`. A cancel of the task ends it too.

        Raises:
            CommandError: it cannot be started.
        """
        from sliphook_sdk.command.awaited import run_in_thread

        command = self._command(
            args, cwd, env=env, timeout_s=timeout_s, max_bytes=max_bytes, stdin=stdin
        )
        return await run_in_thread(command, self.progress)

    async def notify(self, level: AlertLevel, message: str) -> None:
        """Show the user an alert. Needs `uses=["notify"]`.

        Raises:
            HostRefused: it is not granted, or there were too many.
        """
        await AsyncHost(self._runtime).notify(level, message)

    async def inject(self, text: str) -> None:
        """Put a text before the session's next model call, in the user's role. It starts no turn.

        Needs `uses=["inject"]`.

        Raises:
            HostRefused: it is not granted, the text is too long, too many texts wait, or the
                session has ended.
        """
        await AsyncHost(self._runtime).inject(text, session_id=self.session_id)

    async def interrupt(self, reason: str) -> bool:
        """Interrupt the turn that this call belongs to. Needs `uses=["interrupt"]`.

        Returns:
            True if the turn was interrupted, False if it was already over.

        Raises:
            HostRefused: it is not granted, or the session has ended.
        """
        host = AsyncHost(self._runtime)
        return await host.interrupt(reason, session_id=self.session_id, turn_id=self.turn_id)

    async def ask(
        self,
        prompt: str,
        schema: dict[str, Any] | None = None,
        *,
        timeout_s: float | None = None,
    ) -> AskResult:
        """Ask the person in front of the agent, in the turn that this call belongs to.

        The handler's own timeout goes on meanwhile. Needs `uses=["ask"]`. For the arguments see
        `Host.ask`.

        Raises:
            asyncio.CancelledError: the call is cancelled, so the question is over.
            HostRefused: it is not granted, or it cannot be asked so.
        """
        import asyncio

        params = self._question(prompt, schema, timeout_s)
        result = read("host/ask", await self._runtime.ask_async("host/ask", params), AskResult)
        if self._may_be_cancelled(result):
            await asyncio.sleep(_CANCEL_FOLLOWS_S)
        return result

    async def answer(self, question_id: str, choice: object) -> bool:
        """Answer a question in the person's place: see `Host.answer`. Needs `uses=["approve"]`."""
        host = AsyncHost(self._runtime)
        return await host.answer(choice, session_id=self.session_id, question_id=question_id)

    async def set_tools(
        self, tools: Iterable[Tool | ToolFunction], *, session_id: str | None = None
    ) -> None:
        """Replace the plugin's tools of one session, or of all if `session_id` is None.

        Needs `uses=["tools"]`.

        Raises:
            HostRefused: it is not granted, or a name is taken; the old tools stay.
        """
        await self._runtime.set_tools_async(tools, session_id)

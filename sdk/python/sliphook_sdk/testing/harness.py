"""Plays the host to a plugin without a process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

import msgspec

from sliphook_sdk.errors import RpcError
from sliphook_sdk.protocol import (
    CATALOGUE,
    Answer,
    AskParams,
    CommandRunParams,
    InitializeParams,
    LogParams,
    Manifest,
    Payload,
    ProgressParams,
    ToolCallParams,
    ToolResult,
    Uses,
    limits,
    nearest,
)
from sliphook_sdk.protocol.describe import example_of
from sliphook_sdk.service import Invocation, Service

from .clock import ClockCall
from .link import HarnessLink
from .running import Ends, PluginError, Runner

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from pathlib import Path
    from types import TracebackType

    from sliphook_sdk.plugin import Plugin
    from sliphook_sdk.protocol.catalogue import EventName, HookName


class Harness:
    """Plays the host to one plugin.

    All `async def` run in one event loop in a thread of its own, as they do under a host, and so do
    the tasks that they start. It works in an `async def` test too; the test's own loop is blocked
    while a handler runs. `close`, or the end of a `with` block, ends the plugin in order.

    Attributes:
        plugin: the plugin.
        sent: the method and params of each message that the plugin sent to the host, in order.
        logs: the lines of the plugin's log; they are not in `sent`.
        progress: what handlers have reported with `ctx.progress` and `ctx.say`; `sent` has it too.
    """

    def __init__(
        self,
        plugin: Plugin[Any],
        *,
        config: dict[str, Any] | None = None,
        data_dir: Path | str = ".",
        granted: Collection[Uses] = get_args(Uses),
        cwd: Path | str | None = None,
        person: Callable[[AskParams], object] | None = None,
        jumps: bool = False,
    ) -> None:
        """Initialize the plugin, as the host does at its start: `on_start` is called.

        Args:
            plugin: the plugin.
            config: the user's settings, as in JSON.
            data_dir: the plugin's own folder.
            granted: the uses that the user grants; requests that need another one are refused.
            cwd: the project's folder; if None, payloads have one that does not exist.
            person: answers what the plugin asks (`host/ask`): gets the question, returns the
                answer, or None to decline. An answer that does not fit the question's schema is a
                ValueError of the call. If it is None, no one can be asked.
            jumps: time jumps on where a handler only waits: in `ctx.wait`, in `time.sleep`, and
                where all tasks wait, as in `asyncio.sleep`. `time.monotonic()` tells that time
                while a call runs.

        Raises:
            PluginError: `on_start` raised.
        """
        self.plugin = plugin
        self.sent: list[tuple[str, msgspec.Struct]] = []
        self.logs: list[LogParams] = []
        self._link = HarnessLink(self.sent, self.logs, granted, person)
        self.progress = self._link.progress
        self._service = Service(plugin, self._link)
        self._runner = Runner(self._service, self._link, jumps=jumps)
        self._seq = 0
        self._common = {} if cwd is None else {"cwd": str(cwd)}
        params = example_of(InitializeParams)
        params["plugin"] = {"name": plugin.name, "data_dir": str(data_dir), "config": config or {}}
        call = _call("initialize", params, 1)
        self._manifest: Manifest = self._runner.run(self._service.initialize(call))
        self._service.runtime.introduced()

    def __enter__(self) -> Harness:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the plugin, as the host does: `on_shutdown` is called, then its tasks are cancelled.

        Raises:
            PluginError: `on_shutdown` raised.
        """
        before = len(self.logs)
        try:
            call = _call("shutdown", {}, None)
            self._runner.run(self._service.shutdown(call, limits.SHUTDOWN_TIMEOUT_S))
        finally:
            self._runner.close()
        for line in self.logs[before:]:
            if line.level == "error" and "where" in (line.fields or {}):
                raise PluginError(line.message)

    def manifest(self) -> Manifest:
        """What the plugin declares."""
        return self._manifest

    def fire(
        self,
        name: HookName,
        *,
        cancel_after: float | None = None,
        cancel_when: Callable[[ProgressParams], bool] | None = None,
        timeout_s: float | None = None,
        **fields: Any,
    ) -> Answer | None:
        """Ask the plugin, as the host does when it fires a hook.

        Args:
            name: the hook.
            cancel_after: as in `call_tool`.
            cancel_when: as in `call_tool`.
            timeout_s: as in `call_tool`.
            fields: some fields of its payload; the others are filled with sample values.

        Returns:
            The answer; None if it abstains, or if no `match` of the plugin fits.

        Raises:
            PluginError: the handler raised, or gave an answer that is not allowed.
            CallCancelled: it was cancelled, and its handler has come back.
            ValueError: there is no such hook or field.
            LookupError: the plugin has no handler for the hook.
        """
        call = self._call(f"hook/{name}", _payload(name), fields, timeout_s)
        handlers = self._service.entries.get(name)
        if handlers is None or not handlers.can_be_asked:
            raise LookupError(f"{self.plugin.name} has no handler for the hook {name}")
        if not handlers.would_be_asked(handlers.decoder.decode(call.params)):
            return None
        answer: Answer | None = self._runner.run(
            self._service.hook(handlers, call), Ends(cancel_after, cancel_when, timeout_s)
        )
        routes = answer is not None and "route" in (answer.replace or {})
        if routes and not self._link.grants("route", self._manifest):
            raise PluginError("replace(route=...) needs uses=['route'], and the user's grant")
        return answer

    def tell(self, name: HookName | EventName, **fields: Any) -> None:
        """Tell the plugin of an event, or of a hook as the host does after an interrupt.

        Args:
            name: the event.
            fields: some fields of its payload; the others are filled with sample values.

        Raises:
            PluginError: a handler raised.
            ValueError: there is no such event or field.
            LookupError: the plugin has no handler for it.
        """
        call = self._call(f"event/{name}", _payload(name), fields)
        handlers = self._service.entries.get(name)
        if handlers is None or not any(
            subscription.event == name for subscription in self._manifest.subscriptions or ()
        ):
            raise LookupError(f"{self.plugin.name} has no handler for {name}")
        payload, invocations = self._service.event(handlers, call)
        for invocation in invocations:
            self._runner.run(invocation)
        self._service.event_done(handlers, payload)

    def call_tool(
        self,
        name: str,
        /,
        *,
        session_id: str = "s-1",
        cancel_after: float | None = None,
        cancel_when: Callable[[ProgressParams], bool] | None = None,
        timeout_s: float | None = None,
        **arguments: Any,
    ) -> ToolResult:
        """Call a tool as a model does.

        Args:
            name: the tool.
            session_id: the session that the call belongs to.
            cancel_after: cancel the call after so many seconds, as the user's interrupt does.
            cancel_when: cancel it at the report of progress for which this is true.
            timeout_s: how long the host waits: `ctx.deadline` is then, and the call is cancelled.
                If None, the deadline is a sample and nothing comes of it.
            arguments: the model's.

        Returns:
            Its result; if the tool raised or the arguments do not fit, `is_error` is true and the
            content says why.

        Raises:
            CallCancelled: it was cancelled, and the tool has come back.
            LookupError: the plugin has no such tool.
        """
        fields = {"name": name, "arguments": arguments, "session_id": session_id}
        call = self._call("tool/call", ToolCallParams, fields, timeout_s)
        ends = Ends(cancel_after, cancel_when, timeout_s)
        result: ToolResult = self._answer(self._service.tool, call, ends)
        return result

    def run_command(
        self,
        name: str,
        arguments: str = "",
        *,
        cancel_after: float | None = None,
        cancel_when: Callable[[ProgressParams], bool] | None = None,
        timeout_s: float | None = None,
    ) -> str:
        """Run a slash command. For what ends it see `call_tool`.

        Returns:
            The text for the user.

        Raises:
            PluginError: the handler raised.
            CallCancelled: it was cancelled, and the handler has come back.
            LookupError: the plugin has no such command.
        """
        fields = {"name": name, "arguments": arguments}
        call = self._call("command/run", CommandRunParams, fields, timeout_s)
        ends = Ends(cancel_after, cancel_when, timeout_s)
        return str(self._answer(self._service.command, call, ends).text)

    def _call(
        self,
        method: str,
        params: type[Payload],
        fields: dict[str, Any],
        timeout_s: float | None = None,
    ) -> ClockCall:
        samples = example_of(params)
        if timeout_s is not None:
            fields = {"timeout_s": timeout_s, **fields}
        for name in fields:
            if name not in samples:
                close = nearest(name, list(samples))
                raise ValueError(
                    f"{method} has no field {name!r}{f'; did you mean {close!r}?' if close else ''}"
                )
        self._seq += 1
        call = _call(
            method,
            {**samples, "seq": self._seq, **self._common, **fields},
            None if method.startswith("event/") else self._seq,
        )
        try:
            msgspec.json.decode(call.params, type=params)
        except msgspec.ValidationError as exc:
            raise ValueError(f"{method}: {exc}") from None
        return call

    def _answer(
        self,
        prepare: Callable[[ClockCall], Invocation | ToolResult],
        call: ClockCall,
        ends: Ends,
    ) -> Any:
        try:
            ready = prepare(call)
        except RpcError as exc:
            raise LookupError(f"{self.plugin.name}: {exc.message}") from None
        return self._runner.run(ready, ends)


def _call(method: str, params: dict[str, Any], request_id: int | None) -> ClockCall:
    return ClockCall(request_id, method, msgspec.Raw(msgspec.json.encode(params)))


def _payload(name: str) -> type[Payload]:
    entry = CATALOGUE.get(name)
    if entry is None:
        close = nearest(name, list(CATALOGUE))
        raise ValueError(
            f"there is no hook or event {name!r}{f'; did you mean {close!r}?' if close else ''}"
        )
    return entry.payload

"""The plugin that is inspected: it lives on the public host, and the page asks it things."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, Literal

import click
import msgspec
import trio

from sliphook import AskRequest, HostError, PluginHost, PluginSpec
from sliphook.cli.authoring.by_hand import payload_with
from sliphook.cli.authoring.call import call_once
from sliphook.cli.authoring.fire import outcome_json, reports_of
from sliphook.quoting import quote
from sliphook.session.reports import Progress
from sliphook.wire.decoding import DECODE_ERRORS
from sliphook_sdk.protocol import CATALOGUE, ToolCallParams
from sliphook_sdk.protocol.limits import COMMAND_TIMEOUT_S

from .feed import WireFeed
from .things import Thing, command_params, things_of

RAW_TIMEOUT_S: Final = 60.0
"""For a message that was written by hand: no subscription tells how long its answer may take."""


class ToSend(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the page wants to be sent.

    Attributes:
        kind: what `name` is; `raw`: `name` is a method, and `fields` are the whole params.
        name: the hook, event, tool, command or method.
        fields: what the user has filled in.
        timeout_s: how long the plugin may take; None: what it has asked for.
    """

    kind: Literal["hook", "event", "tool", "command", "raw"]
    name: str
    fields: dict[str, Any]
    timeout_s: float | None = None


class ShownAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What the page shows of it.

    Attributes:
        status: one word: `answered`, `told`, `timed_out`, `stopped`; `not_sent` if it was refused
            here.
        summary: one line for people.
        elapsed_ms: how long the plugin took, or None.
        detail: all of it, as `--json` of `fire` and `call` shows it.
    """

    status: str
    summary: str
    elapsed_ms: float | None = None
    detail: Any = None


class ShownState(msgspec.Struct, frozen=True, kw_only=True):
    """The plugin's state, as the page shows it."""

    name: str
    path: str
    state: str
    why: str | None
    pid: int | None
    restarts: int
    manifest: Any
    things: list[Thing]


class PageQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """What the plugin asks the page's user; `wrong`: why the last answer was not taken."""

    id: str
    prompt: str
    schema: dict[str, Any]
    wrong: str | None = None


class Living:
    """One plugin, and what the page does with it. Made by `living`.

    Attributes:
        host: the host that runs the plugin, and nothing else.
        path: the plugin's executable.
        questions: those that wait for an answer, by id, and where the answer goes.
    """

    def __init__(self, host: PluginHost, spec: PluginSpec, feed: WireFeed) -> None:
        self.host = host
        self._feed = feed
        self.path = spec.path
        self._cwd = os.getcwd()
        self._under_way: set[trio.CancelScope] = set()
        self.questions: dict[str, tuple[PageQuestion, trio.MemorySendChannel[object]]] = {}
        self._told: ShownState | None = None
        # reads all schemas, 50 ms, before the plugin can ask for it
        things_of(None, (), self._cwd)

    def shown(self) -> ShownState:
        """The plugin's state now."""
        (status,) = self.host.plugins
        return ShownState(
            name=status.name,
            path=str(status.path),
            state=status.state,
            why=status.why,
            pid=status.pid,
            restarts=status.restarts,
            manifest=msgspec.to_builtins(status.manifest),
            things=things_of(status.manifest, self.host.tools(), self._cwd),
        )

    def changed(self) -> None:
        """Tell the page the plugin's state, if it is another one."""
        shown = self.shown()
        if shown != self._told:
            self._told = shown
            self._feed.tell({"state": shown})

    async def ask(self, asked: ToSend) -> ShownAnswer:
        """Send one thing, and wait for what comes of it; a refusal is an answer, too."""
        with trio.CancelScope() as scope:
            self._under_way.add(scope)
            try:
                return await self._ask(asked)
            except (HostError, ValueError) as error:
                return ShownAnswer(status="not_sent", summary=quote(str(error), 1_000))
            except click.ClickException as error:
                return ShownAnswer(status="not_sent", summary=quote(error.format_message(), 1_000))
            finally:
                self._under_way.discard(scope)
        return ShownAnswer(status="stopped", summary="the plugin was told to stop")

    def stop(self) -> int:
        """Cancel all that is under way; returns how much it was."""
        scopes = tuple(self._under_way)
        for scope in scopes:
            scope.cancel()
        return len(scopes)

    async def restart(self) -> None:
        """Start the plugin anew, with what its file has now."""
        (status,) = self.host.plugins
        await self.host.restart(status.name)

    async def _ask(self, asked: ToSend) -> ShownAnswer:
        match asked.kind:
            case "hook" | "event":
                return await self._fire(asked)
            case "tool":
                given = {"name": asked.name, "arguments": asked.fields, "cwd": self._cwd}
                call = payload_with(given, ToolCallParams, of="tool/call", option="the form")
                report = await call_once(self.host, call, asked.timeout_s)
                says = report.error or ("an error" if report.is_error else "")
                return _answered(report.status, says, report.elapsed_ms, report)
            case "command":
                params = command_params(asked.name, asked.fields, self._cwd)
                return await self._raw("command/run", params, asked.timeout_s or COMMAND_TIMEOUT_S)
            case "raw" if asked.name.startswith(("event/", "$/")):
                return await self._raw(asked.name, asked.fields, None)
            case "raw":
                return await self._raw(asked.name, asked.fields, asked.timeout_s or RAW_TIMEOUT_S)

    async def _fire(self, asked: ToSend) -> ShownAnswer:
        entry = CATALOGUE.get(asked.name)
        if entry is None:
            raise ValueError(f"there is no hook or event {quote(asked.name, 64)}")
        payload = payload_with(asked.fields, entry.payload, of=entry.name, option="the form")
        statuses = self.host.plugins
        outcome = await self.host.fire(entry.name, payload, timeout_s=asked.timeout_s)
        (report,) = reports_of(statuses, outcome.parts)
        says = report.error or ": ".join(
            word for word in (report.decision, report.reason) if word is not None
        )
        if report.status == "not_subscribed":
            says = "the plugin has not subscribed to it, or no `match` of it fits"
        detail = {"plugin": report, "outcome": outcome_json(outcome)}
        return _answered(report.status, says, report.elapsed_ms, detail)

    async def _raw(
        self, method: str, params: dict[str, Any], timeout_s: float | None
    ) -> ShownAnswer:
        (status,) = self.host.plugins
        reply = await self.host.ask_raw(status.name, method, params, timeout_s=timeout_s)
        result: Any = None
        if reply.result is not None:
            try:
                result = msgspec.json.decode(reply.result)
            except DECODE_ERRORS as error:
                result = f"it cannot be read: {quote(str(error), 200)}"
        return _answered(reply.status, reply.error or "", reply.elapsed_ms, {"result": result})

    # -- what the plugin asks

    async def person(self, request: AskRequest) -> object:
        """Have the page's user answer a question, however often the answer does not fit."""
        question = PageQuestion(
            id=request.question_id, prompt=request.prompt, schema=request.form.schema
        )
        try:
            while True:
                sends, receives = trio.open_memory_channel[object](1)
                self.questions[question.id] = question, sends
                self._feed.tell({"question": question})
                value = await receives.receive()
                wrong = None if value is None else request.form.why_not(value)
                if wrong is None:
                    return value
                question = msgspec.structs.replace(question, wrong=wrong)
        finally:
            del self.questions[question.id]
            self._feed.tell({"answered": question.id})

    def answer(self, question_id: str, value: object) -> bool:
        """Take the user's answer, None to decline; False if that is not asked."""
        question = self.questions.get(question_id)
        if question is None:
            return False
        with suppress(trio.WouldBlock):  # the one before it counts
            question[1].send_nowait(value)
        return True


def _answered(status: str, says: str, elapsed_ms: float | None, detail: Any) -> ShownAnswer:
    return ShownAnswer(
        status=status,
        summary=f"{status}: {quote(says, 1_000)}" if says else status,
        elapsed_ms=elapsed_ms,
        detail=msgspec.to_builtins(detail),
    )


@asynccontextmanager
async def living(spec: PluginSpec, feed: WireFeed) -> AsyncGenerator[Living]:
    """Start the plugin and keep it; it need not be ready yet.

    Args:
        spec: the plugin.
        feed: takes what passes, and tells the page.
    """

    def said(plugin: str, level: str, message: str) -> None:
        feed.tell({"said": {"plugin": plugin, "level": level, "text": quote(message, 10_000)}})

    def went_wrong(plugin: str, message: str) -> None:
        said(plugin, "problem", message)

    def came_on(progress: Progress) -> None:
        part = "" if progress.fraction is None else f"{progress.fraction:.0%} "
        said(progress.plugin, "progress", f"{part}{progress.message or ''}")

    def changed() -> None:
        inspected.changed()

    async def ask(request: AskRequest) -> object:
        return await inspected.person(request)

    host = PluginHost(
        [spec],
        asker=ask,
        on_log=said,
        on_notify=said,
        on_problem=went_wrong,
        on_progress=came_on,
        on_offers=changed,
        trace=feed,
        open_wait_s=0,
    )
    inspected = Living(host, spec, feed)
    feed.on_life = changed
    async with host:
        yield inspected

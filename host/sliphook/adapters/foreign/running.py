"""The hooks of one event at one happening: which fit, how they run, and what they come to."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from typing import Any, Final

import msgspec

import sliphook_sdk as sdk
from sliphook.adapters.dialects.answer import HookAnswer
from sliphook.adapters.dialects.hosted.handler import Handler
from sliphook.adapters.dialects.hosted.hosted import TOOL_NAMES, Ended, Hosted, refused
from sliphook.adapters.dialects.told import Happening, OfTool, PersonAsked, ToolAsked
from sliphook_sdk.errors import HostRefused, NotConnected
from sliphook_sdk.protocol import Level

from . import answering, http
from .approval import Scripts
from .commands import Place, run_command
from .conditions import holds, texts_of
from .merge import merged
from .rows import Row
from .telling import Remembered

LEFT_S: Final = 1.0
"""What is left of the call's time when its last command has to be over."""


async def refusable(asking: Coroutine[Any, Any, object]) -> None:
    """What the user has not granted is not done; the host's log says so."""
    with suppress(HostRefused, NotConnected):
        await asking


def tool_of(told: Happening) -> OfTool | None:
    """The tool call that it is about, or None."""
    call = told.call if isinstance(told, PersonAsked) else told
    return call if isinstance(call, OfTool) else None


class Runner:
    """Runs the hooks of one configuration.

    Args:
        system: whose they are.
        scripts: their scripts as they were approved.
        inject: gives the model of a session a text.
    """

    def __init__(
        self,
        system: Hosted,
        scripts: Scripts,
        inject: Callable[[str, str], Coroutine[Any, Any, None]],
    ) -> None:
        self._system = system
        self._scripts = scripts
        self._inject = inject
        self._background: set[asyncio.Task[None]] = set()

    def keep(
        self, running: Coroutine[Any, Any, None], among: set[asyncio.Task[None]] | None = None
    ) -> None:
        """Run it as a task of its own, among those that the plugin's end cancels."""
        tasks = self._background if among is None else among
        task = asyncio.get_running_loop().create_task(running)
        tasks.add(task)  # the loop holds tasks only weakly
        task.add_done_callback(tasks.discard)

    def cancel(self) -> None:
        """End what runs in the background."""
        for task in self._background:
            task.cancel()

    async def answer(
        self, row: Row, told: Happening, memory: Remembered, place: Place, ctx: sdk.AsyncContext
    ) -> HookAnswer:
        """What the hooks of a row come to that fit.

        Args:
            row: the event and its hooks.
            told: what they read.
            memory: which have run once.
            place: where they run.
            ctx: of the call.
        """
        handlers = self._fitting(row, told, memory)
        in_turn = self._system.sequential or row.event.sequential
        if in_turn or any(handler.sequential for handler in handlers):
            whole = HookAnswer()
            for handler in handlers:
                now = answering.rewritten(told, whole)
                whole = merged([whole, await self._verdict(row, handler, now, place, ctx)])
            return whole
        ended: list[HookAnswer] = []

        async def one(handler: Handler) -> None:
            ended.append(await self._verdict(row, handler, told, place, ctx))

        async with asyncio.TaskGroup() as group:
            for handler in handlers:
                group.create_task(one(handler))
        return merged(ended)

    def _fitting(self, row: Row, told: Happening, memory: Remembered) -> Sequence[Handler]:
        """Those that are for this happening; equal definitions once."""
        values = self._matched(row, told)
        call = tool_of(told) if row.event.matched in TOOL_NAMES else None
        of_server = call.server_tool if call is not None else None
        found: dict[int, Handler] = {}
        seen: list[Handler] = []
        for handler, matcher in row.hooks:
            plain = msgspec.structs.replace(handler, matcher=None)
            if plain in seen:
                continue
            fits = values is None or any(map(matcher.fits, values))
            if not fits and of_server is not None:
                fits = any(map(of_server.may_be, matcher.written))
            if not fits:
                continue
            if not _holds(handler, told):
                continue
            seen.append(plain)
            if handler.once and id(handler) in memory.ran_once:
                continue
            found[id(handler)] = handler
            if handler.once:
                memory.ran_once.add(id(handler))
        return list(found.values())

    def _matched(self, row: Row, told: Happening) -> Sequence[str] | None:
        """What matchers are held against; None if that is not known, which they all fit."""
        field = row.event.matched
        if field and isinstance(told, OfTool) and field not in TOOL_NAMES:
            value = told.arguments.get(field)
            return texts_of(told.arguments) if isinstance(value, str) and value else None
        # where stdin is the bare input, the model may give it a field of that name
        if field in row.event.fields:
            value = self._system.build(told).get(field)
            if isinstance(value, str):
                return (value,)
        call = tool_of(told)
        return ("" if call is None or not field else call.tool_name,)

    async def _verdict(
        self, row: Row, handler: Handler, told: Happening, place: Place, ctx: sdk.AsyncContext
    ) -> HookAnswer:
        changed = self._scripts.changed(handler)
        if changed is not None:
            _say(ctx, row, handler, f"is not run: {changed}")
            if row.event.blocks:
                return refused(told, f"a hook that has to be asked is not run: {changed}")
            return HookAnswer()
        call = tool_of(told)
        if call is not None and call.doubt is not None:
            if isinstance(told, ToolAsked) and row.event.blocks:
                return refused(told, call.doubt)
            if isinstance(told, PersonAsked):
                return HookAnswer()  # the person decides
        stdin = self._system.stdin(told)
        if handler.background:
            self.keep(self._behind(handler, told, place, stdin))
            return HookAnswer()
        ended = await self._end(handler, place, stdin, _time_s(handler, ctx))
        verdict = self._system.verdict(row.event, handler, told, ended)
        if verdict.failed is not None:
            _say(ctx, row, handler, verdict.failed)
        return verdict.answer

    async def _behind(self, handler: Handler, told: Happening, place: Place, stdin: bytes) -> None:
        """Nothing waits for it; if it wakes, its reason to block goes to the model."""
        ended = await self._end(handler, place, stdin, handler.timeout_s)
        text = ended.stderr.strip() or ended.stdout.strip()
        if handler.wakes and ended.exit_code == 2 and text:
            await refusable(self._inject(told.session_id, text[:10_000]))

    async def _end(self, handler: Handler, place: Place, stdin: bytes, timeout_s: float) -> Ended:
        if handler.url is not None:
            return await http.ask(handler, stdin, timeout_s)
        return await run_command(self._system, handler, place, stdin, timeout_s)


def _holds(handler: Handler, told: Happening) -> bool:
    call = tool_of(told)
    if call is None:
        return True
    condition, name = handler.condition, call.tool_name
    return holds(condition, name, call.arguments, call.cwd, server_tool=call.server_tool)


def _time_s(handler: Handler, ctx: sdk.AsyncContext) -> float:
    """Its own time, but not beyond that of the call."""
    if ctx.deadline is None:
        return handler.timeout_s
    return max(0.05, min(handler.timeout_s, ctx.deadline - time.monotonic() - LEFT_S))


def _say(ctx: sdk.AsyncContext, row: Row, handler: Handler, trouble: str) -> None:
    level: Level = "debug" if handler.on_failure == "ignore" else "warning"
    ctx.log(level, f"{row.event.theirs}: the hook {handler.what[:200]!r} {trouble}")

"""A configuration of hooks as a plugin: what it subscribes to, and what it answers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import msgspec

import sliphook_sdk as sdk
from sliphook.adapters.dialects.answer import HookAnswer
from sliphook.adapters.dialects.hosted.hosted import DECIDES
from sliphook.adapters.dialects.hosted.toolmap import ToolMap
from sliphook.adapters.dialects.told import Happening
from sliphook_sdk.protocol import CATALOGUE, Answer, Uses
from sliphook_sdk.protocol.questions import UserInputRequired
from sliphook_sdk.protocol.shapes import Payload

from . import answering, http
from .approval import Scripts
from .commands import Place
from .merge import merged
from .rows import Row, Wanted, wanted
from .running import Runner, refusable, tool_of
from .sources import Source
from .telling import Remembered, remember, told_of
from .transcript import ClaudeTranscripts, is_read, name_of

_MARGIN_S: Final = 0.1
MAX_ALERT_CHARS: Final = 2_000
MAX_REASON_CHARS: Final = 500
"""Of why a turn is interrupted."""


class HooksPlugin:
    """One configuration.

    Args:
        name: the plugin's name.
        source: the configuration, as it was approved.
        tools: see `ToolMap`.
        hosts: the servers that HTTP hooks may ask.
        disabled: why it does not take part; what it declares is told all the same, since closed
            entries deny then.
    """

    def __init__(
        self,
        name: str,
        source: Source,
        tools: Mapping[str, Mapping[str, str]],
        hosts: Sequence[str] = (),
        disabled: str | None = None,
    ) -> None:
        self._source = source
        self._tools = ToolMap(source.system.tools, tools)
        handlers = [one for one in source.handlers if http.why_not_allowed(one, hosts) is None]
        self._reads_transcript = transcript = is_read(source)
        entries = wanted(source.system, handlers, self._tools, transcript=transcript)
        self._decides = any(row.event.answers is DECIDES for one in entries for row in one.rows)
        uses: list[Uses] = [*source.system.uses]
        if self._decides:
            uses.append("approve")
        if any(handler.wakes for handler in handlers):
            uses.append("inject")
        self.plugin: sdk.Plugin[Remembered] = sdk.Plugin(
            name,
            version="0",
            description=f"Hooks of {source.system.title} in {source.path}",
            uses=uses,
            sessions=Remembered,
            disabled=disabled,
        )
        self._register: Any = self.plugin  # the names are typed, and here they come from a table
        self._runner = Runner(source.system, Scripts(source), self._inject)
        self._transcripts = ClaudeTranscripts()
        self._last: set[asyncio.Task[None]] = set()
        self._data = Path()
        self.plugin.on_start(self._start)
        self.plugin.on_shutdown(self._stop)
        for one in entries:
            self._subscribe(one)

    async def _inject(self, session_id: str, text: str) -> None:
        await self.plugin.async_host.inject(text, session_id=session_id)

    async def _start(self, *, ctx: sdk.LifeContext) -> None:
        self._data = ctx.data_dir
        self._transcripts.folder = ctx.data_dir / "transcripts"

    async def _stop(self, *, ctx: sdk.LifeContext) -> None:
        self._runner.cancel()
        if self._last:
            left_s = ctx.deadline - time.monotonic() - _MARGIN_S
            await asyncio.wait(self._last, timeout=max(0.0, left_s))

    def _subscribe(self, one: Wanted) -> None:
        for match in one.matches:
            if one.asked:
                register = self._register.hook(
                    one.ours,
                    match=match,
                    timeout_s=one.timeout_s,
                    on_failure=one.on_failure,
                    replaces=bool(CATALOGUE[one.ours].replace) and answering.replaces(one.rows),
                    include=one.include,
                )
                register(self._asked(one))
            else:
                self._register.on(one.ours, match=match, include=one.include)(self._told(one))

    def _asked(self, one: Wanted) -> Callable[..., Coroutine[Any, Any, Answer | None]]:
        async def asked(payload: Payload, *, ctx: sdk.AsyncContext) -> Answer | None:
            memory = self._hear(payload)
            told = told_of(payload, memory, self._tools)
            if told is None:
                return None
            answer = await self._answer(one.rows, told, memory, ctx)
            self._ask_host(one, payload, answer)
            return answering.answer_of(payload, answer, self._tools)

        asked.__name__ = one.ours
        return asked

    def _told(self, one: Wanted) -> Callable[..., Coroutine[Any, Any, None]]:
        async def entry(payload: Payload, *, ctx: sdk.AsyncContext) -> None:
            memory = self._hear(payload)
            told = told_of(payload, memory, self._tools) if one.rows else None
            if told is None and one.ours == "session_end":
                self._forget(payload.session_id)
            elif told is not None:
                # the next message does not wait for these commands
                tasks = self._last if one.ours == "session_end" else None
                self._runner.keep(self._run_event(one, payload, told, memory, ctx), tasks)

        entry.__name__ = one.ours
        return entry

    def _hear(self, payload: Payload) -> Remembered:
        memory = self.plugin.sessions[payload.session_id]
        remember(memory, payload, self._tools)
        if self._reads_transcript:
            self._transcripts.add(payload, self._tools)
        return memory

    async def _run_event(
        self,
        one: Wanted,
        payload: Payload,
        told: Happening,
        memory: Remembered,
        ctx: sdk.AsyncContext,
    ) -> None:
        answer = await self._answer(one.rows, told, memory, ctx)
        self._ask_host(one, payload, answer)
        if one.ours == "session_end":
            self._forget(payload.session_id)

    async def _answer(
        self, rows: tuple[Row, ...], told: Happening, memory: Remembered, ctx: sdk.AsyncContext
    ) -> HookAnswer:
        """What all rows come to; each reads what those before it have replaced."""
        path = str(self._transcripts.path(told.session_id))
        told = msgspec.structs.replace(told, transcript_path=path, at_s=time.time())
        whole = HookAnswer()
        for row in rows:
            now = answering.rewritten(msgspec.structs.replace(told, event=row.event.theirs), whole)
            if not row.event.when(now):
                continue
            place = self._place(row, now, ctx)
            whole = merged([whole, await self._runner.answer(row, now, memory, place, ctx)])
            if whole.denied is not None:
                break
        return whole

    def _ask_host(self, one: Wanted, payload: Payload, answer: HookAnswer) -> None:
        """What is no part of an answer: a text for the person, the end of the turn, a decision."""
        host = self.plugin.async_host
        if answer.message is not None and one.ours != "notification":
            self._runner.keep(refusable(host.notify("info", answer.message[:MAX_ALERT_CHARS])))
        if answer.end is not None and payload.turn_id is not None:
            reason = answer.end[:MAX_REASON_CHARS]
            where = {"session_id": payload.session_id, "turn_id": payload.turn_id}
            self._runner.keep(refusable(host.interrupt(reason, **where)))
        if isinstance(payload, UserInputRequired) and payload.question_id and self._decides:
            question = {"session_id": payload.session_id, "question_id": payload.question_id}
            self._runner.keep(refusable(host.answer(answer.decision, **question)))

    def _place(self, row: Row, told: Happening, ctx: sdk.AsyncContext) -> Place:
        source = self._source
        call = tool_of(told)
        knows_root = source.is_plugin or source.system.name == "copilot"
        starts = row.event.ours == "session_start"
        return Place(
            project=told.cwd,
            base=str(source.base),
            session=told.session_id,
            event=row.event.theirs,
            root=str(source.root) if knows_root else None,
            data=str(self._data) if source.is_plugin else None,
            env_file=str(self._env_file(told.session_id)) if starts else None,
            tool="" if call is None else call.tool_name,
            traceparent=ctx.traceparent,
        )

    def _env_file(self, session_id: str) -> Path:
        folder = self._data / "env"
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
        return folder / f"{name_of(session_id)}.sh"

    def _forget(self, session_id: str) -> None:
        """Remove what was kept for a session that has ended."""
        self._transcripts.forget(session_id)
        with suppress(OSError):
            self._env_file(session_id).unlink(missing_ok=True)

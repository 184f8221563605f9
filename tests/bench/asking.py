"""Our side, through the host's public face: one hook, asked inside a session's turn."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from sliphook import Outcome, PluginHost, PluginSpec, Session, Turn
from sliphook.trace.file_sink import FileTrace

from .floor import call
from .measuring import Once


class PluginTrouble(Exception):
    """A plugin did not do what the measurement takes for granted."""


@asynccontextmanager
async def opened(
    plugins: Sequence[Path | PluginSpec], trace: FileTrace | None = None
) -> AsyncGenerator[PluginHost, None]:
    """A host whose plugins are all ready."""
    async with PluginHost(plugins, on_log=_ignore, trace=trace) as host:
        for plugin in host.plugins:
            if plugin.state != "ready":
                raise PluginTrouble(f"{plugin.name} is {plugin.state}: {plugin.why}")
        yield host


async def ask(session: Session, turn: Turn, fields: dict[str, Any]) -> Outcome:
    """One `pre_tool_call` and nothing else (`Turn.call_tool` would fire `post_tool_call` too)."""
    return await session.hooks.ask("pre_tool_call", turn, **fields)


@asynccontextmanager
async def hook(
    plugins: Sequence[Path | PluginSpec],
    text_bytes: int = 220,
    *,
    trace: FileTrace | None = None,
    asked: int = 1,
) -> AsyncGenerator[Once, None]:
    """Put a `pre_tool_call`, and nothing else, to the plugins.

    Args:
        plugins: what is started.
        text_bytes: how much text the call has.
        trace: where all of it is recorded.
        asked: how many of the plugins answer.
    """
    fields = call(text_bytes)
    async with (
        opened(plugins, trace) as host,
        host.session(cwd="/home/ada/project") as session,
        session.turn("go on") as turn,
    ):

        async def once() -> None:
            outcome = await session.hooks.ask("pre_tool_call", turn, **fields)
            if len(outcome.parts) != asked or any(
                part.status != "answered" for part in outcome.parts
            ):
                raise PluginTrouble(str(outcome.parts))

        yield once


def _ignore(plugin: str, level: str, message: str) -> None:
    del plugin, level, message

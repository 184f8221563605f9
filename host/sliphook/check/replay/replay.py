"""Plays a script against a plugin, with the host's own process and connection."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import msgspec
import trio

from sliphook.files.private import temporary_folder
from sliphook.plugin.instance import Instance
from sliphook.plugin.launch import introduction
from sliphook.plugin.manifest import MANIFEST
from sliphook.process.environment import plugin_environment
from sliphook.process.reaper import OrphanReaper
from sliphook.process.spawn import CannotStart, spawn
from sliphook.process.stderr import StderrTail
from sliphook.trace.record import TraceSink
from sliphook.trace.redact import REDACTED
from sliphook.transport.deadlines import Deadlines
from sliphook.transport.pace import Pace
from sliphook.transport.transport_recorder import TransportRecorder
from sliphook.wire import envelope
from sliphook.wire.decoding import DECODE_ERRORS
from sliphook_sdk.protocol import PluginInfo

from .differences import ReplayReport, Verdicts
from .player import Player
from .script import Life

__all__ = ["replay"]


async def replay(
    path: Path,
    name: str,
    lives: Sequence[Life],
    *,
    timeout_s: float | None = None,
    log: Callable[[str, str], None],
    trace: TraceSink | None = None,
) -> ReplayReport:
    """Play a script in an empty folder, each life in a new process.

    A failure of the plugin is a difference, not an error.

    Args:
        path: the executable.
        name: the plugin's name in the trace.
        lives: the script.
        timeout_s: how long each answer may take; None takes the time that the request names.
        log: gets the lines of the plugin's log: level, message.
        trace: records the replay, or None.
    """
    deadlines, reaper, verdicts = Deadlines(), OrphanReaper(), Verdicts()
    await reaper.begin()
    try:
        with temporary_folder("sliphook-replay-") as folder:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(deadlines.run)
                nursery.start_soon(reaper.watch)
                for life in lives:
                    env = plugin_environment(os.environ, _wanted(life))
                    try:
                        process = await spawn(path, cwd=folder, env=env, reaper=reaper)
                    except CannotStart as error:
                        verdicts.differs("the process", "start", "started", str(error))
                        # Further lives need the same executable.
                        break
                    player = Player(name, life, verdicts, deadlines, timeout_s=timeout_s, log=log)
                    recorder = None if trace is None else TransportRecorder(trace, name)
                    instance = Instance(
                        process,
                        player,
                        deadlines,
                        Pace(),
                        player.handlers(),
                        StderrTail(),
                        recorder,
                    )
                    async with trio.open_nursery() as living:
                        living.start_soon(player.host, instance, _initialize(life, str(folder)))
                        await player.play(instance)
                        instance.stop()
                nursery.cancel_scope.cancel()
    finally:
        reaper.close()
    return verdicts.report(name, str(path))


def _wanted(life: Life) -> dict[str, str]:
    """The variables that the manifest asks for and that are set here: a trace holds no values."""
    try:
        manifest = None if life.manifest is None else MANIFEST.decode(life.manifest.result)
    except DECODE_ERRORS:
        manifest = None
    wants = [] if manifest is None else manifest.env or []
    return {want.name: os.environ[want.name] for want in wants if want.name in os.environ}


def _initialize(life: Life, data_dir: str) -> msgspec.Raw:
    """The params of the trace with another folder; usual ones, if the trace has none to send.

    A `config` that was redacted as a whole is left out: plugins expect an object there, not a word.
    """
    fields: Any = None if life.initialize is None else msgspec.json.decode(life.initialize)
    plugin: Any = cast("dict[str, Any]", fields).get("plugin") if isinstance(fields, dict) else None
    if not isinstance(plugin, dict):
        return introduction(PluginInfo(name=None, data_dir=data_dir, config={}))
    plugin = cast("dict[str, Any]", plugin)
    # The recorded folder is the user's own: a replay must not write to it.
    plugin["data_dir"] = data_dir
    if plugin.get("config") == REDACTED:
        plugin["config"] = {}
    return msgspec.Raw(envelope.encode(fields))

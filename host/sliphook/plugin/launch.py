"""From what the host is told of a plugin to its process, and what the process is told first."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

import msgspec

from sliphook.process.child import Process
from sliphook.process.environment import plugin_environment
from sliphook.process.reaper import OrphanReaper
from sliphook.process.spawn import Changed, Refused, spawn
from sliphook.wire import envelope
from sliphook_sdk.protocol import CATALOGUE, HostInfo, InitializeParams, PluginInfo, SessionInfo
from sliphook_sdk.protocol.limits import PROTOCOL_VERSIONS

from .spec import PluginSpec


async def launch(spec: PluginSpec, data_dir: Path, reaper: OrphanReaper) -> Process:
    """Start the plugin's process.

    Args:
        spec: the plugin.
        data_dir: its folder, in which it runs.
        reaper: is told of its process group.

    Raises:
        Refused: it is not to be started as things are.
        CannotStart: it cannot be started.
    """
    if spec.start is not None:
        return await spec.start()
    env = plugin_environment(os.environ, spec.env)
    try:
        return await spawn(
            spec.path,
            cwd=data_dir,
            env=env,
            reaper=reaper,
            sandbox=spec.sandbox,
            sha256=spec.sha256,
        )
    except Changed as error:
        raise Refused(with_advice(str(error), spec) + error.hashes) from None


def with_advice(why: str, spec: PluginSpec) -> str:
    """Why the plugin is refused until the user approves of what it has become, and how that is done."""
    return f"{why}; if that is right, run: sliphook trust {spec.name}"


def introduction(
    plugin: PluginInfo, *, host: str = "sliphook", sessions: Sequence[SessionInfo] = ()
) -> msgspec.Raw:
    """The params of `initialize`.

    Args:
        plugin: what the plugin is told of itself.
        host: the host's name.
        sessions: those that live.
    """
    params = InitializeParams(
        protocol_versions=list(PROTOCOL_VERSIONS),
        host=HostInfo(name=host, version=metadata.version("sliphook")),
        plugin=plugin,
        events=list(CATALOGUE),
        sessions=list(sessions),
    )
    return msgspec.Raw(envelope.encode(params))

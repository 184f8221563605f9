"""Starts a plugin's process from its spec, and makes the params of its first message."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from importlib import metadata
from pathlib import Path

import msgspec

from sliphook.process.child import Process
from sliphook.process.environment import plugin_environment
from sliphook.process.interpreter import why_not_pinned
from sliphook.process.reaper import OrphanReaper
from sliphook.process.spawn import CannotStart, Changed, Refused, spawn
from sliphook.wire import envelope
from sliphook.wire.sendable import encode_value
from sliphook_sdk.protocol import CATALOGUE, HostInfo, InitializeParams, PluginInfo, SessionInfo
from sliphook_sdk.protocol.limits import PROTOCOL_VERSIONS

from .spec import PluginSpec


async def launch(spec: PluginSpec, data_dir: Path, reaper: OrphanReaper) -> Process:
    """Start the plugin's process.

    Args:
        spec: the plugin.
        data_dir: the plugin's folder, its working directory.
        reaper: is told of the new process group.

    Raises:
        Refused: the plugin is not started before the user has changed or approved something.
        CannotStart: the plugin cannot be started.
    """
    try:
        encode_value(dict(spec.config))
    except TypeError as error:
        raise CannotStart(f"its settings cannot be sent: {error}") from None
    if spec.start is not None:
        return await spec.start()
    env = plugin_environment(os.environ, spec.env)
    if spec.interpreter is not None:
        why = why_not_pinned(spec.path, spec.interpreter)
        if why is not None:
            raise Refused(
                f"{why}; pin it to the active one by: sliphook trust {spec.name},"
                f" or have it follow that: sliphook config {spec.name} --no-pin"
            )
        env["PATH"] = os.pathsep.join((os.path.dirname(spec.interpreter), env.get("PATH", "")))
    try:
        return await spawn(
            spec.path,
            cwd=data_dir,
            env=env,
            reaper=reaper,
            sandbox=spec.sandbox,
            limits=spec.limits,
            sha256=spec.sha256,
            arguments=spec.made.arguments if spec.made is not None else (),
            files=spec.made.files if spec.made is not None else {},
        )
    except Changed as error:
        raise Refused(with_advice(str(error), spec) + error.hashes) from None


def with_advice(why: str, spec: PluginSpec) -> str:
    """Add to `why` a plugin is refused how the user can approve it as it is now."""
    return f"{why}; if that is right, run: sliphook trust {spec.name}"


def introduction(
    plugin: PluginInfo,
    *,
    host: str = "sliphook",
    sessions: Sequence[SessionInfo] = (),
    manifest_only: bool = False,
) -> msgspec.Raw:
    """The params of `initialize`.

    Args:
        plugin: the plugin's name, settings and grants.
        host: the host's name.
        sessions: the open sessions.
        manifest_only: the plugin is ended when its manifest is read.
    """
    params = InitializeParams(
        protocol_versions=list(PROTOCOL_VERSIONS),
        host=HostInfo(name=host, version=own_version()),
        plugin=plugin,
        events=list(CATALOGUE),
        sessions=list(sessions),
        manifest_only=manifest_only or msgspec.UNSET,
    )
    return msgspec.Raw(envelope.encode(params))


@cache
def own_version() -> str:
    """The host's version, read once: it is 1 ms of parsing, and fifty plugins may start at once."""
    return metadata.version("sliphook")

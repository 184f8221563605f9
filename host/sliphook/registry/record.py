"""One installed plugin, as a value, and as its file holds it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from sliphook.errors import SliphookError
from sliphook.plugin.spec import Override, PluginSpec
from sliphook_sdk.protocol import Manifest, Uses

from .keys import HookKeys, PluginKeys, RecordedKeys


class RegistryError(SliphookError):
    """It cannot be done. str() is one line that says what, to which plugin, and what to do."""


@dataclass(frozen=True)
class Broken:
    """An installed plugin whose file cannot be used; the others go on.

    Attributes:
        name: of the plugin, escaped where no plugin can have it.
        file: the file.
        why: one line for people.
    """

    name: str
    file: Path
    why: str


@dataclass(frozen=True, kw_only=True)
class Registered:
    """An installed plugin.

    Attributes:
        name: the name it is installed under.
        path: its executable, symbolic links resolved.
        sha256: of the executable that was approved.
        interpreter: what ran it when it was approved, where it is a script.
        manifest: what it declared then.
        installed: when it was first installed.
        grants: what it may ask of the host.
        env: names of the environment variables that it is given.
        order: its place among the plugins.
        enabled: it is started, and guards.
        config: the user's settings for it.
        overrides: by the name of a hook or event, what the user has decided about it.
        timeout_cap_s: the longest that an answer of its may take; None: no cap.
        sandbox: it is to be started in one.
    """

    name: str
    path: Path
    sha256: str
    interpreter: str | None
    manifest: Manifest
    installed: datetime
    grants: frozenset[Uses] = frozenset()
    env: tuple[str, ...] = ()
    order: int = 0
    enabled: bool = True
    config: Mapping[str, Any] = field(default_factory=dict[str, Any])
    overrides: Mapping[str, Override] = field(default_factory=dict[str, Override])
    timeout_cap_s: float | None = None
    sandbox: bool = False

    def spec(self, environ: Mapping[str, str]) -> PluginSpec:
        """What the host is to start.

        Args:
            environ: where the values of the granted variables come from.
        """
        return PluginSpec(
            path=self.path,
            name=self.name,
            config=self.config,
            env={name: environ[name] for name in self.env if name in environ},
            grants=self.grants,
            timeout_cap_s=self.timeout_cap_s,
            overrides=self.overrides,
            recorded=self.manifest,
            sha256=self.sha256,
            sandbox=self.sandbox,
        )


def registered(name: str, keys: PluginKeys) -> Registered:
    """The plugin that a file describes."""
    return Registered(
        name=name,
        path=Path(keys.recorded.path),
        sha256=keys.recorded.sha256,
        interpreter=keys.recorded.interpreter,
        manifest=msgspec.json.decode(keys.recorded.manifest, type=Manifest),
        installed=keys.recorded.installed,
        grants=frozenset(keys.grants),
        env=tuple(keys.env),
        order=keys.order,
        enabled=keys.enabled,
        config=keys.config,
        overrides={
            event: Override(hook.priority, hook.on_failure, hook.off)
            for event, hook in keys.hooks.items()
        },
        timeout_cap_s=keys.timeout_cap_s,
        sandbox=keys.sandbox,
    )


def file_content(plugin: Registered) -> dict[str, Any]:
    """What stands in the plugin's file, in the order in which people read it; defaults are left out but for two that are often changed."""
    hooks = {
        event: HookKeys(
            priority=override.priority, on_failure=override.on_failure, off=override.off
        )
        for event, override in plugin.overrides.items()
        if override != Override()
    }
    keys = PluginKeys(
        enabled=plugin.enabled,
        order=plugin.order,
        grants=sorted(plugin.grants),
        env=list(plugin.env),
        timeout_cap_s=plugin.timeout_cap_s,
        sandbox=plugin.sandbox,
        config=dict(plugin.config),
        hooks=hooks,
        recorded=RecordedKeys(
            path=str(plugin.path),
            sha256=plugin.sha256,
            interpreter=plugin.interpreter,
            installed=plugin.installed,
            manifest=_as_text(plugin.manifest),
        ),
    )
    content: dict[str, Any] = msgspec.to_builtins(keys, builtin_types=(datetime,))
    return {
        "enabled": plugin.enabled,
        "order": plugin.order,
        **{key: value for key, value in content.items() if value != {}},
    }


def _as_text(manifest: Manifest) -> str:
    """The manifest as JSON that TOML holds between single quotes as it stands: what would have to be escaped there, JSON escapes."""
    text = msgspec.json.encode(manifest).decode()
    return "".join(char if char.isprintable() and char != "'" else _escaped(char) for char in text)


def _escaped(char: str) -> str:
    return json.dumps(char)[1:-1] if char != "'" else "\\u0027"

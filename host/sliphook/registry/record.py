"""One installed plugin."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from sliphook.plugin.manifest import MANIFEST
from sliphook.plugin.model_servers import is_among
from sliphook.plugin.overrides import as_subscribed
from sliphook.plugin.spec import PluginSpec
from sliphook_sdk.protocol import Manifest

from .keys import PluginKeys


@dataclass(frozen=True)
class Broken:
    """An installed plugin whose file cannot be used.

    Attributes:
        name: the plugin's name; escaped, if no plugin can have it.
        file: its file.
        why: why the file cannot be used, in one line.
    """

    name: str
    file: Path
    why: str


# `dict=True`: a `cached_property` needs a `__dict__`, which msgspec leaves out by default.
class Registered(PluginKeys, frozen=True, kw_only=True, omit_defaults=True, dict=True):
    """An installed plugin: the keys of its file, and the name of the file.

    Attributes:
        name: the name that it is installed under.
    """

    name: str

    @property
    def path(self) -> Path:
        """Its executable, symbolic links resolved; what runs its adapter, if it has none."""
        recorded = self.recorded
        return Path(recorded.path or "") if recorded.made is None else recorded.made.program

    @cached_property
    def manifest(self) -> Manifest:
        """The manifest that was approved."""
        return MANIFEST.decode(self.recorded.manifest)

    @property
    def subscribed(self) -> Manifest:
        """The same, with the subscriptions that count, failing as the user has set them."""
        return as_subscribed(self.manifest, self.overrides)

    def spec(self, environ: Mapping[str, str]) -> PluginSpec:
        """The spec for a host.

        Args:
            environ: has the values of the granted variables.
        """
        return PluginSpec(
            path=self.path,
            name=self.name,
            config=self.config,
            env={name: environ[name] for name in self.env if name in environ},
            grants=self.grants,
            servers=self.servers,
            timeout_cap_s=self.timeout_cap_s,
            overrides=self.overrides,
            recorded=self.manifest,
            sha256=self.recorded.sha256,
            sandbox=self.sandbox,
            interpreter=self.recorded.interpreter if self.pin else None,
            made=self.recorded.made.by(self.name) if self.recorded.made is not None else None,
        )

    def servers_refused(self, wanted: Iterable[str]) -> list[str]:
        """The servers among `wanted` to which the user lets it send no model calls."""
        return [server for server in wanted if not is_among(server, self.servers)]

    def file_content(self) -> dict[str, Any]:
        """The content of the plugin's file, in the order in which it is read by a user.

        Defaults are left out, except for the keys that are changed often.
        """
        often = {
            "enabled": self.enabled,
            "order": self.order,
            "grants": sorted(self.grants),
            "env": list(self.env),
        }
        others: dict[str, Any] = msgspec.to_builtins(self, builtin_types=(datetime,))
        if self.servers:
            others["servers"] = list(self.servers)
        hooks = others.get("hooks", {})
        others["hooks"] = {event: keys for event, keys in hooks.items() if keys}
        return often | {
            key: value
            for key, value in others.items()
            if key not in often and key != "name" and value != {}
        }


def manifest_text(manifest: Manifest) -> str:
    """The manifest as JSON that fits between single quotes in TOML.

    JSON escapes what TOML could not hold there.
    """
    text = msgspec.json.encode(manifest).decode()
    return "".join(char if char.isprintable() and char != "'" else _escaped(char) for char in text)


def _escaped(char: str) -> str:
    return json.dumps(char)[1:-1] if char != "'" else "\\u0027"

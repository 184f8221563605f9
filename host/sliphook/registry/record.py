"""One installed plugin."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from sliphook.errors import SliphookError
from sliphook.plugin.spec import PluginSpec
from sliphook_sdk.protocol import Manifest

from .keys import PluginKeys


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


class Registered(PluginKeys, frozen=True, kw_only=True, omit_defaults=True, dict=True):
    """An installed plugin: the keys of its file, and the name that the file has.

    Attributes:
        name: the name it is installed under.
    """

    name: str

    @property
    def path(self) -> Path:
        """Its executable, symbolic links resolved."""
        return Path(self.recorded.path)

    @cached_property
    def manifest(self) -> Manifest:
        """What it declared when it was approved."""
        return msgspec.json.decode(self.recorded.manifest, type=Manifest)

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
            sha256=self.recorded.sha256,
            sandbox=self.sandbox,
        )

    def file_content(self) -> dict[str, Any]:
        """What stands in its file, in the order in which people read it.

        Defaults are left out, but for those that are often changed.
        """
        often = {
            "enabled": self.enabled,
            "order": self.order,
            "grants": sorted(self.grants),
            "env": list(self.env),
        }
        others: dict[str, Any] = msgspec.to_builtins(self, builtin_types=(datetime,))
        hooks = others.get("hooks", {})
        others["hooks"] = {event: keys for event, keys in hooks.items() if keys}
        return often | {
            key: value
            for key, value in others.items()
            if key not in often and key != "name" and value != {}
        }


def manifest_text(manifest: Manifest) -> str:
    """The manifest as JSON that TOML holds between single quotes as it stands.

    What TOML would have to escape, JSON escapes.
    """
    text = msgspec.json.encode(manifest).decode()
    return "".join(char if char.isprintable() and char != "'" else _escaped(char) for char in text)


def _escaped(char: str) -> str:
    return json.dumps(char)[1:-1] if char != "'" else "\\u0027"

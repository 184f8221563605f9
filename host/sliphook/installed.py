"""What the user has installed, with the settings of `config.toml`: what an agent gives its host."""

from __future__ import annotations

import os
from collections.abc import Mapping

import msgspec

from .plugin.spec import PluginSpec
from .quoting import quote
from .registry import Broken, Registry
from .settings import Settings, for_nobody, read_settings, with_settings

__all__ = ["Installed", "read_installed"]


class Installed(msgspec.Struct, frozen=True, kw_only=True):
    """The installed plugins.

    Attributes:
        specs: the enabled ones, in their order, for `PluginHost`.
        missing: those that are left out, since their files cannot be used, each with the reason. A
            guard may be among them.
        ignored: settings for plugins that are not installed, a line for the user each.
    """

    specs: tuple[PluginSpec, ...]
    missing: tuple[Broken, ...]
    ignored: tuple[str, ...]

    @property
    def problems(self) -> tuple[str, ...]:
        """What the user has to know, a line each; empty if all is in order."""
        left_out = [f"plugin {quote(one.name, 400)} is left out: {one.why}" for one in self.missing]
        return (*left_out, *self.ignored)


def read_installed(
    settings: Settings | None = None, environ: Mapping[str, str] | None = None
) -> Installed:
    """Read what is installed; starts nothing.

    Args:
        settings: the user's settings; None reads them.
        environ: has the values of the variables that the user granted; None: this process's own.

    Raises:
        SettingsError: `config.toml` breaks a rule; the broken line may belong to a guard.
        RegistryError: the folder of the installed plugins cannot be read.
    """
    settings = read_settings() if settings is None else settings
    registry = Registry()
    specs, broken = registry.specs(os.environ if environ is None else environ)
    unknown = for_nobody(settings, registry.names())
    return Installed(
        specs=tuple(with_settings(spec, settings) for spec in specs),
        missing=tuple(broken),
        ignored=tuple(_does_nothing(name, close) for name, close in unknown.items()),
    )


def _does_nothing(name: str, close: str | None) -> str:
    hint = f"did you mean {close}?" if close else "`sliphook list` shows what is installed"
    return (
        f"config.toml: plugins.{quote(name, 400)} does nothing,"
        f" as no plugin of that name is installed; {hint}"
    )

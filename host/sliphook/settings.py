"""The user's settings, `$XDG_CONFIG_HOME/sliphook/config.toml`: its keys, and what they change.

The table in `docs/settings.md` is made from the keys. The library does not read the file by itself:
an agent that wants it calls `read_settings`.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec

from sliphook.files.ownership import why_unsafe
from sliphook.files.toml import BadKey, TomlError, read_toml
from sliphook.plugin.overrides import check_overrides
from sliphook.plugin.spec import Override, PluginSpec
from sliphook.process.limits import Limits, over, why_out_of_range
from sliphook.registry.keys import check_timeout_cap
from sliphook.wire.decoding import read_types
from sliphook_sdk.protocol import nearest
from sliphook_sdk.protocol.describe import doc

from .files import paths
from .quoting import quote

__all__ = [
    "MOST_MODEL_CALLS",
    "PluginSettings",
    "Settings",
    "SettingsError",
    "for_nobody",
    "read_settings",
    "settings_file",
    "with_settings",
]

MOST_MODEL_CALLS: Final = 10_000
"""The largest `max_model_calls`; a larger number is taken for a typo."""


class SettingsError(TomlError):
    """`config.toml` breaks a rule, cannot be read, or could be changed by others.

    The user is at fault. str() is one line.
    """


# Unknown keys are errors: a typo must not take away what the user has decided for a guard.
class PluginSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the user has decided about one plugin. It beats the plugin's own file."""

    timeout_cap_s: Annotated[
        float | None, doc("seconds that an answer of this plugin may take at most", 1.0)
    ] = None
    hooks: Annotated[dict[str, Override], doc("by the name of a hook or event", {})] = (
        msgspec.field(default_factory=dict[str, Override])
    )
    limits: Annotated[Limits, doc("what its processes may use of the machine", {})] = Limits()


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole file.

    A key that is left out leaves the default, or the option of the command line.
    """

    model: Annotated[str | None, doc("what `--model` is if it is not given", "gpt-5-mini")] = None
    base_url: Annotated[
        str | None, doc("what `--base-url` is if it is not given", "http://127.0.0.1:8080/v1")
    ] = None
    max_model_calls: Annotated[
        int | None, doc("model calls in one turn, before you are asked whether to go on", 50)
    ] = None
    new_message: Annotated[
        Literal["queue", "interrupt"],
        doc("what a message does while a turn is open: it waits, or interrupts the turn", "queue"),
    ] = "queue"
    timeout_cap_s: Annotated[
        float | None,
        doc("seconds that an answer of any plugin may take at most, whatever it asks for", 10.0),
    ] = None
    limits: Annotated[Limits, doc("what processes of plugins may use of the machine", {})] = (
        Limits()
    )
    plugins: Annotated[dict[str, PluginSettings], doc("by the name of an installed plugin", {})] = (
        msgspec.field(default_factory=dict[str, PluginSettings])
    )


read_types(Settings)


def settings_file() -> Path:
    """The path of the settings, whether or not the file exists."""
    return paths.config_home() / "config.toml"


def read_settings(file: Path | None = None) -> Settings:
    """The user's settings; the defaults, if there is no file.

    Args:
        file: a file other than `settings_file()`.

    Raises:
        SettingsError: the file breaks a rule, cannot be read, or could be changed by other users.
            str() is one line: the file, the line in it, the key, and what would be right.
    """
    file = file or settings_file()
    if (why := why_unsafe(file)) is not None:
        raise SettingsError(
            f"{quote(str(file), 200)} is not believed, as it can take guards away: {why}"
        )
    try:
        return read_toml(file, Settings, _check)
    except FileNotFoundError:
        return Settings()
    except TomlError as error:
        raise SettingsError(str(error)) from None


def with_settings(spec: PluginSpec, settings: Settings) -> PluginSpec:
    """The spec with the user's settings over those of the plugin's own file.

    They replace key by key; of two caps the smaller counts.

    Args:
        spec: a plugin. One that is only tried has no name, and so gets the limits for all alone.
        settings: the user's settings.
    """
    own = settings.plugins.get(spec.name or "", PluginSettings())
    caps = [cap_s for cap_s in (spec.timeout_cap_s, own.timeout_cap_s) if cap_s is not None]
    overrides = {
        **spec.overrides,
        **{
            name: _over(spec.overrides.get(name, Override()), override)
            for name, override in own.hooks.items()
        },
    }
    return dataclasses.replace(
        spec,
        timeout_cap_s=min(caps, default=None),
        overrides=overrides,
        limits=over(over(spec.limits, settings.limits), own.limits),
    )


def for_nobody(settings: Settings, installed: list[str]) -> dict[str, str | None]:
    """Names under `plugins` that match no installed plugin, each with the closest one or None.

    Args:
        settings: the user's settings.
        installed: the names of all installed plugins, also of broken ones.
    """
    return {name: nearest(name, installed) for name in settings.plugins if name not in installed}


def _over(below: Override, above: Override) -> Override:
    return Override(
        priority=below.priority if above.priority is None else above.priority,
        on_failure=below.on_failure if above.on_failure is None else above.on_failure,
        off=below.off or above.off,
    )


def _check(settings: Settings) -> None:
    """Check what the types cannot say."""
    if settings.model is not None and not settings.model.strip():
        raise BadKey(("model",), "it is empty; leave the key out, or name a model")
    if settings.base_url is not None and not settings.base_url.startswith(("http://", "https://")):
        raise BadKey(("base_url",), "it must begin with http:// or https://")
    if (
        settings.max_model_calls is not None
        and not 1 <= settings.max_model_calls <= MOST_MODEL_CALLS
    ):
        raise BadKey(
            ("max_model_calls",),
            f"{settings.max_model_calls} is out of range: give 1 to {MOST_MODEL_CALLS:,}",
        )
    check_timeout_cap(settings.timeout_cap_s, ("timeout_cap_s",))
    _check_limits(settings.limits, ("limits",))
    for name, plugin in settings.plugins.items():
        check_timeout_cap(plugin.timeout_cap_s, ("plugins", name, "timeout_cap_s"))
        check_overrides(plugin.hooks, ("plugins", name, "hooks"))
        _check_limits(plugin.limits, ("plugins", name, "limits"))


def _check_limits(limits: Limits, keys: tuple[str, ...]) -> None:
    wrong = why_out_of_range(limits)
    if wrong is not None:
        raise BadKey((*keys, wrong[0]), wrong[1])

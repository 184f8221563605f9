"""The user's settings, `$XDG_CONFIG_HOME/sliphook/config.toml`: its keys, and what they change.

The table in `docs/settings.md` is made from the keys. The library does not read the file by itself:
an agent that wants it calls `read_settings`.
"""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import msgspec

from sliphook.files.ownership import why_unsafe
from sliphook.files.toml import BadKey, TomlError, check_plain_data, read_toml
from sliphook.host.submissions import PluginMessages
from sliphook.plugin.model_servers import why_no_parameters
from sliphook.plugin.overrides import check_overrides
from sliphook.plugin.spec import Override, PluginSpec
from sliphook.process.environment import VARIABLE_NAME
from sliphook.process.limits import Limits, over, why_out_of_range
from sliphook.registry.keys import check_timeout_cap
from sliphook.wire.decoding import read_types
from sliphook_sdk.protocol import nearest
from sliphook_sdk.protocol.describe import doc

from .files import paths
from .quoting import quote

__all__ = [
    "MOST_MODEL_CALLS",
    "AgentSettings",
    "ForeignSettings",
    "PluginSettings",
    "Provider",
    "Settings",
    "SettingsError",
    "for_nobody",
    "read_settings",
    "settings_file",
    "with_settings",
]

MOST_MODEL_CALLS: Final = 10_000
"""The largest `max_model_calls`; a larger number is taken for a typo."""


SCRIPTED: Final = "scripted"
"""What `model` is for the scripted model, so no provider is called so."""
FOREIGN: Final = "SLIPHOOK_FOREIGN"  # where plugins that are made of hooks find `foreign`
_IDLE_S: Final = (60.0, 2_592_000.0)
_WATCH_S: Final = (0.05, 60.0)
_PROVIDER_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


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


class Provider(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A server of models, by the name that `--model NAME/MODEL` gives it."""

    base_url: Annotated[str, doc("the server's address", "http://127.0.0.1:8080/v1")]
    api: Annotated[
        Literal["openai", "anthropic"] | None,
        doc("which API it speaks; if it is left out, the address tells", "openai"),
    ] = None
    key_env: Annotated[
        str | None,
        doc(
            "the environment variable that holds its key; if it is left out, no key is sent", "KEY"
        ),
    ] = None
    model: Annotated[
        str | None,
        doc("the model of `--model NAME`; if it is left out, the server's only one", "qwen3"),
    ] = None
    images: Annotated[
        bool | None,
        doc("whether its models take images; unknown servers of OpenAI's API are sent none", True),
    ] = None
    parameters: Annotated[
        dict[str, Any] | None,
        doc("more fields of each request, such as `temperature`", {}),
    ] = None


class AgentSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the user has decided about another agent that plugins are attached to."""

    ask: Annotated[
        Literal["agent", "deny"],
        doc("what a plugin's `ask` does: the agent asks its person, or it is a deny", "agent"),
    ] = "agent"
    plugins: Annotated[
        list[str] | None,
        doc("the installed plugins that run there; if it is left out, all", ["guard"]),
    ] = None
    one_daemon: Annotated[
        bool,
        doc("one daemon, and one process of each plugin, for all sessions of the agent", False),
    ] = False
    idle_s: Annotated[
        float, doc("seconds without a hook after which the session's plugins are ended", 43200.0)
    ] = 43200.0
    watch_transcript_s: Annotated[
        float,
        doc("seconds from look to look for an interrupt in the agent's transcript; 0: never", 0.25),
    ] = 0.25
    trace: Annotated[
        bool,
        doc("write the trace of each session into `$XDG_STATE_HOME/sliphook/traces`", True),
    ] = False


class ForeignSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What hooks that were written for other agents read, and whom they may ask."""

    tools: Annotated[
        dict[str, dict[str, str]],
        doc(
            "by the name of a tool of the agent: `as`, its name in Claude Code, and for each of its"
            " arguments the name there",
            {},
        ),
    ] = msgspec.field(default_factory=dict[str, dict[str, str]])
    http_hosts: Annotated[
        list[str],
        doc("servers that their HTTP hooks may ask, `HOST` or `HOST:PORT`", ["hooks.example.com"]),
    ] = msgspec.field(default_factory=list[str])


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole file.

    A key that is left out leaves the default, or the option of the command line.
    """

    model: Annotated[str | None, doc("what `--model` is if it is not given", "gpt-5-mini")] = None
    base_url: Annotated[
        str | None, doc("what `--base-url` is if it is not given", "http://127.0.0.1:8080/v1")
    ] = None
    providers: Annotated[
        dict[str, Provider], doc("by the name that you give to the server", {})
    ] = msgspec.field(default_factory=dict[str, Provider])
    max_model_calls: Annotated[
        int | None, doc("model calls in one turn, before you are asked whether to go on", 50)
    ] = None
    new_message: Annotated[
        Literal["queue", "interrupt"],
        doc("what a message does while a turn is open: it waits, or interrupts the turn", "queue"),
    ] = "queue"
    plugin_messages: Annotated[
        PluginMessages,
        doc(
            "what a message of a plugin does while a turn is open: it waits, interrupts the turn, "
            "or is refused",
            "queue",
        ),
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
    agents: Annotated[
        dict[str, AgentSettings],
        doc("by the name that `sliphook attach` takes, such as `claude-code`", {}),
    ] = msgspec.field(default_factory=dict[str, AgentSettings])
    foreign: Annotated[
        ForeignSettings, doc("hooks of other agents' configurations that run here", {})
    ] = ForeignSettings()


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
        env={**spec.env, **foreign_environment(spec, settings)},
        timeout_cap_s=min(caps, default=None),
        overrides=overrides,
        limits=over(over(spec.limits, settings.limits), own.limits),
    )


def foreign_environment(spec: PluginSpec, settings: Settings) -> dict[str, str]:
    """The variable by which a plugin that is made of hooks has its settings; else none."""
    if spec.made is None or not spec.made.origin.startswith("hooks:"):
        return {}
    return {FOREIGN: msgspec.json.encode(settings.foreign).decode()}


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
    _check_address(settings.base_url, ("base_url",))
    for name, provider in settings.providers.items():
        _check_provider(name, provider, ("providers", name))
    calls = settings.max_model_calls
    if calls is not None and not 1 <= calls <= MOST_MODEL_CALLS:
        why = f"{calls} is out of range: give 1 to {MOST_MODEL_CALLS:,}"
        raise BadKey(("max_model_calls",), why)
    check_timeout_cap(settings.timeout_cap_s, ("timeout_cap_s",))
    _check_limits(settings.limits, ("limits",))
    for name, plugin in settings.plugins.items():
        check_timeout_cap(plugin.timeout_cap_s, ("plugins", name, "timeout_cap_s"))
        check_overrides(plugin.hooks, ("plugins", name, "hooks"))
        _check_limits(plugin.limits, ("plugins", name, "limits"))
    for name, agent in settings.agents.items():
        _check_seconds(agent.idle_s, ("agents", name, "idle_s"), _IDLE_S)
        if agent.watch_transcript_s:
            _check_seconds(
                agent.watch_transcript_s, ("agents", name, "watch_transcript_s"), _WATCH_S
            )

    for name, tool in settings.foreign.tools.items():
        if not tool.get("as") or not all(tool.values()) or len(set(tool.values())) < len(tool):
            why = "it needs `as`, its name in Claude Code, and another name for each argument"
            raise BadKey(("foreign", "tools", name), why)


def _check_seconds(seconds: float, keys: tuple[str, ...], allowed: tuple[float, float]) -> None:
    low, high = allowed
    if not low <= seconds <= high:
        raise BadKey(keys, f"{seconds:g} is out of range: give {low:g} to {high:,g} seconds")


def _check_address(address: str | None, keys: tuple[str, ...]) -> None:
    if address is not None and not address.startswith(("http://", "https://")):
        raise BadKey(keys, "it must begin with http:// or https://")


def _check_provider(name: str, provider: Provider, keys: tuple[str, ...]) -> None:
    if not _PROVIDER_NAME.fullmatch(name) or name == SCRIPTED:
        raise BadKey(
            keys,
            "a provider's name has letters, digits, '.', '_' and '-', at most 64, and is not"
            f" {SCRIPTED}",
        )
    _check_address(provider.base_url, (*keys, "base_url"))
    if "@" in provider.base_url.partition("://")[2].partition("/")[0]:
        raise BadKey(
            (*keys, "base_url"),
            "it holds a login; put the key into a variable, and name that in key_env",
        )
    if provider.key_env is not None and not VARIABLE_NAME.fullmatch(provider.key_env):
        raise BadKey(
            (*keys, "key_env"), "it must be the name of an environment variable, not the key itself"
        )
    if provider.model is not None and not provider.model.strip():
        raise BadKey((*keys, "model"), "it is empty; leave the key out, or name a model")
    if provider.parameters is not None:
        check_plain_data(provider.parameters, (*keys, "parameters"))
        if (why := why_no_parameters(provider.parameters)) is not None:
            raise BadKey((*keys, "parameters"), f"it {why}")


def _check_limits(limits: Limits, keys: tuple[str, ...]) -> None:
    wrong = why_out_of_range(limits)
    if wrong is not None:
        raise BadKey((*keys, wrong[0]), wrong[1])

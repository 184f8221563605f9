"""The plugins that `run` and `chat` start: the installed and enabled ones, then `--plugin`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import trio

from sliphook.errors import HostError
from sliphook.files.edition import edition_of
from sliphook.files.toml import TomlError
from sliphook.host.admission import lacks_in_environment
from sliphook.installed import read_installed
from sliphook.plugin.lifecycle import State
from sliphook.plugin.spec import PluginSpec, PluginStatus
from sliphook.registry import Registered, Registry, RegistryError
from sliphook.registry.executables import state_of
from sliphook.settings import Settings, read_settings, with_settings

from .common import Failed
from .report import says, see_log, why_not_started

if TYPE_CHECKING:
    from sliphook.host.host import PluginHost

__all__ = ["Chosen", "choose", "look_who_is_there", "model_of", "take_up", "user_settings"]


@dataclass(frozen=True)
class Chosen:
    """The plugins to start.

    Attributes:
        tried: the plugins of `--plugin`.
        specs: all plugins, for the host.
        installed: how many of `specs` are installed; they come first.
        problems: a line for the user about each plugin that cannot be started, and about each
            setting for a plugin that is not installed.
        broken: the names of the plugins whose files cannot be read.
    """

    tried: tuple[PluginSpec, ...]
    specs: tuple[PluginSpec, ...]
    installed: int
    problems: tuple[str, ...]
    broken: frozenset[str] = frozenset()


def user_settings() -> Settings:
    """The user's config.toml.

    Raises:
        Failed: it breaks a rule. Nothing is started then: the broken line may belong to a guard.
    """
    try:
        return read_settings()
    except TomlError as error:
        raise Failed(str(error)) from None


def model_of(
    name: str | None, base_url: str | None, settings: Settings
) -> tuple[str | None, str | None]:
    """The model and the address: from the options, else from the settings.

    The two belong together. An address in the options is another server, so the model of the
    settings does not apply to it. A model in the options is on the server of the settings, unless
    its name alone tells the place. A model of a provider is on the provider's server.

    Args:
        name: the value of `--model`, or None.
        base_url: the value of `--base-url`, or None.
        settings: the user's settings.
    """
    from sliphook.agent.models.choice import names_provider, says_where

    if base_url is not None:
        return name, base_url
    if name is not None:
        return name, None if says_where(name, settings.providers) else settings.base_url
    if settings.model is not None and names_provider(settings.model, settings.providers):
        return settings.model, None
    return settings.model, settings.base_url


def choose(tried: Sequence[PluginSpec], settings: Settings) -> Chosen:
    """Read the installed plugins. A broken file costs only its own plugin, and is a problem.

    Args:
        tried: the plugins of `--plugin`. One that is installed and enabled is not started a
            second time.
        settings: the user's settings.
    """
    try:
        return _what_is_installed(tried, settings)
    except RegistryError as error:
        return _with_tried(tried, settings, (), (str(error),))


def _what_is_installed(tried: Sequence[PluginSpec], settings: Settings) -> Chosen:
    there = read_installed(settings)
    return replace(
        _with_tried(tried, settings, there.specs, there.problems),
        broken=frozenset(one.name for one in there.missing),
    )


def _with_tried(
    tried: Sequence[PluginSpec],
    settings: Settings,
    installed: Sequence[PluginSpec],
    problems: tuple[str, ...],
) -> Chosen:
    there = {spec.source for spec in installed}
    others = [spec for spec in tried if spec.source not in there]
    specs = (*installed, *(with_settings(spec, settings) for spec in others))
    return Chosen(tuple(tried), specs, len(installed), problems)


async def take_up(host: PluginHost, start: Chosen, tell: Callable[[str], None]) -> list[str]:
    """Give an open host the plugins that were installed, removed or changed meanwhile.

    The settings for all plugins stay as they were at the start.

    Args:
        host: runs the plugins.
        start: the plugins of the start, with those of `--plugin`.
        tell: shows a line to the user.

    Returns:
        Lines that say what was started, restarted or ended, and what was not and why; none if
            nothing has changed.

    Raises:
        HostError: config.toml breaks a rule, or the file of a running plugin is broken. Nothing is
            changed then: a typing mistake must not remove a guard.
    """
    try:
        # other conversations go on meanwhile, and files may be slow to read
        chosen = await trio.to_thread.run_sync(
            lambda: _what_is_installed(_as_they_are_now(start.tried), user_settings())
        )
        stale = await trio.to_thread.run_sync(_not_trusted)
    except (Failed, RegistryError) as error:
        raise HostError(str(error)) from None
    running = sorted(plugin.name for plugin in host.plugins if plugin.name in chosen.broken)
    if running:
        raise HostError(
            f"{'; '.join(chosen.problems)}; correct it, or: sliphook uninstall {running[0]}"
        )
    for line in chosen.problems:
        tell(line)
    before = host.plugins
    return [*_what_became(before, await host.update(chosen.specs)), *stale]


def _as_they_are_now(tried: Sequence[PluginSpec]) -> tuple[PluginSpec, ...]:
    return tuple(
        replace(spec, edition=edition_of(spec.path)) if spec.edition is not None else spec
        for spec in tried
    )


def _not_trusted() -> list[str]:
    """A line about each installed plugin whose file is not the approved one any more."""
    lines: list[str] = []
    for plugin in Registry().read():
        state, why = state_of(plugin) if isinstance(plugin, Registered) else ("", None)
        if state == "refused":
            lines.append(f"{plugin.name} is not restarted: {why}")
    return lines


def _what_became(before: Sequence[PluginStatus], after: Sequence[PluginStatus]) -> list[str]:
    pids = {plugin.name: plugin.pid for plugin in before}
    lines: list[str] = []
    for plugin in after:
        name, why = says(plugin.name), why_not_started(plugin)
        if plugin.name in pids and plugin.pid == pids.pop(plugin.name):
            continue
        if why is not None:
            lines.append(f"{name} did not start, and does nothing: {says(why)}{see_log(plugin)}")
        else:
            lines.append(
                f"{'re' if plugin.name in {one.name for one in before} else ''}started: {name}"
            )
    return lines + [f"ended: {says(name)}" for name in pids]


def look_who_is_there(host: PluginHost, chosen: Chosen, tell: Callable[[str], None]) -> None:
    """Tell the user about plugins that did not start, or lack what they need.

    The agent goes on without an installed one; if it is a guard, the host denies in its place.

    Args:
        host: has just been opened with the chosen plugins.
        chosen: the plugins to start.
        tell: shows a line to the user.

    Raises:
        Failed: a plugin of `--plugin` did not start.
    """
    for line in chosen.problems:
        tell(line)
    not_there: list[str] = []
    for index, (plugin, spec) in enumerate(zip(host.plugins, chosen.specs, strict=True)):
        lacks = lacks_in_environment(plugin.manifest, spec, plugin.name)
        if lacks is not None:
            tell(f"plugin {says(plugin.name)} {lacks}")
        why = why_not_started(plugin)
        if plugin.state == State.SELF_DISABLED.value:
            # in good order: it has nothing to do here, and the turn goes on without it
            tell(f"plugin {says(plugin.name)} leaves itself out: {says(why or '')}")
        elif why is not None and index < chosen.installed:
            tell(f"plugin {says(plugin.name)} did not start: {says(why)}{see_log(plugin)}")
        elif why is not None:
            not_there.append(
                f"plugin {says(plugin.name)} did not start: {says(why)}{see_log(plugin)}"
            )
    if not_there:
        raise Failed("; ".join(not_there))

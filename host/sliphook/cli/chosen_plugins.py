"""Which plugins `run` and `chat` start: those that are installed and enabled, behind them those of `--plugin`."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import trio

from sliphook.errors import HostError
from sliphook.files.toml import TomlError
from sliphook.plugin.spec import PluginSpec
from sliphook.registry import Registry, RegistryError
from sliphook.settings import Settings, for_nobody, read_settings, with_settings

from .common import Failed
from .report import says, why_not_started

if TYPE_CHECKING:
    from sliphook.host.host import PluginHost

__all__ = ["Chosen", "choose", "look_who_is_there", "model_of", "take_up", "user_settings"]


@dataclass(frozen=True)
class Chosen:
    """What is to be started.

    Attributes:
        tried: executables of `--plugin`.
        specs: all of them, for the host.
        installed: how many of them are installed; they come first.
        problems: what the user should read of those that cannot be started, and of settings for
            plugins that are not there; a line each.
        broken: the names of those whose files cannot be read.
    """

    tried: tuple[Path, ...]
    specs: tuple[PluginSpec, ...]
    installed: int
    problems: tuple[str, ...]
    broken: frozenset[str] = frozenset()


def user_settings() -> Settings:
    """The user's config.toml.

    Raises:
        Failed: it breaks a rule; nothing is done then, as it might be about a guard.
    """
    try:
        return read_settings()
    except TomlError as error:
        raise Failed(str(error)) from None


def model_of(
    name: str | None, base_url: str | None, settings: Settings
) -> tuple[str | None, str | None]:
    """The model and the address: what the options say, else what the settings say.

    The two belong together. An address of the command line is another server, so the model of the
    settings is not meant; a model of the command line is one of the server of the settings, unless
    its name says where it is.

    Args:
        name: of `--model`, or None.
        base_url: of `--base-url`, or None.
        settings: the user's.
    """
    from sliphook.agent.models.choice import says_where

    if base_url is not None:
        return name, base_url
    if name is not None:
        return name, None if says_where(name) else settings.base_url
    return settings.model, settings.base_url


def choose(tried: Sequence[Path], settings: Settings) -> Chosen:
    """Read what is installed now. A file that is broken loses its plugin alone, and is told.

    Args:
        tried: executables of `--plugin`. One that is installed and enabled is not started a second
            time.
        settings: the user's.
    """
    try:
        return _what_is_installed(tried, settings)
    except RegistryError as error:
        return _with_tried(tried, settings, [], (str(error),))


def _what_is_installed(tried: Sequence[Path], settings: Settings) -> Chosen:
    registry = Registry()
    installed, broken = registry.specs(os.environ)
    problems = [f"plugin {says(one.name)} is left out: {one.why}" for one in broken]
    problems += [
        _does_nothing(name, close) for name, close in for_nobody(settings, registry.names()).items()
    ]
    return replace(
        _with_tried(tried, settings, installed, tuple(problems)),
        broken=frozenset(one.name for one in broken),
    )


def _with_tried(
    tried: Sequence[Path],
    settings: Settings,
    installed: Sequence[PluginSpec],
    problems: tuple[str, ...],
) -> Chosen:
    there = {os.path.realpath(spec.path) for spec in installed}
    specs = [with_settings(spec, settings) for spec in installed]
    specs += [PluginSpec(path) for path in tried if os.path.realpath(path) not in there]
    return Chosen(tuple(tried), tuple(specs), len(installed), problems)


def _does_nothing(name: str, close: str | None) -> str:
    hint = f"did you mean {close}?" if close else "`sliphook list` shows what is installed"
    return f"config.toml: plugins.{says(name)} does nothing, as no plugin of that name is installed; {hint}"


async def take_up(host: PluginHost, before: Chosen, tell: Callable[[str], None]) -> None:
    """Have an open host take up what has been installed, removed or changed since.

    What is set for all plugins is as it was at the start.

    Args:
        host: runs the plugins.
        before: what was started, with what `--plugin` named.
        tell: shows the user a line.

    Raises:
        HostError: the user's config.toml breaks a rule, or the file of a plugin that runs is
            broken, and everything is as it was: a slip of the keyboard must not take a guard away.
    """
    try:
        chosen = await trio.to_thread.run_sync(
            lambda: _what_is_installed(before.tried, user_settings())
        )
    except (Failed, RegistryError) as error:
        raise HostError(str(error)) from None
    running = sorted(plugin.name for plugin in host.plugins if plugin.name in chosen.broken)
    if running:
        raise HostError(
            f"{'; '.join(chosen.problems)}; correct it, or: sliphook uninstall {running[0]}"
        )
    for line in chosen.problems:
        tell(line)
    await host.update(chosen.specs)


def look_who_is_there(host: PluginHost, chosen: Chosen, tell: Callable[[str], None]) -> None:
    """Tell of the installed plugins that are not there; the agent goes on without them, and their guards guard.

    Args:
        host: has just been opened with the chosen plugins.
        chosen: what was to be started.
        tell: shows the user a line.

    Raises:
        Failed: one of `--plugin` is not there: it was asked for by name.
    """
    for line in chosen.problems:
        tell(line)
    not_there: list[str] = []
    for index, plugin in enumerate(host.plugins):
        why = why_not_started(plugin)
        if why is not None and index < chosen.installed:
            tell(f"plugin {says(plugin.name)} did not start: {says(why)}")
        elif why is not None:
            not_there.append(f"plugin {says(plugin.name)} did not start: {says(why)}")
    if not_there:
        raise Failed("; ".join(not_there))

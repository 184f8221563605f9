"""Hooks of other agents' configurations: what the user reads and approves of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from .common import Failed, complain
from .report import says

if TYPE_CHECKING:
    from sliphook.adapters.dialects.hosted.handler import Handler
    from sliphook.adapters.foreign.sources import Source
    from sliphook.plugin.spec import PluginSpec
    from sliphook.registry.executables import Executable
    from sliphook.registry.made import Made
    from sliphook.settings import Settings


def hooks_at(given: str) -> Source:
    """The configuration that is meant.

    Raises:
        Failed: it cannot be read, has nothing that can run, or another user could change it.
    """
    from sliphook.adapters.foreign.sources import SourceError, read_source

    try:
        source = read_source(given)
    except SourceError as error:
        raise Failed(f"--hooks: {error}") from None
    if not source.handlers and not source.refused:
        raise Failed(f"--hooks: {says(str(source.path))} has no hooks")
    return source


def made_of(source: Source) -> Made:
    """What is recorded of it: the hash of its hooks, and of each script that they name.

    Raises:
        Failed: a script cannot be read, or another user could change it.
    """
    from sliphook.adapters.foreign.approval import approved_words, scripts
    from sliphook.registry.errors import RegistryError
    from sliphook.registry.made import Made, approve

    try:
        files = approve(scripts(source))
    except RegistryError as error:
        raise Failed(f"--hooks: {error}") from None
    return Made(kind="hooks", words=list(approved_words(source)), files=files)


def hooks_of(given: str) -> PluginSpec:
    """The hooks of a configuration as a plugin that is only tried; what does not run is told.

    Raises:
        Failed: see `hooks_at` and `made_of`.
    """
    from sliphook.plugin.spec import PluginSpec
    from sliphook.settings import foreign_environment

    from .chosen_plugins import user_settings

    settings = user_settings()
    source = hooks_at(given)
    for line in what_does_not_run(source, settings):
        complain(line)
    made = made_of(source)
    spec = PluginSpec(made.program, made=made.by(name_of(source)))
    return replace(spec, env=foreign_environment(spec, settings))


def name_of(source: Source) -> str:
    """A plugin's name for it."""
    from sliphook.adapters.foreign.sources import plugin_name

    return plugin_name(source)


def hooks_again(made: Made) -> tuple[Executable, list[str]]:
    """What approved hooks are now, and what the user reads of them.

    Raises:
        Failed: they cannot be read.
    """
    from sliphook.registry.executables import Executable

    from .chosen_plugins import user_settings

    system, path, _ = made.words
    source = hooks_at(f"{system}:{path}")
    return Executable.of(made_of(source)), lines_of_hooks(source, user_settings())


def lines_of_hooks(source: Source, settings: Settings) -> list[str]:
    """Every hook with its event, matcher, time and rule for failures, and what does not run."""
    title = source.system.title
    return [
        f"{says(str(source.path))}: hooks of {title}",
        f"  if one fails: {source.system.failure}",
        *(line for handler in source.handlers for line in _lines(handler)),
        *(f"  {line}" for line in what_does_not_run(source, settings)),
        "",
    ]


def _lines(handler: Handler) -> Iterator[str]:
    words = [handler.event]
    if handler.matcher:
        words.append(f"on {says(handler.matcher)}")
    if handler.condition:
        words.append(f"if {says(handler.condition)}")
    words.append(f"{handler.timeout_s:g} s")
    if handler.background:
        words.append("in the background")
    if handler.once:
        words.append("once")
    if handler.on_failure == "closed":
        words.append("denies if it fails")
    yield f"  {', '.join(words)}"
    yield f"    {says(handler.what)}"


def what_does_not_run(source: Source, settings: Settings) -> list[str]:
    """A line for each hook that is refused, for each event that never comes, each dead matcher."""
    from sliphook.adapters.foreign.http import why_not_allowed
    from sliphook.adapters.foreign.reach import dead_matchers

    hosts = settings.foreign.http_hosts
    lines = [f"refused: {one.event}, {says(one.what)}: {says(one.why)}" for one in source.refused]
    for handler in source.handlers:
        why = why_not_allowed(handler, hosts)
        if why is not None:
            lines.append(f"refused: {handler.event}, {says(handler.what)}: {says(why)}")
    lines += [f"never comes here: {says(line)}" for line in source.never]
    lines += [f"may never run: {says(line)}" for line in dead_matchers(source, settings)]
    return lines

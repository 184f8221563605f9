"""The examination: read the files, start every enabled plugin, and apply every rule."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import trio

from sliphook.files.toml import TomlError
from sliphook.registry import Broken, Registered, Registry, RegistryError
from sliphook.settings import Settings, read_settings, settings_file, with_settings

from . import agents, files, rules, system
from .finding import Finding, Rule, Scene
from .trial import start_all

if TYPE_CHECKING:
    from sliphook.host.host import PluginHost

_AT_THE_MACHINE: Final[tuple[Rule, ...]] = (
    *files.RULES,
    system.sandbox,
    system.reaper,
    agents.attached,
    agents.hermes,
)


async def examine(
    *,
    agent_tools: Collection[str] = (),
    opened: Callable[[PluginHost], None] = lambda host: None,
) -> list[Finding]:
    """Apply every rule. Starts each enabled plugin once; changes nothing.

    Args:
        agent_tools: the names of the agent's own tools.
        opened: called with the host of the plugins, so that the caller can kill them early.

    Returns:
        The findings, also of what is right. What is wrong raises nothing.
    """
    settings, findings = _settings()
    try:
        read = await trio.to_thread.run_sync(Registry().read)
    except RegistryError as error:
        read = []
        findings.append(Finding(area="plugins", level="problem", about="plugins", what=str(error)))
    scene = Scene(
        plugins=tuple(one for one in read if isinstance(one, Registered)),
        broken=tuple(one for one in read if isinstance(one, Broken)),
        settings=settings,
        agent_tools=frozenset(agent_tools),
        other_agents=await trio.to_thread.run_sync(agents.others, os.environ),
        environ=os.environ,
    )
    about_the_machine: list[Finding] = []
    async with trio.open_nursery() as nursery:
        # Beside the starts, as the trials of the machine take a second or more, too.
        nursery.start_soon(_look, scene, about_the_machine)
        specs = [
            with_settings(plugin.spec(os.environ), settings)
            for plugin in scene.plugins
            if plugin.enabled
        ]
        scene = replace(
            scene,
            started=await start_all(specs, timeout_cap_s=settings.timeout_cap_s, opened=opened),
        )
    return [
        *(finding for rule in rules.RULES for finding in rule(scene)),
        *findings,
        *about_the_machine,
    ]


async def _look(scene: Scene, findings: list[Finding]) -> None:
    for rule in _AT_THE_MACHINE:
        # Abandoned on cancel, so that Ctrl+C does not wait for the trial of the reaper.
        findings += await trio.to_thread.run_sync(_all_of, rule, scene, abandon_on_cancel=True)


def _all_of(rule: Rule, scene: Scene) -> list[Finding]:
    # A rule is a generator: it must also run in the thread, not only be made there.
    return list(rule(scene))


def _settings() -> tuple[Settings, list[Finding]]:
    about = "config.toml"
    try:
        settings = read_settings()
    except TomlError as error:
        do = "correct it; until then sliphook run and chat do not start"
        return Settings(), [
            Finding(area="settings", level="problem", about=about, what=str(error), do=do)
        ]
    where = settings_file()
    what = (
        f"{where} has no unknown key and no wrong value"
        if where.exists()
        else f"there is none, which is fine; its path would be {where}"
    )
    return settings, [Finding(area="settings", level="ok", about=about, what=what)]

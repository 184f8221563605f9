"""Whether attached agents still run our hooks, and the hooks that the plugins need."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

import msgspec

from sliphook.adapters.attached.build import current
from sliphook.adapters.dialects.dialect import Dialect
from sliphook.adapters.dialects.known import DIALECTS
from sliphook.adapters.dialects.subscribed import events_to_write, guarding, unaskable
from sliphook.files.toml import TomlError
from sliphook.quoting import quote
from sliphook.registry import Registered
from sliphook.settings import AgentSettings, Settings
from sliphook_sdk.protocol import Manifest

from .codex_trust import skipped
from .configs import ConfigError, HookLine, config_file, lines, read_config
from .records import Attached, remembered


class Fault(msgspec.Struct, frozen=True):
    """What is not as it should be.

    Attributes:
        level: `problem`: hooks do not run, or a guard is not asked; `note`: it works.
        what: in one line.
        do: what to do, in one line; None if nothing can be done.
    """

    level: Literal["problem", "note"]
    what: str
    do: str | None = None


class Attachment(msgspec.Struct, frozen=True):
    """One configuration with our lines, or that had them.

    Attributes:
        agent: the dialect's name.
        file: the configuration.
        events: the agent's events that our lines hook, in the order of the file.
        faults: what is wrong.
    """

    agent: str
    file: str
    events: tuple[str, ...]
    faults: tuple[Fault, ...]


def wanted_in(agent: str, plugins: Iterable[Registered], settings: Settings) -> list[Registered]:
    """The enabled plugins that run in the agent."""
    wanted = settings.agents.get(agent, AgentSettings()).plugins
    return [one for one in plugins if one.enabled and (wanted is None or one.name in wanted)]


def attachments(plugins: Iterable[Registered], settings: Settings) -> list[Attachment]:
    """Every attached agent. Reads the agents' configurations, starts nothing, raises nothing."""
    installed = list(plugins)
    return [
        Attachment(one.agent, one.file, tuple(dict.fromkeys(found)), tuple(faults))
        for one in _attached()
        for found, faults in [_examined(one, wanted_in(one.agent, installed, settings))]
    ]


def _attached() -> list[Attached]:
    """Those that are remembered, and the user's own files with lines that were written by hand."""
    known = [one for one in remembered() if _root(DIALECTS[one.agent], Path(one.file)).is_dir()]
    for dialect in DIALECTS.values():
        file = config_file(dialect).absolute()
        one = Attached(dialect.name, str(file))
        if one not in known and _has_lines(file):
            known.append(one)
    return known


def _has_lines(file: Path) -> bool:
    try:
        return bool(lines(read_config(file)[1]))
    except ConfigError:
        return False


def _examined(one: Attached, plugins: list[Registered]) -> tuple[list[str], list[Fault]]:
    dialect, file = DIALECTS[one.agent], Path(one.file)
    again = _again(dialect, file)
    try:
        _, document = read_config(file)
    except ConfigError as error:
        return [], [Fault("problem", str(error), again)]
    found = lines(document)
    events = [line.event for line in found]
    if not found:
        what = f"{quote(one.file, 200)} has lost our hooks: no plugin runs in {dialect.title}"
        return events, [Fault("problem", what, f"{again}, or sliphook detach {one.agent}")]
    faults = [
        *_client(dialect, found, [name for plugin in plugins for name in plugin.env], again),
        *_hooks(dialect, found, [plugin.manifest for plugin in plugins], again),
        *_trust(dialect, file, found),
    ]
    switch = dialect.config.switched_off
    if switch is not None and document.get(switch[0]) == switch[1]:
        what = f"{quote(one.file, 200)} switches all hooks off"
        faults.append(Fault("problem", what, f"take {switch[0]} out of it"))
    if not any(shutil.which(program) for program in dialect.programs):
        names = " or ".join(dialect.programs)
        what = f"there is no {names} on PATH: {dialect.title} may be gone"
        faults.append(Fault("note", what, f"if it is: sliphook detach {one.agent}"))
    return events, faults


def _client(
    dialect: Dialect, found: list[HookLine], granted: list[str], again: str
) -> Iterator[Fault]:
    programs = {_program(line): line for line in found}
    for program, line in programs.items():
        runs = os.access(line.words[0], os.X_OK) and os.path.exists(program)
        if not runs:
            what = (
                f"the program of our hooks is gone, {quote(program, 200)}: {dialect.title} goes on"
                " without the plugins, or denies what they guard"
            )
            yield Fault("problem", what, again)
        elif program not in current(granted):
            what = (
                f"the hooks in {dialect.title} run the program of another version of Sliphook, of"
                " another Python, or without a variable that you have granted"
            )
            yield Fault("note", what, again)


def _program(line: HookLine) -> str:
    """The client: the first word, or the script behind the interpreter and its options."""
    at = line.words.index(line.event) if line.event in line.words[2:] else 2
    return line.words[min(at, len(line.words)) - 2]


def _hooks(
    dialect: Dialect, found: list[HookLine], manifests: list[Manifest], again: str
) -> Iterator[Fault]:
    wanted, guards = events_to_write(dialect, manifests), guarding(dialect, manifests)
    there = {line.event for line in found}
    lacks = [event for event in wanted if event not in there]
    unguarded = [event for event in lacks if event in guards]
    if unguarded:
        what = f"{dialect.title} does not run {_listed(unguarded)}, so a guard is not asked"
        yield Fault("problem", what, again)
    elif lacks:
        what = f"plugins have subscribed to more since: {dialect.title} lacks {_listed(lacks)}"
        yield Fault("note", what, again)
    open_guards = [line.event for line in found if line.event in guards and not line.closed]
    if open_guards:
        what = f"{_listed(open_guards)} is let through if no plugin can be asked; a guard wants not"
        yield Fault("problem", what, again)
    more = sorted(there - set(wanted))
    if more or len(found) > len(there):
        what = f"{dialect.title} runs hooks that no plugin needs: {_listed(more or sorted(there))}"
        yield Fault("note", what, again if wanted else f"sliphook detach {dialect.name}")
    for one in unaskable(dialect, manifests):
        yield Fault("note", f"{one.plugin} guards {one.entry}, and is never asked: {one.why}")


def _trust(dialect: Dialect, file: Path, found: list[HookLine]) -> Iterator[Fault]:
    trust = dialect.config.trust_file
    if trust is None:
        return
    try:
        why = skipped(config_file(dialect).parent / trust, file, found)
    except TomlError as error:
        yield Fault("note", f"what {dialect.title} trusts cannot be seen: {error}")
        return
    if why:
        which = "; ".join(
            f"{_listed([event for event in why if why[event] == reason])} {reason}"
            for reason in dict.fromkeys(why.values())
        )
        what = f"{dialect.title} skips hooks without a word: {which}"
        yield Fault("problem", what, f"start {dialect.programs[0]}, and accept them in /hooks")


def _again(dialect: Dialect, file: Path) -> str:
    if file == config_file(dialect).absolute():
        return f"sliphook attach {dialect.name}"
    return f"sliphook attach {dialect.name} --project, in {quote(str(_root(dialect, file)), 200)}"


def _root(dialect: Dialect, file: Path) -> Path:
    """The project's folder, if it is a project's file."""
    return file.parents[len(Path(dialect.config.project or dialect.config.user).parts) - 1]


def _listed(events: list[str]) -> str:
    return ", ".join(events)

"""Whether attached agents still have what was attached, and the hooks that the plugins need."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal, cast

import msgspec

from sliphook.adapters.attached.build import current
from sliphook.adapters.dialects.dialect import Dialect
from sliphook.adapters.dialects.known import DIALECTS
from sliphook.adapters.dialects.subscribed import events_to_write, guarding, unaskable
from sliphook.files.paths import user_home
from sliphook.files.search_path import which
from sliphook.files.toml import TomlError
from sliphook.quoting import quote
from sliphook.registry import Registered
from sliphook.settings import AgentSettings, Settings, with_settings
from sliphook_sdk.protocol import Manifest

from .codex_trust import skipped
from .config_text import ConfigError
from .configs import HookLine, config_file, lines, read_config
from .records import Attached, remembered
from .servers import server_entry, server_file, server_in


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
        server: the configuration with our MCP server, or that had it; None if none is attached.
    """

    agent: str
    file: str
    events: tuple[str, ...]
    faults: tuple[Fault, ...]
    server: str | None = None


def wanted_in(agent: str, plugins: Iterable[Registered], settings: Settings) -> list[Registered]:
    """The enabled plugins that run in the agent, with the user's settings of their hooks."""
    wanted = settings.agents.get(agent, AgentSettings()).plugins
    return [
        msgspec.structs.replace(one, overrides=with_settings(one.spec({}), settings).overrides)
        for one in plugins
        if one.enabled and (wanted is None or one.name in wanted)
    ]


def attachments(plugins: Iterable[Registered], settings: Settings) -> list[Attachment]:
    """Every attached agent. Reads the agents' configurations, starts nothing, raises nothing."""
    try:
        user_home()
    except OSError:  # then no agent has a configuration that is known
        return []
    installed = list(plugins)
    return [
        Attachment(one.agent, one.file, tuple(dict.fromkeys(found)), tuple(faults), one.server)
        for one in _attached()
        for found, faults in [_examined(one, wanted_in(one.agent, installed, settings))]
    ]


def _attached() -> list[Attached]:
    """Those that are remembered, and the user's own files with lines that were written by hand."""
    known = [one for one in remembered() if _root(DIALECTS[one.agent], Path(one.file)).is_dir()]
    for dialect in DIALECTS.values():
        file = str(config_file(dialect).absolute())
        server = server_file(dialect).absolute()
        at = next((at for at, one in enumerate(known) if one.file == file), len(known))
        if at == len(known) and _has_lines(Path(file)):
            known.append(Attached(dialect.name, file))
        if at < len(known) and known[at].server is None and _has_server(dialect, server):
            known[at] = Attached(dialect.name, file, str(server))
    return known


def _has_server(dialect: Dialect, file: Path) -> bool:
    try:
        return server_in(dialect, file) is not None
    except ConfigError:
        return False


def _has_lines(file: Path) -> bool:
    try:
        return bool(lines(read_config(file)[1]))
    except ConfigError:
        return False


def _examined(one: Attached, plugins: list[Registered]) -> tuple[list[str], list[Fault]]:
    events, faults = _hooks_of(one, plugins)
    if one.server is not None:
        dialect, granted = DIALECTS[one.agent], [name for plugin in plugins for name in plugin.env]
        again = _again(dialect, Path(one.file), server=True)
        faults += _server(dialect, Path(one.server), granted, again)
    return events, faults


def _hooks_of(one: Attached, plugins: list[Registered]) -> tuple[list[str], list[Fault]]:
    dialect, file = DIALECTS[one.agent], Path(one.file)
    again = _again(dialect, file, server=one.server is not None)
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
        *_hooks(dialect, found, [plugin.subscribed for plugin in plugins], again),
        *_trust(dialect, file, found),
    ]
    switch = dialect.config.switched_off
    if switch is not None and document.get(switch[0]) == switch[1]:
        what = f"{quote(one.file, 200)} switches all hooks off"
        faults.append(Fault("problem", what, f"take {switch[0]} out of it"))
    if not any(which(program) for program in dialect.programs):
        names = " or ".join(dialect.programs)
        what = f"there is no {names} on PATH: {dialect.title} may be gone"
        faults.append(Fault("note", what, f"if it is: sliphook detach {one.agent}"))
    return events, faults


def _client(
    dialect: Dialect, found: list[HookLine], granted: list[str], again: str
) -> Iterator[Fault]:
    programs = {_program(line): line for line in found}
    for program, line in programs.items():
        if not (_runs(line.words[0]) and os.path.exists(program)):
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


def _server(dialect: Dialect, file: Path, granted: list[str], again: str) -> Iterator[Fault]:
    try:
        entry = server_in(dialect, file)
    except ConfigError as error:
        yield Fault("problem", f"our MCP server is not in {dialect.title}: {error}", again)
        return
    if entry is None:
        what = (
            f"{quote(str(file), 200)} has lost our MCP server: {dialect.title} has no tools of the"
            " plugins"
        )
        yield Fault("problem", what, f"{again}, or sliphook detach {dialect.name}")
        return
    command, variables = str(entry.get("command")), dialect.server.variables
    wanted = server_entry(dialect, granted)
    if not _runs(command):
        what = f"the program of our MCP server in {dialect.title} is gone, {quote(command, 200)}"
        yield Fault("problem", what, again)
    elif any(entry.get(key) != wanted[key] for key in wanted if key != variables):
        what = f"our MCP server in {dialect.title} is not as attach writes it"
        yield Fault("note", what, again)
    if variables is not None and not _has_all(entry.get(variables), wanted[variables]):
        what = f"our MCP server in {dialect.title} lacks a variable that you have granted"
        yield Fault("problem", what, again)
    if importlib.util.find_spec("mcp") is None:
        what = f"our MCP server in {dialect.title} needs the extra mcp, which is not installed"
        yield Fault("problem", what, "pip install 'sliphook[mcp]'")


def _runs(program: str) -> bool:
    """Whether it is a program; no file has a name with a NUL or half a character."""
    try:
        return os.access(program, os.X_OK)
    except ValueError:
        return False


def _has_all(given: object, wanted: list[str]) -> bool:
    names = cast("list[object]", given) if isinstance(given, list) else []
    return all(name in names for name in wanted)


def _again(dialect: Dialect, file: Path, *, server: bool) -> str:
    command = f"sliphook attach {dialect.name}{' --mcp' if server else ''}"
    if file == config_file(dialect).absolute():
        return command
    return f"{command} --project, in {quote(str(_root(dialect, file)), 200)}"


def _root(dialect: Dialect, file: Path) -> Path:
    """The project's folder, if it is a project's file."""
    return file.parents[len(Path(dialect.config.project or dialect.config.user).parts) - 1]


def _listed(events: list[str]) -> str:
    return ", ".join(events)

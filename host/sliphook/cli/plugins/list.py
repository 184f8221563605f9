"""`sliphook list`: the installed plugins, and those on PATH."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click
import msgspec

from sliphook.cli.colours import coloured
from sliphook.cli.common import EXIT_OK, json_option, print_json
from sliphook.cli.report import says

from .options import masked, registry_errors

_COLOURS: Final = {
    "enabled": "green",
    "disabled": "bright_black",
    "refused": "red",
    "broken": "red",
}

if TYPE_CHECKING:
    from sliphook.adapters.attachments.examine import Attachment
    from sliphook.registry import Broken, Registered


@click.command("list")
@click.option(
    "--available",
    "show_available",
    is_flag=True,
    help="Show the plugins on PATH that could be installed by NAME.",
)
@json_option
def command(show_available: bool, as_json: bool) -> int:
    """List the installed plugins in their order: state, hooks, tools, grants. Starts nothing.

    Behind them, the agents that they are attached to.
    """
    if show_available:
        return _available(as_json)
    from sliphook.registry import Registered, Registry

    with registry_errors():
        found = Registry().read()
    rows = [describe(one) if isinstance(one, Registered) else _broken(one) for one in found]
    agents = _attached([one for one in found if isinstance(one, Registered)])
    if as_json:
        print_json({"plugins": rows, "agents": agents})
        return EXIT_OK
    if not rows:
        click.echo(
            "no plugin is installed; `sliphook install PATH` does that,"
            " `sliphook list --available` shows some"
        )
    else:
        click.echo("\n".join(line for row in rows for line in _lines(row)))
    for agent in agents:
        click.echo("\n".join(_agent_lines(agent)))
    return EXIT_OK


def _attached(plugins: list[Registered]) -> list[Attachment]:
    from sliphook.adapters.attachments.examine import attachments
    from sliphook.files.toml import TomlError
    from sliphook.settings import Settings, read_settings

    try:
        settings = read_settings()
    except TomlError:
        settings = Settings()  # `sliphook doctor` says what is wrong with them
    return attachments(plugins, settings)


def _agent_lines(agent: Attachment) -> list[str]:
    lines = [f"  in {agent.agent}  {says(agent.file)}"]
    if agent.events:
        lines.append(f"     {'hooks':<9} {says(', '.join(agent.events))}")
    if agent.server is not None:
        lines.append(f"     {'server':<9} {says(agent.server)}")
    for fault in agent.faults:
        lines.append(f"     {fault.level:<9} {says(fault.what)}")
        if fault.do is not None:
            lines.append(f"     {'':<9} do: {says(fault.do)}")
    return lines


def describe(plugin: Registered) -> dict[str, Any]:
    """One installed plugin as a row of JSON, without its secrets."""
    from sliphook.plugin.overrides import recorded_manifest
    from sliphook.plugin.secrets import secret_values
    from sliphook.registry.executables import state_of

    state, why = state_of(plugin)
    spec = plugin.spec({})
    read, broken = recorded_manifest(spec)
    hooks = [
        {
            "event": name,
            "mode": route.mode,
            "on_failure": route.on_failure,
            "priority": route.priority,
            "replaces": route.replaces,
        }
        for name, routes in (read.routes.items() if read is not None else ())
        for route in routes
    ]
    manifest = plugin.manifest
    return {
        "name": plugin.name,
        "state": "broken" if broken is not None else state,
        "why": broken or why,
        "order": plugin.order,
        "version": manifest.version,
        "description": manifest.description,
        "path": str(plugin.path),
        "sha256": plugin.recorded.sha256,
        "made": plugin.recorded.made,
        "interpreter": plugin.recorded.interpreter,
        "installed": plugin.recorded.installed.isoformat(),
        "hooks": hooks,
        "tools": [tool.name for tool in manifest.tools or ()],
        "commands": [one.name for one in manifest.commands or ()],
        "uses": sorted(manifest.uses or ()),
        "grants": sorted(plugin.grants),
        "env": list(plugin.env),
        "servers": list(plugin.servers),
        "timeout_cap_s": plugin.timeout_cap_s,
        "sandbox": plugin.sandbox,
        "pin": plugin.pin,
        "config": masked(plugin.config, frozenset(secret_values(spec, manifest))),
        "overrides": {
            name: msgspec.structs.asdict(override) for name, override in plugin.overrides.items()
        },
    }


def _broken(broken: Broken) -> dict[str, Any]:
    return {"name": broken.name, "state": "broken", "why": broken.why, "file": str(broken.file)}


def _lines(row: dict[str, Any]) -> list[str]:
    head = (
        f"{row.get('order', '-'):>3}  {row['name']}  {says(row.get('version') or '')}".rstrip()
        + f"  {coloured(row['state'], _COLOURS.get(row['state']))}"
    )
    lines = [head]
    if row["why"]:
        lines.append(f"     {says(row['why'])}")
    if "path" in row:
        hooks = ", ".join(dict.fromkeys(_hook(hook) for hook in row["hooks"]))
        shown = {
            "path": row["path"] if row["made"] is None else row["made"].shown,
            "hooks": hooks,
            "tools": ", ".join(row["tools"]),
            "commands": ", ".join(f"/{one}" for one in row["commands"]),
            "grants": ", ".join([*row["grants"], *(f"${name}" for name in row["env"])]),
            "servers": ", ".join(row["servers"]),
            "lacks": _lacks(row),
        }
        lines += [f"     {what:<9} {says(text)}" for what, text in shown.items() if text]
    return lines


def _lacks(row: dict[str, Any]) -> str:
    """What the plugin wants and is not granted, with the command that grants it."""
    lacks = [use for use in row["uses"] if use not in row["grants"]]
    if not lacks:
        return ""
    options = " ".join(f"--grant {use}" for use in lacks)
    return f"{', '.join(lacks)}; to grant it: sliphook config {row['name']} {options}"


def _hook(hook: dict[str, Any]) -> str:
    notes = [
        note
        for note, holds in (
            ("told", hook["mode"] == "event"),
            ("closed", hook["on_failure"] == "closed" and hook["mode"] == "hook"),
            ("replaces", hook["replaces"]),
            (f"priority {hook['priority']}", hook["priority"]),
        )
        if holds
    ]
    return f"{hook['event']} ({', '.join(notes)})" if notes else str(hook["event"])


def _available(as_json: bool) -> int:
    from sliphook.registry import Registered, Registry
    from sliphook.registry.executables import available

    with registry_errors():
        paths = {one.path for one in Registry().read() if isinstance(one, Registered)}
    rows = [
        {"name": name, "path": str(path), "installed": path.resolve() in paths}
        for name, path in available().items()
    ]
    if as_json:
        print_json({"available": rows})
    elif not rows:
        click.echo("no executable on PATH is called sliphook-plugin-NAME")
    else:
        width = max(len(str(row["name"])) for row in rows)
        for row in rows:
            note = "  (installed)" if row["installed"] else ""
            click.echo(f"{row['name']:<{width}}  {says(str(row['path']))}{note}")
    return EXIT_OK

"""`sliphook doctor`: finds problems, and says what to do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import click
import trio

from .colours import coloured
from .common import EXIT_FAILED, EXIT_OK, json_option, print_json

if TYPE_CHECKING:
    from sliphook.doctor import Finding
    from sliphook.host.host import PluginHost

_WORDS: Final = {"ok": "ok", "note": "note", "problem": "PROBLEM"}
_COLOURS: Final = {"ok": "green", "note": "yellow", "problem": "red"}
_ABOUT_CHARS: Final = 20


@click.command("doctor")
@json_option
def command(as_json: bool) -> int:
    """Find problems of the installed plugins, the settings and this machine, and what to do.

    Starts every enabled plugin once, all at the same time, and ends it again. It changes nothing,
    and may run while agents run.

    `--json` prints {"ok", "findings": [{"area", "level", "about", "what", "do"}]}; the level is ok,
    note or problem. Exit status: 0 there is no problem, 1 there is one.
    """
    from sliphook.agent.loop import RESERVED_TOOLS
    from sliphook.doctor import examine

    from .running import Interruptible, run_trio

    async def doctor(running: Interruptible) -> int:
        def opened(host: PluginHost) -> None:
            running.host = host

        found = await examine(agent_tools=RESERVED_TOOLS, opened=opened)
        findings = [*found, *await trio.to_thread.run_sync(_of_hooks)]
        problems = sum(finding.level == "problem" for finding in findings)
        if as_json:
            print_json({"ok": not problems, "findings": findings})
        else:
            click.echo(_page(findings))
        return EXIT_FAILED if problems else EXIT_OK

    return run_trio(doctor)


def _of_hooks() -> list[Finding]:
    """What of installed hooks of other agents does not run here."""
    from sliphook.doctor import Finding
    from sliphook.registry import Registered, Registry, RegistryError
    from sliphook.settings import SettingsError, read_settings

    from .common import Failed
    from .foreign_hooks import hooks_at, what_does_not_run

    findings: list[Finding] = []
    try:
        settings, plugins = read_settings(), Registry().read()
    except (RegistryError, SettingsError):
        return []  # other findings say so
    for plugin in plugins:
        if not isinstance(plugin, Registered) or plugin.recorded.made is None:
            continue
        if plugin.recorded.made.kind != "hooks" or not plugin.enabled:
            continue
        system, path, _ = plugin.recorded.made.words
        try:
            lines = what_does_not_run(hooks_at(f"{system}:{path}"), settings)
        except Failed as error:
            lines = [error.message]
        findings += [
            Finding(area="plugins", level="note", about=plugin.name, what=line) for line in lines
        ]
    return findings


def _page(findings: Sequence[Finding]) -> str:
    """All findings by area, and below each bad one what to do."""
    from .report import says

    width = min(max((len(says(finding.about)) for finding in findings), default=0), _ABOUT_CHARS)
    lines: list[str] = []
    for area in dict.fromkeys(finding.area for finding in findings):
        lines.append(coloured(area, "white", bold=True))
        for finding in findings:
            if finding.area == area:
                word = coloured(f"{_WORDS[finding.level]:7}", _COLOURS[finding.level])
                lines.append(f"  {word}  {says(finding.about):{width}}  {says(finding.what)}")
                if finding.do is not None:
                    lines.append(f"  {'':7}  {'':{width}}  do: {says(finding.do)}")
    counts = [sum(finding.level == level for finding in findings) for level in ("problem", "note")]
    lines.append(f"{_count(counts[0], 'problem')}, {_count(counts[1], 'note')}")
    return "\n".join(lines)


def _count(number: int, word: str) -> str:
    return f"{number or 'no'} {word}{'' if number == 1 else 's'}"

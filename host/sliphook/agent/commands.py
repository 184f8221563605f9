"""Slash commands: `/help`, and those of the plugins."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from sliphook.quoting import quote
from sliphook_sdk.protocol import NAME_PATTERNS

if TYPE_CHECKING:
    from sliphook.host import PluginHost
    from sliphook.session import Session

_SLASH: Final = re.compile(rf"/({NAME_PATTERNS['command']})(?:\s+(.*))?", re.DOTALL)
_LINE_CHARS: Final = 2_000


async def run_slash(host: PluginHost, session: Session, text: str) -> str | None:
    """Run what the user typed, if it is a slash command.

    Returns:
        What the user reads, each line safe for a terminal; None where the text is no command but a message.

    Raises:
        HostError: there is no such command, or its plugin failed; str() is one line.
    """
    typed = _SLASH.fullmatch(text.strip())
    if typed is None:
        return None
    name, arguments = typed[1], (typed[2] or "").strip()
    if name == "help":
        return help_text(host)
    said = await session.run_command(name, arguments)
    return "\n".join(quote(line, _LINE_CHARS) for line in said.splitlines())


def help_text(host: PluginHost) -> str:
    """The commands that there are, one a line, those of plugins with the plugin's name."""
    lines = ["/help  these commands"]
    for offer in sorted(host.commands(), key=lambda offer: offer.name):
        lines.append(f"/{offer.name}  {quote(offer.description, 100)}{' ' if offer.description else ''}({offer.plugin})")
    return "\n".join(lines)

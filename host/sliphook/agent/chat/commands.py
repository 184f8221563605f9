"""Slash commands: the agent's own and those of the plugins."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from sliphook.errors import HostError
from sliphook.quoting import quote
from sliphook_sdk.protocol import NAME_PATTERNS, nearest

from .columns import columns

if TYPE_CHECKING:
    from sliphook.host.host import PluginHost
    from sliphook.session.session import Session

COMMANDS: Final = {
    "help": "these commands",
    "stop": "interrupt the turn, and drop the messages that wait",
    "new": "begin a new session, which remembers nothing of this one",
    "reset": "the same as /new",
    "plugins": "the plugins, and how they are",
    "model": "the models, and which one answers; /model NAME takes another",
}
"""The commands of a gateway, each with what it does.

Give them to the host as `reserved_commands`, so that no plugin can take one.
"""

RELOAD: Final = {"plugins reload": "take up what was installed, removed or changed"}
"""The command of an agent whose plugins may change while it runs."""

LEAVING: Final = {"quit": "leave", "exit": "the same as /quit"}
"""The commands of a program that the user can leave."""

ONE_PROMPT: Final = {name: COMMANDS[name] for name in ("help", "plugins", "model")}
"""The commands that have a meaning for a single prompt."""

_SLASH: Final = re.compile(rf"/({NAME_PATTERNS['command']})(?:\s+(.*))?", re.DOTALL)
_LINE_CHARS: Final = 2_000
_MAX_LINES: Final = 500
"""The longest reply of a plugin: it is meant for a screen, not for a file."""
_MAX_CHARS: Final = 100_000
"""To quote so many takes 10 ms."""


class Slash(NamedTuple):
    """A slash command as the user typed it.

    Attributes:
        name: the name without the slash.
        arguments: the text behind the name, stripped.
    """

    name: str
    arguments: str


def parse_slash(text: str) -> Slash | None:
    """The text as a command; None if it is a message, such as one that begins with a path."""
    typed = _SLASH.fullmatch(text.strip())
    return Slash(typed[1], (typed[2] or "").strip()) if typed is not None else None


async def run_slash(
    host: PluginHost,
    session: Session,
    slash: Slash,
    own: Mapping[str, str] = ONE_PROMPT,
    reload: Callable[[], Awaitable[object]] | None = None,
) -> str:
    """Run a command that does not change the conversation: `/help`, `/plugins` or a plugin's.

    Args:
        host: the plugins.
        session: a plugin's command runs in it.
        slash: the command.
        own: the agent's own commands, for `/help`.
        reload: takes up other plugins, for `/plugins reload`; it may return False if none has
            changed. None if the program's plugins do not change.

    Returns:
        The text for the user; every line is safe for a terminal.

    Raises:
        HostError: there is no such command, or its plugin failed; `str()` is one line.
    """
    if slash.name == "help":
        return help_text(host, own)
    if slash.name == "plugins":
        if slash.arguments == "reload" and reload is not None:
            nothing = "nothing has changed\n" if await reload() is False else ""
            return nothing + plugins_text(host)
        elif slash.arguments:
            more = ", and nothing goes behind it" if reload is None else " and /plugins reload"
            raise HostError(f"there is /plugins{more}")
        return plugins_text(host)
    names = {*own, *(offer.name for offer in host.commands())}
    near = nearest(slash.name, sorted(names)) if slash.name not in names else None
    if near is not None:
        raise HostError(f"there is no command /{slash.name}; did you mean /{near}?")
    return _harmless(await session.run_command(slash.name, slash.arguments))


def _harmless(text: str) -> str:
    """A plugin's text without control characters, and cut so that it cannot fill the terminal."""
    whole = text.removesuffix("\n")
    seen = whole[:_MAX_CHARS]
    # line by line: `quote` would escape the line breaks of the whole
    lines = seen.split("\n", _MAX_LINES)[:_MAX_LINES]
    shown = [quote(line.removesuffix("\r"), _LINE_CHARS) for line in lines]
    more = whole.count("\n") + 1 - len(lines)
    if more:
        shown.append(f"… and {more:,} more lines")
    elif len(seen) < len(whole):
        shown.append("…")
    return "\n".join(shown)


def help_text(host: PluginHost, own: Mapping[str, str]) -> str:
    """All commands, one on a line; those of plugins with the plugin's name."""
    rows = list(own.items())
    for offer in sorted(host.commands(), key=lambda offer: offer.name):
        does = f"{quote(offer.description, 100)} ({offer.plugin})".lstrip()
        rows.append((offer.name, does))
    return columns((f"/{name}", does) for name, does in rows)


def plugins_text(host: PluginHost) -> str:
    """The plugins, one on a line: the name, the state, and why it is not ready."""
    rows = (
        (
            quote(plugin.name, 64),
            f"{plugin.state}{f': {quote(plugin.why, 300)}' if plugin.why else ''}",
        )
        for plugin in host.plugins
    )
    return columns(rows) or "there are no plugins"

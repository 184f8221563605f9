"""Pure: the MCP servers in the settings of other agents.

`mcpServers` of Claude Code and Cursor, `servers` of VS Code (JSON with comments), and
`[mcp_servers.NAME]` of Codex (TOML); a plugin of Claude Code may name its servers without
`mcpServers`. The value of a variable that looks like a secret, or that the file takes from
elsewhere, is not recorded: the user has to grant the variable. A server with what looks like one in
its command or its address is left out.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple, cast

from sliphook_sdk.protocol import why_no_plugin_name
from sliphook_sdk.protocol.limits import MAX_TIMEOUT_S

from .secret_looks import behind_what, looks_secret

MOST_SERVERS: Final = 100
_TOKEN: Final = re.compile(
    # what does not end is one token, too: else it were looked for from each of its characters
    r'"(?:[^"\\]|\\.)*+"?|//[^\n]*|/\*.*?(?:\*/|\Z)|,(?=\s*[}\]])',
    re.DOTALL,
)
_TAKEN: Final = re.compile(r"\$\{(?:env:)?([^}]*)\}")
_BEARER: Final = re.compile(r"Bearer \$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)\}")
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_FOLDERS: Final = ("workspaceRoot", "CLAUDE_PROJECT_DIR", "CLAUDE_PLUGIN_ROOT")


class FoundServer(NamedTuple):
    """One server of such a file.

    Attributes:
        name: the plugin's name: the server's there, made to fit.
        words: as `--mcp` takes them; empty if it cannot be installed.
        variables: what the user has to set and to grant.
        timeout_s: seconds that a call may take, if the file says so.
        why_not: why it cannot be installed, in a line; None if it can.
    """

    name: str
    words: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    timeout_s: float | None = None
    why_not: str | None = None


class _Unfit(Exception):
    """The server cannot be installed. str() is the reason, in a line."""


def servers_in(
    text: str, *, is_toml: bool, folder: str, environ: Mapping[str, str]
) -> list[FoundServer]:
    """The servers of a file, in its order.

    Args:
        text: the file's content.
        is_toml: it is no JSON.
        folder: the project, for `${workspaceFolder}` and for the projects of Claude Code.
        environ: for variables in a command.

    Raises:
        ValueError: it cannot be read, or has no servers. str() is one line.
    """
    text = text.removeprefix("\ufeff")
    try:
        whole: Any = tomllib.loads(text) if is_toml else json.loads(_plain(text))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"it cannot be read: {error}") from None
    found = dict(_entries(whole, folder)) or ({} if is_toml else _at_once(whole))
    if not found:
        raise ValueError("it names no server in mcpServers, servers or mcp_servers")
    return [
        _found(name, entry, {**environ, "workspaceFolder": folder})
        for name, entry in list(found.items())[:MOST_SERVERS]
    ]


def _plain(text: str) -> str:
    """JSON without the comments and the last commas that VS Code allows."""
    return _TOKEN.sub(lambda token: token[0] if token[0].startswith('"') else "", text)


def _entries(whole: Any, folder: str) -> Iterator[tuple[str, Any]]:
    project = _table(_table(_table(whole).get("projects")).get(folder))
    for table in (whole, project, _table(whole).get("mcp")):
        for key in ("mcpServers", "servers", "mcp_servers"):
            yield from _table(_table(table).get(key)).items()


def _at_once(whole: Any) -> dict[str, Any]:
    found = _table(whole).items()
    return {name: one for name, one in found if {"command", "url"} & _table(one).keys()}


def _table(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _found(given: str, entry: Any, environ: Mapping[str, str]) -> FoundServer:
    name = re.sub(r"[^a-z0-9_-]+", "-", given.lower()).strip("-_")[:50] or "server"
    name = name if why_no_plugin_name(name) is None else f"{name}-server"
    server = _table(entry)
    try:
        _check(server)
        address = server.get("url", server.get("httpUrl"))
        if address is not None:
            words, variables = _elsewhere(str(address), server)
        else:
            words, variables = _command(server, environ)
    except _Unfit as error:
        return FoundServer(name, why_not=str(error))
    return FoundServer(name, words, variables, _timeout_s(server.get("tool_timeout_sec")))


def _timeout_s(given: Any) -> float | None:
    if isinstance(given, bool) or not isinstance(given, int | float) or not given > 0:
        return None
    return min(given, MAX_TIMEOUT_S)


def _check(server: dict[str, Any]) -> None:
    if server.get("disabled") is True or server.get("enabled") is False:
        raise _Unfit("it is disabled there")
    if server.get("type") == "sse" or server.get("transport") == "sse":
        raise _Unfit("it speaks the old SSE; here servers elsewhere speak streamable HTTP")
    if server.get("headersHelper"):
        raise _Unfit("its headersHelper cannot be run")
    for key in ("cwd", "envFile"):
        if server.get(key):
            raise _Unfit(f"its {key} cannot be kept; write a script that does that, and install it")


def _elsewhere(address: str, server: dict[str, Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if _takes(address):
        raise _Unfit("its url has a variable in it")
    _refuse_secrets([address], "url")
    headers = {**_table(server.get("headers")), **_table(server.get("http_headers"))}
    variable = server.get("bearer_token_env_var")
    for header, value in headers.items():
        token = _BEARER.fullmatch(str(value)) if header.lower() == "authorization" else None
        if token is None:
            raise _Unfit(
                f"its header {header} cannot be sent; a token can: put it into a variable,"
                f" and run: sliphook install --mcp NAME -- {address} VARIABLE"
            )
        variable = token[1]
    if server.get("env_http_headers"):
        raise _Unfit("its env_http_headers cannot be sent")
    if variable is None:
        return (address,), ()
    return (address, str(variable)), (str(variable),)


def _command(
    server: dict[str, Any], environ: Mapping[str, str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    arguments: Any = server.get("args", [])
    if not isinstance(server.get("command"), str) or not isinstance(arguments, list):
        raise _Unfit("it has no command and no url")
    words = [server["command"], *map(_text, cast("list[object]", arguments))]
    own: list[str] = []
    named = server.get("env_vars")
    variables = list(map(str, cast("list[object]", named))) if isinstance(named, list) else []
    for name, given in _table(server.get("env")).items():
        if not _VARIABLE.fullmatch(name):
            raise _Unfit(f"its variable {name} cannot be set: that is no name of one")
        value = _text(given)
        if _takes(value) or looks_secret(name, value):
            variables.append(name)
        elif given is not None:
            own.append(f"{name}={value}")
    said = [_filled(word, environ) for word in words]
    _refuse_secrets(said, "command")
    return (*own, *said), tuple(dict.fromkeys(variables))


def _takes(text: str) -> bool:
    """Whether a variable stands in it."""
    return _TAKEN.search(text, 0, text.rfind("}") + 1) is not None


def _filled(text: str, environ: Mapping[str, str]) -> str:
    # behind the last bracket each `${` would be searched to the end
    end = text.rfind("}") + 1
    return _TAKEN.sub(lambda one: _value(one[1], environ), text[:end]) + text[end:]


def _value(name: str, environ: Mapping[str, str]) -> str:
    """What stands for `${NAME}` or `${NAME:-DEFAULT}` in a command."""
    name, has_default, default = name.partition(":-")
    name = "HOME" if name == "userHome" else "workspaceFolder" if name in _FOLDERS else name
    value = environ.get(name, default if has_default else None)
    if value is None or looks_secret(name, value):
        raise _Unfit(f"its command needs ${{{name}}}, which is not there or a secret")
    return value


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _refuse_secrets(words: Iterable[str], where: str) -> None:
    behind = behind_what(" ".join(words))
    if behind is not None:
        raise _Unfit(
            f"a secret stands behind {behind[:40]} in its {where}, and would be recorded; if"
            " the server takes a variable for it, run: sliphook install --mcp NAME"
            " --env VARIABLE -- COMMAND"
        )

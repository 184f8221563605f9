"""What looks into texts of others takes time by their length, however they are made."""

from __future__ import annotations

import json
import pkgutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sliphook.adapters.attachments.servers import with_server, without_server
from sliphook.adapters.dialects.known import DIALECTS
from sliphook.adapters.foreign.approval import scripts
from sliphook.adapters.foreign.conditions import holds
from sliphook.adapters.foreign.sources import read_source
from sliphook.adapters.mcp.configs import servers_in
from sliphook.adapters.mcp.secret_looks import behind_what, looks_secret
from sliphook.adapters.mcp.transports.bounds import whole_characters
from sliphook.check.replay.differences import values_differ
from sliphook.doctor.agents import others
from sliphook.process.diagnosis import advice_for, last_words
from sliphook.quoting import quote, visible, visible_json
from sliphook.schemas.providers import blamed_tool
from sliphook.trace.redact import REDACTED

CHARACTERS = 32_000
MOST_S = 1.0
"""Of processor time. Each takes 2 to 60 ms, and by the square of the length it took 1 to 9 s."""

Look = Callable[[str, Path], object]


def _of_servers(server: dict[str, Any]) -> None:
    text = json.dumps({"mcpServers": {"a": server}})
    servers_in(text, is_toml=False, folder="/srv", environ={})


def _broken_servers(text: str, _: Path) -> None:
    with pytest.raises(ValueError, match="cannot be read"):
        servers_in(text, is_toml=False, folder="/srv", environ={})


def _of_hook(command: str, folder: Path) -> None:
    path = folder / ".claude" / "settings.json"
    path.parent.mkdir(exist_ok=True)
    hooks = [{"hooks": [{"type": "command", "command": command}]}]
    path.write_text(json.dumps({"hooks": {"Stop": hooks}}))
    source = read_source(str(path))
    assert len(source.handlers) == 1
    scripts(source)


def _of_folder(text: str, folder: Path) -> None:
    inside = folder / ".claude" / str(len(text))
    inside.mkdir(parents=True, exist_ok=True)
    files = len(text) // 500
    for number in range(files):
        commands = [{"type": "command", "command": f"{number}-{at}"} for at in range(100)]
        (inside / f"{number}.json").write_text(
            json.dumps({"hooks": {"Stop": [{"hooks": commands}]}})
        )
    assert len(read_source(str(inside), "claude-code").handlers) == 100 * files


def _of_toml(text: str, folder: Path) -> None:
    ours = with_server(DIALECTS["codex"], folder / "config.toml", "")
    whole = f"{ours.rstrip()}\n{text}\nz = 1\n"
    assert not without_server(DIALECTS["codex"], folder / "config.toml", whole)


def _of_hermes(text: str, folder: Path) -> None:
    (folder / "plugins" / "sliphook").mkdir(parents=True, exist_ok=True)
    (folder / "config.yaml").write_text(f"plugins:\n{text}")
    others({"HERMES_HOME": str(folder)})


COMMANDS = ("1", "1&", "> ", ">", ">'", '>"a', '"', "'", "\\", "${", "$a", "a", "a ", "../", "a/")
SECRETS = (
    "a", "aA1", "://", "a://b:", "a://b:c", "key=", "--token ", "authorization: ", "bearer ", "key=a-",
    "eyJ", "sk-", "@sha256:", "=", "a1-", "/", "//a", ".json",
)  # fmt: skip
LOOKS: list[tuple[Look, tuple[str, ...]]] = [
    (_of_hook, COMMANDS),
    (_of_folder, ("x",)),
    (lambda text, _: holds(f"Bash({text})", "Bash", {"command": text}), ("*", "a*", "&", "&& ")),
    (_of_toml, ("#\r\n", "\r\n", " \n", "# [a]\n", "#\n\n", " \t\n")),
    (_of_hermes, ("  enabled: [\n", "  enabled:\n  -\n", " \n", "#\n", "- a\n", "plugins:\n")),
    (_broken_servers, ('"\\"', '"a', "/* ", "/*", "// ", ", ", '"', "[,")),
    (lambda text, _: _of_servers({"command": "a", "args": [text]}), ("${", "${a", "${env:", *SECRETS)),
    (lambda text, _: _of_servers({"command": "a", "env": {"A": text}}), ("${", "${a", *SECRETS)),
    (lambda text, _: _of_servers({"url": f"https://a/{text}"}), ("${", "${a", *SECRETS)),
    (lambda text, _: behind_what(text), SECRETS),
    (lambda text, _: looks_secret(text, text), SECRETS),
    (lambda text, _: list(values_differ("x", f"{REDACTED}a" * 9 + "b", text)), ("a", "ab", "\n")),
    (lambda text, _: list(values_differ("x", f"{text}{REDACTED}{text}", text)), ("a", "ab")),
    (lambda text, _: list(values_differ("x", f"{REDACTED}a" * len(text), text)), ("a", "ab")),
    (lambda text, _: last_words([*text.split("|"), "Node.js v22"]), (
        " at (", "| at /a:1:1", "| at /a", "|/a:1", "|x", "1", "(",
    )),
    (lambda text, _: last_words([*text.split("|"), "E"]), ('|  File "/a', '|  File "/a", line 1')),
    (lambda text, _: last_words([f'  File "/{text}", line 1', "E"]), ("lib/python3.1/", "/lib", "3.")),
    (lambda text, _: advice_for(text), ("/dev/fd/", "No module named '", "Cannot find package '")),
    (lambda text, _: blamed_tool(text, ["a"]), ("tools[1", "tools.", "`a", "'tool", "1")),
    (lambda text, _: whole_characters(text.encode()), ("\\ud83d", "\\ude00", "\\", "\\u")),
    (lambda text, _: (quote(text), visible(text), visible_json(text)), ("\x1b", "\t", "a\u202e")),
]  # fmt: skip
PATTERNS = {
    "sliphook.adapters.dialects.copilot:_EXIT_CODE": ("exit code 1", "exit code 1> ", " ", "1"),
    "sliphook.adapters.dialects.gemini:_FAILED": ("Exit Code: ", "\n"),
    "sliphook.agent.chat.commands:_SLASH": ("/a ", "/a", " "),
    "sliphook.agent.models.bounded.written:_ESCAPES": ("\\ud83d", "\\ud83d\\ude00", "\\u"),
    "sliphook.agent.models.scripted:_DIRECTIVE": ("TOOL ", "TOOL a", "call a"),
    "sliphook.adapters.attachments.config_text:SERVER_MARK": ('"sliphook",', '"sliphook", ', " "),
    "sliphook.adapters.foreign.commands:_OF_ENVIRONMENT": ("${env.", "${env.a", "a"),
    "sliphook.schemas.patterns:_NO_CASE": ("(?", "(?a", "(?i", "a"),
    "sliphook.schemas.patterns:_LONG_RANGE": ("-", "- ", " "),
    "sliphook.trace.redact.secrets:_LONG_LINE": ("a", "aaaaaaa\n"),
    "sliphook.trace.render:_BASE64": (' "data": "', " ", '\n "data": "', "A"),
}
"""What is searched for by an expression whose caller is large, or gives it a part alone."""


def _check(look: Look, unit: str, folder: Path) -> None:
    text = unit * (CHARACTERS // len(unit))
    began_s = time.thread_time()
    look(text, folder)
    assert time.thread_time() - began_s < MOST_S, repr(unit)


@pytest.mark.parametrize("at", range(len(LOOKS)))
def test_a_long_text_is_not_looked_through_again_and_again(
    at: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    look, units = LOOKS[at]
    for unit in units:
        _check(look, unit, tmp_path)


@pytest.mark.parametrize("name", PATTERNS)
def test_an_expression_enters_no_text_twice(name: str, tmp_path: Path) -> None:
    pattern = pkgutil.resolve_name(name)
    for unit in PATTERNS[name]:
        _check(lambda text, _: sum(1 for _ in pattern.finditer(text)), unit, tmp_path)

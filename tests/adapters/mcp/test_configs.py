"""The servers in the settings of other agents."""

from __future__ import annotations

import pytest

from sliphook.adapters.mcp.configs import FoundServer, looks_secret, servers_in

CLAUDE = """{"mcpServers": {
  "Git Hub": {"command": "npx", "args": ["-y", "server-github", "${HOME}/x"],
              "env": {"GITHUB_TOKEN": "ghp_abc", "LOG_LEVEL": "debug", "OTHER": "${MINE}"}},
  "docs": {"type": "http", "url": "https://docs.example/mcp",
           "headers": {"Authorization": "Bearer ${DOCS}"}},
  "old": {"type": "sse", "url": "https://old.example/sse"}
}, "projects": {"/srv/shop": {"mcpServers": {"shop": {"command": "/srv/shop/serve"}}}}}"""
VSCODE = """{
  // what the team uses
  "inputs": [{"type": "promptString", "id": "key", "password": true}],
  "servers": {
    "files": {"command": "server-files", "args": ["${workspaceFolder}"],
              "env": {"ACCESS": "${input:key}"}, },
    "asks": {"command": "x", "args": ["${input:key}"]},
  },
}"""
CODEX = """
[mcp_servers.docs]
command = "docs-server"
env = { MODE = "fast" }
env_vars = ["DOCS_HOME"]
tool_timeout_sec = 90
[mcp_servers.far]
url = "https://far.example/mcp"
bearer_token_env_var = "FAR"
[mcp_servers.off]
command = "x"
enabled = false
"""


def read(text: str, *, is_toml: bool = False) -> list[FoundServer]:
    return servers_in(text, is_toml=is_toml, folder="/srv/shop", environ={"HOME": "/home/ada"})


def test_claude_code_and_cursor() -> None:
    assert read(CLAUDE) == [
        FoundServer(
            "git-hub",
            ("LOG_LEVEL=debug", "npx", "-y", "server-github", "/home/ada/x"),
            ("GITHUB_TOKEN", "OTHER"),
        ),
        FoundServer("docs", ("https://docs.example/mcp", "DOCS"), ("DOCS",)),
        FoundServer(
            "old", why_not="it speaks the old SSE; here servers elsewhere speak streamable HTTP"
        ),
        FoundServer("shop", ("/srv/shop/serve",)),
    ]


def test_vs_code_has_comments_and_inputs() -> None:
    assert read(VSCODE) == [
        FoundServer("files", ("server-files", "/srv/shop"), ("ACCESS",)),
        FoundServer(
            "asks", why_not="its command needs ${input:key}, which is not there or a secret"
        ),
    ]


def test_codex() -> None:
    assert read(CODEX, is_toml=True) == [
        FoundServer("docs", ("MODE=fast", "docs-server"), ("DOCS_HOME",), 90),
        FoundServer("far", ("https://far.example/mcp", "FAR"), ("FAR",)),
        FoundServer("off", why_not="it is disabled there"),
    ]


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ('{"cwd": "/x", "command": "y"}', "its cwd cannot be kept; write a script that does that"),
        ('{"url": "https://x/", "headers": {"X-Key": "1"}}', "its header X-Key cannot be sent"),
        ('{"url": "https://${HOST}/"}', "its url has a variable in it"),
        ('{"args": ["x"]}', "it has no command and no url"),
        ("7", "it has no command and no url"),
    ],
)
def test_what_cannot_be_installed_is_said(entry: str, why: str) -> None:
    (found,) = read('{"mcpServers": {"mcp": ' + entry + "}}")
    assert found.name == "mcp-server"
    assert (found.why_not or "").startswith(why)


@pytest.mark.parametrize("text", ["{", "[]", "{}", "7", '{"mcpServers": []}'])
def test_a_file_without_servers(text: str) -> None:
    with pytest.raises(ValueError, match=r"it (cannot be read|has neither)"):
        read(text)


def test_secrets_are_known_by_name_or_by_look() -> None:
    assert looks_secret("GITHUB_TOKEN", "x")
    assert looks_secret("PLACE", "sk-1234")
    assert looks_secret("PLACE", "0123456789abcdef0123456789abcdef")
    assert not looks_secret("LOG_LEVEL", "debug")

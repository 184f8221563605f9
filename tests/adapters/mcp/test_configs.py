"""The servers in the settings of other agents."""

from __future__ import annotations

import base64
import json
import random
import uuid

import pytest

from sliphook.adapters.mcp.configs import FoundServer, servers_in
from sliphook.adapters.mcp.secret_looks import looks_secret

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
    environ = {"HOME": "/home/ada", "HOST_NAME": "hunter2"}
    return servers_in(text, is_toml=is_toml, folder="/srv/shop", environ=environ)


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
        (
            '{"url": "https://x.example/mcp", "headersHelper": "x"}',
            "its headersHelper cannot be run",
        ),
        ('{"command": "x", "env": {"MY-NAME": "1"}}', "its variable MY-NAME cannot be set"),
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
    with pytest.raises(ValueError, match=r"it (cannot be read|names no server)"):
        read(text)


def test_secrets_are_known_by_name_or_by_look() -> None:
    assert looks_secret("GITHUB_TOKEN", "x")
    assert looks_secret("PLACE", "sk-1234")
    assert looks_secret("PLACE", "0123456789abcdef0123456789abcdef")
    assert looks_secret("PLACE", "eyJhbGciOiJIUzI1NiJ9.e30.x")
    assert not looks_secret("LOG_LEVEL", "debug")
    assert not looks_secret("PYTHONPATH", "/home/ada/work2/tools/vex-rag/servers")
    assert not looks_secret("PLACE", "a-word-that-is-long-and-has-no-digit")
    assert not looks_secret("MAX_TOKENS", "4096")
    assert not looks_secret("ENABLE_AUTH", "true")
    assert not looks_secret("PASSWORD", "")
    assert not looks_secret("PWD", "/home/ada")
    assert looks_secret("DB_PASSWORD", "482913")
    assert looks_secret("LOGIN_PIN", "1234")
    assert looks_secret("DB_PASS", "x")
    assert looks_secret("DATABASE_URL", "postgresql://admin:pw@db/mydb")
    assert looks_secret("HEADERS", "Authorization: Bearer abcdefgh")
    assert looks_secret("PLACE", "hf_" + "QWERTYUIOPasdfghjklZXCVBNMqwertyui")
    assert looks_secret("PLACE", "xoxe.xoxp-1-Mi0yLTk0MTQ4NDA4")
    assert looks_secret("PLACE", "ghp_" + "QWERTYUIOPasdfghjklZXCVBNMqwertyui")


def test_random_text_is_a_secret() -> None:
    draw = random.Random(1)
    tokens = [draw.randbytes(32) for _ in range(500)]
    for encode in (base64.b64encode, base64.urlsafe_b64encode, bytes.hex):
        texts = [encode(token) for token in tokens]
        words = [text if isinstance(text, str) else text.decode().rstrip("=") for text in texts]
        seen = sum(looks_secret("PLACE", word) for word in words)
        assert seen >= 485, encode  # one that begins with / looks like a path


@pytest.mark.parametrize(("size", "least"), [(22, 170), (23, 170), (32, 194)])
def test_random_text_with_its_padding_is_a_secret(size: int, least: int) -> None:
    draw = random.Random(1)
    texts = [base64.b64encode(draw.randbytes(size)).decode() for _ in range(200)]
    assert sum(looks_secret("PLACE", text) for text in texts) >= least


@pytest.mark.parametrize(
    ("words", "behind"),
    [
        (["--access-token", "sbp_0123456789abcdef"], "--access-token"),
        (["--token=0123-4567-89ab"], "--token"),
        (["--user", "ada", "0123456789abcdef0123456789abcdef"], "ada"),
        (["mcp-remote", "https://x.example/mcp?apiKey=tvly-dev-0123"], "apiKey"),
        (["--header", "Authorization: Bearer abcd-0123-efgh"], "Bearer"),
        (["--header", "Authorization: Basic dXNlcjpwYXNz"], "Basic"),
        (["--header", "X-Api-Key:abcdef"], "X-Api-Key"),
        (["--password", "hunter2"], "--password"),
        (["--password", "a:b,c;d"], "--password"),
        (["--token", "correct-horse-battery-staple"], "--token"),
        (["--auth", "hunter2"], "--auth"),
        (["--pat", "hunter2"], "--pat"),
        (["-e", "DB_PASSWORD=482913"], "DB_PASSWORD"),
        (["mcp-remote", "https://x.example/mcp?api_key=abcdefghijklmno"], "api_key"),
        (["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"], "npx"),
        (["postgresql://admin:S3cr3tPassw0rd@db/mydb"], "postgresql://admin"),
        (["--dsn=postgresql://admin:pw@db/mydb"], "postgresql://admin"),
        (["--password", "${HOST_NAME}"], "--password"),
        (["server", "--header", "Authorization: Token abcd-0123-efgh"], "Token"),
        (["server", "--header", "authorization=token abcdefgh"], "token"),
        (["--headers", '{"Authorization": "Token abcdefgh"}'], "Token"),
        (["--authorization", "Token abcdefgh"], "Token"),
        (["--auth", "Basic dXNlcjpwYXNz"], "Basic"),
        (["--auth", "Bearer abcdefgh"], "Bearer"),
        (["--basic-auth", "ada:secret"], "--basic-auth"),
        (["server", "xoxe.xoxp-1-Mi0yLTk0MTQ4NDA4"], "server"),
        (["login", "token", "ab12cd34ef56gh"], "token"),
        (["set", "api_key", "abcd-0123-efgh"], "api_key"),
        (["x", "mysecret", "hunter2hunter2"], "mysecret"),
        (["https://x.example/token:abcdef0123456"], "//x.example/token"),
        (["--password", "Sup3rSecret99.json"], "--password"),
        (["--secret", "Sup3rSecret99.json"], "--secret"),
        (["--auth", "Sup3rSecret99.json"], "--auth"),
        (["--data", "bG9yZW0gaXBzdW0gZG9sb3IgMTIzNA=="], "--data"),
        (['--data={"a":"bG9yZW0gaXBzdW0gZG9sb3IgMTIzNA=="}'], "a"),
        (["--pin=1234"], "--pin"),
        (["--password", "abc12"], "--password"),
        (["--pass", "word"], "--pass"),
        (["-e", "DB_PWD=abcd"], "DB_PWD"),
        (["--encryption-key", "abcdefghijkl"], "--encryption-key"),
        (["--encryption-key", "abcd-0123-efgh"], "--encryption-key"),
        (["--encryption-key", "Abcd_Efgh_Ijkl"], "--encryption-key"),
        (["--access-key", "correct-horse"], "--access-key"),
        (["cache_key=hunter2"], "cache_key"),
        (["git+https://ghp_QWERTYUIOPasdfghjkl@github.com/acme/x@v1"], "git+https"),
    ],
)
def test_a_secret_in_a_command_is_not_recorded(words: list[str], behind: str) -> None:
    entry = {"command": "npx", "args": words}
    (found,) = read(json.dumps({"mcpServers": {"x": entry}}))
    assert found.words == ()
    assert (found.why_not or "").startswith(f"a secret stands behind {behind} in its command")


def test_a_secret_in_an_address_is_not_recorded() -> None:
    for url, behind in (
        ("https://x.example/?key=sk-0123", "key"),
        ("https://user:S3cr3tPassw0rd@host/mcp", "https://user"),
        ("https://x.example/s/0123456789abcdef0123456789abcdef/mcp", "https"),
    ):
        (found,) = read(json.dumps({"mcpServers": {"x": {"url": url}}}))
        assert (found.why_not or "").startswith(f"a secret stands behind {behind} in its url")


def test_what_is_no_secret_is_taken() -> None:
    words = ["-y", "mcp-server-for-some-long-name-of-an-api-v2", str(uuid.UUID(int=2**127 - 1))]
    words += [
        "hf_mcp_server",
        "sk-learn-server",
        "@scope/mcp-server-of-a-long-name-v2@1.2.3",
        "--max-tokens",
        "4096",
    ]
    words += [
        "https://auth:8443/mcp/server",
        "ghcr.io/acme/mcp-auth:latest-v2",
        f"ghcr.io/acme/server@sha256:{'0123456789abcdef' * 4}",
        f"git+https://github.com/acme/x@{'0123456789' * 4}",
        "mcp-server-auth",
        "production",
        "--no-auth",
        "production",
        "--auth",
        "bearer",
        "--ssl-key",
        "certs/server.pem",
        "git+ssh://git@example.org:22/Acme/MyServer2.git@v1",
        "--token-file",
        "/run/secrets/token1",
        "--key",
        "name",
        "--api-key",
        "${HOME}/key123456789",
    ]
    (found,) = read(json.dumps({"mcpServers": {"x": {"command": "npx", "args": words}}}))
    assert found.words == ("npx", *words[:-1], "/home/ada/key123456789")


@pytest.mark.parametrize(
    "words",
    [
        ["--sort-key", "created_at"],
        ["--primary-key", "customer_id"],
        ["--primary-key", "tenant_id,customer_id"],
        ["--auth", "github"],
        ["--auth", "apikey"],
        ["--auth", "token", "production"],
        ["--auth", "basic", "readonly"],
        ["--ssh-key", "id_ed25519"],
        ["--ssh-key", "keys/id_ed25519"],
        ["cache_key=tenant_id"],
        ["--basic", "readonly"],
        ["--token", "token-of-2024.json"],
        ["--credentials", "credentials1.json"],
        ["--key", "server.pem"],
        ["--password_file", "password1.txt"],
        ["--ask-password", "false"],
        ["-e", "API_KEY", "mcp-server-2024"],
        ["--env", "TOKEN", "mcp-server-2024"],
        ["list", "token", "production"],
        ["set", "key", "customer_account_id2"],
        ["mcp-server-auth", "production-2024"],
        ["ghcr.io/acme/mcp-token:2024-11-05-alpine"],
        ["--user", "bG9yZW0gaXBzdW0="],
    ],
)
def test_a_plain_option_is_no_secret(words: list[str]) -> None:
    (found,) = read(json.dumps({"mcpServers": {"x": {"command": "npx", "args": words}}}))
    assert found.words == ("npx", *words)


def test_values_are_texts_as_json_has_them() -> None:
    entry = {"command": "x", "args": [1, True], "env": {"A": 5, "B": False, "C": None}}
    (found,) = read(json.dumps({"mcpServers": {"x": entry}}))
    assert found.words == ("A=5", "B=false", "x", "1", "true")


@pytest.mark.parametrize(
    ("given", "taken"), [("90", 90), ("7200", 600), ("0", None), ("true", None)]
)
def test_a_time_is_at_most_what_a_call_may_take(given: str, taken: float | None) -> None:
    (found,) = read(f'[mcp_servers.x]\ncommand = "x"\ntool_timeout_sec = {given}', is_toml=True)
    assert found.timeout_s == taken


def test_a_plugin_of_claude_code_names_its_servers_at_once() -> None:
    text = '\ufeff{"x": {"command": "node", "args": ["${CLAUDE_PLUGIN_ROOT}/server.js"]}, "y": 7}'
    assert read(text) == [FoundServer("x", ("node", "/srv/shop/server.js"))]

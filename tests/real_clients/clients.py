"""The real agents: where npm gets them, and how each runs one prompt against the model."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from sliphook.adapters.dialects.known import DIALECTS

FOLDER: Final = Path(__file__).parents[2] / ".real-clients"
_MODULES: Final = FOLDER / "node_modules"
_TRIPLE: Final = "x86_64-unknown-linux-musl"
_KEY: Final = "made-up-key-for-loopback"


class Client(msgspec.Struct, frozen=True, kw_only=True):
    """One agent.

    Attributes:
        name: of its dialect.
        package: of npm.
        words: the program.
        prompt: the words that go before a prompt, for a run without a screen.
        shell, command: the model's name of the shell tool, and of its argument.
        environment: from the model's address.
        set_up: writes what it needs into its home, besides the hooks.
        child: the tool for child agents and its arguments without the task; None: it has none.
        task: the name of the argument that is the child's task.
    """

    name: str
    package: str
    words: tuple[str, ...]
    prompt: tuple[str, ...]
    shell: str
    command: str = "command"
    environment: Callable[[str], Mapping[str, str]]
    set_up: Callable[[Path, str], None] = lambda home, url: None
    child: tuple[str, Mapping[str, Any]] | None = None
    task: str = "prompt"

    @property
    def version(self) -> str:
        """The version that the tables were made with."""
        return DIALECTS[self.name].seen

    def call(self, command: str) -> str:
        """A step of a script: one command in the shell."""
        arguments = {self.command: command}
        if self.command == "command" and self.name != "gemini":
            arguments["description"] = "a command"
        return f"TOOL {self.shell} {json.dumps(arguments)}"


def _codex(home: Path, url: str) -> None:
    (home / ".codex").mkdir(exist_ok=True)
    (home / ".codex" / "config.toml").write_text(
        f"""
model = "fake-model"
model_provider = "fake"
[model_providers.fake]
name = "fake"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "FAKE_KEY"
[features]
hooks = true
[projects."{home / "project"}"]
trust_level = "trusted"
"""
    )


def _gemini(home: Path, url: str) -> None:
    (home / ".gemini").mkdir(exist_ok=True)
    settings = {"security": {"auth": {"selectedType": "gemini-api-key"}}}
    (home / ".gemini" / "settings.json").write_text(json.dumps(settings))


CLIENTS: Final = {
    client.name: client
    for client in (
        Client(
            name="claude-code",
            package="@anthropic-ai/claude-code",
            words=(str(_MODULES / "@anthropic-ai/claude-code-linux-x64/claude"),),
            prompt=("--dangerously-skip-permissions", "-p"),
            shell="Bash",
            environment=lambda url: {
                "ANTHROPIC_BASE_URL": url,
                "ANTHROPIC_API_KEY": _KEY,
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
                "DISABLE_AUTOUPDATER": "1",
                "ENABLE_TOOL_SEARCH": "false",
                "IS_SANDBOX": "1",
            },
            child=("Agent", {"description": "count", "subagent_type": "general-purpose"}),
        ),
        Client(
            name="codex",
            package="@openai/codex",
            words=(
                str(
                    _MODULES / "@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex"
                ),
            ),
            prompt=(
                *("exec", "--skip-git-repo-check", "--dangerously-bypass-hook-trust"),
                *("-s", "danger-full-access"),
            ),
            shell="exec_command",
            command="cmd",
            environment=lambda url: {"FAKE_KEY": _KEY},
            set_up=_codex,
            child=("spawn_agent", {}),
            task="message",
        ),
        Client(
            name="gemini",
            package="@google/gemini-cli",
            words=("node", str(_MODULES / "@google/gemini-cli/bundle/gemini.js")),
            prompt=("-m", "fake-model", "--yolo", "-p"),
            shell="run_shell_command",
            environment=lambda url: {
                "GEMINI_API_KEY": _KEY,
                "GOOGLE_GEMINI_BASE_URL": url,
                "GEMINI_CLI_NO_RELAUNCH": "true",
                "GEMINI_CLI_TRUST_WORKSPACE": "true",
            },
            set_up=_gemini,
        ),
        Client(
            name="copilot",
            package="@github/copilot",
            words=(str(_MODULES / "@github/copilot-linux-x64/copilot"),),
            prompt=("--allow-all-tools", "--allow-all-paths", "-p"),
            shell="bash",
            environment=lambda url: {
                "COPILOT_PROVIDER_BASE_URL": f"{url}/v1",
                "COPILOT_PROVIDER_TYPE": "openai",
                "COPILOT_PROVIDER_API_KEY": _KEY,
                "COPILOT_MODEL": "fake-model",
                "COPILOT_OFFLINE": "true",
                "COPILOT_AUTO_UPDATE": "false",
            },
        ),
    )
}


def install() -> None:
    """Have npm get all of them, each in the version of its table."""
    wanted = [f"{client.package}@{client.version}" for client in CLIENTS.values()]
    stamp = FOLDER / "installed"
    if stamp.exists() and stamp.read_text() == "\n".join(wanted):
        return
    npm = shutil.which("npm")
    assert npm is not None, "npm is missing"
    print(f"Installing {', '.join(wanted)} into {FOLDER} ...", flush=True)
    FOLDER.mkdir(exist_ok=True)
    options = ["--silent", "--no-fund", "--no-audit", "--ignore-scripts", "--prefix", str(FOLDER)]
    subprocess.run([npm, "install", *options, *wanted], check=True, timeout=900)
    stamp.write_text("\n".join(wanted))

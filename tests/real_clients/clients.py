"""The real agents: where npm gets them, and how each runs one prompt against the model."""

from __future__ import annotations

import json
import platform
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from sliphook.adapters.dialects.known import DIALECTS

FOLDER: Final = Path(__file__).parents[2] / ".real-clients"
_HERE: Final = Path(__file__).parent
_INSTALL_S: Final = 1800.0
_MODULES: Final = FOLDER / "node_modules"
_MACHINE: Final = "arm64" if platform.machine() in ("aarch64", "arm64") else "x64"
_TRIPLE: Final = "aarch64" if _MACHINE == "arm64" else "x86_64"
KEY: Final = "made-up-key-for-loopback"
"""What each agent takes for the key of its model."""


class ClientsMissing(Exception):
    """The agents cannot be had here; str() says why."""


class Client(msgspec.Struct, frozen=True, kw_only=True):
    """One agent.

    Attributes:
        name: of its dialect.
        words: the program.
        prompt: the words that go before a prompt, for a run without a screen.
        screen: the words for a run with one.
        ready: what the screen shows when a prompt can be typed.
        stop: the keys by which a person stops it.
        leave: the command by which a person leaves it.
        shell, command: the model's name of the shell tool, and of its argument.
        environment: from the model's address.
        set_up: writes what it needs into its home, besides the hooks.
        served: with what the model's names of our MCP server's tools begin.
        child: the tool for child agents and its arguments without the task; None: it has none.
        task: the name of the argument that is the child's task.
    """

    name: str
    words: tuple[str, ...]
    prompt: tuple[str, ...]
    screen: tuple[str, ...]
    ready: str
    stop: tuple[str, ...] = ("Escape",)
    leave: str = "/exit"
    shell: str
    command: str = "command"
    environment: Callable[[str], Mapping[str, str]]
    set_up: Callable[[Path, str], None] = lambda home, url: None
    served: str
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


def _claude(home: Path, url: str) -> None:
    known = {
        "hasCompletedOnboarding": True,
        "bypassPermissionsModeAccepted": True,
        "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
        "projects": {str(home / "project"): {"hasTrustDialogAccepted": True}},
    }
    (home / ".claude.json").write_text(json.dumps(known))


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


def _copilot(home: Path, url: str) -> None:
    (home / ".copilot").mkdir(exist_ok=True)
    trusted = {"trusted_folders": [str(home / "project")]}
    (home / ".copilot" / "config.json").write_text(json.dumps(trusted))


CLIENTS: Final = {
    client.name: client
    for client in (
        Client(
            name="claude-code",
            words=(str(_MODULES / f"@anthropic-ai/claude-code-linux-{_MACHINE}/claude"),),
            prompt=("--dangerously-skip-permissions", "-p"),
            screen=("--dangerously-skip-permissions",),
            ready="bypass permissions on",
            shell="Bash",
            served="mcp__sliphook__",
            environment=lambda url: {
                "ANTHROPIC_BASE_URL": url,
                "ANTHROPIC_API_KEY": KEY,
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
                "DISABLE_AUTOUPDATER": "1",
                "ENABLE_TOOL_SEARCH": "false",
                "IS_SANDBOX": "1",
            },
            set_up=_claude,
            child=("Agent", {"description": "count", "subagent_type": "general-purpose"}),
        ),
        Client(
            name="codex",
            words=(
                str(
                    _MODULES / f"@openai/codex-linux-{_MACHINE}/vendor"
                    f"/{_TRIPLE}-unknown-linux-musl/bin/codex"
                ),
            ),
            prompt=(
                *("exec", "--skip-git-repo-check", "--dangerously-bypass-hook-trust"),
                *("-s", "danger-full-access"),
            ),
            screen=("--dangerously-bypass-hook-trust", "-s", "danger-full-access"),
            ready="Ask Codex to do anything",
            shell="exec_command",
            served="",
            command="cmd",
            environment=lambda url: {"FAKE_KEY": KEY},
            set_up=_codex,
            child=("spawn_agent", {}),
            task="message",
        ),
        Client(
            name="gemini",
            words=("node", str(_MODULES / "@google/gemini-cli/bundle/gemini.js")),
            prompt=("-m", "fake-model", "--yolo", "-p"),
            screen=("-m", "fake-model", "--yolo"),
            ready="Type your message",
            leave="/quit",
            shell="run_shell_command",
            served="mcp_sliphook_",
            environment=lambda url: {
                "GEMINI_API_KEY": KEY,
                "GOOGLE_GEMINI_BASE_URL": url,
                "GEMINI_CLI_NO_RELAUNCH": "true",
                "GEMINI_CLI_TRUST_WORKSPACE": "true",
            },
            set_up=_gemini,
        ),
        Client(
            name="copilot",
            words=(str(_MODULES / f"@github/copilot-linux-{_MACHINE}/copilot"),),
            prompt=("--allow-all-tools", "--allow-all-paths", "-p"),
            screen=("--allow-all-tools", "--allow-all-paths"),
            ready="/ commands",
            stop=("Escape", "Escape"),
            shell="bash",
            served="sliphook-",
            environment=lambda url: {
                "COPILOT_PROVIDER_BASE_URL": f"{url}/v1",
                "COPILOT_PROVIDER_TYPE": "openai",
                "COPILOT_PROVIDER_API_KEY": KEY,
                "COPILOT_MODEL": "fake-model",
                "COPILOT_OFFLINE": "true",
                "COPILOT_AUTO_UPDATE": "false",
            },
            set_up=_copilot,
        ),
    )
}


def install() -> None:
    """Have npm get all of them, as `package-lock.json` names them.

    Raises:
        ClientsMissing: it cannot.
    """
    stamp = FOLDER / "installed"
    lock = (_HERE / "package-lock.json").read_text()
    if stamp.exists() and stamp.read_text() == lock:
        return
    npm = shutil.which("npm")
    if npm is None:
        raise ClientsMissing("npm is missing, which gets the agents")
    print(f"npm gets the agents into {FOLDER}, 1 GB ...", flush=True)
    FOLDER.mkdir(exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(_HERE / name, FOLDER)
    words = [npm, "ci", "--no-fund", "--no-audit", "--ignore-scripts", "--loglevel=error"]
    try:
        subprocess.run(words, cwd=FOLDER, check=True, timeout=_INSTALL_S)
    except subprocess.SubprocessError as error:
        raise ClientsMissing(f"npm could not get the agents: {error}") from None
    stamp.write_text(lock)

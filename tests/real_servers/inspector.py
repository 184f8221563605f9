"""MCP's own Inspector, by its command line, as a client of `sliphook mcp`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

from tests.programs import WAIT_S, Workshop

from .conformance import PLUGIN
from .servers import FOLDER, FORBIDDEN, GUARD, environment, node

_LAUNCHER: Final = "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"
_TOOL_FAILED: Final = 5
"""Its status if the result is an error."""
_TEXT_TOOL: Final = "json_schema_2020_12_tool"


class Inspector:
    """It, with a server of two plugins: the one of the suite, and a guard."""

    def __init__(self, home: Path) -> None:
        home.mkdir(parents=True)
        guard = Workshop(home).program(
            "guard", subscriptions=[{"event": "pre_tool_call"}], on=GUARD
        )
        server = [sys.executable, "-m", "sliphook", "mcp"]
        for plugin in (PLUGIN, guard.path):
            server += ["--plugin", str(plugin)]
        self._command = [str(node()), str(FOLDER / _LAUNCHER), "--cli", *server]
        self._environment = environment(home)
        self._home = home

    def ask(self, method: str, *options: str, status: int = 0) -> dict[str, Any]:
        """What the server answers.

        Raises:
            AssertionError: it ends with another status; str() is all that it said.
        """
        done = subprocess.run(
            [*self._command, "--method", method, *options],
            env=self._environment,
            cwd=self._home,
            capture_output=True,
            text=True,
            timeout=WAIT_S,
            check=False,
        )
        assert done.returncode == status, f"{method}:\n{done.stdout}{done.stderr}"
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def call(self, tool: str, *arguments: str, status: int = 0) -> list[dict[str, Any]]:
        """The content of a tool's result."""
        options = ["--tool-arg", *arguments] if arguments else []
        content: list[dict[str, Any]] = self.ask(
            "tools/call", "--tool-name", tool, *options, status=status
        )["content"]
        return content


def inspects(home: Path) -> None:
    """The tools, calls that end in every way, and the commands as prompts.

    Raises:
        AssertionError: something is not as it should be.
    """
    inspector = Inspector(home)
    # `--strict`: schemas that not every model takes fail
    tools = [tool["name"] for tool in inspector.ask("tools/list", "--strict")["tools"]]
    assert "test_simple_text" in tools, tools
    assert _TEXT_TOOL in tools, tools
    assert inspector.call("test_simple_text") == [{"type": "text", "text": "a text"}]
    assert inspector.call(_TEXT_TOOL, "name=Ada")[0]["text"] == "{'name': 'Ada'}"
    assert [part["type"] for part in inspector.call("test_multiple_content_types")] == [
        "text",
        "image",
        "resource",
    ]
    (failed,) = inspector.call("test_error_handling", status=_TOOL_FAILED)
    assert failed["text"] == "this tool always fails"
    (denied,) = inspector.call(_TEXT_TOOL, f"name={FORBIDDEN}", status=_TOOL_FAILED)
    assert "not this" in denied["text"], denied
    # its command line has no forms
    assert inspector.call("test_elicitation", "message=Who?")[0]["text"] == "nobody"
    (prompt,) = inspector.ask("prompts/list")["prompts"]
    assert prompt["name"] == "test_simple_prompt"
    said = inspector.ask(
        "prompts/get", "--prompt-name", prompt["name"], "--prompt-args", "arguments=hello"
    )
    assert said["messages"][0]["content"] == {"type": "text", "text": "hello"}

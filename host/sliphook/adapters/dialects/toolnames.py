"""Pure: what the tools of each agent do, by their names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from sliphook_sdk.protocol import ToolKind

_MOST_SERVER_CHARS: Final = 512


class ToolNames(msgspec.Struct, frozen=True, kw_only=True):
    """The names of one agent's tools.

    Attributes:
        kinds: the tools of which it is known what they do.
        mcp_prefix: with what the names of tools of MCP servers begin; "" if they do not tell.
        mcp_separator: what stands between server and tool behind it; "" if nothing tells.
        goals: the arguments of a tool for child agents that say what the child is to do; the first
            that is there counts.
        ours: with what the names of the tools of our own MCP server begin.
    """

    kinds: Mapping[str, ToolKind]
    mcp_prefix: str = ""
    mcp_separator: str = ""
    goals: tuple[str, ...] = ()
    ours: str = ""

    def kind(self, name: str) -> ToolKind | None:
        """What the tool does; None if that is not known: then guards of any kind are asked."""
        known = self.kinds.get(name)
        if known is not None:
            return known
        return "mcp" if self.mcp_prefix and name.startswith(self.mcp_prefix) else None

    def served(self, name: str) -> str | None:
        """The name that a tool of our own MCP server has there; None for any other tool."""
        is_ours = self.ours and name.startswith(self.ours)
        return name.removeprefix(self.ours) if is_ours else None

    def origin(self, name: str, arguments: Mapping[str, Any] | None = None) -> str:
        """`mcp:SERVER` where the name says so, else `agent`.

        Args:
            name: the tool.
            arguments: of a call; a tool for the resources of all servers has the server in them.
        """
        if self.kind(name) != "mcp" or not self.mcp_separator:
            return "agent"
        if name in self.kinds:
            given = (arguments or {}).get("server")
            is_name = isinstance(given, str) and 0 < len(given) <= _MOST_SERVER_CHARS
            return f"mcp:{given if is_name else name}"
        server = name.removeprefix(self.mcp_prefix).partition(self.mcp_separator)[0]
        return f"mcp:{server}" if server else "agent"

    def goal(self, name: str, arguments: Mapping[str, Any]) -> str | None:
        """What the call has a new child agent do; None if it starts none."""
        if self.kind(name) != "agent":
            return None
        found = (arguments.get(argument) for argument in self.goals)
        return next((goal for goal in found if isinstance(goal, str)), None)


CLAUDE = ToolNames(
    kinds={
        "Bash": "shell",
        "BashOutput": "shell",
        "KillShell": "shell",
        "PowerShell": "shell",
        "Read": "read",
        "NotebookRead": "read",
        "Write": "write",
        "Edit": "edit",
        "MultiEdit": "edit",
        "NotebookEdit": "edit",
        "WebFetch": "fetch",
        "WebSearch": "search",
        "Glob": "search",
        "Grep": "search",
        "LS": "search",
        "Agent": "agent",
        "Task": "agent",
        "ListMcpResourcesTool": "mcp",
        "ReadMcpResourceTool": "mcp",
        "TaskOutput": "shell",
        "TaskStop": "shell",
        "AskUserQuestion": "other",
        "EnterPlanMode": "other",
        "ExitPlanMode": "other",
        "TaskCreate": "other",
        "TaskGet": "other",
        "TaskList": "other",
        "TaskUpdate": "other",
        "TodoWrite": "other",
    },
    goals=("prompt", "description"),
    mcp_prefix="mcp__",
    mcp_separator="__",
    ours="mcp__sliphook__",
)

CODEX = ToolNames(
    kinds={
        "Bash": "shell",
        "write_stdin": "shell",
        "apply_patch": "edit",
        "view_image": "read",
        "web_search": "search",
        "spawn_agent": "agent",
        "multi_agent_v1wait_agent": "agent",
        "update_plan": "other",
    },
    goals=("message", "prompt", "task"),
    mcp_prefix="mcp__",
    mcp_separator="__",
    ours="mcp__sliphook__",
)

GEMINI = ToolNames(
    kinds={
        "run_shell_command": "shell",
        "read_file": "read",
        "read_many_files": "read",
        "write_file": "write",
        "replace": "edit",
        "web_fetch": "fetch",
        "google_web_search": "search",
        "glob": "search",
        "grep_search": "search",
        "search_file_content": "search",
        "list_directory": "search",
        "ask_user": "other",
        "write_todos": "other",
    },
    mcp_prefix="mcp_",
    mcp_separator="_",
    ours="mcp_sliphook_",
)

COPILOT = ToolNames(
    kinds={
        "bash": "shell",
        "Bash": "shell",  # in the events that are spelt as Claude's
        "powershell": "shell",
        "read_bash": "shell",
        "write_bash": "shell",
        "stop_bash": "shell",
        "view": "read",
        "create": "write",
        "edit": "edit",
        "apply_patch": "edit",
        "str_replace_editor": "edit",
        "web_fetch": "fetch",
        "web_search": "search",
        "glob": "search",
        "grep": "search",
        "rg": "search",
        "task": "agent",
        "ask_user": "other",
        "report_intent": "other",
    },
    ours="sliphook-",
)

CURSOR = ToolNames(
    kinds={
        "Shell": "shell",
        "Read": "read",
        "Write": "write",
        "Edit": "edit",
        "Delete": "edit",
        "Grep": "search",
        "Task": "agent",
    },
    mcp_prefix="MCP:",
    ours="MCP:",
)

HERMES = ToolNames(
    kinds={
        "terminal": "shell",
        "process": "shell",
        "close_terminal": "shell",
        "execute_code": "shell",
        "read_file": "read",
        "read_terminal": "read",
        "write_file": "write",
        "patch": "edit",
        "web_extract": "fetch",
        "browser_back": "fetch",
        "browser_cdp": "fetch",
        "browser_click": "fetch",
        "browser_console": "fetch",
        "browser_dialog": "fetch",
        "browser_get_images": "fetch",
        "browser_navigate": "fetch",
        "browser_press": "fetch",
        "browser_scroll": "fetch",
        "browser_snapshot": "fetch",
        "browser_type": "fetch",
        "browser_vision": "fetch",
        "web_search": "search",
        "x_search": "search",
        "search_files": "search",
        "session_search": "search",
        "delegate_task": "agent",
        "clarify": "other",
        "memory": "other",
        "skill_view": "other",
        "skills_list": "other",
        "text_to_speech": "other",
        "todo": "other",
    },
    mcp_prefix="mcp__",
    mcp_separator="__",
)

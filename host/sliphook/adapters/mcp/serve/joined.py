"""Pure: what a client says of itself and of a call, by which hooks and calls are joined."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

AGENTS: Final[Mapping[str, str]] = {
    "claude-code": "claude-code",
    "codex-mcp-client": "codex",
    "gemini-cli-mcp-client": "gemini",
    "copilot-cli": "copilot",
    "cursor-vscode": "cursor",
}
"""The names of agents by what they call themselves as clients. Cursor's was not seen."""
_SESSION: Final = {"claude-code": "CLAUDE_CODE_SESSION_ID", "gemini": "GEMINI_SESSION_ID"}
"""The variables with which an agent tells its servers the session."""
_MOST_CHARS: Final = 256


def agent_of_client(name: str | None) -> str | None:
    """The agent that the client is, or None."""
    return AGENTS.get(name or "")


def session_in(environ: Mapping[str, str], agent: str) -> str | None:
    """The agent's session, if the environment says it."""
    return _text(environ.get(_SESSION.get(agent, "")))


def session_of(meta: Mapping[str, Any]) -> str | None:
    """The session of a call, if its `_meta` says it."""
    turn = meta.get("x-codex-turn-metadata")
    found = cast("dict[str, Any]", turn).get("session_id") if isinstance(turn, dict) else None
    return _text(found) or _text(meta.get("sessionId"))


def call_of(meta: Mapping[str, Any]) -> str | None:
    """The model's id of a call, the same as in the hooks, if its `_meta` says it."""
    return _text(meta.get("claudecode/toolUseId")) or _text(meta.get("callId"))


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and 0 < len(value) <= _MOST_CHARS else None

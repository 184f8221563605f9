"""How real clients speak to an MCP server, made up in the shape of what each was seen to send."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

Message = dict[str, Any]

_FORMS: Final[Message] = {"form": {}, "url": {}}
_ECHO: Final = {"name": "echo", "arguments": {"text": "hello"}}
_SESSION: Final = "00000000-0000-4000-8000-00000000000a"


def _stateless(name: str, capabilities: Message) -> Message:
    return {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": name, "version": "1.0"},
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    }


def _hello(version: str, name: str, capabilities: Message) -> Message:
    info = {"name": name, "version": "1.0"}
    params = {"protocolVersion": version, "capabilities": capabilities, "clientInfo": info}
    return {"id": 0, "method": "initialize", "params": params}


def _claude_code() -> list[Message]:
    """Asks for everything without a handshake, and listens for changes first of all."""
    meta = _stateless("claude-code", {"roots": {"listChanged": True}, "elicitation": _FORMS})
    wanted = {"toolsListChanged": True, "promptsListChanged": True}
    call = {**meta, "claudecode/toolUseId": "toolu_0001", "progressToken": 3}
    return [
        {"id": "server-discover-probe-1", "method": "server/discover", "params": {"_meta": meta}},
        {
            "id": "listen:0",
            "method": "subscriptions/listen",
            "params": {"_meta": meta, "notifications": wanted},
        },
        {"id": 0, "method": "server/discover", "params": {"_meta": meta}},
        {"id": 1, "method": "prompts/list", "params": {"_meta": meta}},
        {"id": 2, "method": "tools/list", "params": {"_meta": meta}},
        {"id": 3, "method": "tools/call", "params": {**_ECHO, "_meta": call}},
    ]


def _copilot() -> list[Message]:
    meta = _stateless("copilot-cli", {"sampling": {}, "elicitation": _FORMS})
    return [
        {"id": 0, "method": "server/discover", "params": {"_meta": meta}},
        {"id": 1, "method": "tools/list", "params": {"_meta": {**meta, "progressToken": 0}}},
        {
            "id": 2,
            "method": "tools/call",
            "params": {"_meta": {**meta, "progressToken": 1}, **_ECHO},
        },
    ]


def _codex() -> list[Message]:
    turn = {"session_id": _SESSION, "thread_id": _SESSION, "turn_id": "t", "model": "m"}
    meta = {"callId": "call_0001", "x-codex-turn-metadata": turn, "progressToken": 1}
    capabilities: Message = {"experimental": {"codex/auth-change": {}}, "elicitation": _FORMS}
    return [
        _hello("2025-06-18", "codex-mcp-client", capabilities),
        {"method": "notifications/initialized"},
        {"id": 1, "method": "tools/list", "params": {"_meta": {"progressToken": 0}}},
        {"id": 2, "method": "tools/call", "params": {"_meta": meta, **_ECHO}},
    ]


def _gemini() -> list[Message]:
    return [
        _hello("2025-06-18", "gemini-cli-mcp-client", {"roots": {"listChanged": True}}),
        {"method": "notifications/initialized"},
        {"id": 1, "method": "prompts/list", "params": {}},
        {"id": 2, "method": "tools/list", "params": {}},
        {"id": 3, "method": "tools/call", "params": {**_ECHO, "_meta": {"progressToken": "a-b"}}},
    ]


def _after_a_refusal() -> list[Message]:
    """Claude Code and Copilot CLI with a server that knows no `server/discover`."""
    return [
        _hello("2025-11-25", "claude-code", {"elicitation": _FORMS}),
        {"method": "notifications/initialized"},
        {"id": 1, "method": "tools/list"},
        {"id": 2, "method": "prompts/list"},
        {"id": 3, "method": "tools/call", "params": {**_ECHO, "_meta": {"progressToken": 3}}},
    ]


DIALOGUES: Final[dict[str, Callable[[], list[Message]]]] = {
    "claude-code": _claude_code,
    "claude-code, with a handshake": _after_a_refusal,
    "copilot": _copilot,
    "codex": _codex,
    "gemini": _gemini,
}

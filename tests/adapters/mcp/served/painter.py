"""A plugin whose tool asks the person, and says what came of it."""

from __future__ import annotations

from typing import Any, Final

PAINTER: Final[dict[str, Any]] = {
    "name": "painter",
    "tools": ["paint"],
    "uses": ["ask"],
    "before": """
calls = []

def heard(message):
    if message.get("id") == "q1":
        reply(calls.pop(), {"content": json.dumps(message["result"])})
""",
    "on": """
if method == "tool/call":
    calls.append(id)
    schema = {"type": "string", "enum": ["red", "blue"]}
    ids = {name: params[name] for name in ("session_id", "turn_id", "call_id")}
    request("q1", "host/ask", prompt="Which colour?", schema=schema, **ids)
    return NOTHING
""",
}

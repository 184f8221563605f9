"""A server of bytes, without an SDK: it does what its first argument says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import Any

WAY = sys.argv[1]
ANY: dict[str, Any] = {"type": "object", "properties": {}}
TOOLS = ["work"]
LATER: list[dict[str, Any]] = []
QUESTION = {
    "type": "object",
    "properties": {"colour": {"type": "string", "enum": ["red", "blue"]}},
    "required": ["colour"],
}
REQUESTS: dict[str, tuple[str, dict[str, Any]]] = {
    "asks": ("elicitation/create", {"message": "Which?", "requestedSchema": QUESTION}),
    "confirms": (
        "elicitation/create",
        {"message": "Sure?", "requestedSchema": {"type": "object", "properties": {}}},
    ),
    "samples": (
        "sampling/createMessage",
        {"messages": [{"role": "user", "content": {"type": "text", "text": "x"}}], "maxTokens": 9},
    ),
}


def send(**message: Any) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def read() -> dict[str, Any]:
    message: dict[str, Any] = json.loads(sys.stdin.readline() or "{}")
    return message


def answer_to(request_id: str) -> dict[str, Any]:
    """The answer to a question; what else comes meanwhile is for later."""
    while (message := read()).get("id") != request_id or "method" in message:
        if not message:
            os._exit(0)
        LATER.append(message)
    return message


def work(call: dict[str, Any]) -> dict[str, Any]:
    """The result of the tool."""
    text = "done"
    if WAY == "leaves-a-child":  # which holds the pipes
        subprocess.Popen(["sleep", "600"])
        os._exit(3)
    if WAY == "dies":
        print("out of paper", file=sys.stderr, flush=True)
        os._exit(3)
    if WAY == "long":
        print("x" * (17 * 1024 * 1024), flush=True)
        time.sleep(600)
    if WAY == "heavy":
        return {"content": [], "structuredContent": {"all": [[]] * 110_000}}
    if WAY == "floods":
        token = call["params"]["_meta"]["progressToken"]
        for step in range(1500):
            params = {"progressToken": token, "progress": step, "total": 1500}
            send(method="notifications/progress", params=params)
    if WAY == "changes":
        TOOLS[:] = ["other", "third"]
        for _ in range(50):
            send(method="notifications/tools/list_changed")
    if WAY in REQUESTS:
        method, params = REQUESTS[WAY]
        send(id="q", method=method, params=params)
        answer = answer_to("q")
        text = json.dumps(answer.get("result") or answer["error"]["message"])
    if WAY == "halves":
        text = "\ud83d \U0001f600 \ude00"  # json.dumps writes escapes
    if WAY == "latin":
        text = "caf\u00e9"
    if WAY == "pings":
        for step in range(1_000):
            send(id=step, method="ping")
        while read().get("id") != 999:
            pass
    if WAY == "odd-notices":
        for _ in range(300):
            send(method="notifications/progress", params={})
    if WAY == "large":
        text = "x" * 2_000_000
    return {"content": [{"type": "text", "text": text}]}


ODD: list[Any] = [
    {"name": "bare", "title": 3},
    {"name": "null", "inputSchema": None, "outputSchema": []},
    {"name": "empty", "inputSchema": {}, "description": 3, "annotations": "none"},
    {"name": "list", "inputSchema": {"type": "array"}},
    {"name": "true", "inputSchema": True},
    {"name": ["\u001b[31m"], "inputSchema": ANY},
    "text",
    None,
]
"""Three that can be offered, and five that cannot."""


def main() -> None:
    if WAY == "rubbish":
        print("Welcome!\n" * 3, flush=True)
    if WAY == "strict-and-gone":
        os._exit(1)
    while call := LATER.pop(0) if LATER else read():
        method = call["method"]
        if method == "server/discover" and WAY == "strict":
            os._exit(1)
        if method == "initialize" and WAY == "hangs":
            time.sleep(600)
        while method == "initialize" and WAY == "late" and not os.path.exists(sys.argv[2]):
            time.sleep(0.05)
        results: dict[str, Any] = {
            "initialize": {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {"listChanged": True}},
                "serverInfo": {"name": "raw", "version": "1"},
            },
            "tools/list": {"tools": [{"name": name, "inputSchema": ANY} for name in TOOLS]},
        }
        if WAY == "resources":  # it says so, and lists none
            results["initialize"]["capabilities"]["resources"] = {}
        if WAY == "odd-resources":
            results["initialize"]["capabilities"]["resources"] = {}
            results["resources/list"] = {"resources": "none"}
        if WAY == "infinite":  # json.dumps writes Infinity
            schema = {"type": "object", "properties": {"x": {"maximum": float("inf")}}}
            results["tools/list"]["tools"].append({"name": "far", "inputSchema": schema})
        if WAY == "no-more-pages":
            results["tools/list"]["nextCursor"] = ""
        if WAY == "odd-tool":
            results["tools/list"]["tools"] += ODD
        if method == "tools/list" and WAY == "leaves":
            os._exit(9)
        if method == "tools/call" and WAY == "latin":
            line = json.dumps({"jsonrpc": "2.0", "id": call["id"], "result": work(call)})
            sys.stdout.buffer.write(line.replace("\\u00e9", "\u00e9").encode("latin-1") + b"\n")
            sys.stdout.flush()
        elif method == "tools/call":
            send(id=call["id"], result=work(call))
        elif method in results:
            send(id=call["id"], result=results[method])
        elif "id" in call:
            send(id=call["id"], error={"code": -32601, "message": f"no {method}"})


if __name__ == "__main__":
    main()

"""A server of bytes in either era of the protocol, which answers a call as its `way` says."""

from __future__ import annotations

import json
import sys
from typing import Any

ERA = sys.argv[1]
OBJECT: dict[str, Any] = {"type": "object", "properties": {}}
NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
FORM = {"type": "object", "properties": {"colour": {"type": "string", "enum": ["red", "blue"]}}}
ROWS = {"properties": {"rows": {"items": {"properties": {"a": {"pattern": "^[a-z]+$"}}}}}}
ENDLESS = {"properties": {"n": {"maximum": float("inf")}}}  # json.dumps writes Infinity
TOOLS: list[dict[str, Any]] = [
    {"name": "work", "inputSchema": OBJECT},
    {"name": "count", "inputSchema": OBJECT, "outputSchema": NUMBER},
    {"name": "rows", "inputSchema": OBJECT, "outputSchema": {"type": "object", **ROWS}},
    {"name": "endless", "inputSchema": OBJECT, "outputSchema": {"type": "object", **ENDLESS}},
]
FRESH = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
DONE = {"content": [{"type": "text", "text": "done"}], "resultType": "complete"}
FIRST: dict[str, Any] = {
    "discover": {
        "supportedVersions": ["2026-07-28"],
        "capabilities": {"tools": {}},
        **FRESH,
    },
    "initialize": {
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "liar", "version": "1"},
    },
}
ANSWERS: dict[str, Any] = {
    "none": {},
    "both": {"result": DONE, "error": None},
    "text": {"result": "done"},
    "number": {"result": {"content": 5}},
    "empty": {"result": {}},
    "refusal": {"error": {"code": -32000, "message": "not today\nnor tomorrow"}},
    "silent refusal": {"error": {"code": 1, "message": ""}},
    "late refusal": {"error": {"code": 1, "message": "\n\nnot today"}},
    "no refusal": {"error": "not today"},
    "nan refusal": {"error": {"code": 1, "message": "not a number", "data": float("nan")}},
    "many": {"result": {**DONE, "structuredContent": {"rows": [{"a": "abcdefgh"}] * 6_630}}},
    "block": {"result": {"content": [{"type": "text"}, {"type": "text", "text": "done"}]}},
    "failed": {"result": {"content": [{"type": "text", "text": "no paper"}], "isError": True}},
    "alone": {"result": {"structuredContent": {"n": 3}, "isError": None}},
    "nulls": {"result": {"content": None, "structuredContent": {"n": 3}, "isError": None}},
    "odd": {"result": {**DONE, "resultType": "odd"}},
    "halves": {"result": {**DONE, "content": [{"type": "text", "text": "\ud83d!"}]}},
    "nan": {"result": {**DONE, "structuredContent": {"n": 3, "x": float("nan")}}},
    "three": {"result": {**DONE, "structuredContent": {"n": 3}}},
    "no three": {"result": {**DONE, "structuredContent": {"n": "x"}}},
    "asks": {
        "result": {
            "resultType": "input_required",
            "requestState": "half way",
            "inputRequests": {
                "q": {
                    "method": "elicitation/create",
                    "params": {"message": "Which?", "requestedSchema": FORM},
                }
            },
        }
    },
    "asks on": {"result": {"resultType": "input_required", "requestState": "again"}},
}
kept: list[dict[str, Any]] = []


def send(**message: Any) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def step(token: Any, progress: Any, **more: Any) -> None:
    params = {"progressToken": token, "progress": progress, **more}
    send(method="notifications/progress", params=params)


def answer(call: dict[str, Any]) -> None:
    own: int = call["id"]
    params = call["params"]
    way = params["arguments"].get("way", "")
    answers = params.get("inputResponses")
    if way == "keep":
        kept.append(call)
        step(params["_meta"]["progressToken"], 1, message="begun")
        return
    if way == "strangers":
        for other in (own + 7, own - 1, -1, 0, 1.5, True, None, "x", "9" * 400, str(own) * 3):
            send(id=other, result=DONE)
        for token in (own + 7, "x", None, [own], True):
            step(token, 1)
        step(own, "half")
        step(own, 1, total="x", message=5)
        step(own, 1, message="x" * 2_000_000)
    if way == "own text":
        send(id=str(own), result=DONE)
    if way == "echo":
        send(id=own, result={**DONE, "content": [{"type": "text", "text": json.dumps(params)}]})
    if way == "kept":
        for one in kept:
            send(id=one["id"], result=DONE)
    if answers is not None:
        text = json.dumps([answers, params["requestState"]])
        send(id=own, result={**DONE, "content": [{"type": "text", "text": text}]})
    elif way in ANSWERS:
        send(id=own, **ANSWERS[way])
    send(id=own, result=DONE)  # the second one of most


def main() -> None:
    for line in sys.stdin:
        call = json.loads(line)
        method = call["method"]
        if method == "tools/call":
            answer(call)
        elif method == "tools/list":
            listed = {"tools": TOOLS, **FRESH}
            TOOLS[0]["description"] = json.dumps(
                call["params"]["_meta"] if ERA != "initialize" else 0
            )
            send(id=call["id"], result=listed)
        elif method == ("initialize" if ERA == "initialize" else "server/discover"):
            send(id=call["id"], result=FIRST[ERA])
        elif method == "notifications/cancelled":
            print(f"cancelled {call['params']['requestId']}", file=sys.stderr, flush=True)
        elif "id" in call:
            send(id=call["id"], error={"code": -32601, "message": f"no {method}"})


if __name__ == "__main__":
    main()

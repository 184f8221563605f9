"""Bedrock's API on the wire, which Hermes alone speaks."""

# the shapes are those of other projects
# pyright: basic

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator

from tests.model_wires import Call, Json, Said, Wire


def _bedrock_read(body: Json) -> list[Said]:
    found = []
    for one in body.get("messages", []):
        texts = [block["text"] for block in one["content"] if "text" in block]
        said = one["role"] == "user" and bool(texts)
        found.append(
            Said(
                " ".join(texts) if said else None,
                any("toolUse" in block for block in one["content"]),
                sum("toolResult" in block for block in one["content"]),
            )
        )
    return found


def _bedrock_stream(calls: list[Call], texts: list[str]) -> Iterator[bytes]:
    yield frame("messageStart", {"role": "assistant"})
    for text in () if calls else texts:
        yield frame("contentBlockDelta", {"delta": {"text": text}, "contentBlockIndex": 0})
    if not calls:
        yield frame("contentBlockStop", {"contentBlockIndex": 0})
    for k, call in enumerate(calls):
        start = {"toolUse": {"toolUseId": call.call_id, "name": call.name}}
        yield frame("contentBlockStart", {"start": start, "contentBlockIndex": k})
        delta = {"toolUse": {"input": call.arguments}}
        yield frame("contentBlockDelta", {"delta": delta, "contentBlockIndex": k})
        yield frame("contentBlockStop", {"contentBlockIndex": k})
    yield frame("messageStop", {"stopReason": "tool_use" if calls else "end_turn"})
    usage = {"inputTokens": 10, "outputTokens": 5, "totalTokens": 15}
    yield frame("metadata", {"usage": usage, "metrics": {"latencyMs": 1}})


def frame(name: str, body: Json) -> bytes:
    """A message of the event streams of AWS."""
    headers = b""
    told = {":event-type": name, ":content-type": "application/json", ":message-type": "event"}
    for key, value in told.items():
        headers += struct.pack(">B", len(key)) + key.encode()
        headers += struct.pack(">BH", 7, len(value)) + value.encode()
    payload = json.dumps(body).encode()
    prelude = struct.pack(">II", 16 + len(headers) + len(payload), len(headers))
    whole = prelude + struct.pack(">I", zlib.crc32(prelude)) + headers + payload
    return whole + struct.pack(">I", zlib.crc32(whole))


BEDROCK = Wire(_bedrock_read, _bedrock_stream, content_type="application/vnd.amazon.eventstream")

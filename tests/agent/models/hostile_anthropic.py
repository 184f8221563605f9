"""The same for servers of Anthropic's messages API: what is sent in its events alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, Final

from .hostile import BAR, ERROR, JSON, STREAM, endless, once


def _event(kind: str, **fields: Any) -> bytes:
    return _raw(kind, json.dumps({"type": kind, **fields}).encode())


def _raw(kind: str, data: bytes) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), data)


def _starts(index: int, **block: Any) -> bytes:
    return _event("content_block_start", index=index, content_block=block)


def _adds(index: int, **delta: Any) -> bytes:
    return _event("content_block_delta", index=index, delta=delta)


def _call(arguments: str, index: int = 0, **names: str) -> bytes:
    block = {"type": "tool_use", "id": f"c{index}", "name": "t", **names}
    return _starts(index, **block) + _adds(index, type="input_json_delta", partial_json=arguments)


_STOP: Final = _event("message_delta", delta={"stop_reason": "tool_use"}) + _event("message_stop")

ENDLESS: Final[dict[str, Callable[[], Iterator[bytes]]]] = {
    "text without an end": endless(STREAM + BAR, _adds(0, type="text_delta", text="x" * 60_000)),
    "arguments without an end": endless(
        STREAM + BAR + _starts(0, type="tool_use", id="a", name="t"),
        _adds(0, type="input_json_delta", partial_json="y" * 1_000),
    ),
    "calls without an end": endless(STREAM + BAR, _starts(1, type="tool_use", id="a", name="t")),
}
"""Answers that never end; each has to be given up."""

UNREAD: Final[dict[str, Callable[[], Iterator[bytes]]]] = {
    "thinking without an end": endless(
        STREAM + BAR, _adds(0, type="thinking_delta", thinking="x" * 60_000)
    ),
    "arguments of no call": endless(
        STREAM + BAR, _adds(7, type="input_json_delta", partial_json="y" * 60_000)
    ),
    "messages that start": endless(
        STREAM + BAR,
        _event("message_start", message={"model": "m" * 60_000, "usage": {"input_tokens": 1}}),
    ),
    "reasons to stop": endless(
        STREAM + BAR, _event("message_delta", delta={"stop_reason": "x" * 60_000})
    ),
}
"""The same, of which nothing is kept: they go on up to the limit of a stream."""

HUGE: Final[dict[str, Callable[[], Iterator[bytes]]]] = {
    "usage of many digits": once(
        STREAM + BAR,
        _raw("message_delta", b'{"type":"message_delta","usage":{"output_tokens":'),
        b"9" * 900_000 + b"}}\n\n" + _STOP,
    ),
    "usage of a text of digits": once(
        STREAM + BAR,
        _raw(
            "message_delta",
            b'{"type":"message_delta","usage":{"output_tokens":"' + b"9" * 900_000 + b'"}}',
        ),
        _STOP,
    ),
    "an index of many digits": once(
        STREAM + BAR,
        _raw("x", b'{"type":"content_block_delta","index":' + b"9" * 900_000 + b',"delta":{}}'),
        _STOP,
    ),
    "a body of objects": once(JSON + BAR, b'{"content":[' + b",".join([b"{}"] * 340_000) + b"]}"),
    "an error of objects": once(
        STREAM + BAR, _raw("error", b'{"error":[' + b",".join([b"{}"] * 340_000) + b"]}")
    ),
    "a limit of many digits": once(
        ERROR + BAR, b'{"error":{"message":"max_tokens: 32000 > ' + b"9" * 60_000 + b'"}}'
    ),
    "a body of 1,000 calls": once(
        JSON + BAR, b'{"content":[' + b",".join([b'{"type":"tool_use"}'] * 1_000) + b"]}"
    ),
    "a body of calls of many values": once(
        JSON + BAR,
        b'{"content":['
        + b",".join(
            [b'{"type":"tool_use","input":{"a":[' + b",".join([b"1"] * 2_000) + b"]}}"] * 128
        )
        + b'],"stop_reason":"tool_use"}',
    ),
}
"""Answers that end, and that no agent can use."""

USABLE: Final[dict[str, Callable[[], Iterator[bytes]]]] = {
    "deep arguments": once(
        STREAM + BAR, _call('{"a":' + "[" * 100_000 + "]" * 100_000 + "}") + _STOP
    ),
    "wide arguments": once(
        STREAM + BAR, _call('{"a":[' + ",".join(["[]"] * 130_000) + "]}") + _STOP
    ),
    "arguments of halves": once(STREAM + BAR, _call('{"a":"' + "\\ud83d" * 80_000 + '"}') + _STOP),
    "128 calls": once(
        STREAM + BAR, *(_call('{"a":"' + "x" * 4_000 + '"}', i) for i in range(128)), _STOP
    ),
    "names of 500,000 characters": once(
        STREAM + BAR, _call("{}", id="i" * 400_000, name="n" * 100_000) + _STOP
    ),
    "no text": once(
        JSON + BAR,
        b'{"content":[{"type":"text","text":"' + b"\xff" * 300_000 + b'"}],"stop_reason":"end"}',
    ),
    "a message that is a text": once(
        STREAM + BAR,
        _raw("x", b'{"type":"message_start","message":"' + b"x" * 900_000 + b'"}') + _STOP,
    ),
}
"""Answers that are taken, perhaps with a call that cannot be run."""

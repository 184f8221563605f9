"""The floor: the least that two processes and one trio loop can do.

It is the pipe's own limit, without any protocol.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from os import PathLike
from typing import Any

import msgspec
import trio

from sliphook_sdk.protocol.payloads import PreToolCall

from .measuring import Once


def payload(text_bytes: int = 220) -> PreToolCall:
    """A `pre_tool_call` like those that the host makes, of about 380 bytes and `text_bytes`."""
    return PreToolCall(
        event_id="0123456789abcdef-1234",
        seq=1234,
        time="2026-01-01T00:00:00.000Z",
        session_id="0123456789abcdef",
        session_key="main",
        platform="cli",
        user_id=None,
        cwd="/home/ada/project",
        turn_id="0123456789abcdef",
        agent_id="0123456789abcdef",
        parent_agent_id=None,
        agent_depth=0,
        meta=None,
        **call(text_bytes),
        timeout_s=5.0,
    )


def call(text_bytes: int = 220) -> dict[str, Any]:
    """The fields that the agent gives: one tool call."""
    return {
        "call_id": "0123456789abcdef",
        "model_call_id": "call_0123456789",
        "tool_name": "shell",
        "tool_kind": "shell",
        "origin": "agent",
        "arguments": {"command": "ls", "note": "x" * text_bytes},
    }


@asynccontextmanager
async def floor(
    command: Sequence[str | PathLike[str]], message: PreToolCall
) -> AsyncGenerator[Once, None]:
    """Encode `message`, write it, wait for the same line, decode it.

    Args:
        command: the child, which sends back what it reads.
        message: what is sent.
    """
    encoder = msgspec.json.Encoder()
    decoder = msgspec.json.Decoder(PreToolCall)
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)  # noqa: ASYNC220 - before anything is timed
    assert child.stdin is not None
    assert child.stdout is not None
    stdin, stdout = child.stdin.fileno(), child.stdout.fileno()
    os.set_blocking(stdin, False)
    os.set_blocking(stdout, False)

    async def once() -> None:
        line = encoder.encode(message) + b"\n"
        written = os.write(stdin, line)
        parts: list[bytes] = []
        while not parts or not parts[-1].endswith(b"\n"):
            if written < len(line):
                # a large message: the pipe takes a part of it, and the child sends that back
                # meanwhile
                try:
                    written += os.write(stdin, memoryview(line)[written:])
                    continue
                except BlockingIOError:
                    pass
            await trio.lowlevel.wait_readable(stdout)
            parts.append(os.read(stdout, 65536))
        decoder.decode(b"".join(parts))

    try:
        yield once
    finally:
        trio.lowlevel.notify_closing(stdout)
        child.stdin.close()
        child.stdout.close()
        child.wait()

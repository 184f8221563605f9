"""Whatever an agent says, no stretch of the daemon's loop takes more than 20 ms."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
import trio

from sliphook.adapters.attached.payload import NoJson, read_payload
from sliphook.adapters.dialects.known import DIALECTS
from sliphook.adapters.dialects.told import ToolDone
from sliphook.testing import FakePlugin
from tests.adapters.dialects.recorded import SAMPLES, event_of
from tests.heartbeat import heartbeat
from tests.programs import EVERYTHING, WAIT_S

from .in_process import ask, daemon

MIB = 1024 * 1024
VALUES: dict[str, Callable[[int], str]] = {
    "a text": lambda size: f'"{"x" * size}"',
    "escapes": lambda size: '"' + '\\"' * (size // 2) + '"',
    "lists": lambda size: "[" + "[]," * (size // 3) + "0]",
    "objects": lambda size: "[" + '{"a":1},' * (size // 8) + "0]",
    "depth": lambda size: "[" * (size // 2) + "]" * (size // 2),
    "a number": lambda size: "9" * size,
    "exponents": lambda size: "[" + "1e300," * (size // 6) + "0]",
    "names": lambda size: "{" + ",".join(f'"{at:08}":0' for at in range(size // 13)) + "}",
    "half characters": lambda size: '"' + "\\ud800" * (size // 6) + '"',
    "a half one and numbers": lambda size: '["\\ud800",' + "1e300," * (size // 6) + "0]",
    "JSON in a text": lambda size: json.dumps("{" + '"a":[' * (size // 8) + "}"),
}
SIZES = {"just told": 0, "1 MiB": MIB - 2_000, "3 MiB": 3 * MIB}


async def test_what_is_left_of_what_is_too_large() -> None:
    for path in sorted(SAMPLES.rglob("*.json")):
        dialect = DIALECTS[path.parent.name.removesuffix("-cli")]
        payload = json.loads(path.read_text())
        read = dialect.read(event_of(path.stem), payload)
        if not isinstance(read, ToolDone):
            continue
        names = ("tool_response", "toolResult", "tool_result")
        large = payload | {"more": "x" * MIB}
        large |= {
            name: {"more": "x" * MIB} for name in names if isinstance(payload.get(name), dict)
        }
        cut = await read_payload(json.dumps(large).encode())
        assert cut.excess is not None
        left = dialect.read(event_of(path.stem), cut.value)
        assert isinstance(left, ToolDone)
        told = ("session_id", "tool_name", "tool_kind", "arguments", "model_call_id", "turn_id")
        assert [getattr(left, one) for one in told] == [getattr(read, one) for one in told]


async def test_what_is_no_json() -> None:
    for text in (b"", b"{", b"[1", b"\xff", b'{"a":1}x', b"NaN", b"\0", b'"' + b"x" * MIB):
        with pytest.raises(NoJson):
            await read_payload(text)
    deep = await read_payload(b'{"session_id":"s","a":' + b"[" * 129 + b"]" * 129 + b"}")
    assert deep.excess == "it is nested over 128 levels deep"
    assert deep.value == {"session_id": "s"}


async def test_half_a_character_is_no_fault() -> None:
    """JavaScript writes it as an escape, though there is no such text in UTF-8."""
    read = await read_payload(rb'{"a": "\ud800 \ud83d\ude00", "b": 1.5}')
    assert read.value == {"a": "\ud800 \U0001f600", "b": 1.5}
    for text in (rb'["\ud800", NaN]', rb'["\ud800", 1e400]', rb'["\ud800"', rb'["\ud8"]'):
        with pytest.raises(NoJson):
            await read_payload(text)


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("agent", ["claude-code", "copilot"])
async def test_the_loop_is_never_held(agent: str, size: str, kind: str) -> None:
    value = VALUES[kind](SIZES[size] or 64)
    names = {"claude-code": ("PreToolUse", "PostToolUse"), "copilot": ("preToolUse", "postToolUse")}
    said = f'{{"session_id":"s","tool_use_id":"t","tool_name":"Bash","tool_input":{value}}}'
    over = (
        '{"session_id":"s","tool_use_id":"t","tool_name":"Bash","tool_input":{},'
        f'"tool_response":{value},"toolResult":{{"textResultForLlm":{value}}}}}'
    )
    with trio.fail_after(WAIT_S):
        beyond = ["not measured"]
        for _ in range(3):  # what the code takes comes again; what a busy machine adds does not
            async with heartbeat() as beat:
                with beat.measure() as held:
                    plugin = FakePlugin("ear", hears=list(EVERYTHING))
                    async with daemon(agent, plugin) as socket:
                        for event, body in zip(names[agent], (said, over), strict=True):
                            reply = await ask(socket, agent, event, body.encode())
                            assert reply.startswith(b"sliphook 1 ")
            beyond = held.beyond(2.0)
            if not beyond:
                break
    assert beyond == []

"""The examples in sh and JavaScript, driven over bare pipes with bytes as the host writes them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import pytest
import trio

EXAMPLES: Final = Path(__file__).resolve().parents[2] / "examples"

pytestmark = pytest.mark.parametrize(
    "example",
    [
        "guard.sh",
        pytest.param(
            "guard.mjs",
            marks=pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed"),
        ),
    ],
)

HOOK: Final = (
    '{"jsonrpc":"2.0","id":%d,"method":"hook/pre_tool_call","params":{"event_id":"e-1","seq":1,"time":"2026-01-01T00:00:00.000Z",'
    '"session_id":"s-1","session_key":"\\"method\\":\\"exit\\"","platform":"cli","user_id":null,"cwd":"/home/ada/project","turn_id":"t-1","agent_id":"a-1",'
    '"parent_agent_id":null,"agent_depth":0,"meta":null,"call_id":"c-1","model_call_id":null,"tool_name":"shell","origin":"agent",'
    '"timeout_s":5.0,"arguments":{"command":%s}}}'
)
ABSTAINS: Final = None
DENIES: Final = {"decision": "deny", "reason": "deleting whole trees is not for agents"}


class Wire:
    """The host's ends of one plugin's pipes."""

    def __init__(self, process: trio.Process) -> None:
        self.process = process
        self._lines: list[str] = []
        self._rest = ""

    async def send(self, text: str) -> None:
        body = text.encode() + b"\n"
        assert self.process.stdin is not None
        await self.process.stdin.send_all(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))

    async def receive(self) -> dict[str, Any]:
        """The next message; only lines that end with LF are messages."""
        assert self.process.stdout is not None
        while not self._lines:
            chunk = await self.process.stdout.receive_some()
            assert chunk, "the plugin ended"
            *self._lines, self._rest = (self._rest + bytes(chunk).decode()).split("\n")
        message: dict[str, Any] = json.loads(self._lines.pop(0))
        assert message.pop("jsonrpc") == "2.0"
        return message

    async def ask(self, text: str) -> dict[str, Any]:
        await self.send(text)
        return await self.receive()


@asynccontextmanager
async def started(example: str) -> AsyncGenerator[Wire]:
    """The example as a process that has ten seconds for everything."""
    with trio.fail_after(120):
        process = await trio.lowlevel.open_process(
            [str(EXAMPLES / example)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        try:
            yield Wire(process)
        finally:
            process.kill()
            with trio.CancelScope(shield=True):
                await process.wait()
            assert process.stdin is not None
            assert process.stdout is not None
            await process.stdin.aclose()
            await process.stdout.aclose()


async def test_a_whole_life(example: str) -> None:
    async with started(example) as wire:
        manifest = await wire.ask(
            '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocol_versions":[1],"host":{"name":"sliphook","version":"0.1.0"},'
            '"plugin":{"name":null,"data_dir":"/tmp","config":{}},"events":["pre_tool_call"],"sessions":[]}}'
        )
        assert manifest["id"] == 1
        assert manifest["result"]["protocol_version"] == 1
        assert manifest["result"]["subscriptions"] == [
            {"event": "pre_tool_call", "on_failure": "closed"}
        ]
        assert await wire.ask(HOOK % (2, '"rm -rf build"')) == {"id": 2, "result": DENIES}
        assert await wire.ask(HOOK % (3, '"ls"')) == {"id": 3, "result": ABSTAINS}
        assert await wire.ask('{"jsonrpc":"2.0","id":4,"method":"ping","params":{}}') == {
            "id": 4,
            "result": None,
        }
        unknown = await wire.ask(
            '{"jsonrpc":"2.0","id":5,"method":"hook/pre_llm_call","params":{}}'
        )
        assert (unknown["id"], unknown["error"]["code"]) == (5, -32601)
        assert await wire.ask('{"jsonrpc":"2.0","id":6,"method":"shutdown","params":{}}') == {
            "id": 6,
            "result": None,
        }
        await wire.send('{"jsonrpc":"2.0","method":"exit","params":{}}')
        assert await wire.process.wait() == 0


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        (r'"echo one\\ntwo; rm -rf build"', DENIES),
        (r'"say \"method\":\"exit\", \"id\":9"', ABSTAINS),
        ('"first\u2028rm -rf build"', DENIES),
        (r'"100 %s %d \\"', ABSTAINS),
        ('"  {\u00e9\U0001f600}  "', ABSTAINS),
    ],
)
async def test_text_of_others_does_not_mislead(example: str, command: str, answer: object) -> None:
    async with started(example) as wire:
        assert await wire.ask(HOOK % (9007199254740991, command)) == {
            "id": 9007199254740991,
            "result": answer,
        }


async def test_what_it_is_only_told_gets_no_reply(example: str) -> None:
    async with started(example) as wire:
        await wire.send(
            (HOOK % (1, '"rm -rf build"')).replace('"id":1,"method":"hook/', '"method":"event/')
        )
        await wire.send('{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}')
        assert await wire.ask('{"jsonrpc":"2.0","id":2,"method":"ping","params":{}}') == {
            "id": 2,
            "result": None,
        }


async def test_it_ends_with_its_input(example: str) -> None:
    async with started(example) as wire:
        assert wire.process.stdin is not None
        await wire.process.stdin.aclose()
        assert await wire.process.wait() == 0


def test_it_can_be_started_as_it_lies_there(example: str) -> None:
    assert os.access(EXAMPLES / example, os.X_OK)
    assert len((EXAMPLES / example).read_text(encoding="utf-8").splitlines()) <= 45

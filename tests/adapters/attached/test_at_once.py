"""How many requests a daemon has under way, and what becomes of the others."""

from __future__ import annotations

import socket
import time
from collections import Counter
from contextlib import AsyncExitStack, ExitStack

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from sliphook.adapters.attached import service
from sliphook.adapters.attached.payload import HookPayload, read_payload
from sliphook.dispatch.parking import GOING_ON_S
from sliphook.testing import FakePlugin
from sliphook_sdk.protocol import Answer
from tests.passes import Passes
from tests.programs import WAIT_S

from .in_process import daemon

BODY = b'{"session_id":"s","tool_name":"Bash","tool_input":{},"tool_use_id":"t"}'


HOOK = b"sliphook 1 claude-code PreToolUse 1 closed %d\n%b" % (len(BODY), BODY)


async def test_who_comes_when_there_is_no_room_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "MOST_AT_ONCE", 2)
    decided = trio.Event()

    async def decide(_: object) -> Answer:
        await decided.wait()
        return Answer(decision="deny", reason="no")

    guard = FakePlugin("guard", hooks={"pre_tool_call": decide})
    with trio.fail_after(WAIT_S):
        async with daemon("claude-code", guard) as path:
            asking = [trio.socket.socket(socket.AF_UNIX) for _ in range(3)]
            for one in asking:
                await one.connect(str(path))
                await one.send(HOOK)
            await guard.hears("pre_tool_call", times=2)
            await wait_all_tasks_blocked(0.05)
            assert guard.names().count("pre_tool_call") == 2
            decided.set()
            for one in asking:
                with one:
                    assert b'"guard: no"' in await one.recv(65536)
                    assert await one.recv(1) == b""


@pytest.mark.parametrize("said", [b"", b"slip", HOOK[:-1]])
async def test_the_one_that_has_been_silent_for_the_longest_makes_room(
    said: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "MOST_AT_ONCE", 2)
    monkeypatch.setattr(service, "_HEAD_S", 10 * WAIT_S)
    monkeypatch.setattr(service, "_READ_S", 10 * WAIT_S)
    guard = FakePlugin("guard", hooks={"pre_tool_call": {"decision": "deny", "reason": "no"}})
    with trio.fail_after(WAIT_S):
        async with daemon("claude-code", guard) as path:
            first, second, third = (trio.socket.socket(socket.AF_UNIX) for _ in range(3))
            with first, second, third:
                for silent in (first, second):
                    await silent.connect(str(path))
                    if said:
                        await silent.send(said)
                    await wait_all_tasks_blocked(0.01)
                await third.connect(str(path))
                await third.send(HOOK)
                assert b'"guard: no"' in await third.recv(65536)
                assert await first.recv(1) == b""
                await second.send(HOOK[len(said) :])
                assert b'"guard: no"' in await second.recv(65536)


async def test_a_silent_client_holds_up_nobody() -> None:
    guard = FakePlugin("guard", hooks={"pre_tool_call": {"decision": "deny", "reason": "no"}})
    with trio.fail_after(WAIT_S):
        async with daemon("claude-code", guard) as path:
            with socket.socket(socket.AF_UNIX) as silent:
                silent.connect(str(path))
                silent.send(b"sliphook 1 claude-code PreToolUse 1 closed 9")
                with trio.socket.socket(socket.AF_UNIX) as asking:
                    await asking.connect(str(path))
                    head = b"sliphook 1 claude-code PreToolUse 1 closed %d\n" % len(BODY)
                    for piece in (head[:5], head[5:] + BODY[:7], BODY[7:]):
                        await asking.send(piece)
                        await wait_all_tasks_blocked(0.01)
                    assert b'"guard: no"' in await asking.recv(65536)


@pytest.mark.parametrize(
    "said", [b"", b"slip", b"sliphook 1 claude-code PreToolUse 1 closed 9\n{}"]
)
async def test_a_client_that_does_not_go_on_is_left(
    said: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "_HEAD_S", 0.05)
    monkeypatch.setattr(service, "_READ_S", 0.05)
    guard = FakePlugin("guard", hears=["pre_tool_call"])
    with trio.fail_after(WAIT_S):
        async with daemon("claude-code", guard) as path:
            with trio.socket.socket(socket.AF_UNIX) as asking:
                await asking.connect(str(path))
                await asking.send(said)
                assert await asking.recv(1) == b""


def large(bytes_: int) -> bytes:
    """A hook of about so many bytes, with its head."""
    body = BODY.replace(b"{}", b'{"text":"%b"}' % (b"x" * bytes_))
    return b"sliphook 1 claude-code PreToolUse 1 closed %d\n%b" % (len(body), body)


@pytest.mark.parametrize("sent", [64, 400_000])
async def test_large_hooks_that_do_not_come_make_room_for_one_that_does(
    sent: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "_READ_S", 10 * WAIT_S)
    monkeypatch.setattr(service, "_LARGE_S", 0.05)
    monkeypatch.setattr(service, "_LARGE_BYTES_PER_S", 10_000_000)
    guard = FakePlugin("guard", hooks={"pre_tool_call": {"decision": "deny", "reason": "no"}})
    with trio.fail_after(WAIT_S):
        async with daemon("claude-code", guard) as path, AsyncExitStack() as stack:
            for _ in range(service.MOST_LARGE):
                silent = await stack.enter_async_context(await trio.open_unix_socket(str(path)))
                await silent.send_all(large(800_000)[:sent])
            await wait_all_tasks_blocked(0.05)
            async with await trio.open_unix_socket(str(path)) as asking:
                await asking.send_all(large(500_000))
                assert b'"guard: no"' in await asking.receive_some(65536)


async def test_a_large_hook_may_take_its_time_while_there_is_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(service, "_LARGE_S", 0.0)
    monkeypatch.setattr(service, "_LARGE_BYTES_PER_S", 1e9)
    guard = FakePlugin("guard", hooks={"pre_tool_call": {"decision": "deny", "reason": "no"}})
    with trio.fail_after(WAIT_S):
        async with (
            daemon("claude-code", guard) as path,
            await trio.open_unix_socket(str(path)) as slow,
            await trio.open_unix_socket(str(path)) as quick,
        ):
            await slow.send_all(large(500_000)[:400_000])
            await wait_all_tasks_blocked(0.05)
            await quick.send_all(large(500_000))
            assert b'"guard: no"' in await quick.receive_some(65536)
            await slow.send_all(large(500_000)[400_000:])
            assert b'"guard: no"' in await slow.receive_some(65536)


async def test_hooks_whose_last_bytes_come_at_once_are_read_in_several_passes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    passes, read_in = Passes(), Counter[int]()
    read = read_payload

    async def reads_for_long(body: bytes, *, shortened: bool) -> HookPayload:
        read_in[passes.number] += 1
        end_s = time.thread_time() + 2 * GOING_ON_S
        while time.thread_time() < end_s:
            pass
        return await read(body, shortened=shortened)

    monkeypatch.setattr(service, "read_payload", reads_for_long)
    guard = FakePlugin("guard", hooks={"pre_tool_call": {"decision": "deny", "reason": "no"}})
    with trio.fail_after(WAIT_S), ExitStack() as stack:
        async with daemon("claude-code", guard) as path:
            asking = [stack.enter_context(socket.socket(socket.AF_UNIX)) for _ in range(20)]
            for one in asking:
                one.connect(str(path))
                one.send(HOOK[:-1])
            await wait_all_tasks_blocked(0.05)
            with passes:
                for one in asking:
                    one.send(HOOK[-1:])
                for one in asking:
                    await trio.lowlevel.wait_readable(one)
                    assert b'"guard: no"' in one.recv(65536)
    assert read_in.total() == 20
    assert set(read_in.values()) == {1}

"""Who may ask a daemon, if the folder of its socket did not keep others out."""

from __future__ import annotations

import os
import socket
import subprocess

import pytest
import trio

from sliphook.adapters.attached.service import is_same_user
from sliphook.adapters.relayed.peer import Peer, talking
from sliphook.testing import FakePlugin
from tests.heartbeat import heartbeat
from tests.programs import WAIT_S

from .in_process import ask, daemon

_OTHER = 12_345
_ASKS = """
import socket, sys
one = socket.socket(socket.AF_UNIX)
one.connect(sys.argv[1])
try:
    one.sendall(b'sliphook 1 claude-code PreToolUse 1 closed 2\\n{}')
    print(one.recv(65536))
except ConnectionError:
    print(b'')
"""

pytestmark = pytest.mark.skipif(
    not hasattr(socket, "SO_PEERCRED"), reason="the system does not tell who asks"
)


def test_a_process_of_another_user_is_none_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert is_same_user(ours)
        own = os.geteuid()
        monkeypatch.setattr(os, "geteuid", lambda: own + 1)
        assert not is_same_user(ours)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.skipif(not os.path.exists("/usr/bin/python3"), reason="others need a Python, too")
async def test_another_user_is_turned_away_without_a_word() -> None:
    guard = FakePlugin("guard", hears=["pre_tool_call"])
    with trio.fail_after(WAIT_S):
        async with daemon("claude-code", guard) as path:
            path.parent.chmod(0o777)
            path.chmod(0o666)
            words = ["/usr/bin/python3", "-c", _ASKS, str(path)]
            theirs = await trio.run_process(
                words, capture_stdout=True, stderr=subprocess.STDOUT, check=False, user=_OTHER
            )
            assert theirs.stdout == b"b''\n"
            body = b'{"session_id":"s","tool_name":"Bash","tool_input":{},"tool_use_id":"t"}'
            assert (await ask(path, "claude-code", "PreToolUse", body)).startswith(b"sliphook 1 0")


async def test_a_fault_in_the_talk_with_one_server_ends_no_daemon(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def fails(peer: Peer, gone: trio.CancelScope) -> None:
        raise RecursionError("a line of brackets")

    monkeypatch.setattr(Peer, "read", fails)
    guard = FakePlugin("guard", hears=["pre_tool_call"])
    with trio.fail_after(WAIT_S):
        async with daemon("claude-code", guard) as path:
            await ask(path, "claude-code", "mcp", b'{"type":"watch","session_id":"s"}')
            body = b'{"session_id":"s","tool_name":"Bash","tool_input":{},"tool_use_id":"t"}'
            assert (await ask(path, "claude-code", "PreToolUse", body)).startswith(b"sliphook 1 0")
    faults = [one.message for one in caplog.records if one.levelname == "ERROR"]
    assert faults == ["what an MCP server asked could not be served"]


async def test_servers_that_send_lines_of_nothing_leave_the_loop_to_others() -> None:
    async def idles(peer: trio.socket.SocketType) -> None:
        with peer:
            async with talking(peer):
                await trio.sleep_forever()

    beyond = ["not measured"]
    for _ in range(3):  # what the code takes comes again; what a busy machine adds does not
        async with heartbeat() as beat, trio.open_nursery() as nursery:
            ends = [socket.socketpair() for _ in range(32)]
            with beat.measure() as held:
                for ours, theirs in ends:
                    theirs.setblocking(False)
                    theirs.send(b"\n" * 65_536)
                    nursery.start_soon(idles, trio.socket.from_stdlib_socket(ours))
                for _ in range(100):
                    await trio.lowlevel.checkpoint()
            nursery.cancel_scope.cancel()
        for _, theirs in ends:
            theirs.close()
        if not (beyond := held.beyond()):
            break
    assert beyond == []

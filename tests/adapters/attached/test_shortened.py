"""Of a hook that is too long for the client, the daemon gets all but the long texts."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Callable
from pathlib import Path

from sliphook.adapters.attached.build import Client
from tests.programs import WAIT_S

from .conftest import Install
from .fake_agent import Agent, Said
from .test_dialogues import bash, done

QUOTES = '"\\' * 3_000_000
WHY = "it has more than 8,388,608 bytes, and plugins are told of 1,048,576 at most"


def test_what_is_left(client: Client, home: Path, agents: Callable[..., Agent]) -> None:
    agent = agents(client)
    folder = Path(os.environ["XDG_RUNTIME_DIR"]) / "sliphook"
    folder.mkdir(mode=0o700)
    came: list[bytes] = []

    def serve() -> None:
        peer, _ = listener.accept()
        with peer:
            came.append(b"".join(iter(lambda: peer.recv(65536), b"")))
            peer.sendall(b"sliphook 1 0 2 0\n{}")

    told = {
        "session_id": "s-1",
        "before": 'a "quoted" text, \\ and \u00e9\n',
        "quotes": QUOTES,
        "as long as may be": "x" * 65_536,
        "longer": "x" * 65_537,
        "list": [QUOTES, "", {"in": "between"}, "\u00e9" * 40_000],
        "after": "\\",
    }
    left = told | {"quotes": "", "longer": "", "list": ["", "", {"in": "between"}, ""]}
    with socket.socket(socket.AF_UNIX) as listener:
        # FNV-1a of the session's id
        listener.bind(str(folder / "claude-code-817cda195c3fbf24.sock"))
        listener.listen()
        listener.settimeout(WAIT_S)
        thread = threading.Thread(target=serve)
        thread.start()
        stdin = json.dumps(told, ensure_ascii=False)
        assert agent.run([agent.raw("PostToolUse", stdin)]) == [Said(0, "{}", "")]
        thread.join(WAIT_S)
    head, _, body = came[0].partition(b"\n")
    assert head.endswith(b" open %d shortened" % len(body))
    assert json.loads(body) == left


def test_a_result_is_withheld_and_a_guard_denies(
    client: Client, install: Install, agents: Callable[..., Agent]
) -> None:
    redactor = install(
        subscriptions=[{"event": "pre_tool_call"}, {"event": "post_tool_call", "replaces": True}]
    )
    agent = agents(client)
    agent.hook("PreToolUse", closed=True, **bash("t-1", "cat secrets"))
    said = agent.hook("PostToolUse", **done("t-1", "cat secrets", QUOTES)).specific
    assert said["updatedToolOutput"] == {
        "stdout": f"sliphook: withheld, since plugins that may change results cannot: {WHY}",
        "stderr": "",
        "interrupted": False,
        "isImage": False,
    }
    [post] = redactor.params("hook/post_tool_call")
    assert post["result"]["content"] == f"(not told to plugins: {WHY})"
    assert post["arguments"] == {"command": "cat secrets"}
    denied = agent.hook("PreToolUse", closed=True, **bash("t-2", QUOTES)).specific
    assert denied == {
        "permissionDecision": "deny",
        "permissionDecisionReason": "sliphook: no plugin can be asked about Claude Code's"
        f" PreToolUse: {WHY}",
    }

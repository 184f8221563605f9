"""Guards of every agent deny if no plugin can be asked, each in its agent's own way; all else is silent."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sliphook.adapters.attached import build
from sliphook.adapters.attached.build import Client

from .fake_agent import Agent, Said, daemons, wait_for

WHY = "sliphook: the guards could not be asked, so this is denied."
EXIT_2 = Said(2, "", f"{WHY}\n")
SILENT = Said(0, "", "")
DENIED = {
    ("claude-code", "PreToolUse"): EXIT_2,
    ("claude-code", "UserPromptSubmit"): EXIT_2,
    ("codex", "PreToolUse"): EXIT_2,
    ("codex", "UserPromptSubmit"): EXIT_2,
    ("gemini", "BeforeTool"): EXIT_2,
    ("gemini", "BeforeAgent"): EXIT_2,
    ("copilot", "preToolUse"): Said(1, "", ""),
    ("copilot", "userPromptSubmitted"): Said(0, f'{{"decision":"block","reason":"{WHY}"}}', ""),
    ("cursor", "preToolUse"): Said(0, f'{{"permission":"deny","agent_message":"{WHY}"}}', ""),
    ("cursor", "beforeSubmitPrompt"): Said(0, f'{{"continue":false,"user_message":"{WHY}"}}', ""),
}
OTHERS = {
    "claude-code": "PostToolUse",
    "codex": "Stop",
    "gemini": "AfterTool",
    "copilot": "agentStop",
    "cursor": "stop",
}


@pytest.fixture
def no_daemon(home: Path) -> None:
    """No daemon can start: it must not ignore settings that may be a guard's."""
    config = home / "config" / "sliphook" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("no toml")


def all_deny(client: Client, agent: Agent) -> None:
    """Every guard denies, every other hook is silent."""
    stdin = json.dumps({"session_id": "s-1"})

    def asked(name: str, event: str, *, closed: bool) -> dict[str, str]:
        return {"command": client.command(name, event, closed=closed), "stdin": stdin}

    guards = [asked(name, event, closed=True) for name, event in DENIED]
    opens = [asked(name, event, closed=False) for name, event in DENIED]
    others = [asked(name, event, closed=True) for name, event in OTHERS.items()]
    assert agent.run(guards) == list(DENIED.values())
    assert agent.run([*opens, *others]) == [SILENT] * (len(opens) + len(others))


def sockets() -> list[Path]:
    """Where the clients look for the session `s-1` of each agent."""
    number = 14695981039346656037
    for byte in b"s-1":
        number = (number ^ byte) * 1099511628211 % (1 << 64)
    folder = Path(os.environ["XDG_RUNTIME_DIR"]) / "sliphook"
    folder.mkdir(mode=0o700, exist_ok=True)
    return [folder / f"{name}-{number:016x}.sock" for name in OTHERS]


@contextmanager
def somebody_listens(reply: bytes | None) -> Generator[None]:
    """At each of the sockets; None: it never answers."""
    listeners: list[socket.socket] = []
    held: list[socket.socket] = []

    def serve(listener: socket.socket) -> None:
        while True:
            try:
                peer, _ = listener.accept()
            except OSError:
                return
            if reply is None:
                held.append(peer)
                continue
            with peer:
                while peer.recv(65536):
                    pass
                peer.sendall(reply)

    threads: list[threading.Thread] = []
    for path in sockets():
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(path))
        listener.listen(64)
        listeners.append(listener)
        threads.append(threading.Thread(target=serve, args=(listener,)))
        threads[-1].start()
    try:
        yield
    finally:
        for listener in listeners:
            listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        for thread in threads:
            thread.join(120)
        for peer in held:
            peer.close()


def test_no_daemon_can_start(client: Client, no_daemon: None, agents: Callable[..., Agent]) -> None:
    all_deny(client, agents(client))
    wait_for(lambda: daemons(Path(os.environ["XDG_RUNTIME_DIR"])) == [])


def test_stale_sockets(client: Client, no_daemon: None, agents: Callable[..., Agent]) -> None:
    for path in sockets():
        with socket.socket(socket.AF_UNIX) as left_over:
            left_over.bind(str(path))
    all_deny(client, agents(client))


def test_files_where_the_sockets_should_be(
    client: Client, no_daemon: None, agents: Callable[..., Agent]
) -> None:
    for path in sockets():
        path.write_text("no socket")
    all_deny(client, agents(client))


@pytest.mark.parametrize(
    "reply",
    [
        b"",
        b"sliphook 2 0 0 0\n",
        b"sliphook 1 0 0 0",
        b"sliphook 1 0 9 0\nshort",
        b"sliphook 1 0 0 0\nmore",
        b"sliphook 1 0 -1 1\n",
        b"sliphook 1 0 99999999999999999999 0\n",
        b"sliphook 1 zero 0 0\n",
        b"another 1 0 0 0\n",
        b"\0\n\xff",
    ],
)
def test_somebody_who_answers_something_else(
    client: Client, no_daemon: None, agents: Callable[..., Agent], reply: bytes
) -> None:
    with somebody_listens(reply):
        all_deny(client, agents(client))


@pytest.mark.parametrize("compiler", ["cc", None])
def test_somebody_who_never_answers(
    compiler: str | None, home: Path, agents: Callable[..., Agent], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "ANSWER_S", 1.0)
    hasty = build.build(compiler=compiler)
    with somebody_listens(None):
        all_deny(hasty, agents(hasty))


@pytest.mark.parametrize("owner", ["another", "a link", "a file"])
def test_a_folder_that_is_not_ours(
    client: Client, home: Path, agents: Callable[..., Agent], owner: str
) -> None:
    folder = Path(os.environ["XDG_RUNTIME_DIR"]) / "sliphook"
    if owner == "another":
        if os.geteuid() != 0:
            pytest.skip("only root can give a folder away")
        folder.mkdir(mode=0o700)
        os.chown(folder, 12_345, 12_345)
    elif owner == "a link":
        (home / "elsewhere").mkdir(mode=0o700)
        folder.symlink_to(home / "elsewhere")
    else:
        folder.write_text("")
    all_deny(client, agents(client))


FOUND = [
    '{"session_id":"s-1"}',
    '{"a":{"session_id":"x"},"b":["session_id","y"],"sessionId":"s-1"}',
    '{"t":"\\"session_id\\":\\"x\\"","conversation_id" \n: \t"s-1"}',
    r'{"\u0073ession_id":"\u0073\u002d1"}',
    '{"session_id":"","sessionId":"s-1"}',
    '{"session_id":7,"sessionId":"s-1"}',
    '{"session_id":null,"sessionId":"s-1"',
    '\x00{"session_id":"s-1"}',
    '{"k":"\udcff\udcfe","session_id":"s-1"}',
    '{"session_id":"s-1","session_id":"s-2"}',
    '{"a":"' + "x" * 2_000_000 + '","session_id":"s-1"}',
    '{"a":' + "[" * 300_000 + "]" * 300_000 + ',"session_id":"s-1"}',
]
NOT_FOUND = [
    "",
    "\x00" * 1000,
    "no JSON",
    '"session_id":"s-1"',
    '[{"session_id":"s-1"}]',
    '{"session_id":["s-1"]}',
    '{"session_id":{"session_id":"s-1"}}',
    '{"session_id"',
    '{"session_id":',
    '{"session_id":"s-1',
    '{"session_id":"s-1\\',
    '{"session_id":"\\u00',
    '{"a":"session_id","s-1":"s-1"}',
    '{"session_id,":"s-1"}',
    '{"session_id":"' + "s" * 2_000 + '"}',
    '{"a":"' + "x" * 100_000,
    "{" * 300_000,
]


@pytest.mark.parametrize("stdin", [*FOUND, *NOT_FOUND], ids=range(len(FOUND) + len(NOT_FOUND)))
def test_whose_session_it_is(
    client: Client, no_daemon: None, agents: Callable[..., Agent], stdin: str
) -> None:
    """Both clients find the same: who listens there says yes."""
    agent = agents(client)
    with somebody_listens(b"sliphook 1 0 2 0\n{}"):
        [said] = agent.run([agent.raw("PreToolUse", stdin, closed=True)])
    assert said == (Said(0, "{}", "") if stdin in FOUND else EXIT_2)

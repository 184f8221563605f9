"""Both clients find the same daemon and take the same replies from it."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sliphook.adapters.attached import build
from sliphook.adapters.attached.build import Client
from tests.programs import WAIT_S

from .fake_agent import Agent, Said

DENIED = Said(2, "", "sliphook: the guards could not be asked, so this is denied.\n")
STDIN = '{"session_id": "s-1"}'


class Listener:
    """In a daemon's place; it says the same to all who ask.

    Attributes:
        asked: how often it was asked.
    """

    def __init__(self, reply: bytes, *, resets: bool) -> None:
        self.asked = 0
        self._reply = reply
        self._resets = resets

    def serve(self, listener: socket.socket) -> None:
        """Returns when it is asked nothing."""
        while True:
            peer, _ = listener.accept()
            with peer:
                peer.settimeout(WAIT_S)
                # what is left unread when the connection is closed resets it
                sizes = 1 if self._resets else 65536
                if not peer.recv(sizes):
                    return
                self.asked += 1
                while not self._resets and peer.recv(sizes):
                    pass
                peer.sendall(self._reply)


@contextmanager
def listening(reply: bytes, name: str, *, resets: bool = False) -> Generator[Listener]:
    folder = Path(os.environ["XDG_RUNTIME_DIR"]) / "sliphook"
    folder.mkdir(mode=0o700)
    path = str(folder / f"claude-code-{name}.sock")
    daemon = Listener(reply, resets=resets)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        listener.settimeout(WAIT_S)
        thread = threading.Thread(target=daemon.serve, args=(listener,))
        thread.start()
        try:
            yield daemon
        finally:
            with socket.socket(socket.AF_UNIX) as last:
                last.connect(path)
            thread.join(WAIT_S)


S_1 = "817cda195c3fbf24"
"""FNV-1a of the session's id."""


def test_the_first_1022_bytes_of_an_id_count(
    client: Client, home: Path, agents: Callable[..., Agent]
) -> None:
    agent = agents(client)
    with listening(b"sliphook 1 0 2 0\n{}", "79ff9b748275170f"):
        for size in (1022, 1023, 1100):
            stdin = f'{{"session_id": "{"s" * size}"}}'
            said = agent.run([agent.raw("PreToolUse", stdin, closed=True)])
            assert said == [Said(0, "{}", "")], size


@pytest.mark.parametrize(
    ("reply", "said"),
    [(b"sliphook 1 0 5 0\n{}", DENIED), (b"sliphook 1 0 2 0\n{}", Said(0, "{}", ""))],
    ids=["in mid-reply", "behind it"],
)
def test_a_reset_connection_is_not_asked_again(
    reply: bytes, said: Said, client: Client, home: Path, agents: Callable[..., Agent]
) -> None:
    agent = agents(client)
    with listening(reply, S_1, resets=True) as daemon:
        assert agent.run([agent.raw("PreToolUse", STDIN, closed=True)]) == [said]
    assert daemon.asked == 1


@pytest.mark.parametrize("compiler", ["cc", None])
@pytest.mark.parametrize(
    ("out", "err", "is_taken"), [(1000, 1000, True), (1001, 0, False), (0, 1001, False)]
)
def test_stdout_and_stderr_are_bounded_each(
    compiler: str | None,
    out: int,
    err: int,
    is_taken: bool,
    home: Path,
    agents: Callable[..., Agent],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(build, "MAX_REPLY_BYTES", 1000)
    agent = agents(build.build(compiler=compiler))
    with listening(b"sliphook 1 0 %d %d\n" % (out, err) + b"o" * out + b"e" * err, S_1):
        [said] = agent.run([agent.raw("PreToolUse", STDIN, closed=True)])
    assert said == (Said(0, "o" * 1000, "e" * 1000) if is_taken else DENIED)

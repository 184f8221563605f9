"""The daemon of an agent's session, from another process of the agent: found, asked, started."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final

import msgspec
import trio

from sliphook.adapters.attached.build import MODULE, ROOM_FOR_NAME, START_S, daemon_environment
from sliphook.adapters.attached.client import place
from sliphook.adapters.attached.rendezvous import session_of_agent
from sliphook.adapters.attached.request import MAX_REPLY_BYTES, VERSION
from sliphook.adapters.relayed.messages import EVENT, SAID, Asked, Said
from sliphook.wire.decoding import DECODE_ERRORS

_CHUNK: Final = 64 * 1024
_POLL_S: Final = 0.02


def find_daemon(agent: str, session_id: str | None, pid: int | None) -> Path | None:
    """The socket of the agent's session, by the session's id or else by the agent's process.

    A daemon listens there; one that was killed may have left its socket.
    """
    by_id = socket_of(agent, session_id) if session_id is not None else None
    if by_id is not None and _listens(by_id):
        return by_id
    folder = socket_of(agent, "")
    by_pid = session_of_agent(folder.parent, agent, pid) if pid is not None and folder else None
    return by_pid if by_pid is not None and _listens(by_pid) else None


def socket_of(agent: str, session_id: str) -> Path | None:
    """Where the daemon of that session listens; None if the folder is not this user's alone."""
    try:
        return Path(place(agent, session_id.encode("utf-8", "surrogatepass"), ROOM_FOR_NAME))
    except (OSError, ValueError):
        return None


async def start_daemon(agent: str, path: Path, granted: Iterable[str]) -> bool:
    """Start a daemon for the session of this socket; whether one listens in time.

    Args:
        agent: the agent.
        path: of the socket.
        granted: the variables that the user has granted to plugins.
    """
    kept = daemon_environment(os.environ, granted)
    words = [sys.executable, "-I", "-m", MODULE, agent, str(path), str(os.getppid())]
    nothing = subprocess.DEVNULL
    process = await trio.to_thread.run_sync(
        lambda: subprocess.Popen(
            words,
            env=kept,
            cwd="/",
            stdin=nothing,
            stdout=nothing,
            stderr=nothing,
            start_new_session=True,
        )
    )
    with trio.move_on_after(START_S):
        while not _listens(path):
            if process.poll() not in (None, 0):  # 0: another one listens
                return False
            await trio.sleep(_POLL_S)
        return True
    return False


def _listens(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as one:
        one.setblocking(False)
        try:
            one.connect(str(path))
        except BlockingIOError:
            return True
        except OSError:
            return False
        return True


class DaemonReply:
    """One request to a daemon, and what it says to it."""

    def __init__(self, stream: trio.SocketStream) -> None:
        self._stream = stream
        self._bytes = bytearray()
        self._answering = trio.Lock()

    async def answer(self, line: bytes) -> None:
        """Answer a question of the daemon's, with an `answer_line`.

        A daemon that is gone is not answered; `said` finds it too.
        """
        async with self._answering:
            with suppress(trio.BrokenResourceError):
                await self._stream.send_all(line)

    async def said(self) -> Said | None:
        """What the daemon says next; None if it has closed the connection.

        Raises:
            OSError: the connection is broken, or what came is no reply.
        """
        looked = 0
        try:
            while (end := self._bytes.find(b"\n", looked)) < 0:
                looked = len(self._bytes)
                if looked > MAX_REPLY_BYTES:
                    raise OSError("the daemon says too much")
                piece = await self._stream.receive_some(_CHUNK)
                if not piece:
                    return None
                self._bytes += piece
            line = bytes(self._bytes[:end])
            del self._bytes[: end + 1]
            return SAID.decode(line)
        except (trio.BrokenResourceError, *DECODE_ERRORS) as error:
            raise OSError(str(error)) from None


@asynccontextmanager
async def asking(path: Path, agent: str, asked: Asked) -> AsyncGenerator[DaemonReply, None]:
    """Ask a daemon; leaving the block withdraws what was asked.

    Raises:
        OSError: none listens.
    """
    body = msgspec.json.encode(asked)
    head = f"sliphook {VERSION} {agent} {EVENT} {os.getppid()} open {len(body)}\n"
    stream = await trio.open_unix_socket(str(path))
    async with stream:
        try:
            await stream.send_all(head.encode() + body)
        except trio.BrokenResourceError as error:
            raise OSError(str(error)) from None
        yield DaemonReply(stream)

"""A machine elsewhere: a real sshd on loopback with keys of its own, and a link that can be cut."""

from __future__ import annotations

import getpass
import os
import shutil
import subprocess
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest
import trio

from tests.free_ports import free_port

SSHD = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin")
needs_sshd = pytest.mark.skipif(SSHD is None, reason="sshd is not installed")


class Link:
    """Passes on what goes between ssh and sshd.

    Attributes:
        delay_s: how long each piece is on the way.
        frozen: nothing passes any more, and no end is seen either.
    """

    def __init__(self, port: int) -> None:
        self._port = port
        self._scopes = set[trio.CancelScope]()
        self.delay_s = 0.0
        self.frozen = False

    async def pass_on(self, near: trio.SocketStream) -> None:
        """Serve one connection."""
        with trio.CancelScope() as scope:
            self._scopes.add(scope)
            far = await trio.open_tcp_stream("127.0.0.1", self._port)
            async with near, far, trio.open_nursery() as nursery:
                for one, other in ((near, far), (far, near)):
                    nursery.start_soon(self._pump, one, other, scope)
        self._scopes.discard(scope)

    async def _pump(
        self, one: trio.SocketStream, other: trio.SocketStream, scope: trio.CancelScope
    ) -> None:
        # what was sent together arrives together, and later pieces do not wait for it
        send, receive = trio.open_memory_channel[tuple[float, bytes]](10_000)

        async def deliver() -> None:
            async for due_s, data in receive:
                await trio.sleep_until(due_s)
                while self.frozen:  # noqa: ASYNC110 - until it is cut
                    await trio.sleep(0.05)
                await other.send_all(data)

        try:
            async with trio.open_nursery() as nursery, send:
                nursery.start_soon(deliver)
                async for data in one:
                    send.send_nowait((trio.current_time() + self.delay_s, bytes(data)))
        except* trio.BrokenResourceError:
            pass
        scope.cancel()

    def cut(self) -> None:
        """Both ends see their connection closed."""
        for scope in self._scopes:
            scope.cancel()


class Box:
    """The machine; `config` is a configuration of ssh in which it is called `box`.

    Attributes:
        link: the way there.
        known: the file with the key that ssh knows the machine by.
    """

    def __init__(self, folder: Path, port: int, link: Link, link_port: int) -> None:
        self.link = link
        self.known = folder / "known"
        self.known.write_text(f"box {(folder / 'host.pub').read_text()}")
        self.config = folder / "config"
        self.config.write_text(
            f"Host box\n HostName 127.0.0.1\n Port {link_port}\n User {getpass.getuser()}\n"
            f" HostKeyAlias box\n UserKnownHostsFile {self.known}\n IdentityFile {folder}/user\n"
            " IdentitiesOnly yes\n"
        )

    def plugin(self, file: Path, command: str, *options: str) -> Path:
        """An executable here that runs a command there, as the page writes it."""
        # ssh takes the first of two values
        words = ["exec", "ssh", "-F", str(self.config), *options, *OPTIONS, "box"]
        file.write_text(f"#!/bin/sh\n{' '.join(words)} {command}\n")
        file.chmod(0o755)
        return file


OPTIONS = [
    *("-T", "-S", "none", "-o", "BatchMode=yes"),
    *("-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=2"),
]
"""As on the page."""


def prepared(folder: Path) -> int:
    """Keys and a configuration of sshd in the folder; returns its port."""
    folder.mkdir()
    for key in ("host", "user"):
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / key)]
        subprocess.run(command, check=True)
    port = free_port()
    (folder / "sshd_config").write_text(
        f"ListenAddress 127.0.0.1\nPort {port}\nHostKey {folder}/host\nPidFile none\n"
        f"AuthorizedKeysFile {folder}/user.pub\nStrictModes no\nUsePAM no\nAcceptEnv GUARD_*\n"
        "PasswordAuthentication no\n"
    )
    if os.getuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)
    return port


@asynccontextmanager
async def box_in(folder: Path) -> AsyncGenerator[Box]:
    """It is there until the end of the block. For tests with `needs_sshd`."""
    port = prepared(folder)
    sshd = await trio.lowlevel.open_process(
        [SSHD or "sshd", "-D", "-E", f"{folder}/log", "-f", f"{folder}/sshd_config"],
        stdin=subprocess.DEVNULL,
    )
    link = Link(port)
    try:
        async with trio.open_nursery() as nursery:
            listeners: list[trio.SocketListener] = await nursery.start(
                partial(trio.serve_tcp, link.pass_on, 0, host="127.0.0.1")
            )
            while True:
                try:
                    await (await trio.open_tcp_stream("127.0.0.1", port)).aclose()
                    break
                except OSError:
                    await trio.sleep(0.02)
            yield Box(folder, port, link, listeners[0].socket.getsockname()[1])
            nursery.cancel_scope.cancel()
    finally:
        sshd.kill()
        with trio.CancelScope(shield=True):
            await sshd.wait()

#!/usr/bin/env python3
"""One clipboard for all agents of a user: what a model copies in one, a model pastes in another.

Every agent starts its own instance of a plugin. Here the one that has the lock in the data folder
serves a socket, and all of them ask it. When it ends, however it ends, the system gives the lock to
one that waits for it, and that one serves.
"""

from __future__ import annotations

import fcntl
import os
import socket
import socketserver
import threading
from contextlib import suppress
from pathlib import Path
from typing import Final

from sliphook_sdk import Context, LifeContext, Plugin, ToolError

# in the data folder, which is the folder that the plugin runs in, and the user's alone
LOCK: Final = Path("serving")
SOCKET: Final = "clipboard.sock"
CONTENT: Final = Path("clipboard.txt")  # it outlives the instance that serves

plugin = Plugin("clipboard", version="1.0.0", description="A clipboard for all agents.")


class Request(socketserver.StreamRequestHandler):
    """A new content, or nothing; the answer is the content."""

    def handle(self) -> None:
        if content := self.rfile.read():
            CONTENT.write_bytes(content)
        self.wfile.write(CONTENT.read_bytes() if CONTENT.exists() else b"")


def serve() -> None:
    """For a thread: wait until no other instance serves, then serve until this one ends."""
    with LOCK.open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        LOCK.write_text(str(os.getpid()))
        Path(SOCKET).unlink(missing_ok=True)  # of an instance that was killed
        with socketserver.UnixStreamServer(SOCKET, Request) as server:
            plugin.host.log("info", "serves the clipboard")
            server.serve_forever()


@plugin.on_start
def begin(*, ctx: LifeContext) -> None:
    with LOCK.open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            ctx.log("info", f"the clipboard is served by pid {LOCK.read_text()}")
    threading.Thread(target=serve, daemon=True).start()


def ask(content: str, ctx: Context) -> str:
    for _ in range(100):  # another instance may be about to serve
        with suppress(OSError), socket.socket(socket.AF_UNIX) as server:
            server.connect(SOCKET)
            server.sendall(content.encode())
            server.shutdown(socket.SHUT_WR)
            with server.makefile(encoding="utf-8") as answer:
                return answer.read()
        if ctx.wait(0.05):
            break
    raise ToolError("no instance serves the clipboard")


@plugin.tool
def copy(text: str, *, ctx: Context) -> str:
    """Put a text into the clipboard, for other agents of the user."""
    ask(text, ctx)
    return "copied"


@plugin.tool
def paste(*, ctx: Context) -> str:
    """Read the clipboard."""
    return ask("", ctx)


if __name__ == "__main__":
    plugin.run()

"""Ports of this machine on which nothing listens."""

from __future__ import annotations

import random
import socket
from collections.abc import Generator
from contextlib import contextmanager

# below those that systems give to whoever asks for any (RFC 6335: from 49152; Linux: from 32768)
_OWN = range(20_000, 32_768)


def free_port() -> int:
    """A port that was free just now, and that no server gets by chance."""
    for port in random.SystemRandom().sample(_OWN, 100):
        try:
            socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            continue
        return port
    raise AssertionError("100 ports are taken")


@contextmanager
def dead_port() -> Generator[int]:
    """A port that refuses each connection, and that nobody gets meanwhile."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]
